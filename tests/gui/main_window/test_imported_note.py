"""After an import the window says that the jobs are paused, and offers to resume them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from job_values import NOW
from machine import Bench
from PySide6.QtWidgets import QAbstractButton, QApplication, QWidget
from pytestqt.qtbot import QtBot

from halo_scheduler.model import Every, JobSpec, JobStatus
from halo_scheduler.transfer.drafts import Draft, Drafts
from ui.backend.backend import Backend
from ui.main_window.window import MainWindow
from ui.style.theme import Appearance
from ui.widgets.labels import WrappedText


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "halo.db", now_ms=NOW)
    yield made
    made.close()


@pytest.fixture
def window(bench: Bench, qapp: QApplication, qtbot: QtBot) -> MainWindow:
    made = MainWindow(Backend.inline(bench.scheduler, bench.clock, qapp), Appearance())
    qtbot.addWidget(made)
    made.show()
    return made


def _words(window: QWidget) -> str:
    label = window.findChild(WrappedText, "importedNoteText")
    return "" if label is None else label.text()


def test_imported_jobs_are_pointed_out_and_resumed_together(
    bench: Bench, window: MainWindow, qtbot: QtBot
) -> None:
    drafts = Drafts(jobs=tuple(Draft(spec=JobSpec(name=name, schedule=Every("1h"))) for name in "ab"))
    bench.scheduler.imports.apply(bench.scheduler.imports.plan(drafts), paused=True)
    qtbot.waitUntil(lambda: _words(window) == "2 imported jobs are paused until you review them.")
    resume = window.findChild(QAbstractButton, "importedNoteOtherAction")
    assert resume is not None
    resume.click()
    qtbot.waitUntil(lambda: {job.status for job in bench.scheduler.list_jobs()} == {JobStatus.IDLE})
    qtbot.waitUntil(lambda: not _words(window))
