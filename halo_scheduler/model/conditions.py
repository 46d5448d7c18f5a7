"""Conditions: what must hold around a job before it starts by itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath, PureWindowsPath
from typing import ClassVar, cast

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.checks import require_interval, require_line, require_number, require_whole
from halo_scheduler.grammar.interval import parse_interval
from halo_scheduler.model.codec import Value, decode, put

_NO_HOST = re.compile(r"[\s/\[\]@]")
_LONGEST_HOST = 253
_LONGEST_PATH = 4_096
_HIGHEST_PORT = 65_535
_HIGHEST_LOAD = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class MainsPower(Value):
    """The machine does not run from its battery."""

    kind: ClassVar = "mains_power"


@dataclass(frozen=True, slots=True, kw_only=True)
class Network(Value):
    """There is a way out of this machine's network; or, with a host and a port, somebody answers there."""

    kind: ClassVar = "network"
    host: str = ""
    port: int | None = None

    def __post_init__(self) -> None:
        require_line("host", self.host, longest=_LONGEST_HOST)
        # One colon is a port that stands in the wrong place; several are an address of IPv6.
        if _NO_HOST.search(self.host) or self.host.count(":") == 1:
            raise ScheduleError("must be a plain host name or address, like nas.local", path="host")
        if self.port is not None:
            require_whole("port", self.port, 1, _HIGHEST_PORT)
        if (self.port is None) != (not self.host):
            missing = "port" if self.host else "host"
            raise ScheduleError("give a host together with a port, like nas.local and 22", path=missing)


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle(Value):
    """Nobody has touched keyboard or mouse for so long."""

    kind: ClassVar = "idle"
    idle: str = "10m"

    def __post_init__(self) -> None:
        require_interval("idle", self.idle)

    @property
    def idle_ms(self) -> int:
        return parse_interval(self.idle)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load(Value):
    """The load average of the last minute is below a number."""

    kind: ClassVar = "load"
    below: float

    def __post_init__(self) -> None:
        put(self, below=require_number("below", self.below, above=0, most=_HIGHEST_LOAD))


@dataclass(frozen=True, slots=True, kw_only=True)
class PathExists(Value):
    """A file or a folder is there, such as a disk that is plugged in."""

    kind: ClassVar = "path"
    path: str

    def __post_init__(self) -> None:
        require_line("path", self.path, longest=_LONGEST_PATH)
        is_absolute = PurePosixPath(self.path).is_absolute() or PureWindowsPath(self.path).is_absolute()
        if not is_absolute and self.path != "~" and not self.path.startswith("~/"):
            raise ScheduleError("must be a whole path that begins with / or ~/", path="path")


Condition = MainsPower | Network | Idle | Load | PathExists
MOST_CONDITIONS = 20


def condition_from_dict(data: object) -> Condition:
    """Read a condition from its JSON form, or raise ScheduleError with the path of what is wrong."""
    return cast("Condition", decode(Condition, data))


def require_conditions(conditions: tuple[object, ...]) -> None:
    """Refuse what is no condition, too many of them, or the same one twice."""
    if len(conditions) > MOST_CONDITIONS:
        raise ScheduleError(f"a job has at most {MOST_CONDITIONS} conditions", path="conditions")
    for index, condition in enumerate(conditions):
        if not isinstance(condition, Condition):
            raise ScheduleError("must be a condition, like MainsPower()", path=f"conditions[{index}]")
        if condition in conditions[:index]:
            raise ScheduleError("the same condition is there twice", path=f"conditions[{index}]")
