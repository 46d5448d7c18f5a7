"""One of several, as cards."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QLabel, QScrollArea, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from halo_scheduler.model.settings import Theme
from ui.forms.choices import Choice, Choices
from ui.style.theme import Appearance


@pytest.fixture
def cards(qtbot: QtBot) -> Choices:
    appearance = Appearance(Theme.LIGHT)
    made = Choices(
        appearance,
        (
            Choice("a", "Command", "terminal", "run a program"),
            Choice("b", "HTTP request", "globe", "call a URL"),
            Choice("c", "Prompt", "prompt", "ask an AI agent"),
        ),
        name="kind",
        title="Kind",
        columns=3,
    )
    appearance.setParent(made)
    qtbot.addWidget(made)
    made.show()
    return made


def _columns(cards: Choices, width: int) -> int:
    cards.resize(width, 400)
    QCoreApplication.processEvents()
    return len({card.x() for card in cards.buttons()})


def test_cards_fill_as_many_columns_as_have_room_for_their_words(cards: Choices) -> None:
    found = set()
    for width in range(900, 200, -20):
        found.add(_columns(cards, width))
        labels = [label for label in cards.findChildren(QLabel) if label.text()]
        assert all(label.width() >= label.sizeHint().width() for label in labels), width
    assert found == {1, 2, 3}


def test_cards_come_back_to_one_row_without_a_gap_below(cards: Choices) -> None:
    assert _columns(cards, 900) == 3
    height = cards.sizeHint().height()
    assert _columns(cards, 250) < 3
    assert cards.sizeHint().height() > height
    assert _columns(cards, 900) == 3
    assert cards.sizeHint().height() == height


def test_cards_stay_in_place_when_a_scroll_bar_appears(cards: Choices, qtbot: QtBot) -> None:
    area = QScrollArea()
    area.setWidgetResizable(True)
    content = QWidget()
    QVBoxLayout(content).addWidget(cards)
    area.setWidget(content)
    qtbot.addWidget(area)
    area.show()
    bars = Qt.ScrollBarPolicy
    for width in range(300, 700, 3):
        area.resize(width, 400)
        found = []
        for policy in (bars.ScrollBarAlwaysOff, bars.ScrollBarAlwaysOn):
            area.setVerticalScrollBarPolicy(policy)
            QCoreApplication.processEvents()
            found.append(len({card.x() for card in cards.buttons()}))
        assert found[0] == found[1], width
    cards.setParent(None)
