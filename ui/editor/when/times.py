"""Times of day and weekdays, written as cron and read back from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

from halo_scheduler.errors import CronParseError
from halo_scheduler.grammar.cron_fields import CronFields, parse_fields

ALL_DAYS = frozenset(range(7))
WORK_DAYS = frozenset(range(1, 6))
WEEKEND = frozenset({0, 6})
FROM_MONDAY = (1, 2, 3, 4, 5, 6, 0)
MOST_TIMES = 24
_SHORTEST_RANGE = 3


@dataclass(frozen=True, slots=True)
class DayTimes:
    """Weekdays, from 0 (Sunday) to 6, and times of day as pairs of hour and minute."""

    weekdays: frozenset[int]
    times: tuple[tuple[int, int], ...]

    @property
    def minutes(self) -> tuple[int, ...]:
        """The distinct minutes."""
        return tuple(sorted({minute for _, minute in self.times}))

    @property
    def hours(self) -> tuple[int, ...]:
        """The distinct hours."""
        return tuple(sorted({hour for hour, _ in self.times}))

    @property
    def needs_two_jobs(self) -> bool:
        """Whether the hours have different minutes, which one cron expression cannot say."""
        return len(set(self.times)) < len(self.hours) * len(self.minutes)

    def ordered(self) -> DayTimes:
        """Return the times sorted and without duplicates."""
        return replace(self, times=tuple(sorted(set(self.times))))

    def split(self) -> tuple[DayTimes, DayTimes]:
        """Split off the times of one minute other than the most common one.

        With several other minutes, the first is split off; the rest stays to be split again.
        """
        counts = dict.fromkeys(self.minutes, 0)
        for _, minute in self.times:
            counts[minute] += 1
        kept = max(counts, key=lambda minute: (counts[minute], -self._first_of(minute)))
        parted = min((minute for minute in counts if minute != kept), key=self._first_of)
        return (
            replace(self, times=tuple(time for time in self.times if time[1] != parted)),
            replace(self, times=tuple(time for time in self.times if time[1] == parted)),
        )

    def _first_of(self, minute: int) -> int:
        return min(index for index, time in enumerate(self.times) if time[1] == minute)


def write_cron(day_times: DayTimes) -> str:
    """Return the expression for times with the same minutes in each hour."""
    weekdays = "*" if day_times.weekdays == ALL_DAYS else _listed(sorted(day_times.weekdays))
    # Never "*" for the hours: that would make it a job that follows both passes of a repeated hour.
    return f"{_listed(day_times.minutes)} {_listed(day_times.hours)} * * {weekdays}"


def read_cron(expression: str) -> DayTimes | None:
    """Return the times of an expression, or None if it is not just weekdays and up to 24 times."""
    try:
        fields = parse_fields(expression)
    except CronParseError:
        return None
    if fields.is_wildcard or fields.seconds != (0,) or not _is_any_date(fields):
        return None
    times = tuple(product(fields.hours, fields.minutes))
    if len(times) > MOST_TIMES:
        return None
    weekdays = ALL_DAYS if fields.any_weekday else frozenset(fields.weekdays)
    return DayTimes(weekdays, times)


def _is_any_date(fields: CronFields) -> bool:
    has_plain_weekdays = not (fields.nth_weekdays or fields.last_weekdays)
    return fields.any_month and fields.texts[3] == "*" and has_plain_weekdays


def _listed(values: Sequence[int]) -> str:
    """Return sorted numbers as cron writes them: "9", "1-5", "0,6"."""
    runs: list[list[int]] = []
    for value in values:
        if runs and runs[-1][-1] == value - 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    return ",".join(
        f"{run[0]}-{run[-1]}" if len(run) >= _SHORTEST_RANGE else ",".join(map(str, run)) for run in runs
    )
