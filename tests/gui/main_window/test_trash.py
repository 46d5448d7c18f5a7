"""The trash: what was deleted, and the way back."""

from __future__ import annotations

import pytest
from job_values import NASTY, make_job
from PySide6.QtWidgets import QLabel, QLineEdit, QListWidget, QPushButton
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
    dialog.set_jobs([], {})
    assert _list(dialog).isHidden() or not _list(dialog).count()
    assert not _restore(dialog).isEnabled()


def test_restoring_emits_the_chosen_jobs(qtbot: QtBot, dialog: TrashDialog) -> None:
    dialog.set_jobs([make_job("a"), make_job("b")], {})
    _list(dialog).selectAll()
    with qtbot.waitSignal(dialog.restore_wanted) as told:
        _restore(dialog).click()
    assert told.args == [["a", "b"]]


def test_names_are_shown_as_they_are(dialog: TrashDialog) -> None:
    dialog.set_jobs([make_job(NASTY)], {})
    item = _list(dialog).item(0)
    assert item.text().startswith("<b>bold</b> & ")
    assert "<\u2060b>" in item.toolTip()


def test_the_day_of_deletion_is_shown_and_searched(dialog: TrashDialog) -> None:
    dialog.set_jobs([make_job("alpha"), make_job("beta")], {"alpha": 1_784_000_000_000})
    rows = [_list(dialog).item(row) for row in range(2)]
    assert "deleted 14 Jul 2026" in rows[0].text()
    assert rows[0].text().index("deleted") < rows[0].text().index("very"), (
        "a long schedule would push it out of sight"
    )
    search = dialog.findChild(QLineEdit, "trashSearch")
    assert search is not None
    search.setText("BET")
    assert [row.isHidden() for row in rows] == [True, False]
    assert not _restore(dialog).isEnabled()


@pytest.mark.parametrize(("name", "deleted"), [("deleteButton", ["a"]), ("emptyTrashButton", ["a", "b"])])
def test_jobs_are_deleted_for_good_after_a_question(
    qtbot: QtBot, dialog: TrashDialog, name: str, deleted: list[str]
) -> None:
    dialog.set_jobs([make_job("a"), make_job("b")], {})
    ask, confirm = (dialog.findChild(QPushButton, one) for one in (name, "confirmDeleteButton"))
    question = dialog.findChild(QLabel, "trashQuestionText")
    assert ask is not None
    assert confirm is not None
    assert question is not None
    ask.click()
    assert question.text().startswith("This permanently deletes ")
    with qtbot.waitSignal(dialog.deletion_wanted) as told:
        confirm.click()
    assert told.args == [deleted]


@pytest.mark.usefixtures("large_letters")
def test_with_large_letters_it_fits_a_small_screen(dialog: TrashDialog) -> None:
    dialog.set_jobs([make_job("alpha")], {})
    assert dialog.minimumSizeHint().width() < 640
