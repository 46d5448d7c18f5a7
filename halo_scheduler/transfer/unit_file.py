"""Parses systemd unit files and converts a service to a command."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.text import plain_line
from halo_scheduler.model import Command
from halo_scheduler.transfer.text_file import FileError, text_of

_MOST_SETTINGS = 10_000
_MOST_WORDS = 10_000
_LONGEST_LINE = 1_000_000
_SECTION = re.compile(r"\[([^\]]+)\]")
_SETTING = re.compile(r"([A-Za-z0-9-]+)\s*=\s*(.*)", re.DOTALL)
_WORD_SIGN = re.compile(r"""\s+|"|'|\\x[0-9a-fA-F]{2}|\\.|[^\s"'\\]+|\\""", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "s": " ", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_Part = TypeVar("_Part")
_SHELL = "/bin/sh"
_LONGEST_QUOTE = 80
_LONGEST_QUOTED = 1_000  # before non-text is removed
_LONGEST_CODE = 3
_MOST_VARIABLES = 1_000
_PREFIXES = "@-:+!|"
_SPECIFIER = re.compile(r"%(.)", re.DOTALL)
_VARIABLE = re.compile(r"\$(?:\{(?P<braced>\w+)\}|(?P<plain>\w+)|(?P<dollar>\$))", re.ASCII)
_EXEC = ("ExecStartPre", "ExecStart", "ExecStartPost")


@dataclass(frozen=True, slots=True)
class Setting:
    """One assignment and its line."""

    value: str
    line: int


@dataclass(frozen=True, slots=True)
class UnitFile:
    """The settings of a unit by section and name, each in the given order."""

    settings: Mapping[tuple[str, str], tuple[Setting, ...]] = field(default_factory=dict)

    def all(self, section: str, name: str) -> tuple[Setting, ...]:
        """Return the values of a list setting; an empty value clears those before it."""
        found = self.settings.get((section, name), ())
        start = max((index + 1 for index, setting in enumerate(found) if not setting.value), default=0)
        return found[start:]

    def last(self, section: str, name: str) -> Setting | None:
        """Return the effective value of a single-value setting."""
        found = self.all(section, name)
        return found[-1] if found else None

    @property
    def size(self) -> int:
        """The number of settings."""
        return sum(len(setting.value) for settings in self.settings.values() for setting in settings)

    def names(self, section: str) -> Iterator[tuple[str, Setting]]:
        """Yield the names that a section sets, with the first line of each."""
        for (where, name), settings in self.settings.items():
            if where == section and settings[-1].value:
                yield name, settings[0]


