"""Recovery after downtime, sleep, clock changes and failed writes."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable

from halo_scheduler.errors import StoreError
from halo_scheduler.grammar.interval import SECOND_MS
from halo_scheduler.grammar.zone import machine_zone
from halo_scheduler.model import Outcome, PassedReason, Run, SkipReason, Source, Trigger
from halo_scheduler.model.changes import Change, ChangeKind, gathered
from halo_scheduler.model.messages import MessageKind, message
from halo_scheduler.model.runs import new_run_id
from halo_scheduler.model.situation import LATE_MS
from halo_scheduler.rules.chains import ask_instead_of_retry
from halo_scheduler.rules.day_sources import affected_jobs
from halo_scheduler.rules.grid import count_between, is_local, passed_over, passed_reasons, read_keys
from halo_scheduler.rules.pending import slept_through, with_missed
from halo_scheduler.rules.planning import (
    WAITED,
    is_starting,
    plan,
    plan_after_run,
    plan_missed,
    without_waiting,
)
from halo_scheduler.schedule.passed_over import cut_spans, summarize, with_span
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.lease import EngineRow
from halo_scheduler.store.runs import RunEnd
from halo_scheduler.store.store import Store

_LOG = logging.getLogger(__name__)
# The timer wakes every minute: a longer pause means that the computer slept or was suspended.
_GAP_MS = 75_000
_BACKWARDS_MS = 1_000
_ZONE_CHECK_MS = 60_000
_MISSED = {PassedReason.OUTAGE: MessageKind.MISSED_BY_OUTAGE}


class Outage:
    """A period in which every tick failed because the database could not be written."""

    def __init__(self) -> None:
        self.since: int | None = None
        """When the first tick failed; None while all is well."""
        self.seen_until: int | None = None
        """The time of the last successful tick, up to which due slots were seen; None while ticks succeed."""
        self._tried_at = 0

    def begin_or_go_on(self, last_tick_at: int, now_ms: int) -> None:
        """Note that a tick failed."""
        if self.since is None:
            self.since, self.seen_until = now_ms, last_tick_at
        self._tried_at = now_ms

    def end(self, now_ms: int) -> None:
        """Note that a tick succeeded."""
        if self.since is not None:
            seconds = max(now_ms - self.since, 0) / 1_000
            _LOG.warning(
                "The database can be written again, after %.0f s in which nothing was recorded.", seconds
            )
        self.since = self.seen_until = None

    def awake_until(self, last_tick_at: int) -> int:
        """Return when the engine was last awake: failed ticks do not count as sleep."""
        return last_tick_at if self.since is None else max(last_tick_at, self._tried_at)


class JobFaultIsolation:
    """Keeps an error in planning one job from affecting the others, and records it.

    (Not a generator, because a tick may enter it thousands of times.)
    """

    __slots__ = ("_job_id", "_now_ms", "_store")

    def __init__(self, store: Store, job_id: str, now_ms: int) -> None:
        self._store = store
        self._job_id = job_id
        self._now_ms = now_ms

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        if not isinstance(error, Exception) or isinstance(error, StoreError):
            return False
        # The one broad catch: a fault in one job, recorded.
        _LOG.error("job %s could not be planned", self._job_id, exc_info=error)
        self._store.events.append(self._now_ms, EventKind.JOB_FAULT, self._job_id, error=str(error))
        return True


class Recovery:
    """Settles missed slots and replans jobs, always inside the engine's transaction."""

    def __init__(self, store: Store, generation: int) -> None:
        self._store = store
        self._generation = generation
        self._zone_checked_at = 0
        self.zone = machine_zone().key
        self._news: list[Change] = []

    def take_news(self) -> list[Change]:
        """Return the changes recorded since the last call; they are true after the commit."""
        news, self._news = self._news, []
        # One missed run is published in full; its listeners read the others.
        missed = [change for change in news if change.run_id is not None]
        return list(dict.fromkeys([*gathered(news), *missed[-1:]]))

    def after_restart(self, before: EngineRow, now_ms: int) -> None:
        """Settle the time since the previous engine's last tick."""
        awake_until = before.awake_until
        if awake_until > now_ms + _BACKWARDS_MS:
            self._go_back(awake_until, now_ms)
        else:
            self._settle_missed(awake_until, now_ms, PassedReason.DOWNTIME)
        if before.zone != self.zone:
            self._change_zone(before.zone, self.zone, now_ms)

    def plan_the_unplanned(self, now_ms: int) -> None:
        """Plan every active job without a planned run."""
        self._plan_all(self._store.jobs.unplanned(), now_ms, PassedReason.DOWNTIME)

    def end_pauses(self, now_ms: int) -> list[Change]:
        """Replan jobs from the end of their pause; nothing starts merely because a pause ended."""
        ended: list[JobRecord] = []
        for record in self._store.jobs.pauses_ended(now_ms):
            awake = record.evolve(paused=False, paused_until=None)
            self._store.watch_states.forget(record.id)
            if record.run_id is not None and self._store.runs.is_scheduled(record.run_id):
                # It is planned when that run ends.
                ended.append(awake)
                continue
            with JobFaultIsolation(self._store, record.id, now_ms):
                self._record_slept_through(record, now_ms)
                paused_until = record.paused_until or now_ms
                ended.append(plan(awake, paused_until, self._store.runs.has_slot, reason=PassedReason.PAUSED))
            self._store.events.append(now_ms, EventKind.JOB_RESUMED, record.id, by="end of the pause")
        self._store.jobs.save_states(ended)
        return [Change(ChangeKind.JOB, job_id=record.id) for record in ended]

    def _record_slept_through(self, record: JobRecord, now_ms: int) -> None:
        """Record the last slot of a job if it fell into a pause: no later run counts it."""
        why, until = message(MessageKind.JOB_PAUSED), record.paused_until or now_ms
        skipped = slept_through(record, SkipReason.PAUSED, why, until, now_ms)
        if skipped is None:
            return
        if not self._store.runs.has_slot(record.id, skipped.slot_at or 0):
            self._insert([skipped])

    def notice_jumps(self, last_tick_at: int, now_ms: int) -> str:
        """Compare with the last tick to detect sleep, a clock change or a new time zone; return the zone.

        The caller stores the zone after the commit.
        """
        if now_ms < last_tick_at - _BACKWARDS_MS:
            self._go_back(last_tick_at, now_ms)
        elif now_ms > last_tick_at + _GAP_MS:
            self._store.events.append(now_ms, EventKind.SLEEP_GAP, since=last_tick_at)
            self._settle_missed(last_tick_at, now_ms, PassedReason.SLEEP)
        if abs(now_ms - self._zone_checked_at) < _ZONE_CHECK_MS and machine_zone().key == self.zone:
            return self.zone
        self._zone_checked_at = now_ms
        machine_zone.cache_clear()
        zone = machine_zone().key
        if zone != self.zone:
            self._change_zone(self.zone, zone, now_ms)
        return zone

    def settle_outage(self, outage: Outage, now_ms: int) -> None:
        """Record the period in which nothing could be written, and settle the slots in it."""
        if outage.seen_until is None:
            return
        self._store.events.append(now_ms, EventKind.STORE_OUTAGE, since=outage.since)
        self._settle_missed(outage.seen_until, now_ms, PassedReason.OUTAGE)

    def account_for_downtime(self, unseen: Iterable[Run], awake_until: int, now_ms: int) -> None:
        """Record until when the runs of the previous engine are known to have run, as their ends were not seen."""
        records = self._store.jobs.get_many({run.job_id for run in unseen})
        self._store.jobs.save_states(
            [
                with_missed(_unseen(record, awake_until, now_ms), awake_until, now_ms)
                for record in records.values()
            ]
        )

    def _settle_missed(self, awake_until: int, now_ms: int, reason: PassedReason) -> None:
        """Catch up the slots missed during downtime, or record them as missed."""
        saved: list[JobRecord] = []
        missed: list[Run] = []
        for record in self._store.jobs.due(now_ms - SECOND_MS):
            if record.next_run_at is None:
                continue
            if record.next_run_at <= awake_until:
                # It was considered, and waits for a limit.
                saved += [after] if (after := with_missed(record, awake_until, now_ms)) != record else []
                continue
            if now_ms - record.next_run_at <= LATE_MS:
                # It starts now, a little late.
                late = with_missed(record, record.next_run_at, now_ms)
                saved.append(late.evolve(passed_reason=with_span(record.passed_reason, reason, now_ms)))
                continue
            with JobFaultIsolation(self._store, record.id, now_ms):
                caught_up = plan_missed(record, now_ms, reason, self._store.runs.has_slot)
                if caught_up is not None:
                    saved.append(caught_up)
                    if caught_up.slot_at != record.slot_at:
                        self._news += ask_instead_of_retry(self._store, record)
                    continue
                run = _missed_run(record, now_ms, reason)
                end = RunEnd(outcome=Outcome.MISSED, finished_at=now_ms, reason=SkipReason.MISSED)
                last_slot_at = max(record.last_slot_at or 0, record.slot_at or 0)
                settled = record.evolve(
                    counted_until=now_ms, last_slot_at=last_slot_at, passed_reason="", skips_next=False
                )
                saved.append(plan_after_run(settled, run, end, self._store.runs.has_slot))
                missed.append(run)
                self._news += ask_instead_of_retry(self._store, record)
        self._insert(missed)
        self._store.jobs.save_states(saved)

    def _insert(self, ended: list[Run]) -> None:
        """Record runs that never started."""
        self._store.runs.insert(ended, self._generation)
        self._news += [Change(ChangeKind.RUN_FINISHED, job_id=run.job_id, run_id=run.id) for run in ended]

    def _go_back(self, was_ms: int, now_ms: int) -> None:
        """Replan every waiting job after the clock went back, to its first grid point without a run."""
        self._store.events.append(now_ms, EventKind.CLOCK_JUMP, was=was_ms)
        self._store.requests.shift_events(now_ms - was_ms, now_ms)
        planned = self._store.jobs.planned()
        back = [_set_back(record, now_ms) for record in planned]
        # Also a due job: its slot is in the future again, so it no longer waits.
        changed = [record for record, before in zip(back, planned, strict=True) if record != before]
        self._store.jobs.save_states(changed)
        self._plan_all(
            [record for record in back if record.attempt == 1], now_ms, PassedReason.CLOCK_WENT_BACK
        )
        self._set_pauses_back(was_ms, now_ms)

    def _set_pauses_back(self, was_ms: int, now_ms: int) -> None:
        """Shift the pauses that began before the clock was set, so that their length stays the same."""
        shifted = [
            # In the future, so that the next search for an instant finds pauses that are over.
            record.evolve(paused_until=max((record.paused_until or 0) + now_ms - was_ms, now_ms + 1))
            for record in self._store.jobs.pauses_ahead(now_ms)
            if (paused := self._store.events.last(record.id, EventKind.JOB_PAUSED)) and paused.at > now_ms
        ]
        self._store.jobs.save_states(shifted)
        self._news += [Change(ChangeKind.JOB, job_id=record.id) for record in shifted]

    def _change_zone(self, before: str, after: str, now_ms: int) -> None:
        """Replan cron jobs without a zone of their own; due slots stay due, and retries keep their delay."""
        self._store.events.append(now_ms, EventKind.ZONE_CHANGE, before=before, after=after)
        local = [
            record
            for record in self._store.jobs.planned()
            if is_local(record.spec.schedule) and (record.next_run_at or 0) > now_ms and record.attempt == 1
        ]
        self._plan_all(local, now_ms, PassedReason.ZONE_CHANGED)

    def replan_days(self, sources: list[str], now_ms: int) -> None:
        """Replan the jobs whose day sources changed."""
        self._plan_all(affected_jobs(self._store, sources, now_ms), now_ms)

    def _plan_all(
        self, records: Iterable[JobRecord], now_ms: int, reason: PassedReason | None = None
    ) -> None:
        planned: list[JobRecord] = []
        for record in records:
            with JobFaultIsolation(self._store, record.id, now_ms):
                after = plan(record, now_ms, self._store.runs.has_slot, reason=reason)
                if after != record:
                    planned.append(after)
        self._store.jobs.save_states(planned)
        self._news += [Change(ChangeKind.JOB)] if planned else []


