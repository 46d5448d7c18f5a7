"""The bar that takes back what was just done."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from ui.main_window.notes import UNDO_MS, UndoBar
from ui.style.theme import Appearance
from ui.widgets.labels import WrappedText


@pytest.fixture
def bar(qtbot: QtBot) -> UndoBar:
    made = UndoBar(Appearance())
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
    bar.offer("Deleted “<b>”.", lambda: None)
    assert not bar.isHidden()
    assert _timer(bar).isActive()
    assert _timer(bar).interval() == UNDO_MS == 10_000
    _timer(bar).timeout.emit()
    assert bar.isHidden()


def test_undo_undoes_once(bar: UndoBar) -> None:
    undone: list[str] = []
    bar.offer("Deleted 2 jobs.", lambda: undone.append("jobs"))
    undo = bar.findChild(QPushButton, "undoButton")
    assert undo is not None
    undo.click()
    assert undone == ["jobs"]
    assert bar.isHidden()
    undo.click()
    assert undone == ["jobs"]


def test_only_the_last_thing_that_was_done_is_undone(bar: UndoBar) -> None:
    undone: list[str] = []
    bar.offer("Deleted “a”.", lambda: undone.append("job"))
    bar.offer("Dismissed a question.", lambda: undone.append("question"), "close")
    undo = bar.findChild(QPushButton, "undoButton")
    assert undo is not None
    undo.click()
    assert undone == ["question"]


def test_names_of_deleted_jobs_are_plain_text(bar: UndoBar) -> None:
    bar.offer("Deleted “<b>x</b>”.", lambda: None)
    text = bar.findChild(WrappedText, "undoText")
    assert text is not None
    assert text.text() == "Deleted “<b>x</b>”."
