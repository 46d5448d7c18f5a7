"""Alarms: the engine noticed that it does not do its work."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class AlarmKind(StrEnum):
    """What is wrong with the engine."""

    SILENT = "silent"
    """Its loop has not ticked."""
    STARVED = "starved"
    """Something is due and could start, but nothing is started."""


@dataclass(frozen=True, slots=True)
class Alarm:
    """What the watchdog noticed, and when."""

    kind: AlarmKind
    at: int
