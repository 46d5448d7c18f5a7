"""A part of a window that most people never need: made, in its place, when it is first wanted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from PySide6.QtWidgets import QVBoxLayout, QWidget

T = TypeVar("T", bound=QWidget)


class LatePart(Generic[T]):
    """Keeps a place free, which takes no room, until the part is wanted."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: T | None = None
        self.place = QVBoxLayout()

    @property
    def made(self) -> T | None:
        """The part, if it has been wanted before."""
        return self._made

    def get(self) -> T:
        """Return the part, made now if it has not been."""
        if self._made is None:
            self._made = self._make()
            self.place.addWidget(self._made)
        return self._made
