"""The problems of a form, collected by field."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from halo_scheduler.errors import ScheduleError

_VERBS = ("is ", "must ", "contains ")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem; `is_missing` marks a field that is not filled in yet."""

    path: str
    message: str
    is_missing: bool = False


class Findings:
    """Collects the problems while a form is read, so that all can be shown at once."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def take(self, path: str, make: Callable[[], T]) -> T | None:
        """Return the result of `make`; a ScheduleError is recorded under the path."""
        try:
            return make()
        except ScheduleError as error:
            found = error.under(path) if path else error
            self.problems.append(Problem(found.path, error.message))
            return None

    def miss(self, path: str, message: str) -> None:
        """Record that a required value is missing."""
        self.problems.append(Problem(path, message, is_missing=True))

    def refuse(self, path: str, message: str) -> None:
        """Record that a value is invalid."""
        self.problems.append(Problem(path, message))


def as_sentence(subject: str, message: str) -> str:
    """Return a message as a full sentence; "is empty" gets the subject."""
    text = f"{subject} {message}" if message.startswith(_VERBS) else message
    text = f"{text[:1].upper()}{text[1:]}"
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def is_under(path: str, field_path: str) -> bool:
    """Return whether a path is a field's path or inside it."""
    return path == field_path or path.startswith((f"{field_path}.", f"{field_path}["))
