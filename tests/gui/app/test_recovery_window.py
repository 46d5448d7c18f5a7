"""The database cannot be used: what is wrong is told, and each way out is asked for."""

from __future__ import annotations

import gc
import threading
import weakref
from pathlib import Path

import pytest
from process_probe import until
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QPushButton
from pytestqt.qtbot import QtBot

from halo_scheduler import Every, Scheduler, SchedulerError
from halo_scheduler.clock import ManualClock
from halo_scheduler.errors import (
    StoreDamagedError,
    StoreTooNewError,
    StoreUnavailableError,
    UnsafeFilesError,
)
from halo_scheduler.service.settings import newest_usable
from ui.app.recovery_window import RecoveryWindow
from ui.style.theme import Appearance

_NOW = 1_800_000_000_000
_DAY = 86_400_000


def _make_backups(path: Path, count: int) -> list[Path]:
    clock = ManualClock(_NOW - count * _DAY)
    with Scheduler.open(path, clock=clock) as scheduler:
        scheduler.add_job("backup", Every("5m"))
        made = []
        for _ in range(count):
            made.append(scheduler.backups.make().path)
            clock.advance(_DAY)
    return made


@pytest.fixture
def appearance(qapp: QApplication) -> Appearance:
    return Appearance(parent=qapp)


def _window(appearance: Appearance, path: Path, error: SchedulerError, qtbot: QtBot) -> RecoveryWindow:
    window = RecoveryWindow(appearance, path, error, _NOW)
    qtbot.addWidget(window)
    window.show()
    return window


def _text(window: RecoveryWindow, name: str) -> str:
    found = window.findChild(QLabel, name)
    assert isinstance(found, QLabel)
    return found.text()


def _button(window: RecoveryWindow, name: str) -> QPushButton:
    found = window.findChild(QPushButton, name)
    assert isinstance(found, QPushButton)
    return found


def test_a_file_name_keeps_its_case(appearance: Appearance, tmp_path: Path, qtbot: QtBot) -> None:
    error = StoreDamagedError("halo.db is damaged")
    window = _window(appearance, tmp_path / "halo.db", error, qtbot)
    assert _text(window, "recoverySentence") == "halo.db is damaged."


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (StoreDamagedError("it is bad"), ("Your job database is damaged", "restoreButton")),
        (StoreTooNewError("it is bad"), ("Your jobs need a newer version of Halo", "retryButton")),
        (UnsafeFilesError("it is bad"), ("Other users could change your jobs", "retryButton")),
        (StoreUnavailableError("it is bad"), ("Your job database can't be opened", "retryButton")),
    ],
)
def test_the_problem_and_the_best_fix_are_shown(
    appearance: Appearance, tmp_path: Path, qtbot: QtBot, error: SchedulerError, told: tuple[str, str]
) -> None:
    title, primary = told
    window = _window(appearance, tmp_path / "halo.db", error, qtbot)
    assert _text(window, "recoveryTitle") == title
    assert _text(window, "recoverySentence") == "It is bad."
    kinds = {name: _button(window, name).property("kind") for name in ("restoreButton", "retryButton")}
    assert kinds[primary] == "primary"
    assert list(kinds.values()).count("primary") == 1


def test_a_command_that_helps_is_shown_as_it_has_to_be_typed(
    appearance: Appearance, tmp_path: Path, qtbot: QtBot
) -> None:
    error = UnsafeFilesError("others can write to /x; keep them out with: chmod go-w /x")
    window = _window(appearance, tmp_path / "halo.db", error, qtbot)
    assert _text(window, "recoverySentence") == "Others can write to /x; keep them out with: chmod go-w /x"


