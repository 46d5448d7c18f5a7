"""Since when nothing can be recorded, so that nobody is blamed for what could not happen meanwhile."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace

from halo_scheduler.actions.run_services import Ended

_LOG = logging.getLogger(__name__)


class Outage:
    """A time in which every tick failed because the database could not be written."""

    def __init__(self) -> None:
        self.since: int | None = None
        """When the first tick failed; None while all is well."""
        self.seen_until: int | None = None
        """When the last tick before it did not: what was due by then was seen. None while all is well."""
        self._tried_at = 0

    def begin_or_go_on(self, last_tick_at: int, now_ms: int) -> None:
        """Take in that a tick failed."""
        if self.since is None:
            self.since, self.seen_until = now_ms, last_tick_at
        self._tried_at = now_ms

    def end(self, now_ms: int) -> None:
        """Take in that a tick succeeded."""
        if self.since is not None:
            seconds = max(now_ms - self.since, 0) / 1_000
            _LOG.warning(
                "The database can be written again, after %.0f s in which nothing was recorded.", seconds
            )
        self.since = self.seen_until = None

    def awake_until(self, last_tick_at: int) -> int:
        """Return when the engine was last awake: a tick that failed was no sleep."""
        return last_tick_at if self.since is None else max(last_tick_at, self._tried_at)


def ended_at(ends: Iterable[Ended], now_ms: int) -> list[Ended]:
    """Return ends with the time at which they became known: they are recorded later than that."""
    return [ended if ended.finished_at is not None else replace(ended, finished_at=now_ms) for ended in ends]
