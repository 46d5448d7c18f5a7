"""The agents in the settings: each change counts at once, and what is removed can be brought back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from finding import child
from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QMenu, QPushButton, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from halo_scheduler import Manual, Scheduler, SchedulerError
from halo_scheduler.clock import ManualClock
from halo_scheduler.host.login_environment import LoginEnvironment
from halo_scheduler.model import Prompt
from halo_scheduler.model.settings import PRESETS, Agent, Theme
from ui.backend.backend import Backend
from ui.settings.agents import AgentRow, AgentsPage
from ui.settings.page import SettingsLink
from ui.style.theme import Appearance
from ui.widgets.labels import WrappedText

_NOW = 1_800_000_000_000


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[Scheduler]:
    with Scheduler.open(tmp_path / "halo.db", clock=ManualClock(_NOW)) as made:
        yield made


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """The folder where jobs look for programs: of the presets only one is there."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "codex").write_text("#!/bin/sh\n")
    (folder / "codex").chmod(0o700)
    return folder


@pytest.fixture
def page(scheduler: Scheduler, programs: Path, qapp: QApplication, qtbot: QtBot) -> AgentsPage:
    appearance = Appearance(Theme.LIGHT, qapp)
    backend = Backend.inline(scheduler, ManualClock(_NOW), QObject(appearance))
    link = SettingsLink(backend, backend)
    made = AgentsPage(link, appearance, LoginEnvironment(lambda: {"PATH": str(programs)}))
    qtbot.addWidget(made)
    made.resize(560, 480)
    made.show()
    link.load()
    made.refresh()
    qtbot.waitUntil(lambda: _names(made) == [preset.name for preset in PRESETS])
    return made


def _rows(page: AgentsPage) -> list[AgentRow]:
    # A row that was just added is shown in the next turn; one that was taken away has been hidden.
    hidden = Qt.WidgetAttribute.WA_WState_ExplicitShowHide
    return [row for row in page.findChildren(AgentRow) if not (row.isHidden() and row.testAttribute(hidden))]


def _names(page: AgentsPage) -> list[str]:
    return [row.agent.name for row in _rows(page)]


def _row(page: AgentsPage, name: str) -> AgentRow:
    return next(row for row in _rows(page) if row.agent.name == name)


def _press(page: AgentsPage, name: str, agent: str) -> None:
    button = child(_row(page, agent), QWidget, name)
    assert isinstance(button, QPushButton | QToolButton)
    button.click()


def _about(page: AgentsPage, name: str) -> str:
    return child(_row(page, name), WrappedText, "agentAbout").text()


def _edit(page: AgentsPage, name: str) -> QLineEdit:
    return child(page, QLineEdit, name)


def _type(page: AgentsPage, name: str, line: str) -> None:
    for edit, text in ((_edit(page, "agentNameEdit"), name), (_edit(page, "agentLineEdit"), line)):
        edit.selectAll()
        QTest.keyClicks(edit, text) if text else QTest.keyClick(edit, Qt.Key.Key_Backspace)


def _error(page: AgentsPage, name: str) -> str:
    found = page.findChild(QLabel, name)
    return found.text() if isinstance(found, QLabel) and not found.isHidden() else ""


def _stored(scheduler: Scheduler) -> list[str]:
    return [agent.name for agent in scheduler.settings.read().agents]


# --- The list -------------------------------------------------------------------------------------


def test_each_agent_shows_how_it_gets_its_prompt(page: AgentsPage) -> None:
    assert _about(page, "claude") == "prompt via stdin"
    assert _about(page, "gemini") == "prompt as argument"


def test_a_program_that_jobs_would_not_find_is_reported(page: AgentsPage, qtbot: QtBot) -> None:
    def told() -> list[str]:
        return [row.agent.name for row in _rows(page) if child(row, QLabel, "agentMissing").isVisible()]

    qtbot.waitUntil(lambda: told() == ["claude", "gemini", "ollama"])


def test_jobs_are_counted_for_the_agent_that_works_for_them(
    page: AgentsPage, scheduler: Scheduler, qtbot: QtBot
) -> None:
    scheduler.add_job("one", Manual(), Prompt(text="do", agent="codex"))
    for name in ("two", "three"):
        scheduler.add_job(name, Manual(), Prompt(text="do"))
    page.refresh()
    qtbot.waitUntil(lambda: _about(page, "claude") == "prompt via stdin · 2 jobs")
    assert _about(page, "codex") == "prompt via stdin · 1 job"
    assert "one" in child(_row(page, "codex"), WrappedText, "agentAbout").toolTip()


