"""Watches folders: a run starts when files appear, change or vanish."""

from __future__ import annotations

import logging
import os
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, cast
from uuid import uuid4

from halo_scheduler.actions.threads import DaemonPool
from halo_scheduler.errors import StoreUnavailableError
from halo_scheduler.model import FileEvent, OnFile
from halo_scheduler.rules.event_requests import Happening
from halo_scheduler.triggers.listing import FolderError, Listing, input_of, list_files, marks_of, pack, unpack
from halo_scheduler.triggers.loops import Loops
from halo_scheduler.triggers.settling import Finding, Moment, Tracker
from halo_scheduler.triggers.troubles import Troubles

if TYPE_CHECKING:
    from halo_scheduler.host.folder_events import FolderEvents, Hint
    from halo_scheduler.triggers.watching import AnyEvent, Key, Link, Watched

_LOG = logging.getLogger(__name__)
# Reading folders takes at most a sixth of the time, however many files there are; the reads also pause in between.
_REST_FACTOR = 5
_SHORTEST_REST_MS = 50
# A folder in which only unmatched files change is read less and less often.
_LONGEST_REST_MS = 1_000
_STORM_REST_MS = 250
_SHORTEST_POLL_MS, _LONGEST_POLL_MS = 10_000, 30_000
# Watched folders are polled too: nothing is reported of a folder once it is renamed.
_SAFE_POLL_MS = 30_000
_RETRY_MS = 5_000
_MOST_FRUITLESS = 5
_LONGEST_CLOSE_S = 1.0
_OWN, _STARTED = "its own runs", "runs that it starts"


def open_watcher(link: Link) -> FileWatcher:
    """Return the watcher of files."""
    return FileWatcher(link)


def refusal(_event: AnyEvent) -> str:
    """Return "": files can be observed on every system."""
    return ""


