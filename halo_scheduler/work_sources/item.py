"""An item of work, and what a source of such items can do."""

from __future__ import annotations

from collections.abc import Iterator
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
    """Something to do; `body` may have been cut, and `note` then says so.

    All of it is plain text that can be encoded, without NUL characters; everything but the body is one line.
    """

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What is known of a claim once it has begun, also after a crash.

    `key` is a word of this claim's own, which can be part of a file's name. `place` is where the source put the
    item; empty when it is not known whether the claim was won.
    """

    item_id: str
    key: str
    place: str = ""


class ClaimNote(Protocol):
    """Keeps a claim in mind, on disk; a source writes it down at each step, before the step is made."""

    @property
    def key(self) -> str:
        """A word of this claim's own, which can be part of a file's name."""

    def begin(self) -> None:
        """Write down that the item may be ours from now on; raises SourceError."""

    def take(self, place: str) -> None:
        """Write down that the item is ours, and where it is to be found; raises SourceError."""

    def drop(self) -> None:
        """Forget it: the item is not ours after all."""


class Source(Protocol):
    """Where items come from; all of it may block, and is safe beside other workers.

    Every method raises SourceError with a sentence when the source cannot be asked.
    """

    def prepare(self) -> None:
        """Make what claims need, before the first one."""

    def ready(self) -> Iterator[Item]:
        """Yield what could be claimed, the first to do first; bodies may be missing."""

    def read(self, item_id: str) -> Item | None:
        """Return a ready item whole, without claiming it; None when it is no longer there."""

    def claim(self, item_id: str, note: ClaimNote) -> Item | None:
        """Take a ready item for ourselves and return it whole; None when somebody else was quicker."""

    def resume(self, claim: Claim) -> Item | None:
        """Return a claimed item whole, to go on with it; None when it is no longer ours."""

    def settle(self, claim: Claim, verdict: Verdict) -> None:
        """Give a claimed item back, or report what became of it; what is no longer ours is left alone."""
