"""What a job will do: its schedule in words, its next runs and what a friend would say about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from halo_scheduler.grammar.interval import DAY_MS
from halo_scheduler.model import After, InQuietTime, Policy, Schedule
from halo_scheduler.model.quiet_times import Quiet, QuietTime
from halo_scheduler.schedule.next_run import count_due, next_run
from halo_scheduler.schedule.quiet_times import quiet_at
from halo_scheduler.wording.conditions import waiting_words
from halo_scheduler.wording.lint import Note, lint
from halo_scheduler.wording.schedules import describe

_SHOWN_RUNS = 5
# Counting on to see whether a higher cap is ever reached would take longer than the answer is worth.
_HIGHEST_CAP = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """A look ahead from an instant; only the first run of an `after` can be known."""

    now_ms: int
    words: str
    runs: tuple[int, ...]
    notes: tuple[Note, ...]
    is_after: bool = False
    capped_at: int | None = None
    """After how many runs its cap ends the day, if there would be more; of an `after`, if there may be."""
    waits_for: str = ""
    """What stands behind "waits for" when its time has come."""
    quiet: tuple[tuple[int, Quiet], ...] = ()
    """Those of the runs that fall into a quiet time."""
    is_left_out: bool = False
    """Whether a run in a quiet time is skipped, and does not wait."""


def preview_schedule(
    schedule: Schedule,
    now_ms: int,
    *,
    anchor_at: int,
    policy: Policy | None = None,
    group: str | None = None,
    quiet_times: Sequence[QuietTime] = (),
) -> Preview:
    """Return what a job with this schedule will do from now on; None for a policy that cannot be read yet."""
    runs: list[int] = []
    at = next_run(schedule, now_ms, anchor_at=anchor_at)
    while at is not None and len(runs) < _SHOWN_RUNS:
        runs.append(at)
        if isinstance(schedule, After):
            break
        at = next_run(schedule, at, anchor_at=anchor_at)
    limit_ms = None if policy is None else policy.time_limit_ms
    most = None if policy is None else policy.caps.runs_per_day
    quiet = ((at, quiet_at(quiet_times, group, at)) for at in runs)
    return Preview(
        now_ms=now_ms,
        words=describe(schedule),
        runs=tuple(runs),
        notes=tuple(lint(schedule, now_ms, anchor_at=anchor_at, time_limit_ms=limit_ms)),
        is_after=isinstance(schedule, After),
        capped_at=most if most is not None and _exceeds(most, schedule, now_ms, anchor_at) else None,
        waits_for="" if policy is None else waiting_words(policy.conditions),
        quiet=tuple((at, found) for at, found in quiet if found is not None),
        is_left_out=policy is not None and policy.in_quiet_time is InQuietTime.SKIP,
    )


def _exceeds(most: int, schedule: Schedule, now_ms: int, anchor_at: int) -> bool:
    """Tell whether a schedule has more runs than so many in the day to come."""
    if isinstance(schedule, After):
        # There are the most when each run takes no time at all.
        return DAY_MS // schedule.after_ms > most
    if most > _HIGHEST_CAP:
        return False
    return count_due(schedule, now_ms, now_ms + DAY_MS, anchor_at=anchor_at, most=most + 1) > most
