"""The form of a prompt: text, variables, what the agent reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from editor_desk import FULL, Bench, Desk, opened_bench, prompt_of
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtGui import QTextCharFormat
from PySide6.QtWidgets import QComboBox, QPlainTextEdit
from pytestqt.qtbot import QtBot

from halo_scheduler import Command, Every, HttpRequest, Policy, Prompt
from halo_scheduler.grammar.templates import VARIABLES
from halo_scheduler.model import JobSpec
from halo_scheduler.model.actions import FolderSource, WorkSource
from halo_scheduler.model.settings import Theme
from ui.editor.what.prompt_form import PromptEdit, PromptForm
from ui.style.theme import Appearance

_SOURCE = FolderSource(path="/srv/tasks")


@pytest.fixture
def bench(tmp_path: Path, qtbot: QtBot) -> Iterator[Bench]:
    with opened_bench(tmp_path, qtbot) as found:
        yield found


def _prompt(bench: Bench, text: str = "sum up", source: WorkSource | None = None) -> Desk:
    return bench.open(replace(FULL, action=Prompt(text=text, work_source=source)))


def _new_prompt(bench: Bench) -> Desk:
    desk = bench.open()
    desk.write("name", "job")
    desk.press("actionKind_prompt")
    return desk


def _preview(desk: Desk) -> str:
    return desk.find(QPlainTextEdit, "promptPreviewText").toPlainText()


def _form(desk: Desk) -> PromptForm:
    made = desk.editor._form._what._prompt
    assert made is not None
    return made


def _offered(desk: Desk) -> list[str]:
    form = _form(desk)
    form._variables.button.click()
    names = [one.text().split("\t")[0] for one in form._variables.menu.actions() if one.isEnabled()]
    form._variables.menu.close()
    return [name for name in names if name]


def test_a_prompt_is_made_by_keyboard_alone(bench: Bench) -> None:
    desk = bench.open()
    desk.keys("Ask")
    desk.press("actionKind_prompt")
    desk.line("name").setFocus()
    desk.key(Qt.Key.Key_Tab)
    assert desk.focus == "actionKind_prompt"
    desk.key(Qt.Key.Key_Tab)
    assert desk.focus == "promptText"
    desk.keys("What is new on {{date}}?")
    desk.key(Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
    (spec,) = desk.saved
    assert spec.action == Prompt(text="What is new on {{date}}?")
    assert spec.reads_lines
    assert spec.policy.reads_lines is None


def test_switching_kinds_keeps_the_prompt_and_shares_common_fields(bench: Bench) -> None:
    desk = _new_prompt(bench)
    desk.write_text("promptText", "sum up")
    desk.write("directoryLine", "/srv")
    desk.write("needsInputCode", "7")
    desk.press("actionKind_command")
    desk.write("commandLine", "true")
    assert desk.save().action == Command(argv=("true",), directory="/srv", needs_input_code=7)
    desk.press("actionKind_http")
    desk.write("url", "https://example.org")
    assert desk.save().action == HttpRequest(url="https://example.org")
    desk.press("actionKind_prompt")
    assert desk.save().action == Prompt(text="sum up", directory="/srv", needs_input_code=7)


def test_the_input_of_a_command_is_not_given_to_a_prompt(bench: Bench) -> None:
    desk = bench.open(FULL)
    desk.press("givenFold")
    assert desk.find(QPlainTextEdit, "stdin").isVisible()
    desk.press("actionKind_prompt")
    assert not desk.find(QPlainTextEdit, "stdin").isVisible()
    desk.write_text("promptText", "x")
    assert isinstance(desk.save().action, Prompt)
    desk.press("actionKind_command")
    assert not desk.editor.has_unsaved_changes()


def test_viewing_other_kinds_of_an_empty_job_is_not_a_change(bench: Bench) -> None:
    desk = bench.open()
    for name in ("actionKind_prompt", "workFold", "actionKind_http", "actionKind_command"):
        desk.press(name)
    assert not desk.editor.has_unsaved_changes()
    desk.press("actionKind_prompt")
    desk.write_text("promptText", "x")
    desk.press("actionKind_command")
    assert desk.editor.has_unsaved_changes()


def test_an_empty_prompt_needs_a_work_queue(bench: Bench) -> None:
    desk = _new_prompt(bench)
    assert (desk.can_save, desk.reason) == (False, "Enter a prompt.")
    desk.write_text("promptText", "sum up")
    assert _preview(desk) == "sum up"
    assert desk.can_save
    desk.press("workFold")
    desk.press("workKind_folder")
    assert "added at the end" in desk.label("promptTextHint")
    desk.write_text("promptText", " ")
    assert "“Execute scheduled task.” and the item" in desk.label("promptTextHint")
    assert desk.reason != "Enter a prompt."


def test_the_preview_is_filled_in_as_if_it_started_now(bench: Bench) -> None:
    desk = _prompt(bench, "{{job.name}} {{date}} {{last.outcome}} \\{{x}}")
    assert _preview(desk) == "Back up 2026-07-14 none {{x}}"
    desk.write("name", "other {{date}}")
    assert _preview(desk).startswith("other {{date}} 2026")


def test_the_preview_follows_as_one_types(bench: Bench, qtbot: QtBot) -> None:
    desk = _new_prompt(bench)
    desk.find(QPlainTextEdit, "promptText").insertPlainText("new words")
    qtbot.waitUntil(lambda: _preview(desk) == "new words")


def test_the_preview_shows_its_first_words_while_it_is_folded(bench: Bench) -> None:
    desk = _prompt(bench, "On {{date}}\nread")
    assert desk.summary("promptPreviewFold") == "On 2026-07-14 ↵ read"


def test_a_long_preview_is_cut(bench: Bench) -> None:
    desk = _prompt(bench, "x" * 30_000)
    assert len(_preview(desk)) == 20_001


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{{dat}}", "There is no variable '{{dat}}'; did you mean {{date}}?"),
        ("{{date", "The variable '{{date' is not closed with two braces; write \\{{ for plain braces."),
        ("{{work.id}}", "'{{work.id}}' needs a work queue, which this job doesn't have."),
        ("${secret:T}", "Secrets cannot be used here; an agent repeats what it reads: put it into the"),
    ],
)
def test_a_prompt_that_cannot_be_rendered_is_reported_beside_it(
    bench: Bench, text: str, sentence: str
) -> None:
    desk = _prompt(bench)
    desk.write_text("promptText", text)
    assert desk.error("promptText").startswith(sentence)
    assert not desk.can_save
    assert desk.reason.startswith(sentence[:60])
    assert desk.label("promptPreviewWords") == "Shown when this page has no errors."
    desk.write_text("promptText", "right again")
    assert (desk.error("promptText"), _preview(desk)) == ("", "right again")


def test_the_variables_of_an_item_need_a_source_to_come_from(bench: Bench) -> None:
    desk = _prompt(bench, "{{work.title}}", _SOURCE)
    assert desk.error("promptText") == ""
    desk.press("workKind_none")
    assert "needs a work queue" in desk.error("promptText")
    desk.press("workKind_folder")
    assert desk.error("promptText") == ""


def test_an_incomplete_source_is_blamed_and_not_the_text(bench: Bench) -> None:
    desk = _prompt(bench, "{{work.title}}", _SOURCE)
    desk.write("workFolderLine", "")
    assert desk.error("promptText") == ""
    assert desk.reason == "Choose a folder."


@pytest.mark.qt_log_ignore("This plugin does not support")
def test_variables_of_items_are_offered_only_where_there_are_items(bench: Bench) -> None:
    desk = _new_prompt(bench)
    assert "{{date}}" in _offered(desk)
    assert "{{work.id}}" not in _offered(desk)
    desk.press("workFold")
    desk.press("workKind_folder")
    offered = _offered(desk)
    assert "{{work.id}}" in offered
    assert {name.strip("{}") for name in offered} == {one for one in VARIABLES if "issue" not in one}


@pytest.mark.qt_log_ignore("This plugin does not support")
def test_a_variable_is_put_where_the_cursor_is(bench: Bench) -> None:
    desk = _prompt(bench, "Today is .")
    form = _form(desk)
    cursor = form._text.textCursor()
    cursor.setPosition(len("Today is "))
    form._text.setTextCursor(cursor)
    form._variables.button.click()
    form._variables.menu.actions()[0].trigger()
    form._variables.menu.close()
    assert prompt_of(desk.save()).text == "Today is {{date}}."
    assert desk.focus == "promptText"


@pytest.mark.usefixtures("qapp")
@settings(max_examples=300, deadline=None)
@given(
    text=st.text(st.characters(codec="utf-8") | st.sampled_from("\r\n\u2028\u2029\u00a0{}\t"), max_size=60)
)
def test_any_untouched_text_is_returned_exactly(text: str) -> None:
    edit = PromptEdit(Appearance(Theme.LIGHT), name="text", title="Text")
    edit.set_text(text)
    assert edit.text == text


def test_typed_text_keeps_special_blanks(qtbot: QtBot) -> None:
    edit = PromptEdit(Appearance(Theme.LIGHT), name="text", title="Text")
    qtbot.addWidget(edit)
    edit.set_text("a\u00a0b")
    edit.insertPlainText("12\u00a0km\n")
    assert edit.text == "12\u00a0km\na\u00a0b"


@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("on {{date}}.", [(3, 8, True)]),
        ("\U0001f389 {{dat}}", [(3, 7, False)]),
        ("\\{{date}} {{ time }}", [(10, 10, True)]),
        ("{{work.id}}", [(0, 11, False)]),
        ("{{date", [(0, 6, False)]),
    ],
)
def test_variables_are_set_apart_and_faults_underlined(
    text: str, marked: list[tuple[int, int, bool]], qtbot: QtBot
) -> None:
    edit = PromptEdit(Appearance(Theme.LIGHT), name="text", title="Text")
    qtbot.addWidget(edit)
    edit.set_text(text)
    formats = edit.document().firstBlock().layout().formats()
    assert [(one.start, one.length, _is_plain(one.format)) for one in formats] == marked


def _is_plain(format_: QTextCharFormat) -> bool:
    return format_.underlineStyle() is QTextCharFormat.UnderlineStyle.NoUnderline


def test_the_variables_of_items_are_right_once_there_are_items(qtbot: QtBot) -> None:
    edit = PromptEdit(Appearance(Theme.LIGHT), name="text", title="Text")
    qtbot.addWidget(edit)
    edit.set_text("{{work.id}}")
    edit.set_has_work(True)
    (only,) = edit.document().firstBlock().layout().formats()
    assert _is_plain(only.format)


def test_of_very_many_variables_on_one_line_only_the_first_are_marked(qtbot: QtBot) -> None:
    edit = PromptEdit(Appearance(Theme.LIGHT), name="text", title="Text")
    qtbot.addWidget(edit)
    edit.set_text("\U0001f389{{date}} {{dat}}" * 20_000)
    formats = edit.document().firstBlock().layout().formats()
    assert len(formats) == 1_000
    assert [(one.start, one.length) for one in formats[-2:]] == [(499 * 18 + 2, 8), (499 * 18 + 11, 7)]


def test_highlighting_variables_is_not_an_edit(qtbot: QtBot) -> None:
    appearance = Appearance(Theme.LIGHT)
    edit = PromptEdit(appearance, name="text", title="Text")
    qtbot.addWidget(edit)
    edit.set_text("{{date}} {{work.id}}")
    told: list[None] = []
    edit.edited.connect(lambda: told.append(None))
    edit.set_has_work(True)
    appearance.choose(Theme.DARK)
    assert told == []


def test_the_text_grows_with_its_lines_up_to_a_bound(bench: Bench) -> None:
    desk = _new_prompt(bench)
    edit = desk.find(QPlainTextEdit, "promptText")
    heights = []
    for lines in (1, 10, 100):
        desk.write_text("promptText", "\n".join(["line"] * lines))
        heights.append(edit.height())
    assert heights[0] < heights[1] < heights[2] < 400
    assert edit.verticalScrollBarPolicy() is Qt.ScrollBarPolicy.ScrollBarAsNeeded


def test_a_stored_prompt_is_previewed_with_the_output_of_its_last_run(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("ask", Every("1h"), Prompt(text="{{last.outcome}}"))
    spec = bench.scheduler.get_job(job_id)
    assert spec is not None
    desk = bench.open(spec.spec)
    assert _preview(desk) == "none"


def test_a_policy_and_a_prompt_of_another_kind_survive_each_other(bench: Bench) -> None:
    spec = JobSpec(
        name="a", schedule=Every("1h"), action=Prompt(), policy=Policy(reads_lines=False), anchor_at=5
    )
    desk = bench.open(spec)
    desk.write_text("promptText", "x")
    assert desk.save() == replace(spec, action=Prompt(text="x"))


def test_an_agent_box_names_the_default(bench: Bench) -> None:
    desk = _new_prompt(bench)
    box = desk.find(QComboBox, "agentBox")
    assert [box.itemText(row) for row in range(box.count())] == [
        "Default (claude)",
        "claude",
        "codex",
        "gemini",
        "ollama",
    ]
