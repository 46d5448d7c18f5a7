"""The page that says when a job runs, and the look ahead beside it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from editor_desk import FULL, NOW, Bench, opened_bench
from PySide6.QtCore import Qt, QTime
from PySide6.QtWidgets import (
    QAbstractButton,
    QComboBox,
    QLabel,
    QSpinBox,
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
    describe,
)
from halo_scheduler.model import Schedule
from halo_scheduler.model.schedules import combine
from ui.editor.draft import PageNumber


@pytest.fixture
def bench(tmp_path: Path, qtbot: QtBot) -> Iterator[Bench]:
    with opened_bench(tmp_path, qtbot) as found:
        yield found


def test_weekdays_and_times_write_the_cron(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.press("dayTimesWorkDays")
    desk.press("dayTimesAdd")
    assert desk.save().schedule == Cron("0 9,10 * * 1-5")
    assert desk.find(QLabel, "writtenCron").text() == "0 9,10 * * 1-5"
    desk.press("dayTimesDay6")
    desk.press("dayTimesTime0Remove")
    assert desk.save().schedule == Cron("0 10 * * 1-6")


def test_the_tab_key_visits_the_times_between_the_days_and_the_rest(bench: Bench) -> None:
    desk = bench.open()
    desk.editor.turn_to(PageNumber.WHEN)
    desk.press("dayTimesAdd")
    desk.find(QAbstractButton, "dayTimesWeekend").setFocus()
    visited = []
    for _ in range(8):
        desk.key(Qt.Key.Key_Tab)
        visited.append(desk.focus)
    # Within a time it goes from the hour to the minute.
    assert list(dict.fromkeys(visited)) == [
        "dayTimesTime0",
        "dayTimesTime0Remove",
        "dayTimesTime1",
        "dayTimesTime1Remove",
        "dayTimesAdd",
        "editAsCron",
    ]


def test_no_day_and_no_time_are_refused(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    for day in range(7):
        desk.press(f"dayTimesDay{day}")
    assert desk.error("dayTimes") == "Choose at least one day."
    desk.press("dayTimesAllDays")
    desk.press("dayTimesTime0Remove")
    assert desk.error("dayTimes") == "Add at least one time."


def test_times_with_different_minutes_are_one_job(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.press("dayTimesAdd")
    desk.find(QTimeEdit, "dayTimesTime1").setTime(QTime(14, 30))
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
    desk.press("dayTimesAdd")
    assert [(entry.key, entry.schedule) for entry in desk.save().schedules] == [
        ("early", Cron("0 9 * * 1-5")),
        ("1", Cron("30 14,15 * * 1-5")),
    ]


def test_another_schedule_of_any_kind_is_added_edited_and_removed(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.press("addSchedule")
    assert desk.find(QLabel, "otherSchedule0").text() == "at 09:00 every day"
    desk.press("scheduleKind_after")
    saved = desk.save()
    after = saved.schedules[0].schedule
    assert isinstance(after, After)
    assert saved.schedules[1].schedule == Cron("0 9 * * *")
    desk.press("otherSchedule0Edit")
    assert desk.find(QLabel, "otherSchedule0").text() == describe(after)
    desk.press("dayTimesAdd")
    assert {entry.schedule for entry in desk.save().schedules} == {Cron("0 9,10 * * *"), after}
    desk.press("otherSchedule0Remove")
    assert desk.save().schedule == Cron("0 9,10 * * *")


def test_several_schedules_come_back_unchanged(bench: Bench) -> None:
    given = combine([Entry(Every("2h"), "often", anchor_at=NOW + 5), Every("3h"), Cron("0 9 * * 1")])
    desk = bench.open(replace(FULL, schedule=given, anchor_at=NOW))
    desk.settle()
    assert desk.reason == "No changes"
    assert desk.find(QLabel, "otherSchedule1").text() == "at 09:00 on Mondays"


def test_the_same_schedule_twice_counts_once(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.press("addSchedule")
    assert desk.save().schedule == Cron("0 9 * * *")


def test_a_manual_job_has_no_other_schedules(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.press("addSchedule")
    desk.press("scheduleKind_manual")
    assert desk.find(QWidget, "otherSchedules").isHidden()
    assert desk.save().schedule == Manual()


def test_the_builder_and_the_expression_go_over_into_each_other(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.press("dayTimesWeekend")
    desk.press("editAsCron")
    assert desk.line("cron").text() == "0 9 * * 0,6"
    desk.write("cron", "15 7 * * 1")
    desk.press("useBuilder")
    assert desk.save().schedule == Cron("15 7 * * 1")
    desk.press("scheduleKind_cron")
    desk.write("cron", "*/5 * * * *")
    assert desk.find(QWidget, "useBuilder").isHidden()


def test_a_bad_expression_says_what_is_wrong(bench: Bench) -> None:
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


def test_a_job_that_had_no_interval_has_none_to_go_on_with(bench: Bench) -> None:
    desk = bench.open(FULL)
    desk.press("scheduleKind_every")
    assert desk.find(QComboBox, "countedFrom").currentText() == "when saved"
    assert desk.save().anchor_at == NOW


def test_another_time_is_one_that_is_not_there_yet(bench: Bench) -> None:
    desk = bench.open(replace(FULL, schedule=Cron("0 0,23 * * *")))
    desk.press("dayTimesAdd")
    desk.press("dayTimesAdd")
    assert desk.save().schedule == Cron("0 0-2,23 * * *")


@pytest.mark.parametrize(
    ("kind", "schedule"), [("after", After("5m")), ("manual", Manual()), ("every", Every("15m"))]
)
def test_each_kind_has_a_good_beginning(bench: Bench, kind: str, schedule: Schedule) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.press(f"scheduleKind_{kind}")
    assert desk.save().schedule == schedule
    desk.press("scheduleKind_times")
    assert desk.save().schedule == Cron("0 9 * * *")


@pytest.mark.usefixtures("machine_in_berlin")
def test_the_side_panel_tells_words_runs_and_notes(bench: Bench) -> None:
    desk = bench.open(replace(FULL, enabled=True))
    assert desk.find(QLabel, "scheduleWords").text() == "at 02:30 on weekdays (Europe/Berlin)"
    assert desk.find(QLabel, "nextRun0").text() == "Wed 15 Jul, 02:30"
    assert desk.find(QLabel, "nextRunIn0").text() == "in 20 h"
    assert desk.find(QLabel, "nextRunIn4").text() == "in 7 days"
    desk.press("dayTimesDay0")
    assert "the clocks go back" in desk.label("noteText0")
    assert desk.pages.summary(1).startswith("at 02:30")


def test_a_job_that_is_disabled_says_so_beside_its_runs(bench: Bench) -> None:
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


def test_the_list_of_pages_tells_what_each_says(bench: Bench) -> None:
    pages = bench.open(FULL).pages
    assert [pages.summary(row) for row in PageNumber] == [
        "rsync -a '/a b' ''",
        "at 02:30 on weekdays (Europe/Berlin)",
        "none",
        "stops after 90 min · retries 2 times",
        "none",
        "disabled · catches up once · notifies about every run · backup",
    ]
