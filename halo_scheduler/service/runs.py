"""Runs and their questions: the log, output, statistics, answers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from halo_scheduler.grammar.checks import require_whole
from halo_scheduler.grammar.text import shown_text
from halo_scheduler.model import JobSpec, Outcome, Question, Run, Trigger
from halo_scheduler.model.alarms import Alarm
from halo_scheduler.model.changes import ChangeKind
from halo_scheduler.rules import run_requests
from halo_scheduler.rules import statistics as reports
from halo_scheduler.rules.assistants import refuse_assistants
from halo_scheduler.rules.chains import BrokenLink, WaitingRun, broken_links, waiting_runs
from halo_scheduler.rules.statistics import DayCount, Gap, TrendPoint
from halo_scheduler.service.session import Session
from halo_scheduler.store.history import RunFilter
from halo_scheduler.store.secrets import SecretError

if TYPE_CHECKING:
    from halo_scheduler.actions.output_reader import OutputFollower

_MOST_UNSEEN = 100
_PAGE = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStats:
    """Statistics of a job's runs; the streak counts how many of the newest runs had the same outcome."""

    total: int
    by_outcome: Mapping[Outcome, int]
    average_ms: int | None
    p95_ms: int | None
    last_run: Run | None
    streak: int


class LaterRun(NamedTuple):
    """A manual run planned for an instant; `cancel_run` cancels it."""

    run_id: str
    job_id: str
    at: int


