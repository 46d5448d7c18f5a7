"""Starts runs by action kind, and adopts processes that an earlier engine left running."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Protocol

from halo_scheduler.actions.ending import outcome_of, with_said, without_secrets
from halo_scheduler.actions.http import HttpWork
from halo_scheduler.actions.process import ProcessWork
from halo_scheduler.actions.run_input import RunInput
from halo_scheduler.actions.run_services import (
    NO_CONTEXT,
    Ended,
    Late,
    OpenSource,
    RunContext,
    RunServices,
    Secrets,
    StopReason,
    Work,
    kept_output,
)
from halo_scheduler.actions.spool import NOT_YET, Output, Spool, Ticket, left_behind
from halo_scheduler.errors import SchedulerError
from halo_scheduler.grammar.redaction import Redactor
from halo_scheduler.host.process import is_alive
from halo_scheduler.host.process_tree import marked_processes, session_of
from halo_scheduler.model import Command, HttpRequest, Job, JobSpec, Outcome, ProcessAction, Reminder, Run
from halo_scheduler.model.messages import MessageKind, message
from halo_scheduler.work_sources.item import SourceError

# How much output is searched for directives on the engine's thread, and on another thread.
_MOST_AT_ONCE = 256 << 20
_MOST_LATE = 16 << 30
_FILE_EVERY_S = 1.0


class ReadSecrets(Protocol):
    """Locates secrets now, and returns a function that reads them later, on a thread that may block."""

    def __call__(self, names: Iterable[str], *, unchanged_since: int | None = None) -> Secrets: ...


@dataclass(frozen=True, slots=True)
class BegunStop:
    """The stop request of an earlier engine and its time: a later end is attributed to it."""

    why: StopReason
    since: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """The leftover of an earlier engine's run: a living process, or its end."""

    run: Run
    action: ProcessAction | None
    reads_lines: bool
    session: int | None
    is_main_alive: bool
    ended: Ended


