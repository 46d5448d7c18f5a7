"""Issues on GitHub as items of work."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from halo_scheduler.work.item import Claim, ClaimNote, Item, SourceError, Verdict
from halo_scheduler.work.web import Web
from halo_scheduler.work_sources import GithubSource


class GithubMemory:
    """What is remembered of answers between runs."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms


class Github:
    """The issues of a repository that are ready."""

    def __init__(self, source: GithubSource, token: str, web: Web, memory: GithubMemory) -> None:
        self._source = source

    def prepare(self) -> None:
        """Nothing: labels are made when they are first used."""

    def ready(self) -> Iterator[Item]:
        """Yield the open issues that have the label, the oldest first."""
        raise SourceError("issues on GitHub cannot be had yet")

    def read(self, item_id: str) -> Item | None:
        """Return an issue whole."""
        raise SourceError("issues on GitHub cannot be had yet")

    def claim(self, item_id: str, note: ClaimNote) -> Item | None:
        """Take an issue."""
        raise SourceError("issues on GitHub cannot be had yet")

    def settle(self, claim: Claim, verdict: Verdict) -> None:
        """Report what became of an issue."""
        raise SourceError("issues on GitHub cannot be had yet")
