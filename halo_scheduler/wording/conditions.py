"""Words for conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import assert_never

from halo_scheduler.grammar.english import listed
from halo_scheduler.grammar.interval import interval_in_words
from halo_scheduler.model.conditions import Condition, Idle, Load, MainsPower, Network, PathExists
from halo_scheduler.model.messages import MessageKind
from halo_scheduler.wording.faults import Params, Words
from halo_scheduler.wording.measures import duration_in_words

_DETECTED = {"power": "the power source", "idle": "idle time", "load": "the load"}

_STATES: Mapping[str, Callable[[Params], str]] = {
    "power": lambda found: f"the computer runs on {'AC power' if found['is_on_mains'] else 'battery'}",
    "network": lambda found: f"there is {'a' if found['is_there'] else 'no'} network",
    "host": lambda found: (
        f"{found['place']} does not answer ({found['error']})"
        if found.get("error")
        else f"{found['place']} answers"
    ),
    "idle": lambda found: f"the last input was {duration_in_words(found['ago_ms'])} ago",
    "load": lambda found: f"the load is {found['load']:.2f}",
    "path": lambda found: f"{found['path']} {'exists' if found['is_there'] else 'does not exist'}",
}
CONDITION_STATES: Words = {
    MessageKind.CONDITION_STATE: lambda params: _STATES[params["of"]](params),
    MessageKind.HOST_TOO_SLOW: "no answer within {seconds:g} s",
    MessageKind.FOREIGN_PATH: "{path} is not an absolute path on this system",
    MessageKind.PATH_CLOSED: lambda params: (
        f"{params['path']} can't be accessed ({params['error'].lower() or 'no reason given'})"
    ),
    MessageKind.UNDETECTABLE: lambda params: f"{_DETECTED[params['what']]} can't be detected on this system",
    MessageKind.NOT_PROBED: "the check failed ({error})",
    MessageKind.NO_RESULT: "the check has no result yet",
}
"""What was found about a condition, as it follows a colon."""

_LONGEST_NAME = 60
_SHORT_UNITS = {"second": "s", "minute": "min", "hour": "h"}


def describe_condition(condition: Condition) -> str:
    """Return when a job with this condition starts: "on AC power", "after 10 minutes without input"."""
    match condition:
        case MainsPower():
            return "on AC power"
        case Network(host=""):
            return "with a network"
        case Network():
            return f"when {host_and_port(condition)} answers"
        case Idle():
            return f"after {interval_in_words(condition.idle_ms)} without input"
        case Load():
            return f"with a load below {condition.below:g}"
        case PathExists():
            return f"when {end_of(condition.path)} exists"
        case _:
            assert_never(condition)


def waiting_words(conditions: Iterable[Condition]) -> str:
    """Return the words after "waiting for": "AC power and network"; "" for no conditions."""
    words = [_awaited(condition) for condition in conditions]
    return listed(words) if words else ""


def host_and_port(condition: Network) -> str:
    """Return "nas.local:22", with an IPv6 address in brackets."""
    host = f"[{condition.host}]" if ":" in condition.host else end_of(condition.host)
    return f"{host}:{condition.port}"


def _awaited(condition: Condition) -> str:
    match condition:
        case MainsPower():
            return "AC power"
        case Network(host=""):
            return "network"
        case Network():
            return f"{host_and_port(condition)} to answer"
        case Idle():
            number, unit = interval_in_words(condition.idle_ms).split()
            return f"{number} {_SHORT_UNITS.get(unit.removesuffix('s'), unit)} without input"
        case Load():
            return f"a load below {condition.below:g}"
        case PathExists():
            return f"{end_of(condition.path)} to exist"
        case _:
            assert_never(condition)


def end_of(name: str) -> str:
    """Return a path or a host shortened for a sentence: its end says more than its beginning."""
    return name if len(name) <= _LONGEST_NAME else f"…{name[-_LONGEST_NAME:]}"
