"""JSON schemas of our values, made from the types that read them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from enum import StrEnum
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from halo_scheduler.mcp.field_words import FIELD_WORDS

Schema = dict[str, Any]

_PLAIN: Mapping[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    NoneType: "null",
}
_LIMITS = {"low": "minimum", "high": "maximum"}


def schema_of(hint: Any, *, is_change: bool = False) -> Schema:
    """Return the schema of what a type is read from.

    For a change of a stored value, everything may be left out, and null in a mapping leaves its value as it is.
    """
    if isinstance(hint, type):
        return _class_schema(hint, is_change=is_change)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is tuple:
        return {"type": "array", "items": schema_of(arguments[0])}
    if origin is Mapping:
        names = ["string", "null"] if is_change else "string"
        return {"type": "object", "additionalProperties": {"type": names}}
    if all(member in _PLAIN for member in arguments):
        return {"type": [_PLAIN[member] for member in arguments]}
    return {"anyOf": [schema_of(member, is_change=is_change) for member in arguments]}


def object_schema(properties: Mapping[str, Schema], required: list[str]) -> Schema:
    """Return the schema of an object that has no other keys."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": required,
        "additionalProperties": False,
    }


def _class_schema(hint: type, *, is_change: bool) -> Schema:
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if issubclass(hint, StrEnum):
        return {"type": "string", "enum": [word.value for word in hint]}
    return _dataclass_schema(hint, is_change=is_change)


def _dataclass_schema(cls: Any, *, is_change: bool) -> Schema:
    hints, fields = get_type_hints(cls), dataclasses.fields(cls)
    properties = {
        field.name: _field_schema(hints[field.name], is_change=is_change)
        | _said_of(cls, field)
        | ({} if is_change else _default_of(field))
        for field in fields
    }
    required = [field.name for field in fields if _is_required(field)]
    kind = getattr(cls, "kind", None)
    if isinstance(kind, str):
        properties = {"kind": {"const": kind}} | properties
        required = ["kind", *required]
    return object_schema(properties, [] if is_change else required)


def _field_schema(hint: Any, *, is_change: bool) -> Schema:
    # What lies deeper is given as a whole.
    return schema_of(hint, is_change=is_change and get_origin(hint) is Mapping)


def _said_of(cls: type, field: dataclasses.Field[Any]) -> Schema:
    """Return what is told of a field beside its type."""
    words = field.metadata.get("words") or FIELD_WORDS.get(cls, {}).get(field.name)
    said: Schema = {"description": words} if words else {}
    said |= {key: field.metadata[name] for name, key in _LIMITS.items() if name in field.metadata}
    return said


def _default_of(field: dataclasses.Field[Any]) -> Schema:
    return {"default": field.default} if isinstance(field.default, str | int | float) else {}


def _is_required(field: dataclasses.Field[Any]) -> bool:
    missing = dataclasses.MISSING
    return field.default is missing and field.default_factory is missing
