"""Strict JSON for dataclasses: every refusal names the path of the offending field."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from types import NoneType
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

from halo_scheduler.checks import require_choice
from halo_scheduler.errors import ScheduleError
from halo_scheduler.schedule.words import shown

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_.-]{1,60}|\[[0-9]+\]", re.ASCII)
_WORDS = {str: "text", int: "a whole number", bool: "true or false", NoneType: "null"}


def encode(value: object) -> Any:
    """Return a value as plain JSON data; a class with a `kind` writes it first."""
    if isinstance(value, StrEnum):
        return str(value)
    if isinstance(value, tuple):
        return [encode(item) for item in value]
    if isinstance(value, Mapping):
        return {key: encode(item) for key, item in sorted(value.items())}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        kind = _kind_of(type(value))
        return ({"kind": kind} if kind else {}) | {
            field.name: encode(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    return value


def decode(hint: Any, value: object) -> Any:
    """Return the value that JSON data stands for, by the type it should have."""
    if isinstance(hint, type):
        return _decode_class(hint, value)
    origin, arguments = _parts(hint)
    if origin is tuple:
        return _decode_list(arguments[0], value)
    if origin is Mapping:
        return _decode_mapping(arguments[1], value)
    return _decode_union(arguments, value)


def _decode_class(hint: type[Any], value: object) -> Any:
    if hint in _WORDS:
        if type(value) is not hint:
            raise ScheduleError(f"must be {_WORDS[hint]}, not {shown(value)}")
        return value
    if issubclass(hint, StrEnum):
        return require_choice(hint, value)
    return _decode_object(hint, value)


def _decode_union(members: tuple[Any, ...], value: object) -> Any:
    if value is None and NoneType in members:
        return None
    members = tuple(member for member in members if member is not NoneType)
    if len(members) == 1:
        return decode(members[0], value)
    if all(_kind_of(member) for member in members):
        return _decode_kind({_kind_of(member): member for member in members}, value)
    for member in members:
        if type(value) is member:
            return value
    raise ScheduleError(f"must be {' or '.join(_WORDS[member] for member in members)}, not {shown(value)}")


def _decode_kind(kinds: dict[str, Any], value: object) -> Any:
    data = _object(value)
    if "kind" not in data:
        raise ScheduleError(f"is missing; write one of {', '.join(kinds)}", path="kind")
    kind = data["kind"]
    if not isinstance(kind, str) or kind not in kinds:
        raise ScheduleError(f"must be one of {', '.join(kinds)}, not {shown(kind)}", path="kind")
    return _decode_object(kinds[kind], {key: item for key, item in data.items() if key != "kind"})


def _decode_list(hint: Any, value: object) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise ScheduleError(f"must be a list, not {shown(value)}")
    return tuple(_decode_under(f"[{index}]", hint, item) for index, item in enumerate(value))


def _decode_mapping(hint: Any, value: object) -> Mapping[str, Any]:
    return {key: _decode_under(key, hint, item) for key, item in _object(value).items()}


def _decode_object(cls: type[DataclassInstance], value: object) -> Any:
    data = _object(value)
    hints = _hints(cls)
    for key in data:
        if key not in hints:
            raise ScheduleError(f"is not a known field; known are {', '.join(hints)}", path=_shown_key(key))
    for name in _required(cls):
        if name not in data:
            raise ScheduleError("is missing", path=name)
    return cls(**{key: _decode_under(key, hints[key], item) for key, item in data.items()})


def _decode_under(key: str, hint: Any, value: object) -> Any:
    try:
        return decode(hint, value)
    except ScheduleError as error:
        raise error.under(_shown_key(key)) from error.__cause__


def _object(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ScheduleError(f"must be an object, not {shown(value)}")
    for key in value:
        if not isinstance(key, str):
            raise ScheduleError(f"must have text as keys, not {shown(key)}")
    return value


@cache
def _hints(cls: type[DataclassInstance]) -> dict[str, Any]:
    hints = get_type_hints(cls)
    return {field.name: hints[field.name] for field in dataclasses.fields(cls)}


@cache
def _required(cls: type[DataclassInstance]) -> list[str]:
    return [
        field.name
        for field in dataclasses.fields(cls)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    ]


@cache
def _parts(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    return get_origin(hint), get_args(hint)


def _kind_of(cls: Any) -> str:
    """Return the word that tells a class from the others of its union, if it has one."""
    kind = getattr(cls, "kind", "")
    return kind if isinstance(kind, str) else ""


def _shown_key(key: str) -> str:
    """Return a key as a part of a path; one that is no plain word is quoted, so that it cannot break the line."""
    return key if _PLAIN_KEY.fullmatch(key) else shown(key)
