"""Whether the log of a job accounts for every grid point of its schedule."""

from __future__ import annotations

from collections.abc import Sequence

from halo_scheduler import Cron, Every, Outcome, Policy, Run, Several, Trigger, count_due
from halo_scheduler.model import PassedReason
from halo_scheduler.rules.grid import MOST_COUNTED
from halo_scheduler.schedule.next_run import previous_run
from halo_scheduler.schedule.passed_over import read_summary
from halo_scheduler.schedule.single import DueCount, Jitter


class GridAccount:
    """The grid of a job since it was added, compared with the runs that were recorded for it."""

    def __init__(self, job_id: str, schedule: Every | Cron | Several, added_at: int, policy: Policy) -> None:
        self._schedule = schedule
        self._added_at = added_at
        self._jitter = Jitter(policy.jitter_percent, job_id, policy.jitter_ms, policy.is_jitter_fixed)

    def check(self, log: Sequence[Run]) -> None:
        """Assert that each point up to the newest slot had its run or was counted as passed over by one."""
        slots = [run for run in log if run.trigger is Trigger.SCHEDULE and run.slot_at is not None]
        if not slots or any(run.passed_over >= MOST_COUNTED - 1 for run in slots):
            return
        until_at = max(_counted_until(run) for run in slots)
        expected = self._count(self._added_at, until_at)
        # A retry belongs to the slot of its first attempt, but a missed one also counts the points it passed over.
        own = sum(run.attempt == 1 and self._has_own_point(run.slot_at or 0) for run in slots)
        passed_over = sum(run.passed_over for run in slots)
        assert expected.capped or expected == own + passed_over, (self._schedule, slots)
        self._check_reasons(log, slots)

    def _check_reasons(self, log: Sequence[Run], slots: Sequence[Run]) -> None:
        """Assert that each point passed over has its reason, and that it is a run only where there was one."""
        blamed = 0
        for run in slots:
            reasons = read_summary(run.passed_reason, run.passed_over)
            assert sum(reasons.values()) == run.passed_over, run
            assert set(reasons) <= set(PassedReason), run
            blamed += reasons.get(PassedReason.RUNNING, 0)
        ends = {(run.slot_at, run.attempt): run.finished_at for run in slots}
        under = sum(self._points_under(run, ends.get((run.slot_at, run.attempt - 1))) for run in log)
        assert blamed <= under, (self._schedule, slots)

    def _points_under(self, run: Run, failed_at: int | None) -> int:
        """Return how many points came while a run was under way, or waited to be tried again since `failed_at`."""
        if run.started_at is None:
            return 0
        began_at = run.started_at if failed_at is None else failed_at
        ended_at = run.started_at if run.finished_at is None else run.finished_at
        return int(self._count(began_at, ended_at))

    def _count(self, since: int, until: int) -> DueCount:
        return count_due(self._schedule, since, until, anchor_at=self._added_at, jitter=self._jitter)

    def _has_own_point(self, slot_at: int) -> bool:
        """Tell whether a slot is a grid point, perhaps with its jitter; those of a backoff lie between two."""
        point = previous_run(self._schedule, slot_at, anchor_at=self._added_at, jitter=self._jitter)
        if isinstance(self._schedule, Several):
            return point == slot_at
        return point is not None and slot_at in (point, point + self._jitter.delay_ms(self._schedule, point))


def _counted_until(run: Run) -> int:
    """Return the instant up to which a run accounts for points: a missed one for all until that was noticed."""
    at = run.finished_at if run.outcome is Outcome.MISSED else run.slot_at
    assert at is not None
    return at
