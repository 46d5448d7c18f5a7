"""What keeps events from being watched as they should be, told when it begins and when it ends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halo_scheduler.triggers.watching import Key, Link, Watched


class Troubles:
    """Remembers what was told of each event, so that only changes are."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._told: dict[Key, str] = {}

    def keep_only(self, wanted: Iterable[Watched]) -> None:
        """Forget the events that are no longer watched; the store forgets their trouble, too."""
        keys = {(entry.job_id, entry.key) for entry in wanted}
        self._told = {key: text for key, text in self._told.items() if key in keys}

    def note(self, entry: Watched, text: str) -> None:
        """Tell what is wrong with an event, unless that was told; "" if nothing is."""
        key = entry.job_id, entry.key
        is_known = text == self._told.get(key, "")
        if not is_known and self._link.tell(entry.job_id, text, self._link.clock.now_ms(), entry.key):
            self._told[key] = text
