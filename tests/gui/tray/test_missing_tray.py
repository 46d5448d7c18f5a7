"""A hidden window can always be brought back."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from ui.tray.icon import TrayWatcher


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ui.tray.icon._PATIENCE_MS", 10)


def test_without_a_tray_a_hidden_window_comes_back_minimised(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    TrayWatcher(window, lambda: False, window).check_later()
    qtbot.waitUntil(window.isVisible)
    assert window.isMinimized()


def test_with_a_tray_it_stays_hidden(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    looks: list[bool] = []

    def has_tray() -> bool:
        looks.append(True)
        return True

    TrayWatcher(window, has_tray, window).check_later()
    qtbot.waitUntil(lambda: bool(looks))
    assert not window.isVisible()


def test_a_tray_that_goes_while_the_window_is_hidden_is_noticed(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ui.tray.icon._CHECK_MS", 10)
    window = QWidget()
    qtbot.addWidget(window)
    window.show()
    has_tray = [True]
    TrayWatcher(window, lambda: has_tray[0], window)
    window.hide()
    has_tray[0] = False
    qtbot.waitUntil(window.isVisible)


def test_a_visible_window_needs_no_tray_check(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    window.show()
    tray_watcher = TrayWatcher(window, lambda: False, window)
    tray_watcher.check_later()
    assert not tray_watcher._patience.isActive()
