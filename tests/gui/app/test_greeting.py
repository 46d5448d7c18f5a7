"""The first start: one question, yes unless said otherwise."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QScreen
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QCheckBox, QLabel, QPushButton
from pytestqt.qtbot import QtBot

from ui.app.greeting import Greeting


@pytest.fixture
def greeting(qtbot: QtBot) -> Greeting:
    made = Greeting()
    qtbot.addWidget(made)
    made.show()
    return made


def _continue(greeting: Greeting) -> QPushButton:
    found = greeting.findChild(QPushButton, "continueButton")
    assert isinstance(found, QPushButton)
    return found


def test_starting_at_login_is_chosen_beforehand(greeting: Greeting, qtbot: QtBot) -> None:
    with qtbot.waitSignal(greeting.answered) as answered:
        _continue(greeting).click()
    assert answered.args == [True]


@pytest.mark.parametrize("has_tray", [True, False])
def test_a_tray_is_spoken_of_only_where_there_is_one(qtbot: QtBot, has_tray: bool) -> None:
    made = Greeting(has_tray=has_tray)
    qtbot.addWidget(made)
    texts = [found.text() for found in made.findChildren(QLabel)]
    assert any("tray" in text for text in texts) is has_tray


def test_it_can_be_declined(greeting: Greeting, qtbot: QtBot) -> None:
    login = greeting.findChild(QCheckBox, "greetingLoginCheck")
    assert isinstance(login, QCheckBox)
    login.click()
    with qtbot.waitSignal(greeting.answered) as answered:
        _continue(greeting).click()
    assert answered.args == [False]


def test_closing_the_greeting_is_not_an_answer(greeting: Greeting, qtbot: QtBot) -> None:
    with qtbot.assertNotEmitted(greeting.answered):
        QTest.keyClick(greeting, Qt.Key.Key_Escape)
    assert not greeting.isVisible()


def test_its_title_leaves_the_programs_name_to_the_desktop(greeting: Greeting) -> None:
    assert "Halo" not in greeting.windowTitle(), "Qt adds it"


def test_on_a_low_screen_it_leaves_out_the_picture(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    def height_of(screen_height: int) -> int:
        monkeypatch.setattr(QScreen, "availableGeometry", lambda _self: QRect(0, 0, 640, screen_height))
        made = Greeting()
        qtbot.addWidget(made)
        made.show()
        assert _continue(made).isVisible()
        return made.height()

    roomy = height_of(1_000)
    assert height_of(roomy) <= roomy - 64
