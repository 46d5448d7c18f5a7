"""Labels and buttons as every window makes them."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QShortcutEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from halo_scheduler.model.settings import Theme
from ui.style.theme import Appearance
from ui.widgets.labels import button, icon_button, set_words, without_mnemonic


@pytest.mark.parametrize(
    ("text", "read"), [("&Copy", "Copy"), ("R&&D", "R&D"), ("S&ave R&&D", "Save R&D"), ("Close", "Close")]
)
def test_a_text_is_read_without_its_mnemonic(text: str, read: str) -> None:
    assert without_mnemonic(text) == read


def test_a_button_tells_its_mnemonic_on_hover_only(qtbot: QtBot) -> None:
    made = button("&Copy", name="copyButton")
    qtbot.addWidget(made)
    assert made.accessibleName() == "Copy"
    assert "Copy (Alt+C)" in made.toolTip()


def test_a_button_keeps_its_shortcut_when_its_words_change(qtbot: QtBot) -> None:
    made = button("All", name="allButton", shortcut="Ctrl+L")
    qtbot.addWidget(made)
    set_words(made, "Some")
    assert made.text() == "Some"
    assert made.shortcut().toString() == "Ctrl+L"


def test_the_keys_of_an_icon_button_click_it_at_once(qtbot: QtBot) -> None:
    appearance = Appearance(Theme.LIGHT)
    made = icon_button(appearance, "history", "History", name="historyButton", shortcut="Ctrl+H")
    appearance.setParent(made)
    qtbot.addWidget(made)
    clicks: list[str] = []
    made.clicked.connect(lambda: clicks.append("click"))
    QApplication.sendEvent(made, QShortcutEvent(made.shortcut(), 1))
    assert clicks == ["click"]
    assert not made.isDown()


def test_the_keys_of_a_button_click_it_at_once(qtbot: QtBot) -> None:
    made = button("Save", name="saveButton", shortcut="Ctrl+S")
    qtbot.addWidget(made)
    clicks: list[str] = []
    made.clicked.connect(lambda: clicks.append("click"))
    QApplication.sendEvent(made, QShortcutEvent(made.shortcut(), 1))
    assert clicks == ["click"]
    assert not made.isDown()
