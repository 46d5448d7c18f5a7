"""The page that says when a job runs, and the look ahead beside it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from editor_desk import FULL, NOW, Bench, Desk, opened_bench
from PySide6.QtCore import QDate, Qt, QTime
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QCalendarWidget,
    QComboBox,
    QLabel,
    QSpinBox,
    QTableView,
    QTimeEdit,
    QWidget,
)
from pytestqt.qtbot import QtBot

from halo_scheduler import (
    After,
    Cron,
    Entry,
    Every,
    Manual,
    Once,
    Overlap,
    describe,
)
from halo_scheduler.model import Calendar, Schedule, Shift
from halo_scheduler.model.schedules import combine
from ui.editor.draft import PageNumber


@pytest.fixture
def bench(tmp_path: Path, qtbot: QtBot) -> Iterator[Bench]:
    with opened_bench(tmp_path, qtbot) as found:
        yield found


def test_weekdays_and_times_write_the_cron(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.press("dayTimes0WorkDays")
    desk.press("dayTimes0Add")
    assert desk.save().schedule == Cron("0 9,10 * * 1-5")
    assert desk.find(QLabel, "writtenCron").text() == "0 9,10 * * 1-5"
    desk.press("dayTimes0Day6")
    desk.press("dayTimes0Time0Remove")
    assert desk.save().schedule == Cron("0 10 * * 1-6")


def test_the_tab_key_visits_the_times_between_the_days_and_the_rest(bench: Bench) -> None:
    desk = bench.open()
    desk.editor.turn_to(PageNumber.WHEN)
    desk.press("dayTimes0Add")
    desk.find(QAbstractButton, "dayTimes0Weekend").setFocus()
    visited = []
    for _ in range(8):
        desk.key(Qt.Key.Key_Tab)
        visited.append(desk.focus)
    # Within a time it goes from the hour to the minute.
    assert list(dict.fromkeys(visited)) == [
        "dayTimes0Time0",
        "dayTimes0Time0Remove",
        "dayTimes0Time1",
        "dayTimes0Time1Remove",
        "dayTimes0Add",
        "addDayTimes",
    ]


def test_no_day_and_no_time_are_refused(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    for day in range(7):
        desk.press(f"dayTimes0Day{day}")
    assert desk.error("dayTimes0") == "Choose at least one day."
    desk.press("dayTimes0AllDays")
    desk.press("dayTimes0Time0Remove")
    assert desk.error("dayTimes0") == "Add at least one time."


def test_times_with_different_minutes_are_one_job(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.press("dayTimes0Add")
    desk.find(QTimeEdit, "dayTimes0Time1").setTime(QTime(14, 30))
    desk.settle()
    assert desk.find(QLabel, "writtenCron").text() == "0 9 * * *\n30 14 * * *"
    assert desk.find(QAbstractButton, "editAsCron").isHidden()
    assert desk.find(QLabel, "scheduleWords").text().startswith("at 09:00 every day; at 14:30 every day")
    saved = desk.save()
    assert [(entry.key, entry.schedule) for entry in saved.schedules] == [
        ("1", Cron("0 9 * * *")),
        ("2", Cron("30 14 * * *")),
    ]


def test_times_with_different_minutes_are_shown_as_times_again(bench: Bench) -> None:
    tea = combine([Entry(Cron("30 14 * * 1-5"), "late"), Entry(Cron("0 9 * * 1-5"), "early")])
    desk = bench.open(replace(FULL, schedule=tea))
    desk.settle()
    assert desk.reason == "No changes"
    desk.press("dayTimes0Add")
    assert [(entry.key, entry.schedule) for entry in desk.save().schedules] == [
        ("early", Cron("0 9 * * 1-5")),
        ("1", Cron("30 14,15 * * 1-5")),
    ]


def test_other_days_have_other_times(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.press("dayTimes0WorkDays")
    assert desk.find(QAbstractButton, "dayTimes0Remove").isHidden()
    desk.press("addDayTimes")
    # The second group begins with the days that have no time yet.
    assert desk.focus == "dayTimes1Rule"
    assert desk.save().schedule == combine([Cron("0 9 * * 1-5"), Cron("0 9 * * 0,6")])
    desk.press("dayTimes1Day0")
    desk.find(QTimeEdit, "dayTimes1Time0").setTime(QTime(11, 0))
    desk.settle()
    assert desk.line("whenWords").text() == "at 09:00 on weekdays; at 11:00 on Saturdays"
    assert desk.save().schedule == combine([Cron("0 9 * * 1-5"), Cron("0 11 * * 6")])
    desk.press("dayTimes0Remove")
    assert desk.find(QAbstractButton, "dayTimes0Remove").isHidden()
    assert desk.save().schedule == Cron("0 11 * * 6")


def test_words_with_several_days_fill_groups_and_fewer_take_them_away(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.write("whenWords", "every weekday at 9; last day of the month at 18:00; Saturday at 11 every week")
    assert desk.find(QAbstractButton, "dayTimes1Date32").isChecked()
    assert desk.find(QAbstractButton, "dayTimes2Day6").isChecked()
    desk.write("whenWords", "every day at 7")
    assert desk.editor.findChild(QWidget, "dayTimes1") is None
    assert desk.save().schedule == Cron("0 7 * * *")


def test_each_group_says_what_it_lacks(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.press("addDayTimes")
    # All days have a time already: it begins with the weekend.
    desk.press("dayTimes1Day6")
    desk.press("dayTimes1Day0")
    assert (desk.error("dayTimes0"), desk.error("dayTimes1")) == ("", "Choose at least one day.")
    desk.press("dayTimes1AllDays")
    desk.press("dayTimes1Time0Remove")
    assert desk.error("dayTimes1") == "Add at least one time."


def test_there_are_at_most_ten_groups_and_their_crons_are_cut(bench: Bench) -> None:
    desk = bench.open(replace(FULL, schedule=combine(Cron(f"0 {day} {day} * *") for day in range(1, 11))))
    assert desk.find(QAbstractButton, "addDayTimes").isHidden()
    assert desk.find(QLabel, "writtenCron").text().splitlines()[3:] == ["0 4 4 * *", "…"]
    desk.press("dayTimes9Remove")
    assert not desk.find(QAbstractButton, "addDayTimes").isHidden()


def _repeat(desk: Desk, rule: str) -> None:
    box = desk.find(QComboBox, "dayTimes0Rule")
    box.setCurrentIndex(box.findText(rule))
    desk.settle()


def test_a_weekday_of_the_month_needs_no_cron(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    _repeat(desk, "Every month, by weekday")
    assert desk.save().schedule == Cron("0 9 * * 1#1")
    desk.press("dayTimes0Place6")
    desk.press("dayTimes0Place1")
    desk.press("dayTimes0Day5")
    desk.press("dayTimes0Day1")
    assert desk.line("whenWords").text() == "at 09:00 on the last Friday of every month"
    assert desk.save().schedule == Cron("0 9 * * 5L")
    desk.press("dayTimes0Place6")
    assert desk.error("dayTimes0") == "Choose at least one day."


def test_days_of_the_month_need_no_cron(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    _repeat(desk, "Every month, by date")
    assert desk.save().schedule == Cron("0 9 1 * *")
    desk.press("dayTimes0Date15")
    desk.press("dayTimes0Date32")
    assert desk.save().schedule == Cron("0 9 1,15,L * *")
    assert desk.line("whenWords").text() == describe(Cron("0 9 1,15,L * *"))
    for day in (1, 15, 32):
        desk.press(f"dayTimes0Date{day}")
    assert desk.error("dayTimes0") == "Choose at least one day."


def test_each_rule_keeps_its_days_while_another_is_shown(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    _repeat(desk, "Every month, by weekday")
    assert not desk.find(QWidget, "dayTimes0AllDays").isVisibleTo(desk.editor)
    _repeat(desk, "Every month, by date")
    desk.press("dayTimes0Date15")
    assert not desk.find(QWidget, "dayTimes0Day1").isVisibleTo(desk.editor)
    _repeat(desk, "Every week")
    assert desk.save().schedule == Cron("0 9 * * *")
    _repeat(desk, "Every month, by date")
    assert desk.save().schedule == Cron("0 9 1,15 * *")


def test_the_days_of_the_month_are_one_tab_stop_and_arrows_go_through_them(bench: Bench) -> None:
    desk = bench.open(replace(FULL, schedule=Cron("0 9 10 * *")))
    desk.editor.turn_to(PageNumber.WHEN)
    desk.find(QWidget, "dayTimes0Rule").setFocus()
    visited = []
    for _ in range(2):
        desk.key(Qt.Key.Key_Tab)
        visited.append(desk.focus)
    assert visited == ["dayTimes0Date10", "dayTimes0Time0"]
    desk.find(QWidget, "dayTimes0Date10").setFocus()
    for key, day in (
        (Qt.Key.Key_Right, 11),
        (Qt.Key.Key_Down, 19),
        (Qt.Key.Key_Left, 18),
        (Qt.Key.Key_Up, 10),
    ):
        desk.key(key)
        assert desk.focus == f"dayTimes0Date{day}"
    desk.key(Qt.Key.Key_Right)
    desk.key(Qt.Key.Key_Space)
    assert desk.save().schedule == Cron("0 9 10,11 * *")


@pytest.mark.parametrize(
    "schedule",
    [
        Cron("0 9 * * MON#1,WED#1", "Asia/Tokyo"),
        Cron("30 7 1,L * *"),
        combine([Cron("0 11 * * 6"), Cron("0,5 9 * * 1-5"), Cron("0 8 L * *")]),
    ],
)
def test_months_and_groups_come_back_unchanged(bench: Bench, schedule: Schedule) -> None:
    desk = bench.open(replace(FULL, schedule=schedule))
    assert desk.reason == "No changes"
    desk.write("name", "other")
    assert desk.save().schedule == schedule
    assert desk.find(QAbstractButton, "scheduleKind_times").isChecked()


def test_the_controls_of_the_days_have_names(bench: Bench) -> None:
    desk = bench.open(replace(FULL, schedule=combine([Cron("0 9 1 * *"), Cron("0 9 * * 1#1")])))
    for name, words in (
        ("dayTimes0Rule", "Repeat"),
        ("dayTimes0Date1", "Day 1"),
        ("dayTimes0Date32", "Last day of the month"),
        ("dayTimes1Place6", "Last"),
        ("dayTimes1Day0", "Sunday"),
        ("dayTimes1Remove", "Remove these days and times"),
    ):
        assert desk.find(QWidget, name).accessibleName() == words


def test_another_schedule_of_any_kind_is_added_edited_and_removed(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.press("addSchedule")
    assert desk.find(QLabel, "otherSchedule0").text() == "at 09:00 every day"
    desk.press("scheduleKind_after")
    saved = desk.save()
    after = saved.schedules[1].schedule
    assert isinstance(after, After)
    assert saved.schedules[0].schedule == Cron("0 9 * * *")
    desk.press("otherSchedule0Edit")
    assert desk.find(QLabel, "otherSchedule0").text() == describe(after)
    desk.press("dayTimes0Add")
    assert {entry.schedule for entry in desk.save().schedules} == {Cron("0 9,10 * * *"), after}
    desk.press("otherSchedule0Remove")
    assert desk.save().schedule == Cron("0 9,10 * * *")


def test_several_schedules_come_back_unchanged(bench: Bench) -> None:
    given = combine([Entry(Every("2h"), "often", anchor_at=NOW + 5), Every("3h"), Cron("0 9 * * 1")])
    desk = bench.open(replace(FULL, schedule=given, anchor_at=NOW))
    desk.settle()
    assert desk.reason == "No changes"
    assert desk.find(QLabel, "otherSchedule1").text() == "at 09:00 on Mondays"


def test_schedules_keep_their_order_while_they_are_edited(bench: Bench) -> None:
    # Where several are due at the same time, the parameters of the last one count.
    given = combine([Every("2h"), Every("3h"), Cron("0 9 * * 1")])
    desk = bench.open(replace(FULL, schedule=given, anchor_at=NOW))
    desk.press("otherSchedule1Edit")
    desk.press("otherSchedule0Edit")
    desk.press("otherSchedule0Edit")
    desk.settle()
    assert desk.reason == "No changes"
    desk.press("otherSchedule1Remove")
    assert [entry.schedule for entry in desk.save().schedules] == [Every("2h"), Every("3h")]


def test_the_same_schedule_twice_counts_once(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.press("addSchedule")
    assert desk.save().schedule == Cron("0 9 * * *")


def test_the_same_schedule_with_other_parameters_is_refused(bench: Bench) -> None:
    given = combine([Every("1h"), Entry(Cron("0 9 * * *"), parameters={"mode": "full"})])
    desk = bench.open(replace(FULL, schedule=given, parameters={"mode": "quick"}))
    desk.press("addSchedule")
    desk.settle()
    assert not desk.can_save
    assert desk.reason == "The same schedule appears twice."
    desk.press("dayTimes0Add")
    assert len(desk.save().schedules) == 3


def test_a_manual_job_has_no_other_schedules(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.press("addSchedule")
    desk.press("scheduleGroup_manual")
    assert desk.find(QWidget, "otherSchedules").isHidden()
    assert desk.save().schedule == Manual()


def test_the_builder_and_the_expression_go_over_into_each_other(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.press("dayTimes0Weekend")
    desk.press("editAsCron")
    assert desk.line("cron").text() == "0 9 * * 0,6"
    desk.write("cron", "15 7 * * 1")
    desk.press("useBuilder")
    assert desk.save().schedule == Cron("15 7 * * 1")
    desk.press("scheduleKind_cron")
    desk.write("cron", "*/5 * * * *")
    assert desk.find(QWidget, "useBuilder").isHidden()


def test_an_invalid_expression_shows_the_reason(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.press("scheduleKind_cron")
    desk.write("cron", " ")
    assert desk.reason == "Enter a cron expression."
    desk.write("cron", "0 9 * *")
    assert "it has 4 fields" in desk.error("cron")
    assert desk.find(QLabel, "scheduleWords").text() == "No schedule yet"


def test_a_zone_is_found_and_an_unknown_one_refused(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    zone = desk.find(QComboBox, "zone")
    assert zone.currentText().startswith("Local time zone (")
    assert zone.findText("Europe/Berlin") > zone.findText("Africa/Abidjan") > 0
    zone.setEditText("Mars/Olympus")
    desk.settle()
    assert desk.error("zone").startswith("Unknown time zone 'Mars/Olympus'")
    zone.setEditText("america/new york")
    completer = zone.completer()
    assert completer is not None
    completer.setCompletionPrefix("new_y")
    assert completer.currentCompletion() == "America/New_York"
    zone.setEditText("America/New York")
    assert desk.save().schedule == Cron("0 9 * * *", "America/New_York")


@pytest.mark.usefixtures("machine_in_berlin")
@pytest.mark.parametrize(
    ("typed", "at", "text"),
    [
        ("in 1h", NOW + 3_600_000, "2026-07-14T06:33:20+02:00"),
        ("tomorrow 9:00", 1_784_098_800_000, "2026-07-15T09:00:00+02:00"),
        ("2026-12-24 18:00", 1_798_131_600_000, "2026-12-24T18:00:00+01:00"),
    ],
)
def test_a_typed_time_is_stored_as_it_was_shown(bench: Bench, typed: str, at: int, text: str) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.press("scheduleKind_once")
    assert desk.reason == "Enter a date and time."
    desk.write("onceLine", typed)
    shown = desk.find(QLabel, "onceMeaning").text()
    bench.clock.advance(60_000)
    schedule = desk.save().schedule
    assert schedule == Once(text)
    assert isinstance(schedule, Once)
    assert schedule.due_at == at
    assert desk.find(QLabel, "onceMeaning").text() == shown


def test_a_time_that_passed_while_the_editor_was_open_is_refused(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.press("scheduleKind_once")
    desk.press("onceChip0")
    assert desk.can_save
    bench.clock.advance(2 * 3_600_000)
    desk.settle()
    assert desk.error("once") == "This time is in the past; enter a later one."


def _pick_day(desk: Desk, day: QDate) -> None:
    """Open the calendar of *Once*, and press Enter on a day."""
    desk.press("oncePick")
    days = desk.find(QCalendarWidget, "oncePickDays")
    days.setSelectedDate(day)
    view = days.findChild(QTableView)
    assert view is not None
    QTest.keyClick(view, Qt.Key.Key_Return)
    desk.settle()


@pytest.mark.qt_log_ignore("This plugin does not support")
@pytest.mark.usefixtures("machine_in_berlin")
def test_a_day_is_picked_from_a_calendar_and_keeps_the_time(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.press("scheduleKind_once")
    _pick_day(desk, QDate(2026, 12, 24))
    assert desk.line("onceLine").text() == "2026-12-24 09:00"
    desk.write("onceLine", "18:30")
    _pick_day(desk, QDate(2026, 12, 31))
    assert desk.focus == "onceLine"
    assert desk.line("onceLine").text() == "2026-12-31 18:30"
    assert desk.save().schedule == Once("2026-12-31T18:30:00+01:00")


@pytest.mark.qt_log_ignore("This plugin does not support")
@pytest.mark.usefixtures("machine_in_berlin")
def test_today_from_the_calendar_is_still_ahead(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.press("scheduleKind_once")
    bench.clock.advance(4 * 3_600_000)
    _pick_day(desk, QDate(2026, 7, 1))
    # The first day that can be picked is today, when 9:00 is over.
    assert desk.line("onceLine").text() == "2026-07-14 10:00"


def test_nonsense_for_a_time_is_refused(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.press("scheduleKind_once")
    desk.write("onceLine", "soon")
    assert desk.error("once").startswith("Cannot read the time 'soon'")


def test_a_copy_of_a_job_whose_time_is_past_needs_a_new_one(bench: Bench) -> None:
    desk = bench.open(replace(FULL, schedule=Once(NOW - 1)), is_new=True)
    assert desk.error("once").startswith("This time is in the past")


@pytest.mark.usefixtures("machine_in_berlin")
def test_an_interval_is_counted_from_saving_from_the_clock_or_from_a_time(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.press("scheduleKind_every")
    bench.clock.advance(5)
    assert (desk.save().schedule, desk.save().anchor_at) == (Every("15m"), NOW + 5)
    counted = desk.find(QComboBox, "countedFrom")
    counted.setCurrentIndex(counted.findText("on the quarter hour (00:00, 00:15, 00:30 …)"))
    assert desk.save().anchor_at % 900_000 == 0
    counted.setCurrentIndex(counted.findText("at a time of my choice"))
    desk.settle()
    assert desk.reason == "Enter a date and time."
    desk.write("anchorLine", "18:00")
    assert desk.save().anchor_at == 1_784_044_800_000


def test_the_anchor_of_a_stored_job_is_kept_until_another_is_chosen(bench: Bench) -> None:
    desk = bench.open(replace(FULL, schedule=Every("1h")))
    bench.clock.advance(60_000)
    desk.find(QSpinBox, "everyNumber").setValue(2)
    assert (desk.save().schedule, desk.save().anchor_at) == (Every("2h"), FULL.anchor_at)
    desk.find(QComboBox, "countedFrom").setCurrentIndex(1)
    assert desk.save().anchor_at == NOW + 60_000


@pytest.mark.usefixtures("machine_in_utc")
def test_an_interval_on_the_clock_is_shown_so_again_and_keeps_its_anchor(bench: Bench) -> None:
    midnight = NOW - NOW % 86_400_000 - 3 * 86_400_000
    desk = bench.open(replace(FULL, schedule=Every("15m"), anchor_at=midnight))
    counted = desk.find(QComboBox, "countedFrom")
    assert counted.currentText() == "on the quarter hour (00:00, 00:15, 00:30 …)"
    assert desk.reason == "No changes"
    desk.find(QSpinBox, "everyNumber").setValue(30)
    assert (counted.currentText()[:16], desk.save().anchor_at) == ("on the half hour", midnight)


def test_a_job_without_an_interval_starts_with_the_default_one(bench: Bench) -> None:
    desk = bench.open(FULL)
    desk.press("scheduleKind_every")
    assert desk.find(QComboBox, "countedFrom").currentText() == "when saved"
    assert desk.save().anchor_at == NOW


def test_another_time_is_one_that_is_not_there_yet(bench: Bench) -> None:
    desk = bench.open(replace(FULL, schedule=Cron("0 0,23 * * *")))
    desk.press("dayTimes0Add")
    desk.press("dayTimes0Add")
    assert desk.save().schedule == Cron("0 0-2,23 * * *")


@pytest.mark.parametrize(
    ("kind", "schedule"), [("after", After("5m")), ("manual", Manual()), ("every", Every("15m"))]
)
def test_each_kind_has_a_useful_default(bench: Bench, kind: str, schedule: Schedule) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.press("scheduleGroup_manual" if kind == "manual" else f"scheduleKind_{kind}")
    assert desk.save().schedule == schedule
    desk.press("scheduleGroup_time")
    desk.press("scheduleKind_times")
    assert desk.save().schedule == Cron("0 9 * * *")


@pytest.mark.usefixtures("machine_in_berlin")
def test_the_side_panel_shows_words_runs_and_notes(bench: Bench) -> None:
    desk = bench.open(replace(FULL, enabled=True))
    assert desk.find(QLabel, "scheduleWords").text() == "at 02:30 on weekdays (Europe/Berlin)"
    assert desk.find(QLabel, "nextRun0").text() == "Wed 15 Jul, 02:30"
    assert desk.find(QLabel, "nextRunIn0").text() == "in 20 h"
    assert desk.find(QLabel, "nextRunIn4").text() == "in 7 days"
    desk.press("dayTimes0Day0")
    assert "the clocks go back" in desk.label("noteText0")
    assert desk.pages.summary(1).startswith("at 02:30")


def test_the_side_panel_shows_the_days_with_runs(bench: Bench) -> None:
    desk = bench.open(replace(FULL, enabled=True))
    strip = desk.find(QWidget, "monthStrip")
    assert strip.accessibleDescription().startswith(
        "July 2026: 15 to 17, 20 to 24 and 27 to 31. August 2026: "
    )
    desk.press("scheduleGroup_manual")
    assert strip.isHidden()
    assert desk.find(QLabel, "monthsTitle").isHidden()


def test_a_disabled_job_is_marked_beside_its_runs(bench: Bench) -> None:
    desk = bench.open(FULL)
    assert "disabled" in desk.find(QLabel, "scheduleRemark").text()


def test_entries_of_the_list_keep_their_height(bench: Bench) -> None:
    pages = bench.open(FULL).pages
    heights = []
    for summary in ("none", "stops after 2 h · no retries · waits longer after errors", "one"):
        pages.set_state(PageNumber.FAILURE, summary, has_problem=False)
        pages.doItemsLayout()
        heights.append(pages.visualItemRect(pages.item(PageNumber.FAILURE)).height())
    assert len(set(heights)) == 1
    assert "stops" not in pages.item(PageNumber.FAILURE).toolTip()
    assert pages.item(PageNumber.FAILURE).toolTip().endswith("On failure: one (Ctrl+4)")


def test_the_page_list_shows_a_summary_of_each_page(bench: Bench) -> None:
    pages = bench.open(FULL).pages
    assert [pages.summary(row) for row in PageNumber] == [
        "rsync -a '/a b' ''",
        "at 02:30 on weekdays (Europe/Berlin)",
        "none",
        "stops after 90 min · 2 retries",
        "none",
        "disabled · catches up once · notifies about every run · backup",
    ]


# --- The line in plain words --------------------------------------------------------------------------


def test_plain_words_fill_the_form_as_they_are_typed(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.write("whenWords", "every weekday at 9:30")
    assert desk.find(QTimeEdit, "dayTimes0Time0").time() == QTime(9, 30)
    assert not desk.find(QAbstractButton, "dayTimes0Day6").isChecked()
    # What was typed is left as it was typed.
    assert desk.line("whenWords").text() == "every weekday at 9:30"
    assert desk.save().schedule == Cron("30 9 * * 1-5")


@pytest.mark.parametrize(
    ("words", "schedule"),
    [
        ("every 20 minutes", Every("20m")),
        ("5 minutes after it finishes", After("5m")),
        ("by hand", Manual()),
        ("first Monday of the month at 7:30", Cron("30 7 * * 1#1")),
        ("every day at 9 in Asia/Tokyo", Cron("0 9 * * *", "Asia/Tokyo")),
        ("every 20 minutes; every Monday at 8", combine([Every("20m"), Cron("0 8 * * 1")])),
    ],
)
def test_plain_words_of_every_kind_are_saved(bench: Bench, words: str, schedule: Schedule) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.write("whenWords", words)
    assert desk.save().schedule == schedule


def test_the_form_writes_the_line_in_plain_words(bench: Bench) -> None:
    desk = bench.open(FULL)
    assert desk.line("whenWords").text() == describe(FULL.schedule)
    desk.press("dayTimes0Day6")
    assert desk.line("whenWords").text() == "at 02:30 from Monday to Saturday (Europe/Berlin)"
    desk.press("addSchedule")
    assert desk.line("whenWords").text() == describe(desk.save().schedule)
    for day in range(7):
        desk.find(QAbstractButton, f"dayTimes0Day{day}").setChecked(False)
    assert desk.line("whenWords").text() == ""


def test_words_that_are_not_understood_cannot_be_saved_and_say_why(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.write("whenWords", "every 2nd friday at 9")
    assert desk.error("whenWords").startswith("It is not clear whether the 2nd Friday of every month")
    assert not desk.can_save
    first = desk.find(QAbstractButton, "whenWordsSuggestion0")
    assert not first.isHidden()
    assert first.text() == "the 2nd Friday of every month at 9:00"
    desk.press("whenWordsSuggestion0")
    assert desk.error("whenWords") == ""
    assert first.isHidden()
    assert desk.save().schedule == Cron("0 9 * * 5#2")


def test_an_edit_of_the_form_replaces_words_that_are_not_understood(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.write("whenWords", "evry day")
    assert not desk.can_save
    desk.press("dayTimes0WorkDays")
    assert desk.line("whenWords").text() == "at 09:00 on weekdays"
    assert desk.save().schedule == Cron("0 9 * * 1-5")


def test_an_empty_line_leaves_the_form_as_it_is(bench: Bench) -> None:
    desk = bench.open(FULL)
    desk.write("whenWords", "")
    desk.write("name", "other")
    assert desk.save().schedule == FULL.schedule


def test_words_keep_the_keys_and_anchors_of_schedules_that_stay(bench: Bench) -> None:
    entries = (Entry(Every("20m"), "often", NOW - 5_000), Entry(Cron("0 8 * * 1"), "weekly"))
    desk = bench.open(replace(FULL, schedule=combine(entries)))
    desk.write("whenWords", "every 20 minutes; every Tuesday at 8; every Monday at 8")
    assert [(entry.key, entry.anchor_at) for entry in desk.save().schedules] == [
        ("often", NOW - 5_000),
        ("1", None),
        ("weekly", None),
    ]


def test_a_date_in_the_past_is_refused_in_words_too(bench: Bench) -> None:
    desk = bench.open(FULL)
    desk.write("whenWords", "2020-01-01 at 9:00")
    assert desk.error("once") == "This time is in the past; enter a later one."
    assert not desk.can_save


@pytest.mark.parametrize("count", [1, 2])
def test_the_editor_keeps_what_each_schedule_says_about_its_runs(bench: Bench, count: int) -> None:
    entries = (
        Entry(Cron("0 8 * * 1"), "a", parameters={"mode": "quick"}, on_overlap=Overlap.QUEUE),
        Entry(Cron("0 9 * * 1"), "b", parameters={"mode": "slow"}),
    )[:count]
    spec = replace(FULL, schedule=combine(entries))
    desk = bench.open(spec)
    desk.write("name", "other")
    assert desk.save().schedule == spec.schedule
    desk.press("dayTimes0Day2")
    kept = [(entry.parameters, entry.on_overlap) for entry in entries]
    assert [(entry.parameters, entry.on_overlap) for entry in desk.save().schedules] == kept


def test_first_and_last_days_are_kept_and_written_in_words(bench: Bench) -> None:
    entry = Entry(Cron("0 9 * * *"), "morning", from_date="2097-05-01", until_date="2097-12-31")
    desk = bench.open(replace(FULL, schedule=combine([entry])))
    assert desk.line("whenWords").text() == "at 09:00 every day, from 1 May 2097 until 31 Dec 2097"
    desk.write("whenWords", "at 10:00 every day, until 31 Dec 2097")
    (saved,) = desk.save().schedules
    assert (saved.schedule, saved.from_date, saved.until_date) == (Cron("0 10 * * *"), None, "2097-12-31")
    desk.write("whenWords", "at 10:00 every day, from 1 May 2097")
    (saved,) = desk.save().schedules
    assert (saved.schedule, saved.from_date, saved.until_date) == (Cron("0 10 * * *"), "2097-05-01", None)
    desk.write("whenWords", "once, on 24 Dec 2097 at 18:00")
    assert isinstance(desk.save().schedule, Once)


def test_a_calendar_is_kept_as_far_as_the_schedule_can_have_it(bench: Bench) -> None:
    entry = Entry(Cron("0 9 1 * *"), calendar=Calendar(only=("weekdays",), shift=Shift.NEXT))
    desk = bench.open(replace(FULL, schedule=combine([entry])))
    words = "at 09:00 on the 1st of every month, only on weekdays, moved to the next allowed day"
    assert desk.line("whenWords").text() == words
    desk.write("whenWords", words.replace("09:00", "10:00"))
    (saved,) = desk.save().schedules
    assert saved.calendar == entry.calendar
    desk.press("scheduleKind_every")
    (saved,) = desk.save().schedules
    assert saved.calendar == Calendar(only=("weekdays",))
