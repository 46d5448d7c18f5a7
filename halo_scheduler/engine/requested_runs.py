"""Claims the runs requested by people, other runs and events, always inside the engine's transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace

from halo_scheduler.engine.candidates import Candidate, StartConditions, Wait
from halo_scheduler.engine.slots import SkippedRuns, passed_while_due
from halo_scheduler.grammar.english import shortened
from halo_scheduler.model import (
    NO_DETAILS,
    JobSpec,
    Run,
    SkipReason,
    Source,
    StatusReason,
    Trigger,
    WaitingDetails,
    WaitingFor,
)
from halo_scheduler.model.changes import Change, ChangeKind, changes_of
from halo_scheduler.model.jobs import still_declared
from halo_scheduler.model.messages import Message, MessageKind, Messages, message
from halo_scheduler.model.situation import is_late, waited_message
from halo_scheduler.rules.blockers import Hold
from halo_scheduler.rules.chains import GONE, ask_instead_of_event_retry
from halo_scheduler.rules.event_requests import run_of
from halo_scheduler.rules.pending import with_restart
from halo_scheduler.rules.planning import UNPLANNABLE
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.requests import Request, RequestKind
from halo_scheduler.store.store import Store

_TRIGGERS = {
    RequestKind.TRIGGER: Trigger.MANUAL,
    RequestKind.TEST: Trigger.TEST,
    RequestKind.ANSWER: Trigger.ANSWER,
    RequestKind.LATER: Trigger.MANUAL,
}
_WAITING_FOR_THE_JOB = (RequestKind.ANSWER, RequestKind.LATER)


class RunsByHand:
    """Manual runs: they wait for the concurrency limits and for nothing else."""

    def __init__(self, store: Store, start_conditions: StartConditions, unstarted: SkippedRuns) -> None:
        self._store = store
        self._start_conditions = start_conditions
        self._skipped_runs = unstarted

    def claim(self, now_ms: int, places: int, in_group: Counter[str | None]) -> list[tuple[JobRecord, Run]]:
        """Claim requested runs, oldest first, within the limits; `in_group` counts the active runs per group."""
        claimed: dict[str, tuple[JobRecord, Run]] = {}
        limits = self._store.groups.limits()
        waiting: set[str] = set()
        while len(claimed) < places:
            page = self._store.requests.triggers(now_ms, places - len(claimed) + len(waiting))
            fresh = [request for request in page if request.run_id not in waiting]
            if not fresh:
                break
            for request in fresh:
                record = self._store.jobs.get(request.job_id)
                is_free = record is None or (record.run_id is None and record.id not in claimed)
                is_behind = request.kind in _WAITING_FOR_THE_JOB and not is_free
                if is_behind or (is_free and _is_group_full(request, record, limits, in_group)):
                    waiting.add(request.run_id)
                    continue
                found = self._by_hand(request, record, now_ms, is_free=is_free)
                if found is not None:
                    claimed[request.job_id] = found
                    in_group[found[0].spec.group] += 1
                if found is not None and request.kind is RequestKind.TEST:
                    self._store.requests.begin_test(request.run_id)
                else:
                    self._store.requests.close(request)
        self._skipped_runs.tell(*changes_of(self._store.requests.mark_waiting(now_ms)))
        return list(claimed.values())

    def _by_hand(
        self, request: Request, record: JobRecord | None, now_ms: int, *, is_free: bool
    ) -> tuple[JobRecord, Run] | None:
        if record is None or record.removed_at is not None:
            # The job is gone, so there is nothing to answer; if it is restored, its question is open again.
            self._store.questions.reopen(request.run_id)
            return None
        run = self._with_given(
            Run(
                id=request.run_id,
                job_id=record.id,
                trigger=_TRIGGERS[request.kind],
                source=Source.MANUAL,
                started_at=now_ms,
                late_ms=max(0, now_ms - request.at),
                notes=_asked_by(request),
            ),
            request,
            record.spec,
        )
        if not is_free:
            self._skipped_runs.skip(run, SkipReason.ALREADY_RUNNING, None, now_ms)
            return None
        if request.kind is RequestKind.LATER and record.paused_by is StatusReason.ASSISTANT:
            # The person who asked for this run saw another version of the job.
            self._skipped_runs.skip(run, SkipReason.PAUSED, message(MessageKind.NOT_REVIEWED), now_ms)
            return None
        claimed = claimed_beside_its_slot(record, run, now_ms)
        if request.kind is not RequestKind.TEST:
            note = self._start_conditions.note_on(record, run.trigger)
            return claimed, run if note is None else replace(run, notes=(*run.notes, note))
        spec = request.spec
        if spec is None:
            unreadable = message(MessageKind.UNREADABLE_TEST)
            self._skipped_runs.skip(run, SkipReason.UNSUPPORTED_TYPE, unreadable, now_ms)
            return None
        # The test runs the edited spec; the job's own columns stay as they are.
        spec = replace(spec, group=record.spec.group)
        return claimed.evolve(spec=spec, last_run_at=record.last_run_at), replace(
            run, parameters=spec.parameters
        )

    def _with_given(self, run: Run, request: Request, spec: JobSpec) -> Run:
        """Return a run with what it was given: by its request, or to the run whose question it answers."""
        if request.kind is not RequestKind.ANSWER:
            self._store.requests.take_input(request)
            values = still_declared(spec.parameters, request.parameters)
            return replace(run, parameters=values, input_bytes=request.input_bytes)
        question = self._store.questions.answered_by(run.id)
        asked = None if question is None else self._store.runs.get(question.run_id)
        if asked is None:
            return replace(run, parameters=spec.parameters)
        self._store.inputs.copy(asked.id, to=run.id)
        values = still_declared(spec.parameters, asked.parameters)
        return replace(run, parameters=values, input_bytes=asked.input_bytes)

    def drop_stale(self, now_ms: int) -> None:
        """Drop the manual runs that were requested while no engine was running.

        Requests that an engine has accepted stay. Answers are never dropped, because their job is on hold for them.
        """
        for request in self._store.requests.triggers():
            is_accepted = request.waiting_for is not None or request.kind is RequestKind.ANSWER
            if is_accepted or not is_late(now_ms - request.at):
                continue
            record = self._store.jobs.get(request.job_id)
            if record is None:
                continue
            run = Run(
                id=request.run_id,
                job_id=request.job_id,
                trigger=_TRIGGERS[request.kind],
                source=Source.MANUAL,
                notes=_asked_by(request),
            )
            run = self._with_given(run, request, record.spec)
            missed = message(MessageKind.MISSED_REQUEST)
            self._skipped_runs.skip(run, SkipReason.MISSED, missed, now_ms)
            self._store.requests.close(request)


class QueuedRuns:
    """Runs that wait like due jobs, without a time limit: chain runs and event runs."""

    def __init__(
        self, store: Store, unstarted: SkippedRuns, is_output_awaited: Callable[[str], bool]
    ) -> None:
        """`is_output_awaited` returns whether the output of an ended run is still to be stored."""
        self._store = store
        self._skipped_runs = unstarted
        self._is_output_awaited = is_output_awaited
        self._has_asked = False

    def candidates(self, now_ms: int) -> list[Candidate]:
        """Return the runs that may start, oldest first; drop those of removed jobs."""
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
        """Return the next queued runs of jobs whose earlier queued run does not start in this tick."""
        if not records:
            return []
        requests = self._store.requests.queued_behind(records, now_ms)
        return [Candidate(records[request.job_id], request) for request in requests]

    def check(self, record: JobRecord, request: Request, *, is_busy: bool) -> Wait | Hold | None:
        """Return the blocker that only queued runs have; None if there is none."""
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
        """Return the message that a job was not ready for the requested run."""
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
        """Drop a run whose claim failed with an internal error."""
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
        """Store what a run waits for; publish only changes."""
        if wait != (request.waiting_for, request.waiting_details, request.waits_until):
            later = replace(
                request, waiting_for=wait.waiting_for, waiting_details=wait.details, waits_until=wait.until
            )
            self._store.requests.save_waiting([later])
            self._skipped_runs.tell(Change(ChangeKind.JOB, job_id=request.job_id))

    def _take(self, record: JobRecord, request: Request, now_ms: int) -> Run:
        """Turn a request into its run, and delete the request; the run gets its input."""
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
        """Return the run that requested this one, and the name of its job."""
        run = self._store.runs.get(request.payload)
        record = None if run is None else self._store.jobs.get(run.job_id)
        return run, GONE if record is None else record.spec.name

    def _tell_broken(self, request: Request, name: str, why: str, now_ms: int) -> None:
        """Report that a chain stopped before a job: on the previous run, in the journal and to subscribers."""
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


def _is_group_full(
    request: Request, record: JobRecord | None, limits: Mapping[str, int], in_group: Counter[str | None]
) -> bool:
    """Return whether the limit of its group keeps a run from starting; test runs ignore that limit."""
    group = None if record is None else record.spec.group
    if group is None or group not in limits or request.passes_group or request.kind is RequestKind.TEST:
        return False
    return in_group[group] >= limits[group]


def _asked_by(request: Request) -> Messages:
    """Return the note that an assistant requested a run; None if a person did."""
    if request.kind is not RequestKind.TRIGGER or not request.payload:
        return ()
    return (message(MessageKind.ASKED_BY, assistant=request.payload),)


def claimed_beside_its_slot(record: JobRecord, run: Run, now_ms: int) -> JobRecord:
    """Return a job with a run outside its schedule; a due slot stays due.

    Until the run has ended, the slot's blockers are not checked.
    """
    claimed = record.evolve(
        run_id=run.id,
        last_run_at=now_ms,
        passed_reason=passed_while_due(record, now_ms),
        waiting_for=None,
        waiting_details=NO_DETAILS,
    )
    return with_restart(claimed, now_ms)


def _waited_long(request: Request, now_ms: int) -> Messages:
    """Return what a late run waited for; the job no longer shows it."""
    if request.waiting_for in (None, WaitingFor.AT_CAPACITY) or not is_late(now_ms - request.at):
        return ()
    return (waited_message(request.waiting_for, request.waiting_details),)
