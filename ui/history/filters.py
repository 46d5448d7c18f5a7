"""The filters of the history: output text, job, outcome, trigger and date."""

from __future__ import annotations

from enum import StrEnum

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QAction, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from halo_scheduler.model import Outcome, Trigger
from halo_scheduler.wording.runs import trigger_words
from ui.backend.backend import Backend
from ui.style.theme import GRID, HALF, Appearance, Tone
from ui.style.wording import plain_tooltip
from ui.widgets.boxes import give_room
from ui.widgets.days import DayEdit
from ui.widgets.labels import button, label, tint

from .choice import Choice, DaySpan, last_days, today
from .pickers import JobPicker, OutcomePicker

_TYPING_MS = 400


class Period(StrEnum):
    """The date filter."""

    TODAY = "today"
    WEEK = "week"
    MONTH = "month"
    ALL = "all"
    CUSTOM = "custom"


_DAYS = {Period.TODAY: 1, Period.WEEK: 7, Period.MONTH: 30}


class Filters(QWidget):
    """All filters; emits a change once the user has stopped editing."""

    changed = Signal()

    def __init__(self, backend: Backend, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._backend = backend
        self._appearance = appearance
        self._before = Period.MONTH
        self._words = ""
        self._text = self._new_text(appearance)
        self._job = JobPicker(backend, self)
        self._outcomes = OutcomePicker(appearance, self)
        self._trigger = self._new_trigger()
        self._period = self._new_period()
        self._days: _Days | None = None
        self._reset = button(
            self.tr("Clear filters"),
            name="clearFilters",
            kind="link",
            tip=self.tr("Clear all filters"),
            shortcut="Ctrl+L",
        )
        self._typing = QTimer(self)
        self._typing.setSingleShot(True)
        self._typing.setInterval(_TYPING_MS)
        self.end_of_first_row = QHBoxLayout()
        self._lay_out()
        self._connect()
        self._set_period(Period.MONTH)
        self._offer_reset()

    # --- What is chosen ------------------------------------------------------------------------------

    def choice(self) -> Choice:
        """Return the current choice."""
        span = self.span()
        # Qt returns a StrEnum as plain str.
        trigger = self._trigger.currentData()
        return Choice(
            job_id=self._job.job_id,
            outcomes=self._outcomes.outcomes,
            trigger=Trigger(trigger) if trigger is not None else None,
            since=span.since,
            until=span.until,
            text=self._words,
        )

    @property
    def period(self) -> Period:
        return Period(self._period.currentData())

    def span(self) -> DaySpan:
        """Return the days shown."""
        if self.period is Period.ALL:
            return DaySpan()
        if self.period is Period.CUSTOM:
            return self._the_days().span()
        return last_days(_DAYS[self.period], self._backend.now_ms())

    def set_job(self, job_id: str | None, around: int | None = None) -> None:
        """Show one job or all and reset the other filters; the days shown include the given instant."""
        self.clear(quietly=True)
        self._job.set_job(job_id)
        since = self.span().since
        if around is not None and since is not None and around < since:
            day = today(around)
            self._set_days(DaySpan(day, day))
        self._settle()

    def set_outcomes(self, outcomes: frozenset[Outcome] | None) -> None:
        """Filter by outcome."""
        self._outcomes.set_outcomes(outcomes)
        self._settle()

    def pick_days(self, span: DaySpan) -> None:
        """Filter by these days; the same days again restore the previous filter."""
        if self.period is Period.CUSTOM and span == self.span():
            self._set_period(self._before)
        else:
            self._set_days(span)
        self._settle()

    def show_all_time(self) -> None:
        """Show all dates."""
        self._set_period(Period.ALL)
        self._settle()

    def clear(self, *, quietly: bool = False, period: Period = Period.MONTH) -> None:
        """Clear all filters except the period."""
        self._words = ""
        self._text.clear()
        self._typing.stop()
        self._job.set_job(None)
        self._outcomes.set_outcomes(None)
        self._trigger.setCurrentIndex(0)
        self._set_period(period)
        if quietly:
            self._offer_reset()
        else:
            self._settle()

    def focus_text(self) -> None:
        """Focus the search field."""
        self._text.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._text.selectAll()

    def clear_text(self) -> bool:
        """Clear the search field; return whether it had text."""
        had_text = bool(self._text.text())
        self._text.clear()
        self._search()
        return had_text

    # --- What happens --------------------------------------------------------------------------------

    def _search(self) -> None:
        self._typing.stop()
        words = self._text.text().strip()
        if words != self._words:
            self._words = words
            self._settle()

    def _settle(self) -> None:
        self._show_days()
        if self.period is not Period.CUSTOM:
            self._before = self.period
        self._offer_reset()
        self.changed.emit()

    def _offer_reset(self) -> None:
        usual = Choice(since=last_days(_DAYS[Period.MONTH], self._backend.now_ms()).since)
        self._reset.setVisible(self.choice() != usual)
        self._arrange()

    def _choose_period(self) -> None:
        if self.period is Period.CUSTOM:
            self._set_days(last_days(_DAYS.get(self._before, 30), self._backend.now_ms()))
        self._settle()

    def _set_period(self, period: Period) -> None:
        self._period.setCurrentIndex(self._period.findData(period))
        self._show_days()

    def _show_days(self) -> None:
        is_custom = self.period is Period.CUSTOM
        if self._days is not None or is_custom:
            self._the_days().setVisible(is_custom)
            self._arrange()

    def _the_days(self) -> _Days:
        """Return the two date fields, made with their calendars when first needed."""
        if self._days is None:
            self._days = _Days(self._appearance, self)
            now = today(self._backend.now_ms())
            self._days.set_span(DaySpan(now, now))
            self._days.changed.connect(self._settle)
            self._dates.insertWidget(1, self._days)
        return self._days

    def _set_days(self, span: DaySpan) -> None:
        now = today(self._backend.now_ms())
        self._the_days().set_span(DaySpan(span.first or now, span.last or now))
        self._set_period(Period.CUSTOM)

    # --- Making --------------------------------------------------------------------------------------

    def _new_text(self, appearance: Appearance) -> QLineEdit:
        field = _SearchField(self)
        field.setObjectName("textFilter")
        field.setAccessibleName(self.tr("Search output"))
        field.setPlaceholderText(self.tr("Search output"))
        field.setToolTip(plain_tooltip(self.tr("Search output (Ctrl+F)")))
        field.setClearButtonEnabled(True)
        glass = QAction(field)
        tint(glass, appearance, "search", Tone.MUTED)
        field.addAction(glass, QLineEdit.ActionPosition.LeadingPosition)
        return field

    def _new_trigger(self) -> QComboBox:
        box = QComboBox(self)
        box.setObjectName("triggerFilter")
        box.setAccessibleName(self.tr("Trigger"))
        box.setToolTip(self.tr("Filter by trigger"))
        give_room(box.view())
        box.addItem(self.tr("Any trigger"), None)
        for trigger in Trigger:
            words = trigger_words(trigger)
            box.addItem(words[:1].upper() + words[1:], trigger)
        return box

    def _new_period(self) -> QComboBox:
        box = QComboBox(self)
        box.setObjectName("periodFilter")
        box.setAccessibleName(self.tr("Date"))
        box.setToolTip(self.tr("Filter by date"))
        give_room(box.view())
        for period, words in (
            (Period.TODAY, self.tr("Today")),
            (Period.WEEK, self.tr("Last 7 days")),
            (Period.MONTH, self.tr("Last 30 days")),
            (Period.ALL, self.tr("All time")),
            (Period.CUSTOM, self.tr("Custom range…")),
        ):
            box.addItem(words, period)
        return box

    def _lay_out(self) -> None:
        first = QHBoxLayout()
        first.setSpacing(GRID)
        first.addWidget(self._text, 1)
        self.end_of_first_row.setSpacing(GRID)
        first.addLayout(self.end_of_first_row)
        second = self._second_row = QHBoxLayout()
        second.setSpacing(GRID)
        second.addWidget(self._job, 2)
        second.addWidget(self._outcomes)
        second.addWidget(self._trigger)
        dates = self._dates = QHBoxLayout()
        dates.setSpacing(GRID)
        dates.addWidget(self._period)
        dates.addStretch(1)
        dates.addWidget(self._reset)
        second.addLayout(dates, 1)
        column = self._rows = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GRID)
        column.addLayout(first)
        column.addLayout(second)

    def _arrange(self) -> None:
        """Move the dates to a separate row if one row is too narrow."""
        filters = (self._job, self._outcomes, self._trigger)
        room = self.width() - sum(one.sizeHint().width() + GRID for one in filters)
        # The visibility that was just set applies.
        self._dates.invalidate()
        has_room = self._dates.sizeHint().width() <= room
        if has_room and self._rows.indexOf(self._dates) >= 0:
            self._rows.removeItem(self._dates)
            self._second_row.addLayout(self._dates, 1)
        elif not has_room and self._second_row.indexOf(self._dates) >= 0:
            self._second_row.removeItem(self._dates)
            self._rows.addLayout(self._dates)

    def _connect(self) -> None:
        self._text.textChanged.connect(self._typing.start)
        self._text.returnPressed.connect(self._search)
        self._typing.timeout.connect(self._search)
        self._job.chosen.connect(self._settle)
        self._outcomes.chosen.connect(self._settle)
        self._trigger.activated.connect(self._settle)
        self._period.activated.connect(self._choose_period)
        self._reset.clicked.connect(self._clear_all)

    def _clear_all(self) -> None:
        self.clear()

    # --- Qt -----------------------------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        self._arrange()


class _Days(QWidget):
    """The first and the last day; they may be entered in either order."""

    changed = Signal()

    def __init__(self, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(parent)
        self._first = DayEdit(appearance, "firstDay", self.tr("From"), self)
        self._last = DayEdit(appearance, "lastDay", self.tr("To"), self)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(HALF)
        row.addWidget(self._first)
        row.addWidget(label("–", "muted"))
        row.addWidget(self._last)
        self._first.dateChanged.connect(self.changed)
        self._last.dateChanged.connect(self.changed)

    def span(self) -> DaySpan:
        """Return the days."""
        first, last = self._first.day(), self._last.day()
        return DaySpan(min(first, last), max(first, last))

    def set_span(self, span: DaySpan) -> None:
        """Set the days without a signal."""
        if span.first is not None:
            self._first.set_day(span.first)
        if span.last is not None:
            self._last.set_day(span.last)


class _SearchField(QLineEdit):
    """A text field that Esc clears, before Esc does anything else."""

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        if event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
            self.returnPressed.emit()
        else:
            super().keyPressEvent(event)
