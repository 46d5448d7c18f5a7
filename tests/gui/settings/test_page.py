"""Between the pages of the settings and the service: what is shown is what holds."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from halo_scheduler import Scheduler
from halo_scheduler.clock import ManualClock
from halo_scheduler.model.settings import Settings, Theme
from ui.backend.backend import Backend
from ui.settings.page import SettingsLink


def test_a_change_made_elsewhere_while_the_settings_are_being_read_is_not_lost(
    tmp_path: Path, qtbot: QtBot
) -> None:
    shown: list[Settings] = []
    with Scheduler.open(tmp_path / "halo.db", clock=ManualClock(0)) as scheduler:
        parent = QObject()
        link = SettingsLink(Backend.inline(scheduler, ManualClock(0), parent), parent)
        link.follow(shown.append)
        link.load()
        qtbot.waitUntil(lambda: bool(shown))
        link.load()
        scheduler.settings.change(theme=Theme.DARK)
        qtbot.waitUntil(lambda: shown[-1].theme is Theme.DARK)
