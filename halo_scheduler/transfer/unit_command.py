"""What a systemd service runs, as a command of ours."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.text import plain_line
from halo_scheduler.model import Command
from halo_scheduler.transfer.unit_file import UnitFile, split_commands, split_words

_Part = TypeVar("_Part")
_SHELL = "/bin/sh"
_LONGEST_QUOTE = 80
_LONGEST_QUOTED = 1_000  # before what is no text is taken out of it
_LONGEST_CODE = 3
_MOST_VARIABLES = 1_000
_PREFIXES = "@-:+!|"
_SPECIFIER = re.compile(r"%(.)", re.DOTALL)
_VARIABLE = re.compile(r"\$(?:\{(?P<braced>\w+)\}|(?P<plain>\w+)|(?P<dollar>\$))", re.ASCII)
_EXEC = ("ExecStartPre", "ExecStart", "ExecStartPost")


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
    """Reads a service; `specifiers` are what %h, %u, %i and their like stand for."""

    def __init__(self, unit: UnitFile, specifiers: Mapping[str, str]) -> None:
        self._unit = unit
        self._specifiers = {"%": "%", **specifiers}

    def command(self) -> Command:
        """Return the command; ScheduleError says why there is none."""
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
            del filled_in[1]  # what the program is to be called
        if not first:
            raise ScheduleError("there is nothing to run")
        return _Step(tuple(filled_in), may_fail="-" in prefixes, fills_in=":" not in prefixes)

    def _split(self, split: Callable[[str], list[_Part]], text: str) -> list[_Part]:
        try:
            return split(text)
        except ValueError as error:
            raise ScheduleError(f"{error} in: {plain_line(text[:_LONGEST_QUOTED], _LONGEST_QUOTE)}") from None

    def filled_in(self, text: str) -> str:
        """Return a text with its specifiers filled in."""

        def fill_in(match: re.Match[str]) -> str:
            if match[1] not in self._specifiers:
                raise ScheduleError(f"what {match[0]} stands for is known to systemd only; write it out")
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
    """Return a word for a shell, in which variables are filled in as systemd does it."""
    if _VARIABLE.fullmatch(word) and _VARIABLE.fullmatch(word)["plain"]:  # type: ignore[index]
        return word  # one that stands alone becomes as many words as it has
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
