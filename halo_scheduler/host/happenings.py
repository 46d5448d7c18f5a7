"""What a system tells of its own accord that waiting jobs may care about."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Happening(StrEnum):
    """Something changed; how things stand now must be looked at."""

    POWER = "power"
    NETWORK = "network"
    IDLE = "idle"
    MOUNTS = "mounts"


@dataclass(frozen=True, slots=True)
class Interest:
    """What is to be followed; for IDLE also after how long without input that is to be told."""

    happenings: frozenset[Happening] = frozenset()
    idle_ms: frozenset[int] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.happenings)
