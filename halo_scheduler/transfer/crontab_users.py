"""The user that a line of a system crontab names before its command, told from a program."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable

# Those of system crontabs that are no programs too.
_USERS = frozenset(
    {
        "root",
        "www-data",
        "nobody",
        "daemon",
        "postgres",
        "mysql",
        "nagios",
        "munin",
        "ubuntu",
        "vagrant",
        "pi",
    }
)
# What a shell does by itself, as far as lines begin with it.
_SHELL_WORDS = frozenset(
    {
        *("case", "cd", "command", "echo", "eval", "exec", "exit", "export", "false", "for", "if", "kill"),
        *("printf", "pushd", "read", "set", "shopt", "source", "test", "time", "trap", "true", "type"),
        *("ulimit", "umask", "unset", "until", "wait", "while"),
    }
)
# Users may be in a directory elsewhere, and each is asked for.
_MOST_LOOKED_UP = 300
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\$?", re.ASCII)
_HEADER = re.compile(
    r"(?:\*|dow|wd|wday|weekday|day[ _-]of[ _-]week)\s+(?:user(?:[ _-]?name)?|who)\s+(?:command|cmd)",
    re.IGNORECASE,
)


def is_user(word: str) -> bool:
    """Tell whether a word is the name of a user rather than that of a program."""
    if word in _USERS:
        return True
    if sys.platform == "win32":
        return False
    import pwd  # noqa: PLC0415 - there is none on Windows

    try:
        pwd.getpwnam(word)
    except (KeyError, ValueError):
        return False
    return not is_program(word)


def is_program(word: str) -> bool:
    """Tell whether there is a program of that name here."""
    return shutil.which(word) is not None


class UserColumn:
    """Knows whether the lines of a crontab name users; a heading that says so settles it."""

    def __init__(
        self, *, is_user: Callable[[str], bool], is_program: Callable[[str], bool], is_system: bool
    ) -> None:
        # Of words that are too many to look up, none is taken for a user.
        self._is_user = _Lookup(is_user, otherwise=False)
        self._is_program = _Lookup(is_program, otherwise=True)
        self._is_system = is_system

    def look_at_comment(self, comment: str) -> None:
        """Take in what a comment says of the columns."""
        self._is_system = self._is_system or _HEADER.search(comment) is not None

    def user_of(self, command: str) -> str:
        """Return the user before a command; empty if there is none."""
        word, rest = _first_word(command)
        if not rest or not _NAME.fullmatch(word):
            return ""
        if word in _USERS:
            return word
        # No command begins like that: the word before it is a program with its options.
        if rest[0] in "-<>|&;":
            return ""
        is_user = self._is_user(word) or (self._is_system and not self._may_be_program(word))
        return word if is_user else ""

    def doubtful_user_of(self, command: str) -> str:
        """Return a word that is no program here and might be a user: what follows it looks like a command."""
        word, rest = _first_word(command)
        if not rest.startswith("/") or not _NAME.fullmatch(word) or self._may_be_program(word):
            return ""
        return word

    def _may_be_program(self, word: str) -> bool:
        return word in _SHELL_WORDS or self._is_program(word)


class _Lookup:
    """Answers a question for each word once, for the first words only."""

    def __init__(self, ask: Callable[[str], bool], *, otherwise: bool) -> None:
        self._ask = ask
        self._otherwise = otherwise
        self._answers: dict[str, bool] = {}

    def __call__(self, word: str) -> bool:
        if word not in self._answers:
            if len(self._answers) >= _MOST_LOOKED_UP:
                return self._otherwise
            self._answers[word] = self._ask(word)
        return self._answers[word]


def _first_word(command: str) -> tuple[str, str]:
    word, _, rest = command.replace("\t", " ").partition(" ")
    return word, rest.lstrip()
