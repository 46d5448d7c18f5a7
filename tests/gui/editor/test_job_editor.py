"""The job editor as a whole: it takes a spec, gives one back, and says what is wrong on the way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from commands import shell
from editor_desk import FULL, NOW, Bench, Desk, opened_bench
from PySide6.QtCore import Qt
from PySide6.QtGui import QShortcut
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QApplication,
    QCheckBox,
    QComboBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QWidget,
)
from pytestqt.qtbot import QtBot

from halo_scheduler import (
    After,
    Backoff,
    Callback,
    Command,
    Cron,
    Every,
    HttpRequest,
    Manual,
    Once,
    Policy,
    Prompt,
)
from halo_scheduler.model import BodyKind, Caps, CatchUp, JobSpec, Notify, Redirects
from halo_scheduler.model.actions import FolderSource, GithubSource
from halo_scheduler.model.settings import Settings
from ui.backend.backend import Backend
from ui.editor.draft import PageNumber
from ui.editor.form import Form
from ui.editor.reading import Reading
from ui.forms.fields import Page
from ui.style.theme import Appearance


@pytest.fixture
def bench(tmp_path: Path, qtbot: QtBot) -> Iterator[Bench]:
    with opened_bench(tmp_path, qtbot) as found:
        yield found


def test_a_job_can_be_kept_from_assistants(bench: Bench) -> None:
    desk = bench.open(FULL)
    box = desk.find(QCheckBox, "assistantsMayRun")
    assert (box.isChecked(), box.text()) == (True, "Assistants may run this job")
    desk.press("assistantsMayRun")
    assert desk.save() == replace(FULL, policy=replace(FULL.policy, assistants_may_run=False))


@pytest.mark.parametrize(
    "spec",
    [
        FULL,
        replace(FULL, action=shell("echo $HOME | cat\ntrue")),
        replace(FULL, action=Command(argv=("a\nb", "'", '"', "\\", "$x")), description="a\n\n"),
        replace(
            FULL,
            action=HttpRequest(
                url="https://example.org/x?y=1",
                method="PURGE",
                headers={"Authorization": "Bearer ${secret:T}", "X": ""},
                body='{"a": [1]}',
                body_kind=BodyKind.JSON,
                expected_statuses=(200, 404),
                redirects=Redirects.NONE,
            ),
        ),
        replace(FULL, action=HttpRequest(url="http://localhost:8080")),
        replace(
            FULL,
            action=Prompt(
                text="Today, {{date}},\r\n\u00a0sum up {{ issue.title }}\u2028{{last.output}} \\{{x}} \U0001f389\n\n",
                agent="codex",
                directory="~/notes",
                environment={"TOKEN": "${secret:T}"},
                success_codes=(0, 2),
                no_work_code=3,
                needs_input_code=4,
                grace="15 S",
                work_source=FolderSource(path="~/a folder "),
            ),
            policy=Policy(caps=Caps(runs_per_day=3, cost_per_day=1.23456789), reads_lines=False),
        ),
        replace(FULL, action=Prompt(), policy=Policy(reads_lines=True)),
        replace(
            FULL,
            action=Prompt(
                text="{{work.id}}",
                work_source=GithubSource(
                    repository="acme/shop.js",
                    token="GH_TOKEN",  # noqa: S106 - the name of a secret
                    ready=" ready ",
                    in_progress="in progress",
                    base_url="https://git.example.org/api/v3",
                    closes=True,
                    comments=True,
                ),
            ),
        ),
        replace(
            FULL,
            action=Command(argv=("make",), needs_input_code=9, work_source=FolderSource(path="/srv/tasks")),
            policy=Policy(caps=Caps(cost_per_day=1_000_000), reads_lines=True),
        ),
        replace(FULL, action=Callback("f")),
        *(
            replace(FULL, schedule=schedule)
            for schedule in (
                Every("15 M"),
                Every("3000000000s"),
                After("5m"),
                Manual(),
                Once(NOW + 1_234),
                Once("2027-12-24T18:00:00.500-05:00"),
                Once(NOW - 5_000),
                Cron("0 9 * * MON-FRI"),
                Cron("@daily", "UTC"),
                Cron("0 0 6 * * 7"),
                Cron("*/7 * L * 5L"),
            )
        ),
        replace(FULL, policy=Policy(time_limit=None, backoff=Backoff.double(), catch_up=CatchUp.SKIP)),
        replace(FULL, policy=Policy(backoff=Backoff.none(), notify=Notify.NONE), group=None, enabled=True),
        replace(FULL, policy=Policy(keep_awake=True)),
        replace(FULL, policy=Policy(assistants_may_run=False)),
    ],
    ids=lambda spec: f"{spec.schedule.kind}-{spec.action.kind}",
)
def test_an_unchanged_job_is_returned_exactly(bench: Bench, spec: JobSpec) -> None:
    desk = bench.open(spec)
    assert not desk.editor.has_unsaved_changes()
    assert (desk.can_save, desk.reason) == (False, "No changes")
    desk.write("name", "renamed")
    assert desk.editor.has_unsaved_changes()
    assert desk.save() == replace(spec, name="renamed")


def test_changing_a_value_and_changing_it_back_is_not_a_change(bench: Bench) -> None:
    desk = bench.open(FULL)
    desk.write("name", "renamed")
    desk.write("name", FULL.name)
    assert not desk.editor.has_unsaved_changes()
    assert not desk.can_save


def test_a_job_is_made_by_keyboard_alone(bench: Bench) -> None:
    desk = bench.open()
    assert desk.focus == "name"
    desk.keys("Say hello")
    # Past the kind of action and the kind of command.
    for _ in range(3):
        desk.key(Qt.Key.Key_Tab)
    assert desk.focus == "commandLine"
    desk.keys("echo 'hello world'")
    desk.key(Qt.Key.Key_2, Qt.KeyboardModifier.ControlModifier)
    assert desk.focus == "dayTimes0Time0"
    desk.keys("1015")
    desk.key(Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
    (spec,) = desk.saved
    assert (spec.name, spec.action) == ("Say hello", Command(argv=("echo", "hello world")))
    assert (spec.schedule, spec.anchor_at) == (Cron("15 10 * * *"), NOW)
    assert spec.policy == Policy(notify=Notify.SETTINGS)


def test_the_pages_have_shortcuts(bench: Bench) -> None:
    desk = bench.open()
    keys = {child.key().toString() for child in desk.editor.findChildren(QShortcut)}
    assert {f"Ctrl+{page + 1}" for page in PageNumber} <= keys
    assert {"Ctrl+S", "Ctrl+T"} <= keys
    assert "Ctrl+S" in desk.find(QAbstractButton, "saveButton").toolTip()


def test_saving_an_invalid_job_focuses_the_first_problem(bench: Bench) -> None:
    desk = bench.open()
    desk.editor.turn_to(PageNumber.OPTIONS)
    desk.key(Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
    assert (desk.saved, desk.focus, desk.error("name")) == ([], "name", "Enter a name.")


def test_saving_an_unchanged_job_does_nothing(bench: Bench) -> None:
    desk = bench.open(FULL)
    desk.key(Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
    assert desk.saved == []


def test_input_before_all_pages_are_built_counts_as_a_change(bench: Bench) -> None:
    for spec in (FULL, None):
        editor = bench.make(spec)
        assert not editor._form.is_complete
        name = editor.findChild(QLineEdit, "name")
        assert name is not None
        name.setText("typed at once")
        assert editor.has_unsaved_changes()


def test_letters_typed_the_moment_it_appears_are_kept(bench: Bench) -> None:
    editor = bench.make()
    editor.show()
    # Nothing has had its turn yet but the window itself.
    desk = Desk(editor)
    desk.keys("Say hello")
    for _ in range(3):
        desk.key(Qt.Key.Key_Tab)
    desk.keys("echo hello")
    spec = desk.save()
    assert (spec.name, spec.action) == ("Say hello", Command(argv=("echo", "hello")))


def test_it_fits_the_screen_and_a_narrow_window_leaves_the_room_to_the_fields(bench: Bench) -> None:
    desk = bench.open(FULL)
    room = desk.editor.screen().availableSize()
    assert desk.editor.height() < room.height()
    assert desk.editor.width() < room.width()
    desk.editor.resize(1000, 500)
    assert desk.find(QWidget, "sidePanel").isVisible()
    desk.editor.resize(780, 500)
    assert not desk.find(QWidget, "sidePanel").isVisible()
    assert desk.editor.width() == 780


@pytest.mark.usefixtures("styled")
def test_it_never_gets_so_small_that_its_fields_are_cut_off(bench: Bench, qtbot: QtBot) -> None:
    desk = bench.open(FULL)
    desk.editor.resize(0, 0)
    assert (desk.editor.width(), desk.editor.height()) == (720, 400)
    for place in PageNumber:
        desk.editor.turn_to(place)
        page = desk.editor._form.currentWidget()
        assert isinstance(page, Page)
        qtbot.waitUntil(partial(_is_whole, page))


@pytest.mark.usefixtures("large_letters")
def test_with_huge_letters_what_is_cut_off_can_be_scrolled_to(bench: Bench, qtbot: QtBot) -> None:
    letters = QApplication.font()
    letters.setPointSizeF(28)
    QApplication.setFont(letters)
    Appearance().apply()
    desk = bench.open(FULL)
    desk.editor.resize(720, 420)
    desk.editor.turn_to(PageNumber.OPTIONS)
    page = desk.editor._form.currentWidget()
    assert isinstance(page, Page)
    qtbot.waitUntil(lambda: page.horizontalScrollBar().maximum() > 0)
    assert page.horizontalScrollBar().maximum() == _hidden_width(page)


def _is_whole(page: Page) -> bool:
    return page.isVisible() and _hidden_width(page) == 0


def _hidden_width(page: Page) -> int:
    canvas = page.widget()
    assert canvas is not None
    return canvas.width() - page.viewport().width()


def test_it_is_put_together_in_many_small_turns(bench: Bench, qtbot: QtBot) -> None:
    editor = bench.make(FULL)
    assert editor.findChild(QLineEdit, "commandLine") is None
    turns = len(list(editor._form._building))
    assert turns > 8
    assert editor._form.is_complete
    # What nobody asked for is made all the same.
    other = bench.make(FULL)
    qtbot.waitUntil(lambda: other._form.is_complete)
    assert not other.has_unsaved_changes()


@pytest.mark.parametrize("is_new", [True, False])
def test_the_name_has_the_keyboard_and_only_a_new_one_is_selected(bench: Bench, is_new: bool) -> None:
    desk = bench.open(FULL, is_new=is_new)
    assert desk.focus == "name"
    assert desk.line("name").hasSelectedText() is is_new


def test_an_empty_new_job_names_the_missing_values_without_errors(bench: Bench) -> None:
    desk = bench.open()
    assert (desk.can_save, desk.reason) == (False, "Enter a name.")
    assert desk.error("name") == ""
    assert not desk.editor.has_unsaved_changes()
    desk.write("name", "job")
    assert (desk.can_save, desk.reason) == (False, "Enter a command.")
    desk.write("commandLine", "true")
    assert (desk.can_save, desk.reason) == (True, "")


def test_a_field_left_empty_shows_its_message(bench: Bench) -> None:
    desk = bench.open()
    desk.key(Qt.Key.Key_Tab)
    desk.settle()
    assert desk.error("name") == "Enter a name."
    assert desk.pages.has_problem(0)


def test_a_new_job_takes_the_time_limit_of_the_settings(bench: Bench) -> None:
    desk = bench.open(settings=Settings(default_time_limit=None))
    desk.fill_in()
    assert desk.save().policy.time_limit is None


def test_a_job_made_from_another_is_new(bench: Bench) -> None:
    desk = bench.open(FULL, is_new=True)
    assert desk.can_save
    assert desk.save() == FULL


def test_a_name_that_is_taken_is_refused_beside_the_field(bench: Bench) -> None:
    desk = bench.open(taken_names=frozenset({"backup"}))
    desk.fill_in()
    desk.write("name", " backup ")
    assert desk.error("name") == "Another job already has this name."
    assert (desk.can_save, desk.reason) == (False, desk.error("name"))
    assert desk.pages.has_problem(0)
    assert desk.line("name").property("invalid") == "true"
    desk.write("name", "other")
    assert (desk.error("name"), desk.can_save) == ("", True)
    assert desk.line("name").property("invalid") == "false"


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("echo 'a", "Can't read the arguments: a quotation mark isn't closed."),
        (
            "echo ${secret:T}",
            "Secrets cannot be used here; everybody can read a program's arguments: put it into",
        ),
        ("'' x", "The program is empty."),
    ],
)
def test_a_bad_command_is_refused_beside_the_field(bench: Bench, line: str, sentence: str) -> None:
    desk = bench.open()
    desk.fill_in()
    desk.write("commandLine", line)
    assert desk.error("commandLineRow").startswith(sentence)


def test_faults_on_several_pages_are_all_marked(bench: Bench) -> None:
    desk = bench.open(FULL)
    desk.press("actionKind_http")
    desk.write("url", "ftp://x")
    desk.press("actionKind_command")
    desk.write("ladder", "5x")
    desk.write("noWorkCode", "0")
    pages = desk.pages
    assert [row for row in PageNumber if pages.has_problem(row)] == [PageNumber.WHAT, PageNumber.FAILURE]
    assert desk.error("noWorkCode") == "The exit code must not also be a success code."
    assert "the unit is unknown" in desk.error("ladder")
    desk.write("noWorkCode", "")
    assert desk.reason == desk.error("ladder")


def test_the_reason_leads_to_its_field_out_of_its_fold(bench: Bench) -> None:
    desk = bench.open(FULL)
    desk.write("successCodes", "many")
    desk.editor.turn_to(PageNumber.FAILURE)
    desk.press("saveReason")
    assert desk.pages.currentRow() == 0
    assert desk.focus == "successCodes"
    assert desk.line("successCodes").isVisible()


def test_an_error_from_the_service_is_shown_beside_its_field_until_a_change(bench: Bench) -> None:
    desk = bench.open(FULL)
    desk.write("name", "other")
    desk.editor.turn_to(PageNumber.WHEN)
    desk.editor.show_error("name", "there is already a job named 'other'; choose another name")
    assert desk.error("name") == "There is already a job named 'other'; choose another name."
    assert (desk.pages.currentRow(), desk.can_save) == (0, False)
    desk.line("name").setText("another")
    desk.settle()
    assert (desk.error("name"), desk.can_save) == ("", True)


def test_after_an_error_without_a_field_saving_can_be_tried_again(bench: Bench) -> None:
    desk = bench.open(FULL)
    desk.write("name", "other")
    desk.save()
    desk.editor.show_error("", "the database is locked")
    assert (desk.reason, desk.can_save) == ("The database is locked.", True)
    assert desk.save().name == "other"
    assert (len(desk.saved), desk.reason) == (2, "")


def test_saving_that_takes_a_while_is_reported_and_nothing_can_be_changed(bench: Bench) -> None:
    desk = bench.open(FULL)
    desk.write("name", "other")
    desk.save()
    desk.editor.show_saving()
    assert (desk.can_save, desk.reason) == (False, "Saving…")
    assert not desk.line("name").isEnabled()
    desk.key(Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
    assert len(desk.saved) == 1
    desk.editor.show_error("name", "is taken")
    assert (desk.error("name"), desk.focus) == ("The name is taken.", "name")
    desk.write("name", "another")
    assert desk.save().name == "another"


def test_errors_come_while_one_types(bench: Bench, qtbot: QtBot) -> None:
    desk = bench.open()
    desk.line("commandLine").setText("echo 'a")
    qtbot.waitUntil(lambda: bool(desk.error("commandLineRow")))


@pytest.mark.parametrize("text", ["<b>x</b> & y", "x" * 10_000, "a\nb\u2028c", "\u202eabc", "🎉"])
def test_texts_from_outside_are_shown_as_they_are(bench: Bench, text: str) -> None:
    desk = bench.open()
    desk.write("name", text)
    desk.write("commandLine", f"echo '{text}'")
    desk.editor.grab()
    for found in desk.editor.findChildren(QLabel):
        assert found.textFormat() is Qt.TextFormat.PlainText or not found.text()


@pytest.mark.parametrize(
    "spec",
    [
        FULL,
        replace(FULL, action=HttpRequest(url="http://localhost")),
        replace(FULL, action=Prompt(work_source=GithubSource(repository="acme/shop"))),
    ],
    ids=lambda spec: str(spec.action.kind),
)
def test_every_control_has_a_name_to_be_read_out(bench: Bench, spec: JobSpec) -> None:
    desk = bench.open(spec)
    kinds = (QAbstractButton, QLineEdit, QPlainTextEdit, QComboBox, QAbstractSpinBox)
    nameless = [
        found.objectName() or repr(found)
        for found in desk.editor.findChildren(QWidget)
        if isinstance(found, kinds)
        and found.focusPolicy() & Qt.FocusPolicy.TabFocus
        and not found.accessibleName()
        and not (isinstance(found, QCheckBox) and found.text())
        and not isinstance(found.parentWidget(), QAbstractSpinBox)
    ]
    assert nameless == []


def test_a_save_reads_the_form_once_and_waits_for_no_preview(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = bench.open(FULL)
    desk.write("name", "another name")
    done: list[str] = []
    read, ask = Form.read, Backend.ask

    def counted_read(form: Form, now_ms: int) -> Reading:
        done.append("read")
        return read(form, now_ms)

    def counted_ask(*given: Any, **rest: Any) -> Any:
        done.append("ask")
        return ask(*given, **rest)

    monkeypatch.setattr(Form, "read", counted_read)
    monkeypatch.setattr(Backend, "ask", counted_ask)
    desk.editor.saved.connect(lambda _spec: done.append("save"))
    desk.press("saveButton")
    assert done[: done.index("save") + 1] == ["read", "save"]


def test_a_prompt_with_a_parameter_the_job_does_not_have_is_refused_beside_it(bench: Bench) -> None:
    desk = bench.open(replace(FULL, action=Prompt(text="Do {{param.mode}}.")))
    desk.write_text("promptText", "Do {{param.speed}}.")
    assert "{{param.speed}} is not a parameter of this job; known are mode" in desk.reason
    assert not desk.can_save
    desk.write_text("promptText", "Do {{param.mode}} now.")
    assert desk.save() == replace(FULL, action=Prompt(text="Do {{param.mode}} now."))


def test_parameters_are_declared_in_the_options(bench: Bench) -> None:
    desk = bench.open(FULL)
    assert (desk.line("parameters0Key").text(), desk.line("parameters0Value").text()) == ("mode", "full")
    assert desk.find(QAbstractButton, "parameters0Secret").isHidden()
    desk.write("parameters0Key", "Mode")
    assert "'Mode' cannot name a parameter" in desk.error("parameters")
    desk.write("parameters0Key", "speed")
    desk.press("parametersAdd")
    desk.write("parameters1Value", "2")
    assert "has no name" in desk.error("parameters")
    desk.write("parameters1Key", "mode")
    desk.write("parameters1Value", "${secret:X}")
    assert "Secrets cannot be used here" in desk.error("parameters")
    desk.write("parameters1Value", "2")
    assert desk.save() == replace(FULL, parameters={"speed": "full", "mode": "2"})
