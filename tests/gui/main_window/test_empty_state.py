"""Where there is nothing to show: an invitation, or the way back."""

from __future__ import annotations

from functools import partial
from itertools import combinations

from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QFont
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QScrollArea
from pytestqt.qtbot import QtBot

from ui.forms.templates import TEMPLATES
from ui.main_window.empty_state import EmptyState, NoMatch, TemplateCard
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


def test_the_empty_page_offers_to_import_jobs(qtbot: QtBot) -> None:
    state = EmptyState(Appearance())
    qtbot.addWidget(state)
    with qtbot.waitSignal(state.import_wanted):
        _click(state, "emptyImportButton")


def test_a_template_card_works_with_the_keyboard_and_describes_itself(qtbot: QtBot) -> None:
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


def test_with_large_letters_cards_grow_with_their_words_and_are_below_each_other(qtbot: QtBot) -> None:
    state = EmptyState(Appearance())
    qtbot.addWidget(state)
    usual = state.findChildren(TemplateCard)[0].minimumHeight()
    large = QFont(state.font())
    large.setPointSizeF(17)
    for card in state.findChildren(TemplateCard):
        card.setFont(large)
    cards = state.findChildren(TemplateCard)
    assert cards[0].minimumHeight() > usual
    state.show()
    area = state.findChild(QScrollArea)
    assert area is not None
    state.resize(640, 420)
    qtbot.waitUntil(lambda: len({card.x() for card in cards}) == 1)
    assert area.horizontalScrollBar().maximum() == 0
    state.resize(1_366, 420)
    qtbot.waitUntil(lambda: len({card.x() for card in cards}) == 2)
    qtbot.waitUntil(lambda: not _overlapping(cards))
    assert cards[0].height() == cards[1].height()
    for card in cards:
        assert all(card.rect().contains(place) for place in card._places())


def test_with_large_letters_buttons_are_as_high_as_they_need(qtbot: QtBot, qapp: QApplication) -> None:
    appearance = Appearance()
    before = qapp.font()
    large = QFont(before)
    large.setPointSizeF(17)
    try:
        qapp.setFont(large)
        appearance.apply()
        state = EmptyState(appearance)
        qtbot.addWidget(state)
        state.resize(640, 320)
        state.show()
        for name in ("emptyNewButton", "emptyImportButton"):
            button = state.findChild(QAbstractButton, name)
            assert button is not None
            qtbot.waitUntil(partial(_is_whole, button))
    finally:
        qapp.setStyleSheet("")
        qapp.setFont(before)


def _is_whole(button: QAbstractButton) -> bool:
    return button.height() >= button.sizeHint().height()


def _overlapping(cards: list[TemplateCard]) -> list[tuple[TemplateCard, TemplateCard]]:
    return [
        (one, other) for one, other in combinations(cards, 2) if one.geometry().intersects(other.geometry())
    ]
