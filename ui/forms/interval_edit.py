"""A duration as a number and a unit."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QWidget

from halo_scheduler.grammar.interval import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, parse_interval
from ui.style.theme import GRID
from ui.widgets.boxes import number_box

_UNITS = (("s", SECOND_MS), ("m", MINUTE_MS), ("h", HOUR_MS), ("d", DAY_MS))
_LARGEST = 999_999


class IntervalEdit(QWidget):
    """Edits a number and a unit; an unchanged interval is returned exactly as loaded."""

    changed = Signal()

    def __init__(self, title: str, *, name: str, least: int = 1) -> None:
        super().__init__()
        self.setObjectName(name)
        self._number = number_box(
            least,
            _LARGEST,
            name=f"{name}Number",
            title=self.tr("{title}: number").format(title=title),
        )
        self._unit = QComboBox()
        self._unit.setObjectName(f"{name}Unit")
        self._unit.setAccessibleName(self.tr("{title}: unit").format(title=title))
        names = (self.tr("seconds"), self.tr("minutes"), self.tr("hours"), self.tr("days"))
        for words, (letter, _) in zip(names, _UNITS, strict=True):
            self._unit.addItem(words, letter)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GRID)
        layout.addWidget(self._number)
        layout.addWidget(self._unit)
        layout.addStretch(1)
        self.setFocusProxy(self._number)
        self._given_ms = 0
        self._given_text = ""
        self._given_shape = (-1, "")
        self._number.valueChanged.connect(self.changed)
        self._unit.currentIndexChanged.connect(self.changed)

    @property
    def text(self) -> str:
        """The interval as text, like "15m"."""
        if self._shape() == self._given_shape and self._given_text:
            return self._given_text
        return f"{self._number.value()}{self._unit.currentData()}"

    @property
    def milliseconds(self) -> int:
        if self._shape() == self._given_shape:
            return self._given_ms
        return self._number.value() * dict(_UNITS)[str(self._unit.currentData())]

    def set_text(self, interval: str) -> None:
        """Show an interval text."""
        stripped = interval.strip()
        unit = stripped[-1].lower()
        self._show(parse_interval(interval), unit)
        self._given_text = interval

    def set_milliseconds(self, milliseconds: int) -> None:
        """Show a duration in the largest unit that fits."""
        fits = [letter for letter, unit_ms in _UNITS if milliseconds and milliseconds % unit_ms == 0]
        self._show(milliseconds, fits[-1] if fits else "s")

    def _show(self, milliseconds: int, unit: str) -> None:
        number = -(-milliseconds // dict(_UNITS)[unit])
        if number > _LARGEST:
            unit, number = "d", -(-milliseconds // DAY_MS)
        self._unit.setCurrentIndex(self._unit.findData(unit))
        self._number.setValue(number)
        self._given_ms, self._given_text, self._given_shape = milliseconds, "", self._shape()

    def _shape(self) -> tuple[int, str]:
        return self._number.value(), str(self._unit.currentData())
