"""The reference of the library: every public name of `halo_scheduler`, from its signature and docstring."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any, get_origin, get_type_hints

import halo_scheduler

TOPICS: Mapping[str, tuple[str, ...]] = {
    "The scheduler": ("Scheduler", "Status", "RunStats"),
    "Schedules": ("Every", "After", "Cron", "Once", "Manual", "schedule_from_dict"),
    "Events": ("OnFile", "OnSession", "OnWebhook", "OnChat"),
    "Several schedules": ("Several", "Entry", "Overlap"),
    "Days": ("Calendar", "Shift", "look_up_days"),
    "Actions": ("Command", "HttpRequest", "Prompt", "Reminder", "Callback", "action_from_dict"),
    "Policies": ("Policy", "Retry", "Backoff", "Limits", "Hints"),
    "Conditions": ("MainsPower", "Network", "Idle", "Load", "PathExists"),
    "Chains": ("Follower", "FollowOn"),
    "Jobs and runs": ("Job", "Run", "Outcome", "Source", "Trigger"),
    "Only the mathematics": (
        "next_run",
        "previous_run",
        "count_due",
        "plan_next_run",
        "Plan",
        "calculate_next_trigger",
        "is_schedule_due",
        "parse_interval",
        "parse_schedule",
        "describe",
        "describe_when",
        "lint",
    ),
    "Errors": (
        "SchedulerError",
        "ScheduleError",
        "IntervalParseError",
        "CronParseError",
        "PhraseParseError",
        "JobNotFoundError",
        "ScheduleTriggerError",
        "SchedulerShutdownError",
    ),
}
_WIDEST = 88
_STARS: Mapping[object, str] = {
    inspect.Parameter.VAR_POSITIONAL: "*",
    inspect.Parameter.VAR_KEYWORD: "**",
}
_WRITABLE = re.compile(r"[\w'\".-]+$|\(\)$")
_ENUM_MEMBER = re.compile(r"<(\w+\.\w+): [^>]*>")


def library_reference() -> str:
    """Return all public names by topic, as Markdown."""
    return "\n".join(_topics())


def _topics() -> Iterator[str]:
    for topic, names in TOPICS.items():
        yield f"\n## {topic}\n"
        for name in names:
            yield f"\n### {name}\n"
            yield from _entry(name, getattr(halo_scheduler, name))


def _entry(name: str, found: object) -> Iterator[str]:
    if isinstance(found, enum.EnumType):
        yield _text(found)
        members: Iterable[enum.Enum] = found
        yield ", ".join(f"`{member.value}`" for member in members) + "\n"
    elif isinstance(found, type) and issubclass(found, Exception):
        yield _text(found)
        bases = [f"`{base.__name__}`" for base in found.__bases__]
        yield f"A kind of {' and '.join(bases)}.\n"
    elif isinstance(found, type):
        yield from _class(name, found)
    elif callable(found):
        yield _signature(name, found)
        yield _text(found)


def _class(name: str, found: type) -> Iterator[str]:
    if dataclasses.is_dataclass(found):
        yield _fields(name, found)
    yield _text(found)
    for method_name, method in vars(found).items():
        if method_name.startswith("_") or not _is_own(found, method_name, method):
            continue
        bound = getattr(found, method_name)
        if isinstance(method, property):
            yield f"**`{name}.{method_name}`**: {_text(method)}"
        elif inspect.getdoc(bound):
            yield f"\n#### {name}.{method_name}\n"
            yield _signature(f"{name}.{method_name}", bound)
            yield _text(bound)


def _is_own(found: type, name: str, member: object) -> bool:
    """Tell whether a class documents a member itself; those that only read and write JSON are left out."""
    if name in ("to_dict", "from_dict"):
        return False
    documented = isinstance(member, property | classmethod | staticmethod) or inspect.isfunction(member)
    return documented and bool(inspect.getdoc(getattr(found, name)))


def _fields(name: str, found: type) -> str:
    """Return how a value is made; a stored job or run is only read."""
    parts, hints = [], get_type_hints(found, include_extras=True)
    for field in dataclasses.fields(found):
        default = "" if field.default is dataclasses.MISSING else f" = {_shown(field.default)}"
        if field.default_factory is not dataclasses.MISSING:
            default = " = …"
        parts.append(f"{field.name}: {_type_words(hints[field.name], str(field.type))}{default}")
    said = [f"- `{field}`: {hint.__metadata__[0]}\n" for field, hint in hints.items() if _is_described(hint)]
    return _block(name, parts, "") + ("\n" + "".join(said) + "\n" if said else "")


def _is_described(hint: object) -> bool:
    return get_origin(hint) is Annotated


def _type_words(hint: Any, written: str) -> str:
    """Return a type as it is written, without the description of its field."""
    if not _is_described(hint):
        return written
    return re.sub(r"\b(?:\w+\.)+", "", inspect.formatannotation(hint.__origin__))


def _signature(name: str, found: Callable[..., object]) -> str:
    signature, parts, has_star = inspect.signature(found), [], False
    for parameter in signature.parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not has_star:
            parts.append("*")
        has_star = has_star or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        parts.append(_parameter(parameter))
    return _block(name, parts, f" -> {signature.return_annotation}")


def _parameter(parameter: inspect.Parameter) -> str:
    stars = _STARS.get(parameter.kind, "")
    default = "" if parameter.default is parameter.empty else f" = {_shown(parameter.default)}"
    return f"{stars}{parameter.name}: {parameter.annotation}{default}"


def _block(name: str, parts: list[str], returned: str) -> str:
    line = f"{name}({', '.join(parts)}){returned}"
    if len(line) > _WIDEST:
        lines = "".join(f"    {part},\n" for part in parts)
        line = f"{name}(\n{lines}){returned}"
    return f"```python\n{line}\n```\n"


def _shown(default: object) -> str:
    """Return a default as one would write it; what only the program itself passes on is left out."""
    text = _ENUM_MEMBER.sub(r"\1", repr(default))
    return text if _WRITABLE.match(text) else "…"


def _text(found: object) -> str:
    return f"{inspect.getdoc(found) or ''}\n"
