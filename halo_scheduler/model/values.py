"""What all values have in common: a JSON form, and fields that are put into their final form while they are made."""

from __future__ import annotations

from typing import Any, cast

from halo_scheduler.model.codec import encode


class Value:
    """Gives a dataclass its JSON form."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        return cast("dict[str, Any]", encode(self))


def put(value: object, **items: object) -> None:
    """Put fields of a frozen value into their final form while it is being made."""
    for name, item in items.items():
        object.__setattr__(value, name, item)
