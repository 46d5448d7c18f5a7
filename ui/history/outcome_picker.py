"""The filter by outcome: a menu with several choices that stays open."""

from __future__ import annotations

from typing import cast

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QIcon, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QMenu, QPushButton, QWidget

from halo_scheduler.model import Outcome
from ui.style.marks import Shape, outcome_mark
from ui.style.theme import Appearance, Tone
from ui.style.wording import outcome_words
from ui.widgets.labels import tint

_PROBLEMS = frozenset({Outcome.FAILURE, Outcome.TIMEOUT, Outcome.MISSED, Outcome.INTERRUPTED})
_SIGNS = {
    Shape.PLAY: "▶",
    Shape.CIRCLE: "●",
    Shape.SQUARE: "■",
    Shape.DOTTED: "◌",
    Shape.TRIANGLE: "▲",
}


class OutcomePicker(QPushButton):
    """A button that shows the chosen outcomes, with a menu to choose them."""

    chosen = Signal()

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance
        appearance.changed.connect(self._tell)
        self._menu = _StayingMenu(self)
        self._menu.setObjectName("outcomeMenu")
        self._menu.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        self._choices: dict[Outcome, QAction] = {}
        self._add_wholes()
        for outcome in Outcome:
            self._add(outcome)
        self.setObjectName("outcomeButton")
        self.setToolTip(self.tr("Filter by outcome"))
        self.setMenu(self._menu)
        # The icon is behind the text, like the arrow of a combo box.
        self.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
        tint(self, appearance, "chevron-down", Tone.MUTED)
        self._tell()

    @property
    def outcomes(self) -> frozenset[Outcome] | None:
        """The outcomes to show; None for all."""
        found = frozenset(outcome for outcome, action in self._choices.items() if action.isChecked())
        return None if not found or len(found) == len(Outcome) else found

    def set_outcomes(self, outcomes: frozenset[Outcome] | None) -> None:
        """Choose outcomes without a signal."""
        for outcome, action in self._choices.items():
            action.blockSignals(True)
            action.setChecked(outcomes is not None and outcome in outcomes)
            action.blockSignals(False)
        self._tell()

    def _add_wholes(self) -> None:
        for name, text, outcomes in (
            ("outcomeAll", self.tr("All outcomes"), None),
            ("outcomeProblems", self.tr("Problems only"), _PROBLEMS),
        ):
            action = self._menu.addAction(text)
            action.setObjectName(name)
            action.setData(outcomes)
            action.triggered.connect(self._take_whole)
        self._menu.addSeparator()

    def _add(self, outcome: Outcome) -> None:
        sign = _SIGNS[outcome_mark(outcome).shape]
        action = self._menu.addAction(f"{sign}  {outcome_words(outcome)}")
        action.setObjectName(f"outcome-{outcome}")
        action.setCheckable(True)
        action.toggled.connect(self._take)
        self._choices[outcome] = action

    def _take_whole(self) -> None:
        action = self.sender()
        if isinstance(action, QAction):
            self.set_outcomes(action.data())
            self.chosen.emit()

    def _take(self) -> None:
        self._tell()
        self.chosen.emit()

    def _tell(self) -> None:
        found = self.outcomes
        if found is None:
            text = self.tr("All outcomes")
        elif found == _PROBLEMS:
            text = self.tr("Problems only")
        elif len(found) == 1:
            text = outcome_words(next(iter(found)))
        else:
            text = self.tr("{count} outcomes").format(count=len(found))
        for action in self._choices.values():
            # With a style sheet Qt draws no check mark.
            action.setIcon(self._appearance.icon("check", Tone.ACCENT) if action.isChecked() else QIcon())
        self.setText(text)
        self.setAccessibleName(self.tr("Outcome: {which}").format(which=text))


class _StayingMenu(QMenu):
    """A menu that stays open while several items are checked."""

    def _check(self) -> bool:
        """Toggle the current item, if it is checkable."""
        action = cast("QAction | None", self.activeAction())
        if action is None or not action.isCheckable():
            return False
        action.trigger()
        return True

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        if not self._check():
            super().mouseReleaseEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        if event.key() != Qt.Key.Key_Space or not self._check():
            super().keyPressEvent(event)
