"""The forms of events, and what happens when one comes while the job runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from editor_desk import FULL, Bench, Desk, opened_bench
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QComboBox, QLabel, QSpinBox, QWidget
from pytestqt.qtbot import QtBot

from halo_scheduler import Cron, Every, Manual, OnChat, OnFile, OnSession, OnWebhook, describe
from halo_scheduler.model import FileEvent, Schedule, SessionEvent
from halo_scheduler.model.chat import ChatBot, ChatServiceName
from halo_scheduler.model.schedules import combine
from ui.editor.draft import PageNumber

_BOT = ChatBot(name="family", service=ChatServiceName.TELEGRAM, secret="A")  # noqa: S106 - a name


@pytest.fixture
def bench(tmp_path: Path, qtbot: QtBot) -> Iterator[Bench]:
    with opened_bench(tmp_path, qtbot) as found:
        found.scheduler.settings.change(chat_bots=(_BOT,))
        yield found


def _on_events(bench: Bench, kind: str) -> Desk:
    desk = bench.open()
    desk.fill_in()
    desk.press("scheduleGroup_event")
    desk.press(f"eventKind_{kind}")
    return desk


def _choose(desk: Desk, box: str, words: str) -> None:
    found = desk.find(QComboBox, box)
    assert found.findText(words) >= 0, words
    found.setCurrentIndex(found.findText(words))
    desk.settle()


def test_a_file_that_appears_starts_a_job(bench: Bench) -> None:
    desk = _on_events(bench, "file")
    assert desk.reason == "Enter a folder."
    desk.write("watchedFolderLine", "~/Inbox")
    assert desk.save().schedule == OnFile("~/Inbox")
    assert desk.line("whenWords").text() == describe(OnFile("~/Inbox"))
    desk.write("fileMatch", " *.pdf ")
    _choose(desk, "fileEvent", "is removed")
    desk.find(QSpinBox, "settleNumber").setValue(10)
    assert desk.save().schedule == OnFile("~/Inbox", "*.pdf", FileEvent.VANISHES, "10s")


def test_an_empty_pattern_stands_for_all_names(bench: Bench) -> None:
    desk = _on_events(bench, "file")
    desk.write("watchedFolderLine", "/srv/in")
    desk.write("fileMatch", "")
    assert desk.save().schedule == OnFile("/srv/in")


def test_errors_of_a_file_event_are_shown_beside_its_field(bench: Bench) -> None:
    desk = _on_events(bench, "file")
    desk.write("watchedFolderLine", "Inbox")
    assert desk.error("watchedFolder") == "The folder must be an absolute path that begins with / or ~/."
    desk.write("watchedFolderLine", "/in")
    desk.write("fileMatch", "a/*.pdf")
    assert desk.error("fileMatch").startswith("The pattern must be a pattern for names")
    assert not desk.can_save


@pytest.mark.parametrize(
    ("words", "event"),
    [
        ("You log in", SessionEvent.LOGIN),
        ("The computer starts", SessionEvent.BOOT),
        ("The computer wakes up", SessionEvent.WAKE),
        ("The screen is unlocked", SessionEvent.UNLOCK),
        ("The network comes up", SessionEvent.NETWORK),
        ("The computer is plugged in", SessionEvent.MAINS),
    ],
)
def test_events_of_the_computer_start_a_job(bench: Bench, words: str, event: SessionEvent) -> None:
    desk = _on_events(bench, "session")
    _choose(desk, "sessionEvent", words)
    assert desk.save().schedule == OnSession(event)


def test_a_delay_after_the_event_is_optional(bench: Bench) -> None:
    desk = _on_events(bench, "session")
    desk.press("hasSessionDelay")
    desk.find(QSpinBox, "sessionDelayNumber").setValue(5)
    assert desk.save().schedule == OnSession(SessionEvent.LOGIN, "5m")
    desk.press("hasSessionDelay")
    assert desk.save().schedule == OnSession(SessionEvent.LOGIN)


def test_a_webhook_has_its_address_in_the_settings(bench: Bench, qtbot: QtBot) -> None:
    desk = _on_events(bench, "webhook")
    assert desk.save().schedule == OnWebhook()
    desk.editor.turn_to(PageNumber.WHEN)
    assert desk.focus == "webhookSettings"
    with qtbot.waitSignal(desk.editor.webhooks_requested):
        desk.press("webhookSettings")


def test_messages_to_a_bot_start_a_job(bench: Bench, qtbot: QtBot) -> None:
    desk = _on_events(bench, "chat")
    assert desk.reason == "Enter a bot and a conversation."
    desk.write("chatChannel", "family")
    assert desk.error("chatChannel").startswith("This must be a bot and a conversation, like family/direct")
    desk.write("chatChannel", "family/direct")
    desk.write("chatPeople", "anna")
    assert desk.error("chatPeople").startswith("This must be the id of a person")
    desk.write("chatPeople", "12 , @Anna")
    assert desk.save().schedule == OnChat("family/direct", ("12", "@anna"))
    assert desk.line("whenWords").text() == "when 12 or @anna writes to family/direct"
    desk.editor.turn_to(PageNumber.WHEN)
    assert desk.focus == "chatChannel"
    with qtbot.waitSignal(desk.editor.chat_requested):
        desk.press("chatSettings")


@pytest.mark.parametrize(
    "schedule",
    [
        OnFile("/in", "*.pdf", FileEvent.CHANGES, "1m"),
        OnSession(SessionEvent.WAKE, "90 S"),
        OnSession(SessionEvent.BOOT),
        OnWebhook(),
        OnChat("family/-100", ("12", "@anna")),
        combine([OnSession(SessionEvent.LOGIN), Every("1h"), OnFile("~")]),
    ],
)
def test_events_come_back_unchanged(bench: Bench, schedule: Schedule) -> None:
    desk = bench.open(replace(FULL, schedule=schedule))
    assert desk.reason == "No changes"
    desk.write("name", "other")
    assert desk.save().schedule == schedule


@pytest.mark.parametrize(
    ("words", "schedule"),
    [
        ("when a pdf appears in ~/Inbox", OnFile("~/Inbox", "*.pdf")),
        ("5 minutes after the computer wakes up", OnSession(SessionEvent.WAKE, "5m")),
        ("at login; every day at 9", combine([OnSession(SessionEvent.LOGIN), Cron("0 9 * * *")])),
        ("when its webhook is called", OnWebhook()),
        ("when 12 writes to family/direct", OnChat("family/direct", ("12",))),
    ],
)
def test_words_fill_the_forms_of_events(bench: Bench, words: str, schedule: Schedule) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.write("whenWords", words)
    assert desk.find(QAbstractButton, "scheduleGroup_event").isChecked()
    assert desk.save().schedule == schedule


def test_each_group_keeps_its_kind_and_the_cards_of_others_are_hidden(bench: Bench) -> None:
    desk = bench.open(replace(FULL, schedule=Every("1h")))
    desk.write("name", "other")
    desk.press("scheduleGroup_event")
    desk.press("eventKind_webhook")
    assert desk.find(QWidget, "scheduleKind").isHidden()
    desk.press("scheduleGroup_manual")
    assert desk.find(QWidget, "eventKind").isHidden()
    assert desk.save().schedule == Manual()
    desk.press("scheduleGroup_time")
    assert desk.save().schedule == Every("1h")
    desk.press("scheduleGroup_event")
    assert desk.save().schedule == OnWebhook()


def test_events_and_times_are_combined(bench: Bench) -> None:
    desk = _on_events(bench, "webhook")
    desk.press("addSchedule")
    assert desk.find(QLabel, "otherSchedule0").text() == describe(OnWebhook())
    assert desk.save().schedule == combine([OnWebhook(), Cron("0 9 * * *")])


def test_the_keyboard_can_remove_one_listed_schedule_after_another(bench: Bench) -> None:
    desk = bench.open(replace(FULL, schedule=combine(Every(f"{hours}h") for hours in range(1, 5))))
    desk.editor.turn_to(PageNumber.WHEN)
    desk.find(QWidget, "otherSchedule0Remove").setFocus()
    desk.key(Qt.Key.Key_Space)
    desk.key(Qt.Key.Key_Space)
    assert desk.focus == "otherSchedule0Remove"
    assert [entry.schedule for entry in desk.save().schedules] == [Every("1h"), Every("4h")]


def test_the_side_panel_says_that_events_start_the_job(bench: Bench) -> None:
    desk = _on_events(bench, "webhook")
    assert desk.label("scheduleRemark") == "Events start it when they happen."
    assert desk.find(QLabel, "scheduleWords").text() == describe(OnWebhook())


def test_more_schedules_than_a_job_can_have_are_refused(bench: Bench) -> None:
    desk = bench.open(replace(FULL, schedule=combine(Every(f"{hours}h") for hours in range(1, 101))))
    desk.press("otherSchedule0Edit")
    desk.press("scheduleKind_times")
    desk.press("dayTimes0Add")
    desk.find(QAbstractButton, "dayTimes0Time1Remove").click()
    assert desk.can_save
    desk.press("addDayTimes")
    assert desk.reason == "A job has at most 100 schedules."


def test_tab_goes_through_the_page_in_reading_order(bench: Bench) -> None:
    desk = bench.open(replace(FULL, schedule=combine([OnFile("/in"), Every("1h")])))
    desk.editor.turn_to(PageNumber.WHEN)
    desk.find(QWidget, "whenWords").setFocus()
    visited = []
    for _ in range(12):
        desk.key(Qt.Key.Key_Tab)
        visited.append(desk.focus)
    assert visited == [
        "scheduleGroup_event",
        "eventKind_file",
        "fileEvent",
        "watchedFolderLine",
        "watchedFolderChoose",
        "fileMatch",
        "settleNumber",
        "settleUnit",
        "runOptionsFold",
        "otherSchedule0Edit",
        "otherSchedule0Remove",
        "addSchedule",
    ]