def test_a_window_closed_while_a_backup_is_searched_is_destroyed_in_its_thread(
    appearance: Appearance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_end = threading.Event()
    monkeypatch.setattr("ui.app.recovery_window.newest_usable", lambda _: may_end.wait(60) and None)
    window = RecoveryWindow(appearance, tmp_path / "halo.db", StoreDamagedError("it is bad"), _NOW)
    ends: list[threading.Thread] = []
    weakref.finalize(window, lambda: ends.append(threading.current_thread()))
    del window
    gc.collect()
    assert ends == [threading.main_thread()]
    may_end.set()
    until(lambda: "halo-recovery" not in {thread.name for thread in threading.enumerate()})


def test_the_newest_backup_that_is_in_order_is_offered(
    appearance: Appearance, tmp_path: Path, qtbot: QtBot
) -> None:
    older, newest = _make_backups(tmp_path / "halo.db", 2)
    newest.write_bytes(b"no database")
    window = _window(appearance, tmp_path / "halo.db", StoreDamagedError("it is damaged"), qtbot)
    restore = _button(window, "restoreButton")
    assert not restore.isEnabled()
    qtbot.waitUntil(restore.isEnabled)
    with qtbot.waitSignal(window.restore_requested) as asked:
        restore.click()
    assert asked.args == [older]


def test_without_a_backup_there_is_nothing_to_restore(
    appearance: Appearance, tmp_path: Path, qtbot: QtBot
) -> None:
    window = _window(appearance, tmp_path / "halo.db", StoreDamagedError("it is damaged"), qtbot)
    qtbot.waitUntil(lambda: _text(window, "backupLabel") == "No usable backup")
    assert not _button(window, "restoreButton").isEnabled()
    assert _button(window, "retryButton").property("kind") == "primary"


@pytest.mark.parametrize(
    ("name", "signal"), [("retryButton", "retry_requested"), ("quitButton", "quit_requested")]
)
def test_each_button_emits_its_request(
    appearance: Appearance, tmp_path: Path, qtbot: QtBot, name: str, signal: str
) -> None:
    window = _window(appearance, tmp_path / "halo.db", StoreUnavailableError("it is locked"), qtbot)
    with qtbot.waitSignal(getattr(window, signal)):
        _button(window, name).click()


def test_while_it_is_busy_nothing_can_be_asked_for(
    appearance: Appearance, tmp_path: Path, qtbot: QtBot
) -> None:
    _make_backups(tmp_path / "halo.db", 1)
    window = _window(appearance, tmp_path / "halo.db", StoreDamagedError("it is damaged"), qtbot)
    qtbot.waitUntil(_button(window, "restoreButton").isEnabled)
    window.show_busy("Restoring …")
    assert _text(window, "recoveryTold") == "Restoring …"
    assert not _button(window, "restoreButton").isEnabled()
    assert not _button(window, "retryButton").isEnabled()
    window.show_refusal("the disk is full")
    assert _text(window, "recoveryTold") == "The disk is full."
    assert _button(window, "restoreButton").isEnabled()


def test_closing_it_means_to_quit(appearance: Appearance, tmp_path: Path, qtbot: QtBot) -> None:
    window = _window(appearance, tmp_path / "halo.db", StoreUnavailableError("it is locked"), qtbot)
    with qtbot.waitSignal(window.quit_requested):
        window.close()


def test_when_all_is_well_again_it_goes_without_quitting(
    appearance: Appearance, tmp_path: Path, qtbot: QtBot
) -> None:
    window = _window(appearance, tmp_path / "halo.db", StoreUnavailableError("it is locked"), qtbot)
    with qtbot.assertNotEmitted(window.quit_requested):
        window.close_for_good()
    assert not window.isVisible()


def test_no_backup_is_the_newest_where_none_is_usable(tmp_path: Path) -> None:
    (made,) = _make_backups(tmp_path / "halo.db", 1)
    made.write_bytes(b"")
    assert newest_usable(tmp_path / "halo.db") is None


def test_enter_presses_the_button_that_has_the_keyboard(
    appearance: Appearance, tmp_path: Path, qtbot: QtBot
) -> None:
    window = _window(appearance, tmp_path / "halo.db", StoreUnavailableError("it is bad"), qtbot)
    retry = _button(window, "retryButton")
    retry.setFocus()
    with qtbot.waitSignal(window.retry_requested):
        QTest.keyClick(retry, Qt.Key.Key_Return)
