"""The dialog of *Run with…*: what it gives back, and what it refuses."""

from __future__ import annotations

import pytest
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialog, QLabel, QLineEdit, QPushButton, QScrollArea
from pytestqt.qtbot import QtBot

from halo_scheduler.model.settings import Theme
from ui.main_window.run_dialog import RunDialog
from ui.style.theme import Appearance


def _open(qtbot: QtBot, **declared: str) -> RunDialog:
    dialog = RunDialog(Appearance(Theme.LIGHT), "Build", declared)
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


@pytest.mark.parametrize(("count", "scrolls"), [(8, 0), (50, 1)])
def test_many_parameters_scroll(qtbot: QtBot, count: int, scrolls: int) -> None:
    dialog = _open(qtbot, **{f"p{number}": "x" for number in range(count)})
    areas = [area for area in dialog.findChildren(QScrollArea) if area.widget() is not None]
    assert len(areas) == scrolls
    assert dialog.height() < 800
