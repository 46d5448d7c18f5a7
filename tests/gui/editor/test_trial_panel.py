"""Closing the editor, and test runs in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from editor_desk import FULL, Bench, command_of, opened_bench
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QLabel,
    QPlainTextEdit,
    QWidget,
)
from pytestqt.qtbot import QtBot

from halo_scheduler import (
    Outcome,
    Prompt,
    Run,
    Source,
    Trigger,
)
from halo_scheduler.model import Proposal


@pytest.fixture
def bench(tmp_path: Path, qtbot: QtBot) -> Iterator[Bench]:
    with opened_bench(tmp_path, qtbot) as found:
        yield found


def test_closing_without_changes_closes(bench: Bench) -> None:
    desk = bench.open(FULL)
    desk.editor.close()
    assert not desk.editor.isVisible()


@pytest.mark.parametrize("way", ["close", "escape", "button"])
def test_closing_with_changes_asks_in_the_window(bench: Bench, way: str) -> None:
    desk = bench.open(FULL)
    desk.write("name", "other")

    def leave() -> None:
        if way == "close":
            desk.editor.close()
        elif way == "escape":
            desk.key(Qt.Key.Key_Escape)
        else:
            desk.press("cancelButton")

    leave()
    assert desk.editor.isVisible()
    assert desk.find(QWidget, "discardQuestion").isVisible()
    desk.press("keepEditing")
    assert not desk.find(QWidget, "discardQuestion").isVisible()
    leave()
    desk.press("discardButton")
    assert not desk.editor.isVisible()
    assert desk.saved == []


def test_the_question_is_answered_by_keys_and_withdrawn_by_typing_on(bench: Bench) -> None:
    desk = bench.open(FULL)
    desk.write("name", "other")
    desk.key(Qt.Key.Key_Escape)
    desk.line("name").setFocus()
    desk.keys("s")
    assert not desk.find(QWidget, "discardQuestion").isVisible()
    desk.key(Qt.Key.Key_Escape)
    desk.key(Qt.Key.Key_Tab)
    assert desk.focus == "discardButton"
    desk.key(Qt.Key.Key_Space)
    assert not desk.editor.isVisible()


def test_an_unchanged_editor_closes_without_asking(bench: Bench) -> None:
    desk = bench.open(FULL)
    desk.write("name", "other")
    desk.save()
    desk.editor.accept()
    assert not desk.editor.isVisible()


def test_a_test_run_is_asked_for_shown_and_stopped(bench: Bench) -> None:
    desk = bench.open(FULL)
    desk.write("commandLine", "echo changed")
    desk.press("testButton")
    (spec,) = desk.tests
    assert command_of(spec).argv == ("echo", "changed")
    desk.editor.show_test_started()
    panel = desk.find(QWidget, "trialPanel")
    assert panel.isVisible()
    assert not desk.find(QAbstractButton, "testButton").isEnabled()
    desk.editor.feed_test(b"changed\n")
    bench.clock.advance(4_200)
    desk.press("trialStop")
    assert desk.stops == 1
    assert not desk.find(QAbstractButton, "trialStop").isEnabled()
    desk.editor.show_test_ended(_run(Outcome.CANCELLED, "stopped by the user"), "")
    assert desk.find(QLabel, "trialWords").text() == "Stopped: stopped by the user"
    assert desk.find(QLabel, "trialElapsed").text() == "4.2 s"
    assert desk.find(QAbstractButton, "testButton").isEnabled()
    desk.press("trialClose")
    assert not panel.isVisible()
    assert desk.editor.has_unsaved_changes()


def test_every_test_run_can_be_stopped_by_a_key(bench: Bench, qtbot: QtBot) -> None:
    desk = bench.open(FULL)
    for _ in range(2):
        desk.editor.show_test_started()
        with qtbot.waitSignal(desk.editor.test_stop_requested):
            QTest.keySequence(desk.editor, "Ctrl+.")
        desk.editor.show_test_ended(_run(Outcome.CANCELLED))


def test_the_keyboard_goes_from_the_test_button_to_the_stop_button_and_back(bench: Bench) -> None:
    desk = bench.open(FULL)
    desk.find(QAbstractButton, "testButton").setFocus()
    desk.editor.show_test_started()
    assert desk.focus == "trialStop"
    desk.editor.show_test_ended(_run(Outcome.SUCCESS))
    assert desk.focus == "testButton"


def test_the_keyboard_stays_in_a_field_during_a_test_run(bench: Bench) -> None:
    desk = bench.open(FULL)
    desk.editor.show_test_started()
    desk.editor.show_test_ended(_run(Outcome.SUCCESS))
    assert desk.focus == "name"


@pytest.mark.parametrize(
    ("run", "sentence", "words"),
    [
        (None, "no engine runs the jobs", "no engine runs the jobs"),
        (None, "", "The test run couldn't be started"),
    ],
)
def test_a_test_that_cannot_be_started_says_why(bench: Bench, run: None, sentence: str, words: str) -> None:
    desk = bench.open(FULL)
    desk.editor.show_test_started()
    desk.editor.show_test_ended(run, sentence)
    assert desk.find(QLabel, "trialWords").text() == words


def test_the_end_of_a_test_is_reported_with_its_code(bench: Bench) -> None:
    desk = bench.open(FULL)
    desk.editor.show_test_started()
    desk.editor.show_test_ended(replace(_run(Outcome.SUCCESS), exit_code=0))
    assert desk.find(QLabel, "trialWords").text() == "Succeeded, exit code 0"


@pytest.mark.parametrize(("status", "is_at_beginning"), [(200, True), (None, False)])
def test_the_status_and_headers_of_a_tested_request_are_in_sight(
    bench: Bench, qtbot: QtBot, status: int | None, is_at_beginning: bool
) -> None:
    desk = bench.open(FULL)
    desk.editor.show_test_started()
    desk.editor.feed_test(b"HTTP 200 OK\n" + b"line\n" * 500)
    desk.editor.show_test_ended(replace(_run(Outcome.SUCCESS), http_status=status))
    screen = desk.find(QPlainTextEdit, "outputScreen")
    qtbot.waitUntil(lambda: screen.verticalScrollBar().maximum() > 0)
    assert (screen.verticalScrollBar().value() == 0) is is_at_beginning


def test_the_end_of_a_test_is_reported_with_its_cost_and_its_note(bench: Bench) -> None:
    desk = bench.open(FULL)
    desk.editor.show_test_started()
    run = replace(_run(Outcome.SUCCESS), cost=0.125, note="it asks: which branch?")
    desk.editor.show_test_ended(run, "Succeeded")
    words = "Succeeded · cost 0.125 · it asks: which branch?"
    assert desk.find(QLabel, "trialWords").text() == words


def test_the_hint_of_a_test_run_is_shown(bench: Bench) -> None:
    desk = bench.open(FULL)
    desk.editor.show_test_started()
    proposal = Proposal(every_ms=300_000, ttl_ms=3_600_000, reason="queue is long")
    desk.editor.show_test_ended(replace(_run(Outcome.SUCCESS), proposal=proposal), "Succeeded")
    words = desk.find(QLabel, "trialWords").text()
    assert words == "Succeeded · hint: every 5 min for 1 h: queue is long"


def test_a_test_run_of_a_prompt_uses_the_form(bench: Bench) -> None:
    desk = bench.open(FULL)
    desk.press("actionKind_prompt")
    desk.write_text("promptText", "sum up {{date}}")
    desk.press("testButton")
    (spec,) = desk.tests
    assert isinstance(spec.action, Prompt)
    assert (spec.action.text, spec.action.environment) == ("sum up {{date}}", command_of(FULL).environment)


def test_an_invalid_action_cannot_be_tested(bench: Bench) -> None:
    desk = bench.open()
    assert not desk.find(QAbstractButton, "testButton").isEnabled()


def test_closing_stops_the_test_run(bench: Bench) -> None:
    desk = bench.open(FULL)
    desk.editor.show_test_started()
    desk.editor.close()
    assert desk.stops == 1


def _run(outcome: Outcome, error: str = "") -> Run:
    return Run(id="r", job_id="j", trigger=Trigger.TEST, source=Source.MANUAL, outcome=outcome, error=error)


def test_a_test_run_needs_only_a_valid_action(bench: Bench) -> None:
    desk = bench.open()
    desk.write("commandLine", "echo hello")
    desk.press("scheduleKind_cron")
    assert not desk.can_save
    desk.press("testButton")
    (spec,) = desk.tests
    assert command_of(spec).argv == ("echo", "hello")
    desk.write("commandLine", "")
    assert not desk.find(QAbstractButton, "testButton").isEnabled()
