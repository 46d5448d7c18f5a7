"""An item of work, and what a source of such items can do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from halo_scheduler.errors import SchedulerError


class SourceError(SchedulerError):
    """A source cannot be asked, or refuses: the sentence tells why."""


class NoWorkError(SchedulerError):
    """There is nothing to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """Something to do; `body` may have been cut, and `note` then says so."""

    id: str
    title: str
    url: str = ""
    body: str = ""
    labels: tuple[str, ...] = ()
    priority: str = ""
    note: str = ""


class Verdict(StrEnum):
    """What became of an item."""

    DONE = "done"
    FAILED = "failed"
    RELEASED = "released"
    """Nothing: somebody else may have it."""


class Source(Protocol):
    """Where items come from; all of it may block, and is safe beside other workers.

    Every method raises SourceError with a sentence when the source cannot be asked.
    """

    def ready(self) -> list[Item]:
        """Return what could be claimed, the first to do first; bodies may be missing."""

    def claim(self, item_id: str) -> Item | None:
        """Take an item for ourselves and return it whole; None when somebody else was quicker."""

    def settle(self, item_id: str, verdict: Verdict) -> None:
        """Give a claimed item back, or report what became of it; what is no longer ours is left alone."""
