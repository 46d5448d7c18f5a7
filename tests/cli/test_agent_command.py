"""`halo agent` and `config`: settings from a terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from halo_scheduler import Manual, Prompt, ScheduleError, SchedulerError
from halo_scheduler.cli import halo
from halo_scheduler.model.settings import PRESETS, Agent, AssistantAccess, Settings
from halo_scheduler.service.scheduler import Scheduler


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


def _halo(*arguments: str) -> Result:
    return CliRunner().invoke(halo, arguments)


def _settings() -> Settings:
    with Scheduler.open() as scheduler:
        return scheduler.settings.read()


def test_agents_are_listed_with_the_way_their_prompt_takes() -> None:
    lines = _halo("agent", "list").output.splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["●", "codex", "gemini", "ollama"]
    assert "as an argument" in lines[3]
    listed = json.loads(_halo("agent", "list", "--json").output)
    assert listed[0] == {"name": "claude", "argv": ["claude", "-p"], "delivery": "stdin", "is_default": True}


def test_an_agent_is_added_and_changed_in_its_place() -> None:
    done = _halo("agent", "set", "mine", "--default", "--", "my-agent", "--file", "{prompt_file}")
    assert done.output == "added mine; prompt in a file\n"
    assert _settings().agents == (*PRESETS, Agent(name="mine", argv=("my-agent", "--file", "{prompt_file}")))
    assert _settings().default_agent == "mine"
    assert _halo("agent", "set", "claude", "--", "claude", "-p", "{prompt}").output == (
        "changed claude; prompt as an argument\n"
    )
    assert _settings().agents[0] == Agent(name="claude", argv=("claude", "-p", "{prompt}"))
    assert (len(_settings().agents), _settings().default_agent) == (5, "mine")


def test_an_agent_can_be_made_the_default() -> None:
    assert _halo("agent", "default", "codex").output == "codex is the default agent\n"
    assert _settings().default_agent == "codex"


def test_removing_an_agent_names_the_jobs_that_use_it() -> None:
    with Scheduler.open() as scheduler:
        scheduler.add_job("review", Manual(), Prompt(text="x", agent="codex"))
    done = _halo("agent", "remove", "codex", "--yes")
    assert done.stdout == "removed codex\n"
    assert "1 job still uses it: review" in done.stderr
    assert [found.name for found in _settings().agents] == ["claude", "gemini", "ollama"]


def test_the_default_agent_is_forgotten_only_when_it_is_the_last() -> None:
    assert "first choose another" in str(_halo("agent", "remove", "claude", "--yes").exception)
    for name in ("codex", "gemini", "ollama", "claude"):
        assert _halo("agent", "remove", name, "--yes").exit_code == 0
    assert "no agents" in _halo("agent", "list").output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["remove", "nobody"], "there is no agent named 'nobody' in the settings; known: claude"),
        (["default", "nobody"], "there is no agent named 'nobody'"),
        (["default", ""], "NAME: is empty"),
        (["set", "x", "--", ""], "the program is empty"),
        (["set", "x", "--", "{prompt}"], "the program cannot be the prompt"),
        (["set", "x", "--", "a", "{prompt}", "{prompt_file}"], "not both"),
        (["set", "x", "--", "a", "${secret:T}"], "secrets cannot be used here"),
        (["set", "x"], "Missing argument"),
    ],
)
def test_invalid_agents_are_refused_in_a_sentence(arguments: list[str], sentence: str) -> None:
    done = _halo("agent", *arguments)
    assert done.exit_code != 0
    assert sentence in f"{done.output} {done.exception}"
    assert isinstance(done.exception, SchedulerError | SystemExit)
    assert _settings() == Settings()


def test_a_setting_is_shown_and_changed() -> None:
    assert _halo("config", "get", "assistants_may_edit").output == "off\n"
    assert _halo("config", "set", "assistants_may_edit", "on").output == "assistants_may_edit = on\n"
    assert _settings() == Settings(assistants=AssistantAccess.EDIT)
    assert json.loads(_halo("config", "get", "assistants_may_edit", "--json").output) is True
    _halo("config", "set", "assistants_may_edit", "No")
    assert _settings() == Settings()


def test_all_settings_are_shown_but_the_agents() -> None:
    lines = _halo("config", "get").output.splitlines()
    assert "assistants = run" in lines
    assert "default_time_limit = 2h" in lines
    assert not any(line.startswith(("agents", "default_agent")) for line in lines)
    found = json.loads(_halo("config", "get", "--json").output)
    assert (found["max_concurrent"], found["assistants"], found["assistants_may_edit"]) == (5, "run", False)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("max_concurrent", "3", 3),
        ("default_time_limit", "none", None),
        ("theme", "dark", "dark"),
        ("assistants", "read", "read"),
    ],
)
def test_each_kind_of_setting_is_read(name: str, text: str, value: object) -> None:
    assert _halo("config", "set", name, text).exit_code == 0
    assert getattr(_settings(), name) == value


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["get", "asistants"], "did you mean 'assistants'?"),
        (["set", "assistants", "all"], "assistants: must be one of read, run, edit"),
        (["set", "assistants_may_edit", "maybe"], "must be on or off, not 'maybe'"),
        (["set", "max_concurrent", "many"], "must be a whole number, not 'many'"),
        (["set", "max_concurrent", "0"], "max_concurrent: must be between 1 and"),
        (["set", "theme", "pink"], "theme: must be one of"),
        (["set", "agents", "x"], "change agents with: halo agent set"),
    ],
)
def test_a_wrong_setting_is_refused_in_a_sentence(arguments: list[str], sentence: str) -> None:
    done = _halo("config", *arguments)
    assert sentence in f"{done.output} {done.exception}"
    assert isinstance(done.exception, ScheduleError | SystemExit)
    assert _settings() == Settings()
