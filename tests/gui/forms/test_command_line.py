"""Command lines of jobs and agents: split and joined without a loss."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_scheduler import ScheduleError
from halo_scheduler.model.settings import PRESETS, Agent, Delivery
from ui.forms.command_line import agent_line, delivery_of, shell_signs, split_line, with_delivery


@given(st.lists(st.text(), max_size=8).map(tuple))
def test_joined_arguments_split_again(arguments: tuple[str, ...]) -> None:
    assert split_line(shlex.join(arguments)) == arguments


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("rsync -a /home", ("rsync", "-a", "/home")),
        ("echo 'a b' \"c d\" e\\ f", ("echo", "a b", "c d", "e f")),
        ("  spaced   out ", ("spaced", "out")),
        ("echo '' # not a comment", ("echo", "", "#", "not", "a", "comment")),
        ("", ()),
    ],
)
def test_quotes_are_read_as_in_a_shell(line: str, expected: tuple[str, ...]) -> None:
    assert split_line(line) == expected


@pytest.mark.parametrize(
    ("line", "fault"),
    [("echo 'a", "a quotation mark isn't closed"), ("echo \\", "the line ends with a backslash")],
)
def test_an_open_quote_is_refused_with_a_sentence(line: str, fault: str) -> None:
    with pytest.raises(ScheduleError) as raised:
        split_line(line)
    assert (raised.value.path, raised.value.message) == ("argv", f"can't read the arguments: {fault}")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("cat *.txt | wc -l", ["*.txt", "|"]),
        ("echo $HOME && ls", ["$HOME", "&&"]),
        ("echo '$HOME | x'", []),
        ('grep "a*b" file', []),
        ("~/bin/backup now", []),
        ("rsync -a /home /mnt", []),
        ("echo 'open", []),
    ],
)
def test_characters_that_only_a_shell_interprets_are_detected(line: str, expected: list[str]) -> None:
    assert shell_signs(line) == expected


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (("claude", "-p"), "claude -p"),
        (("gemini", "-p", "{prompt}"), "gemini -p {prompt}"),
        (("my agent", "--file={prompt_file}", ""), "'my agent' '--file={prompt_file}' ''"),
    ],
)
def test_a_line_splits_into_its_arguments(argv: tuple[str, ...], line: str) -> None:
    assert agent_line(argv) == line
    assert split_line(line) == argv


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("delivery", Delivery)
def test_the_chosen_way_is_how_the_agent_gets_its_prompt(preset: Agent, delivery: Delivery) -> None:
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