def test_another_default_is_stored_at_once(page: AgentsPage, scheduler: Scheduler, qtbot: QtBot) -> None:
    _press(page, "defaultAgentButton", "ollama")
    qtbot.waitUntil(lambda: scheduler.settings.read().default_agent == "ollama")
    assert child(_row(page, "ollama"), QLabel, "agentIsDefault").isVisible()
    assert child(_row(page, "claude"), QPushButton, "defaultAgentButton").isVisible()


def test_agents_that_were_changed_elsewhere_are_shown(
    page: AgentsPage, scheduler: Scheduler, qtbot: QtBot
) -> None:
    scheduler.settings.change(agents=(Agent(name="mine", argv=("cat",)),))
    qtbot.waitUntil(lambda: _names(page) == ["mine"])


def test_a_change_made_elsewhere_keeps_typed_text(
    page: AgentsPage, scheduler: Scheduler, qtbot: QtBot
) -> None:
    page.activateWindow()
    _press(page, "editAgentButton", "codex")
    _type(page, "helper", "codex exec --fast -")
    mine = Agent(name="mine", argv=("cat",))
    scheduler.settings.change(agents=(*scheduler.settings.read().agents, mine))
    qtbot.waitUntil(lambda: "mine" in _names(page))
    assert _edit(page, "agentNameEdit").text() == "helper"
    assert _edit(page, "agentLineEdit").text() == "codex exec --fast -"
    assert page.focusWidget() is _edit(page, "agentNameEdit")
    child(page, QPushButton, "saveAgentButton").click()
    qtbot.waitUntil(lambda: _stored(scheduler) == ["claude", "helper", "gemini", "ollama", "mine"])


def test_a_name_that_is_taken_elsewhere_meanwhile_is_reported(
    page: AgentsPage, scheduler: Scheduler, qtbot: QtBot
) -> None:
    child(page, QPushButton, "addAgentButton").click()
    _type(page, "mine", "cat")
    assert child(page, QPushButton, "saveAgentButton").isEnabled()
    mine = Agent(name="mine", argv=("cat",))
    scheduler.settings.change(agents=(*scheduler.settings.read().agents, mine))
    qtbot.waitUntil(lambda: not child(page, QPushButton, "saveAgentButton").isEnabled())
    assert _edit(page, "agentNameEdit").text() == "mine"
    scheduler.settings.change(agents=PRESETS)
    qtbot.waitUntil(lambda: child(page, QPushButton, "saveAgentButton").isEnabled())


def test_a_change_made_elsewhere_leaves_the_keys_where_they_are(
    page: AgentsPage, scheduler: Scheduler, qtbot: QtBot
) -> None:
    child(_row(page, "gemini"), QToolButton, "editAgentButton").setFocus()
    scheduler.settings.change(agents=PRESETS[1:])
    qtbot.waitUntil(lambda: "claude" not in _names(page))
    assert page.focusWidget() is child(_row(page, "gemini"), QToolButton, "editAgentButton")


def test_without_agents_that_is_reported(page: AgentsPage, scheduler: Scheduler, qtbot: QtBot) -> None:
    scheduler.settings.change(agents=())
    qtbot.waitUntil(lambda: _names(page) == [])
    texts = [one.text() for one in page.findChildren(QLabel) if one.isVisible()]
    assert "Jobs with a prompt need an agent to run." in texts


def test_names_of_any_kind_break_nothing(page: AgentsPage, scheduler: Scheduler, qtbot: QtBot) -> None:
    hostile = "<b>x</b> & \u202e" + "W" * 150
    scheduler.settings.change(agents=(Agent(name=hostile, argv=("/" + "p" * 3_000, *["--x"] * 500)),))
    qtbot.waitUntil(lambda: _names(page) == [hostile])
    row = _rows(page)[0]
    assert row.minimumSizeHint().width() < 400
    shown = child(row, WrappedText, "agentName").text()
    assert shown.startswith("<b>x</b> & ")
    assert "\u202e" not in shown


# --- Adding and changing --------------------------------------------------------------------------


def test_an_agent_is_added_at_the_end(page: AgentsPage, scheduler: Scheduler, qtbot: QtBot) -> None:
    child(page, QPushButton, "addAgentButton").click()
    _type(page, "local", "llama --file {prompt_file} 'two words'")
    child(page, QPushButton, "saveAgentButton").click()
    qtbot.waitUntil(lambda: len(_stored(scheduler)) == len(PRESETS) + 1)
    assert scheduler.settings.read().agents[-1] == Agent(
        name="local", argv=("llama", "--file", "{prompt_file}", "two words")
    )
    assert scheduler.settings.read().default_agent == "claude"
    qtbot.waitUntil(lambda: not _edit(page, "agentNameEdit").isVisible())
    assert _names(page)[-1] == "local"


