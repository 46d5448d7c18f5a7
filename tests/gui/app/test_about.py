"""About the program: versions, its own log, and diagnostics on the clipboard."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QObject, QUrl, Slot
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QApplication, QLabel, QPlainTextEdit, QPushButton
from pytestqt.qtbot import QtBot

from halo_scheduler import Every, Scheduler
from halo_scheduler.clock import ManualClock
from ui.app.about import AboutDialog
from ui.app.program_log import ProgramLog
from ui.backend.backend import Backend
from ui.style.theme import Appearance

_NOW = 1_800_000_000_000


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[Scheduler]:
    with Scheduler.open(tmp_path / "halo.db", clock=ManualClock(_NOW)) as made:
        yield made


@pytest.fixture
def log(tmp_path: Path) -> ProgramLog:
    return ProgramLog(tmp_path / "halo.db")


@pytest.fixture
def dialog(
    scheduler: Scheduler, log: ProgramLog, tmp_path: Path, qapp: QApplication, qtbot: QtBot
) -> AboutDialog:
    parent = QObject(qapp)
    made = AboutDialog(
        Backend.inline(scheduler, ManualClock(_NOW), parent), Appearance(parent=parent), log, tmp_path
    )
    qtbot.addWidget(made)
    made.show()
    return made


def _button(dialog: AboutDialog, name: str) -> QPushButton:
    found = dialog.findChild(QPushButton, name)
    assert isinstance(found, QPushButton)
    return found


def test_the_version_is_reported(dialog: AboutDialog) -> None:
    told = dialog.findChild(QLabel, "versionLabel")
    assert isinstance(told, QLabel)
    assert told.text().startswith("Version ")
    assert told.text() != "Version unknown"


def test_the_log_is_shown_as_plain_text(dialog: AboutDialog, log: ProgramLog) -> None:
    shown = dialog.findChild(QPlainTextEdit, "programLog")
    assert isinstance(shown, QPlainTextEdit)
    assert shown.toPlainText() == "The log is empty."
    log.handle(logging.LogRecord("halo", logging.WARNING, "", 0, "<b>bold</b>", None, None))
    dialog.show_log()
    assert shown.toPlainText().endswith("halo: <b>bold</b>")
    log.handle(logging.LogRecord("halo", logging.WARNING, "", 0, "later", None, None))
    _button(dialog, "refreshLogButton").click()
    assert shown.toPlainText().endswith("halo: later")


def test_diagnostics_are_put_on_the_clipboard(
    dialog: AboutDialog, scheduler: Scheduler, qtbot: QtBot
) -> None:
    scheduler.add_job("my private job", Every("5m"))
    copy = _button(dialog, "copyDiagnosticsButton")
    copy.click()
    qtbot.waitUntil(copy.isEnabled)
    copied = QGuiApplication.clipboard().text()
    assert "Jobs: 1 idle" in copied
    assert "my private job" not in copied
    told = dialog.findChild(QLabel, "copiedLabel")
    assert isinstance(told, QLabel)
    assert told.text() == "✓ Copied"


class _Opener(QObject):
    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []

    @Slot(QUrl)
    def take(self, url: QUrl) -> None:
        self.opened.append(url.toLocalFile())


def test_the_folder_of_the_data_is_opened(dialog: AboutDialog, tmp_path: Path) -> None:
    opener = _Opener()
    QDesktopServices.setUrlHandler("file", opener, "take")  # type: ignore[arg-type]  # the stub is wrong
    try:
        _button(dialog, "openFolderButton").click()
    finally:
        QDesktopServices.unsetUrlHandler("file")
    assert opener.opened == [str(tmp_path)]
