"""The calendar of the days with runs."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QPoint
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QApplication, QToolTip
from pytestqt.qtbot import QtBot

from halo_scheduler.model.settings import Theme
from ui.editor.month_strip import MonthStrip
from ui.editor.preview import Day, Month
from ui.style.theme import Appearance

_BACK = "the clocks go back from 03:00 to 02:00"
_OCTOBER = Month(
    2026,
    10,
    18,
    {day: Day(("09:00", "17:00")) for day in (18, 19, 20, 24)} | {25: Day(("02:30",), True, _BACK)},
)
_NOVEMBER = Month(2026, 11, 0, {})
_DECEMBER = Month(2026, 12, 0, {25: Day(left_out="it is a holiday in Germany"), 28: Day(("09:00",))})


@pytest.fixture
def strip(qtbot: QtBot) -> MonthStrip:
    made = MonthStrip(Appearance(Theme.LIGHT))
    qtbot.addWidget(made)
    made.show_months((_OCTOBER, _NOVEMBER))
    made.resize(made.sizeHint())
    made.show()
    return made


def _tooltip(strip: MonthStrip, place: QPoint) -> str:
    QApplication.sendEvent(strip, QHelpEvent(QEvent.Type.ToolTip, place, strip.mapToGlobal(place)))
    # Marks that keep Qt from reading markup are invisible.
    return QToolTip.text().replace("\u2060", "")


def test_hovering_a_day_shows_its_times(strip: MonthStrip) -> None:
    assert _tooltip(strip, strip.day_rect(0, 19).center()) == "Mon 19 Oct: 09:00, 17:00"
    assert _tooltip(strip, strip.day_rect(0, 25).center()) == (
        "Sun 25 Oct: 02:30 …\nThe clocks go back from 03:00 to 02:00"
    )


def test_a_day_without_runs_and_the_space_between_have_no_tooltip(strip: MonthStrip) -> None:
    assert _tooltip(strip, strip.day_rect(1, 3).center()) == ""
    assert _tooltip(strip, QPoint(strip.width() - 2, 1)) == ""


def test_screen_readers_get_the_days_as_a_sentence(strip: MonthStrip) -> None:
    assert strip.accessibleName() == "Days with runs"
    assert strip.accessibleDescription() == (
        f"October 2026: 18 to 20, 24 and 25. On the 25th {_BACK}. November 2026: no runs."
    )


def test_days_with_runs_today_and_clock_changes_differ(strip: MonthStrip) -> None:
    image = strip.grab().toImage()
    ratio = strip.devicePixelRatioF()
    looks = []
    for day in (1, 18, 19, 25):
        cell = strip.day_rect(0, day)
        top = cell.adjusted(2, 0, -2, 0)
        row = [
            image.pixel(int(x * ratio), int((cell.top() + 2) * ratio)) for x in range(top.left(), top.right())
        ]
        looks.append(tuple(sorted(set(row))))
    assert len(set(looks)) == len(looks)


def test_it_is_as_high_as_its_weeks(strip: MonthStrip) -> None:
    # November has six rows of weeks, December five.
    before = strip.sizeHint().height()
    strip.show_months((_OCTOBER, Month(2026, 12, 0, {})))
    assert strip.sizeHint().height() < before
    strip.show_months(())
    assert strip.sizeHint().height() == 0


def test_an_excluded_day_shows_the_reason(strip: MonthStrip) -> None:
    strip.show_months((_DECEMBER, _NOVEMBER))
    strip.grab()
    assert (
        _tooltip(strip, strip.day_rect(0, 25).center()) == "Fri 25 Dec\nExcluded: it is a holiday in Germany"
    )
    assert strip.accessibleDescription().startswith(
        "December 2026: 28. The 25th is excluded: it is a holiday in Germany."
    )
