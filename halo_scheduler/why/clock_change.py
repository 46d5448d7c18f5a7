"""What a change of the clocks does to the times of a job."""

from __future__ import annotations

from halo_scheduler.grammar.english import clock_time, short_date
from halo_scheduler.grammar.interval import SECOND_MS
from halo_scheduler.grammar.zone import ClockChange, clock_changes, find_zone, wall_time
from halo_scheduler.model import Cron, Schedule
from halo_scheduler.why.answer import Span

# Clocks are moved by an hour or two; only near a change is there anything to say.
_NEAR_S = 6 * 3_600
_SEVERAL = 2


def clock_change_sentences(schedule: Schedule, span: Span, now_ms: int) -> list[str]:
    """Return why a cron job runs at another time than its own, or in one of two passes, in a span."""
    if not isinstance(schedule, Cron):
        return []
    since_s, until_s = span.since // SECOND_MS, -(-span.until // SECOND_MS)
    zone = find_zone(schedule.timezone)
    changes = clock_changes(zone, since_s - _NEAR_S, until_s + _NEAR_S)
    return [
        _sentence(schedule, change, times, now_ms)
        for change in changes
        if _touches(change, since_s, until_s) and (times := _times_within(schedule, change))
    ]


def _touches(change: ClockChange, since_s: int, until_s: int) -> bool:
    """Tell whether a span has the moment at which times are skipped, or lies in a time that comes twice."""
    if change.is_forward:
        return since_s <= change.at_s < until_s
    length_s = change.wall_end_s - change.wall_start_s
    return since_s < change.at_s + length_s and until_s > change.at_s - length_s


def _times_within(schedule: Cron, change: ClockChange) -> list[int]:
    """Return the first times of a schedule that a change skips or repeats: two are several."""
    times: list[int] = []
    time_s = schedule.expression.first_wall_from(change.wall_start_s)
    while time_s is not None and time_s < change.wall_end_s and len(times) < _SEVERAL:
        times.append(time_s)
        time_s = schedule.expression.first_wall_from(time_s + 1)
    return times


def _sentence(schedule: Cron, change: ClockChange, times: list[int], now_ms: int) -> str:
    start, end = clock_time(wall_time(change.wall_start_s)), clock_time(wall_time(change.wall_end_s))
    is_past = change.at_s * SECOND_MS <= now_ms
    day = short_date(wall_time(change.wall_start_s))
    where = "" if schedule.timezone is None else f" in {schedule.timezone}"
    clocks = f"On {day} the clocks {'went' if is_past else 'go'}"
    is_wildcard = schedule.expression.fields.is_wildcard
    if not change.is_forward:
        passes = "it runs in both passes of that time" if is_wildcard else "it runs in the first pass only"
        return f"{clocks} back from {end} to {start}{where}: {passes}."
    if is_wildcard:
        return f"{clocks} forward from {start} to {end}{where}: its times in between do not exist."
    takes = "took" if is_past else "takes"
    skipped = clock_time(wall_time(times[0])) if len(times) == 1 else "its times in between"
    return f"{clocks} forward from {start} to {end}{where}: {end} {takes} the place of {skipped}."
