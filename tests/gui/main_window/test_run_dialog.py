"""The dialog of *Run with…*: what it gives back, and what it refuses."""

from __future__ import annotations

import pytest
from job_values import NOW
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialog, QLabel, QLineEdit, QPushButton, QScrollArea
from pytestqt.qtbot import QtBot

from halo_scheduler.model.settings import Theme
from ui.main_window.run_dialog import RunDialog
from ui.style.theme import Appearance


def _open(qtbot: QtBot, *, is_later: bool = False, **declared: str) -> RunDialog:
    dialog = RunDialog(Appearance(Theme.LIGHT), "Build", declared, lambda: NOW, is_later=is_later)
    qtbot.addWidget(dialog)
    dialog.show()
    return dialog


def _type(dialog: RunDialog, name: str, text: str) -> None:
    line = dialog.findChild(QLineEdit, f"value_{name}")
    assert line is not None
    line.selectAll()
    QTest.keyClicks(line, text)


def _press_run(dialog: RunDialog) -> None:
    run = dialog.findChild(QPushButton, "runButton")
    assert run is not None
    run.click()


def test_only_changed_values_are_given(qtbot: QtBot) -> None:
    dialog = _open(qtbot, branch="main", mode="full")
    _type(dialog, "branch", "next")
    _press_run(dialog)
    assert dialog.result() == QDialog.DialogCode.Accepted
    assert (dialog.parameters, dialog.input) == ({"branch": "next"}, "")


def test_a_job_without_parameters_takes_an_input(qtbot: QtBot) -> None:
    dialog = _open(qtbot)
    assert dialog.findChildren(QLineEdit) == []
    dialog._input.setPlainText("notes")
    _press_run(dialog)
    assert (dialog.parameters, dialog.input) == ({}, "notes")


def test_a_value_that_cannot_be_given_is_refused_in_the_dialog(qtbot: QtBot) -> None:
    dialog = _open(qtbot, branch="main")
    problem = dialog.findChild(QLabel, "runProblem")
    assert problem is not None
    assert not problem.isVisible()
    _type(dialog, "branch", "${secret:TOKEN}")
    _press_run(dialog)
    assert (dialog.isVisible(), problem.isVisible()) == (True, True)
    assert "secrets cannot be used here" in problem.text()


def test_a_time_is_asked_for_and_checked(qtbot: QtBot) -> None:
    dialog = _open(qtbot, is_later=True)
    problem, line = dialog.findChild(QLabel, "runProblem"), dialog.findChild(QLineEdit, "runAtLine")
    assert problem is not None
    assert line is not None
    assert dialog.focusWidget() is line
    _press_run(dialog)
    assert problem.text() == "Enter a date and time."
    line.setText("2020-01-01 10:00")
    _press_run(dialog)
    assert problem.text() == "This time is in the past; enter a later one."
    line.setText("in 2h")
    _press_run(dialog)
    assert dialog.result() == QDialog.DialogCode.Accepted
    assert dialog.at == NOW + 7_200_000


def test_without_a_time_it_runs_at_once(qtbot: QtBot) -> None:
    assert _open(qtbot).at is None


@pytest.mark.parametrize(("count", "scrolls"), [(8, 0), (50, 1)])
def test_many_parameters_scroll(qtbot: QtBot, count: int, scrolls: int) -> None:
    dialog = _open(qtbot, is_later=False, **{f"p{number}": "x" for number in range(count)})
    areas = [area for area in dialog.findChildren(QScrollArea) if area.widget() is not None]
    assert len(areas) == scrolls
    assert dialog.height() < 800


def test_the_button_says_whether_the_run_starts_now_or_later(qtbot: QtBot) -> None:
    for is_later, words in ((False, "Run"), (True, "Schedule run")):
        dialog = _open(qtbot, is_later=is_later)
        run = dialog.findChild(QPushButton, "runButton")
        assert run is not None
        assert run.text() == words


@pytest.mark.usefixtures("large_letters")
def test_the_name_of_a_value_stands_beside_it(qtbot: QtBot) -> None:
    dialog = _open(qtbot, branch="main")
    line = dialog.findChild(QLineEdit, "value_branch")
    name = next(one for one in dialog.findChildren(QLabel) if one.text() == "branch")
    assert line is not None
    assert name.geometry().center().y() == pytest.approx(line.geometry().center().y(), abs=1)
