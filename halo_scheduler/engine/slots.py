"""Starting, skipping and delaying due slots, always inside the engine's transaction."""

from __future__ import annotations

from dataclasses import replace

from halo_scheduler.engine.candidates import Wait
from halo_scheduler.grammar.interval import SECOND_MS
from halo_scheduler.model import (
    NO_DETAILS,
    Outcome,
    PassedReason,
    Run,
    SkipReason,
    Source,
    StatusReason,
    Trigger,
)
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.messages import Message, Messages
from halo_scheduler.model.runs import new_run_id
from halo_scheduler.model.situation import is_late, waited_message
from halo_scheduler.rules.blockers import Hold
from halo_scheduler.rules.chains import ask_instead_of_retry
from halo_scheduler.rules.grid import passed_over, passed_reasons, read_keys
from halo_scheduler.rules.pending import with_restart
from halo_scheduler.rules.planning import (
    UNPLANNABLE,
    WAITED,
    plan,
    plan_after_run,
    without_plan,
)
from halo_scheduler.schedule.passed_over import spans_after, summarize, with_span
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.runs import RunEnd
from halo_scheduler.store.store import Store


class SkippedRuns:
    """Records skipped runs for one engine; the changes are published after the commit."""

    def __init__(self, store: Store, generation: int) -> None:
        self._store = store
        self._generation = generation
        self._news: list[Change] = []

    def skip(self, run: Run, reason: SkipReason, why: Message | None, now_ms: int) -> None:
        """Record a run as skipped."""
        self._store.runs.insert(
            [
                replace(
                    run,
                    outcome=Outcome.SKIPPED,
                    reason=reason,
                    message=why,
                    started_at=None,
                    finished_at=now_ms,
                )
            ],
            self._generation,
        )
        self.tell(Change(ChangeKind.RUN_FINISHED, job_id=run.job_id, run_id=run.id))

    def tell(self, *changes: Change) -> None:
        """Keep changes until they are committed."""
        self._news += changes

    def take_news(self) -> list[Change]:
        """Return the changes since the last call."""
        news, self._news = self._news, []
        return news


class Slots:
    """Starts, skips and delays slots for one engine."""

    def __init__(self, store: Store, unstarted: SkippedRuns) -> None:
        self._store = store
        self._skipped_runs = unstarted
        self._has_asked = False

    def renewed(self, record: JobRecord, now_ms: int) -> JobRecord | None:
        """Return the job replanned if its slot already had a run, as after a clock set back; else None."""
        slot_at, last_slot_at = record.slot_at, record.last_slot_at
        if slot_at is None or last_slot_at is None or slot_at > last_slot_at:
            return None
        if not self._store.runs.has_attempt(record.id, slot_at, record.attempt):
            return None
        return plan(without_plan(record), now_ms, self._store.runs.has_slot)

    def unplannable(self, record: JobRecord) -> JobRecord:
        """Return a job that cannot be planned, disabled."""
        self._ask_instead_of_retry(record)
        return without_plan(record).evolve(disabled_reason=StatusReason.ERRORS, last_message=UNPLANNABLE)

    def put_off(self, record: JobRecord, wait: Wait, now_ms: int) -> JobRecord:
        """Keep a slot due and store what it waits for; the same wait is published once."""
        if wait == (record.waiting_for, record.waiting_details, record.waits_until):
            return record
        self._skipped_runs.tell(Change(ChangeKind.JOB, job_id=record.id))
        return record.evolve(
            waiting_for=wait.waiting_for,
            waiting_details=wait.details,
            waits_until=wait.until,
            passed_reason=record.passed_reason
            if wait.waiting_for is record.waiting_for
            else passed_while_due(record, now_ms),
        )

    def start(self, record: JobRecord, now_ms: int) -> tuple[JobRecord, Run]:
        """Claim a slot."""
        skipped = passed_over(record)
        run = Run(
            id=new_run_id(),
            job_id=record.id,
            trigger=Trigger.SCHEDULE,
            source=record.next_source or Source.MANUAL,
            slot_at=record.slot_at,
            schedule_keys=read_keys(record.next_keys),
            parameters=record.spec.parameters_for(read_keys(record.next_keys)),
            attempt=record.attempt,
            started_at=now_ms,
            late_ms=max(0, now_ms - (record.next_run_at or now_ms)),
            passed_over=skipped,
            passed_reason=summarize(passed_reasons(record, skipped)) if skipped else "",
            notes=_waited_long(record, now_ms),
        )
        counted_until = max(record.counted_until, record.slot_at or 0)
        claimed = record._replace(
            waiting_for=None,
            waiting_details=NO_DETAILS,
            waits_until=None,
            run_id=run.id,
            next_run_at=None,
            next_source=None,
            next_keys="",
            slot_at=None,
            attempt=1,
            passed_reason=spans_after(passed_while_due(record, now_ms), counted_until),
            counted_until=counted_until,
            last_slot_at=max(record.last_slot_at or 0, record.slot_at or 0),
            last_run_at=now_ms,
            skips_next=False,
        )
        return with_restart(claimed, now_ms), run

    def skip(self, record: JobRecord, hold: Hold, now_ms: int) -> JobRecord:
        """Skip a slot, and plan the next one as after a run."""
        claimed, run = self.start(record, now_ms)
        end = RunEnd(outcome=Outcome.SKIPPED, finished_at=now_ms, reason=hold.reason, message=hold.message)
        after = plan_after_run(claimed, run, end, self._store.runs.has_slot)
        self._skipped_runs.skip(replace(run, notes=()), hold.reason, hold.message, now_ms)
        self._ask_instead_of_retry(record)
        if after.disabled_reason is not None:
            self._store.events.append(
                now_ms, EventKind.JOB_DISABLED, record.id, reason=after.disabled_reason, errors=after.errors
            )
        return after.evolve(last_run_at=record.last_run_at)

    def _ask_instead_of_retry(self, record: JobRecord) -> None:
        """If the slot was a retry, request the chain runs of the failed attempt before it."""
        asked = ask_instead_of_retry(self._store, record)
        self._skipped_runs.tell(*asked)
        self._has_asked |= bool(asked)

    def take_asked(self) -> bool:
        """Return whether chain runs were requested since the last call."""
        asked, self._has_asked = self._has_asked, False
        return asked


def passed_while_due(record: JobRecord, now_ms: int) -> str:
    """Return the job's reasons for passed grid points, with the reason why its due slot has not started yet."""
    if record.waiting_for is not None:
        return with_span(record.passed_reason, WAITED[record.waiting_for], now_ms)
    if now_ms - (record.next_run_at or now_ms) < SECOND_MS:
        return record.passed_reason  # No schedule has two points so close together.
    return with_span(record.passed_reason, PassedReason.DELAYED, now_ms)


def _waited_long(record: JobRecord, now_ms: int) -> Messages:
    """Return what a late slot waited for, because the job no longer shows it."""
    waiting = record.waiting
    if waiting is None or not is_late(now_ms - (waiting.since or now_ms)):
        return ()
    return (waited_message(waiting.kind, waiting.details),)
