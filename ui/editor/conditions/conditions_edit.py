"""The list of a job's conditions, and the buttons that add one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from halo_scheduler.errors import ScheduleError
from halo_scheduler.model import MOST_CONDITIONS, Condition, Idle
from ui.backend.backend import Backend, Lane
from ui.forms.fields import CONTENT, Field, Findings, Page
from ui.forms.rows import RowList, tab_before
from ui.style.theme import GRID, HALF, MARGIN, Appearance, icon_size
from ui.style.wording import plain_tooltip
from ui.widgets.arrange import show_if
from ui.widgets.labels import button, icon_button, label, tint

from .condition_check import ConditionCheck
from .condition_forms import SINGLE, ConditionForm, ConditionKind, form_of, kind_of, offer_of

if TYPE_CHECKING:
    from halo_scheduler.conditions.probes import ConditionState

_COLUMNS = 3
_SOME_IDLE = Idle(idle="5m")
# Nothing notifies about changes of a condition: it is polled while visible.
_RECHECK_MS = 10_000


class ConditionsEdit(QWidget):
    """One row per condition with its current state; below them a button for each kind."""

    changed = Signal()
    learned = Signal()

    def __init__(self, backend: Backend, appearance: Appearance, page: Page) -> None:
        super().__init__()
        self.setObjectName("conditions")
        self._backend = backend
        self._appearance = appearance
        self._page = page
        self._known: frozenset[Condition] = frozenset()
        self._idle_refusal: str | None = None
        self._none = label(self.tr("No conditions. The job starts as soon as it's due."), "muted", wrap=True)
        self._rows: RowList[ConditionRow] = RowList(
            page, stem="condition", path="policy.conditions", spacing=MARGIN
        )
        self._add = {kind: self._add_button(kind) for kind in ConditionKind}
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(MARGIN)
        layout.addWidget(self._none)
        layout.addLayout(self._rows.layout)
        layout.addWidget(self._add_buttons())
        self._recheck_timer = QTimer(self)
        self._recheck_timer.setInterval(_RECHECK_MS)
        self._recheck_timer.timeout.connect(self._recheck)

    def _add_buttons(self) -> QWidget:
        made = QWidget()
        made.setObjectName("conditionOffer")
        # One style sheet for all buttons: parsing each takes time.
        made.setStyleSheet("QPushButton { text-align: left; }")
        layout = QVBoxLayout(made)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(HALF)
        layout.addWidget(label(self.tr("Add a condition"), "small"))
        layout.addWidget(_Offer(tuple(self._add.values())))
        return self._page.watch_field(
            Field("", made, path="policy.conditions", subject=self.tr("The list of conditions"))
        )

    def _add_button(self, kind: ConditionKind) -> QPushButton:
        words, icon, tip = offer_of(kind)
        made = button(words, name=f"addCondition_{kind}", tip=tip, accessible=f"{_title(self)}: {words}")
        made.setAutoDefault(False)
        made.setIconSize(QSize(icon_size(), icon_size()))
        tint(made, self._appearance, icon)
        made.clicked.connect(_Add(self, kind))
        return made

    def load(self, conditions: Iterable[Condition], *, are_stored: bool) -> None:
        """Show these conditions; a stored job may keep conditions that cannot be checked on this system."""
        self._rows.clear()
        self._known = frozenset(conditions) if are_stored else frozenset()
        for condition in conditions:
            self._add_row(kind_of(condition)).form.load(condition)
        self._follow()

    def focus_first(self) -> None:
        """Focus the first condition, or the first button that adds one."""
        inputs = [row for row in self._rows if row.has_input]
        offers = [one for one in self._add.values() if one.isEnabled()]
        if inputs:
            inputs[0].field.focus()
        elif offers:
            offers[0].setFocus()

    @property
    def count(self) -> int:
        return len(self._rows)

    def read(self, findings: Findings) -> tuple[Condition, ...] | None:
        """Return the conditions, or None after recording the problems."""
        found = [self._read_row(index, row, findings) for index, row in enumerate(self._rows)]
        conditions = tuple(condition for condition in found if condition is not None)
        return conditions if len(conditions) == len(found) else None

    def _read_row(self, index: int, row: ConditionRow, findings: Findings) -> Condition | None:
        path = f"policy.conditions[{index}]"
        if row.form.missing:
            findings.miss(path, row.form.missing)
            return None
        condition = findings.take(path, row.form.read)
        refusal = "" if condition is None or condition in self._known else row.check.refusal(condition)
        row.check.set_silent(bool(refusal))
        if refusal:
            findings.refuse(path, self.tr("{sentence} Remove this condition.").format(sentence=refusal))
            return None
        return condition

    def add(self, kind: ConditionKind) -> None:
        """Add a condition and focus its first input."""
        row = self._add_row(kind)
        self._follow()
        # Qt would show it later, and only visible conditions are checked.
        row.field.show()
        row.check.recheck()
        if row.has_input:
            row.field.focus(Qt.FocusReason.TabFocusReason)
        self.changed.emit()
        self._page.ensureWidgetVisible(row.field)

    def _add_row(self, kind: ConditionKind) -> ConditionRow:
        row = ConditionRow(self._backend, self._appearance, kind, name=self._rows.next_name)
        self._rows.append(row)
        tab_before(self._add[ConditionKind.MAINS], [stop for one in self._rows for stop in one.stops])
        row.form.changed.connect(self._announce_change)
        row.check.learned.connect(self.learned)
        row.removal_wanted.connect(self._remove)
        return row

    def _remove(self, row: ConditionRow) -> None:
        neighbour = self._rows.drop(row)
        self._follow()
        if neighbour is not None:
            neighbour.field.focus()
        else:
            self._add[row.kind].setFocus()
        self.changed.emit()

    def _announce_change(self) -> None:
        self._follow()
        self.changed.emit()

    def _follow(self) -> None:
        """Update the checks and the buttons after a change of the rows."""
        for row in self._rows:
            row.follow()
        show_if(self._none, not self._rows)
        kinds = {row.kind for row in self._rows}
        for kind, one in self._add.items():
            is_free = len(self._rows) < MOST_CONDITIONS and (kind not in SINGLE or kind not in kinds)
            one.setEnabled(is_free and not (kind is ConditionKind.IDLE and self._idle_refusal))

    def _check_idle(self) -> None:
        """Check once whether this system reports idle time."""
        if self._idle_refusal is None:
            self._idle_refusal = ""
            self._backend.ask(
                lambda scheduler: scheduler.jobs.check_condition(_SOME_IDLE),
                self._offer_idle,
                lambda _error: None,
                owner=self,
                lane=Lane.SLOW,
            )

    def _offer_idle(self, state: ConditionState) -> None:
        if not state.is_observable:
            self._idle_refusal = state.sentence
            self._add[ConditionKind.IDLE].setToolTip(plain_tooltip(state.sentence))
            self._follow()

    def stop_checks(self) -> None:
        """Cancel pending checks: some take seconds, and other requests queue behind them."""
        for row in self._rows:
            row.check.stop()

    def _recheck(self) -> None:
        for row in self._rows:
            row.check.recheck()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        super().showEvent(event)
        self._recheck_timer.start()
        self._recheck()
        self._check_idle()

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802 - Qt's name
        super().hideEvent(event)
        self._recheck_timer.stop()
        self.stop_checks()


class ConditionRow(QWidget):
    """One condition, its current state and a button that removes it."""

    removal_wanted = Signal(object)

    def __init__(self, backend: Backend, appearance: Appearance, kind: ConditionKind, *, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setProperty(CONTENT, kind)
        self.kind = kind
        self.form: ConditionForm = form_of(kind, appearance, name=f"{name}Form")
        self.check = ConditionCheck(backend, appearance, name=f"{name}Look")
        self._remove = icon_button(
            appearance, "close", self.tr("Remove this condition"), name=f"{name}Remove"
        )
        head = QHBoxLayout()
        head.setSpacing(GRID)
        head.addWidget(self.form, 1)
        head.addWidget(self._remove, alignment=Qt.AlignmentFlag.AlignTop)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(HALF)
        layout.addLayout(head)
        layout.addWidget(self.check)
        self.field = Field("", self, subject=self.tr("The value"), targets=self.form.targets)
        self._remove.clicked.connect(self._want_removal)

    @property
    def has_input(self) -> bool:
        """Whether the condition has inputs."""
        return bool(self.form.targets)

    @property
    def stops(self) -> list[QWidget]:
        """The widgets in Tab order."""
        inner = (child for child in self.form.findChildren(QWidget) if _takes_tab(child))
        # The popup of a combo box is a separate window.
        return [*(child for child in inner if child.window() is self.window()), self._remove]

    def follow(self) -> None:
        """Check the condition as it is filled in now."""
        try:
            self.check.check(None if self.form.missing else self.form.read())
        except ScheduleError:
            self.check.check(None)

    def _want_removal(self) -> None:
        self.removal_wanted.emit(self)


class _Offer(QWidget):
    """Arranges buttons in as many columns as fit."""

    def __init__(self, buttons: Sequence[QPushButton]) -> None:
        super().__init__()
        self._buttons = buttons
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(GRID)
        for one in buttons:
            one.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._columns = 0
        self._arrange(_COLUMNS)

    def _arrange(self, columns: int) -> None:
        if columns == self._columns:
            return
        self._columns = columns
        for index, one in enumerate(self._buttons):
            self._grid.addWidget(one, index // columns, index % columns)
        for column in range(_COLUMNS):
            self._grid.setColumnStretch(column, int(column < columns))

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        widest = max(one.sizeHint().width() for one in self._buttons)
        self._arrange(max(1, min((self.width() + GRID) // (widest + GRID), _COLUMNS)))


class _Add:
    """Adds one kind of condition."""

    def __init__(self, edit: ConditionsEdit, kind: ConditionKind) -> None:
        self._edit = edit
        self._kind = kind

    def __call__(self) -> None:
        self._edit.add(self._kind)


def _takes_tab(widget: QWidget) -> bool:
    return bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus) and widget.focusProxy() is None


def _title(edit: ConditionsEdit) -> str:
    return edit.tr("Add a condition")
