"""Turn the options of a command line into the fields of a value; fields without an option keep their value."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.interval import parse_interval

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    AnyValue = TypeVar("AnyValue", bound=DataclassInstance)

NONE = "none"
"""The word that clears a value."""

Fields = Mapping[str, tuple[str, Callable[[Any], Any]]]
"""For each option, the field it sets and the function that reads its text."""

OptionsByField = Mapping[str, tuple[str, ...]]
"""For each field path, the options that set it."""

_INDEX = re.compile(r"\[[0-9]+\]")


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