class FileWatcher:
    """Watches the folders of all events on one thread, which starts with the first event."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._wanted: Sequence[Watched] = ()
        self._woken = threading.Event()
        self._is_over = False
        # A daemon thread: an unresponsive drive must not keep the program from exiting.
        self._thread = threading.Thread(target=self._run, name="halo-files", daemon=True)

    def follow(self, entries: Sequence[Watched]) -> None:
        self._wanted = list(entries)
        if self._thread.ident is None:
            self._thread.start()
        self._woken.set()

    def close(self) -> None:
        self._is_over = True
        self._woken.set()
        if self._thread.ident is not None:
            self._thread.join(_LONGEST_CLOSE_S)

    def _run(self) -> None:
        # Only programs with such a job load watchdog.
        from halo_scheduler.host.folder_events import FolderEvents, reports_changes  # noqa: PLC0415

        rounds = FileRounds(self._link, FolderEvents(self._woken.set), reports_changes, self._woken.set)
        while not self._is_over:
            self._woken.clear()
            try:
                rest_ms = rounds.turn(self._wanted)
            except Exception:  # noqa: BLE001 - the other folders are still watched
                _LOG.exception("Watching folders failed.")
                rest_ms = _RETRY_MS
            self._woken.wait(rest_ms / 1_000)
        rounds.close()


class _Unsent(NamedTuple):
    """Files to report, and the known files once the report is stored."""

    happenings: list[Happening]
    known: dict[str, int]
    device: int


@dataclass(slots=True, eq=False)
class _Watch:
    """The state of one event: its known files, and when to read its folder again."""

    watched: Watched
    event: OnFile
    path: str
    tracker: Tracker | None
    look_at: int
    not_before: int
    began_at: int
    heard: str = ""
    """The folder that is watched: its own, or the nearest existing parent."""
    is_silent: bool = False
    is_reading: bool = False
    is_storm: bool = False
    cost_ms: int = 0
    fruitless: int = 0
    fault: str = ""
    """Why its folder cannot be read."""
    is_refusing: bool = False
    """Whether a file with a name that no input can hold has arrived since the watch began."""
    looped_by: str = ""
    """Whose runs change the files that start it, if it is delayed for that."""
    unsent: _Unsent | None = None

    @property
    def key(self) -> Key:
        return self.watched.job_id, self.watched.key


class FileRounds:
    """Reads folders in which something may have changed, and reports the files that have settled."""

    def __init__(
        self,
        link: Link,
        events: FolderEvents,
        reports_changes: Callable[[str], bool],
        wake: Callable[[], None],
    ) -> None:
        """`reports_changes` returns whether a folder can be watched; `wake` is called when a turn is due at once."""
        self._link = link
        self._clock = link.clock
        self._events = events
        self._reports_changes = reports_changes
        self._wake = wake
        self._pool = DaemonPool()
        self._followed: Sequence[Watched] = ()
        self._troubles = Troubles(link)
        self._loops = Loops(link.was_running)
        self._watches: dict[Key, _Watch] = {}
        self._readings: queue.SimpleQueue[tuple[_Watch, Listing | FolderError]] = queue.SimpleQueue()

    def turn(self, wanted: Sequence[Watched]) -> int:
        """Read the folders that are due; return the milliseconds until the next turn."""
        if wanted is not self._followed and not self._adopt(wanted):
            return _RETRY_MS
        self._take_hints(self._events.take())
        while not self._readings.empty():
            watch, reading = self._readings.get()
            watch.is_reading = False
            self._take(watch, reading)
        for watch in self._watches.values():
            if not watch.is_reading and watch.look_at <= self._clock.monotonic_ms():
                self._look(watch)
        self._listen()
        for watch in self._watches.values():
            self._troubles.note(watch.watched, self._trouble_of(watch))
        now = self._clock.monotonic_ms()
        times = (watch.look_at - now for watch in self._watches.values() if not watch.is_reading)
        return max(min(times, default=_SAFE_POLL_MS), 0)

    def close(self) -> None:
        """Stop listening."""
        self._events.close()

    # --- What to watch -------------------------------------------------------------------------------

    def _adopt(self, wanted: Sequence[Watched]) -> bool:
        """Apply the events to watch; return whether the stored state could be read."""
        try:
            states = self._link.states()
            self._watches = {(item.job_id, item.key): self._kept_or_new(item, states) for item in wanted}
        except StoreUnavailableError as error:
            _LOG.debug("The state of watched folders cannot be read yet: %s", error)
            return False
        self._followed = wanted
        self._troubles.keep_only(wanted)
        self._loops.keep_only(self._watches.keys())
        return True

    def _kept_or_new(self, watched: Watched, states: Mapping[Key, str]) -> _Watch:
        key = watched.job_id, watched.key
        watch, state = self._watches.get(key), states.get(key)
        if watch is not None and watch.watched.event == watched.event and state is not None:
            watch.watched = watched
            return watch
        is_skipped = watch is None and state is not None and not self._link.catches_up(watched.job_id)
        return self._begin(watched, None if is_skipped else state)

    def _begin(self, watched: Watched, state: str | None) -> _Watch:
        # The kind decides which watcher gets an event.
        event = cast("OnFile", watched.event)
        path = os.path.expanduser(event.path)  # noqa: PTH111 - a Path would raise where there is no home
        seen = None if state is None else unpack(event, state)
        tracker = None if seen is None else Tracker(event, *seen)
        now = self._clock.monotonic_ms()
        return _Watch(watched, event, path, tracker, now, now, self._clock.now_ms())

    def _listen(self) -> None:
        """Subscribe to changes where possible, and read new folders once more."""
        folders: dict[str, bool] = {}
        for watch in self._watches.values():
            if watch.heard:
                has_changes = watch.event.on is FileEvent.CHANGES
                folders[watch.heard] = folders.get(watch.heard, False) or has_changes
        joined = self._events.follow(folders)
        for watch in self._watches.values():
            if watch.heard in joined:
                watch.look_at, watch.fruitless = min(watch.look_at, watch.not_before), 0

    def _take_hints(self, hints: Mapping[str, Hint]) -> None:
        for watch in self._watches.values():
            hint = hints.get(watch.heard)
            if hint is None:
                continue
            watch.is_storm = hint.is_storm
            watch.look_at = min(watch.look_at, watch.not_before)
            if watch.tracker is not None and watch.heard == watch.path:
                watch.tracker.forget(hint.deleted)
            elif watch.tracker is not None and os.path.basename(watch.path) in hint.deleted:  # noqa: PTH119
                watch.tracker.forget([""])

    # --- Looking -------------------------------------------------------------------------------------

    def _look(self, watch: _Watch) -> None:
        watch.is_silent = not self._reports_changes(watch.path)
        if watch.unsent is not None:
            self._send(watch, watch.unsent)
        elif watch.is_silent:
            self._pool.submit(lambda: self._read_silent(watch))
            watch.is_reading = True
        else:
            self._take(watch, self._read(watch))

    def _read_silent(self, watch: _Watch) -> None:
        """Read a folder on a drive that may not respond, on a separate thread."""
        self._readings.put((watch, self._read(watch)))
        self._wake()

    def _read(self, watch: _Watch) -> Listing | FolderError:
        began_at = self._clock.monotonic_ms()
        known = {} if watch.tracker is None else watch.tracker.known
        try:
            return list_files(watch.event, known, has_exact_times=not watch.is_silent)
        except FolderError as error:
            return error
        finally:
            watch.cost_ms = self._clock.monotonic_ms() - began_at

    def _take(self, watch: _Watch, reading: Listing | FolderError) -> None:
        """Compare the listing with the known files, report settled ones, and plan the next read."""
        now = self._clock.monotonic_ms()
        is_readable = isinstance(reading, Listing)
        watch.fault = "" if isinstance(reading, Listing) else str(reading)
        watch.is_refusing = isinstance(reading, Listing) and reading.refused_at > watch.began_at
        settles_at = self._report(watch, reading) if isinstance(reading, Listing) else None
        watch.heard = "" if watch.is_silent or watch.is_storm else _nearest_folder(watch.path)
        rest_ms = max(_REST_FACTOR * watch.cost_ms, _SHORTEST_REST_MS)
        watch.not_before = now + max(rest_ms, min(_SHORTEST_REST_MS << watch.fruitless, _LONGEST_REST_MS))
        if watch.unsent is not None:
            return
        if watch.is_storm:
            poll_ms = _STORM_REST_MS
        elif is_readable and self._events.is_followed(watch.heard):
            poll_ms = _SAFE_POLL_MS
        else:
            poll_ms = min(max(rest_ms, _SHORTEST_POLL_MS), _LONGEST_POLL_MS)
        look_at = now + poll_ms if settles_at is None else min(now + poll_ms, settles_at)
        watch.look_at = max(look_at, watch.not_before)

    def _report(self, watch: _Watch, listing: Listing) -> int | None:
        """Report settled files; return when the next ones settle."""
        if watch.tracker is None:
            self._send(watch, _Unsent([], marks_of(watch.event, listing), listing.device))
            return None
        moment = Moment(self._clock.monotonic_ms(), self._clock.now_ms())
        finding = watch.tracker.compare(listing, moment)
        watch.fruitless = 0 if finding.has_news else min(watch.fruitless + 1, _MOST_FRUITLESS)
        watch.is_storm = watch.is_storm and finding.has_news
        if finding.known is None:
            return finding.next_at
        if finding.names:
            held_until = self._held_until(watch, finding, moment)
            if held_until > moment.monotonic_ms:
                return held_until
        happenings = [_happening(watch, finding.names, moment.now_ms)] if finding.names else []
        self._send(watch, _Unsent(happenings, finding.known, watch.tracker.device))
        return finding.next_at

    def _held_until(self, watch: _Watch, finding: Finding, moment: Moment) -> int:
        """Return until when to delay a report of files that its own start caused: it could start itself forever."""
        written_at = [moment.now_ms - age_ms for age_ms in finding.ages_ms]
        writers = self._loops.writers(watch.key, written_at)
        delay_ms = self._loops.delay_ms(watch.key, writers)
        until = (
            moment.monotonic_ms - max(finding.ages_ms) + watch.event.settle_ms + delay_ms if delay_ms else 0
        )
        if until <= moment.monotonic_ms:
            self._loops.note_report(watch.key, writers)
        watch.looped_by = "" if not delay_ms else _OWN if watch.watched.job_id in writers else _STARTED
        return until

    def _send(self, watch: _Watch, unsent: _Unsent) -> None:
        """Store files to report together with the new known files; keep them if that fails."""
        device = unsent.device
        try:
            self._link.report(unsent.happenings, {watch.key: pack(watch.event, unsent.known, device)})
        except StoreUnavailableError as error:
            _LOG.debug("Files that changed cannot be reported yet: %s", error)
            watch.unsent, watch.look_at = unsent, self._clock.monotonic_ms() + _RETRY_MS
            return
        watch.unsent, watch.look_at = None, watch.not_before
        if watch.tracker is None:
            watch.tracker = Tracker(watch.event, unsent.known, device)
        else:
            watch.tracker.accept(unsent.known)

    def _trouble_of(self, watch: _Watch) -> str:
        """Return the trouble with watching an event; "" for none."""
        if watch.fault:
            return watch.fault
        if watch.looped_by:
            where = watch.event.path
            return f"{watch.looped_by} change the files in {where} that start it, so its starts are delayed"
        if watch.is_refusing:
            where = watch.event.path
            return f"a file in {where} starts nothing, because its name has control characters; rename it"
        reason = self._events.fault(watch.heard)
        return f"changes in {watch.event.path} are detected late: {reason}" if reason else ""


def _happening(watch: _Watch, names: Sequence[str], now_ms: int) -> Happening:
    return Happening(
        job_id=watch.watched.job_id,
        key=watch.watched.key,
        event_id=uuid4().hex,
        at=now_ms,
        input=input_of(watch.path, names),
    )


def _nearest_folder(path: str) -> str:
    """Return the folder at a path, or its nearest existing parent."""
    while not os.path.isdir(path) and path != os.path.dirname(path):  # noqa: PTH112, PTH120 - may be of bad form
        path = os.path.dirname(path)  # noqa: PTH120
    return path
