"""Where the work of a job comes from, in the editor."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from editor_desk import FULL, Bench, Desk, command_of, opened_bench, prompt_of
from github_site import REPOSITORY, TOKEN, GithubSite, open_github
from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QAbstractButton, QFileDialog, QLabel, QLineEdit, QMenu, QWidget
from pytestqt.qtbot import QtBot

from halo_scheduler import Command, Prompt
from halo_scheduler.model.actions import FolderSource, GithubSource, WorkSource
from ui.editor.draft import PageNumber
from ui.editor.what.queue_forms import MissingFolder


@pytest.fixture
def bench(tmp_path: Path, qtbot: QtBot) -> Iterator[Bench]:
    with opened_bench(tmp_path, qtbot) as found:
        yield found


@pytest.fixture
def github() -> Iterator[GithubSite]:
    with open_github() as site:
        yield site


def _command(bench: Bench, source: WorkSource | None = None) -> Desk:
    return bench.open(replace(FULL, action=Command(argv=("make",), work_source=source)))


def _folder(tmp_path: Path, *names: str) -> Path:
    ready = tmp_path / "tasks" / "ready"
    ready.mkdir(parents=True)
    for name in names:
        (ready / name).write_text(f"# Task {name}\n\nDo it.", encoding="utf-8")
    return tmp_path / "tasks"


def _rows(desk: Desk) -> list[str]:
    QCoreApplication.processEvents()  # What is put into a layout is shown in the next turn.
    inside = desk.find(QWidget, "readyItems").findChildren(QWidget)
    rows = [one for one in inside if re.fullmatch(r"readyItem[0-9]+", one.objectName())]
    return [one.accessibleName() for one in rows if not one.isHidden()]


def test_a_job_has_no_source_until_one_is_chosen(bench: Bench) -> None:
    desk = _command(bench)
    assert desk.summary("workFold") == "none"
    # Nothing of it is made before somebody looks.
    assert desk.editor.findChild(QLineEdit, "workRepository") is None
    desk.press("workFold")
    assert not desk.editor.has_unsaved_changes()
    assert desk.find(QAbstractButton, "workKind_none").isChecked()


def test_a_folder_is_chosen(bench: Bench) -> None:
    desk = _command(bench)
    desk.press("workFold")
    desk.press("workKind_folder")
    assert (desk.can_save, desk.reason) == (False, "Choose a folder.")
    assert desk.error("workFolder") == ""
    desk.write("workFolderLine", " ~/tasks")
    assert desk.summary("workFold") == "folder ~/tasks"
    assert command_of(desk.save()).work_source == FolderSource(path="~/tasks")


def test_a_relative_folder_is_refused_beside_its_field(bench: Bench) -> None:
    desk = _command(bench, FolderSource(path="/srv/tasks"))
    desk.write("workFolderLine", "tasks")
    assert desk.error("workFolder") == "The folder must be an absolute path, like /home/me/tasks or ~/tasks."
    assert not desk.can_save


@pytest.mark.parametrize("typed", ["~/tasks", "~nobody-of-this-name/tasks"])
def test_the_folder_dialog_opens_at_the_typed_path(
    bench: Bench, typed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tasks").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    desk = _command(bench, FolderSource(path="/srv/tasks"))
    desk.write("workFolderLine", typed)
    desk.press("workFolderChoose")
    dialog = desk.editor.findChild(QFileDialog)
    assert dialog is not None
    assert dialog.windowTitle() == "Work folder"
    assert (dialog.directory().path() == str(tmp_path / "tasks")) is typed.startswith("~/")
    dialog.reject()


def test_a_folder_that_does_not_exist_yet_is_created(bench: Bench, tmp_path: Path, qtbot: QtBot) -> None:
    folder = tmp_path / "new" / "tasks"
    desk = _command(bench, FolderSource(path=str(folder)))
    note = desk.find(QWidget, "workFolderMissing")
    qtbot.waitUntil(lambda: not note.isHidden())
    assert desk.label("workFolderMissingWords") == "This folder doesn't exist yet."
    assert desk.summary("workFold") == f"folder {folder} · doesn't exist yet"
    assert desk.can_save is desk.editor.has_unsaved_changes() is False
    desk.press("workFolderMissingCreate")
    assert (folder / "ready").is_dir()
    assert note.isHidden()
    assert desk.summary("workFold") == f"folder {folder}"
    desk.press("readyItemsLook")
    assert desk.label("readyItemsWords") == "No items ready."


def test_a_folder_that_cannot_be_created_says_why(bench: Bench, tmp_path: Path, qtbot: QtBot) -> None:
    (tmp_path / "tasks").symlink_to("nowhere")
    desk = _command(bench, FolderSource(path=str(tmp_path / "away")))
    desk.write("workFolderLine", str(tmp_path / "tasks"))
    note = desk.find(QWidget, "workFolderMissing")
    qtbot.waitUntil(lambda: not note.isHidden())
    desk.press("workFolderMissingCreate")
    assert desk.label("workFolderMissingWords") == "The folder couldn't be created: File exists."


@pytest.mark.parametrize("text", ["", "tasks", "~nobody-of-this-name/tasks", "/\0", "{existing}"])
def test_only_a_whole_path_to_nothing_can_be_created(bench: Bench, tmp_path: Path, text: str) -> None:
    desk = _command(bench, FolderSource(path=str(tmp_path / "away")))
    desk.line("workFolderLine").setText(text.replace("{existing}", str(_folder(tmp_path))))
    desk.find(MissingFolder, "workFolderMissing")._check_now()
    desk.settle()
    assert desk.find(QWidget, "workFolderMissing").isHidden()


def test_issues_of_a_repository_are_chosen(bench: Bench) -> None:
    desk = bench.open(replace(FULL, action=Prompt(text="fix it")))
    desk.press("workFold")
    desk.press("workKind_github")
    assert desk.reason == "Enter a repository, like owner/name."
    desk.write("workRepository", "acme/shop")
    desk.write("workToken", "GH")
    desk.press("workCloses")
    assert desk.summary("workFold") == "issues of acme/shop"
    source = prompt_of(desk.save()).work_source
    assert source == GithubSource(repository="acme/shop", token="GH", closes=True)  # noqa: S106 - a name


@pytest.mark.parametrize(
    ("field", "text", "control", "sentence"),
    [
        ("workRepository", "shop", "workRepository", "The repository must be like owner/name."),
        ("workInProgress", "Ready", "workInProgress", "The label must differ from the ready label."),
        ("workReady", "a,b", "workReady", "The label must be one label, without a comma."),
        ("workBaseUrl", "ftp://x", "workBaseUrl", "'ftp://x' must begin with http:// or https://"),
        ("workToken", "ghp 123", "workTokenRow", ""),
    ],
)
def test_invalid_github_fields_are_refused_beside_them(
    bench: Bench, field: str, text: str, control: str, sentence: str
) -> None:
    desk = _command(bench, GithubSource(repository="acme/shop"))
    desk.write(field, text)
    assert desk.error(control).startswith(sentence)
    assert desk.error(control)
    assert not desk.can_save


def test_a_fault_leads_to_its_field_out_of_both_folds(bench: Bench) -> None:
    desk = _command(bench, GithubSource(repository="acme/shop"))
    desk.write("workBaseUrl", "nowhere")
    desk.editor.turn_to(PageNumber.FAILURE)
    desk.press("saveReason")
    assert desk.focus == "workBaseUrl"
    assert desk.line("workBaseUrl").isVisible()


def test_switching_sources_keeps_the_input_of_each(bench: Bench) -> None:
    desk = _command(bench, FolderSource(path="/srv/tasks"))
    desk.press("workKind_github")
    desk.write("workRepository", "acme/shop")
    desk.press("workKind_none")
    assert command_of(desk.save()).work_source is None
    desk.press("workKind_github")
    assert command_of(desk.save()).work_source == GithubSource(repository="acme/shop")
    desk.press("workKind_folder")
    assert not desk.editor.has_unsaved_changes()


def test_commands_and_prompts_show_how_to_use_the_item(bench: Bench) -> None:
    desk = _command(bench, FolderSource(path="/srv/tasks"))
    names = ("HALO_WORK_ID", "HALO_WORK_TITLE", "HALO_WORK_URL", "HALO_WORK_LABELS", "HALO_WORK_FILE")
    assert all(name in desk.label("workGiven") for name in names)
    desk.press("actionKind_prompt")
    assert "{{work.title}}" in desk.label("workGiven")
    assert "HALO" not in desk.label("workGiven")


def test_a_preview_lists_ready_items_and_takes_none(bench: Bench, tmp_path: Path) -> None:
    folder = _folder(tmp_path, "a.md", "b.md")
    desk = _command(bench, FolderSource(path=str(folder)))
    desk.press("workFold")
    desk.press("readyItemsLook")
    assert desk.label("readyItemsWords") == "2 items ready:"
    assert _rows(desk) == ["a.md Task a.md", "b.md Task b.md"]
    assert sorted(one.name for one in (folder / "ready").iterdir()) == ["a.md", "b.md"]


def test_a_preview_keeps_the_focus_and_is_not_started_twice(bench: Bench, tmp_path: Path) -> None:
    folder = _folder(tmp_path, "a.md")
    desk = _command(bench, FolderSource(path=str(folder)))
    desk.press("workFold")
    look = desk.find(QAbstractButton, "readyItemsLook")
    look.setFocus()
    look.click()
    assert (desk.focus, desk.label("readyItemsWords")) == ("readyItemsLook", "Loading…")
    (folder / "ready" / "b.md").write_text("late", encoding="utf-8")
    look.click()
    desk.settle()
    assert (desk.focus, desk.label("readyItemsWords")) == ("readyItemsLook", "1 item ready:")
    desk.press("readyItemsLook")
    assert desk.label("readyItemsWords") == "2 items ready:"


def test_the_preview_button_is_as_wide_as_its_text(bench: Bench, tmp_path: Path) -> None:
    desk = _command(bench, FolderSource(path=str(tmp_path)))
    desk.press("workFold")
    QCoreApplication.processEvents()
    look = desk.find(QAbstractButton, "readyItemsLook")
    assert look.width() == look.sizeHint().width()


def test_of_many_items_the_first_are_listed_and_the_others_counted(bench: Bench, tmp_path: Path) -> None:
    folder = _folder(tmp_path, *(f"{number:03}.md" for number in range(200)))
    desk = _command(bench, FolderSource(path=str(folder)))
    desk.press("workFold")
    desk.press("readyItemsLook")
    assert desk.label("readyItemsWords") == "200 items ready:"
    assert len(_rows(desk)) == 6
    shown = [one.text() for one in desk.find(QWidget, "readyItems").findChildren(QLabel)]
    assert "and 194 more" in shown


def test_a_malicious_title_is_shown_as_plain_text(bench: Bench, tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    (folder / "ready" / "x.md").write_text("# <b>x</b> & \u202e" + "y" * 5_000, encoding="utf-8")
    desk = _command(bench, FolderSource(path=str(folder)))
    desk.press("workFold")
    desk.press("readyItemsLook")
    (row,) = _rows(desk)
    assert row.startswith("x.md <b>x</b> & ")
    assert "\u202e" not in row
    assert len(row) < 120
    width = desk.editor.width()
    desk.editor.grab()
    assert desk.editor.width() == width


def test_an_empty_queue_is_reported(bench: Bench, tmp_path: Path) -> None:
    desk = _command(bench, FolderSource(path=str(_folder(tmp_path))))
    desk.press("workFold")
    desk.press("readyItemsLook")
    assert (desk.label("readyItemsWords"), _rows(desk)) == ("No items ready.", [])


def test_a_source_that_cannot_be_asked_says_why(bench: Bench, tmp_path: Path) -> None:
    desk = _command(bench, FolderSource(path=str(tmp_path / "nowhere")))
    desk.press("workFold")
    desk.press("readyItemsLook")
    assert "nowhere" in desk.label("readyItemsWords")
    assert desk.label("readyItemsWords").endswith(".")


def test_a_source_that_is_not_complete_is_not_asked(bench: Bench) -> None:
    desk = _command(bench)
    desk.press("workFold")
    desk.press("workKind_folder")
    desk.press("readyItemsLook")
    assert desk.label("readyItemsWords") == "Choose a folder."


def test_a_preview_is_cleared_when_the_source_changes(bench: Bench, tmp_path: Path) -> None:
    desk = _command(bench, FolderSource(path=str(_folder(tmp_path, "a.md"))))
    desk.press("workFold")
    desk.press("readyItemsLook")
    desk.write("workFolderLine", "/elsewhere")
    assert (desk.label("readyItemsWords"), _rows(desk)) == ("", [])


def test_issues_are_previewed_with_the_token_of_a_secret(bench: Bench, github: GithubSite) -> None:
    bench.scheduler.secrets.set("GH", TOKEN, in_file=True)
    github.add(7, title="Fix the shop")
    source = GithubSource(repository=REPOSITORY, token="GH", base_url=github.url)  # noqa: S106 - a name
    desk = _command(bench, source)
    desk.press("workFold")
    desk.press("readyItemsLook")
    assert desk.label("readyItemsWords") == "1 item ready:"
    assert _rows(desk) == ["7 Fix the shop"]
    assert TOKEN not in str(desk.editor._form._contents())


@pytest.mark.qt_log_ignore("This plugin does not support")
def test_the_token_is_picked_by_the_name_of_its_secret(bench: Bench, qtbot: QtBot) -> None:
    bench.scheduler.secrets.set("GH", "hunter2-hunter2", in_file=True)
    desk = _command(bench, GithubSource(repository="acme/shop"))
    desk.press("workFold")
    button = desk.find(QAbstractButton, "workTokenSecret")
    button.click()
    menu = desk.find(QMenu, "workTokenSecretMenu")
    qtbot.waitUntil(lambda: bool(menu.actions()))
    menu.actions()[0].trigger()
    menu.close()
    assert desk.line("workToken").text() == "GH"