def _unseen(record: JobRecord, awake_until: int, now_ms: int) -> JobRecord:
    """Return the job of a run that ended while no engine was running."""
    held_up_by = record.waiting_for if is_starting(record) else None
    until_then = PassedReason.RUNNING if held_up_by is None else WAITED[held_up_by]
    passed = with_span(record.passed_reason, until_then, awake_until)
    return record.evolve(passed_reason=with_span(passed, PassedReason.DOWNTIME, now_ms))


def _missed_run(record: JobRecord, now_ms: int, reason: PassedReason) -> Run:
    others = count_between(record, record.slot_at or 0, now_ms)
    skipped = passed_over(record)
    reasons = Counter(passed_reasons(record, skipped)) + Counter({reason: int(others)})
    return Run(
        id=new_run_id(),
        job_id=record.id,
        trigger=Trigger.SCHEDULE,
        source=record.next_source or Source.MANUAL,
        slot_at=record.slot_at,
        schedule_keys=read_keys(record.next_keys),
        attempt=record.attempt,
        outcome=Outcome.MISSED,
        reason=SkipReason.MISSED,
        message=message(_MISSED.get(reason, MessageKind.MISSED)),
        finished_at=now_ms,
        late_ms=now_ms - (record.next_run_at or now_ms),
        passed_over=skipped + int(others),
        passed_reason=summarize(reasons or {reason: 0}),
    )


def _set_back(record: JobRecord, now_ms: int) -> JobRecord:
    """Move a job's stored instants out of the future after the clock went back; a retry keeps its delay."""
    retry_at = now_ms + record.spec.policy.retry.delay_ms
    return without_waiting(record).evolve(
        counted_until=min(record.counted_until, now_ms),
        passed_reason=cut_spans(record.passed_reason, now_ms),
        last_completed_at=record.last_completed_at and min(record.last_completed_at, now_ms),
        last_ended_at=record.last_ended_at and min(record.last_ended_at, now_ms),
        next_run_at=min(record.next_run_at or retry_at, retry_at)
        if record.attempt > 1
        else record.next_run_at,
    )
