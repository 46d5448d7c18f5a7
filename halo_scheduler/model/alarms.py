"""Alarms: the engine hangs or starts nothing, or the store cannot be written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Self

from halo_scheduler.errors import (
    SchedulerError,
    StoreFullError,
    StoreLockedError,
    StoreReadOnlyError,
    StoreReplacedError,
)
from halo_scheduler.model.words import Outcome

# More are left out, because a message has a maximum length.
_MOST_ENDS = 20


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


class TroubleKind(StrEnum):
    """Why the store cannot be written, or soon cannot."""

    FULL = "full"
    ALMOST_FULL = "almost-full"
    """Only the database can still be written; the output of runs has no space."""
    READ_ONLY = "read-only"
    GONE = "gone"
    """Its file was deleted or replaced."""
    LOCKED = "locked"
    """Another program holds it."""
    UNUSABLE = "unusable"
    """Anything else; the error says what."""


@dataclass(frozen=True, slots=True)
class UnrecordedEnd:
    """The end of a run that could not be recorded yet."""

    run_id: str
    job_id: str
    outcome: Outcome
    finished_at: int


@dataclass(frozen=True, slots=True)
class StoreTrouble:
    """Why the store cannot be written, since when, the system's message, and the unrecorded ends."""

    kind: TroubleKind
    since: int
    detail: str = ""
    ends: tuple[UnrecordedEnd, ...] = ()

    @classmethod
    def of(cls, error: SchedulerError, since: int, ends: tuple[UnrecordedEnd, ...] = ()) -> Self:
        """Return the trouble of a store error."""
        return cls(_kind_of(error), since, str(error), ends[-_MOST_ENDS:])

    def to_data(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)

    @classmethod
    def from_data(cls, data: object) -> Self | None:
        """Return the trouble of plain data; None if that is invalid."""
        if not isinstance(data, Mapping):
            return None
        try:
            ends = tuple(
                UnrecordedEnd(
                    str(end["run_id"]), str(end["job_id"]), Outcome(end["outcome"]), int(end["finished_at"])
                )
                for end in data["ends"]
            )
            return cls(TroubleKind(data["kind"]), int(data["since"]), str(data["detail"]), ends)
        except (KeyError, TypeError, ValueError):
            return None


def _kind_of(error: SchedulerError) -> TroubleKind:
    match error:
        case StoreFullError():
            return TroubleKind.FULL
        case StoreReadOnlyError():
            return TroubleKind.READ_ONLY
        case StoreReplacedError():
            return TroubleKind.GONE
        case StoreLockedError():
            return TroubleKind.LOCKED
        case _:
            return TroubleKind.UNUSABLE
