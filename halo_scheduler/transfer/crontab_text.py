"""The rules of the command field of a crontab: what a percent sign means, and how one is written.

These are Vixie cron's, which Debian's cron and cronie share: the first % that has no backslash before it ends the
command, what follows is its standard input, and every further % in it is a line end.
"""

from __future__ import annotations

import re

from halo_scheduler.grammar.text import hidden_words

_UP_TO_PERCENT = re.compile(r"(?:[^\\%]++|\\.)*+\\?", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_INPUT_PERCENT = re.compile(r"\\?%")
_ODD_BACKSLASHES = re.compile(r"(?<!\\)(?:\\\\)*\\%")


def split_command(field: str) -> tuple[str, str]:
    """Return the command and the standard input that a command field stands for."""
    if "%" not in field:
        return field, ""
    match = _UP_TO_PERCENT.match(field)
    end = 0 if match is None else match.end()
    return _ESCAPED.sub(_unescaped, field[:end]), _read_input(field[end + 1 :])


def _unescaped(match: re.Match[str]) -> str:
    return "%" if match[1] == "%" else match[0]


def _read_input(text: str) -> str:
    """Return the lines of standard input; cron ends the last one if it is not."""
    # Here a backslash counts that stands before the percent sign, whatever is before it.
    lines = _INPUT_PERCENT.sub(lambda match: "\n" if match[0] == "%" else "%", text)
    return lines if lines.endswith("\n") or not lines else f"{lines}\n"


def command_field(command: str, stdin: str = "") -> str:
    """Return how a command and its standard input are written; ValueError says why they cannot be."""
    if "\n" in command:
        raise ValueError("its command has several lines")
    if words := hidden_words(command) or hidden_words(stdin):
        raise ValueError(f"it has characters that an editor would not show: {words}")
    if _ODD_BACKSLASHES.search(command):
        raise ValueError("its command has a backslash before a percent sign")
    if stdin and not stdin.endswith("\n"):
        raise ValueError("cron would end the last line of its standard input")
    if stdin and _odd_end(command):
        raise ValueError("its command ends with a backslash")
    written = command.replace("%", r"\%")
    if not stdin:
        return written
    # Cron ends the last line by itself, but not one that is empty.
    lines = stdin if stdin == "\n" or stdin.endswith("\n\n") else stdin.removesuffix("\n")
    if "\\\n" in lines:
        raise ValueError("its standard input has a backslash at the end of a line")
    return written + "%" + lines.replace("%", r"\%").replace("\n", "%")


def _odd_end(command: str) -> bool:
    return (len(command) - len(command.rstrip("\\"))) % 2 == 1