def test_the_first_of_all_agents_is_the_default(page: AgentsPage, scheduler: Scheduler, qtbot: QtBot) -> None:
    scheduler.settings.change(agents=())
    qtbot.waitUntil(lambda: _names(page) == [])
    child(page, QPushButton, "addAgentButton").click()
    _type(page, "mine", "cat")
    QTest.keyClick(_edit(page, "agentLineEdit"), Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: scheduler.settings.read().default_agent == "mine")


def test_an_agent_is_changed_in_its_place(page: AgentsPage, scheduler: Scheduler, qtbot: QtBot) -> None:
    _press(page, "editAgentButton", "claude")
    assert _edit(page, "agentLineEdit").text() == "claude -p"
    _type(page, "claude", "claude -p --model opus")
    child(page, QPushButton, "saveAgentButton").click()
    qtbot.waitUntil(lambda: scheduler.settings.read().agents[0].argv[-1] == "opus")
    assert _stored(scheduler) == [preset.name for preset in PRESETS]


def test_the_default_stays_the_default_under_another_name(
    page: AgentsPage, scheduler: Scheduler, qtbot: QtBot
) -> None:
    _press(page, "editAgentButton", "claude")
    _type(page, "writer", "claude -p")
    child(page, QPushButton, "saveAgentButton").click()
    qtbot.waitUntil(lambda: _stored(scheduler)[0] == "writer")
    assert scheduler.settings.read().default_agent == "writer"


def test_jobs_that_lose_an_agent_by_a_rename_are_counted(
    page: AgentsPage, scheduler: Scheduler, qtbot: QtBot
) -> None:
    scheduler.add_job("one", Manual(), Prompt(text="do", agent="codex"))
    page.refresh()
    qtbot.waitUntil(lambda: "1 job" in _about(page, "codex"))
    _press(page, "editAgentButton", "codex")
    _type(page, "coder", "codex exec -")
    texts = [one.text() for one in page.findChildren(QLabel) if one.isVisible()]
    assert "1 job uses the name “codex” and won't find this agent anymore." in texts


@pytest.mark.parametrize(
    ("name", "line", "field", "sentence"),
    [
        ("codex", "cat", "agentNameEditError", "Another agent has this name."),
        ("", "cat", "agentNameEditError", "Enter a name."),
        ("mine", "", "agentLineError", "Enter a program."),
        ("mine", "cat 'x", "agentLineError", "Can't read the arguments: a quotation mark isn't closed."),
        (
            "mine",
            "cat {prompt} {prompt_file}",
            "agentLineError",
            "Use either {prompt} or {prompt_file}, not both.",
        ),
        (
            "mine",
            "{prompt} -v",
            "agentLineError",
            "The program cannot be the prompt; put it into an argument.",
        ),
        ("mine", "cat ${secret:TOKEN}", "agentLineError", "put it into the job's environment"),
    ],
)
def test_errors_are_shown_beside_their_field_while_typing(
    page: AgentsPage, name: str, line: str, field: str, sentence: str
) -> None:
    _press(page, "editAgentButton", "claude")
    _type(page, name, line)
    assert sentence in _error(page, field)
    assert not child(page, QPushButton, "saveAgentButton").isEnabled()
    other = {"agentNameEditError", "agentLineError"} - {field}
    assert _error(page, other.pop()) == ""


def test_an_empty_form_shows_no_error_before_typing(page: AgentsPage) -> None:
    child(page, QPushButton, "addAgentButton").click()
    assert _error(page, "agentNameEditError") == _error(page, "agentLineError") == ""
    assert not child(page, QPushButton, "saveAgentButton").isEnabled()
    _type(page, "mine", "c")
    assert _error(page, "agentNameEditError") == _error(page, "agentLineError") == ""
    QTest.keyClick(_edit(page, "agentLineEdit"), Qt.Key.Key_Backspace)
    assert _error(page, "agentLineError") == "Enter a program."


def test_choosing_how_the_prompt_comes_rewrites_the_line(page: AgentsPage) -> None:
    _press(page, "editAgentButton", "claude")
    child(page, QPushButton, "agentDelivery_argument").click()
    assert _edit(page, "agentLineEdit").text() == "claude -p {prompt}"
    child(page, QPushButton, "agentDelivery_file").click()
    assert _edit(page, "agentLineEdit").text() == "claude -p {prompt_file}"
    child(page, QPushButton, "agentDelivery_stdin").click()
    assert _edit(page, "agentLineEdit").text() == "claude -p"


def test_typing_the_sign_of_the_prompt_chooses_how_it_comes(page: AgentsPage) -> None:
    _press(page, "editAgentButton", "claude")
    _type(page, "claude", "claude -p {prompt}")
    assert child(page, QPushButton, "agentDelivery_argument").isChecked()


