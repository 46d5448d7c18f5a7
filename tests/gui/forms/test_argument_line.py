"""Arguments on one line: split and joined without a loss."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_scheduler import ScheduleError
from ui.forms.argument_line import join_line, shell_signs, split_line


@given(st.lists(st.text(), max_size=8).map(tuple))
def test_what_is_joined_splits_again(arguments: tuple[str, ...]) -> None:
    assert split_line(join_line(arguments)) == arguments


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
def test_what_only_a_shell_would_act_upon_is_noticed(line: str, expected: list[str]) -> None:
    assert shell_signs(line) == expected
