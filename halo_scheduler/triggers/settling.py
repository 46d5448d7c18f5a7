"""Finds the files of a folder that have changed since the last report and have settled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, assert_never

from halo_scheduler.model import FileEvent, OnFile
from halo_scheduler.triggers.listing import Listing, Sight, gently

# A burst is reported once no file has arrived for the settle time, at the latest after this many settle times.
_LONGEST_BURST = 5
_MOST_AGES = 20


class _Pending(NamedTuple):
    """A change that is not reported yet; the mark is None if the file is gone; times are monotonic."""

    mark: int | None
    noticed_at: int
    changed_at: int


class Moment(NamedTuple):
    """An instant by both clocks."""

    monotonic_ms: int
    now_ms: int


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a comparison."""

    names: tuple[str, ...] = ()
    """The files to report: they match the event and have settled."""
    known: dict[str, int] | None = None
    """The known files after the report; None if nothing has changed."""
    next_at: int | None = None
    """When the next file settles, by the monotonic clock."""
    has_news: bool = False
    """Whether anything differs from the previous comparison."""
    ages_ms: tuple[int, ...] = ()
    """The ages of the last changes, for some of the files to report."""


class Tracker:
    """Tracks the files of one event: the known ones, and changed ones that have not settled."""

    def __init__(self, event: OnFile, known: Mapping[str, int], device: int = 0) -> None:
        """`device` is the folder's device, 0 if unknown."""
        self._event = event
        self._settle_ms = event.settle_ms
        self.known = dict(known)
        self.device = device
        self._pending: dict[str, _Pending] = {}
        self._deleted: set[str] = set()
        self._looked_at: int | None = None
        self._has_forgotten = False

    def forget(self, names: Iterable[str]) -> None:
        """Record that files were deleted, even if new files have their names by now."""
        gone = self.known.keys() & set(names)
        self._deleted |= gone
        if gone and self._event.on is FileEvent.APPEARS:
            self.known = {name: mark for name, mark in self.known.items() if name not in gone}
            self._has_forgotten = True

    def compare(self, listing: Listing, moment: Moment) -> Finding:
        """Return the files that have settled; call `accept` once the result is stored."""
        files = self._files_of(listing)
        pending = dict(self._differences(files, listing, moment))
        has_news = pending != self._pending or self._has_forgotten
        self._pending, self._looked_at = pending, moment.monotonic_ms
        settled: dict[str, _Pending] = {}
        waiting: dict[str, _Pending] = {}
        for name, item in gently(pending.items()):
            (settled if self._settles_at(item) <= moment.monotonic_ms else waiting)[name] = item
        wanted = [name for name, item in gently(settled.items()) if self._is_wanted(name, item)]
        next_at = min(map(self._settles_at, gently(waiting.values())), default=None)
        if wanted and next_at is not None:
            end = (
                min(self._settles_at(settled[name]) for name in gently(wanted))
                + _LONGEST_BURST * self._settle_ms
            )
            if moment.monotonic_ms < end and self._is_burst(waiting, moment.monotonic_ms):
                return Finding(next_at=min(next_at, end), has_news=has_news)
        if not settled and not self._has_forgotten:
            return Finding(next_at=next_at, has_news=has_news)
        ages_ms = tuple(moment.monotonic_ms - pending[name].changed_at for name in wanted[:_MOST_AGES])
        return Finding(tuple(sorted(wanted)), self._known_after(settled), next_at, has_news, ages_ms)

    def accept(self, known: dict[str, int]) -> None:
        """Make the result of a comparison the known state."""
        self.known, self._has_forgotten = known, False

    def _files_of(self, listing: Listing) -> Mapping[str, Sight | None]:
        """Return the current files; an unmounted drive keeps its known files."""
        is_other_drive = self.device not in (0, listing.device) and not listing.files
        if listing.is_there and not is_other_drive:
            self.device = listing.device
            self._deleted.clear()
            return listing.files
        return {name: None for name in self.known if name not in self._deleted}

    def _differences(
        self, files: Mapping[str, Sight | None], listing: Listing, moment: Moment
    ) -> Iterator[tuple[str, _Pending]]:
        reads_all = self._event.on is FileEvent.CHANGES
        for name, sight in gently(files.items()):
            if sight is None or (name in self.known and not (reads_all and self.known[name] != sight.mark)):
                continue
            yield (
                name,
                self._pending_since(name, sight.mark, _age_ms(sight.changed_at, listing, moment), moment),
            )
        age_ms = _age_ms(listing.changed_at, listing, moment)
        for name in gently(self.known.keys() - files.keys()):
            yield name, self._pending_since(name, None, age_ms, moment)

    def _pending_since(self, name: str, mark: int | None, age_ms: int, moment: Moment) -> _Pending:
        """Return a change with its time, which is after the previous comparison."""
        earlier = self._pending.get(name)
        if earlier is not None and earlier.mark == mark:
            return earlier
        now = moment.monotonic_ms
        since = now - age_ms if self._looked_at is None else max(now - age_ms, self._looked_at)
        return _Pending(mark, now if earlier is None else earlier.noticed_at, since)

    def _settles_at(self, item: _Pending) -> int:
        # A new file may take a free name at once.
        is_free = item.mark is None and self._event.on is FileEvent.APPEARS
        return item.changed_at + (0 if is_free else self._settle_ms)

    def _is_wanted(self, name: str, item: _Pending) -> bool:
        match self._event.on:
            case FileEvent.APPEARS:
                return item.mark is not None
            case FileEvent.VANISHES:
                return item.mark is None
            case FileEvent.CHANGES:
                return item.mark is not None and name in self.known
            case _:
                assert_never(self._event.on)

    def _is_burst(self, waiting: Mapping[str, _Pending], now: int) -> bool:
        """Return whether more files have just arrived, which belong in the same report."""
        return any(
            now - item.noticed_at < self._settle_ms and self._is_wanted(name, item)
            for name, item in gently(waiting.items())
        )

    def _known_after(self, settled: Mapping[str, _Pending]) -> dict[str, int]:
        reads_all = self._event.on is FileEvent.CHANGES
        known = {name: mark for name, mark in gently(self.known.items()) if name not in settled}
        for name, item in gently(settled.items()):
            if item.mark is not None:
                known[name] = item.mark if reads_all else 0
        return known


def _age_ms(changed_at: int, listing: Listing, moment: Moment) -> int:
    """Return how long ago a file changed; 0 if another computer's clock set its times."""
    return max(moment.now_ms - changed_at, 0) if listing.has_exact_times else 0
