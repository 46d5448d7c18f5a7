"""The bar that takes a deletion back."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from ui.theme import Look
from ui.widgets.undo_bar import UNDO_MS, UndoBar
from ui.widgets.wrapped_text import WrappedText


@pytest.fixture
def bar(qtbot: QtBot) -> UndoBar:
    made = UndoBar(Look())
    qtbot.addWidget(made)
    return made


def _timer(bar: UndoBar) -> QTimer:
    timer = bar.findChild(QTimer)
    assert isinstance(timer, QTimer)
    return timer


def test_it_is_not_there_until_something_was_deleted(bar: UndoBar) -> None:
    assert bar.isHidden()
    assert not _timer(bar).isActive()


def test_it_offers_for_ten_seconds(bar: UndoBar) -> None:
    bar.offer("Deleted “<b>”.", ("a",))
    assert not bar.isHidden()
    assert _timer(bar).isActive()
    assert _timer(bar).interval() == UNDO_MS == 10_000
    _timer(bar).timeout.emit()
    assert bar.isHidden()


def test_undo_tells_what_is_wanted_back_once(qtbot: QtBot, bar: UndoBar) -> None:
    bar.offer("Deleted 2 jobs.", ("a", "b"))
    undo = bar.findChild(QPushButton, "undoButton")
    assert undo is not None
    with qtbot.waitSignal(bar.undo_wanted) as told:
        undo.click()
    assert told.args == [("a", "b")]
    assert bar.isHidden()
    with qtbot.assertNotEmitted(bar.undo_wanted):
        undo.click()


def test_what_was_deleted_is_plain_text(bar: UndoBar) -> None:
    bar.offer("Deleted “<b>x</b>”.", ("a",))
    text = bar.findChild(WrappedText, "undoText")
    assert text is not None
    assert text.text() == "Deleted “<b>x</b>”."