def read_unit(content: bytes) -> UnitFile:
    """Parse a unit. FileError names the line that is not valid."""
    section = ""
    found: dict[tuple[str, str], list[Setting]] = {}
    for count, (number, line) in enumerate(_logical_lines(text_of(content))):
        if count > _MOST_SETTINGS:
            raise FileError(f"the unit has more than {_MOST_SETTINGS} settings", line=number)
        if len(line) > _LONGEST_LINE:
            raise FileError(f"the line is longer than {_LONGEST_LINE} characters", line=number)
        if match := _SECTION.fullmatch(line):
            section = match[1]
        elif (match := _SETTING.fullmatch(line)) and section:
            found.setdefault((section, match[1]), []).append(Setting(match[2].strip(), number))
        else:
            raise FileError("this is not a unit file line: expected Name=value in a [Section]", line=number)
    return UnitFile({key: tuple(settings) for key, settings in found.items()})


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines without comments, with backslash continuations joined."""
    parts: list[str] = []
    began = 0
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        if not parts:
            began = number
        if line.startswith(("#", ";")) or (not line and not parts):
            continue
        if line.endswith("\\"):
            parts.append(line[:-1].rstrip())
            continue
        yield began, " ".join([*parts, line])
        parts = []
    if parts:
        yield began, " ".join(parts)


def split_words(text: str) -> list[str]:
    """Split a setting into words; resolve quotes and escapes as systemd does. ValueError for an open quote."""
    return [word for word, _ in _words(text)]


def split_commands(text: str) -> list[list[str]]:
    """Return the words of each command of a setting; a lone semicolon separates commands."""
    commands: list[list[str]] = [[]]
    for word, raw in _words(text):
        if raw == ";":
            commands.append([])
        else:
            commands[-1].append(word)
    return [words for words in commands if words]


def _words(text: str) -> Iterator[tuple[str, str]]:
    """Yield each word, resolved and as written."""
    if len(text.split(maxsplit=_MOST_WORDS)) > _MOST_WORDS:
        raise ValueError(f"there are more than {_MOST_WORDS} words")
    word: list[str] | None = None
    raw: list[str] = []
    quote = ""
    for sign in _WORD_SIGN.findall(text):
        if sign.isspace() and not quote:
            if word is not None:
                yield "".join(word), "".join(raw)
            word, raw = None, []
            continue
        word = [] if word is None else word
        raw.append(sign)
        if sign in {'"', "'"} and quote in {"", sign}:
            quote = "" if quote else sign
        else:
            word.append(_unescaped(sign))
    if quote:
        raise ValueError("a quote is not closed")
    if word is not None:
        yield "".join(word), "".join(raw)


def _unescaped(sign: str) -> str:
    if not sign.startswith("\\") or len(sign) == 1:
        return sign
    if sign.startswith("\\x") and len(sign) > len("\\x"):
        return bytes.fromhex(sign.removeprefix("\\x")).decode("latin-1")
    return _ESCAPES.get(sign[1], sign[1])


@dataclass(frozen=True, slots=True)
class _Step:
    """One program that a service runs."""

    words: tuple[str, ...]
    may_fail: bool
    fills_in: bool

    @property
    def needs_shell(self) -> bool:
        return self.may_fail or (self.fills_in and any("$" in word for word in self.words))


class ServiceReader:
    """Reads a service; `specifiers` maps %h, %u, %i and others to their values."""

    def __init__(self, unit: UnitFile, specifiers: Mapping[str, str]) -> None:
        self._unit = unit
        self._specifiers = {"%": "%", **specifiers}

    def command(self) -> Command:
        """Return the command. ScheduleError says why there is none."""
        steps = [
            self._step(words)
            for name in _EXEC
            for setting in self._unit.all("Service", name)
            for words in self._split(split_commands, setting.value)
        ]
        if not self._unit.all("Service", "ExecStart"):
            raise ScheduleError("its service has no ExecStart")
        surroundings = {
            "directory": self._directory(),
            "environment": self._environment(),
            "success_codes": self._success_codes(),
        }
        if len(steps) == 1 and not steps[0].needs_shell:
            return Command(argv=steps[0].words, **surroundings)  # type: ignore[arg-type]
        line = " && ".join(_shell_words(step) for step in steps)
        return Command(line=line, shell=_SHELL, **surroundings)  # type: ignore[arg-type]

    def _step(self, words: Sequence[str]) -> _Step:
        first = words[0].lstrip(_PREFIXES)
        prefixes = words[0].removesuffix(first)
        filled_in = [self.filled_in(word) for word in (first, *words[1:])]
        if "@" in prefixes and len(filled_in) > 1:
            del filled_in[1]  # argv[0] of the program
        if not first:
            raise ScheduleError("there is nothing to run")
        return _Step(tuple(filled_in), may_fail="-" in prefixes, fills_in=":" not in prefixes)

    def _split(self, split: Callable[[str], list[_Part]], text: str) -> list[_Part]:
        try:
            return split(text)
        except ValueError as error:
            raise ScheduleError(f"{error} in: {plain_line(text[:_LONGEST_QUOTED], _LONGEST_QUOTE)}") from None

    def filled_in(self, text: str) -> str:
        """Return a text with its specifiers replaced."""

        def fill_in(match: re.Match[str]) -> str:
            if match[1] not in self._specifiers:
                raise ScheduleError(f"only systemd knows the value of {match[0]}; write it out")
            return self._specifiers[match[1]]

        return _SPECIFIER.sub(fill_in, text)

    def _directory(self) -> str | None:
        setting = self._unit.last("Service", "WorkingDirectory")
        if setting is None:
            return None
        path = self.filled_in(setting.value.removeprefix("-"))
        return None if path == "~" else path

    def _environment(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for setting in self._unit.all("Service", "Environment"):
            for word in self._split(split_words, setting.value):
                name, _, value = self.filled_in(word).partition("=")
                found[name] = value
        if len(found) > _MOST_VARIABLES:
            raise ScheduleError(f"it sets more than {_MOST_VARIABLES} variables")
        return found

    def _success_codes(self) -> tuple[int, ...]:
        words = [word for one in self._unit.all("Service", "SuccessExitStatus") for word in one.value.split()]
        codes = {
            int(word) for word in words if word.isdigit() and word.isascii() and len(word) <= _LONGEST_CODE
        }
        return (0, *sorted(codes - {0}))


def _shell_words(step: _Step) -> str:
    words = " ".join(_shell_word(word) if step.fills_in else shlex.quote(word) for word in step.words)
    return f"{{ {words} || true; }}" if step.may_fail else words


def _shell_word(word: str) -> str:
    """Return a word for a shell, with variables expanded as systemd does."""
    if _VARIABLE.fullmatch(word) and _VARIABLE.fullmatch(word)["plain"]:  # type: ignore[index]
        return word  # one that stands alone is split into words
    parts: list[str] = []
    end = 0
    for match in _VARIABLE.finditer(word):
        parts += _quoted(word[end : match.start()])
        parts.append("'$'" if match["dollar"] else f'"${{{match["braced"]}}}"' if match["braced"] else "")
        parts[-1] = parts[-1] or shlex.quote(match[0])
        end = match.end()
    return "".join([*parts, *_quoted(word[end:])]) or "''"


def _quoted(text: str) -> Sequence[str]:
    return [shlex.quote(text)] if text else []
