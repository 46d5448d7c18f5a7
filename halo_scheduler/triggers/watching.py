"""Watches the events that start jobs: one watcher for each kind, and only while a job needs it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, Protocol

from halo_scheduler.clock import Clock
from halo_scheduler.errors import StaleEngineError, StoreUnavailableError
from halo_scheduler.model import CatchUp, Event, OnChat, OnFile, OnSession, OnWebhook
from halo_scheduler.model.changes import Change, ChangeKind, changes_of
from halo_scheduler.model.chat import ChatBot
from halo_scheduler.model.schedules import events_of
from halo_scheduler.model.webhooks import Place
from halo_scheduler.rules.event_requests import Accepted, Happening, Refused, accept, find_event
from halo_scheduler.store.connection import Database
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.job_lines import schedule_of
from halo_scheduler.store.store import Store

_LOG = logging.getLogger(__name__)
AnyEvent = OnFile | OnSession | OnWebhook | OnChat
Key = tuple[str, str]
"""The id of a job, and the key of an event among its schedules."""
Beside = Callable[[Store, "list[Accepted | Refused]"], "Sequence[Change] | None"]

WATCHERS: dict[str, str] = {
    OnFile.kind: "halo_scheduler.triggers.files",
    OnSession.kind: "halo_scheduler.triggers.sessions",
    OnWebhook.kind: "halo_scheduler.triggers.webhooks",
    OnChat.kind: "halo_scheduler.triggers.chat",
}
"""For each kind of event, the module that watches it.

It has `open_watcher(link: Link) -> Watcher` and `refusal(event) -> str`, which returns why this system cannot observe
an event, as a sentence; "" if it can.
"""


class Watched(NamedTuple):
    """An event that starts a job; `name` is the job's name, for messages."""

    job_id: str
    key: str
    event: AnyEvent
    name: str


class Report(Protocol):
    """Stores events."""

    def __call__(
        self, happenings: Sequence[Happening], states: Mapping[Key, str], beside: Beside = ..., /
    ) -> list[Accepted | Refused]:
        """Store events and the watch state; `beside` writes more in the same transaction and returns changes."""


class NoteTrouble(Protocol):
    """Reports trouble with watching an event."""

    def __call__(self, job_id: str, text: str, now_ms: int, key: str = "", /) -> bool:
        """Store the trouble of an event, as a clause; "" once it is over. Return whether that worked."""


class Watcher(Protocol):
    """Watches all events of one kind."""

    def follow(self, entries: Sequence[Watched]) -> None:
        """Watch these events and no others; called on the engine's thread, so it must return at once.

        An event without stored state starts afresh, as if it had just been added.
        """

    def close(self) -> None:
        """Stop watching."""


@dataclass(frozen=True, slots=True)
class Link:
    """What a watcher needs from the engine.

    `report` stores events and watch states in one transaction, and wakes the engine; after StoreUnavailableError
    nothing is stored, so keep the events and retry. `states` returns the stored state of the watched events. Both may
    be called on any thread.
    """

    report: Report
    states: Callable[[], dict[Key, str]]
    clock: Clock
    path: Path
    """The database."""
    place: Place | None = None
    """Where to listen for webhooks."""
    bots: tuple[ChatBot, ...] = ()
    """The bots that receive messages; their permitted people may have changed since."""
    after_ticks: Callable[[Callable[[], None]], None] = lambda _wake: None
    """Registers a function to call on the engine's thread after each tick; it must return at once."""
    is_output_awaited: Callable[[str], bool] = lambda _run_id: False
    """Whether the output of an ended run is still to be stored."""
    was_running: Callable[[str, Sequence[int]], bool] = lambda _job_id, _instants: False
    """Whether a run of a job was active at each of some instants."""
    catches_up: Callable[[str], bool] = lambda _job_id: True
    """Whether a job catches up events from times without an engine."""
    note_trouble: NoteTrouble = lambda _job_id, _text, _now_ms, _key="": True


def refusal(event: Event) -> str:
    """Return why this system cannot observe an event, as a sentence; "" if it can."""
    if event.kind not in WATCHERS:
        return f"this version doesn't support events of the kind {event.kind}"
    return str(import_module(WATCHERS[event.kind]).refusal(event))


