"""What keeps a form from being saved: gathered part by part, each under the field it belongs to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from halo_scheduler.errors import ScheduleError

_VERBS = ("is ", "must ", "contains ")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault of the form; `is_missing` marks a field that was merely not filled in yet."""

    path: str
    message: str
    is_missing: bool = False


class Findings:
    """Collects what is wrong while the parts of a form are read, so that all of it can be shown at once."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def take(self, path: str, make: Callable[[], T]) -> T | None:
        """Return what `make` makes; what it refuses is noted under the path."""
        try:
            return make()
        except ScheduleError as error:
            found = error.under(path) if path else error
            self.problems.append(Problem(found.path, error.message))
            return None

    def miss(self, path: str, message: str) -> None:
        """Note that something needed was not given."""
        self.problems.append(Problem(path, message, is_missing=True))

    def refuse(self, path: str, message: str) -> None:
        """Note that something given cannot be used."""
        self.problems.append(Problem(path, message))


def as_sentence(subject: str, message: str) -> str:
    """Return a message as a sentence that stands for itself: "is empty" is said of its subject."""
    text = f"{subject} {message}" if message.startswith(_VERBS) else message
    text = f"{text[:1].upper()}{text[1:]}"
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def is_under(path: str, field_path: str) -> bool:
    """Tell whether a path names a field or something inside it."""
    return path == field_path or path.startswith((f"{field_path}.", f"{field_path}["))
