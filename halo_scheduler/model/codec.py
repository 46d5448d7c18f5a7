"""Strict JSON for dataclasses: every refusal names the path of the offending field."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache, partial
from types import NoneType
from typing import TYPE_CHECKING, Any, Self, cast, get_args, get_origin, get_type_hints

from halo_scheduler.errors import ScheduleError, UnknownFieldError
from halo_scheduler.grammar.checks import require_choice
from halo_scheduler.grammar.english import shown

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


_Decode = Callable[[object], Any]
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_.-]{1,60}|\[[0-9]+\]", re.ASCII)
_WORDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false", NoneType: "null"}


class Value:
    """Gives a dataclass its JSON form."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        return cast("dict[str, Any]", encode(self))


class OwnForm(Value):
    """A value that writes its JSON form by itself, in `to_dict`, and reads it, in `from_form`."""

    __slots__ = ()

    @classmethod
    def from_form(cls, data: object) -> Self:
        """Return the value of a JSON form."""
        raise NotImplementedError


def put(value: object, **items: object) -> None:
    """Set fields of a frozen value while it is being created."""
    for name, item in items.items():
        object.__setattr__(value, name, item)


def encode(value: object) -> Any:
    """Return a value as plain JSON data; a class with a `kind` writes it first."""
    if type(value) in _WORDS:
        return value  # Most are: nothing else is asked of the sixty of each job.
    if isinstance(value, StrEnum):
        return str(value)
    if isinstance(value, tuple | list):
        return [encode(item) for item in value]
    if isinstance(value, Mapping):
        return {key: encode(item) for key, item in sorted(value.items())}
    if isinstance(value, OwnForm):
        return value.to_dict()
    kind, names = _form_of(cast("type[DataclassInstance]", type(value)))
    return ({"kind": kind} if kind else {}) | {
        key: encode(getattr(value, name)) for key, name in names.items()
    }


@cache
def _form_of(cls: type[DataclassInstance]) -> tuple[str, dict[str, str]]:
    """Return the kind of a class, and the names of its fields by their JSON keys."""
    return _kind_of(cls), {key_of(field.name): field.name for field in dataclasses.fields(cls)}


def key_of(name: str) -> str:
    """Return the JSON key of a field; a name reserved in Python ends with an underscore."""
    return name.removesuffix("_")


def has_all_fields(kinds: Any, data: dict[str, Any]) -> bool:
    """Return whether the JSON form of one of several classes has all its fields."""
    form = _forms_of(kinds).get(data.get("kind", ""))
    return form is not None and data.keys() == form


@cache
def _forms_of(kinds: Any) -> dict[str, set[str]]:
    """Return the keys of each class's JSON form, by kind."""
    return {_kind_of(cls): {"kind", *_form_of(cls)[1]} for cls in get_args(kinds)}


def decode(hint: Any, value: object) -> Any:
    """Return the value of JSON data, by its expected type."""
    return _decoder(hint)(value)


def decode_under(name: str, hint: Any, value: object) -> Any:
    """Return the value of a field's JSON data; an error has the field's name in its path."""
    return _decode_under(name, _decoder(hint), value)


@cache
def _decoder(hint: Any) -> _Decode:
    """Return the decoder of a type, built once rather than for each of ten thousand jobs."""
    if isinstance(hint, type):
        return _class_decoder(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is tuple:
        return partial(_decode_list, _decoder(arguments[0]))
    if origin is Mapping:
        return partial(_decode_mapping, _decoder(arguments[1]))
    return _union_decoder(arguments)


def _class_decoder(hint: type[Any]) -> _Decode:
    if hint in _WORDS:
        return partial(_decode_plain, hint)
    if issubclass(hint, StrEnum):
        return partial(require_choice, hint)
    if issubclass(hint, OwnForm):
        return hint.from_form
    return partial(_decode_object, hint)


def _union_decoder(members: tuple[Any, ...]) -> _Decode:
    some = tuple(member for member in members if member is not NoneType)
    decode_some: _Decode
    if len(some) == 1:
        decode_some = _decoder(some[0])
    elif all(_kind_of(member) for member in some):
        decode_some = partial(_decode_kind, {_kind_of(member): member for member in some})
    else:
        decode_some = partial(_decode_one_of, some)
    return partial(_decode_optional, decode_some) if NoneType in members else decode_some


def _decode_plain(hint: type, value: object) -> Any:
    if hint is float and type(value) is int:
        return value  # JSON has only numbers; the receiver checks the range.
    if type(value) is not hint:
        raise ScheduleError(f"must be {_WORDS[hint]}, not {shown(value)}")
    return value


def _decode_optional(decode_some: _Decode, value: object) -> Any:
    return None if value is None else decode_some(value)


def _decode_one_of(members: tuple[Any, ...], value: object) -> Any:
    if type(value) in members:
        return value
    raise ScheduleError(f"must be {' or '.join(_WORDS[member] for member in members)}, not {shown(value)}")


def _decode_kind(kinds: dict[str, Any], value: object) -> Any:
    data = as_object(value)
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in kinds:
        known = ", ".join(name for name, cls in kinds.items() if not issubclass(cls, OwnForm))
        if "kind" not in data:
            raise ScheduleError(f"is missing; write one of {known}", path="kind")
        raise ScheduleError(f"must be one of {known}, not {shown(kind)}", path="kind")
    return _decoder(kinds[kind])({key: item for key, item in data.items() if key != "kind"})


def _decode_list(decode_item: _Decode, value: object) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise ScheduleError(f"must be a list, not {shown(value)}")
    return tuple(_decode_under(f"[{index}]", decode_item, item) for index, item in enumerate(value))


def _decode_mapping(decode_item: _Decode, value: object) -> Mapping[str, Any]:
    return {key: _decode_under(key, decode_item, item) for key, item in as_object(value).items()}


def _decode_object(cls: type[DataclassInstance], value: object) -> Any:
    data = as_object(value)
    decoders, required = _fields(cls)
    for key in data:
        if key not in decoders:
            raise UnknownFieldError(_shown_key(key), decoders, cls)
    for name in required:
        if name not in data:
            raise ScheduleError("is missing", path=name)
    names = _form_of(cls)[1]
    return cls(**{names[key]: _decode_under(key, decoders[key], item) for key, item in data.items()})


def _decode_under(key: str, decode_item: _Decode, value: object) -> Any:
    try:
        return decode_item(value)
    except ScheduleError as error:
        raise error.under(_shown_key(key)) from error.__cause__


def as_object(value: object) -> dict[str, object]:
    """Return JSON data that must be an object."""
    if not isinstance(value, dict):
        raise ScheduleError(f"must be an object, not {shown(value)}")
    for key in value:
        if not isinstance(key, str):
            raise ScheduleError(f"must have text as keys, not {shown(key)}")
    return value


@cache
def _fields(cls: type[DataclassInstance]) -> tuple[dict[str, _Decode], list[str]]:
    """Return the decoder of each field of a class, and which fields are required."""
    hints, found = get_type_hints(cls), dataclasses.fields(cls)
    missing = dataclasses.MISSING
    required = [
        key_of(field.name) for field in found if field.default is missing and field.default_factory is missing
    ]
    return {key_of(field.name): _decoder(hints[field.name]) for field in found}, required


def _kind_of(cls: Any) -> str:
    """Return the word that identifies a class in its union, if it has one."""
    kind = getattr(cls, "kind", "")
    return kind if isinstance(kind, str) else ""


def _shown_key(key: str) -> str:
    """Return a key as a part of a path, quoted unless it is a plain word, so that it cannot break the line."""
    return key if _PLAIN_KEY.fullmatch(key) else shown(key)
