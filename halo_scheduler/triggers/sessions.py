"""Watches the session: boots, logins, wake-ups, unlocking, the network and AC power start runs."""

from __future__ import annotations

import logging
import queue
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from halo_scheduler.conditions.probes import has_way_out
from halo_scheduler.errors import StoreUnavailableError
from halo_scheduler.host import observer
from halo_scheduler.host.machine_state import runs_on_mains
from halo_scheduler.model import Event, OnSession, SessionEvent
from halo_scheduler.rules.event_requests import Happening
from halo_scheduler.triggers.troubles import Troubles

if TYPE_CHECKING:
    from halo_scheduler.triggers.watching import Key, Link, Watched

_LOG = logging.getLogger(__name__)
_RETRY_S = 5.0
# After a restart of the bus, it reconnects after this time.
_FOLLOW_AGAIN_S = 60.0
_LONGEST_CLOSE_S = 1.0
# Desktops report one unlock with several signals.
_SAME_UNLOCK_MS = 5_000
_STATES = {SessionEvent.NETWORK, SessionEvent.MAINS}
_HINTS = {
    SessionEvent.LOGIN: observer.Happening.SESSION,
    SessionEvent.WAKE: observer.Happening.WAKE,
    SessionEvent.UNLOCK: observer.Happening.UNLOCK,
    SessionEvent.NETWORK: observer.Happening.NETWORK,
    SessionEvent.MAINS: observer.Happening.POWER,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Senses:
    """The functions that observe this computer; each may take seconds."""

    boot_id: Callable[[], str]
    uptime_ms: Callable[[], int]
    sessions: Callable[[], frozenset[str] | None]
    reports_sleep: Callable[[], bool]
    reports_locking: Callable[[], bool]
    reports_power: Callable[[], bool]
    has_way_out: Callable[[], bool] = has_way_out
    runs_on_mains: Callable[[], bool | None] = runs_on_mains


def _senses() -> Senses:
    # Loaded here, because few programs need the D-Bus client.
    from halo_scheduler.host import session_events  # noqa: PLC0415

    return Senses(
        boot_id=session_events.boot_id,
        uptime_ms=session_events.uptime_ms,
        sessions=session_events.login_sessions,
        reports_sleep=session_events.reports_sleep,
        reports_locking=session_events.reports_locking,
        reports_power=session_events.reports_power,
    )


def open_watcher(link: Link) -> SessionWatcher:
    """Return the watcher of sessions."""
    from halo_scheduler.host.session_events import session_sources  # noqa: PLC0415

    return SessionWatcher(
        link, _senses(), lambda happened: observer.SourceObserver(happened, session_sources)
    )


def refusal(event: Event) -> str:
    """Return why this system cannot observe an event, as a sentence; "" if it can."""
    if not isinstance(event, OnSession):
        return ""
    if sys.platform != "linux":
        return f"{_NAMES[event.on]} can only be observed on Linux"
    return _trouble(event.on, _senses())


def _trouble(event: SessionEvent, senses: Senses) -> str:
    reason = _missing(event, senses)
    return f"{_NAMES[event]} cannot be observed here: {reason}" if reason else ""


_NAMES = {
    SessionEvent.LOGIN: "logins",
    SessionEvent.BOOT: "starts of the computer",
    SessionEvent.WAKE: "wake-ups of the computer",
    SessionEvent.UNLOCK: "unlocking the screen",
    SessionEvent.NETWORK: "network connections",
    SessionEvent.MAINS: "plugging in",
}


def _missing(event: SessionEvent, senses: Senses) -> str:
    """Return what is missing for observing an event; "" if nothing is."""
    ways: dict[SessionEvent, tuple[Callable[[], object], str]] = {
        SessionEvent.LOGIN: (
            lambda: senses.sessions() is not None,
            "there is no login session, and logind does not run",
        ),
        SessionEvent.BOOT: (senses.boot_id, "the kernel gives no boot id"),
        SessionEvent.WAKE: (senses.reports_sleep, "logind does not run"),
        SessionEvent.UNLOCK: (senses.reports_locking, "neither logind nor a screen saver runs"),
        SessionEvent.MAINS: (senses.reports_power, "UPower does not run"),
    }
    is_there, reason = ways.get(event, (lambda: True, ""))
    return "" if is_there() else reason


class SessionWatcher:
    """Watches all session events: one thread waits for signals, another one reports."""

    def __init__(
        self,
        link: Link,
        senses: Senses,
        observer_of: Callable[[Callable[[Collection[observer.Happening]], None]], observer.Observer],
    ) -> None:
        """`observer_of` returns an observer that calls a function on its own thread."""
        self._rounds = SessionRounds(link, senses)
        self._calls: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._observer = observer_of(lambda hints: self._calls.put(lambda: self._rounds.take(hints)))
        self._thread = threading.Thread(target=self._run, name="halo-sessions", daemon=True)

    def follow(self, entries: Sequence[Watched]) -> None:
        wanted = list(entries)
        self._calls.put(lambda: self._rounds.follow(wanted))
        if self._thread.ident is None:
            self._thread.start()

    def close(self) -> None:
        self._calls.put(None)
        if self._thread.ident is not None:
            self._thread.join(_LONGEST_CLOSE_S)

    def _run(self) -> None:
        rest_s: float = 0
        while True:
            try:
                call = self._calls.get(timeout=rest_s or None)
            except queue.Empty:
                call = self._rounds.again
            if call is None:
                break
            try:
                call()
                is_done, interest = self._rounds.report(), self._rounds.interest
                self._observer.follow(interest)
                rest_s = (_FOLLOW_AGAIN_S if interest else 0) if is_done else _RETRY_S
            except Exception:  # noqa: BLE001 - later events are still reported
                _LOG.exception("Reporting events of the session failed.")
                rest_s = _RETRY_S
        self._observer.close()


class SessionRounds:
    """Detects what happened in the session, and reports it once."""

    def __init__(self, link: Link, senses: Senses) -> None:
        self._link = link
        self._senses = senses
        self._wanted: Sequence[Watched] = ()
        self._is_new = False
        self._unsent: list[tuple[list[Happening], dict[Key, str]]] = []
        self._was: dict[SessionEvent, bool | None] = {}
        self._unlocked_at: int | None = None
        self._troubles = Troubles(link)
        self._suspected: dict[SessionEvent, str] = {}

    @property
    def interest(self) -> observer.Interest:
        """What to observe for the events."""
        return observer.Interest(frozenset(_HINTS[kind] for kind in self._kinds() if kind in _HINTS))

    def follow(self, wanted: Sequence[Watched]) -> None:
        """Watch these events, and no others."""
        self._wanted, self._is_new = wanted, True
        self._troubles.keep_only(wanted)
        # The current state is not an event.
        self._was = {
            kind: self._was[kind] if kind in self._was else self._state_of(kind)
            for kind in self._kinds() & _STATES
        }

    def take(self, hints: Collection[observer.Happening]) -> None:
        """Process a sign that something may have happened."""
        for hint in hints:
            match hint:
                case observer.Happening.WAKE:
                    self._note(SessionEvent.WAKE)
                case observer.Happening.UNLOCK:
                    self._note_unlocking()
                case observer.Happening.SESSION:
                    self._is_new = True
                case observer.Happening.NETWORK:
                    self._compare(SessionEvent.NETWORK)
                case observer.Happening.POWER:
                    self._compare(SessionEvent.MAINS)
                case _:
                    _LOG.debug("no watcher has the event %s", hint)

    def again(self) -> None:
        """Compare the state of the session once more: a signal may have been missed."""
        self._is_new = True

    def report(self) -> bool:
        """Store pending events; return whether that worked."""
        try:
            if self._is_new:
                self._compare_sessions()
                self._note_troubles()
                self._is_new = False
            while self._unsent:
                self._link.report(*self._unsent[0])
                del self._unsent[0]
        except StoreUnavailableError as error:
            _LOG.debug("Events of the session cannot be stored yet: %s", error)
            return False
        return True

    def _kinds(self) -> set[SessionEvent]:
        return {item.event.on for item in self._wanted if isinstance(item.event, OnSession)}

    def _entries(self, kind: SessionEvent) -> Iterable[Watched]:
        return (item for item in self._wanted if isinstance(item.event, OnSession) and item.event.on is kind)

    def _note_troubles(self) -> None:
        """Report events that could not be observed twice in a row: a busy service may just answer late."""
        found = {kind: _trouble(kind, self._senses) for kind in self._kinds()}
        for kind, trouble in found.items():
            if not trouble or trouble == self._suspected.get(kind):
                for entry in self._entries(kind):
                    self._troubles.note(entry, trouble)
        self._suspected = found

    # --- Events with an id ----------------------------------------------------------------------

    def _compare_sessions(self) -> None:
        """Report new boots and logins since the last comparison, once each."""
        states = self._link.states()
        boot_id = self._senses.boot_id()
        booted_at = self._link.clock.now_ms() - self._senses.uptime_ms()
        for entry in self._entries(SessionEvent.BOOT):
            if boot_id:
                self._compare_ids(entry, states.get((entry.job_id, entry.key)), [boot_id], booted_at)
        if not any(self._entries(SessionEvent.LOGIN)):
            return
        # Session numbers start again with each boot.
        sessions = sorted(f"{boot_id}/{session}" for session in self._senses.sessions() or ())
        for entry in self._entries(SessionEvent.LOGIN):
            self._compare_ids(
                entry, states.get((entry.job_id, entry.key)), sessions, self._link.clock.now_ms()
            )

    def _compare_ids(self, entry: Watched, state: str | None, ids: Sequence[str], at: int) -> None:
        key, boot_id = (entry.job_id, entry.key), self._senses.boot_id()
        seen = set((state or "").split())
        # A new event starts with the current state.
        new = [] if state is None else [item for item in ids if item not in seen]
        if state is None or new:
            # Keep those of this boot: logind may have failed to answer this time.
            kept = {item for item in seen if item.startswith(boot_id)}
            happenings = [_happening(entry, item, at) for item in new]
            self._link.report(happenings, {key: " ".join(sorted(kept | set(ids)))})

    # --- Events without an id ----------------------------------------------------------------------------

    def _compare(self, kind: SessionEvent) -> None:
        """Record that the network came up or the computer was plugged in, if the state changed."""
        if kind not in self._was:
            return
        was, now = self._was[kind], self._state_of(kind)
        if now is not None:
            self._was[kind] = now
        if was is False and now:
            self._note(kind)

    def _state_of(self, kind: SessionEvent) -> bool | None:
        return self._senses.has_way_out() if kind is SessionEvent.NETWORK else self._senses.runs_on_mains()

    def _note_unlocking(self) -> None:
        now = self._link.clock.monotonic_ms()
        if self._unlocked_at is None or now - self._unlocked_at >= _SAME_UNLOCK_MS:
            self._note(SessionEvent.UNLOCK)
        self._unlocked_at = now

    def _note(self, kind: SessionEvent) -> None:
        now, token = self._link.clock.now_ms(), uuid4().hex
        happenings = [_happening(entry, token, now) for entry in self._entries(kind)]
        if happenings:
            self._unsent.append((happenings, {}))


def _happening(entry: Watched, token: str, at: int) -> Happening:
    event = entry.event
    kind = event.on if isinstance(event, OnSession) else event.kind
    return Happening(
        job_id=entry.job_id, key=entry.key, event_id=f"{kind}:{token}:{entry.job_id}:{entry.key}", at=at
    )
