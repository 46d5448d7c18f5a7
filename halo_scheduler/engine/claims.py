"""Claiming: the atomic step that turns due jobs into running ones, always inside the engine's transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import assert_never

from halo_scheduler.engine.candidates import Candidate, StartConditions, Wait, oldest_first
from halo_scheduler.engine.recovery import JobFaultIsolation
from halo_scheduler.engine.requested_runs import QueuedRuns, RunsByHand
from halo_scheduler.engine.slots import SkippedRuns, Slots
from halo_scheduler.grammar.interval import DAY_MS
from halo_scheduler.model import Run, WaitingFor
from halo_scheduler.model.changes import Change, ChangeKind, changes_of, gathered
from halo_scheduler.rules.blockers import Hold, Holds
from halo_scheduler.schedule.calendar import local_day
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.requests import Request
from halo_scheduler.store.store import Store

# Only today's usage counts; a few more days are kept in case the clock is set back.
_USAGE_KEPT_MS = 7 * DAY_MS
# How many due jobs are searched for one that could have started.
_MOST_OVERLOOKED = 1_000


class Claims:
    """Claims runs for one engine; every run carries the engine's generation."""

    def __init__(
        self,
        store: Store,
        generation: int,
        max_concurrent: Callable[[], int],
        start_conditions: StartConditions,
        is_output_awaited: Callable[[str], bool],
    ) -> None:
        self._store = store
        self._generation = generation
        self._max_concurrent = max_concurrent
        self._start_conditions = start_conditions
        self._skipped_runs = SkippedRuns(store, generation)
        self._by_hand = RunsByHand(store, start_conditions, self._skipped_runs)
        self._slots = Slots(store, self._skipped_runs)
        self._queued_runs = QueuedRuns(store, self._skipped_runs, is_output_awaited)
        self._usage_kept_from = ""

    def claim(self, now_ms: int, running: Iterable[str | None]) -> list[tuple[JobRecord, Run]]:
        """Claim what is due and not blocked, oldest first, as far as the concurrency limits allow.

        `running` has the group of each active run.
        """
        self._start_conditions.begin(now_ms)
        in_group = Counter(running)
        places = self._max_concurrent() - in_group.total()
        by_hand = self._by_hand.claim(now_ms, places, in_group)
        places -= len(by_hand)
        round_ = _Round(
            self._store,
            self._start_conditions,
            slots=self._slots,
            queued_runs=self._queued_runs,
            now_ms=now_ms,
            places=places,
            in_group=in_group,
        )
        claimed = by_hand + round_.claim(by_hand)
        self._store.runs.insert([run for _, run in claimed], self._generation)
        self._store.jobs.save_states(list({**round_.changed, **{job.id: job for job, _ in claimed}}.values()))
        self._mark_the_rest(now_ms)
        self._forget_usage(now_ms)
        return claimed

    def _mark_the_rest(self, now_ms: int) -> None:
        """Mark the due jobs that were not considered as waiting for the concurrency limit."""
        if not self._start_conditions.is_all_quiet:  # Otherwise all were considered.
            marked = self._store.jobs.mark_waiting(now_ms, but_for=self._start_conditions.quiet_groups)
            self._skipped_runs.tell(*changes_of(marked))

    def _forget_usage(self, now_ms: int) -> None:
        """Delete the daily usage of old days, once a day."""
        day = local_day(max(0, now_ms - _USAGE_KEPT_MS))
        if day != self._usage_kept_from:
            self._store.usage.forget_before(day)
            self._usage_kept_from = day

    def is_overlooking(self, now_ms: int, running: Iterable[str | None]) -> bool:
        """Return whether something is due and within all limits, but was not claimed."""
        in_group = Counter(running)
        if in_group.total() >= self._max_concurrent():
            return False
        full = {group for group, most in self._store.groups.limits().items() if in_group[group] >= most}
        due = self._store.jobs.due(now_ms, _MOST_OVERLOOKED)
        wanted = {
            request.job_id: request.passes_group
            for request in self._store.requests.triggers(now_ms, _MOST_OVERLOOKED)
        }
        return any(
            record.waiting_for in (None, WaitingFor.AT_CAPACITY) and record.spec.group not in full
            for record in due
        ) or any(
            record.run_id is None and (wanted[record.id] or record.spec.group not in full)
            for record in self._store.jobs.get_many(wanted).values()
        )

    def take_news(self) -> list[Change]:
        """Return the changes made beside the claims since the last call."""
        news = self._skipped_runs.take_news()
        # Thousands of jobs may begin to wait at once, so these changes are merged; skipped runs are listed one by one.
        waiting = [change for change in news if change.kind is ChangeKind.JOB]
        return [*gathered(waiting), *(change for change in news if change.kind is not ChangeKind.JOB)]

    def drop_stale_requests(self, now_ms: int) -> None:
        """Drop the manual runs that were requested while no engine was running."""
        self._by_hand.drop_stale(now_ms)


