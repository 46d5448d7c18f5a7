"""Notes on pitfalls of schedules; for jobs of others, on invisible characters and look-alike names."""

from __future__ import annotations

import calendar
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from zoneinfo import ZoneInfo

from halo_scheduler.grammar.cron import CronExpression
from halo_scheduler.grammar.cron_fields import HOUR, MINUTE, SECOND, CronFields
from halo_scheduler.grammar.english import MONTHS, clock_time, counted, listed, ordinal, short_date
from halo_scheduler.grammar.interval import DAY_MS, HOUR_MS, SECOND_MS, YEAR_MS, interval_in_words
from halo_scheduler.grammar.text import hidden_words, looks_like, texts_in
from halo_scheduler.grammar.zone import ClockChange, clock_changes, find_zone, local_time, wall_time
from halo_scheduler.model import SHORTEST_EVERY_MS, After, Cron, Every, JobSpec, Once, Schedule, Several
from halo_scheduler.schedule.entries import without_after
from halo_scheduler.schedule.next_run import next_run
from halo_scheduler.wording.schedules import once_wall_time

_LOOK_AHEAD_S = 10 * YEAR_MS // SECOND_MS
_STAR_STEP = re.compile(r"\*/([0-9]+)")
_COMPARED_RUNS = 12
_LEAP_DAY = 29
_SEVERAL = 2


