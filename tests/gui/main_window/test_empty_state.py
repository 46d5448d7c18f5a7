"""Where there is nothing to show: an invitation, or the way back."""

from __future__ import annotations

from itertools import combinations

from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton
from pytestqt.qtbot import QtBot

from ui.forms.templates import TEMPLATES
from ui.main_window.empty_state import EmptyState, NoMatch
from ui.style.theme import Appearance


def _click(widget: EmptyState | NoMatch, name: str) -> None:
    button = widget.findChild(QAbstractButton, name)
    assert button is not None
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)


def test_a_newcomer_can_begin_with_an_empty_job_or_any_template(qtbot: QtBot) -> None:
    state = EmptyState(Appearance())
    qtbot.addWidget(state)
    wanted: list[str | None] = []
    state.new_wanted.connect(wanted.append)
    _click(state, "emptyNewButton")
    for key in TEMPLATES:
        _click(state, f"template-{key}")
    assert wanted == [None, *TEMPLATES]


def test_a_newcomer_can_import_what_another_scheduler_ran(qtbot: QtBot) -> None:
    state = EmptyState(Appearance())
    qtbot.addWidget(state)
    with qtbot.waitSignal(state.import_wanted):
        _click(state, "emptyImportButton")


def test_a_card_can_be_chosen_by_key_and_tells_what_it_is(qtbot: QtBot) -> None:
    state = EmptyState(Appearance())
    qtbot.addWidget(state)
    card = state.findChild(QAbstractButton, "template-backup")
    assert card is not None
    assert card.focusPolicy() & Qt.FocusPolicy.TabFocus
    assert card.accessibleName() == "Back up a folder"
    assert card.accessibleDescription()
    with qtbot.waitSignal(state.new_wanted):
        QTest.keyClick(card, Qt.Key.Key_Space)
    assert not card.grab().isNull()


def test_a_search_without_a_match_can_be_cleared(qtbot: QtBot) -> None:
    state = NoMatch(Appearance())
    qtbot.addWidget(state)
    with qtbot.waitSignal(state.clear_wanted):
        _click(state, "clearSearchButton")


def test_in_a_low_window_nothing_covers_anything(qtbot: QtBot) -> None:
    state = EmptyState(Appearance())
    qtbot.addWidget(state)
    state.resize(640, 320)
    state.show()
    shown = [one for one in state.findChildren(QAbstractButton) if one.isVisible()]
    places = [QRect(one.mapTo(state, QPoint(0, 0)), one.size()) for one in shown]
    assert len(places) == 2 + len(TEMPLATES)
    assert not [(one, other) for one, other in combinations(places, 2) if one.intersects(other)]
