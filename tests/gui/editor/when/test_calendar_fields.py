"""The days that schedules keep to or leave out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from editor_desk import FULL, Bench, Desk, opened_bench
from PySide6.QtCore import QDate, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QCalendarWidget,
    QComboBox,
    QFileDialog,
    QLabel,
    QMenu,
    QTableView,
    QWidget,
)
from pytestqt.qtbot import QtBot

from halo_scheduler import Cron, Entry, Every
from halo_scheduler.model.calendars import EVERY_DAY, Calendar, Shift
from halo_scheduler.model.schedules import combine
from ui.editor.when.day_sources import read_days, written_days


@pytest.fixture
def bench(tmp_path: Path, qtbot: QtBot) -> Iterator[Bench]:
    with opened_bench(tmp_path, qtbot) as found:
        yield found


def _calendar(desk: Desk) -> Calendar:
    (entry,) = desk.save().schedules
    return entry.calendar


@pytest.mark.usefixtures("machine_in_berlin")
def test_a_schedule_keeps_to_some_days_and_leaves_others_out(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.write("onlyOnLine", "Weekdays")
    desk.write("notOnLine", "2026-07-15 2026-12-24")
    assert _calendar(desk) == Calendar(only=("weekdays",), excluded=("2026-07-15", "2026-12-24"))
    assert desk.summary("runOptionsFold").startswith("only on weekdays · not on 2026-07-15, 2026-12-24 · ")
    assert desk.line("whenWords").text().startswith("at 09:00 every day, only on weekdays, not on ")
    assert desk.find(QLabel, "nextRun1").text() == "Thu 16 Jul, 09:00"
    desk.write("onlyOnLine", "")
    desk.write("notOnLine", " , ")
    assert desk.save().schedule == Cron("0 9 * * *")


def test_a_time_on_an_excluded_day_can_move(bench: Bench) -> None:
    desk = bench.open(replace(FULL, schedule=Cron("0 9 L * *")))
    shift = desk.find(QComboBox, "shift")
    shift.setCurrentIndex(shift.findText("Move it to the previous allowed day"))
    desk.write("name", "other")
    # Nothing is left out yet.
    assert _calendar(desk) == EVERY_DAY
    desk.write("onlyOnLine", "weekdays")
    assert _calendar(desk) == Calendar(only=("weekdays",), shift=Shift.PREVIOUS)
    desk.press("scheduleKind_every")
    desk.find(QAbstractButton, "runOptionsFold").setChecked(True)
    assert not shift.isVisibleTo(desk.editor)
    assert _calendar(desk) == Calendar(only=("weekdays",))


def test_an_invalid_day_is_refused_beside_its_line(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.write("notOnLine", "weekends, christmas")
    assert desk.error("notOn").startswith("Cannot read the day 'christmas'")
    desk.press("scheduleKind_once")
    desk.write("onceLine", "in 1h")
    desk.find(QAbstractButton, "runOptionsFold").setChecked(True)
    assert not desk.find(QWidget, "notOn").isVisibleTo(desk.editor)
    assert desk.can_save


@pytest.mark.qt_log_ignore("This plugin does not support")
def test_a_date_is_added_from_a_calendar(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.write("notOnLine", "weekends")
    for day in (24, 25):
        desk.press("notOnPick")
        days = desk.find(QCalendarWidget, "notOnPickDays")
        days.setSelectedDate(QDate(2026, 12, day))
        view = days.findChild(QTableView)
        assert view is not None
        QTest.keyClick(view, Qt.Key.Key_Return)
        desk.settle()
    assert desk.line("notOnLine").text() == "weekends, 2026-12-24, 2026-12-25"
    assert _calendar(desk) == Calendar(excluded=("2026-12-24", "2026-12-25", "weekends"))


def test_calendars_come_back_unchanged_and_are_read_from_words(bench: Bench) -> None:
    calendar = Calendar(only=("weekdays",), excluded=("2026-12-24",), shift=Shift.NEXT)
    given = combine([Entry(Cron("0 9 1 * *"), calendar=calendar), Entry(Every("2h"))])
    desk = bench.open(replace(FULL, schedule=given))
    assert desk.reason == "No changes"
    desk.write("whenWords", "every 2 hours, not on weekends")
    assert desk.line("notOnLine").text() == "weekends"
    assert _calendar(desk) == Calendar(excluded=("weekends",))


def test_holidays_of_a_country_and_a_region_are_added(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.write("notOnLine", "weekends")
    desk.find(QMenu, "notOnMenu").actions()[0].trigger()
    country, region = desk.find(QComboBox, "placeCountry"), desk.find(QComboBox, "placeRegion")
    add = desk.find(QAbstractButton, "addPlace")
    assert (country.currentIndex(), region.isEnabled(), add.isEnabled()) == (-1, False, False)
    country.setCurrentIndex(country.findText("Germany"))
    region.setCurrentIndex(region.findText("Bavaria"))
    desk.press("addPlace")
    assert desk.line("notOnLine").text() == "weekends, holidays in Germany (Bavaria)"
    assert _calendar(desk) == Calendar(excluded=("weekends", "holidays DE-BY"))
    assert desk.summary("runOptionsFold").startswith("not on weekends, holidays in Germany (Bavaria)")


def test_business_days_of_a_whole_country_are_added(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.find(QMenu, "onlyOnMenu").actions()[1].trigger()
    country = desk.find(QComboBox, "placeCountry")
    country.setCurrentIndex(country.findText("Monaco"))
    assert not desk.find(QComboBox, "placeRegion").isEnabled()
    desk.press("addPlace")
    assert _calendar(desk) == Calendar(only=("business days MC",))


def test_a_calendar_file_is_chosen(bench: Bench, tmp_path: Path) -> None:
    file = tmp_path / "my days, and more.ics"
    file.write_text("BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n")
    desk = bench.open()
    desk.fill_in()
    desk.find(QMenu, "notOnMenu").actions()[2].trigger()
    dialog = desk.editor.findChild(QFileDialog)
    assert dialog is not None
    dialog.fileSelected.emit(str(file))
    dialog.close()
    desk.settle()
    assert desk.line("notOnLine").text() == f'days in "{file}"'
    assert _calendar(desk) == Calendar(excluded=(f"ics {file}",))


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("Weekdays 2026-12-24; holidays in Germany", ("weekdays", "2026-12-24", "holidays DE")),
        ("holidays SH, holidays in the UK", ("holidays SH", "holidays GB")),
        ('days in "/a, b; c.ics", weekends', ("ics /a, b; c.ics", "weekends")),
        ('days in "/a', ("ics /a",)),
        ("holidays in Germny, foo bar", ("holidays in Germny", "foo bar")),
        (" , ;", ()),
    ],
)
def test_days_are_read_from_a_line(text: str, days: tuple[str, ...]) -> None:
    assert read_days(text) == days
    if "Germny" not in text:
        assert read_days(written_days(days)) == days