class Runner:
    """Starts runs, and manages the spool files of all of them."""

    def __init__(
        self,
        folder: Path,
        services: RunServices,
        read_secrets: ReadSecrets,
        open_source: OpenSource | None = None,
    ) -> None:
        self._folder = folder
        self._services = services
        self._read_secrets = read_secrets
        self._open_source = open_source
        self._preparing: dict[str, threading.Event] = {}
        self._file_made_at = -_FILE_EVERY_S

    def start(self, job: Job, run: Run, context: RunContext = NO_CONTEXT) -> Work | None:
        """Start a run; None if no runner supports its action."""
        action = job.action
        if isinstance(action, ProcessAction):
            return self._start_process(job, run, action, context)
        if isinstance(action, HttpRequest):
            return self._start_request(job, run, action, context)
        if isinstance(action, Reminder):
            return self._start_reminder(run, action)
        return None

    def _start_reminder(self, run: Run, action: Reminder) -> Work:
        from halo_scheduler.actions.reminder import ReminderWork  # noqa: PLC0415 - only when needed

        work = ReminderWork(self._services, run, action)
        work.start()
        return work

    def _start_request(self, job: Job, run: Run, action: HttpRequest, context: RunContext) -> Work:
        # Many requests at once do not each try to create a file.
        makes_file = monotonic() >= self._file_made_at + _FILE_EVERY_S
        if makes_file:
            self._file_made_at = monotonic()
        work = HttpWork(
            self._services,
            run,
            action,
            self.spool(run.id),
            reads_lines=job.reads_lines,
            makes_file=makes_file,
            given=context.input,
        )
        work.start(self._read_secrets(action.secret_names))
        return work

    def _start_process(self, job: Job, run: Run, action: ProcessAction, context: RunContext) -> Work:
        source = None
        if action.work_source is not None:
            if self._open_source is None:
                raise SourceError(message(MessageKind.NO_WORK_SOURCES))
            source = self._open_source(action.work_source)
        work = ProcessWork(self._services, run, action, self.spool(run.id), reads_lines=job.reads_lines)
        if source is not None:
            self._preparing = {key: event for key, event in self._preparing.items() if not event.is_set()}
            self._preparing[run.id] = work.has_begun
        assignment = RunInput(job=job, run=run, action=action, context=context, source=source)
        work.start(assignment, self._read_secrets(action.secret_names))
        return work

    def wait_until_prepared(self, run_id: str) -> None:
        """Wait, on a thread that may block, until the call that claims an item for a run has returned.

        A run that is stopped while it claims is recorded at once; only then is it known which item it got.
        """
        event = self._preparing.get(run_id)
        if event is not None:
            event.wait()

    def spool(self, run_id: str) -> Spool:
        """Return the files of a run."""
        return Spool(self._folder, run_id)

    # --- After a crash -------------------------------------------------------------------------------

    def find_leftovers(
        self,
        runs: Iterable[Run],
        specs: Mapping[str, JobSpec],
        stops: Mapping[str, BegunStop],
        now_ms: int,
    ) -> list[Leftover]:
        """Return the state of runs that another engine started; `specs` are their jobs' current specs."""
        open_runs = list(runs)
        living = marked_processes(run.id for run in open_runs)
        return [
            self._leftover(run, specs.get(run.job_id), living.get(run.id, []), stops.get(run.id), now_ms)
            for run in open_runs
        ]

    def _leftover(
        self, run: Run, spec: JobSpec | None, living: list[int], stop: BegunStop | None, now_ms: int
    ) -> Leftover:
        marked_pid = living[0] if living else None
        spool = self.spool(run.id)
        ticket = spool.read_ticket()
        action = (spec and spec.action) if ticket is None else ticket.action
        reads_lines = bool(spec and spec.reads_lines) if ticket is None else ticket.reads_lines
        if ticket is not None and ticket.pid == NOT_YET:
            ticket = None
        is_main_alive = ticket is not None and is_alive(ticket.pid, ticket.process_start)
        written = spool.read_code()
        is_stopped = stop is not None and (written is None or written[1] >= stop.since)
        # Without a ticket, the first process with the mark is the shim, or a survivor. A stopped run must leave no
        # processes; a run that ended by itself may.
        is_under_way = is_main_alive or (marked_pid is not None and (written is None or is_stopped))
        process = action if isinstance(action, ProcessAction) else None
        ended = self._ended_unseen(run, process, spool, now_ms)
        if stop is not None and is_stopped:
            ended = ended._replace(outcome=stop.why.outcome, message=stop.why.message, reason=stop.why.reason)
        if process is not None and not is_under_way:
            ended = _with_rest(ended, process, spool, reads_lines=reads_lines)
        return Leftover(
            run=run,
            action=process,
            reads_lines=reads_lines,
            session=_session(ticket, marked_pid, is_main_alive=is_main_alive) if is_under_way else None,
            is_main_alive=is_main_alive or (ticket is None and is_under_way),
            ended=ended,
        )

    def _ended_unseen(self, run: Run, action: ProcessAction | None, spool: Spool, now_ms: int) -> Ended:
        written = spool.read_code()
        if action is None or not spool.was_started():
            kind = MessageKind.HALO_ENDED if action is None else MessageKind.HALO_ENDED_BEFORE_START
            output = self._kept(run, action, spool)
            return Ended(run_id=run.id, outcome=Outcome.INTERRUPTED, message=message(kind), output=output)
        outcome, reason, why = outcome_of(action, None if written is None else written[0])
        finished_at = None
        if written is not None:
            finished_at = min(max(written[1], run.started_at or 0), now_ms)
        return Ended(
            run_id=run.id,
            outcome=outcome,
            reason=reason,
            message=why,
            notes=(message(MessageKind.ENDED_UNSEEN),) if written else (),
            exit_code=written[0] if written else None,
            finished_at=finished_at,
            output=self._kept(run, action, spool),
            needs_secrets=action.secret_names,
        )

    def _kept(self, run: Run, action: ProcessAction | None, spool: Spool) -> Output | None:
        """Return the output, unless it contains secrets that must be read first."""
        if action is not None and action.secret_names:
            return None
        return self._services.kept_output(spool, run, Redactor()) if spool.exists() else None

    def adopt(self, left: Leftover) -> Work:
        """Adopt a run whose process is alive."""
        action = left.action or Command(argv=("?",))
        spool = self.spool(left.run.id)
        work = ProcessWork(self._services, left.run, action, spool, reads_lines=left.reads_lines)
        work.adopt(left.session or 0, is_alive=left.is_main_alive)
        return work

    def read_later(self, run: Run, names: Iterable[str], done: Callable[[Late], None]) -> None:
        """Read the secrets of a run, then its output, redacted; without the secrets it is withheld."""
        secrets = self._read_secrets(names, unchanged_since=run.started_at)
        spool = self.spool(run.id)
        limit = self._services.output_limit(run.job_id)

        def read() -> None:
            try:
                redactor = Redactor(secrets().values())
                late = _late(spool, limit, redactor)
            except Exception as error:  # noqa: BLE001 - a keyring may raise anything, and others wait for this
                # Only the texts of our own errors are known to contain no secret.
                why = error if isinstance(error, SchedulerError) else type(error).__name__
                text = f"[output withheld, as secrets cannot be taken out of it: {why}]\n"
                late = Late(output=Output.of(text.encode(), spool.size()))
            self._services.engine.post(lambda: done(late))

        self._services.engine.submit(read)

    def left_behind(self) -> set[str]:
        """Return the runs with files here."""
        return left_behind(self._folder)

    def secrets_of(self, run_id: str) -> frozenset[str]:
        """Return the names of the secrets that a run was given, from its ticket."""
        ticket = self.spool(run_id).read_ticket()
        action = None if ticket is None else ticket.action
        return action.secret_names if isinstance(action, ProcessAction) else frozenset()


def _with_rest(ended: Ended, action: ProcessAction, spool: Spool, *, reads_lines: bool) -> Ended:
    """Return the end of a run that ended while no engine ran, with the directives not yet read."""
    if ended.needs_secrets:
        return without_secrets(ended, action)
    if reads_lines:
        _hear_at_once(spool, Redactor(), _MOST_AT_ONCE)
    return with_said(ended, action, spool, Redactor())


def _late(spool: Spool, limit: int, redactor: Redactor) -> Late:
    """Return the parts of a run's end that had to wait for secrets."""
    output = kept_output(spool, lambda: limit, redactor)
    ticket = spool.read_ticket()
    if ticket is None or not ticket.reads_lines:
        return Late(output=output)
    _hear_at_once(spool, redactor, _MOST_LATE)
    said = spool.said()
    return Late(
        output=output, cost=said.cost, question=said.question, note=said.fault, proposal=said.proposal
    )


def _hear_at_once(spool: Spool, redactor: Redactor, most_bytes: int) -> None:
    spool.listen(redactor)
    with suppress(OSError):  # An unreadable output must not prevent the run from ending.
        spool.hear_at_once(most_bytes)


def _session(ticket: Ticket | None, marked_pid: int | None, *, is_main_alive: bool) -> int | None:
    """Return the session of a run; the pid of an ended main process may have been reused."""
    if ticket is None or is_main_alive:
        return marked_pid if ticket is None else ticket.pid
    return ticket.pid if marked_pid is not None and session_of(marked_pid) == ticket.pid else marked_pid
