"""The trash: what was deleted, and the way back."""

from __future__ import annotations

import pytest
from job_values import NASTY, make_job
from PySide6.QtWidgets import QListWidget, QPushButton
from pytestqt.qtbot import QtBot

from ui.main_window.trash import TrashDialog
from ui.style.theme import Appearance


@pytest.fixture
def dialog(qtbot: QtBot) -> TrashDialog:
    made = TrashDialog(Appearance())
    qtbot.addWidget(made)
    return made


def _list(dialog: TrashDialog) -> QListWidget:
    found = dialog.findChild(QListWidget, "trashList")
    assert found is not None
    return found


def _restore(dialog: TrashDialog) -> QPushButton:
    found = dialog.findChild(QPushButton, "restoreButton")
    assert found is not None
    return found


def test_an_empty_trash_says_so(dialog: TrashDialog) -> None:
    dialog.set_jobs([])
    assert _list(dialog).isHidden() or not _list(dialog).count()
    assert not _restore(dialog).isEnabled()


def test_what_is_chosen_is_wanted_back(qtbot: QtBot, dialog: TrashDialog) -> None:
    dialog.set_jobs([make_job("a"), make_job("b")])
    _list(dialog).selectAll()
    with qtbot.waitSignal(dialog.restore_wanted) as told:
        _restore(dialog).click()
    assert told.args == [["a", "b"]]


def test_names_are_shown_as_they_are(dialog: TrashDialog) -> None:
    dialog.set_jobs([make_job(NASTY)])
    item = _list(dialog).item(0)
    assert item.text().startswith("<b>bold</b> & ")
    assert "&lt;b&gt;" in item.toolTip()
