"""What differs between two forms of the same job, field by field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field as it was and as it will be, in plain data; None where it was or will be as usual."""

    path: str
    before: Any
    after: Any


def changes_between(
    before: Mapping[str, Any], after: Mapping[str, Any], path: str = ""
) -> Iterator[FieldChange]:
    """Yield what differs, in the order of the fields."""
    for key in {**before, **after}:
        old, new = before.get(key), after.get(key)
        if old == new:
            continue
        inner = f"{path}.{key}" if path else key
        if isinstance(old, dict) and isinstance(new, dict) and _are_alike(old, new):
            yield from changes_between(old, new, inner)
        else:
            yield FieldChange(inner, old, new)


def _are_alike(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Tell whether two objects are of one kind: a schedule's first field says which it is."""
    kinds = {"every", "after", "cron", "once"}
    return old.get("kind") == new.get("kind") and kinds & old.keys() == kinds & new.keys()
