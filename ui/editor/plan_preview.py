"""What the editor previews of a schedule: its words, its next runs, and notes on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from halo_scheduler.grammar.interval import DAY_MS
from halo_scheduler.model import After, Cron, InQuietTime, Policy, Schedule, Several, Situation
from halo_scheduler.model.quiet_times import Quiet, QuietTime
from halo_scheduler.model.schedules import schedules_of, without_after
from halo_scheduler.model.situation import SituationKind
from halo_scheduler.schedule.calendar import quiet_at
from halo_scheduler.schedule.next_run import count_due, next_run
from halo_scheduler.wording.conditions import waiting_words
from halo_scheduler.wording.lint import Note, lint
from halo_scheduler.wording.schedules import describe
from halo_scheduler.wording.status import status_words

SHOWN_RUNS = 5
# Higher limits are not checked: counting that many runs takes too long.
_HIGHEST_CAP = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """The preview as of an instant; of an `after` schedule only the first run is known."""

    now_ms: int
    words: str
    runs: tuple[int, ...]
    notes: tuple[Note, ...]
    is_after: bool = False
    capped_at: int | None = None
    """The daily limit of runs, if the schedule exceeds it or, for `after`, may exceed it."""
    waits_for: str = ""
    """The conditions, as the text after "waits for"."""
    quiet: tuple[tuple[int, Quiet], ...] = ()
    """The runs that fall in quiet hours."""
    is_left_out: bool = False
    """Whether runs in quiet hours are skipped rather than delayed."""
    timezone: str | None = None
    """The zone of the schedule; None for the local one."""
    pause: str = ""
    """How the job is paused, if it is: "paused until 18:00"."""
    is_pause_open: bool = False
    """Whether the pause lasts until the user ends it."""


def preview_schedule(
    schedule: Schedule | Several,
    now_ms: int,
    *,
    anchor_at: int,
    policy: Policy | None = None,
    group: str | None = None,
    quiet_times: Sequence[QuietTime] = (),
    situation: Situation | None = None,
) -> Preview:
    """Return the preview of a schedule; `policy` is None while the form has no valid one.

    `situation` is that of the stored job, which may be paused.
    """
    runs: list[int] = []
    paused = situation if situation is not None and situation.kind is SituationKind.PAUSED else None
    paused_until = None if paused is None else paused.paused_until
    # Points during a pause are not caught up.
    at = next_run(schedule, max(now_ms, paused_until or now_ms), anchor_at=anchor_at)
    while at is not None and len(runs) < SHOWN_RUNS:
        runs.append(at)
        at = next_run(without_after(schedule), at, anchor_at=anchor_at)
    limit_ms = None if policy is None else policy.time_limit_ms
    most = None if policy is None else policy.caps.runs_per_day
    # Times of different zones are shown in the local one.
    zones = {item.timezone for item in schedules_of(schedule) if isinstance(item, Cron)}
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
        timezone=zones.pop() if len(zones) == 1 else None,
        pause="" if paused is None else status_words(paused, now_ms),
        is_pause_open=paused is not None and paused_until is None,
    )


def _exceeds(most: int, schedule: Schedule | Several, now_ms: int, anchor_at: int) -> bool:
    """Return whether a schedule has more than `most` runs in the next 24 hours."""
    if isinstance(schedule, After):
        # The maximum: runs that take no time.
        return DAY_MS // schedule.after_ms > most
    if most > _HIGHEST_CAP:
        return False
    return count_due(schedule, now_ms, now_ms + DAY_MS, anchor_at=anchor_at, most=most + 1) > most
