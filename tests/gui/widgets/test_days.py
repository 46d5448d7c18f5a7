"""A calendar in a popup."""

from __future__ import annotations

from datetime import date

import pytest
from PySide6.QtCore import QDate, QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QCalendarWidget, QPushButton, QTableView
from pytestqt.qtbot import QtBot

from halo_scheduler.model.settings import Theme
from ui.style.theme import Appearance
from ui.widgets.days import DayPopup

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")
_DAY = date(2026, 12, 24)
_TODAY = date(2026, 11, 18)


@pytest.fixture
def opener(qtbot: QtBot) -> QPushButton:
    made = QPushButton("pick")
    made.setObjectName("opener")
    qtbot.addWidget(made)
    made.show()
    return made


@pytest.fixture
def popup(opener: QPushButton) -> DayPopup:
    made = DayPopup(Appearance(Theme.LIGHT), "Pick a day", opener)
    made.open_at(_DAY, first=_TODAY)
    return made


def _calendar(popup: DayPopup) -> QCalendarWidget:
    found = popup.findChild(QCalendarWidget, "openerDays")
    assert found is not None
    return found


def test_it_opens_at_the_day_and_takes_the_keyboard(popup: DayPopup) -> None:
    calendar = _calendar(popup)
    assert popup.isVisible()
    assert calendar.selectedDate() == QDate(2026, 12, 24)
    assert calendar.accessibleName() == "Pick a day"
    assert calendar.minimumDate() == QDate(2026, 11, 18)


def test_days_that_are_over_are_muted(popup: DayPopup) -> None:
    calendar = _calendar(popup)
    muted, plain = (calendar.dateTextFormat(QDate(2026, 11, day)).foreground() for day in (17, 18))
    assert muted == popup.palette().placeholderText()
    assert plain != muted
    popup.open_at(_DAY, first=date(2026, 12, 1))
    assert calendar.dateTextFormat(QDate(2026, 11, 17)).foreground() == plain


def test_the_arrow_and_enter_keys_pick_a_day(popup: DayPopup) -> None:
    picked: list[date] = []
    popup.picked.connect(picked.append)
    days = _calendar(popup).findChild(QTableView)
    assert days is not None
    QTest.keyClick(days, Qt.Key.Key_Right)
    QTest.keyClick(days, Qt.Key.Key_Return)
    assert picked == [date(2026, 12, 25)]
    assert not popup.isVisible()


def test_a_click_picks_a_day_once(popup: DayPopup) -> None:
    picked: list[date] = []
    popup.picked.connect(picked.append)
    for signal in (_calendar(popup).clicked, _calendar(popup).activated):
        signal.emit(QDate(2026, 12, 1))
    assert picked == [date(2026, 12, 1)]


def test_it_stays_on_the_screen(opener: QPushButton, popup: DayPopup) -> None:
    room = opener.screen().availableGeometry()
    opener.move(room.right() - 20, room.bottom() - 30)
    popup.open_at(_DAY, first=_TODAY)
    assert room.contains(popup.geometry())
    assert popup.geometry().bottom() <= opener.mapToGlobal(QPoint(0, 0)).y()
    opener.move(0, 0)
    popup.open_at(_DAY, first=_TODAY)
    assert room.contains(popup.geometry())
