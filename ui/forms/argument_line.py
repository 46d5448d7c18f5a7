"""A program and its arguments on one line, quoted as in a shell but not run by one."""

from __future__ import annotations

import shlex

from halo_scheduler.errors import ScheduleError

_SHELL_WORDS = frozenset({"|", "||", "&&", "&", ";", ">", ">>", "<", "<<", "2>", "2>&1", "&>"})
_PATTERN_SIGNS = frozenset("*?$`~")


def split_line(line: str) -> tuple[str, ...]:
    """Return the arguments of a line, or raise ScheduleError for an unclosed quote."""
    try:
        return tuple(shlex.split(line))
    except ValueError as error:
        fault = (
            "the line ends with a backslash" if "escaped" in str(error) else "a quotation mark isn't closed"
        )
        raise ScheduleError(f"can't read the arguments: {fault}", path="argv") from None


def join_line(arguments: tuple[str, ...]) -> str:
    """Return the line that splits into these arguments."""
    return shlex.join(arguments)


def shell_signs(line: str) -> list[str]:
    """Return the unquoted pipes, wildcards and variables of a line, which only a shell would interpret."""
    lexer = shlex.shlex(line, posix=False, punctuation_chars=False)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:
        return []
    found = [
        word
        for word in words
        if word in _SHELL_WORDS
        or (not word.startswith(("'", '"')) and not word.startswith("~/") and _PATTERN_SIGNS & set(word))
    ]
    return list(dict.fromkeys(found))
