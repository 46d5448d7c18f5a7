"""The engine's log: a line per start, end and wait, with the job's name, the outcome and the reason."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from halo_scheduler.errors import SchedulerError
from halo_scheduler.grammar.english import counted
from halo_scheduler.grammar.interval import SECOND_MS
from halo_scheduler.grammar.text import plain_line
from halo_scheduler.model import Outcome, Run, SkipReason, StatusReason, Trigger, Waiting, WaitingFor
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.words import ERRORS, PROBLEMS
from halo_scheduler.rules.situation import read_situations
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.store import Store
from halo_scheduler.wording.measures import duration_in_words
from halo_scheduler.wording.messages import OUTCOMES, SKIP_REASONS
from halo_scheduler.wording.status import waiting_words

_LOG = logging.getLogger(__name__)
_LONGEST_NAME = 100
_LONGEST_REASON = 500
_SHORT_ID = 8
# How many logged ends are remembered: a note added after the end must not log it twice.
_MOST_REMEMBERED = 1_000
# When thousands of jobs begin to wait at once, only the first are named.
_MOST_WAITS = 20


class RunLog:
    """Logs the committed changes of a tick: problems as warnings, everything else as information."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._ended: dict[str, None] = {}
        self._waiting: dict[str, WaitingFor] = {}

    def write(self, changes: Sequence[Change], now_ms: int) -> None:
        """Log starts, ends and waits; a database that cannot be read is ignored here."""
        try:
            self._write_runs(changes)
            if _LOG.isEnabledFor(logging.INFO):
                self._write_waits(changes, now_ms)
        except SchedulerError as error:
            _LOG.debug("Changes could not be read for the log: %s", error)

    def _write_runs(self, changes: Iterable[Change]) -> None:
        # Without verbose logging, successful runs are not read.
        is_quiet = not _LOG.isEnabledFor(logging.INFO)
        outcomes = PROBLEMS if is_quiet else tuple(Outcome)
        kinds = {ChangeKind.RUN_FINISHED} if is_quiet else {ChangeKind.RUN_FINISHED, ChangeKind.RUN_STARTED}
        news = [(change.kind, change.run_id) for change in changes if change.kind in kinds and change.run_id]
        if not news:
            return
        runs = self._store.history.get_many({run_id for _, run_id in news}, outcomes)
        jobs = self._store.jobs.get_many({run.job_id for run in runs.values()})
        for kind, run_id in news:
            run = runs.get(run_id)
            record = None if run is None else jobs.get(run.job_id)
            if run is None or record is None:
                continue
            if kind is ChangeKind.RUN_STARTED:
                self._waiting.pop(record.id, None)
                _LOG.info("%s started (%s)", _name(record), _start_words(run))
            elif run.outcome is not Outcome.RUNNING and run.id not in self._ended:
                self._remember_end(run.id)
                _write_end(record, run)

    def _remember_end(self, run_id: str) -> None:
        self._ended[run_id] = None
        if len(self._ended) > _MOST_REMEMBERED:
            del self._ended[next(iter(self._ended))]

    def _write_waits(self, changes: Iterable[Change], now_ms: int) -> None:
        """Log each wait once; waiting for something else is a new wait."""
        ids = [change.job_id for change in changes if change.kind is ChangeKind.JOB]
        if not ids:
            return
        named = [job_id for job_id in ids if job_id is not None]
        found = read_situations(self._store.database, now_ms, named if len(named) == len(ids) else None)
        begun: list[tuple[str, Waiting]] = []
        for line, situation in found:
            waiting = situation.waiting
            if waiting is None or waiting.kind is WaitingFor.START:
                self._waiting.pop(line.id, None)
            elif self._waiting.get(line.id) is not waiting.kind:
                self._waiting[line.id] = waiting.kind
                begun.append((line.name, waiting))
        for name, waiting in begun[:_MOST_WAITS]:
            _LOG.info("%s is %s", plain_line(name, _LONGEST_NAME), waiting_words(waiting, now_ms))
        if len(begun) > _MOST_WAITS:
            _LOG.info("%s begin to wait", counted(len(begun) - _MOST_WAITS, "more job"))


def _write_end(record: JobRecord, run: Run) -> None:
    level = logging.WARNING if run.outcome in PROBLEMS else logging.INFO
    _LOG.log(level, "%s %s", _name(record), _end_words(run))
    is_its_own = run.trigger in (Trigger.SCHEDULE, Trigger.EVENT) and run.outcome in ERRORS
    if record.disabled_reason is StatusReason.ERRORS and is_its_own:
        _LOG.warning("%s is disabled after %s", _name(record), counted(record.errors, "failure"))


def _start_words(run: Run) -> str:
    late = f", {duration_in_words(run.late_ms)} late" if run.late_ms >= SECOND_MS else ""
    attempt = f", attempt {run.attempt}" if run.attempt > 1 else ""
    return f"{run.trigger}{late}{attempt}, run {run.id[:_SHORT_ID]}"


def _end_words(run: Run) -> str:
    if run.reason is SkipReason.NO_WORK:
        return f"had nothing to do (run {run.id[:_SHORT_ID]})"
    took_ms = run.duration_ms
    took = "" if took_ms is None or run.started_at is None else f" after {duration_in_words(took_ms)}"
    if run.outcome is Outcome.SKIPPED:
        took = ""
    reason = run.error or ("" if run.reason is None else SKIP_REASONS[run.reason])
    why = f": {plain_line(reason, _LONGEST_REASON)}" if reason else ""
    return f"{OUTCOMES[run.outcome].clause}{took}{why} (run {run.id[:_SHORT_ID]})"


def _name(record: JobRecord) -> str:
    return plain_line(record.spec.name, _LONGEST_NAME)
