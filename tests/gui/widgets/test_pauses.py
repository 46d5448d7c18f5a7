"""How long a pause lasts."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from job_values import HOUR, NOW
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from halo_scheduler.grammar.zone import local_time
from ui.widgets.pauses import PauseChoice, add_pause_choices, pause_end

pytestmark = pytest.mark.usefixtures("machine_in_berlin")


def _at(day: int, hour: int) -> int:
    """Return an instant of June 2026 by the clock of Berlin."""
    return int(datetime(2026, 6, day, hour, tzinfo=ZoneInfo("Europe/Berlin")).timestamp() * 1000)


def test_an_hour() -> None:
    assert pause_end(PauseChoice.HOUR, NOW) == NOW + HOUR


def test_until_resumed_has_no_end() -> None:
    assert pause_end(PauseChoice.UNTIL_RESUMED, NOW) is None


@pytest.mark.parametrize(("hour", "day"), [(2, 10), (6, 11), (12, 11), (23, 11)])
def test_tomorrow_morning_is_the_one_after_the_night(hour: int, day: int) -> None:
    end = pause_end(PauseChoice.MORNING, _at(10, hour))
    assert end is not None
    assert (local_time(end).day, local_time(end).hour, local_time(end).minute) == (day, 8, 0)


def test_a_menu_offers_all_choices(qtbot: QtBot) -> None:
    menu = QMenu()
    qtbot.addWidget(menu)
    chosen: list[PauseChoice] = []
    add_pause_choices(menu, chosen.append)
    for action in menu.actions():
        action.trigger()
    assert chosen == list(PauseChoice)
