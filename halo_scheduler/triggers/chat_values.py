"""Reads values from the JSON of chat services, which may contain anything."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_BEFORE_NAME = re.compile(r"\A[@\s]+")


def parsed_object(data: bytes | str) -> Mapping[str, Any] | None:
    """Return a JSON object; None if it is something else."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def object_at(data: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    """Return an object inside another one; an empty one if there is none."""
    value: Any = data
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def text_at(data: Mapping[str, Any], name: str) -> str:
    """Return a text without lone surrogates, which cannot be stored; "" if the value is not text."""
    value = data.get(name)
    return value.encode(errors="replace").decode() if isinstance(value, str) else ""


def name_at(data: Mapping[str, Any], name: str) -> str:
    """Return a freely chosen name without leading @, which marks names that are unique."""
    return _BEFORE_NAME.sub("", text_at(data, name)).rstrip()


def id_at(data: Mapping[str, Any], name: str, form: re.Pattern[str]) -> str:
    """Return an id of this form; "" if there is none."""
    value = text_at(data, name)
    return value if form.fullmatch(value) else ""


def number_at(data: Mapping[str, Any], name: str, most: float) -> float | None:
    """Return a positive number, `most` if it is greater; None if there is none."""
    value: Any = data.get(name)
    if not isinstance(value, int | float) or isinstance(value, bool) or not value > 0:
        return None
    return float(min(value, most))
