"""Times as the editor takes them: times of day as cron, anchors of intervals, and instants as typed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import product

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from halo_scheduler.errors import CronParseError, ScheduleError
from halo_scheduler.grammar.cron_fields import CronFields, parse_fields
from halo_scheduler.grammar.english import time_of_day
from halo_scheduler.grammar.interval import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from halo_scheduler.grammar.when import parse_when
from halo_scheduler.grammar.zone import find_zone, local_time, offset_s, to_instant, wall_seconds, wall_time
from halo_scheduler.wording.measures import full_moment
from halo_scheduler.wording.schedules import describe_when
from ui.style.theme import GRID, HALF
from ui.widgets.labels import button, label

ALL_DAYS = frozenset(range(7))
WORK_DAYS = frozenset(range(1, 6))
WEEKEND = frozenset({0, 6})
FROM_MONDAY = (1, 2, 3, 4, 5, 6, 0)
MOST_TIMES = 24
_SHORTEST_RANGE = 3
_NAMED = {
    5 * MINUTE_MS: "every five minutes on the clock",
    10 * MINUTE_MS: "every ten minutes on the clock",
    15 * MINUTE_MS: "on the quarter hour",
    30 * MINUTE_MS: "on the half hour",
    HOUR_MS: "on the hour",
    DAY_MS: "at midnight",
}
_SHOWN = 3
_MINUTE_S = 60


@dataclass(frozen=True, slots=True)
class DayTimes:
    """Weekdays, from 0 (Sunday) to 6, and times of day as pairs of hour and minute."""

    weekdays: frozenset[int]
    times: tuple[tuple[int, int], ...]

    def ordered(self) -> DayTimes:
        """Return the times sorted and without duplicates."""
        return replace(self, times=tuple(sorted(set(self.times))))

    def parts(self) -> tuple[DayTimes, ...]:
        """Return the times in parts that have the same minutes in each hour, which one expression each can say."""
        hours_of: dict[int, tuple[int, ...]] = {}
        for hour, minute in sorted(self.times):
            hours_of[minute] = (*hours_of.get(minute, ()), hour)
        minutes_of: dict[tuple[int, ...], list[int]] = {}
        for minute, hours in hours_of.items():
            minutes_of.setdefault(hours, []).append(minute)
        parts = [replace(self, times=tuple(product(hours, minutes))) for hours, minutes in minutes_of.items()]
        return tuple(sorted((part.ordered() for part in parts), key=lambda part: part.times))


def write_crons(day_times: DayTimes) -> list[str]:
    """Return expressions for the times: one, unless the hours have different minutes."""
    return [_write_cron(part) for part in day_times.parts()]


def _write_cron(day_times: DayTimes) -> str:
    weekdays = "*" if day_times.weekdays == ALL_DAYS else _listed(sorted(day_times.weekdays))
    hours, minutes = (sorted(set(values)) for values in zip(*day_times.times, strict=True))
    # Never "*" for the hours: that would make it a job that follows both passes of a repeated hour.
    return f"{_listed(minutes)} {_listed(hours)} * * {weekdays}"


def read_crons(expressions: Sequence[str]) -> DayTimes | None:
    """Return the times of expressions on the same weekdays, or None if they are more than that."""
    found = [read_cron(expression) for expression in expressions]
    parts = [part for part in found if part is not None]
    if not parts or len(parts) < len(found) or len({part.weekdays for part in parts}) > 1:
        return None
    whole = replace(parts[0], times=tuple(time for part in parts for time in part.times)).ordered()
    return whole if len(whole.times) <= MOST_TIMES else None


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


def clock_words(every_ms: int) -> str:
    """Describe an interval counted from midnight: "on the quarter hour (00:00, 00:15, 00:30 …)"."""
    name = _NAMED.get(every_ms, "from midnight")
    if every_ms >= DAY_MS or every_ms < MINUTE_MS:
        return name
    first = [_clock(every_ms * step // SECOND_MS) for step in range(_SHOWN) if every_ms * step < DAY_MS]
    return f"{name} ({', '.join(first)} …)"


def midnight(now_ms: int) -> int:
    """Return the last midnight in local time."""
    wall = local_time(now_ms).replace(hour=0, minute=0, second=0, microsecond=0)
    return to_instant(find_zone(None), wall_seconds(wall)) * SECOND_MS


def iso_text(at: int) -> str:
    """Return an instant as ISO 8601 text with the local UTC offset, as a `once` stores it."""
    at_s = at // SECOND_MS
    offset = offset_s(find_zone(None), at_s)
    sign, minutes = "-" if offset < 0 else "+", abs(offset) // _MINUTE_S
    return f"{local_time(at).isoformat(timespec='seconds')}{sign}{minutes // 60:02}:{minutes % 60:02}"


def typed_text(at: int) -> str:
    """Return an instant as the user would type it: "2026-12-24 18:00"."""
    local = local_time(at)
    return f"{local:%Y-%m-%d} {_time(local)}"


def _time(local: datetime) -> str:
    return time_of_day(local.hour, local.minute, local.second)


def _clock(seconds: int) -> str:
    return _time(wall_time(seconds))


class TimeEdit(QWidget):
    """Parses "in 1h" when it is typed, not when it is saved, so that the shown time is the stored one."""

    changed = Signal()

    def __init__(
        self, now_ms: Callable[[], int], *, name: str, title: str, examples: tuple[str, ...]
    ) -> None:
        super().__init__()
        self.setObjectName(name)
        self._now_ms = now_ms
        self._at: int | None = None
        self._error: ScheduleError | None = None
        self._line = QLineEdit()
        self._line.setObjectName(f"{name}Line")
        self._line.setAccessibleName(title)
        self._line.setPlaceholderText("tomorrow 9:00")
        self._meaning = label("", "muted", name=f"{name}Meaning")
        chips = QHBoxLayout()
        chips.setSpacing(HALF)
        for index, example in enumerate(examples):
            chip = button(
                example, name=f"{name}Chip{index}", tip=self.tr("Enter “{text}”").format(text=example)
            )
            chip.setAutoDefault(False)
            chip.clicked.connect(_Put(self._line, example))
            chips.addWidget(chip)
        chips.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GRID)
        layout.addWidget(self._line)
        layout.addLayout(chips)
        layout.addWidget(self._meaning)
        self.setFocusProxy(self._line)
        self._line.textChanged.connect(self._read)

    @property
    def is_empty(self) -> bool:
        return not self._line.text().strip()

    def instant(self) -> int:
        """Return the instant, or raise ScheduleError."""
        if self._error is not None:
            raise ScheduleError(self._error.message)
        if self._at is None:
            raise ScheduleError("is empty")
        return self._at

    def set_instant(self, at: int) -> None:
        """Show an instant; it keeps its milliseconds while the text is unchanged."""
        self._line.setText(typed_text(at))
        self._at, self._error = at, None
        self._show_meaning()

    def _read(self, text: str) -> None:
        self._at, self._error = None, None
        if text.strip():
            try:
                self._at = parse_when(text, self._now_ms())
            except ScheduleError as error:
                self._error = error
        self._show_meaning()
        self.changed.emit()

    def _show_meaning(self) -> None:
        if self._at is None:
            self._meaning.setText("")
            return
        now_ms = self._now_ms()
        distance = describe_when(self._at, now_ms) if self._at >= now_ms else self.tr("in the past")
        self._meaning.setText(f"{full_moment(self._at)} · {distance}")


class _Put:
    """Enters an example when called."""

    def __init__(self, line: QLineEdit, text: str) -> None:
        self._line = line
        self._text = text

    def __call__(self) -> None:
        self._line.setText(self._text)
        self._line.setFocus()
