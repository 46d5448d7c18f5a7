"""The settings of assistants: the switch, the snippet, and what is missing."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from assistant import Assistant
from finding import child
from PySide6.QtCore import QObject
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QFrame, QLabel, QLineEdit, QPlainTextEdit, QPushButton
from pytestqt.qtbot import QtBot

from halo_scheduler import Every, Scheduler
from halo_scheduler.clock import ManualClock
from halo_scheduler.model.changes import Actor, Change, ChangeKind
from halo_scheduler.model.settings import AssistantAccess, Theme
from ui.backend.backend import Backend
from ui.settings import assistants
from ui.settings.assistants import AssistantsPage, install_command, snippet
from ui.settings.page import SettingsLink
from ui.style.theme import Appearance


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[Scheduler]:
    with Scheduler.open(tmp_path / "halo.db", clock=ManualClock(0)) as made:
        yield made


@pytest.fixture
def page(scheduler: Scheduler, qapp: QApplication, qtbot: QtBot) -> AssistantsPage:
    appearance = Appearance(Theme.LIGHT, qapp)
    backend = Backend.inline(scheduler, ManualClock(0), QObject(appearance))
    link = SettingsLink(backend, backend)
    made = AssistantsPage(link, appearance)
    qtbot.addWidget(made)
    made.resize(560, 480)
    made.show()
    with qtbot.waitSignal(link.loaded):
        link.load()
    made.refresh()
    return made


def _chosen(page: AssistantsPage) -> list[str]:
    buttons = (child(page, QPushButton, f"assistants{name}Button") for name in ("Read", "Run", "Edit"))
    return [button.objectName() for button in buttons if button.isChecked()]


def _texts(page: AssistantsPage) -> list[str]:
    return [label.text() for label in page.findChildren(QLabel) if label.isVisible()]


@pytest.mark.parametrize(
    ("access", "words"),
    [
        (AssistantAccess.READ, "but not change or start anything"),
        (AssistantAccess.RUN, "but not resume what you paused or disabled"),
        (AssistantAccess.EDIT, "is paused until you review and resume it"),
    ],
)
def test_the_permission_of_assistants_is_stored_at_once_and_explained(
    page: AssistantsPage, scheduler: Scheduler, qtbot: QtBot, access: AssistantAccess, words: str
) -> None:
    assert _chosen(page) == ["assistantsRunButton"]
    name = f"assistants{access.value.capitalize()}Button"
    child(page, QPushButton, name).click()
    qtbot.waitUntil(lambda: scheduler.settings.read().assistants is access)
    qtbot.waitUntil(lambda: _chosen(page) == [name])
    assert any(words in text for text in _texts(page))


def test_a_permission_changed_elsewhere_is_shown(
    page: AssistantsPage, scheduler: Scheduler, qtbot: QtBot
) -> None:
    scheduler.settings.change(assistants="edit")
    page._link.load()
    qtbot.waitUntil(lambda: _chosen(page) == ["assistantsEditButton"])


def test_actions_of_assistants_are_listed_newest_first(
    page: AssistantsPage, scheduler: Scheduler, qtbot: QtBot
) -> None:
    qtbot.waitUntil(lambda: "No activity yet" in _texts(page))
    job_id = scheduler.add_job("<b>backup</b>", Every("1h"))
    with scheduler.acting_as(Actor.assistant("claude-code")):
        Assistant(scheduler).pause_job(job_id)
        Assistant(scheduler).resume_job(job_id)
    page.refresh()
    qtbot.waitUntil(lambda: "No activity yet" not in _texts(page))
    card = child(page, QFrame, "assistantActs")
    lines = [label.text() for label in card.findChildren(QLabel) if label.isVisible()]
    assert lines[0] == "<b>backup</b>: resumed it"
    assert lines[1].startswith("claude-code · ")
    assert lines[2] == "<b>backup</b>: paused it"


def test_an_act_appears_while_the_page_is_open(
    page: AssistantsPage, scheduler: Scheduler, qtbot: QtBot
) -> None:
    job_id = scheduler.add_job("backup", Every("1h"))
    Assistant(scheduler).pause_job(job_id)
    page._link.backend.changed.emit(Change(ChangeKind.JOB, job_id=job_id))
    qtbot.waitUntil(lambda: "backup: paused it" in _texts(page))


def test_the_snippet_is_copied_exactly(page: AssistantsPage) -> None:
    QGuiApplication.clipboard().setText("before")
    child(page, QPushButton, "snippetCopyButton").click()
    copied = QGuiApplication.clipboard().text()
    assert copied == child(page, QPlainTextEdit, "snippetText").toPlainText() == snippet()
    assert child(page, QLabel, "snippetCopied").text() == "✓ Copied"
    assert child(page, QPlainTextEdit, "snippetText").isReadOnly()


def test_missing_support_is_reported_with_the_install_command(
    page: AssistantsPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not child(page, QFrame, "mcpMissing").isVisible()
    monkeypatch.setattr(assistants, "is_installed", lambda: False)
    page.refresh()
    assert child(page, QFrame, "mcpMissing").isVisible()
    assert child(page, QLineEdit, "installText").text() == install_command()
    monkeypatch.setattr(assistants, "is_installed", lambda: True)
    page.refresh()
    assert not child(page, QFrame, "mcpMissing").isVisible()


def _server(executable: Path, **environment: str) -> dict[str, object]:
    found = json.loads(snippet(str(executable), environment))
    assert list(found) == ["mcpServers"]
    assert list(found["mcpServers"]) == ["halo"]
    server = found["mcpServers"]["halo"]
    assert isinstance(server, dict)
    return server


def _program(folder: Path, name: str) -> Path:
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o700)
    return path


def test_the_snippet_starts_the_halo_beside_this_python(tmp_path: Path) -> None:
    halo = _program(tmp_path, "halo")
    assert _server(_program(tmp_path, "python")) == {"command": str(halo), "args": ["mcp"]}


def test_without_a_halo_the_snippet_starts_the_module(tmp_path: Path) -> None:
    python = _program(tmp_path, "python")
    assert _server(python) == {"command": str(python), "args": ["-P", "-m", "halo_scheduler", "mcp"]}


def test_a_link_to_a_python_stays_in_its_environment(tmp_path: Path) -> None:
    for name in ("real", "venv"):
        (tmp_path / name).mkdir()
    _program(tmp_path / "real", "python")
    (tmp_path / "venv" / "python").symlink_to(tmp_path / "real" / "python")
    halo = _program(tmp_path / "venv", "halo")
    assert _server(tmp_path / "venv" / "python")["command"] == str(halo)


def test_the_data_folder_is_shown_only_if_it_was_chosen(tmp_path: Path) -> None:
    python = _program(tmp_path, "python")
    assert "env" not in _server(python, HALO_HOME="", XDG_DATA_HOME="", HOME="/home/me")
    strange = 'a "quoted" \\ näme'
    assert _server(python, HALO_HOME=strange)["env"] == {"HALO_HOME": os.path.abspath(strange)}  # noqa: PTH100


def test_another_data_folder_of_the_system_is_shown(tmp_path: Path) -> None:
    python = _program(tmp_path, "python")
    assert _server(python, XDG_DATA_HOME="/data", HALO_HOME="")["env"] == {"XDG_DATA_HOME": "/data"}
    both = {"HALO_HOME": "/halo", "XDG_DATA_HOME": "/data"}
    assert _server(python, **both)["env"] == both


def test_the_install_command_survives_a_blank_in_the_path() -> None:
    words = shlex.split(install_command("/opt/my python/bin/python"))
    assert words[:4] == ["/opt/my python/bin/python", "-m", "pip", "install"]
    assert words[4].startswith("mcp")


def test_a_page_that_fits_is_not_scrolled(page: AssistantsPage, qtbot: QtBot) -> None:
    content = page.widget()
    assert content is not None
    page.resize(560, 1_000)
    qtbot.waitUntil(lambda: content.height() == page.viewport().height() > 900)
    page.resize(560, content.heightForWidth(page.viewport().width()))
    qtbot.waitUntil(lambda: page.viewport().height() < 900)
    assert page.verticalScrollBar().maximum() == 0
    page.resize(560, page.height() - 20)
    qtbot.waitUntil(lambda: page.verticalScrollBar().maximum() > 0)
