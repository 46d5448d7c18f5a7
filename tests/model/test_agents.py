"""Agents: how they get their prompt, and which argument lists make no sense."""

from __future__ import annotations

from typing import Any

import pytest

from halo_scheduler import ScheduleError
from halo_scheduler.model.agents import PRESETS, Agent, Delivery


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
def test_the_arguments_tell_how_the_prompt_is_given(argv: list[str], delivery: Delivery) -> None:
    assert Agent(name="x", argv=tuple(argv)).delivery is delivery


def test_the_prompt_stands_where_its_sign_stood() -> None:
    agent = Agent(name="x", argv=("tool", "-p", "{prompt}", "again={prompt}", "{other}"))
    assert agent.command_line("a {prompt} b", "/f") == (
        "tool",
        "-p",
        "a {prompt} b",
        "again=a {prompt} b",
        "{other}",
    )


def test_the_file_stands_where_its_sign_stood() -> None:
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
def test_what_makes_no_sense_is_refused(fields: dict[str, Any], sentence: str) -> None:
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
