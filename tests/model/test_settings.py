"""The settings: validated, stored as text, and never an obstacle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from machine import START, Bench

from halo_scheduler import Every, ScheduleError
from halo_scheduler.model import Notify
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.chat import ChatBot, ChatServiceName
from halo_scheduler.model.settings import (
    PRESETS,
    Agent,
    AssistantAccess,
    Delivery,
    QuietTime,
    Settings,
    Theme,
    Weekday,
)
from halo_scheduler.store.settings import MAX_CONCURRENT, NumberSetting
from halo_scheduler.store.store import Store

_CHANGED = {
    "theme": Theme.DARK,
    "start_hidden": True,
    "notify": Notify.ALL,
    "max_concurrent": 3,
    "default_time_limit": None,
    "runs_kept_per_job": 10,
    "runs_kept_days": 7,
    "output_kept_bytes": 0,
    "output_limit_bytes": 1 << 20,
    "autostart_asked": True,
    "closing_explained": True,
    "agents": (Agent(name="mine", argv=("agent", "--file", "{prompt_file}")),),
    "quiet_times": (QuietTime(name="Nights", group="web", days=(Weekday.MONDAY,), timezone="Asia/Tokyo"),),
    "default_agent": "mine",
    "assistants": AssistantAccess.READ,
    "webhooks": True,
    "webhook_port": 9_000,
    "webhook_address": "::1",
    "chat_bots": (ChatBot(name="family", service=ChatServiceName.SLACK, secret="A", permitted=("U01",)),),  # noqa: S106 - a name
}


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    found = Bench(tmp_path / "halo.db")
    yield found
    found.close()


def test_a_new_database_has_the_defaults(bench: Bench) -> None:
    assert bench.scheduler.settings.read() == Settings()


def test_every_setting_is_kept(bench: Bench) -> None:
    assert set(_CHANGED) == {field.name for field in fields(Settings)}
    changed = bench.scheduler.settings.change(**_CHANGED)
    assert changed == Settings(**_CHANGED)  # type: ignore[arg-type]  # one mapping for all kinds
    bench.crash()
    assert bench.scheduler.settings.read() == changed


def test_only_given_settings_are_changed(bench: Bench) -> None:
    bench.scheduler.settings.change(theme="light")
    assert bench.scheduler.settings.change(runs_kept_days=30) == Settings(
        theme=Theme.LIGHT, runs_kept_days=30
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"theme": "pink"}, "theme: must be one of system, light, dark"),
        ({"notify": "settings"}, "notify: the settings cannot follow themselves"),
        ({"notify": "some"}, "notify: must be one of"),
        ({"start_hidden": 1}, "start_hidden: must be true or false"),
        ({"max_concurrent": 0}, "max_concurrent: must be between 1 and 1000"),
        ({"max_concurrent": True}, "max_concurrent: must be a whole number"),
        ({"default_time_limit": "soon"}, "default_time_limit: "),
        ({"runs_kept_per_job": 0}, "runs_kept_per_job: "),
        ({"runs_kept_days": 0}, "runs_kept_days: "),
        ({"output_kept_bytes": -1}, "output_kept_bytes: "),
        ({"output_limit_bytes": (64 << 20) + 1}, "output_limit_bytes: "),
        ({"agents": (Agent(name="a", argv=("x",)),) * 2}, "agents: there are two agents named 'a'"),
        ({"agents": ("claude",)}, "agents[0]: must be an Agent"),
        ({"assistants_may_edit": "yes"}, "assistants_may_edit: must be true or false"),
        ({"assistants": "write"}, "assistants: must be one of read, run, edit"),
        ({"colour": "red"}, "colour: is not a known setting"),
    ],
)
def test_a_bad_setting_is_refused_and_nothing_is_stored(
    bench: Bench, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(ScheduleError) as caught:
        bench.scheduler.settings.change(**{"runs_kept_days": 5, **changes})
    assert str(caught.value).startswith(message)
    assert bench.scheduler.settings.read() == Settings()


@pytest.mark.parametrize("garbage", ["", "x", "-1", "1e9", "None", "99999999999999999999"])
def test_invalid_values_in_the_database_count_as_not_set(tmp_path: Path, garbage: str) -> None:
    store = Store.open(tmp_path / "halo.db", START)
    for field in fields(Settings):
        store.settings._set_text(field.name, garbage)
    found = store.settings.read()
    # An empty time limit is none at all: that is how it is written. And any word could name an agent.
    assert found.default_time_limit in (None, "2h")
    assert found.default_agent in (garbage, PRESETS[0].name)
    assert {
        field.name
        for field in fields(Settings)
        if getattr(found, field.name) != getattr(Settings(), field.name)
    } <= {"default_time_limit", "default_agent"}
    assert store.settings.number(NumberSetting("theme", 7)) == 7
    store.close()


def test_a_changed_limit_applies_to_the_engine_at_once(bench: Bench) -> None:
    bench.scheduler.settings.change(max_concurrent=1)
    for name in "ab":
        bench.scheduler.add_job(name, Every("1h"))
    assert len(bench.tick(3_600_000)) == 1
    bench.scheduler.settings.change(max_concurrent=2)
    assert len(bench.tick()) == 1


def test_a_number_that_is_none_is_the_default(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "halo.db", START)
    assert store.settings.number(MAX_CONCURRENT) == 5
    store.settings._set_text("max_concurrent", "many")
    assert store.settings.number(MAX_CONCURRENT) == 5
    store.settings.set_number(MAX_CONCURRENT, 9)
    assert store.settings.number(MAX_CONCURRENT) == 9
    store.close()


def test_a_change_is_reported(bench: Bench) -> None:
    heard: list[Change] = []
    bench.scheduler.subscribe(heard.append)
    bench.scheduler.settings.change(theme="dark")
    assert heard == [Change(ChangeKind.SETTINGS)]


@pytest.mark.parametrize("garbage", ["[" * 100_000, '[{"name": "a"}]', '{"name": "a"}', "[1]", "null"])
def test_stored_agents_that_make_no_sense_count_as_not_set(tmp_path: Path, garbage: str) -> None:
    store = Store.open(tmp_path / "halo.db", START)
    store.settings._set_text("agents", garbage)
    assert store.settings.read().agents == PRESETS
    store.close()


def test_a_default_agent_that_does_not_exist_is_named_when_it_is_wanted() -> None:
    settings = Settings(default_agent="gone")
    with pytest.raises(ScheduleError, match="the settings name no default agent that exists; known: claude"):
        settings.find_agent("")
    assert settings.find_agent("codex").name == "codex"


def test_an_agent_of_another_name_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(
        ScheduleError, match="there is no agent named 'cloude' in the settings; known: claude"
    ):
        Settings().find_agent("cloude")
    with pytest.raises(ScheduleError, match="known: none"):
        Settings(agents=()).find_agent("claude")


@pytest.mark.parametrize(
    ("argv", "delivery"),
    [
        (["tool"], Delivery.STDIN),
        (["tool", "-p", "prompt"], Delivery.STDIN),
        (["tool", "{prompt}"], Delivery.ARGUMENT),
        (["tool", "--text={prompt}", "-v"], Delivery.ARGUMENT),
        (["tool", "@{prompt_file}"], Delivery.FILE),
    ],
)
def test_the_arguments_show_how_the_prompt_is_given(argv: list[str], delivery: Delivery) -> None:
    assert Agent(name="x", argv=tuple(argv)).delivery is delivery


def test_the_prompt_replaces_its_placeholder() -> None:
    agent = Agent(name="x", argv=("tool", "-p", "{prompt}", "again={prompt}", "{other}"))
    assert agent.command_line("a {prompt} b", "/f") == (
        "tool",
        "-p",
        "a {prompt} b",
        "again=a {prompt} b",
        "{other}",
    )


def test_the_file_replaces_its_placeholder() -> None:
    agent = Agent(name="x", argv=("tool", "--read={prompt_file}"))
    assert agent.command_line("secret words", "/a b/c") == ("tool", "--read=/a b/c")


def test_one_that_reads_its_standard_input_has_its_own_arguments_only() -> None:
    agent = Agent(name="x", argv=("tool", "-p"))
    assert agent.command_line("words", "/f") == ("tool", "-p")


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"argv": ()}, "argv: the program is empty"),
        ({"argv": (" ",)}, "argv: the program is empty"),
        ({"argv": ("{prompt}",)}, "argv[0]: the program cannot be the prompt"),
        ({"argv": ("/x/{prompt_file}",)}, "argv[0]: the program cannot be the prompt"),
        (
            {"argv": ("x", "{prompt}", "{prompt_file}")},
            "argv: use either {prompt} or {prompt_file}, not both",
        ),
        ({"argv": ("x", "${secret:TOKEN}")}, "argv[1]: secrets cannot be used here; put it into the job's"),
        ({"argv": ("x", "a\0b")}, "argv[1]: "),
        ({"argv": "tool"}, "argv: "),
        ({"name": ""}, "name: "),
        ({"name": "a\nb"}, "name: "),
    ],
)
def test_invalid_settings_are_refused(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        Agent(**{"name": "x", "argv": ("tool",), **fields})
    assert sentence in str(caught.value)


def test_the_presets_have_names_of_their_own_and_take_long_prompts_where_they_can() -> None:
    assert [agent.name for agent in PRESETS] == ["claude", "codex", "gemini", "ollama"]
    assert [agent.argv[:2] for agent in PRESETS] == [
        ("claude", "-p"),
        ("codex", "exec"),
        ("gemini", "-p"),
        ("ollama", "run"),
    ]
    assert {agent.name for agent in PRESETS if agent.delivery is not Delivery.STDIN} == {"gemini"}


def test_new_jobs_follow_the_settings_and_requests_have_a_short_limit() -> None:
    settings = Settings(default_time_limit="3h")
    policy = settings.policy_of_new()
    assert (policy.time_limit, policy.notify) == ("3h", Notify.SETTINGS)
    assert settings.policy_of_new(is_http=True).time_limit == "5m"