class Runs:
    """Reads runs and their output."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._store = session.store

    def get(self, run_id: str) -> Run | None:
        """Return a run; None if it does not exist, or while a manual run waits to start."""
        return self._store.runs.get(run_id)

    def get_many(self, run_ids: Iterable[str]) -> dict[str, Run]:
        """Return the given runs that are in the log."""
        return self._store.history.get_many(run_ids)

    def log(
        self,
        job_id: str | None = None,
        limit: int = 50,
        *,
        outcome: Outcome | None = None,
        outcomes: Collection[Outcome] | None = None,
        trigger: Trigger | None = None,
        since: int | None = None,
        until: int | None = None,
        before: str | None = None,
    ) -> list[Run]:
        """Return runs, newest first; `before` is the last run of the previous page."""
        require_whole("limit", limit, 1)
        chosen = RunFilter(
            job_id=job_id,
            outcomes=outcomes if outcome is None else [outcome],
            trigger=trigger,
            since=since,
            until=until,
            before=before,
        )
        return self._store.history.log(chosen, limit)

    def running(self) -> list[Run]:
        """Return the active runs, oldest first."""
        return self._store.runs.running()

    def last(self, job_ids: Iterable[str]) -> dict[str, Run]:
        """Return the newest ended run of each job that has one; test runs do not count."""
        return {run.job_id: run for run in self._store.history.last_ended(job_ids)}

    def request_test(self, job_id: str, spec: JobSpec) -> str:
        """Request a test run of an edited job, and return its id; the stored job does not change."""
        with self._session.edit() as edit:
            return run_requests.request_test(edit, job_id, spec)

    # --- Waiting runs and chains -------------------------------------------------------------------

    def waiting_of(self, job_id: str) -> str | None:
        """Return the id of a job's waiting manual run, or None."""
        return self.waiting().get(job_id)

    def waiting(self) -> dict[str, str]:
        """Return the ids of the waiting manual runs, by job."""
        now_ms = self._session.clock.now_ms()
        return {request.job_id: request.run_id for request in self._store.requests.triggers(now_ms)}

    def later(self, job_id: str | None = None) -> list[LaterRun]:
        """Return the manual runs planned for a time after now, of all jobs or of one, earliest first."""
        return [
            LaterRun(request.run_id, request.job_id, request.at)
            for request in self._store.requests.later(self._session.clock.now_ms())
            if job_id in (None, request.job_id)
        ]

    def waiting_in_chains(self) -> list[WaitingRun]:
        """Return the waiting runs requested by other runs and events, longest wait first."""
        return waiting_runs(self._store, self._session.clock.now_ms())

    def caused_by(self, run_id: str) -> list[Run]:
        """Return the runs of other jobs that the end of a run started, skipped ones included."""
        return self._store.history.caused_by(run_id)

    def broken_links(self, run_id: str) -> list[BrokenLink]:
        """Return which jobs should have run after a run, but are gone; a paused one has a skipped run instead."""
        return broken_links(self._store, run_id)

    # --- Output --------------------------------------------------------------------------------------

    def output(self, run_id: str) -> bytes:
        """Return the output of a run, also while it runs; secrets are redacted."""
        with self.follow_output(run_id) as output:
            # Checked first: in an active run, held-back output may be the beginning of a secret.
            is_over = output.is_run_over()
            content = b"".join(iter(output.read, b""))
            return content + output.end() if is_over else content

    def printed_bytes(self, run_id: str) -> int:
        """Return how many bytes an ended run printed, which may be more than is stored; 0 if unknown."""
        return self._store.outputs.total_bytes(run_id)

    def input(self, run_id: str) -> bytes:
        """Return the input that a run was given; empty if it had none, or it was pruned."""
        return self._store.inputs.read(run_id)

    def follow_output(self, run_id: str) -> OutputFollower:
        """Return a reader of a run's output, which also works while it runs."""
        from halo_scheduler.actions.output_reader import OutputFollower  # noqa: PLC0415 - only when needed

        return OutputFollower(self._store, run_id, self._session.secrets)

    def search_output(
        self,
        text: str,
        *,
        job_id: str | None = None,
        outcomes: Collection[Outcome] | None = None,
        trigger: Trigger | None = None,
        since: int | None = None,
        until: int | None = None,
        is_cancelled: Callable[[], bool] = lambda: False,
    ) -> Iterator[Run | None]:
        """Yield the runs whose output contains a text, newest first, ignoring case; None after each searched page."""
        chosen = RunFilter(job_id=job_id, outcomes=outcomes, trigger=trigger, since=since, until=until)
        return self._search(text.casefold(), chosen, is_cancelled)

    def _search(
        self, wanted: str, chosen: RunFilter, is_cancelled: Callable[[], bool]
    ) -> Iterator[Run | None]:
        history = self._store.history
        while not is_cancelled():
            page = history.outputs(chosen, _PAGE)
            for run_id, outcome, stored in page:
                output = self._searchable(run_id) if outcome is Outcome.RUNNING else stored
                if output and wanted in shown_text(output).casefold():
                    yield from history.get_many([run_id]).values()
            if len(page) < _PAGE:
                return
            yield None
            chosen = replace(chosen, before=page[-1][0])

    def _searchable(self, run_id: str) -> bytes:
        try:
            return self.output(run_id)
        except SecretError:
            return b""  # It can be searched once it has ended and its secrets were taken out.

    # --- Statistics ----------------------------------------------------------------------------------

    def stats(self, job_id: str, since: int | None = None) -> RunStats:
        """Return statistics of a job's runs."""
        self._store.jobs.require(job_id)
        ends = self._store.runs.ends(job_id, since)
        outcomes = [outcome for outcome, _ in ends]
        durations = sorted(duration_ms for _, duration_ms in ends if duration_ms is not None)
        others = (index for index, outcome in enumerate(outcomes) if outcome != outcomes[0])
        return RunStats(
            total=len(ends),
            by_outcome={outcome: outcomes.count(outcome) for outcome in dict.fromkeys(outcomes)},
            average_ms=sum(durations) // len(durations) if durations else None,
            p95_ms=durations[(len(durations) * 95 - 1) // 100] if durations else None,
            last_run=self._store.history.newest(job_id),
            streak=next(others, len(outcomes)),
        )

    def trends(self, job_ids: Iterable[str], limit: int = 20) -> dict[str, tuple[TrendPoint, ...]]:
        """Return the last ended runs of each job that has any, oldest first; test runs do not count."""
        return reports.trends(self._store, job_ids, limit)

    def count_by_day(
        self,
        since: int,
        until: int,
        *,
        job_id: str | None = None,
        outcome: Outcome | None = None,
        trigger: Trigger | None = None,
    ) -> list[DayCount]:
        """Return the outcomes of the ended runs per local day, without empty days."""
        return reports.days(self._store, since, until, job_id=job_id, outcome=outcome, trigger=trigger)

    def gaps(self, since: int) -> list[Gap]:
        """Return the times Halo was off or asleep that led to missed or caught-up runs, newest first."""
        return reports.gaps(self._store, since)

    def alarms(self, since: int) -> list[Alarm]:
        """Return the engine's alarms (it hung or started nothing) from an instant on, oldest first."""
        return reports.alarms(self._store, since)

    # --- Unseen failures -----------------------------------------------------------------------------

    def unseen_failures(self) -> list[Run]:
        """Return failures since `mark_failures_seen`, newest first, at most a hundred; no tests, no removed jobs."""
        seq, under_way = self._store.settings.failures_seen()
        return self._store.history.failures_after(seq, under_way, _MOST_UNSEEN)

    def mark_failures_seen(self) -> None:
        """Mark all failures up to now as seen; runs that are active now can still fail later."""
        with self._session.edit() as edit:
            refuse_assistants(edit.actor, "mark failures as seen")
            history = self._store.history
            self._store.settings.set_failures_seen(history.newest_seq(), history.seqs_under_way())
            edit.changed(ChangeKind.SETTINGS)


class Questions:
    """Reads, answers and dismisses questions."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._table = session.store.questions

    def list(self, *, include_settled: bool = False, limit: int = 100) -> list[Question]:
        """Return the open questions, oldest first; or with the settled ones, newest first."""
        require_whole("limit", limit, 1)
        return self._table.newest(limit) if include_settled else self._table.open_ones(limit)

    def get(self, question_id: str) -> Question | None:
        """Return a question in any state."""
        return self._table.get(question_id)

    def of_run(self, run_id: str) -> Question | None:
        """Return the question of a run, or None."""
        return self._table.of_run(run_id)

    def answered_by(self, run_id: str) -> Question | None:
        """Return the question whose answer a run was given."""
        return self._table.answered_by(run_id)

    def answer(self, question_id: str, text: str) -> str:
        """Answer a question, and return the id of the run that gets the answer; it starts once the job is free."""
        with self._session.edit() as edit:
            return run_requests.answer_question(edit, question_id, text)

    def dismiss(self, question_id: str) -> None:
        """Close a question without an answer; its job is no longer on hold."""
        with self._session.edit() as edit:
            run_requests.dismiss_question(edit, question_id)

    def reopen(self, question_id: str) -> None:
        """Reopen a dismissed question."""
        with self._session.edit() as edit:
            run_requests.reopen_question(edit, question_id)
