"""After Halo ended unexpectedly the window says so once, and offers what it left."""

from __future__ import annotations

from pathlib import Path

import pytest
from job_values import NOW
from machine import Bench
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QAbstractButton, QApplication
from pytestqt.qtbot import QtBot

from halo_scheduler.host.crash_file import crash_file, take_new_crash
from ui.backend.backend import Backend
from ui.main_window.window import MainWindow
from ui.style.theme import Appearance
from ui.widgets.labels import WrappedText


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the files that the program asks the desktop to open."""
    found: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: found.append(url.toLocalFile()))
    return found


@pytest.mark.parametrize("button", ["crashNoteAction", "crashNoteOtherAction"])
def test_a_crash_can_be_shown_or_dismissed(
    tmp_path: Path, qapp: QApplication, qtbot: QtBot, opened: list[str], button: str
) -> None:
    is_kept = button == "crashNoteAction"
    bench = Bench(tmp_path / "halo.db", now_ms=NOW)
    backend = Backend.inline(bench.scheduler, bench.clock, qapp)
    window = MainWindow(backend, Appearance())
    qtbot.addWidget(window)
    window.show()
    with pytest.raises(ValueError, match="gone"), crash_file(tmp_path / "halo.db", "test", "1"):
        raise ValueError("gone")
    backend.crash_found.emit(take_new_crash(tmp_path / "halo.db"))
    text = window.findChild(WrappedText, "crashNoteText")
    assert text is not None
    assert text.text().startswith("Halo ended unexpectedly ")
    pressed = window.findChild(QAbstractButton, button)
    assert pressed is not None
    pressed.click()
    assert not text.isVisible()
    kept = tmp_path / "logs" / "crash.txt"
    assert kept.exists() == is_kept
    assert opened == ([str(kept)] if is_kept else [])
    bench.close()
