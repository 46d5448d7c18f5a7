"""The syntax of systemd's unit files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from halo_scheduler.transfer.text_file import FileError, text_of

_MOST_SETTINGS = 10_000
_MOST_WORDS = 10_000
_LONGEST_LINE = 1_000_000
_SECTION = re.compile(r"\[([^\]]+)\]")
_SETTING = re.compile(r"([A-Za-z0-9-]+)\s*=\s*(.*)", re.DOTALL)
_WORD_SIGN = re.compile(r"""\s+|"|'|\\x[0-9a-fA-F]{2}|\\.|[^\s"'\\]+|\\""", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "s": " ", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


@dataclass(frozen=True, slots=True)
class Setting:
    """One assignment, and the line on which it stands."""

    value: str
    line: int


@dataclass(frozen=True, slots=True)
class UnitFile:
    """The settings of a unit by section and name, each in the order in which they were given."""

    settings: Mapping[tuple[str, str], tuple[Setting, ...]] = field(default_factory=dict)

    def all(self, section: str, name: str) -> tuple[Setting, ...]:
        """Return what was given for a setting that is a list; an empty one takes back those before it."""
        found = self.settings.get((section, name), ())
        start = max((index + 1 for index, setting in enumerate(found) if not setting.value), default=0)
        return found[start:]

    def last(self, section: str, name: str) -> Setting | None:
        """Return what counts for a setting that is there once."""
        found = self.all(section, name)
        return found[-1] if found else None

    @property
    def size(self) -> int:
        """How much it says."""
        return sum(len(setting.value) for settings in self.settings.values() for setting in settings)

    def names(self, section: str) -> Iterator[tuple[str, Setting]]:
        """Yield the names that a section sets, with the first line of each."""
        for (where, name), settings in self.settings.items():
            if where == section and settings[-1].value:
                yield name, settings[0]


def read_unit(content: bytes) -> UnitFile:
    """Read a unit; FileError says on which line it is none."""
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
            raise FileError(
                "this is no line of a unit file; it would be Name=value in a [Section]", line=number
            )
    return UnitFile({key: tuple(settings) for key, settings in found.items()})


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines without comments; one that ends with a backslash goes on in the next."""
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
    """Return the words of a setting, with quotes and escapes resolved as systemd does; ValueError if one is open."""
    return [word for word, _ in _words(text)]


def split_commands(text: str) -> list[list[str]]:
    """Return the words of each command of a setting: a semicolon that stands alone is between two of them."""
    commands: list[list[str]] = [[]]
    for word, raw in _words(text):
        if raw == ";":
            commands.append([])
        else:
            commands[-1].append(word)
    return [words for words in commands if words]


def _words(text: str) -> Iterator[tuple[str, str]]:
    """Yield each word as it is meant and as it stands there."""
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
