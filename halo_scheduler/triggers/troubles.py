"""Reports trouble with watching events when it begins and when it ends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halo_scheduler.triggers.watching import Key, Link, Watched


class Troubles:
    """Remembers the reported trouble of each event, so that only changes are reported."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._told: dict[Key, str] = {}

    def keep_only(self, wanted: Iterable[Watched]) -> None:
        """Forget events that are no longer watched; the store forgets their trouble too."""
        keys = {(entry.job_id, entry.key) for entry in wanted}
        self._told = {key: text for key, text in self._told.items() if key in keys}

    def note(self, entry: Watched, text: str) -> None:
        """Report the trouble of an event, if it changed; "" for none."""
        key = entry.job_id, entry.key
        is_known = text == self._told.get(key, "")
        if not is_known and self._link.note_trouble(entry.job_id, text, self._link.clock.now_ms(), entry.key):
            self._told[key] = text
