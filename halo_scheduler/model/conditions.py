"""Conditions: what must be met before a due job starts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, ClassVar, cast

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.checks import (
    require_interval,
    require_line,
    require_number,
    require_whole,
    require_whole_path,
)
from halo_scheduler.grammar.interval import INTERVAL_FORM, parse_interval
from halo_scheduler.model.codec import Value, decode, put

_NO_HOST = re.compile(r"[\s/\[\]@]")
_LONGEST_HOST = 253
_HIGHEST_PORT = 65_535
_HIGHEST_LOAD = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class MainsPower(Value):
    """The computer is on AC power."""

    kind: ClassVar = "mains_power"


@dataclass(frozen=True, slots=True, kw_only=True)
class Network(Value):
    """There is a network connection or, with `host` and `port`, a TCP connection succeeds."""

    kind: ClassVar = "network"
    host: Annotated[str, "empty for any network connection; else a host that must be reachable"] = ""
    port: Annotated[int | None, "the TCP port that must accept connections; null without a host"] = None

    def __post_init__(self) -> None:
        require_line("host", self.host, longest=_LONGEST_HOST)
        # One colon means a port in the wrong field; several mean an IPv6 address.
        if _NO_HOST.search(self.host) or self.host.count(":") == 1:
            raise ScheduleError("must be a plain host name or address, like nas.local", path="host")
        if self.port is not None:
            require_whole("port", self.port, 1, _HIGHEST_PORT)
        if (self.port is None) != (not self.host):
            missing = "port" if self.host else "host"
            raise ScheduleError("give a host together with a port, like nas.local and 22", path=missing)


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle(Value):
    """Keyboard and mouse have been idle this long."""

    kind: ClassVar = "idle"
    idle: Annotated[str, f"the computer has been idle for at least: {INTERVAL_FORM}"] = "10m"

    def __post_init__(self) -> None:
        require_interval("idle", self.idle)

    @property
    def idle_ms(self) -> int:
        return parse_interval(self.idle)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load(Value):
    """The 1-minute load average is below a number."""

    kind: ClassVar = "load"
    below: Annotated[float, "the 1-minute load average is below this"]

    def __post_init__(self) -> None:
        put(self, below=require_number("below", self.below, above=0, most=_HIGHEST_LOAD))


@dataclass(frozen=True, slots=True, kw_only=True)
class PathExists(Value):
    """The path exists, for example because a disk is plugged in."""

    kind: ClassVar = "path"
    path: Annotated[str, "a file or folder that must exist; starts with / or ~/"]

    def __post_init__(self) -> None:
        require_whole_path("path", self.path)


Condition = MainsPower | Network | Idle | Load | PathExists
MOST_CONDITIONS = 20


def condition_from_dict(data: object) -> Condition:
    """Return the condition of a JSON form; ScheduleError has the path of what is wrong."""
    return cast("Condition", decode(Condition, data))


def require_conditions(conditions: tuple[object, ...]) -> None:
    """Refuse values that are not conditions, too many of them, and duplicates."""
    if len(conditions) > MOST_CONDITIONS:
        raise ScheduleError(f"a job has at most {MOST_CONDITIONS} conditions", path="conditions")
    for index, condition in enumerate(conditions):
        if not isinstance(condition, Condition):
            raise ScheduleError("must be a condition, like MainsPower()", path=f"conditions[{index}]")
        if condition in conditions[:index]:
            raise ScheduleError("the same condition appears twice", path=f"conditions[{index}]")
