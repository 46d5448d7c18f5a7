"""Values as people write them: durations like 1m, without defaults and redundant words.

The store keeps strict JSON with all fields. Files for people omit defaults:
`delay_ms: 60000` is `delay: 1m`, `{kind: every, every: 15m}` is `every: 15m`, and `{kind: manual}` is `manual`.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cache, partial
from types import NoneType
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

from halo_scheduler.errors import IntervalParseError, ScheduleError, UnknownFieldError
from halo_scheduler.grammar.english import listed, shown
from halo_scheduler.grammar.interval import SECOND_MS, format_interval, parse_interval
from halo_scheduler.model import Once
from halo_scheduler.model.codec import decode, key_of
from halo_scheduler.transfer.text_file import Word, shown_key

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_Read = Callable[[object], Any]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NULLS = {"", "~", "null", "Null", "NULL"}
_TRUTHS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_WHOLE = re.compile(r"[-+]?[0-9]{1,30}", re.ASCII)
_NUMBER = re.compile(
    r"[-+]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][-+]?[0-9]{1,3})?", re.ASCII
)
_MILLISECONDS = re.compile(r"([0-9]{1,15})\s*ms", re.ASCII | re.IGNORECASE)
_NOTHING = re.compile(r"0\s*(?:ms|[smhd])", re.ASCII | re.IGNORECASE)
_STRICT_NAMES = re.compile(r"\b(delay|delays|min|max)_ms\b")
_MS = "_ms"


def to_plain(value: object) -> Any:
    """Return a value as plain data, without fields that have their default."""
    if isinstance(value, StrEnum):
        return str(value)
    if isinstance(value, tuple):
        return [to_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: to_plain(item) for key, item in sorted(value.items())}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _plain_object(value)
    return value


def read_value(hint: Any, plain: object) -> Any:
    """Return the value of plain data; ScheduleError names the field as the data does."""
    try:
        return decode(hint, _reader(hint)(plain))
    except ScheduleError as error:
        error.path = _STRICT_NAMES.sub(r"\1", error.path)
        error.message = _STRICT_NAMES.sub(r"\1", error.message)
        if hint is Once or Once in get_args(hint):
            error.path = "once" if error.path == "at" else error.path
        raise


def resolved(value: object) -> object:
    """Return the value of an unquoted text whose field has no type: null, a boolean, a number or text."""
    if not isinstance(value, Word):
        return value
    if value in _NULLS:
        return None
    if value.lower() in {"true", "false"}:
        return _TRUTHS[value.lower()]
    if _WHOLE.fullmatch(value):
        return int(value)
    return float(value) if _NUMBER.fullmatch(value) else str(value)


def format_duration(milliseconds: int) -> str:
    """Return a duration as it is written in files: 1m, 0s, 1500ms."""
    if milliseconds == 0:
        return "0s"
    return f"{milliseconds}ms" if milliseconds % SECOND_MS else format_interval(milliseconds)


def parse_duration(text: object) -> int:
    """Return the milliseconds of a duration as it is written in files."""
    if not isinstance(text, str):
        raise ScheduleError(f"must be a duration like 1m, not {shown(text)}")
    if match := _MILLISECONDS.fullmatch(text.strip()):
        return int(match[1])
    if _NOTHING.fullmatch(text.strip()):
        return 0
    try:
        return parse_interval(str(text))
    except IntervalParseError as error:
        raise ScheduleError(error.message) from None


def format_instant(at: int) -> str:
    """Return an instant as it is written in files, in UTC: the same on every computer."""
    moment = _EPOCH + timedelta(milliseconds=at)
    text = moment.strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")
    return f"{text}.{at % SECOND_MS:03}Z" if at % SECOND_MS else f"{text}Z"


# --- To plain data -----------------------------------------------------------------------------------


def _plain_object(value: DataclassInstance) -> Any:
    kind = _kind_of(type(value))
    found = {
        _plain_name(type(value), name): _plain_field(value, name)
        for name, default in _defaults(type(value)).items()
        if getattr(value, name) != default
    }
    if kind and kind not in found:
        found = {"kind": kind, **found}
    return found["kind"] if set(found) == {"kind"} else found


def _plain_field(value: DataclassInstance, name: str) -> Any:
    item = getattr(value, name)
    if isinstance(value, Once):
        return _plain_once(value)
    if not name.endswith(_MS):
        return to_plain(item)
    return [format_duration(ms) for ms in item] if isinstance(item, tuple) else format_duration(item)


def _plain_once(schedule: Once) -> str:
    """Return its instant: in UTC if it was given in UTC, else with its original offset."""
    if isinstance(schedule.at, int):
        return format_instant(schedule.at)
    return f"{schedule.at[:-1]}+00:00" if schedule.at[-1:] in {"Z", "z"} else schedule.at


@cache
def _defaults(cls: type[DataclassInstance]) -> dict[str, Any]:
    """Return the default values of the fields of a class; they never change."""
    missing = dataclasses.MISSING
    return {
        field.name: field.default if field.default_factory is missing else field.default_factory()
        for field in dataclasses.fields(cls)
    }


# --- From plain data ---------------------------------------------------------------------------------


@cache
def _reader(hint: Any) -> _Read:
    """Return a function that turns plain data of a type into strict JSON; invalid data is passed on and refused later.

    Each type is inspected once, not for each of ten thousand jobs.
    """
    if isinstance(hint, type):
        return partial(_strict_object if dataclasses.is_dataclass(hint) else _strict_word, hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is tuple:
        return partial(_strict_list, _reader(arguments[0]))
    if origin is Mapping:
        return partial(_strict_mapping, _reader(arguments[1]))
    return _union_reader(arguments)


def _union_reader(members: tuple[Any, ...]) -> _Read:
    some = tuple(member for member in members if member is not NoneType)
    kinds = {_kind_of(member): member for member in some}
    read: _Read = _text_of
    if len(some) == 1:
        read = _reader(some[0])
    elif "" not in kinds:
        read = partial(_strict_kind, kinds)
    return partial(_strict_optional, read) if NoneType in members else read


def _strict_optional(read: _Read, value: object) -> Any:
    return None if _is_nothing(value) else read(value)


def _strict_word(hint: type[Any], value: object) -> Any:
    if not isinstance(value, Word):
        return value
    if hint is bool:
        return _TRUTHS.get(value.lower(), str(value))
    return resolved(value) if hint in {int, float} else str(value)


def _strict_list(read: _Read, value: object) -> Any:
    if not isinstance(value, list):
        return resolved(value)
    return [_under(f"[{index}]", read, item) for index, item in enumerate(value)]


def _strict_mapping(read: _Read, value: object) -> Any:
    if not isinstance(value, dict):
        return resolved(value)
    return {key: _under(str(key), read, item) for key, item in value.items()}


def _strict_kind(kinds: dict[str, Any], value: object) -> Any:
    """Choose one of several classes: by a word, by `kind`, or by a field with the name of the kind."""
    if isinstance(value, str):
        value = {"kind": str(value)}
    if not isinstance(value, dict):
        return value
    named = [kind for kind in kinds if kind in value]
    if "kind" not in value and len(named) > 1:
        raise ScheduleError(f"give only one of {listed(named)}", path=named[1])
    if "kind" not in value and named:
        value = {"kind": named[0], **value}
    kind = _text_of(value.get("kind"))
    if not isinstance(kind, str) or kind not in kinds:
        return {**value, **({} if kind is None else {"kind": kind})}
    rest = {key: item for key, item in value.items() if key != "kind"}
    return {"kind": kind, **_strict_object(kinds[kind], rest)}


def _strict_object(cls: type[DataclassInstance], value: object) -> Any:
    readers = _readers(cls)
    if isinstance(value, str) and "kind" in readers:
        value = {"kind": value}
    if not isinstance(value, dict):
        return resolved(value)
    found: dict[str, Any] = {}
    for key, item in value.items():
        if key not in readers:
            raise UnknownFieldError(shown_key(key), _shown_names(cls), cls)
        strict, read = readers[key]
        if strict in found:
            raise ScheduleError("appears twice", path=shown_key(key))
        found[strict] = _under(key, read, item)
    return found


def _strict_once(read: _Read, value: object) -> Any:
    item = read(value)
    # UTC means that no offset was chosen: it is shown in the computer's time zone.
    return decode_instant(item) if isinstance(item, str) and item[-1:] == "Z" else item


def decode_instant(text: str) -> int | str:
    """Return the epoch milliseconds of an instant in UTC; other values are returned for later checks to refuse."""
    try:
        return Once(text).due_at
    except ScheduleError:
        return text


def _strict_duration(value: object) -> Any:
    return None if _is_nothing(value) else parse_duration(value)


def _strict_durations(value: object) -> Any:
    return [parse_duration(item) for item in value] if isinstance(value, list) else _strict_duration(value)


def _under(key: str, read: _Read, value: object) -> Any:
    try:
        return read(value)
    except ScheduleError as error:
        raise error.under(shown_key(key)) from None


def _is_nothing(value: object) -> bool:
    return value is None or (isinstance(value, Word) and value in _NULLS)


def _text_of(value: object) -> object:
    return str(value) if isinstance(value, Word) else value


@cache
def _readers(cls: type[DataclassInstance]) -> dict[str, tuple[str, _Read]]:
    """Return the field and its reader for each name in a file."""
    hints = get_type_hints(cls)
    readers: dict[str, tuple[str, _Read]] = {}
    for field in dataclasses.fields(cls):
        hint, plain = hints[field.name], _plain_name(cls, field.name)
        read = partial(_strict_once, _reader(hint)) if cls is Once else _reader(hint)
        readers[key_of(field.name)] = readers[plain] = (key_of(field.name), read)
        if field.name.endswith(_MS):
            is_list = get_origin(hint) is tuple
            readers[plain] = (field.name, _strict_durations if is_list else _strict_duration)
    return readers


def _shown_names(cls: type[DataclassInstance]) -> list[str]:
    return [_plain_name(cls, field.name) for field in dataclasses.fields(cls)]


def _plain_name(cls: type[DataclassInstance], name: str) -> str:
    return "once" if (cls, name) == (Once, "at") else key_of(name).removesuffix(_MS)


def _kind_of(cls: Any) -> str:
    """Return the word that distinguishes a class from the others of its union, if it has one."""
    kind = getattr(cls, "kind", "")
    return kind if isinstance(kind, str) else ""