class _Round:
    """One tick's pass over due jobs and queued runs."""

    def __init__(
        self,
        store: Store,
        start_conditions: StartConditions,
        *,
        slots: Slots,
        queued_runs: QueuedRuns,
        now_ms: int,
        places: int,
        in_group: Counter[str | None],
    ) -> None:
        self._store = store
        self._start_conditions = start_conditions
        self._slots = slots
        self._queued_runs = queued_runs
        self._now_ms = now_ms
        self._places = places
        self._in_group = in_group
        self._limits = store.groups.limits()
        self._holds: Holds | None = None
        self._busy: set[str] = set()
        self._seen: set[str] = set()
        self._claimed: list[tuple[JobRecord, Run]] = []
        # The ids of jobs whose queued run could have started but did not.
        self._not_started: dict[str, JobRecord] = {}
        self.changed: dict[str, JobRecord] = {}
        """The jobs that were changed since they were read."""

    def claim(self, by_hand: Iterable[tuple[JobRecord, Run]]) -> list[tuple[JobRecord, Run]]:
        """Claim due jobs and queued runs; `by_hand` are the manual runs already claimed in this tick."""
        self._busy.update(record.id for record, _ in by_hand)
        queued = self._queued_runs.candidates(self._now_ms)
        if not self._fill_places(queued):
            self._look_without_a_place()
        if self._slots.take_asked():
            queued = self._queued_runs.candidates(self._now_ms)
        for candidate in queued:
            self._consider(candidate)
        for candidate in self._queued_runs.behind(self._not_started, self._now_ms):
            self._consider(candidate)
        if self._queued_runs.take_asked():
            for candidate in self._queued_runs.candidates(self._now_ms):
                self._consider(candidate)
        return self._claimed

    def _fill_places(self, queued: Sequence[Candidate]) -> bool:
        """Claim the oldest first until the limit is reached; return whether everything due was considered.

        During quiet hours for all jobs everything is considered: slots are skipped or wait, and none uses the limit.
        """
        if self._places <= 0 and not self._start_conditions.is_all_quiet:
            return False
        for candidate in oldest_first(self._store, self._now_ms, self._places, queued, self._full_groups):
            self._consider(candidate)
            if self._places <= 0 and not self._start_conditions.is_all_quiet:
                return False
        return True

    def _look_without_a_place(self) -> None:
        """Enforce condition deadlines and the quiet hours of groups although the limit is reached."""
        for record in self._store.jobs.due_with_conditions(self._now_ms):
            self._consider(Candidate(record))
        for group in self._start_conditions.quiet_groups:
            for record in self._store.jobs.due_in_group(self._now_ms, group):
                self._consider(Candidate(record))

    def _consider(self, candidate: Candidate) -> None:
        record, request = candidate.record, candidate.request
        key = record.id if request is None else request.run_id
        if key in self._seen:
            return
        self._seen.add(key)
        current = self.changed.get(record.id, record)
        if request is not None:
            self._consider_queued(current, request)
        elif record.id not in self._busy:
            self._consider_slot(candidate if current is record else Candidate(current))

    def _consider_slot(self, candidate: Candidate) -> None:
        record = candidate.record
        after = self._after_slot(candidate)
        if after != record:
            self.changed[record.id] = after
        is_due = after.run_id is None and (after.next_run_at or self._now_ms + 1) <= self._now_ms
        if is_due and after.slot_at != record.slot_at:
            # The slot was skipped; a pending point is next.
            self._consider_slot(Candidate(after))

    def _after_slot(self, candidate: Candidate) -> JobRecord:
        """Start, skip or postpone the slot of a due job; disable the job if that fails."""
        record = candidate.record
        after: JobRecord | None = None
        with JobFaultIsolation(self._store, record.id, self._now_ms):
            after = self._slots.renewed(record, self._now_ms)
            if after is None:
                after = self._decide_slot(candidate)
        return self._slots.unplannable(record) if after is None else after

    def _decide_slot(self, candidate: Candidate) -> JobRecord:
        record = candidate.record
        match self._verdict(candidate):
            case None:
                claimed, run = self._slots.start(record, self._now_ms)
                self._take_place(claimed, run)
                return claimed
            case Hold() as hold:
                return self._slots.skip(record, hold, self._now_ms)
            case Wait() as wait:
                return self._slots.put_off(record, wait, self._now_ms)
            case other:
                assert_never(other)

    def _consider_queued(self, record: JobRecord, request: Request) -> None:
        is_decided = False
        with JobFaultIsolation(self._store, record.id, self._now_ms):
            self._decide_queued(record, request)
            is_decided = True
        if not is_decided:
            self._queued_runs.drop(record, request, self._now_ms)

    def _decide_queued(self, record: JobRecord, request: Request) -> None:
        is_busy = record.run_id is not None or record.id in self._busy
        verdict = self._queued_runs.check(record, request, is_busy=is_busy)
        match verdict or self._verdict(Candidate(record, request)):
            case None:
                claimed, run = self._queued_runs.start(record, request, self._now_ms)
                self._take_place(claimed, run)
                self.changed[record.id] = claimed
            case Hold() as hold:
                self._queued_runs.skip(record, request, hold, self._now_ms)
            case Wait() as wait:
                self._queued_runs.put_off(request, wait)
            case other:
                assert_never(other)
        if not is_busy and record.id not in self._busy:
            self._not_started[record.id] = record

    def _verdict(self, candidate: Candidate) -> Wait | Hold | None:
        """Return the first blocker of a job, or None: a hold, then quiet hours and conditions, then a limit."""
        record = candidate.record
        self._holds = self._holds or Holds(self._store, self._now_ms)
        is_slot = candidate.request is None
        hold = self._holds.find(record, is_slot=is_slot)
        if hold is not None:
            self._holds.note(record, hold)
            return hold
        has_place = self._has_place(record.spec.group)
        verdict = self._start_conditions.check(candidate, has_place=has_place)
        if isinstance(verdict, Hold) and is_slot:
            return verdict.for_slot(record)
        if verdict is not None or has_place:
            return verdict
        self._start_conditions.keep_in_view(record)
        return Wait(WaitingFor.AT_CAPACITY, until=candidate.waits_until)

    def _has_place(self, group: str | None) -> bool:
        is_full = group in self._limits and self._in_group[group] >= self._limits[group]
        return self._places > 0 and not is_full

    def _full_groups(self) -> list[str]:
        """Return the groups at their limit whose jobs have no other blocker."""
        if self._start_conditions.is_all_quiet:
            return []
        quiet = self._start_conditions.quiet_groups
        return [
            group
            for group, most in self._limits.items()
            if self._in_group[group] >= most and group not in quiet
        ]

    def _take_place(self, record: JobRecord, run: Run) -> None:
        self._places -= 1
        self._in_group[record.spec.group] += 1
        self._busy.add(record.id)
        self._claimed.append((record, run))