class Reporter:
    """Stores the reports of one watcher, through its own connection; any thread may call it."""

    def __init__(self, path: Path, generation: int, stored: Callable[[list[Change]], None]) -> None:
        """`stored` gets the changes after they are committed, on the thread of the caller."""
        self._path = path
        self._generation = generation
        self._stored = stored
        self._lock = threading.Lock()
        self._store: Store | None = None
        self._followed: dict[Key, AnyEvent] = {}
        self._is_closed = False

    def follow(self, entries: Iterable[Watched]) -> None:
        """Accept reports about these events, and no others."""
        self._followed = {(entry.job_id, entry.key): entry.event for entry in entries}

    def report(
        self,
        happenings: Sequence[Happening],
        states: Mapping[Key, str],
        beside: Beside = lambda _store, _found: None,
        /,
    ) -> list[Accepted | Refused]:
        """Store events and watch states, all or nothing; return the verdict on each event."""
        with self._lock:
            store = self._open()
            with store.transaction():
                self._require_own_lease(store)
                found = [accept(store, happening) for happening in happenings]
                store.watch_states.save(self._still_followed(store, states))
                changes = list(beside(store, found) or ())
        changes += changes_of({happening.job_id for happening in happenings})
        if changes:
            self._stored(changes)
        return found

    def states(self) -> dict[Key, str]:
        """Return the stored states of the watched events."""
        followed = self._followed
        with self._lock:
            found = self._open().watch_states.of_jobs(job_id for job_id, _ in followed)
        return {key: state for key, state in found.items() if key in followed}

    def was_running(self, job_id: str, instants: Sequence[int]) -> bool:
        """Return whether a run of a job was active at each of these instants."""
        with self._lock:
            return all(self._open().runs.was_running(job_id, at) for at in instants)

    def catches_up(self, job_id: str) -> bool:
        """Return whether a job catches up events from times without an engine."""
        with self._lock:
            record = self._open().jobs.get(job_id)
        return record is not None and record.spec.policy.catch_up is not CatchUp.SKIP

    def note_trouble(self, job_id: str, text: str, now_ms: int, key: str = "") -> bool:
        """Store the trouble of an event, or that it is over; return whether that worked."""
        with self._lock, suppress(StoreUnavailableError):
            store = self._open()
            with store.transaction():
                self._require_own_lease(store)
                if store.jobs.get(job_id) is not None:
                    note_trouble(store, (job_id, key), text, now_ms)
            self._stored([Change(ChangeKind.WATCH, job_id=job_id)])
            return True
        return False

    def close(self) -> None:
        """Close the connection; later reports are refused."""
        with self._lock:
            self._is_closed = True
            if self._store is not None:
                self._store.close()

    def _open(self) -> Store:
        if self._is_closed:
            raise StoreUnavailableError("the engine has stopped; the next one detects what happened")
        if self._store is None:
            self._store = Store(Database.open(self._path, must_exist=True))
        return self._store

    def _require_own_lease(self, store: Store) -> None:
        try:
            store.lease.check(self._generation)
        except StaleEngineError as error:
            raise StoreUnavailableError(str(error)) from error

    def _still_followed(self, store: Store, states: Mapping[Key, str]) -> dict[Key, str]:
        """Return the states of unchanged events: an edited or resumed one starts afresh."""
        records = store.jobs.get_many({job_id for job_id, _ in states}) if states else {}
        kept: dict[Key, str] = {}
        for (job_id, key), state in states.items():
            record = records.get(job_id)
            entry = None if record is None or not record.is_active else find_event(record, key)
            if entry is not None and entry.schedule == self._followed.get((job_id, key)):
                kept[job_id, key] = state
        return kept


def note_trouble(store: Store, key: Key, text: str, now_ms: int) -> None:
    """Store trouble with watching an event; "" once it is over."""
    if not text:
        store.watch_troubles.forget([key])
        return
    _LOG.warning("An event of job %s: %s", key[0], text)
    store.watch_troubles.save(key, text, now_ms)
    store.events.append(now_ms, EventKind.WATCH_TROUBLE, key[0], text=text)


class _Open(NamedTuple):
    """An open watcher with its reporter, and the events it follows."""

    watcher: Watcher
    reporter: Reporter
    entries: list[Watched]
    wakes: list[Callable[[], None]]
    """The function that it registered to be called after each tick."""

    def close(self) -> None:
        # The reporter first, so that nothing more is stored.
        self.reporter.close()
        self.watcher.close()


def open_watcher(kind: str, link: Link) -> Watcher:
    """Load the watcher of a kind of event."""
    watcher: Watcher = import_module(WATCHERS[kind]).open_watcher(link)
    return watcher


