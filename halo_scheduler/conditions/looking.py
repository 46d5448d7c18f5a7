"""Looking at this machine to find out whether a condition holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, assert_never

from halo_scheduler.grammar.interval import HOUR_MS, MINUTE_MS, SECOND_MS
from halo_scheduler.host.idle import idle_ms
from halo_scheduler.host.load import load_of_last_minute
from halo_scheduler.host.network import NoAnswerError, has_way_out, require_answer
from halo_scheduler.host.power import runs_on_mains
from halo_scheduler.host.presence import ForeignPathError, is_there
from halo_scheduler.model.conditions import Condition, Idle, Load, MainsPower, Network, PathExists
from halo_scheduler.wording.conditions import end_of, host_and_port


class Look(NamedTuple):
    """How things stand, in words; `holds` is None when that is not known, maybe because it never can be here."""

    holds: bool | None
    words: str
    is_observable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Senses:
    """How this machine is asked; each may take some seconds, and `is_there` for ever."""

    runs_on_mains: Callable[[], bool | None] = runs_on_mains
    has_way_out: Callable[[], bool] = has_way_out
    require_answer: Callable[[str, int], None] = require_answer
    idle_ms: Callable[[], int | None] = idle_ms
    load: Callable[[], float | None] = load_of_last_minute
    is_there: Callable[[str], bool] = is_there


def look_at(condition: Condition, senses: Senses = Senses()) -> Look:
    """Look whether a condition holds; this may take some seconds, and for a path on a dead drive for ever."""
    match condition:
        case MainsPower():
            return _look_at_power(senses)
        case Network():
            return _look_at_network(condition, senses)
        case Idle():
            return _look_at_idleness(condition, senses)
        case Load():
            return _look_at_load(condition, senses)
        case PathExists():
            return _look_at_path(condition, senses)
        case _:
            assert_never(condition)


def _look_at_power(senses: Senses) -> Look:
    on_mains = senses.runs_on_mains()
    if on_mains is None:
        return Look(None, "nothing here tells whether the machine runs on mains power", is_observable=False)
    return Look(on_mains, f"the machine runs on {'mains power' if on_mains else 'its battery'}")


def _look_at_network(condition: Network, senses: Senses) -> Look:
    if condition.port is None:
        has_network = senses.has_way_out()
        return Look(has_network, "there is a network" if has_network else "there is no network")
    name = host_and_port(condition)
    try:
        senses.require_answer(condition.host, condition.port)
    except NoAnswerError as error:
        return Look(False, f"{name} does not answer ({error})")
    return Look(True, f"{name} answers")


def _look_at_idleness(condition: Idle, senses: Senses) -> Look:
    found_ms = senses.idle_ms()
    if found_ms is None:
        words = "no program here tells how long keyboard and mouse have been untouched"
        return Look(None, words, is_observable=False)
    return Look(found_ms >= condition.idle_ms, f"the last input was {_short_time(found_ms)} ago")


def _look_at_load(condition: Load, senses: Senses) -> Look:
    load = senses.load()
    if load is None:
        return Look(None, "nothing here tells the load of the machine", is_observable=False)
    return Look(load < condition.below, f"the load is {load:.2f}")


def _look_at_path(condition: PathExists, senses: Senses) -> Look:
    name = end_of(condition.path)
    try:
        found = senses.is_there(condition.path)
    except ForeignPathError:
        return Look(None, f"{name} is no whole path on this system", is_observable=False)
    except OSError as error:
        return Look(None, f"{name} cannot be looked at ({(error.strerror or 'no reason given').lower()})")
    return Look(found, f"{name} is {'there' if found else 'not there'}")


def _short_time(milliseconds: int) -> str:
    if milliseconds < MINUTE_MS:
        return f"{milliseconds // SECOND_MS} s"
    if milliseconds < HOUR_MS:
        return f"{milliseconds // MINUTE_MS} min"
    return f"{milliseconds // HOUR_MS} h"