def test_signs_that_only_a_shell_would_read_are_reported(page: AgentsPage) -> None:
    child(page, QPushButton, "addAgentButton").click()
    _type(page, "mine", "cat {prompt_file}")
    assert _error(page, "agentSigns") == ""
    _type(page, "mine", "cat | tee log")
    assert _error(page, "agentSigns") == "“|” is passed literally: no shell is used."


def test_escape_gives_up_the_form_and_changes_nothing(page: AgentsPage, scheduler: Scheduler) -> None:
    _press(page, "editAgentButton", "claude")
    _type(page, "other", "cat")
    QTest.keyClick(_edit(page, "agentNameEdit"), Qt.Key.Key_Escape)
    assert not _edit(page, "agentNameEdit").isVisible()
    assert _stored(scheduler)[0] == "claude"


# --- Presets --------------------------------------------------------------------------------------


def test_only_presets_that_are_missing_can_be_added(
    page: AgentsPage, scheduler: Scheduler, qtbot: QtBot
) -> None:
    assert not child(page, QPushButton, "addPresetButton").isVisible()
    scheduler.settings.change(agents=(PRESETS[0],))
    qtbot.waitUntil(lambda: _names(page) == ["claude"])
    menu = child(page, QMenu, "presetMenu")
    assert [action.objectName() for action in menu.actions()] == [
        "preset-codex",
        "preset-gemini",
        "preset-ollama",
    ]
    child(menu, QAction, "preset-gemini").trigger()
    qtbot.waitUntil(lambda: _stored(scheduler) == ["claude", "gemini"])
    assert scheduler.settings.read().agents[1] == PRESETS[2]


# --- Removing -------------------------------------------------------------------------------------


def test_an_agent_is_removed_at_once_and_brought_back_to_its_place(
    page: AgentsPage, scheduler: Scheduler, qtbot: QtBot
) -> None:
    _press(page, "removeAgentButton", "codex")
    qtbot.waitUntil(lambda: _stored(scheduler) == ["claude", "gemini", "ollama"])
    assert child(page, WrappedText, "removedText").text() == "codex removed."
    child(page, QPushButton, "undoRemoveButton").click()
    qtbot.waitUntil(lambda: _stored(scheduler) == ["claude", "codex", "gemini", "ollama"])
    assert not child(page, QPushButton, "undoRemoveButton").isVisible()


def test_a_removed_default_is_followed_by_the_first_and_comes_back_as_the_default(
    page: AgentsPage, scheduler: Scheduler, qtbot: QtBot
) -> None:
    _press(page, "removeAgentButton", "claude")
    qtbot.waitUntil(lambda: scheduler.settings.read().default_agent == "codex")
    assert child(page, WrappedText, "removedText").text() == "claude removed. The default is now codex."
    child(page, QPushButton, "undoRemoveButton").click()
    qtbot.waitUntil(lambda: scheduler.settings.read().default_agent == "claude")


def test_jobs_that_are_left_without_their_agent_are_named(
    page: AgentsPage, scheduler: Scheduler, qtbot: QtBot
) -> None:
    for name in "abcd":
        scheduler.add_job(name, Manual(), Prompt(text="do", agent="codex"))
    page.refresh()
    qtbot.waitUntil(lambda: "4 jobs" in _about(page, "codex"))
    _press(page, "removeAgentButton", "codex")
    assert child(page, WrappedText, "removedText").text() == (
        "codex removed. These jobs have no agent anymore: a, b, c, …."
    )


def test_two_removals_in_a_row_know_of_each_other(
    page: AgentsPage, scheduler: Scheduler, qtbot: QtBot
) -> None:
    _press(page, "removeAgentButton", "codex")
    _press(page, "removeAgentButton", "gemini")
    qtbot.waitUntil(lambda: _stored(scheduler) == ["claude", "ollama"])
    child(page, QPushButton, "undoRemoveButton").click()
    qtbot.waitUntil(lambda: _stored(scheduler) == ["claude", "gemini", "ollama"])


def test_a_removed_agent_can_be_restored_while_the_page_is_open(page: AgentsPage) -> None:
    _press(page, "removeAgentButton", "codex")
    page.hide()
    page.show()
    assert not child(page, QPushButton, "undoRemoveButton").isVisible()


def test_a_refused_change_is_reported_and_taken_back(
    page: AgentsPage, scheduler: Scheduler, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_changes: object) -> None:
        raise SchedulerError("the disk is full")

    monkeypatch.setattr(scheduler.settings, "change", refuse)
    _press(page, "removeAgentButton", "codex")
    qtbot.waitUntil(lambda: _error(page, "agentsError") == "The disk is full")
    assert "codex" in _names(page)
    assert not child(page, QPushButton, "undoRemoveButton").isVisible()