class Watching:
    """Keeps a watcher open for each kind of event of the active jobs; only the engine's thread calls it."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        generation: Callable[[], int],
        post: Callable[[Callable[[], None]], None],
        stored: Callable[[list[Change]], None],
        open_kind: Callable[[str, Link], Watcher] = open_watcher,
        is_output_awaited: Callable[[str], bool] = lambda _run_id: False,
    ) -> None:
        """`post` runs a function on the engine's thread, where `stored` gets the changes from events."""
        self._store = store
        self._clock = clock
        self._generation = generation
        self._post = post
        self._stored = stored
        self._open_kind = open_kind
        self._is_output_awaited = is_output_awaited
        self._bots: tuple[ChatBot, ...] = ()
        self._seen: list[tuple[str, str, str, int]] = []
        self._place: Place | None = None
        self._open: dict[str, _Open] = {}
        self._faults: dict[str, str] = {}
        self._has_begun = False

    def follow(self) -> None:
        """Watch the events of the active jobs; if nothing changed since the last call, this is one query.

        Webhooks are received for all jobs; paused or disabled jobs respond with their state.
        """
        seen = self._store.jobs.with_events()
        place = self._store.settings.webhook_place() if seen else None
        bots = _without_people(self._store.settings.chat_bots())
        for opened in self._open.values():
            for wake in opened.wakes:
                wake()
        if not self._has_begun:
            self._keep_troubles(())
            self._has_begun = True
        if (seen, place, bots) == (self._seen, self._place, self._bots) and not self._faults:
            return
        wanted = _by_kind(seen)
        if place is None:
            wanted.pop(OnWebhook.kind, None)
        # Their trouble is that of their bots.
        chats = wanted.pop(OnChat.kind, [])
        if bots:
            # Also without an active job: people get a reply, and can be permitted.
            wanted[OnChat.kind] = []
        moved = {OnWebhook.kind} if place != self._place else set()
        moved |= {OnChat.kind} if bots != self._bots else set()
        for kind in self._open.keys() - (wanted.keys() - moved):
            self._open.pop(kind).close()
        self._place, self._bots = place, bots
        self._faults = {kind: fault for kind, fault in self._faults.items() if kind in wanted}
        self._keep_troubles(
            [*(chats if bots else ()), *(entry for entries in wanted.values() for entry in entries)]
        )
        for kind, entries in wanted.items():
            self._follow_kind(kind, entries)
        self._seen = seen

    def close(self) -> None:
        """Stop watching."""
        for opened in self._open.values():
            opened.close()
        self._open, self._seen, self._faults = {}, [], {}

    def _follow_kind(self, kind: str, entries: list[Watched]) -> None:
        """Pass events to their watcher; if it cannot be opened, the next call retries."""
        fault = ""
        try:
            opened = self._open.get(kind) or self._open_watcher(kind)
            opened.reporter.follow(entries)
            if entries != opened.entries:
                opened.watcher.follow(entries)
            self._open[kind] = opened._replace(entries=entries)
        except Exception as error:  # noqa: BLE001 - jobs with times must run in any case
            fault = str(error) or type(error).__name__
            if self._faults.get(kind) != fault:
                _LOG.error("Watching events of the kind %s failed.", kind, exc_info=error)
        if fault != self._faults.get(kind, ""):
            self._note_all(entries, f"it cannot be watched: {fault}" if fault else "")
        if fault:
            self._faults[kind] = fault
        else:
            self._faults.pop(kind, None)

    def _keep_troubles(self, wanted: Sequence[Watched]) -> None:
        """Forget the troubles of all other events."""
        gone = self._store.watch_troubles.keys() - {(entry.job_id, entry.key) for entry in wanted}
        if gone:
            with self._store.transaction():
                self._store.watch_troubles.forget(gone)

    def _note_all(self, entries: Sequence[Watched], text: str) -> None:
        """Report the trouble of all these events, or that it is over."""
        with self._store.transaction():
            for entry in entries:
                note_trouble(self._store, (entry.job_id, entry.key), text, self._clock.now_ms())
        self._stored([Change(ChangeKind.WATCH, job_id=entry.job_id) for entry in entries])

    def _open_watcher(self, kind: str) -> _Open:
        path = self._store.database.path
        wakes: list[Callable[[], None]] = []
        reporter = Reporter(path, self._generation(), self._tell)
        link = Link(
            reporter.report,
            reporter.states,
            self._clock,
            path,
            self._place,
            self._bots,
            after_ticks=wakes.append,
            is_output_awaited=self._is_output_awaited,
            was_running=reporter.was_running,
            catches_up=reporter.catches_up,
            note_trouble=reporter.note_trouble,
        )
        return _Open(self._open_kind(kind, link), reporter, [], wakes)

    def _tell(self, changes: list[Change]) -> None:
        self._post(partial(self._stored, changes))


def _without_people(bots: tuple[ChatBot, ...]) -> tuple[ChatBot, ...]:
    """Return the parts of a bot whose change requires a new listener."""
    return tuple(replace(bot, permitted=()) for bot in bots)


def _by_kind(jobs: Iterable[tuple[str, str, str, int]]) -> dict[str, list[Watched]]:
    """Return the events of stored jobs by kind; a webhook is received, but not followed, while its job is inactive."""
    found: dict[str, list[Watched]] = {}
    for job_id, name, text, is_active in jobs:
        for entry in events_of(schedule_of(text)):
            event = entry.schedule
            if not isinstance(event, AnyEvent) or not (is_active or isinstance(event, OnWebhook)):
                continue
            followed = found.setdefault(event.kind, [])
            if is_active:
                followed.append(Watched(job_id, entry.key, event, name))
    return found
