"""Claiming the runs that somebody asked for; always inside the engine's transaction."""

from __future__ import annotations

from dataclasses import replace

from halo_scheduler.engine.skipped_runs import SkippedRuns
from halo_scheduler.engine.surroundings import StartConditions
from halo_scheduler.grammar.english import assistant_words
from halo_scheduler.model import NO_DETAILS, Run, SkipReason, Source, Trigger
from halo_scheduler.model.situation import is_late
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.requests import Request, RequestKind
from halo_scheduler.store.store import Store

_TRIGGERS = {
    RequestKind.TRIGGER: Trigger.MANUAL,
    RequestKind.TEST: Trigger.TEST,
    RequestKind.ANSWER: Trigger.ANSWER,
}
_HOW = {Trigger.MANUAL: "by hand", Trigger.ANSWER: "with an answer"}


class RunsByHand:
    """Whoever asked for a run has decided: it waits for a place, and for nothing else."""

    def __init__(self, store: Store, start_conditions: StartConditions, unstarted: SkippedRuns) -> None:
        self._store = store
        self._start_conditions = start_conditions
        self._skipped_runs = unstarted

    def claim(self, now_ms: int, places: int) -> list[tuple[JobRecord, Run]]:
        """Claim what was asked for, oldest first, as far as there are places."""
        claimed: dict[str, tuple[JobRecord, Run]] = {}
        waiting: set[str] = set()
        while len(claimed) < places:
            page = self._store.requests.triggers(places - len(claimed) + len(waiting))
            fresh = [request for request in page if request.run_id not in waiting]
            if not fresh:
                break
            for request in fresh:
                record = self._store.jobs.get(request.job_id)
                is_free = record is None or (record.run_id is None and record.id not in claimed)
                if request.kind is RequestKind.ANSWER and not is_free:
                    waiting.add(request.run_id)
                    continue
                found = self._by_hand(request, record, now_ms, is_free=is_free)
                if found is not None:
                    claimed[request.job_id] = found
                if found is not None and request.kind is RequestKind.TEST:
                    self._store.requests.begin_test(request.run_id)
                else:
                    self._store.requests.close(request)
        return list(claimed.values())

    def _by_hand(
        self, request: Request, record: JobRecord | None, now_ms: int, *, is_free: bool
    ) -> tuple[JobRecord, Run] | None:
        if record is None or record.removed_at is not None:
            # Nobody is there to be answered; should the job come back, its question is open again.
            self._store.questions.reopen(request.run_id)
            return None
        run = Run(
            id=request.run_id,
            job_id=record.id,
            trigger=_TRIGGERS[request.kind],
            source=Source.MANUAL,
            started_at=now_ms,
            late_ms=max(0, now_ms - request.at),
            note=_asked_by(request),
        )
        if not is_free:
            self._skipped_runs.skip(run, SkipReason.ALREADY_RUNNING, "", now_ms)
            return None
        claimed = claimed_beside_its_slot(record, run, now_ms)
        if request.kind is not RequestKind.TEST:
            notes = (run.note, self._start_conditions.note_on(record, _HOW[run.trigger]))
            return claimed, replace(run, note="; ".join(filter(None, notes)))
        spec = request.spec
        if spec is None:
            unreadable = "what was to be tried cannot be read"
            self._skipped_runs.skip(run, SkipReason.UNSUPPORTED_TYPE, unreadable, now_ms)
            return None
        # Only what is run is the edited job's: its own columns are not written.
        spec = replace(spec, group=record.spec.group)
        return claimed.evolve(spec=spec, last_run_at=record.last_run_at), run

    def drop_stale(self, now_ms: int) -> None:
        """Do not start by hand today what someone asked for while no engine was there to hear it.

        An answer is never too late: its job waits for it.
        """
        for request in self._store.requests.triggers():
            if not is_late(now_ms - request.at) or request.kind is RequestKind.ANSWER:
                continue
            if self._store.jobs.get(request.job_id) is None:
                continue
            run = Run(
                id=request.run_id,
                job_id=request.job_id,
                trigger=_TRIGGERS[request.kind],
                source=Source.MANUAL,
                note=_asked_by(request),
            )
            missed = "Halo was not running when this was asked for"
            self._skipped_runs.skip(run, SkipReason.MISSED, missed, now_ms)
            self._store.requests.close(request)


def _asked_by(request: Request) -> str:
    """Return the note that an assistant asked for a run; nothing if a person did."""
    if request.kind is not RequestKind.TRIGGER or not request.payload:
        return ""
    return f"asked for by {assistant_words(request.payload)}"


def claimed_beside_its_slot(record: JobRecord, run: Run, now_ms: int) -> JobRecord:
    """Return a job with a run that is none of its schedule's; a slot that has come stays due.

    Until the run has ended nobody looks what that slot waits for.
    """
    return record.evolve(run_id=run.id, last_run_at=now_ms, waiting_for=None, waiting_details=NO_DETAILS)
