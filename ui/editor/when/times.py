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
