"""Claiming the runs that other runs and events ask for, always inside the engine's transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from halo_scheduler.engine.candidates import Candidate, Wait
from halo_scheduler.engine.requested_runs import claimed_beside_its_slot
from halo_scheduler.engine.slots import SkippedRuns
from halo_scheduler.grammar.english import shortened
from halo_scheduler.model import Run, SkipReason, WaitingDetails, WaitingFor
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.messages import Message, MessageKind, Messages, message
from halo_scheduler.model.situation import is_late, waited_message
from halo_scheduler.rules.blockers import Hold
from halo_scheduler.rules.chains import GONE, ask_instead_of_event_retry
from halo_scheduler.rules.event_requests import run_of
from halo_scheduler.rules.planning import UNPLANNABLE
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.requests import Request, RequestKind
from halo_scheduler.store.store import Store


class QueuedRuns:
    """Runs that wait like due jobs, with no time limit: chain runs, and those of events."""

    def __init__(
        self, store: Store, unstarted: SkippedRuns, is_output_awaited: Callable[[str], bool]
    ) -> None:
        """`is_output_awaited` returns whether the output of an ended run is still to be stored."""
        self._store = store
        self._skipped_runs = unstarted
        self._is_output_awaited = is_output_awaited
        self._has_asked = False

    def candidates(self, now_ms: int) -> list[Candidate]:
        """Return the runs that may start, oldest first; those of removed jobs are dropped."""
        requests = self._store.requests.queued_in_turn(now_ms)
        records = self._store.jobs.get_many({request.job_id for request in requests}) if requests else {}
        found: list[Candidate] = []
        for request in requests:
            record = records.get(request.job_id)
            if record is None or record.removed_at is not None:
                self._drop_removed(record, request, now_ms)
            else:
                found.append(Candidate(record, request))
        return found

    def behind(self, records: Mapping[str, JobRecord], now_ms: int) -> list[Candidate]:
        """Return the next runs of jobs whose earlier queued run does not start in this tick."""
        if not records:
            return []
        requests = self._store.requests.queued_behind(records, now_ms)
        return [Candidate(records[request.job_id], request) for request in requests]

    def check(self, record: JobRecord, request: Request, *, is_busy: bool) -> Wait | Hold | None:
        """Return the blockers that only queued runs have; None if there is none."""
        if is_busy:
            return Wait(WaitingFor.PREVIOUS_RUN, until=request.waits_until)
        if self._is_output_awaited(request.payload):
            details = WaitingDetails(name=shortened(self._cause(request)[1]))
            return Wait(WaitingFor.OUTPUT, details, request.waits_until)
        if self._store.requests.has_lost_input(request):
            return Hold(SkipReason.SOURCE_UNAVAILABLE, message(MessageKind.INPUT_LOST))
        if record.disabled_reason is None and not record.paused:
            return None
        is_disabled = record.disabled_reason is not None
        reason = SkipReason.DISABLED if is_disabled else SkipReason.PAUSED
        return Hold(reason, self._not_in(request, "disabled" if is_disabled else "paused"))

    def _not_in(self, request: Request, state: str) -> Message:
        """Return that a job did not take what asked for its run."""
        if request.kind is RequestKind.EVENT:
            return message(MessageKind.NOT_AFTER_EVENT, state=state)
        return message(MessageKind.NOT_AFTER, name=shortened(self._cause(request)[1]), state=state)

    def start(self, record: JobRecord, request: Request, now_ms: int) -> tuple[JobRecord, Run]:
        """Claim a run."""
        run = self._take(record, request, now_ms)
        run = replace(run, notes=(*run.notes, *_waited_long(request, now_ms)))
        return claimed_beside_its_slot(record, run, now_ms), run

    def skip(self, record: JobRecord, request: Request, hold: Hold, now_ms: int) -> None:
        """Record a run as skipped."""
        self._skipped_runs.skip(self._take(record, request, now_ms), hold.reason, hold.message, now_ms)
        if request.kind is RequestKind.EVENT:
            asked = ask_instead_of_event_retry(self._store, record, request)
            self._skipped_runs.tell(*asked)
            self._has_asked |= bool(asked)
        elif hold.reason in (SkipReason.DISABLED, SkipReason.PAUSED):
            self._tell_broken(request, record.spec.name, hold.reason, now_ms)

    def drop(self, record: JobRecord, request: Request, now_ms: int) -> None:
        """Drop a run that could not be decided because of an internal error."""
        if request.kind is RequestKind.EVENT:
            self.skip(record, request, Hold(SkipReason.UNSUPPORTED_TYPE, UNPLANNABLE), now_ms)
            return
        self._store.requests.close(request)
        self._tell_broken(request, record.spec.name, "fault", now_ms)

    def take_asked(self) -> bool:
        """Return whether chain runs were requested since the last call."""
        asked, self._has_asked = self._has_asked, False
        return asked

    def put_off(self, request: Request, wait: Wait) -> None:
        """Store what a run waits for; the same wait is published once."""
        if wait != (request.waiting_for, request.waiting_details, request.waits_until):
            later = replace(
                request, waiting_for=wait.waiting_for, waiting_details=wait.details, waits_until=wait.until
            )
            self._store.requests.save_waiting([later])
            self._skipped_runs.tell(Change(ChangeKind.JOB, job_id=request.job_id))

    def _take(self, record: JobRecord, request: Request, now_ms: int) -> Run:
        """Return the run of a request, which is closed; its input becomes that of the run."""
        self._store.requests.take_input(request)
        self._store.requests.close(request)
        return replace(run_of(record, request), started_at=now_ms, late_ms=max(0, now_ms - request.at))

    def _drop_removed(self, record: JobRecord | None, request: Request, now_ms: int) -> None:
        if request.kind is RequestKind.EVENT and record is not None:
            in_trash = Hold(SkipReason.DISABLED, message(MessageKind.JOB_IN_TRASH))
            self.skip(record, request, in_trash, now_ms)
            return
        self._store.requests.close(request)
        if request.kind is RequestKind.CHAIN:
            self._tell_broken(request, GONE if record is None else record.spec.name, "removed", now_ms)

    def _cause(self, request: Request) -> tuple[Run | None, str]:
        """Return the run that caused another, and the name of its job."""
        run = self._store.runs.get(request.payload)
        record = None if run is None else self._store.jobs.get(run.job_id)
        return run, GONE if record is None else record.spec.name

    def _tell_broken(self, request: Request, name: str, why: str, now_ms: int) -> None:
        """Report that a chain ended before a job: on the run before it, in the journal and to listeners."""
        cause, _ = self._cause(request)
        self._store.events.append(
            now_ms,
            EventKind.CHAIN_BROKEN,
            None if cause is None else cause.job_id,
            follower=request.job_id,
            name=name,
            reason=why,
            run_id=request.payload,
        )
        if cause is not None:
            self._store.runs.add_note(
                cause.id, message(MessageKind.FOLLOWER_NOT_RUN, name=shortened(name), why=why)
            )
            self._skipped_runs.tell(Change(ChangeKind.RUN_FINISHED, job_id=cause.job_id, run_id=cause.id))


def _waited_long(request: Request, now_ms: int) -> Messages:
    """Return what a late run waited for, because the job no longer shows it."""
    if request.waiting_for in (None, WaitingFor.AT_CAPACITY) or not is_late(now_ms - request.at):
        return ()
    return (waited_message(request.waiting_for, request.waiting_details),)
