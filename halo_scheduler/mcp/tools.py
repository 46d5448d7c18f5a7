"""MCP tools: a name, a function, and the JSON schema of the arguments, generated from their types."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from types import NoneType
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

from halo_scheduler.grammar.checks import require_whole
from halo_scheduler.mcp.views import View
from halo_scheduler.model import Entry, Manual, Schedule
from halo_scheduler.model.calendars import CALENDAR_KEYS, Calendar
from halo_scheduler.model.changes import Actor
from halo_scheduler.model.codec import decode, key_of
from halo_scheduler.model.schedules import ENTRY_KEYS, keys_for
from halo_scheduler.model.settings import AssistantAccess
from halo_scheduler.service.scheduler import Scheduler

_Given = TypeVar("_Given", bound="Given")
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
    """Return the schema of the JSON form of a type.

    For a change, every key is optional, and null in a mapping keeps the stored value.
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
    """Return the schema of an object without additional keys."""
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
    if hint is Entry:
        return {"anyOf": [_entry_schema(kind) for kind in get_args(Schedule) if kind is not Manual]}
    return _dataclass_schema(hint, is_change=is_change)


def _entry_schema(kind: type) -> Schema:
    """Return the schema of one of several schedules: its own fields and the entry's fields that apply to it."""
    own, schema = (
        _dataclass_schema(Entry, is_change=True)["properties"],
        _dataclass_schema(kind, is_change=False),
    )
    calendar = _dataclass_schema(Calendar, is_change=True)["properties"]
    keys = {CALENDAR_KEYS[name]: part for name, part in calendar.items()}
    keys |= {ENTRY_KEYS.get(name, name): part for name, part in own.items()}
    return schema | {"properties": schema["properties"] | {key: keys[key] for key in keys_for(kind)}}


def _dataclass_schema(cls: Any, *, is_change: bool) -> Schema:
    hints, fields = get_type_hints(cls), dataclasses.fields(cls)
    descriptions = _descriptions(cls)
    properties = {
        key_of(field.name): _field_schema(hints[field.name], is_change=is_change)
        | _said_of(field, descriptions)
        | ({} if is_change else _default_of(field))
        for field in fields
        if field.compare  # Fields that don't apply are not offered.
    }
    required = [key_of(field.name) for field in fields if _is_required(field)]
    kind = getattr(cls, "kind", None)
    if isinstance(kind, str):
        properties = {"kind": {"const": kind}} | properties
        required = ["kind", *required]
    return object_schema(properties, [] if is_change else required)


def _field_schema(hint: Any, *, is_change: bool) -> Schema:
    # Deeper values are inlined.
    return schema_of(hint, is_change=is_change and get_origin(hint) is Mapping)


def _descriptions(cls: type) -> dict[str, str]:
    """Return the description of each field, from its annotation: `Annotated[bool, "whether it …"]`."""
    hints = get_type_hints(cls, include_extras=True)
    return {name: hint.__metadata__[0] for name, hint in hints.items() if get_origin(hint) is Annotated}


def _said_of(field: dataclasses.Field[Any], descriptions: Mapping[str, str]) -> Schema:
    """Return a field's description and limits."""
    words = field.metadata.get("words") or descriptions.get(field.name)
    said: Schema = {"description": words} if words else {}
    said |= {key: field.metadata[name] for name, key in _LIMITS.items() if name in field.metadata}
    return said


def _default_of(field: dataclasses.Field[Any]) -> Schema:
    return {"default": field.default} if isinstance(field.default, str | int | float) else {}


def _is_required(field: dataclasses.Field[Any]) -> bool:
    missing = dataclasses.MISSING
    return field.default is missing and field.default_factory is missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A tool's arguments; numbers are checked against their fields' limits."""

    def __post_init__(self) -> None:
        for item in fields(self):
            if "low" in item.metadata:
                require_whole(
                    item.name, getattr(self, item.name), item.metadata["low"], item.metadata["high"]
                )


def said(words: str) -> dict[str, Any]:
    """Return field metadata with a description for the assistant."""
    return {"words": words}


def within(words: str, low: int, high: int) -> dict[str, Any]:
    """Return field metadata with a description and limits for a whole number."""
    return {"words": words, "low": low, "high": high}


@dataclass(frozen=True, slots=True, kw_only=True)
class OfJob(Given):
    """Arguments that name a job."""

    job: str = field(metadata=said("the job's name, id or id prefix"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool; it is offered while the settings allow it.

    A tool that is neither read-only nor additive may do anything that jobs do.
    """

    name: str
    title: str
    description: str
    schema: Schema
    function: Callable[[Scheduler, dict[str, Any]], View]
    reads_only: bool = False
    only_adds: bool = False
    is_idempotent: bool = False
    edits: bool = False

    @property
    def access(self) -> AssistantAccess:
        """The permission that this tool needs."""
        if self.reads_only:
            return AssistantAccess.READ
        return AssistantAccess.EDIT if self.edits else AssistantAccess.RUN

    def call(self, scheduler: Scheduler, arguments: dict[str, Any], assistant: str = "") -> View:
        """Call the tool on behalf of the named assistant; `rules/assistants` checks each edit in its transaction."""
        # Check permission before the arguments.
        scheduler.settings.require_assistants_may(self.access)
        with scheduler.acting_as(Actor.assistant(assistant)):
            return self.function(scheduler, arguments)

    @property
    def is_destructive(self) -> bool:
        """Whether the tool may start runs, prevent runs or replace data."""
        return not self.reads_only and not self.only_adds


def tool_of(given: type[_Given], function: Callable[[Scheduler, _Given], View], **rest: Any) -> ToolSpec:
    """Return a tool that parses its arguments into a class and passes them to a function."""

    def call(scheduler: Scheduler, arguments: dict[str, Any]) -> View:
        return function(scheduler, decode(given, arguments))

    return ToolSpec(schema=schema_of(given), function=call, **rest)
