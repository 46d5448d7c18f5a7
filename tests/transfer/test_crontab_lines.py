"""Percent signs in crontabs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_scheduler.transfer.crontab_lines import command_field, split_command

_SIGNS = st.text(st.sampled_from("ab \\%"), max_size=12)
_LINES = st.lists(_SIGNS, max_size=4).map(lambda lines: "".join(f"{line}\n" for line in lines))


@pytest.mark.parametrize(
    ("field", "command", "stdin"),
    [
        ("echo hello", "echo hello", ""),
        (r"date +\%F", "date +%F", ""),
        ("mail -s hi me%Dear me,%%bye", "mail -s hi me", "Dear me,\n\nbye\n"),
        ("cat%", "cat", ""),
        ("cat%%", "cat", "\n"),
        (r"cat%50\% off", "cat", "50% off\n"),
        # Two backslashes are a pair of their own: the sign after them ends the command.
        (r"echo \\%in", r"echo \\", "in\n"),
        (r"echo \n", r"echo \n", ""),
    ],
)
def test_percent_signs_are_read_as_cron_reads_them(field: str, command: str, stdin: str) -> None:
    assert split_command(field) == (command, stdin)


@given(_SIGNS, _LINES)
def test_written_lines_are_read_back(command: str, stdin: str) -> None:
    try:
        field = command_field(command, stdin)
    except ValueError:
        return
    assert "\n" not in field
    assert split_command(field) == (command, stdin)


@pytest.mark.parametrize(
    ("command", "stdin", "reason"),
    [
        ("a\nb", "", "several lines"),
        ("a\rb", "", "an editor would not show: U\\+000D"),
        ("a", "\x1b\n", "an editor would not show: U\\+001B"),
        ("echo \u202e", "", "U\\+202E RIGHT-TO-LEFT OVERRIDE"),
        ("echo \U000e0041", "", "U\\+E0041 TAG LATIN CAPITAL LETTER A"),
        (r"a \% b", "", "backslash before a percent sign"),
        ("a", "no end", "end the last line"),
        ("a\\", "in\n", "ends with a backslash"),
        ("a", "one\\\ntwo\n", "backslash at the end of a line"),
    ],
)
def test_lines_that_cannot_be_written_give_the_reason(command: str, stdin: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        command_field(command, stdin)
