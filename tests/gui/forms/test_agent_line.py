"""An agent's command line as it is typed."""

from __future__ import annotations

import pytest

from halo_scheduler.model.agents import PRESETS, Agent, Delivery
from ui.forms.agent_line import agent_line, delivery_of, with_delivery
from ui.forms.argument_line import split_line


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (("claude", "-p"), "claude -p"),
        (("gemini", "-p", "{prompt}"), "gemini -p {prompt}"),
        (("my agent", "--file={prompt_file}", ""), "'my agent' '--file={prompt_file}' ''"),
    ],
)
def test_a_line_splits_into_what_it_was_made_of(argv: tuple[str, ...], line: str) -> None:
    assert agent_line(argv) == line
    assert split_line(line) == argv


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("delivery", Delivery)
def test_whatever_way_is_chosen_is_the_way_the_agent_gets_its_prompt(
    preset: Agent, delivery: Delivery
) -> None:
    changed = with_delivery(preset.argv, delivery)
    assert Agent(name="a", argv=changed).delivery is delivery
    assert delivery_of(changed) is delivery


@pytest.mark.parametrize(
    ("argv", "delivery", "changed"),
    [
        (("a", "-p"), Delivery.ARGUMENT, ("a", "-p", "{prompt}")),
        (("a", "--text={prompt}", "-v"), Delivery.FILE, ("a", "--text={prompt_file}", "-v")),
        (("a", "{prompt_file}", "-v"), Delivery.ARGUMENT, ("a", "{prompt}", "-v")),
        (("a", "--text={prompt}", "-v"), Delivery.STDIN, ("a", "-v")),
        (("a", "{prompt}", "{prompt_file}"), Delivery.STDIN, ("a",)),
        (("a", "-p"), Delivery.STDIN, ("a", "-p")),
        ((), Delivery.ARGUMENT, ()),
    ],
)
def test_the_prompt_stays_where_it_stood_or_comes_last(
    argv: tuple[str, ...], delivery: Delivery, changed: tuple[str, ...]
) -> None:
    assert with_delivery(argv, delivery) == changed
