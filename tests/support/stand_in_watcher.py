"""A watcher of events that sees only what a test lets happen."""

from __future__ import annotations

from collections.abc import Sequence

from halo_scheduler.model import Event
from halo_scheduler.triggers.watching import Link, Watched

opened: list[StandInWatcher] = []


class StandInWatcher:
    """Knows what it was told to follow."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.followed: list[list[Watched]] = []
        self.is_closed = False
        opened.append(self)

    def follow(self, entries: Sequence[Watched]) -> None:
        self.followed.append(list(entries))

    def close(self) -> None:
        self.is_closed = True


def open_watcher(link: Link) -> StandInWatcher:
    return StandInWatcher(link)


def refusal(_event: Event) -> str:
    return ""
