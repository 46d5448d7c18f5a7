"""What becomes of a slot that has come; always inside the engine's transaction."""

from __future__ import annotations

from dataclasses import replace

from halo_scheduler.changes import Change, ChangeKind
from halo_scheduler.engine.outage import OUTAGE
from halo_scheduler.engine.outlook import Wait
from halo_scheduler.engine.unstarted import Unstarted
from halo_scheduler.followers import ask_instead_of_retry
from halo_scheduler.holds import Hold
from halo_scheduler.ids import new_run_id
from halo_scheduler.model import Outcome, Run, Source, StatusReason, Trigger, WaitingFor
from halo_scheduler.planning import (
    LATE_MS,
    UNPLANNABLE,
    passed_over,
    plan,
    plan_after_run,
    without_plan,
)
from halo_scheduler.schedule.next_run import count_due
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.runs import RunEnd
from halo_scheduler.store.store import Store

_WAITED: dict[WaitingFor | None, str] = {
    WaitingFor.CONDITION: "condition",
    WaitingFor.QUIET_TIME: "quiet time",
}


class Slots:
    """Starts, skips and puts off slots for one engine."""

    def __init__(self, store: Store, unstarted: Unstarted) -> None:
        self._store = store
        self._unstarted = unstarted
        # By job: the slot, and what it waited for before it lacked a place.
        self._waited: dict[str, tuple[int | None, str]] = {}
        self._has_asked = False
        self.seen_until: int | None = None
        """When slots could last be claimed, if that has not been possible since."""

    def renewed(self, record: JobRecord, now_ms: int) -> JobRecord | None:
        """Return a job planned anew whose slot had its run: only a clock that went back can bring it up again."""
        slot_at, last_slot_at = record.slot_at, record.last_slot_at
        if slot_at is None or last_slot_at is None or slot_at > last_slot_at:
            return None
        if not self._store.runs.has_attempt(record.id, slot_at, record.attempt):
            return None
        return plan(without_plan(record), now_ms, self._store.runs.has_slot)

    def unplannable(self, record: JobRecord) -> JobRecord:
        """Return a job that cannot be planned, disabled."""
        self._ask_instead_of_retry(record)
        return without_plan(record).evolve(disabled_reason=StatusReason.ERRORS, last_error=UNPLANNABLE)

    def put_off(self, record: JobRecord, wait: Wait) -> JobRecord:
        """Keep a slot due, with what it waits for; the same is told once."""
        if wait.waiting_for in _WAITED:
            self._waited[record.id] = record.slot_at, _WAITED[wait.waiting_for]
        if wait == (record.waiting_for, record.waiting_reason, record.waits_until):
            return record
        self._unstarted.tell(Change(ChangeKind.JOB, job_id=record.id))
        return record.evolve(waiting_for=wait.waiting_for, waiting_reason=wait.reason, waits_until=wait.until)

    def start(self, record: JobRecord, now_ms: int) -> tuple[JobRecord, Run]:
        """Claim a slot."""
        skipped = passed_over(record)
        run = Run(
            id=new_run_id(),
            job_id=record.id,
            trigger=Trigger.SCHEDULE,
            source=record.next_source or Source.MANUAL,
            slot_at=record.slot_at,
            attempt=record.attempt,
            started_at=now_ms,
            late_ms=max(0, now_ms - (record.next_run_at or now_ms)),
            passed_over=skipped,
            passed_reason=record.passed_reason if skipped else "",
            note="" if record.waiting_for is None else _waited_long(record, now_ms),
        )
        claimed = record._replace(
            waiting_for=None,
            waiting_reason="",
            waits_until=None,
            run_id=run.id,
            next_run_at=None,
            next_source=None,
            slot_at=None,
            attempt=1,
            passed_reason=self._passed_reason(record, now_ms) if self._has_waited(record) else "",
            counted_until=max(record.counted_until, record.slot_at or 0),
            last_slot_at=max(record.last_slot_at or 0, record.slot_at or 0),
            last_run_at=now_ms,
        )
        return claimed, run

    def skip(self, record: JobRecord, hold: Hold, now_ms: int) -> JobRecord:
        """Use up a slot without a run, and plan the next one as after a run."""
        claimed, run = self.start(record, now_ms)
        end = RunEnd(outcome=Outcome.SKIPPED, finished_at=now_ms, reason=hold.reason, error=hold.sentence)
        after = plan_after_run(claimed, run, end, self._store.runs.has_slot)
        self._unstarted.skip(replace(run, note=""), hold.reason, hold.sentence, now_ms)
        self._ask_instead_of_retry(record)
        if after.disabled_reason is not None:
            self._store.events.append(
                now_ms, EventKind.JOB_DISABLED, record.id, reason=after.disabled_reason, errors=after.errors
            )
        return after.evolve(last_run_at=record.last_run_at)

    def _ask_instead_of_retry(self, record: JobRecord) -> None:
        """Ask for what follows the attempt before, if this one was to be another."""
        asked = ask_instead_of_retry(self._store, record)
        self._unstarted.tell(*asked)
        self._has_asked |= bool(asked)

    def take_asked(self) -> bool:
        """Tell whether chain runs were asked for since this was asked last."""
        asked, self._has_asked = self._has_asked, False
        return asked

    def _has_waited(self, record: JobRecord) -> bool:
        return record.waiting_for in _WAITED or record.id in self._waited or self.seen_until is not None

    def _passed_reason(self, record: JobRecord, now_ms: int) -> str:
        """Return for what a slot waited while others passed by, if some did."""
        slot_at, waited = self._waited.pop(record.id, (None, ""))
        if slot_at != record.slot_at:
            waited = ""
        waited = waited or _WAITED.get(record.waiting_for, "") or self._outage_at(record)
        if not waited or record.slot_at is None:
            return ""
        spec = record.spec
        passed = count_due(spec.schedule, record.slot_at, now_ms, anchor_at=spec.anchor_at, most=1)
        return waited if passed else ""

    def _outage_at(self, record: JobRecord) -> str:
        """Return the reason for which a slot could not be claimed in its time, if it came during an outage."""
        is_unseen = self.seen_until is not None and (record.next_run_at or 0) > self.seen_until
        return OUTAGE if is_unseen else ""


def _waited_long(record: JobRecord, now_ms: int) -> str:
    """Return what a slot waited for that starts late: nobody could tell afterwards."""
    if now_ms - (record.next_run_at or now_ms) <= LATE_MS:
        return ""
    return f"waited for {record.waiting_reason or 'a place'}"
