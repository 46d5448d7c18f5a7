"""The first and the last day of schedules, and what happens while the job still runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from editor_desk import FULL, NOW, Bench, Desk, opened_bench
from PySide6.QtCore import QDate
from PySide6.QtWidgets import QAbstractButton, QCheckBox, QComboBox, QDateEdit, QLabel, QScrollArea, QWidget
from pytestqt.qtbot import QtBot

from halo_scheduler import After, Cron, Entry, Every, Once, OnFile, OnSession, OnWebhook, Overlap
from halo_scheduler.model import Schedule, SessionEvent
from halo_scheduler.model.schedules import combine
from ui.editor.draft import PageNumber


@pytest.fixture
def bench(tmp_path: Path, qtbot: QtBot) -> Iterator[Bench]:
    with opened_bench(tmp_path, qtbot) as found:
        yield found


def _choose(desk: Desk, words: str) -> None:
    found = desk.find(QComboBox, "onOverlap")
    assert found.findText(words) >= 0, words
    found.setCurrentIndex(found.findText(words))
    desk.settle()


def _limit(desk: Desk, name: str, day: QDate) -> None:
    """Check the box of a day, and choose it."""
    box = desk.find(QCheckBox, f"{name}Has")
    box.setChecked(True)
    desk.find(QDateEdit, f"{name}Day").setDate(day)
    desk.settle()


@pytest.mark.usefixtures("machine_in_berlin")
def test_a_schedule_begins_and_ends_on_a_day(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    assert not desk.find(QDateEdit, "fromDateDay").isEnabled()
    _limit(desk, "fromDate", QDate(2026, 8, 1))
    _limit(desk, "untilDate", QDate(2026, 12, 24))
    assert desk.summary("runOptionsFold") == (
        "not before 1 Aug 2026 · not after 24 Dec 2026 · if it is still running: skip"
    )
    words = "at 09:00 every day, from 1 Aug 2026 until 24 Dec 2026"
    assert desk.line("whenWords").text() == words
    assert desk.find(QLabel, "nextRun0").text() == "Sat 1 Aug, 09:00"
    (entry,) = desk.save().schedules
    assert (entry.schedule, entry.from_date, entry.until_date) == (
        Cron("0 9 * * *"),
        "2026-08-01",
        "2026-12-24",
    )
    desk.press("fromDateHas")
    desk.press("untilDateHas")
    assert desk.save().schedule == Cron("0 9 * * *")


@pytest.mark.usefixtures("machine_in_berlin")
def test_a_day_that_is_switched_on_is_a_usual_one(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.press("fromDateHas")
    desk.press("untilDateHas")
    (entry,) = desk.save().schedules
    assert (entry.from_date, entry.until_date) == ("2026-07-14", "2026-08-13")


def test_a_last_day_before_the_first_is_refused(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    _limit(desk, "fromDate", QDate(2026, 12, 24))
    _limit(desk, "untilDate", QDate(2026, 12, 1))
    assert desk.error("untilDate") == "The day must not be before the first day, 2026-12-24."
    assert not desk.can_save


@pytest.mark.parametrize(
    "schedule",
    [
        combine([Entry(Every("2h"), from_date="2026-08-01")]),
        combine([Entry(After("2h"), until_date="2027-08-01")]),
        combine(
            [
                Entry(Cron("0 9 * * 1-5"), until_date="2027-01-31"),
                Entry(Cron("0 11 * * 6"), until_date="2027-01-31"),
            ]
        ),
        combine([Entry(Cron("0 9 * * 1-5"), until_date="2027-01-31"), Cron("0 11 * * 6")]),
    ],
)
def test_days_come_back_unchanged(bench: Bench, schedule: Schedule) -> None:
    desk = bench.open(replace(FULL, schedule=schedule))
    assert desk.reason == "No changes"
    desk.write("name", "other")
    assert desk.save().schedule == schedule


def test_words_set_and_clear_the_days(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.write("whenWords", "every day at 9 until 31 December 2026")
    assert desk.find(QDateEdit, "untilDateDay").date() == QDate(2026, 12, 31)
    assert not desk.find(QCheckBox, "fromDateHas").isChecked()
    desk.write("whenWords", "every day at 9")
    assert not desk.find(QCheckBox, "untilDateHas").isChecked()
    assert desk.save().schedule == Cron("0 9 * * *")


@pytest.mark.parametrize("kind", ["scheduleKind_once", "eventKind_webhook"])
def test_kinds_without_days_offer_none(bench: Bench, kind: str) -> None:
    desk = bench.open()
    desk.fill_in()
    _limit(desk, "untilDate", QDate(2026, 12, 24))
    if kind.startswith("event"):
        desk.press("scheduleGroup_event")
    desk.press(kind)
    desk.find(QAbstractButton, "runOptionsFold").setChecked(True)
    assert not desk.find(QWidget, "untilDateHas").isVisibleTo(desk.editor)
    assert "not after" not in desk.summary("runOptionsFold")
    if kind.endswith("once"):
        desk.write("onceLine", "in 1h")
    assert len(desk.save().schedules) == 1
    desk.press("scheduleGroup_time")
    desk.press("scheduleKind_times")
    assert [entry.until_date for entry in desk.save().schedules] == ["2026-12-24"]


def test_a_schedule_that_is_due_while_the_job_runs_can_be_queued(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    assert desk.summary("runOptionsFold") == "if it is still running: skip"
    _choose(desk, "Queue: run each one afterwards")
    assert desk.summary("runOptionsFold") == "if it is still running: queue"
    assert [(entry.schedule, entry.on_overlap) for entry in desk.save().schedules] == [
        (Cron("0 9 * * *"), Overlap.QUEUE)
    ]
    _choose(desk, "Skip: don't run again")
    assert desk.save().schedule == Cron("0 9 * * *")


def test_events_are_queued_unless_another_choice_is_made(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.press("scheduleGroup_event")
    desk.press("eventKind_webhook")
    assert desk.find(QComboBox, "onOverlap").currentText().startswith("Queue")
    assert desk.save().schedule == OnWebhook()
    _choose(desk, "Skip: don't run again")
    assert [entry.on_overlap for entry in desk.save().schedules] == [Overlap.SKIP]


def test_a_fixed_gap_has_no_overlap(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    _choose(desk, "Restart: stop it and start again")
    desk.press("scheduleKind_after")
    desk.find(QAbstractButton, "runOptionsFold").setChecked(True)
    assert not desk.find(QWidget, "onOverlap").isVisibleTo(desk.editor)
    assert desk.summary("runOptionsFold") == ""
    assert desk.save().schedule == After("5m")


def test_all_times_of_the_form_share_the_choice_and_come_back_together(bench: Bench) -> None:
    given = combine(
        [
            Entry(Cron("0 9 * * 1-5"), "early", on_overlap=Overlap.LATEST),
            Entry(Cron("0 11 * * 6"), "late", on_overlap=Overlap.LATEST),
        ]
    )
    desk = bench.open(replace(FULL, schedule=given))
    assert desk.find(QAbstractButton, "dayTimes1Day6").isChecked()
    assert desk.reason == "No changes"
    desk.press("dayTimes0Remove")
    assert [(entry.key, entry.on_overlap) for entry in desk.save().schedules] == [("late", Overlap.LATEST)]


def test_a_listed_schedule_shows_its_choice(bench: Bench) -> None:
    given = combine([Every("1h"), Entry(Cron("0 9 * * *"), on_overlap=Overlap.QUEUE)])
    desk = bench.open(replace(FULL, schedule=given))
    assert desk.find(QLabel, "otherSchedule0").text() == "at 09:00 every day · queued if the job still runs"
    desk.press("otherSchedule0Edit")
    assert desk.find(QComboBox, "onOverlap").currentText().startswith("Queue")
    desk.press("addSchedule")
    assert desk.find(QComboBox, "onOverlap").currentText().startswith("Skip")


def test_words_keep_the_choice_of_an_only_schedule(bench: Bench) -> None:
    given = combine([Entry(Cron("0 9 * * *"), on_overlap=Overlap.QUEUE), Entry(Every("1h"))])
    desk = bench.open(replace(FULL, schedule=given))
    desk.press("otherSchedule0Remove")
    desk.write("whenWords", "every day at 10")
    assert [entry.on_overlap for entry in desk.save().schedules] == [Overlap.QUEUE]
    desk.write("whenWords", "every day at 10; every 2 hours")
    assert [entry.on_overlap for entry in desk.save().schedules] == [Overlap.QUEUE, None]


@pytest.mark.usefixtures("large_letters")
@pytest.mark.parametrize(
    "schedule",
    [
        combine([Cron("0 9 * * 1-5"), Cron("0 9 1 * *"), Cron("0 9 * * 1#1")]),
        Cron("*/5 * * * *", "America/Argentina/ComodRivadavia"),
        Every("1h"),
        Once(NOW + 86_400_000),
        OnFile("~/a folder with a name that is longer than its field, which scrolls to its end"),
        OnSession(SessionEvent.MAINS, "5m"),
        OnWebhook(),
    ],
)
def test_every_form_fits_a_small_window_with_large_letters(
    bench: Bench, qtbot: QtBot, schedule: Schedule
) -> None:
    desk = bench.open(replace(FULL, schedule=schedule))
    desk.find(QAbstractButton, "runOptionsFold").setChecked(True)
    desk.editor.resize(720, 420)
    desk.editor.turn_to(PageNumber.WHEN)
    page = desk.find(QScrollArea, "whenPage")
    qtbot.waitUntil(lambda: page.isVisible() and page.verticalScrollBar().maximum() > 0)
    assert page.horizontalScrollBar().maximum() == 0


def test_a_schedule_sets_parameters_for_its_runs(bench: Bench) -> None:
    desk = bench.open(replace(FULL, schedule=Cron("0 9 * * *"), parameters={"mode": "quick"}))
    desk.press("scheduleParametersAdd")
    desk.write("scheduleParameters0Key", "speed")
    assert desk.error("scheduleParameters") == "There is no parameter 'speed'; known are mode."
    assert not desk.can_save
    desk.write("scheduleParameters0Key", "mode")
    desk.write("scheduleParameters0Value", "full")
    assert desk.summary("runOptionsFold") == "if it is still running: skip · with mode=full"
    assert [(entry.schedule, dict(entry.parameters)) for entry in desk.save().schedules] == [
        (Cron("0 9 * * *"), {"mode": "full"})
    ]
    desk.press("scheduleParameters0Remove")
    desk.settle()
    assert desk.reason == "No changes"


def test_a_value_of_a_schedule_without_a_name_is_refused(bench: Bench) -> None:
    desk = bench.open(replace(FULL, schedule=Cron("0 9 * * *"), parameters={"mode": "quick"}))
    desk.press("scheduleParametersAdd")
    desk.write("scheduleParameters0Value", "full")
    assert desk.error("scheduleParameters") == "The value 'full' has no name."


def test_a_listed_schedule_tells_and_edits_its_parameters(bench: Bench) -> None:
    given = combine([Every("1h"), Entry(Cron("0 9 * * *"), parameters={"mode": "full"})])
    desk = bench.open(replace(FULL, schedule=given, parameters={"mode": "quick"}))
    assert desk.find(QLabel, "otherSchedule0").text() == "at 09:00 every day · with mode=full"
    desk.press("otherSchedule0Edit")
    desk.write("scheduleParameters0Value", "slow")
    assert {entry.schedule: dict(entry.parameters) for entry in desk.save().schedules} == {
        Every("1h"): {},
        Cron("0 9 * * *"): {"mode": "slow"},
    }
