"""Windows come up again where they were."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QSize
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from halo_scheduler import Scheduler
from halo_scheduler.clock import ManualClock
from ui.app.window_memory import WindowMemory
from ui.backend.backend import Backend


@pytest.fixture
def backend(tmp_path: Path, qapp: QApplication) -> Iterator[Backend]:  # noqa: ARG001 - an event loop
    clock = ManualClock(0)
    with Scheduler.open(tmp_path / "halo.db", clock=clock) as scheduler:
        yield Backend.inline(scheduler, clock)


def _window(qtbot: QtBot, name: str = "mainWindow") -> QWidget:
    made = QWidget()
    made.setObjectName(name)
    made.resize(300, 200)
    qtbot.addWidget(made)
    return made


def test_a_window_comes_up_as_large_as_it_was(tmp_path: Path, backend: Backend, qtbot: QtBot) -> None:
    memory = WindowMemory(tmp_path / "windows", backend)
    first = _window(qtbot)
    memory.keep(first)
    first.show()
    first.resize(420, 310)
    first.hide()
    second = _window(qtbot)
    memory.keep(second)
    assert (second.width(), second.height()) == (420, 310)


def test_each_window_has_its_own_place(tmp_path: Path, backend: Backend, qtbot: QtBot) -> None:
    memory = WindowMemory(tmp_path, backend)
    first, other = _window(qtbot), _window(qtbot, "historyWindow")
    memory.keep(first)
    first.show()
    first.resize(420, 310)
    first.hide()
    memory.keep(other)
    assert (other.width(), other.height()) == (300, 200)


@pytest.mark.parametrize("content", [b"", b"nonsense", b"\xff" * 100_000])
def test_damaged_settings_are_ignored(tmp_path: Path, backend: Backend, qtbot: QtBot, content: bytes) -> None:
    (tmp_path / "mainWindow.geometry").write_bytes(content)
    window = _window(qtbot)
    WindowMemory(tmp_path, backend).keep(window)
    assert (window.width(), window.height()) == (300, 200)


def test_only_its_user_can_read_it(tmp_path: Path, backend: Backend, qtbot: QtBot) -> None:
    window = _window(qtbot)
    memory = WindowMemory(tmp_path / "windows", backend)
    memory.keep(window)
    window.show()
    window.hide()
    (file,) = (tmp_path / "windows").iterdir()
    assert file.stat().st_mode & 0o077 == 0
    assert (tmp_path / "windows").stat().st_mode & 0o077 == 0


def test_a_window_is_never_larger_than_the_screen(tmp_path: Path, backend: Backend, qtbot: QtBot) -> None:
    window = _window(qtbot)
    window.resize(20_000, 10_000)
    WindowMemory(tmp_path, backend).keep(window)
    room = window.screen().availableSize()
    assert window.width() < room.width()
    assert window.height() < room.height()


class _Roomy(QWidget):
    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return QSize(700, 500)


def test_one_that_was_never_seen_is_as_large_as_it_likes(
    tmp_path: Path, backend: Backend, qtbot: QtBot
) -> None:
    made = _Roomy()
    made.setObjectName("historyWindow")
    qtbot.addWidget(made)
    WindowMemory(tmp_path, backend).keep(made)
    assert made.size() == made.sizeHint().boundedTo(made.screen().availableSize() - QSize(16, 80))
    made.show()
    assert made.width() > 640


class _Arranged(QWidget):
    """A window with an arrangement of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("mainWindow")
        self.state: dict[str, Any] = {}

    def layout_state(self) -> dict[str, Any]:
        return self.state

    def restore_layout(self, state: Mapping[str, Any]) -> None:
        self.state = dict(state)


@pytest.mark.parametrize("damage", [b"", b"[]", b"{"])
def test_a_window_comes_up_arranged_as_it_was(
    tmp_path: Path, backend: Backend, qtbot: QtBot, damage: bytes
) -> None:
    memory = WindowMemory(tmp_path, backend)
    first, second, third = _Arranged(), _Arranged(), _Arranged()
    for one in (first, second, third):
        qtbot.addWidget(one)
    memory.keep(first)
    first.state = {"columns": [1, 2]}
    first.show()
    first.hide()
    memory.keep(second)
    assert second.state == {"columns": [1, 2]}
    (tmp_path / "mainWindow.layout").write_bytes(damage)
    memory.keep(third)
    assert third.state == {}
