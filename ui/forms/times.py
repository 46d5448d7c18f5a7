"""Instants as the user types them, and the anchors of intervals."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time, timedelta

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.english import time_of_day
from halo_scheduler.grammar.interval import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from halo_scheduler.grammar.when import parse_when
from halo_scheduler.grammar.zone import find_zone, local_time, offset_s, to_instant, wall_seconds, wall_time
from halo_scheduler.wording.measures import full_moment
from halo_scheduler.wording.schedules import describe_when
from ui.style.theme import GRID, HALF, Appearance
from ui.widgets.days import DayPopup
from ui.widgets.labels import button, icon_button, label

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
_USUAL_TIME = time(9)


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
        self,
        now_ms: Callable[[], int],
        appearance: Appearance,
        *,
        name: str,
        title: str,
        examples: tuple[str, ...],
    ) -> None:
        super().__init__()
        self.setObjectName(name)
        self._now_ms = now_ms
        self._appearance = appearance
        self._popup: DayPopup | None = None
        self._at: int | None = None
        self._error: ScheduleError | None = None
        self._line = QLineEdit()
        self._line.setObjectName(f"{name}Line")
        self._line.setAccessibleName(title)
        self._line.setPlaceholderText("tomorrow 9:00")
        self._pick = icon_button(appearance, "calendar", self.tr("Pick a day"), name=f"{name}Pick")
        self._meaning = label("", "muted", name=f"{name}Meaning", wrap=True)
        typed = QHBoxLayout()
        typed.setSpacing(HALF)
        typed.addWidget(self._line, 1)
        typed.addWidget(self._pick)
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
        layout.addLayout(typed)
        layout.addLayout(chips)
        layout.addWidget(self._meaning)
        self.setFocusProxy(self._line)
        self._line.textChanged.connect(self._read)
        self._pick.clicked.connect(self._open_calendar)

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

    def _open_calendar(self) -> None:
        if self._popup is None:
            self._popup = DayPopup(self._appearance, self.tr("Pick a day"), self._pick)
            self._popup.picked.connect(self._take_day)
        today = local_time(self._now_ms()).date()
        chosen = today if self._at is None else local_time(self._at).date()
        self._popup.open_at(max(chosen, today), first=today)

    def _take_day(self, day: date) -> None:
        """Enter a day with the shown time, or with a default."""
        now = local_time(self._now_ms())
        at = datetime.combine(day, _USUAL_TIME if self._at is None else local_time(self._at).time())
        if self._at is None and at <= now:
            at = now.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
        self._line.setText(f"{at:%Y-%m-%d} {_time(at)}")
        self._line.setFocus()

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
