"""Finding widgets by their names, as tests do."""

from __future__ import annotations

from typing import TypeVar

from PySide6.QtCore import QObject

T = TypeVar("T", bound=QObject)


def child(parent: QObject, kind: type[T], name: str = "") -> T:
    """Return the one child of that kind and name, which is there."""
    found = parent.findChild(kind, name) if name else parent.findChild(kind)
    assert isinstance(found, kind), f"there is no {kind.__name__} {name!r}"
    return found
