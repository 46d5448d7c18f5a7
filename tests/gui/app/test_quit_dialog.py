"""Leaving while runs are under way: each choice is told once, and means what it says."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton
from pytestqt.qtbot import QtBot

from ui.app.quitting import QuitChoice, QuitDialog


def _open(qtbot: QtBot, *running: tuple[str, str]) -> QuitDialog:
    dialog = QuitDialog(running)
    qtbot.addWidget(dialog)
    dialog.open()
    return dialog


def _button(dialog: QuitDialog, name: str) -> QPushButton:
    found = dialog.findChild(QPushButton, name)
    assert isinstance(found, QPushButton)
    return found


@pytest.mark.parametrize(
    ("name", "choice"),
    [
        ("quitWaitButton", QuitChoice.WAIT),
        ("quitStopButton", QuitChoice.STOP),
        ("quitLeaveButton", QuitChoice.LEAVE),
        ("quitCancelButton", QuitChoice.CANCEL),
    ],
)
def test_a_button_gives_back_its_choice(qtbot: QtBot, name: str, choice: QuitChoice) -> None:
    dialog = _open(qtbot, ("backup", "command"))
    told: list[QuitChoice] = []
    dialog.chosen.connect(told.append)
    _button(dialog, name).click()
    assert told == [choice]
    assert not dialog.isVisible()


def test_escape_means_not_to_quit(qtbot: QtBot) -> None:
    dialog = _open(qtbot, ("backup", "command"))
    with qtbot.waitSignal(dialog.chosen) as told:
        QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert told.args == [QuitChoice.CANCEL]


@pytest.mark.parametrize("kind", ["http", "callback"])
def test_callback_runs_cannot_be_left_running(qtbot: QtBot, kind: str) -> None:
    dialog = _open(qtbot, ("prices", kind))
    assert not _button(dialog, "quitLeaveButton").isEnabled()
    assert "Not available" in _button(dialog, "quitLeaveButton").accessibleDescription()


def test_of_a_mixture_the_rest_can_be_left(qtbot: QtBot) -> None:
    dialog = _open(qtbot, ("prices", "http"), ("backup", "command"))
    leave = _button(dialog, "quitLeaveButton")
    assert leave.isEnabled()
    assert leave.accessibleDescription().endswith(
        "Except 1: HTTP requests and Python functions end with Halo."
    )


def test_names_from_outside_are_shown_as_they_are(qtbot: QtBot) -> None:
    dialog = _open(
        qtbot, ("<b>bold</b>", "command"), ("x" * 10_000, "command"), ("c", "command"), ("d", "command")
    )
    names = dialog.findChild(QLabel, "quitNames")
    assert isinstance(names, QLabel)
    assert names.textFormat() is Qt.TextFormat.PlainText
    assert names.text() == f"<b>bold</b>, {'x' * 59}…, c and 1 more"
