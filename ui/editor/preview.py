"""The preview of a schedule: its next runs, the days with runs, and notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta

from halo_scheduler.grammar.english import time_of_day
from halo_scheduler.grammar.interval import DAY_MS, SECOND_MS
from halo_scheduler.grammar.zone import (
    clock_changes,
    find_zone,
    local_time,
    to_instant,
    wall_seconds,
    wall_time,
)
from halo_scheduler.model import After, Cron, Event, InQuietTime, Policy, Schedule, Several, Situation
from halo_scheduler.model.schedules import schedules_of
from halo_scheduler.model.settings import Quiet, QuietTime
from halo_scheduler.model.situation import SituationKind
from halo_scheduler.schedule.calendar import quiet_at
from halo_scheduler.schedule.days import left_out_times, span_of
from halo_scheduler.schedule.entries import without_after
from halo_scheduler.schedule.next_run import count_due, next_run
from halo_scheduler.wording.conditions import waiting_words
from halo_scheduler.wording.day_sources import why_left_out
from halo_scheduler.wording.lint import Note, clock_change_words, lint
from halo_scheduler.wording.schedules import describe
from halo_scheduler.wording.status import status_words

SHOWN_RUNS = 5
# Higher limits are not checked: counting that many runs takes too long.
_HIGHEST_CAP = 500
_TIMES_PER_DAY = 4
_DECEMBER = 12


@dataclass(frozen=True, slots=True)
class Day:
    """The first few times of a day, its clock change, and why it is excluded, as a holiday is."""

    times: tuple[str, ...] = ()
    has_more: bool = False
    clock_change: str = ""
    left_out: str = ""


@dataclass(frozen=True, slots=True)
class Month:
    """A month with the days that have runs or a clock change; `today` is 0 unless it is in this month."""

    year: int
    month: int
    today: int
    days: Mapping[int, Day]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """The preview as of an instant; of an `after` schedule only the first run is known."""

    now_ms: int
    words: str
    runs: tuple[int, ...]
    notes: tuple[Note, ...]
    is_after: bool = False
    has_event: bool = False
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
    """Whether the pause has no end time."""
    months: tuple[Month, ...] = ()
    """This month and the next one, or that of the first run; empty without runs."""


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
    first = at = next_run(schedule, max(now_ms, paused_until or now_ms), anchor_at=anchor_at)
    while at is not None and len(runs) < SHOWN_RUNS:
        runs.append(at)
        at = next_run(without_after(schedule), at, anchor_at=anchor_at)
    limit_ms = None if policy is None else policy.time_limit_ms
    most = None if policy is None else policy.caps.runs_per_day
    # Times of different zones are shown in the local one.
    zones = {item.timezone for item in schedules_of(schedule) if isinstance(item, Cron)}
    timezone = zones.pop() if len(zones) == 1 else None
    quiet = ((at, quiet_at(quiet_times, group, at)) for at in runs)
    return Preview(
        now_ms=now_ms,
        words=describe(schedule),
        runs=tuple(runs),
        notes=tuple(lint(schedule, now_ms, anchor_at=anchor_at, time_limit_ms=limit_ms)),
        is_after=isinstance(schedule, After),
        has_event=any(isinstance(item, Event) for item in schedules_of(schedule)),
        capped_at=most if most is not None and _exceeds(most, schedule, now_ms, anchor_at) else None,
        waits_for="" if policy is None else waiting_words(policy.conditions),
        quiet=tuple((at, found) for at, found in quiet if found is not None),
        is_left_out=policy is not None and policy.in_quiet_time is InQuietTime.SKIP,
        timezone=timezone,
        pause="" if paused is None else status_words(paused, now_ms),
        is_pause_open=paused is not None and paused_until is None,
        months=() if first is None else _Calendar(schedule, now_ms, anchor_at, timezone).months(first),
    )


def _exceeds(most: int, schedule: Schedule | Several, now_ms: int, anchor_at: int) -> bool:
    """Return whether a schedule has more than `most` runs in the next 24 hours."""
    if isinstance(schedule, After):
        # The upper bound: assumes that runs take no time.
        return DAY_MS // schedule.after_ms > most
    if most > _HIGHEST_CAP:
        return False
    return count_due(schedule, now_ms, now_ms + DAY_MS, anchor_at=anchor_at, most=most + 1) > most


class _Calendar:
    """Finds the days with runs; reads only a few times of each day, so that short intervals are quick."""

    def __init__(
        self, schedule: Schedule | Several, now_ms: int, anchor_at: int, timezone: str | None
    ) -> None:
        self._schedule = without_after(schedule)
        self._anchor_at = anchor_at
        self._timezone = timezone
        self._zone = find_zone(timezone)
        self._today = local_time(now_ms, timezone).date()

    def months(self, first: int) -> tuple[Month, ...]:
        """Return this month and the next one, or that of the first run if it comes later."""
        start = self._today.replace(day=1)
        following = max(_following(start), local_time(first, self._timezone).date().replace(day=1))
        return self._month(start, first), self._month(following, first)

    def _month(self, start: date, first: int) -> Month:
        begin_at, end_at = self._midnight(start), self._midnight(_following(start))
        days: dict[int, Day] = {}
        at = first if first >= begin_at else self._next(begin_at - 1)
        while at is not None and at < end_at:
            day = local_time(at, self._timezone).date()
            # Clocks that go back over midnight give a day a second time.
            next_day_at = max(self._midnight(day + timedelta(days=1)), at + 1)
            times, at = self._times_until(next_day_at, at)
            has_more = at is not None and at < next_day_at
            days.setdefault(day.day, Day(times, has_more=has_more))
            at = self._next(next_day_at - 1) if has_more else at
        for day_number, words in self._clock_changes(begin_at, end_at):
            days[day_number] = replace(days.get(day_number, Day()), clock_change=words)
        for day_number, words in self._days_left_out(begin_at, end_at):
            days[day_number] = replace(days.get(day_number, Day()), left_out=words)
        today = self._today.day if self._today.replace(day=1) == start else 0
        return Month(start.year, start.month, today, days)

    def _times_until(self, end_at: int, at: int | None) -> tuple[tuple[str, ...], int | None]:
        """Return the first times from a run on, and the run after them."""
        times: list[str] = []
        while at is not None and at < end_at and len(times) < _TIMES_PER_DAY:
            moment = local_time(at, self._timezone)
            times.append(time_of_day(moment.hour, moment.minute, moment.second))
            at = self._next(at)
        return tuple(times), at

    def _clock_changes(self, begin_at: int, end_at: int) -> Iterator[tuple[int, str]]:
        for change in clock_changes(self._zone, begin_at // SECOND_MS - 1, end_at // SECOND_MS - 1):
            yield wall_time(change.wall_start_s).day, clock_change_words(change)

    def _days_left_out(self, begin_at: int, end_at: int) -> Iterator[tuple[int, str]]:
        """Yield the days on which a schedule would have times if they were not excluded as holidays or dates."""
        at = begin_at
        while at < end_at:
            day = local_time(at, self._timezone).date()
            next_day_at = max(self._midnight(day + timedelta(days=1)), at + 1)
            for found in left_out_times(self._schedule, at, next_day_at, self._anchor_at):
                is_due = found.entry.calendar.recurs_on(found.day.weekday()) and day >= self._today
                if is_due and span_of(found.entry).since <= found.at <= span_of(found.entry).until:
                    yield day.day, why_left_out(found.entry, found.day)
            at = next_day_at

    def _next(self, at: int) -> int | None:
        return next_run(self._schedule, at, anchor_at=self._anchor_at)

    def _midnight(self, day: date) -> int:
        return to_instant(self._zone, wall_seconds(datetime.combine(day, time.min))) * SECOND_MS


def _following(month: date) -> date:
    """Return the first day of the month after the one that begins on a day."""
    is_last = month.month == _DECEMBER
    return month.replace(year=month.year + is_last, month=1 if is_last else month.month + 1)
