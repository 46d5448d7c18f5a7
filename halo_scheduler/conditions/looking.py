"""Looking whether a condition holds."""

from __future__ import annotations

import os
import socket
from typing import NamedTuple, assert_never

import psutil

from halo_scheduler.model.conditions import Condition, Idle, Load, MainsPower, Network, PathExists


class Look(NamedTuple):
    """How things stand; `is_observable` tells whether this system can know it at all."""

    holds: bool | None
    words: str
    is_observable: bool = True


def look_at(condition: Condition) -> Look:
    """Look whether a condition holds; may take some seconds, and for a path on a dead drive for ever."""
    match condition:
        case MainsPower():
            return Look(
                None, "nothing tells here whether the machine runs on mains power", is_observable=False
            )
        case Network(host=""):
            return _route_out()
        case Network():
            return _answer(condition)
        case Idle():
            return Look(
                None, "nothing tells here how long nobody has touched the machine", is_observable=False
            )
        case Load():
            load = psutil.getloadavg()[0]
            return Look(load < condition.below, f"the load is {load:.1f}")
        case PathExists():
            is_there = os.path.exists(os.path.expanduser(condition.path))  # noqa: PTH110, PTH111
            return Look(is_there, f"{condition.path} is {'' if is_there else 'not '}there")
        case _:
            assert_never(condition)


def _route_out() -> Look:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return Look(False, "there is no network")
    return Look(True, "there is a network")


def _answer(condition: Network) -> Look:
    try:
        with socket.create_connection((condition.host, condition.port or 0), timeout=5):
            return Look(True, f"{condition.host} answers")
    except OSError:
        return Look(False, f"{condition.host} does not answer")
