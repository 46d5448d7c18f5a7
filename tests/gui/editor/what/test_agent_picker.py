"""Which agent gets the prompt, in the editor."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from editor_desk import FULL, Bench, Desk, opened_bench, prompt_of
from PySide6.QtWidgets import QComboBox
from pytestqt.qtbot import QtBot

from halo_scheduler import Prompt
from halo_scheduler.model.settings import Agent, Settings

_PYTHON = Agent(name="python", argv=(sys.executable, "-"))
_SETTINGS = Settings(
    agents=(
        _PYTHON,
        Agent(name="told", argv=("gemini-x", "-p", "{prompt}")),
        Agent(name="filed", argv=("reader-x", "--from={prompt_file}")),
    ),
    default_agent="python",
)


@pytest.fixture
def bench(tmp_path: Path, qtbot: QtBot) -> Iterator[Bench]:
    with opened_bench(tmp_path, qtbot) as found:
        yield found


def _open(bench: Bench, agent: str = "", settings: Settings = _SETTINGS) -> Desk:
    return bench.open(replace(FULL, action=Prompt(text="x", agent=agent)), settings=settings)


def _box(desk: Desk) -> QComboBox:
    return desk.find(QComboBox, "agentBox")


def _shown(desk: Desk) -> list[str]:
    box = _box(desk)
    return [box.itemText(row) for row in range(box.count())]


def test_an_agent_is_chosen(bench: Bench) -> None:
    desk = _open(bench)
    assert _shown(desk) == ["Default (python)", "python", "told", "filed"]
    _box(desk).setCurrentIndex(2)
    assert prompt_of(desk.save()).agent == "told"
    _box(desk).setCurrentIndex(0)
    assert not desk.editor.has_unsaved_changes()


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        ("", f"Runs {sys.executable} - with the prompt on standard input."),
        ("told", "Runs gemini-x -p {prompt}; {prompt} is replaced by the prompt, up to 100 KiB."),
        (
            "filed",
            "Runs reader-x '--from={prompt_file}'; {prompt_file} is replaced by the path of a file with the prompt.",
        ),
    ],
)
def test_the_command_and_the_way_of_the_prompt_are_shown(bench: Bench, agent: str, words: str) -> None:
    assert _open(bench, agent).label("agentHow") == words


def test_a_program_that_is_not_there_is_warned_of(bench: Bench) -> None:
    desk = _open(bench)
    assert desk.label("agentMissing") == ""
    _box(desk).setCurrentIndex(2)
    desk.settle()
    assert desk.label("agentMissing").startswith("gemini-x isn't installed or isn't on your PATH.")
    assert desk.can_save
    _box(desk).setCurrentIndex(1)
    desk.settle()
    assert desk.label("agentMissing") == ""


def test_an_agent_the_settings_no_longer_have_is_kept_and_refused(bench: Bench) -> None:
    desk = _open(bench, "gone")
    assert _box(desk).currentText() == "gone (not in the settings)"
    assert desk.error("agent").startswith("There is no agent named 'gone' in the settings; known: python")
    assert not desk.can_save
    _box(desk).setCurrentIndex(0)
    desk.settle()
    assert (desk.error("agent"), desk.can_save) == ("", True)
    # It can still be gone back to.
    assert "gone (not in the settings)" in _shown(desk)


def test_a_default_that_does_not_exist_is_reported(bench: Bench) -> None:
    desk = _open(bench, settings=replace(_SETTINGS, default_agent="nobody"))
    assert _shown(desk)[0] == "Default (nobody)"
    assert "the settings name no default agent that exists" in desk.error("agent").lower()


def test_without_a_default_agent_one_must_be_chosen(bench: Bench) -> None:
    desk = _open(bench, settings=replace(_SETTINGS, default_agent=""))
    assert desk.error("agent") == "Choose an agent here or set a default in the settings."
    _box(desk).setCurrentIndex(1)
    desk.settle()
    assert (desk.error("agent"), desk.can_save) == ("", True)


def test_without_any_agent_a_link_opens_the_settings(bench: Bench) -> None:
    desk = _open(bench, settings=Settings(agents=(), default_agent=""))
    assert desk.error("agent") == "No agents yet; add one in the settings."
    bench.change_settings(agents=(_PYTHON,), default_agent="python")
    desk.settle()
    assert desk.error("agent") == ""


def test_agents_that_are_set_up_meanwhile_can_be_chosen(bench: Bench) -> None:
    desk = _open(bench, "gone")
    bench.change_settings(agents=(_PYTHON, Agent(name="gone", argv=("x",))), default_agent="python")
    desk.settle()
    assert (_box(desk).currentText(), desk.error("agent")) == ("gone", "")
    assert not desk.editor.has_unsaved_changes()


def test_other_settings_change_nothing(bench: Bench) -> None:
    desk = bench.open(replace(FULL, action=Prompt(text="x", agent="codex")))
    before = _shown(desk)
    bench.change_settings(max_concurrent=7)
    assert (_shown(desk), _box(desk).currentText()) == (before, "codex")


def test_a_hostile_name_does_nothing(bench: Bench) -> None:
    name = "<b>&x</b> " + "y" * 150
    desk = _open(bench, name, Settings(agents=(Agent(name=name, argv=("z",)),), default_agent=name))
    assert len(_box(desk).currentText()) <= 60
    desk.write("name", "other")
    assert prompt_of(desk.save()).agent == name
