"""Quitting asks what must be asked, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QMessageBox, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from halo_scheduler import Manual, Scheduler
from halo_scheduler.clock import ManualClock
from ui.app.quitting import QuitDialog, Quitting
from ui.backend.backend import Backend
from ui.backend.engine_thread import ShutdownMode

_NOW = 1_800_000_000_000


class FakeEditing:
    """Editors with or without something unsaved."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.raised = 0

    def unsaved_names(self) -> list[str]:
        return self.names

    def raise_unsaved(self) -> None:
        self.raised += 1


class FakeWindows(QObject):
    """The windows, as far as quitting needs them."""

    def __init__(self) -> None:
        super().__init__()
        self.main = QWidget()
        self.editing = FakeEditing()

    def show_main(self) -> None:
        self.main.show()


class Stage:
    """Quitting with everything around it."""

    def __init__(self, path: Path) -> None:
        self.scheduler = Scheduler.open(path, clock=ManualClock(_NOW))
        self.scheduler.on_job_due(lambda _job, _run: Future())
        self.windows = FakeWindows()
        self.quitting = Quitting(Backend.inline(self.scheduler, ManualClock(_NOW)), self.windows)  # type: ignore[arg-type] # a stand-in
        self.decisions: list[ShutdownMode] = []
        self.quitting.decided.connect(self.decisions.append)

    def run_something(self) -> None:
        self.scheduler.trigger(self.scheduler.add_job("backup", Manual()))
        self.scheduler.tick()


@pytest.fixture
def stage(tmp_path: Path, qtbot: QtBot) -> Iterator[Stage]:
    made = Stage(tmp_path / "halo.db")
    qtbot.addWidget(made.windows.main)
    yield made
    made.scheduler.close()


def test_with_no_active_run_quitting_asks_nothing(stage: Stage, qtbot: QtBot) -> None:
    stage.quitting.ask(is_engine_here=True)
    qtbot.waitUntil(lambda: stage.decisions == [ShutdownMode.LEAVE])
    assert stage.windows.main.findChild(QuitDialog) is None


def test_another_programs_runs_are_its_own_affair(stage: Stage, qtbot: QtBot) -> None:
    stage.run_something()
    stage.quitting.ask(is_engine_here=False)
    qtbot.waitUntil(lambda: stage.decisions == [ShutdownMode.LEAVE])


@pytest.mark.parametrize(
    ("button", "shutdown_mode"),
    [("quitWaitButton", ShutdownMode.WAIT), ("quitStopButton", ShutdownMode.STOP)],
)
def test_active_runs_are_asked_about(
    stage: Stage, qtbot: QtBot, button: str, shutdown_mode: ShutdownMode
) -> None:
    stage.run_something()
    stage.quitting.ask(is_engine_here=True)
    qtbot.waitUntil(lambda: stage.windows.main.findChild(QuitDialog) is not None)
    stage.quitting.ask(is_engine_here=True)
    dialogs = stage.windows.main.findChildren(QuitDialog)
    assert len(dialogs) == 1
    found = dialogs[0].findChild(QPushButton, button)
    assert isinstance(found, QPushButton)
    found.click()
    assert stage.decisions == [shutdown_mode]


def test_not_quitting_decides_nothing(stage: Stage, qtbot: QtBot) -> None:
    stage.run_something()
    stage.quitting.ask(is_engine_here=True)
    qtbot.waitUntil(lambda: stage.windows.main.findChild(QuitDialog) is not None)
    dialog = stage.windows.main.findChild(QuitDialog)
    assert isinstance(dialog, QuitDialog)
    dialog.reject()
    assert stage.decisions == []


@pytest.mark.parametrize(("text", "is_quit"), [("Discard and quit", True), ("Keep editing", False)])
def test_unsaved_edits_are_asked_about_first(stage: Stage, qtbot: QtBot, text: str, is_quit: bool) -> None:
    stage.windows.editing.names = ["backup"]
    stage.quitting.ask(is_engine_here=True)
    box = stage.windows.main.findChild(QMessageBox, "unsavedBox")
    assert isinstance(box, QMessageBox)
    (found,) = [found for found in box.buttons() if found.text() == text]
    found.click()
    if is_quit:
        qtbot.waitUntil(lambda: stage.decisions == [ShutdownMode.LEAVE])
    else:
        assert stage.windows.editing.raised == 1
        assert stage.decisions == []
