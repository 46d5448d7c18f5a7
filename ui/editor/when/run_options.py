"""The collapsed section of the When page with the options of each schedule."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QHBoxLayout, QVBoxLayout, QWidget

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.english import short_date
from halo_scheduler.grammar.zone import local_time
from halo_scheduler.model import After, Entry, Overlap
from halo_scheduler.model.calendars import EVERY_DAY
from halo_scheduler.model.time_rules import Dated
from halo_scheduler.wording.jobs import parameter_words
from ui.backend.backend import Backend
from ui.editor.summary import joined
from ui.forms.fields import Field, Findings, Page
from ui.forms.fold import Fold
from ui.forms.rows import PairsEdit
from ui.style.theme import GRID, Appearance
from ui.widgets.arrange import show_if
from ui.widgets.boxes import let_shrink
from ui.widgets.days import DayEdit

from .calendar_fields import CalendarFields
from .kinds import AFTER, EVENTS, MANUAL, ON_CLOCK, ONCE

_USUAL_LENGTH = timedelta(days=30)


class RunOptions(QWidget):
    """The days, the parameters and the overlap policy of all schedules in the form."""

    changed = Signal()

    def __init__(self, backend: Backend, appearance: Appearance, page: Page) -> None:
        super().__init__(page.ground)
        self._kind = ""
        today = local_time(backend.now_ms()).date()
        self._from = _OptionalDay(appearance, self.tr("Not before"), name="fromDate", usual=today)
        self._until = _OptionalDay(
            appearance, self.tr("Not after"), name="untilDate", usual=today + _USUAL_LENGTH
        )
        self._calendar = CalendarFields(backend.now_ms, appearance, page)
        self._overlap = OverlapBox()
        self._dates = [
            page.watch_field(Field("", day, path=path, subject=self.tr("The day")))
            for day, path in ((self._from, "schedule.from"), (self._until, "schedule.until"))
        ]
        self._overlap_field = page.watch_field(
            Field(
                self.tr("If it is still running"),
                self._overlap,
                path="schedule.on_overlap",
                subject=self.tr("The choice"),
            )
        )
        self._parameters = PairsEdit(
            backend,
            appearance,
            name="scheduleParameters",
            key_title=self.tr("Parameter"),
            add_title=self.tr("Set a parameter"),
            examples=("name", self.tr("value")),
            has_secrets=False,
        )
        parameters = page.watch_field(
            Field(
                self.tr("Parameters of its runs"),
                self._parameters,
                path="schedule.parameters",
                also_path="schedules",
                subject=self.tr("The parameters"),
                hint=self.tr("Others have the defaults set under Options."),
            )
        )
        self._fold = Fold(appearance, self.tr("More"), name="runOptionsFold")
        for field in (
            *self._dates,
            *self._calendar.days,
            self._calendar.shift,
            self._overlap_field,
            parameters,
        ):
            self._fold.add(field)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._fold)
        self._show_summary()
        for part in (self._from, self._until, self._calendar, self._overlap, self._parameters):
            part.changed.connect(self._announce)

    def load(self, entry: Entry | None) -> None:
        """Show the choices of a schedule; None for the defaults."""
        self._from.load(None if entry is None else entry.from_date)
        self._until.load(None if entry is None else entry.until_date)
        self._calendar.load(EVERY_DAY if entry is None else entry.calendar)
        self._overlap.load(None if entry is None else entry.on_overlap)
        self._parameters.set_pairs({} if entry is None else entry.parameters)
        self._show_summary()

    def follow_kind(self, kind: str) -> None:
        """Show the options that apply to a kind of schedule."""
        self._kind = kind
        self._overlap.follow(is_event=kind in EVENTS)
        show_if(self, kind != MANUAL)
        for field in self._dates:
            show_if(field, self._has_dates)
        self._calendar.show(has_days=self._has_dates, has_shift=kind in ON_CLOCK)
        show_if(self._overlap_field, kind != AFTER)
        self._show_summary()

    def apply(self, entry: Entry) -> Entry:
        """Return a schedule with the choices; ScheduleError for invalid days."""
        has_days = isinstance(entry.schedule, Dated)
        return replace(
            entry,
            from_date=self._from.text if has_days else None,
            until_date=self._until.text if has_days else None,
            calendar=self._calendar.value(entry.schedule),
            on_overlap=None if isinstance(entry.schedule, After) else self._overlap.chosen,
            parameters=self._read_parameters(),
        )

    def _read_parameters(self) -> dict[str, str]:
        try:
            return self._parameters.pairs()
        except ScheduleError as error:
            raise error.under("parameters") from None

    @property
    def _has_dates(self) -> bool:
        return self._kind not in (ONCE, *EVENTS)

    def _announce(self) -> None:
        self._show_summary()
        self.changed.emit()

    def _show_summary(self) -> None:
        parts = (self._from, self._until, self._calendar)
        days = [part.summary for part in parts] if self._has_dates else []
        overlap = "" if self._kind == AFTER else self._overlap.summary
        given = Findings().take("", self._parameters.pairs)
        parameters = self.tr("with {values}").format(values=parameter_words(given)) if given else ""
        self._fold.set_summary(joined(*days, overlap, parameters))


class _OptionalDay(QWidget):
    """A day with a check box; unchecked means no limit."""

    changed = Signal()

    def __init__(self, appearance: Appearance, title: str, *, name: str, usual: date) -> None:
        super().__init__()
        self.setObjectName(name)
        self._title = title
        self._usual = usual
        self._has = QCheckBox(title)
        self._has.setObjectName(f"{name}Has")
        self._day = DayEdit(appearance, f"{name}Day", title)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GRID)
        layout.addWidget(self._has)
        layout.addWidget(self._day)
        layout.addStretch(1)
        self.load(None)
        self._has.toggled.connect(self._day.setEnabled)
        self._has.toggled.connect(self.changed)
        self._day.dateChanged.connect(self.changed)

    def load(self, text: str | None) -> None:
        """Show a day, or none."""
        with QSignalBlocker(self._has):
            self._has.setChecked(text is not None)
        self._day.setEnabled(text is not None)
        self._day.set_day(self._usual if text is None else date.fromisoformat(text))

    @property
    def text(self) -> str | None:
        return self._day.day().isoformat() if self._has.isChecked() else None

    @property
    def summary(self) -> str:
        day = self._day.day()
        return f"{self._title.lower()} {short_date(day)}" if self._has.isChecked() else ""


class OverlapBox(QComboBox):
    """The choice of the overlap policy."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("onOverlap")
        self.setAccessibleName(self.tr("If it is still running"))
        for words, value in (
            (self.tr("Skip: don't run again"), Overlap.SKIP),
            (self.tr("Queue: run each one afterwards"), Overlap.QUEUE),
            (self.tr("Latest: run once afterwards"), Overlap.LATEST),
            (self.tr("Restart: stop it and start again"), Overlap.RESTART),
        ):
            self.addItem(words, value)
        let_shrink(self)
        self.chosen: Overlap | None = None
        """None for the default, which differs for events and times."""
        self._default = Overlap.SKIP
        self.currentIndexChanged.connect(self._choose)

    def load(self, chosen: Overlap | None) -> None:
        """Show a choice."""
        self.chosen = chosen
        self._show()

    def follow(self, *, is_event: bool) -> None:
        """Use the default of events, or of times."""
        self._default = Overlap.QUEUE if is_event else Overlap.SKIP
        self._show()

    @property
    def summary(self) -> str:
        choice = self.currentText().partition(":")[0].lower()
        return self.tr("if it is still running: {choice}").format(choice=choice)

    def _choose(self) -> None:
        chosen = Overlap(self.currentData())
        self.chosen = None if chosen is self._default else chosen
        self.changed.emit()

    def _show(self) -> None:
        with QSignalBlocker(self):
            self.setCurrentIndex(self.findData(self.chosen or self._default))
