"""Quiet hours: times on some weekdays in which no scheduled run starts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.checks import frozen_list, require_choice, require_label, require_line
from halo_scheduler.grammar.english import shown
from halo_scheduler.grammar.zone import find_zone
from halo_scheduler.model.codec import Value, put

_TIME = re.compile(r"(?:[01][0-9]|2[0-3]):[0-5][0-9]|24:00", re.ASCII)
_LONGEST_NAME = 60
MOST_QUIET_TIMES = 100


class Weekday(StrEnum):
    """A day of the week, in the order of the calendar."""

    MONDAY = "mon"
    TUESDAY = "tue"
    WEDNESDAY = "wed"
    THURSDAY = "thu"
    FRIDAY = "fri"
    SATURDAY = "sat"
    SUNDAY = "sun"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuietTime(Value):
    """From one wall time to another on the days on which it begins; an end that is not later is on the next day.

    Without a group it applies to all jobs; without a zone it uses the computer's.
    """

    name: str = ""
    group: str | None = None
    days: tuple[Weekday, ...] = tuple(Weekday)
    start: str = "22:00"
    end: str = "06:00"
    timezone: str | None = None

    def __post_init__(self) -> None:
        require_line("name", self.name, longest=_LONGEST_NAME)
        if self.group is not None:
            require_label("group", self.group)
        days = {require_choice(Weekday, day, path="days") for day in frozen_list("days", self.days)}
        if not days:
            raise ScheduleError("choose at least one day", path="days")
        put(self, days=tuple(day for day in Weekday if day in days))
        for name in ("start", "end"):
            text = getattr(self, name)
            if not isinstance(text, str) or not _TIME.fullmatch(text):
                raise ScheduleError(f"must be a time of day like 22:00, not {shown(text)}", path=name)
        if self.start == "24:00":
            raise ScheduleError("must be before 24:00; write 00:00 and the next day", path="start")
        if self.timezone is not None:
            require_line("timezone", self.timezone)
            try:
                find_zone(self.timezone)
            except ScheduleError as error:
                raise error.under("timezone") from None

    @property
    def start_s(self) -> int:
        """The second of the day on which it begins."""
        return _seconds(self.start)

    @property
    def length_s(self) -> int:
        """How many seconds of wall time it lasts; the same start and end are a whole day."""
        length_s = _seconds(self.end) - self.start_s
        return length_s if length_s > 0 else length_s + _seconds("24:00")

    def is_for(self, group: str | None) -> bool:
        """Return whether it applies to jobs of a group."""
        return self.group is None or self.group == group


@dataclass(frozen=True, slots=True)
class Quiet:
    """The quiet hours at an instant: those that end last, and until when no scheduled run starts."""

    until: int
    by: QuietTime


def _seconds(time_of_day: str) -> int:
    hours, minutes = time_of_day.split(":")
    return int(hours) * 3600 + int(minutes) * 60
