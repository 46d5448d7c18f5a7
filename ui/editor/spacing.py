"""The collapsed section of the options page about random delays and interval limits."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QVBoxLayout, QWidget

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.interval import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from halo_scheduler.model import Limits, Policy
from ui.forms.fields import Field, Findings, Page
from ui.forms.fold import Fold
from ui.forms.inputs import IntervalEdit
from ui.forms.rows import optional_interval, set_optional, side_by_side
from ui.style.theme import Appearance
from ui.widgets.boxes import number_box

from .summary import joined, short_interval

_PERCENT = "%"
_MOST_PERCENT = 10
_MOST_TIME = 999_999
_UNITS = {"s": SECOND_MS, "m": MINUTE_MS, "h": HOUR_MS, "d": DAY_MS}
_DEFAULT_MIN_MS = 60_000
_DEFAULT_MAX_MS = 86_400_000


class Spacing(QWidget):
    """A random delay, in percent of the interval or as a duration, and limits for the time until the next run."""

    changed = Signal()

    def __init__(self, appearance: Appearance, page: Page) -> None:
        super().__init__()
        self.setObjectName("spacing")
        self._given: tuple[str | None, int, str] = (None, 0, _PERCENT)
        self._fold = Fold(appearance, self.tr("Random delay and interval limits"), name="spacingFold")
        self._build_jitter(page)
        self._build_limits(page)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._fold)

    def _build_jitter(self, page: Page) -> None:
        title = self.tr("Random delay")
        self._most = number_box(0, _MOST_PERCENT, name="jitter", title=title, zero=self.tr("none"))
        self._unit = QComboBox()
        self._unit.setObjectName("jitterUnit")
        self._unit.setAccessibleName(self.tr("Random delay: unit"))
        names = (self.tr("seconds"), self.tr("minutes"), self.tr("hours"), self.tr("days"))
        for words, unit in ((self.tr("% of the interval"), _PERCENT), *zip(names, _UNITS, strict=True)):
            self._unit.addItem(words, unit)
        self._is_fixed = QCheckBox(self.tr("The same delay for every run"))
        self._is_fixed.setObjectName("jitterFixed")
        self._fold.add(
            page.watch_field(
                Field(
                    self.tr("Random delay: up to"),
                    side_by_side("jitterRow", self._most, self._unit),
                    path="policy.jitter",
                    subject=self.tr("The random delay"),
                    hint=self.tr("Keeps jobs from all starting at once."),
                )
            )
        )
        self._fold.add(
            page.watch_field(
                Field("", self._is_fixed, path="policy.is_jitter_fixed", subject=self.tr("The switch"))
            )
        )
        self._most.valueChanged.connect(self._announce_change)
        self._unit.currentIndexChanged.connect(self._follow_unit)
        self._is_fixed.toggled.connect(self._announce_change)

    def _build_limits(self, page: Page) -> None:
        self._has_min = QCheckBox(self.tr("Minimum time until next run"))
        self._has_min.setObjectName("hasMin")
        self._min = IntervalEdit(self.tr("Minimum time until next run"), name="minDistance")
        self._has_max = QCheckBox(self.tr("Maximum time until next run"))
        self._has_max.setObjectName("hasMax")
        self._max = IntervalEdit(self.tr("Maximum time until next run"), name="maxDistance")
        for has, edit, name, path in (
            (self._has_min, self._min, "minRow", "policy.limits"),
            (self._has_max, self._max, "maxRow", "policy.limits.max_ms"),
        ):
            row = optional_interval(name, has, edit)
            self._fold.add(page.watch_field(Field("", row, path=path, subject=self.tr("The time"))))
            has.toggled.connect(self._announce_change)
            edit.changed.connect(self._announce_change)

    def load(self, policy: Policy) -> None:
        """Show the random delay and the limits of a job."""
        number, unit = policy.jitter_percent, _PERCENT
        if policy.jitter is not None:
            unit = next(unit for unit in reversed(_UNITS) if policy.jitter_ms % _UNITS[unit] == 0)
            number = policy.jitter_ms // _UNITS[unit]
        self._unit.setCurrentIndex(self._unit.findData(unit))
        self._follow_unit()
        self._most.setMaximum(max(self._most.maximum(), number))
        self._most.setValue(number)
        self._is_fixed.setChecked(policy.is_jitter_fixed)
        self._given = (policy.jitter, number, unit)
        limits = policy.limits
        self._min.set_milliseconds(limits.min_ms or _DEFAULT_MIN_MS)
        self._max.set_milliseconds(limits.max_ms or _DEFAULT_MAX_MS)
        set_optional(self._has_min, self._min, is_on=limits.min_ms is not None)
        set_optional(self._has_max, self._max, is_on=limits.max_ms is not None)
        self._summarise()

    @property
    def jitter_percent(self) -> int:
        """The random delay in percent of the interval; 0 if it is a duration."""
        return self._most.value() if self._unit.currentData() == _PERCENT else 0

    @property
    def jitter(self) -> str | None:
        """The random delay as a duration, unrounded unless edited; None if it is a percentage."""
        number, unit = self._most.value(), str(self._unit.currentData())
        text, *shape = self._given
        if shape == [number, unit]:
            return text
        return f"{number}{unit}" if number and unit != _PERCENT else None

    @property
    def is_jitter_fixed(self) -> bool:
        """Whether each run has the same delay."""
        return self._is_fixed.isChecked()

    def read_limits(self, findings: Findings) -> Limits | None:
        """Return the limits, or None after recording the problems."""
        return findings.take("policy.limits", self._read_limits)

    def _read_limits(self) -> Limits:
        min_ms = self._min.milliseconds if self._has_min.isChecked() else None
        max_ms = self._max.milliseconds if self._has_max.isChecked() else None
        if min_ms is not None and max_ms is not None and min_ms > max_ms:
            raise ScheduleError(self.tr("the minimum must be smaller than the maximum"), path="min_ms")
        return Limits(min_ms=min_ms, max_ms=max_ms)

    def _follow_unit(self) -> None:
        self._most.setMaximum(_MOST_PERCENT if self._unit.currentData() == _PERCENT else _MOST_TIME)
        self._announce_change()

    def _announce_change(self) -> None:
        self._summarise()
        self.changed.emit()

    def _summarise(self) -> None:
        has_min, has_max = self._has_min.isChecked(), self._has_max.isChecked()
        most = f"{self.jitter_percent} %" if self.jitter_percent else short_interval(self.jitter or 0)
        text = joined(
            self.tr("random delay up to {most}").format(most=most) if self._most.value() else "",
            self.tr("at least {time}").format(time=short_interval(self._min.milliseconds)) if has_min else "",
            self.tr("at most {time}").format(time=short_interval(self._max.milliseconds)) if has_max else "",
        )
        self._fold.set_summary(text or self.tr("none"))
