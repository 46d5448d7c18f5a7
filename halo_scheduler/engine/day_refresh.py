"""Refreshes the days of holidays, business days and calendar files daily, on another thread."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import date

from halo_scheduler.day_sources.looking_up import look_up_source
from halo_scheduler.engine.handle import Handle
from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.interval import DAY_MS
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.store import Store

_LOG = logging.getLogger(__name__)
_Found = dict[str, frozenset[date] | str]


class DayRefresh:
    """Looks up all sources when the engine starts and every day; of one that cannot be read the last days stay."""

    def __init__(self, store: Store, handle: Handle) -> None:
        self._store = store
        self._handle = handle
        self._due_at = 0
        self._found: _Found = {}

    @property
    def has_news(self) -> bool:
        """Whether days were looked up and are not stored yet."""
        return bool(self._found)

    def settle(self, now_ms: int) -> list[str]:
        """Store what was found, inside the engine's transaction; return the sources whose days changed."""
        changed = [source for source, days in self._found.items() if self._save(source, days, now_ms)]
        if now_ms >= self._due_at or now_ms < self._due_at - DAY_MS:
            self._due_at = now_ms + DAY_MS
            self._store.day_sources.forget_unused()
            sources = [stored.source for stored in self._store.day_sources.all()]
            if sources:
                self._handle.submit(lambda: self._look(sources, now_ms))
        return changed

    def forget_recorded(self) -> None:
        """Forget what is stored, after the commit."""
        self._found = {}

    def _save(self, source: str, days: frozenset[date] | str, now_ms: int) -> bool:
        table, events = self._store.day_sources, self._store.events
        if isinstance(days, str):
            if table.save_trouble(source, days):
                events.append(now_ms, EventKind.DAYS_TROUBLE, source=source, text=days)
            return False
        is_changed = table.save(source, days, now_ms)
        if is_changed:
            events.append(now_ms, EventKind.DAYS_CHANGED, source=source)
        return is_changed

    def _look(self, sources: Iterable[str], now_ms: int) -> None:
        """Look up the days, on any thread."""
        found: _Found = {}
        for source in sources:
            try:
                found[source] = look_up_source(source, now_ms)
            except ScheduleError as error:
                found[source] = error.message
            except Exception as error:  # noqa: BLE001 - a fault in a library is told, and the last days stay
                _LOG.exception("The days of %s cannot be looked up.", source)
                found[source] = f"an error occurred: {error}"
        self._handle.post(lambda: self._found.update(found))
