"""The page that says what a job does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from commands import shell
from editor_desk import FULL, Bench, command_of, opened_bench
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QComboBox,
    QLabel,
    QPlainTextEdit,
    QWidget,
)
from pytestqt.qtbot import QtBot

from halo_scheduler import (
    Command,
    HttpRequest,
    Reminder,
)
from halo_scheduler.model import BodyKind


@pytest.fixture
def bench(tmp_path: Path, qtbot: QtBot) -> Iterator[Bench]:
    with opened_bench(tmp_path, qtbot) as found:
        yield found


def test_a_shell_line_starts_with_the_typed_command(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.write("commandLine", "cat *.txt | wc")
    assert "is passed literally" in desk.find(QLabel, "shellSigns").text()
    desk.press("useShell")
    assert desk.focus == "shellLine"
    desk.find(QComboBox, "shell").setEditText("/bin/sh")
    assert desk.save().action == shell("cat *.txt | wc")
    desk.press("commandMode_program")
    assert desk.save().action == Command(argv=("cat", "*.txt", "|", "wc"))


def test_a_chosen_file_is_quoted_and_set_apart(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.line("commandLine").setText("cat")
    desk.editor._form._what._command._insert_path("/a b/c.txt")
    assert desk.save().action == Command(argv=("cat", "/a b/c.txt"))


def test_variables_are_added_and_removed_by_keyboard(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.press("givenFold")
    desk.press("environmentAdd")
    desk.keys("A")
    desk.key(Qt.Key.Key_Tab)
    desk.keys("1")
    desk.key(Qt.Key.Key_Return)
    desk.keys("B")
    assert command_of(desk.save()).environment == {"A": "1", "B": ""}
    desk.press("environment0Remove")
    assert command_of(desk.save()).environment == {"B": ""}
    assert desk.saved[-1].action != desk.saved[0].action


def test_the_tab_key_goes_through_the_variables_in_their_order(bench: Bench) -> None:
    desk = bench.open(FULL)
    desk.press("givenFold")
    desk.find(QAbstractButton, "givenFold").setFocus()
    visited = []
    for _ in range(9):
        desk.key(Qt.Key.Key_Tab)
        visited.append(desk.focus)
    rows = [f"environment{row}{part}" for row in range(2) for part in ("Key", "Value", "Secret", "Remove")]
    assert visited == [*rows, "environmentAdd"]


def test_the_cards_keep_their_height_in_a_low_window(bench: Bench) -> None:
    desk = bench.open(FULL)
    card = desk.find(QAbstractButton, "actionKind_command")
    card.setMinimumHeight(20)  # As the style sheet does.
    desk.editor.resize(1000, 300)
    desk.settle()
    assert card.height() == card.sizeHint().height()


@pytest.mark.parametrize(
    ("presses", "stops"),
    [
        (
            ["actionKind_command"],
            (
                "name actionKind_command commandMode_program commandLine commandFile directoryLine directoryChoose "
                "workFold givenFold endsFold descriptionFold pageList"
            ),
        ),
        (
            ["commandMode_shell"],
            (
                "name actionKind_command commandMode_shell shellLine shellFile shell directoryLine directoryChoose "
                "workFold givenFold endsFold descriptionFold pageList"
            ),
        ),
        (
            ["actionKind_prompt"],
            (
                "name actionKind_prompt promptText insertVariable promptPreviewFold agentBox directoryLine "
                "directoryChoose workFold givenFold endsFold descriptionFold pageList"
            ),
        ),
        (
            ["actionKind_http", "actionKind_prompt", "workFold", "workKind_github", "workServerFold"],
            (
                "name actionKind_prompt promptText insertVariable promptPreviewFold agentBox directoryLine "
                "directoryChoose workFold workKind_github workRepository workToken workTokenSecret workReady "
                "workInProgress workCloses workComments workServerFold workBaseUrl readyItemsLook givenFold endsFold "
                "descriptionFold pageList"
            ),
        ),
        (
            ["workFold", "workKind_folder"],
            (
                "name actionKind_command commandMode_program commandLine commandFile directoryLine directoryChoose "
                "workFold workKind_folder workFolderLine workFolderChoose readyItemsLook givenFold endsFold "
                "descriptionFold pageList"
            ),
        ),
        (
            ["actionKind_http"],
            ("name actionKind_http method url headersAdd answerFold descriptionFold pageList"),
        ),
    ],
)
def test_the_tab_key_goes_through_the_whole_page_and_on(bench: Bench, presses: list[str], stops: str) -> None:
    desk = bench.open()
    for name in presses:
        desk.press(name)
    desk.line("name").setFocus()
    visited = [desk.focus]
    while len(visited) < 40 and visited[-1] != "pageList":
        desk.key(Qt.Key.Key_Tab)
        visited.append(desk.focus)
    assert visited == stops.split()


@pytest.mark.parametrize(
    ("key", "sentence"),
    [("A", "'A' is given twice."), ("", "The value '2' has no name."), ("A=B", "'A=B' is not")],
)
def test_bad_variables_are_refused(bench: Bench, key: str, sentence: str) -> None:
    desk = bench.open(FULL)
    edit = desk.editor._form._what._process._extras._environment
    edit.set_pairs({"A": "1"})
    edit.add_row(key, "2")
    desk.settle()
    assert desk.error("environment").startswith(sentence)


@pytest.mark.qt_log_ignore("This plugin does not support")
def test_a_secret_is_picked_by_its_name(bench: Bench, qtbot: QtBot) -> None:
    bench.scheduler.secrets.set("TOKEN", "hunter2-hunter2", in_file=True)
    desk = bench.open(FULL)
    row = desk.editor._form._what._process._extras._environment.rows()[1]
    row.picker.button.click()
    qtbot.waitUntil(lambda: bool(row.picker.menu.actions()))
    row.picker.menu.actions()[0].trigger()
    row.picker.menu.close()
    assert row.value.text() == "${secret:TOKEN}"


@pytest.mark.qt_log_ignore("This plugin does not support")
def test_a_new_secret_is_added_in_the_settings(bench: Bench, qtbot: QtBot) -> None:
    desk = bench.open(FULL)
    row = desk.editor._form._what._process._extras._environment.rows()[0]
    row.picker.button.click()
    qtbot.waitUntil(lambda: bool(row.picker.menu.actions()))
    (action,) = row.picker.menu.actions()
    assert action.text() == "New secret…"
    with qtbot.waitSignal(desk.editor.secrets_requested):
        action.trigger()
    row.picker.menu.close()


def test_a_request_is_made(bench: Bench) -> None:
    desk = bench.open()
    desk.write("name", "ping")
    desk.press("actionKind_http")
    assert desk.reason == "Enter a URL."
    desk.write("url", "https://example.org")
    assert desk.save().action == HttpRequest(url="https://example.org")


def test_a_reminder_is_made(bench: Bench) -> None:
    desk = bench.open()
    desk.write("name", "stretch")
    desk.press("actionKind_reminder")
    assert desk.reason == "Enter a title."
    desk.write("reminderTitle", "Stand up")
    desk.find(QPlainTextEdit, "reminderText").setPlainText("and stretch")
    assert desk.save().action == Reminder(title="Stand up", text="and stretch")


def test_json_is_checked_while_typing_and_empty_text_is_invalid(bench: Bench) -> None:
    desk = bench.open()
    desk.write("name", "ping")
    desk.press("actionKind_http")
    desk.write("url", "https://example.org")
    desk.press("bodyKind_json")
    assert desk.can_save
    desk.find(QPlainTextEdit, "body").setPlainText("{")
    desk.settle()
    assert desk.error("bodyPart").startswith("The body is not JSON: ")
    desk.find(QPlainTextEdit, "body").setPlainText("{}")
    desk.settle()
    assert desk.save().action == HttpRequest(url="https://example.org", body="{}", body_kind=BodyKind.JSON)


def test_switching_kinds_keeps_the_input_of_each(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.press("actionKind_http")
    desk.write("url", "https://example.org")
    desk.press("actionKind_command")
    assert desk.save().action == Command(argv=("true",))
    desk.press("actionKind_http")
    assert desk.save().action == HttpRequest(url="https://example.org")


def test_a_get_has_no_body_unless_one_is_stored(bench: Bench) -> None:
    desk = bench.open()
    desk.press("actionKind_http")
    assert not desk.find(QWidget, "bodyPart").isVisible()
    desk.find(QComboBox, "method").setEditText("post")
    assert desk.find(QWidget, "bodyPart").isVisible()
    stored = replace(FULL, action=HttpRequest(url="http://localhost", body="x"))
    assert bench.open(stored).find(QWidget, "bodyPart").isVisible()
