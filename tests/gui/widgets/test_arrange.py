"""Windows that are as high as their words need."""

from __future__ import annotations

from PySide6.QtWidgets import QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from ui.widgets.arrange import fit_height
from ui.widgets.labels import frame, label


def test_a_text_inside_a_card_gets_its_room_at_once(qtbot: QtBot) -> None:
    words = label("short", wrap=True)
    card = frame("card")
    QVBoxLayout(card).addWidget(words)
    window = QWidget()
    QVBoxLayout(window).addWidget(card)
    qtbot.addWidget(window)
    fit_height(window, 300)
    window.show()
    before = window.height()
    words.setText("a long sentence that needs several lines " * 5)
    fit_height(window, 300)
    assert window.width() == 300
    assert window.height() > before
    assert words.height() >= words.heightForWidth(words.width())


def test_no_room_is_kept_for_lines_that_are_not_there(qtbot: QtBot) -> None:
    window = QWidget()
    box = QVBoxLayout(window)
    words = label("a sentence that would be two lines in a narrow window, but is one here", wrap=True)
    box.addWidget(words)
    qtbot.addWidget(window)
    fit_height(window, 800)
    window.show()
    assert words.height() == words.heightForWidth(words.width())
