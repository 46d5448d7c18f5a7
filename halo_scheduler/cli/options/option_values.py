"""What was given on a command line, put into the values it is for; what was not given stays as it was."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from halo_scheduler.grammar.interval import parse_interval

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    AnyValue = TypeVar("AnyValue", bound=DataclassInstance)

NONE = "none"
"""What takes something away that is there."""

Fields = Mapping[str, tuple[str, Callable[[Any], Any]]]
"""For an option the field it is for, and what reads it."""


def whole_or_none(text: str) -> int | str:
    """Take a whole number, or the word that takes it away."""
    return text if text == NONE else click.INT(text)


def count_up_to(most: int) -> Callable[[str], int]:
    """Return what takes a whole number from 1 on."""

    def count(text: str) -> int:
        number: int = click.INT(text)
        if not 1 <= number <= most:
            raise click.BadParameter(f"it has to be from 1 to {most}, not {number}")
        return number

    return count


def number_or_none(text: str) -> float | str:
    """Take a number, or the word that takes it away."""
    return text if text == NONE else click.FLOAT(text)


def is_given(value: object) -> bool:
    """Tell whether an option was given, be it with an empty text or as its opposite."""
    return value is not None and value != ()


def chosen(given: Mapping[str, Any], fields: Fields) -> dict[str, Any]:
    """Return what was given of some fields, read."""
    return {field: read(given[name]) for name, (field, read) in fields.items() if is_given(given[name])}


def changed(before: AnyValue, given: Mapping[str, Any], fields: Fields) -> AnyValue:
    """Return a value with what was given of it in the place of what was there."""
    return replace(before, **chosen(given, fields))


def as_it_is(value: Any) -> Any:
    """Return a value as it was given."""
    return value


def or_none(value: Any) -> Any:
    """Return a value as it was given, and nothing for the word that takes it away."""
    return None if value == NONE else value


def interval_or_none(text: str) -> int | None:
    """Return the milliseconds of an interval, and nothing for the word that takes it away."""
    return None if text == NONE else parse_interval(text)


def lasting_path(path: str) -> str:
    """Return a path that means the same wherever the jobs are run."""
    return path if path.startswith("~") or not path.strip() else str(Path(path).absolute())


def pairs(option: str, separator: str, texts: Sequence[str]) -> dict[str, str]:
    """Return names and values that were given with a sign between them."""
    found: dict[str, str] = {}
    for text in texts:
        name, has_sign, value = text.partition(separator)
        if not has_sign:
            raise click.UsageError(f"{option} {text!r} has no {separator!r}")
        found[name.strip()] = value.strip() if separator == ":" else value
    return found


def numbers(option: str, text: str) -> tuple[int, ...]:
    """Return whole numbers that were given with commas between them."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise click.UsageError(
            f"{option} takes whole numbers with commas between them, not {text!r}"
        ) from None