class Severity(StrEnum):
    """The severity of a note."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LintCode(StrEnum):
    """What a note is about."""

    INTERVAL_RAISED = "interval-raised"
    LONG_INTERVAL = "long-interval"
    UNEVEN_STEP = "uneven-step"
    BOTH_DAY_FIELDS = "both-day-fields"
    SKIPS_MONTHS = "skips-months"
    CLOCK_CHANGE = "clock-change"
    WALL_TIME_MOVES = "wall-time-moves"
    IN_THE_PAST = "in-the-past"
    OTHER_OFFSET = "other-offset"
    OVERLAPS_ITSELF = "overlaps-itself"


@dataclass(frozen=True, slots=True)
class Note:
    """One remark on a schedule."""

    code: LintCode
    message: str
    severity: Severity


def lint(
    schedule: Schedule | Several,
    now_ms: int,
    *,
    anchor_at: int = 0,
    time_limit_ms: int | None = None,
    timezone: str | None = None,
) -> list[Note]:
    """Return notes on a schedule, such as the next clock change; `timezone` is the reader's (None: the computer's)."""
    match schedule:
        case Every():
            notes = [*_length(schedule.every_ms), *_every(schedule, now_ms, anchor_at, timezone)]
        case After():
            notes = list(_length(schedule.after_ms))
        case Cron():
            notes = list(_cron(schedule, now_ms))
        case Once():
            notes = list(_once(schedule, now_ms, timezone))
        case Several():
            notes = [
                note
                for entry in schedule.entries
                for note in lint(entry.schedule, now_ms, anchor_at=entry.anchor(anchor_at), timezone=timezone)
                # A used `once` stays listed.
                if note.code is not LintCode.IN_THE_PAST
            ]
            notes = list(dict.fromkeys(notes))
        case _:
            notes = []
    return [*notes, *_overlap(schedule, now_ms, anchor_at, time_limit_ms)]


def _length(interval_ms: int) -> Iterator[Note]:
    if interval_ms > YEAR_MS:
        words = interval_in_words(interval_ms)
        yield Note(LintCode.LONG_INTERVAL, f"{words} is more than a year: is that meant?", Severity.WARNING)


def _every(schedule: Every, now_ms: int, anchor_at: int, timezone: str | None) -> Iterator[Note]:
    if schedule.is_raised:
        message = (
            f"{schedule.every.strip()} is too short: it runs every {interval_in_words(SHORTEST_EVERY_MS)}."
        )
        yield Note(LintCode.INTERVAL_RAISED, message, Severity.WARNING)
    if schedule.every_ms % DAY_MS:
        return
    for change in _changes_ahead(find_zone(timezone), now_ms):
        # Both lie on the grid, one on each side of the change.
        after = next_run(schedule, change.at_s * SECOND_MS, anchor_at=anchor_at) or 0
        late, early = local_time(after, timezone), local_time(max(0, after - schedule.every_ms), timezone)
        if late.time() == early.time() or after - schedule.every_ms < anchor_at:
            continue
        message = (
            f"{schedule.every.strip()} keeps {schedule.every_ms // HOUR_MS} hours between runs, so its wall time "
            f"moves when the clocks change: from {short_date(late)} on it runs at {clock_time(late)} "
            f"instead of {clock_time(early)}."
        )
        yield Note(LintCode.WALL_TIME_MOVES, message, Severity.INFO)
        return


def _once(schedule: Once, now_ms: int, timezone: str | None) -> Iterator[Note]:
    if schedule.due_at <= now_ms:
        yield Note(LintCode.IN_THE_PAST, "This time is in the past: the job would never run.", Severity.ERROR)
    local = local_time(schedule.due_at, timezone)
    if isinstance(schedule.at, str) and local != once_wall_time(schedule).replace(microsecond=0):
        here = f"{short_date(local)} at {clock_time(local)}"
        message = f"The time was given for another zone: on your clock it is {here}."
        yield Note(LintCode.OTHER_OFFSET, message, Severity.INFO)


def _cron(schedule: Cron, now_ms: int) -> Iterator[Note]:
    fields = schedule.expression.fields
    yield from _uneven_steps(fields)
    yield from _both_day_fields(fields)
    yield from _missing_days(fields)
    yield from _next_clock_change(schedule, now_ms)


def _uneven_steps(fields: CronFields) -> Iterator[Note]:
    """Note steps that do not divide their field evenly: the last step of each round is shorter."""
    rounds = (
        (SECOND, fields.texts[0], "minute", fields.minutes),
        (MINUTE, fields.texts[1], "hour", fields.hours),
        (HOUR, fields.texts[2], "day", ()),
    )
    for kind, text, whole, outer in rounds:
        for item in text.split(","):
            match = _STAR_STEP.fullmatch(item)
            rest = kind.size % int(match[1]) if match else 0
            if rest and len(outer) != 1:
                message = f"{item} starts again with every {whole}: its last step has only {counted(rest, kind.name)}."
                yield Note(LintCode.UNEVEN_STEP, message, Severity.WARNING)


def _both_day_fields(fields: CronFields) -> Iterator[Note]:
    both = "A day of the month and a weekday are both given"
    if not fields.days_match_both and (fields.any_day or fields.any_weekday):
        idle = "weekday" if fields.any_day else "day of the month"
        message = f"{both} and either may match, but one of them always does: the {idle} has no effect."
    elif fields.any_day or fields.any_weekday:
        return
    elif fields.days_match_both:
        message = f"{both}, one with a *: it runs only when both match."
    else:
        message = f"{both}: it runs when either matches."
    yield Note(LintCode.BOTH_DAY_FIELDS, message, Severity.WARNING)


def _missing_days(fields: CronFields) -> Iterator[Note]:
    """Note days that some of the months do not have."""
    if fields.any_day or fields.texts[3].startswith("*"):
        return
    faults = []
    for day in fields.days:
        short = [MONTHS[month - 1] for month in fields.months if calendar.monthrange(2001, month)[1] < day]
        leap = " outside leap years" if day == _LEAP_DAY else ""
        faults += [f"no {ordinal(day)} in {listed(short)}{leap}"] if short else []
    if not faults:
        return
    advice = " L means the last day of the month." if len(fields.days) == 1 and not fields.last_day else ""
    message = f"There is {listed(faults)}: it does not run on that day there.{advice}"
    yield Note(LintCode.SKIPS_MONTHS, message, Severity.WARNING)


def _next_clock_change(schedule: Cron, now_ms: int) -> Iterator[Note]:
    """Note the next clock change that skips or repeats a time of this schedule."""
    for change in _changes_ahead(find_zone(schedule.timezone), now_ms):
        times = _times_within(schedule.expression, change)
        if times:
            yield Note(LintCode.CLOCK_CHANGE, _change_message(schedule, change, times), Severity.INFO)
            return


def _changes_ahead(zone: ZoneInfo, now_ms: int) -> Iterator[ClockChange]:
    now_s = now_ms // SECOND_MS
    return clock_changes(zone, now_s, now_s + _LOOK_AHEAD_S)


def _times_within(expression: CronExpression, change: ClockChange) -> list[int]:
    """Return the matching wall times that a clock change skips or repeats; at most two, which counts as several."""
    times: list[int] = []
    wall_s = expression.first_wall_from(change.wall_start_s)
    while wall_s is not None and wall_s < change.wall_end_s and len(times) < _SEVERAL:
        times.append(wall_s)
        wall_s = expression.first_wall_from(wall_s + 1)
    return times


def _change_message(schedule: Cron, change: ClockChange, times: list[int]) -> str:
    start, end = wall_time(change.wall_start_s), wall_time(change.wall_end_s)
    runs = (
        "the runs in between" if len(times) == _SEVERAL else f"the run at {clock_time(wall_time(times[0]))}"
    )
    which = f"On {short_date(start)} {clock_change_words(change)}"
    if change.is_forward:
        if schedule.expression.fields.is_wildcard:
            return f"{which}: {runs} will be skipped, as that time does not exist."
        return f"{which}: {runs} will start at {clock_time(end)}, once."
    if schedule.expression.fields.is_wildcard:
        return f"{which}: {runs} will happen in both passes of that time."
    return f"{which}: {runs} will happen in the first pass only."


def clock_change_words(change: ClockChange) -> str:
    """Return a clock change in words: "the clocks go back from 03:00 to 02:00"."""
    start, end = clock_time(wall_time(change.wall_start_s)), clock_time(wall_time(change.wall_end_s))
    if change.is_forward:
        return f"the clocks go forward from {start} to {end}"
    return f"the clocks go back from {end} to {start}"


def _overlap(
    schedule: Schedule | Several, now_ms: int, anchor_at: int, time_limit_ms: int | None
) -> Iterator[Note]:
    distance_ms = _shortest_distance(schedule, now_ms, anchor_at)
    if time_limit_ms is None or distance_ms is None or distance_ms >= time_limit_ms:
        return
    pace, limit = (
        interval_in_words(-(-distance_ms // SECOND_MS) * SECOND_MS),
        interval_in_words(-(-time_limit_ms // SECOND_MS) * SECOND_MS),
    )
    message = f"Runs are {pace} apart but may take up to {limit}; those due meanwhile are coalesced into one."
    yield Note(LintCode.OVERLAPS_ITSELF, message, Severity.INFO)


def _shortest_distance(schedule: Schedule | Several, now_ms: int, anchor_at: int) -> int | None:
    """Return the shortest distance between the next grid points; None for schedules without a grid."""
    if isinstance(schedule, Every):
        return schedule.every_ms
    if not isinstance(schedule, Cron | Several):
        return None
    schedule = without_after(schedule)
    points = [now_ms]
    while len(points) <= _COMPARED_RUNS:
        point = next_run(schedule, points[-1], anchor_at=anchor_at)
        if point is None:
            break
        points.append(point)
    return min((late - early for early, late in pairwise(points[1:])), default=None)


class Reviewer:
    """Knows all job names, to find those that look alike."""

    def __init__(self, names: Iterable[str]) -> None:
        self._alike: dict[str, set[str]] = defaultdict(set)
        for name in names:
            self._alike[looks_like(name)].add(name)

    def notes(self, spec: JobSpec) -> list[str]:
        """Return a sentence for each field with invisible characters and for each look-alike name."""
        data = spec.to_dict()
        found = texts_in(data) if _may_hide(data) else ()
        hidden = ((path, hidden_words(text)) for path, text in found)
        alike = sorted(self._alike[looks_like(spec.name)] - {spec.name})
        return [
            *(f"invisible characters in {path}: {words}" for path, words in hidden if words),
            *(f"its name looks like that of another job: {name}" for name in alike),
        ]


def _may_hide(data: object) -> bool:
    """Return whether plain data may contain invisible characters; a quick check, because most data has none."""
    text = json.dumps(data, ensure_ascii=False)
    return "\\" in text or bool(hidden_words(text))
