"""Options in titled sections, and their values: texts from files, and fields that keep theirs without an option."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.english import shown
from halo_scheduler.grammar.interval import parse_interval
from halo_scheduler.model.jobs import MOST_INPUT_BYTES

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    AnyValue = TypeVar("AnyValue", bound=DataclassInstance)

AnyCommand = TypeVar("AnyCommand", bound=Callable[..., Any])
_OTHERS = "Options"
NONE = "none"
"""The word that clears a value."""
Fields = Mapping[str, tuple[str, Callable[[Any], Any]]]
"""For each option, the field it sets and the function that reads its text."""
OptionsByField = Mapping[str, tuple[str, ...]]
"""For each field path, the options that set it."""
_SIZE = re.compile(r"([0-9]{1,12})\s*([KM]?)B?")
_SIZE_SHIFTS = {"": 0, "K": 10, "M": 20}
_INDEX = re.compile(r"\[[0-9]+\]")


class SectionOption(click.Option):
    """An option in a section; `default_words` is shown for commands that create a job."""

    def __init__(self, *names: Any, section: str, default_words: str = "", **attributes: Any) -> None:
        super().__init__(*names, **attributes)
        self.section = section
        self.default_words = default_words

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        record = super().get_help_record(ctx)
        if record is None or not self.default_words or not getattr(ctx.command, "creates_job", True):
            return record
        return record[0], f"{record[1]} [{self.default_words}]"


class SectionCommand(click.Command):
    """A command whose help lists the options by section."""

    def __init__(self, *arguments: Any, creates_job: bool = True, **attributes: Any) -> None:
        super().__init__(*arguments, **attributes)
        self.creates_job = creates_job

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        options = [parameter for parameter in self.get_params(ctx) if isinstance(parameter, click.Option)]
        for option in sorted(options, key=lambda option: not isinstance(option, SectionOption)):
            record = option.get_help_record(ctx)
            if record is not None:
                sections.setdefault(getattr(option, "section", _OTHERS), []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


def with_options(command: AnyCommand, options: Sequence[Callable[[AnyCommand], AnyCommand]]) -> AnyCommand:
    """Add options to a command, in the order of the list."""
    for option in reversed(options):
        command = option(command)
    return command


def choice_of(words: type[StrEnum]) -> click.Choice[str]:
    """Return the values of an enum as choices."""
    return click.Choice([word.value for word in words])


def text_of_stdin(what: str) -> str:
    """Return all of standard input."""
    return _decoded(what, "standard input", sys.stdin.buffer.read())


def text_of_file(what: str, path: str) -> str:
    """Return all of a file."""
    try:
        content = Path(path).expanduser().read_bytes()
    except OSError as error:
        raise click.UsageError(f"cannot read {what}: {error}") from None
    return _decoded(what, path, content)


def input_bytes(given: str) -> str | bytes:
    """Return the input of a run: the text itself, of @FILE its content, of - standard input.

    Reading stops as soon as the input is too long.
    """
    if given == "-":
        return sys.stdin.buffer.read(MOST_INPUT_BYTES + 1)
    if not given.startswith("@"):
        return given
    try:
        with Path(given[1:]).expanduser().open("rb") as file:
            return file.read(MOST_INPUT_BYTES + 1)
    except OSError as error:
        raise click.UsageError(f"--input: cannot read the file: {error}") from None


def _decoded(what: str, place: str, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise click.UsageError(f"cannot read {what}: {place} is not UTF-8 text") from None


def whole_or_none(text: str) -> int | str:
    """Read a whole number, or "none"."""
    return text if text == NONE else click.INT(text)


def count_up_to(most: int) -> Callable[[str], int]:
    """Return a reader of whole numbers from 1 to `most`."""

    def count(text: str) -> int:
        number: int = click.INT(text)
        if not 1 <= number <= most:
            raise click.BadParameter(f"must be between 1 and {most}, not {number}")
        return number

    return count


def number_or_none(text: str) -> float | str:
    """Read a number, or "none"."""
    return text if text == NONE else click.FLOAT(text)


def size_or_none(text: str) -> int | str:
    """Read a number of bytes, like 500, 64K or 2M, or "none"."""
    if text == NONE:
        return text
    match = _SIZE.fullmatch(text.strip().upper())
    if match is None:
        raise click.BadParameter(f'write a size like 64K or 2M, or "none", not {shown(text)}')
    return int(match[1]) << _SIZE_SHIFTS[match[2]]


def is_given(value: object) -> bool:
    """Tell whether an option was given; an empty text and a negative flag count."""
    return value is not None and value != ()


def chosen(given: Mapping[str, Any], fields: Fields) -> dict[str, Any]:
    """Return the values of the fields whose options were given."""
    found: dict[str, Any] = {}
    for name, (field, read) in fields.items():
        if is_given(given[name]):
            with under(field):
                found[field] = read(given[name])
    return found


def changed(before: AnyValue, given: Mapping[str, Any], fields: Fields) -> AnyValue:
    """Return a value with the fields replaced whose options were given."""
    return replace(before, **chosen(given, fields))


def as_it_is(value: Any) -> Any:
    """Return the value unchanged."""
    return value


def or_none(value: Any) -> Any:
    """Return the value unchanged, or None for "none"."""
    return None if value == NONE else value


def interval_or_none(text: str) -> int | None:
    """Return the milliseconds of an interval, or None for "none"."""
    return None if text == NONE else parse_interval(text)


def lasting_path(path: str) -> str:
    """Return an absolute path, because jobs run in another directory; ~ is kept."""
    return path if path.startswith("~") or not path.strip() else str(Path(path).absolute())


def pairs(option: str, separator: str, texts: Sequence[str]) -> dict[str, str]:
    """Return the names and values of texts like NAME=VALUE."""
    found: dict[str, str] = {}
    for text in texts:
        name, has_sign, value = text.partition(separator)
        if not has_sign:
            raise click.UsageError(f"{option}: {text!r} has no {separator!r}")
        found[name.strip()] = value.strip() if separator == ":" else value
    return found


def numbers(option: str, text: str) -> tuple[int, ...]:
    """Return comma-separated whole numbers."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise click.UsageError(f"{option}: write whole numbers separated by commas, not {text!r}") from None


@contextmanager
def under(key: str) -> Iterator[None]:
    """Put `key` in front of the path of a refusal, so that the path is complete from the job down."""
    try:
        yield
    except ScheduleError as error:
        raise error.under(key) from None


@contextmanager
def naming_options(options: OptionsByField, given: Mapping[str, Any]) -> Iterator[None]:
    """Name the option in a refusal instead of the field: the user typed `--timeout`, not `policy.time_limit`."""
    given = dict(given)
    try:
        yield
    except ScheduleError as error:
        error.path = _option_of(error.path, options, given)
        raise


def _option_of(path: str, options: OptionsByField, given: Mapping[str, Any]) -> str:
    """Return the option that set a field; of several, the one that was given."""
    field = _INDEX.sub("", path)
    while field and field not in options:
        field = field.rpartition(".")[0]
    if not field:
        return path
    names = options[field]
    return next((name for name in names if is_given(given.get(name[2:].replace("-", "_")))), names[-1])
