"""The runs that the end of another job's run started; always inside the engine's transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from halo_scheduler.engine.candidates import Candidate
from halo_scheduler.engine.manual_runs import claimed_beside_its_slot
from halo_scheduler.engine.skipped_runs import SkippedRuns
from halo_scheduler.engine.surroundings import Wait
from halo_scheduler.grammar.english import shortened
from halo_scheduler.model import Run, SkipReason, Source, Trigger, Waiting, WaitingDetails, WaitingFor
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.situation import is_late
from halo_scheduler.rules.blockers import Hold
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.requests import Request
from halo_scheduler.store.store import Store
from halo_scheduler.wording.status import waited_words

_GONE = "a job that is gone"


class ChainRuns:
    """Nobody decided just now that they start: they wait like a due job, for as long as it takes."""

    def __init__(
        self, store: Store, unstarted: SkippedRuns, is_output_awaited: Callable[[str], bool]
    ) -> None:
        """`is_output_awaited` tells whether the output of a run that has ended is still to be stored."""
        self._store = store
        self._skipped_runs = unstarted
        self._is_output_awaited = is_output_awaited

    def candidates(self, now_ms: int) -> list[Candidate]:
        """Return the chain runs whose turn it may be, oldest first; those of jobs that were removed are no more."""
        requests = self._store.requests.chain_runs_in_turn()
        records = self._store.jobs.get_many({request.job_id for request in requests}) if requests else {}
        found: list[Candidate] = []
        for request in requests:
            record = records.get(request.job_id)
            if record is None or record.removed_at is not None:
                self._store.requests.close(request)
                name = _GONE if record is None else record.spec.name
                self._tell_broken(request, name, "removed", now_ms)
            else:
                found.append(Candidate(record, request))
        return found

    def behind(self, records: Mapping[str, JobRecord]) -> list[Candidate]:
        """Return the chain runs of jobs that waited for the one before them, which does not start now."""
        if not records:
            return []
        requests = self._store.requests.chain_runs_behind(records)
        return [Candidate(records[request.job_id], request) for request in requests]

    def look(self, record: JobRecord, request: Request, *, is_busy: bool) -> Wait | Hold | None:
        """Return what keeps back a chain run before all that may keep back a due job."""
        if is_busy:
            return Wait(WaitingFor.PREVIOUS_RUN, until=request.waits_until)
        if self._is_output_awaited(request.payload):
            details = WaitingDetails(name=shortened(self._cause(request)[1]))
            return Wait(WaitingFor.OUTPUT, details, request.waits_until)
        if record.disabled_reason is None and not record.paused:
            return None
        is_disabled = record.disabled_reason is not None
        state = "disabled" if is_disabled else "paused"
        name = shortened(self._cause(request)[1])
        reason = SkipReason.DISABLED if is_disabled else SkipReason.PAUSED
        return Hold(reason, f"it was to run after {name}, but it was {state} at that time")

    def start(self, record: JobRecord, request: Request, now_ms: int) -> tuple[JobRecord, Run]:
        """Claim a chain run."""
        self._store.requests.close(request)
        run = _run_of(record, request, now_ms)
        return claimed_beside_its_slot(record, run, now_ms), run

    def skip(self, record: JobRecord, request: Request, hold: Hold, now_ms: int) -> None:
        """Record that a chain run does not start."""
        self._store.requests.close(request)
        self._skipped_runs.skip(_run_of(record, request, now_ms), hold.reason, hold.sentence, now_ms)
        if hold.reason in (SkipReason.DISABLED, SkipReason.PAUSED):
            self._tell_broken(request, record.spec.name, hold.reason, now_ms)

    def drop(self, record: JobRecord, request: Request, now_ms: int) -> None:
        """Give up a chain run that a fault of ours keeps from being decided."""
        self._store.requests.close(request)
        self._tell_broken(request, record.spec.name, "fault", now_ms)

    def put_off(self, request: Request, wait: Wait) -> None:
        """Keep what a chain run waits for; the same is told once."""
        if wait != (request.waiting_for, request.waiting_details, request.waits_until):
            later = replace(
                request, waiting_for=wait.waiting_for, waiting_details=wait.details, waits_until=wait.until
            )
            self._store.requests.save_waiting([later])
            self._skipped_runs.tell(Change(ChangeKind.JOB, job_id=request.job_id))

    def _cause(self, request: Request) -> tuple[Run | None, str]:
        """Return the run that caused another, and the name of its job."""
        run = self._store.runs.get(request.payload)
        record = None if run is None else self._store.jobs.get(run.job_id)
        return run, _GONE if record is None else record.spec.name

    def _tell_broken(self, request: Request, name: str, why: str, now_ms: int) -> None:
        """Say that a chain ends before a job: on the run before it, in the journal, and to whoever listens."""
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
            because = "because of a fault, which is in the log" if why == "fault" else f"as it was {why}"
            self._store.runs.add_note(cause.id, f"{shortened(name)} did not run after it, {because}")
            self._skipped_runs.tell(Change(ChangeKind.RUN_FINISHED, job_id=cause.job_id, run_id=cause.id))


def _run_of(record: JobRecord, request: Request, now_ms: int) -> Run:
    return Run(
        id=request.run_id,
        job_id=record.id,
        trigger=Trigger.CHAIN,
        source=Source.MANUAL,
        started_at=now_ms,
        late_ms=max(0, now_ms - request.at),
        caused_by=request.payload,
        note=_waited_long(request, now_ms),
    )


def _waited_long(request: Request, now_ms: int) -> str:
    """Return what a run waited for that starts late: nobody could tell afterwards."""
    if request.waiting_for in (None, WaitingFor.AT_CAPACITY) or not is_late(now_ms - request.at):
        return ""
    return waited_words(Waiting(kind=request.waiting_for, details=request.waiting_details), now_ms)
