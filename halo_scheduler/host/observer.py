"""Watching system events, on a thread that exists only while a job waits for one."""

from __future__ import annotations

import errno
import logging
import os
import select
import socket
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Protocol

_EVENT_BYTES = 65_536
# From linux/rtnetlink.h: the groups that announce changes of IPv4 and IPv6 routes.
_ROUTE_GROUPS = 0x40 | 0x400
_MOUNTS = Path("/proc/self/mountinfo")
_LOG = logging.getLogger(__name__)
_READ_SIZE = 4_096
_LONGEST_CLOSE_S = 1.0
# A burst of events is reported at its start and at its end; an endless one is rate-limited.
_REST_MS = 200


class Happening(StrEnum):
    """An event: something changed, and conditions must be probed again."""

    POWER = "power"
    NETWORK = "network"
    IDLE = "idle"
    MOUNTS = "mounts"
    WAKE = "wake"
    """The computer woke up."""
    SESSION = "session"
    """Somebody logged in."""
    UNLOCK = "unlock"
    """The screen was unlocked."""


@dataclass(frozen=True, slots=True)
class Interest:
    """What to watch; for IDLE also the idle time after which to report."""

    happenings: frozenset[Happening] = frozenset()
    idle_ms: frozenset[int] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.happenings)


class RouteEvents:
    """Reports changes of the kernel's routes, whichever program manages them."""

    is_urgent = False

    def __init__(self) -> None:
        """Start listening; OSError if the kernel refuses."""
        self._socket = _netlink_socket()
        try:
            self._socket.bind((0, _ROUTE_GROUPS))
        except OSError:
            self._socket.close()
            raise

    def fileno(self) -> int:
        return self._socket.fileno()

    def take(self) -> frozenset[Happening]:
        """Read the pending events; OSError if no more will come."""
        try:
            while True:
                self._socket.recv(_EVENT_BYTES)
        except BlockingIOError:
            pass
        except OSError as error:
            # The kernel dropped events because there were too many: that is a change, too.
            if error.errno != errno.ENOBUFS:
                raise
        return frozenset({Happening.NETWORK})

    def close(self) -> None:
        self._socket.close()


def _netlink_socket() -> socket.socket:
    if sys.platform != "linux":
        raise OSError("routes can only be observed on Linux")
    return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_NONBLOCK)


class MountEvents:
    """Reports mounts and unmounts."""

    # The kernel signals urgent data once per change; there is nothing to read.
    is_urgent = True

    def __init__(self, path: Path = _MOUNTS) -> None:
        """Start listening; OSError if the file does not exist."""
        self._descriptor = os.open(path, os.O_RDONLY)

    def fileno(self) -> int:
        return self._descriptor

    def take(self) -> frozenset[Happening]:
        """Report that it changed."""
        return frozenset({Happening.MOUNTS})

    def close(self) -> None:
        os.close(self._descriptor)


class EventSource(Protocol):
    """An event source with a descriptor."""

    @property
    def is_urgent(self) -> bool:
        """Whether its descriptor signals urgent data, instead of being readable, when there are events."""

    def fileno(self) -> int: ...

    def take(self) -> frozenset[Happening]:
        """Return the events since the last call; OSError if the source has ended.

        The first call also returns events that may have happened before the source was opened.
        """

    def close(self) -> None: ...


class Observer(Protocol):
    """Reports events of interest."""

    def follow(self, interest: Interest) -> None:
        """Watch these interests from now on, none if empty; never blocks.

        Called again with the same interests, it reopens sources that failed or ended.
        """

    def close(self) -> None:
        """Stop watching."""


class NoObserver:
    """The observer for systems without event sources."""

    def follow(self, interest: Interest) -> None:
        pass

    def close(self) -> None:
        pass


def system_observer(happened: Callable[[Collection[Happening]], None]) -> Observer:
    """Return the observer of this system; it calls `happened` on its own thread."""
    return SourceObserver(happened, linux_sources) if sys.platform == "linux" else NoObserver()


def linux_sources(interest: Interest) -> Mapping[str, Callable[[], EventSource]]:
    """Return the functions that open event sources, by name."""
    # Loaded by the thread: a program whose jobs never wait needs no D-Bus client.
    from halo_scheduler.host.bus import Bus  # noqa: PLC0415
    from halo_scheduler.host.bus_events import BusEvents, services_of  # noqa: PLC0415

    sources: dict[str, Callable[[], EventSource]] = {}
    if Happening.NETWORK in interest.happenings:
        sources["routes"] = RouteEvents
    if Happening.MOUNTS in interest.happenings:
        sources["mounts"] = MountEvents
    for bus in Bus:
        if services_of(bus, interest):
            sources[bus.name] = partial(BusEvents, bus, interest)
    return sources


SourceFactory = Callable[[Interest], Mapping[str, Callable[[], EventSource]]]


class SourceObserver:
    """Watches event sources on one thread, which starts with the first interest and ends with the last."""

    def __init__(
        self, happened: Callable[[Collection[Happening]], None], sources_of: SourceFactory = linux_sources
    ) -> None:
        self._happened = happened
        self._sources_of = sources_of
        self._thread: _ObserverThread | None = None

    def follow(self, interest: Interest) -> None:
        thread = self._thread
        if thread is not None and thread.is_alive() and interest:
            thread.follow(interest)
            return
        self._thread = None
        if thread is not None:
            thread.end()
        if interest:
            thread = _ObserverThread(interest, self._happened, self._sources_of)
            thread.start()
            self._thread = thread

    def close(self) -> None:
        thread = self._thread
        self.follow(Interest())
        if thread is not None and thread is not threading.current_thread():
            thread.join(_LONGEST_CLOSE_S)


class _ObserverThread(threading.Thread):
    """Waits for events of any source; when woken, it updates the set of sources."""

    def __init__(
        self,
        interest: Interest,
        happened: Callable[[Collection[Happening]], None],
        sources_of: SourceFactory,
    ) -> None:
        # A daemon thread: a blocked source must not keep the program from exiting.
        super().__init__(name="halo-observer", daemon=True)
        self._wanted = interest
        self._followed = Interest()
        self._happened = happened
        self._sources_of = sources_of
        self._sources: dict[str, EventSource] = {}
        self._is_over = False
        self._woken, self._waker = socket.socketpair()
        self._woken.setblocking(False)
        self._waker.setblocking(False)

    def follow(self, interest: Interest) -> None:
        """Watch these interests from now on; for any thread."""
        self._wanted = interest
        self._wake()

    def end(self) -> None:
        """Ask the thread to end; for any thread."""
        self._is_over = True
        self._wake()

    def start(self) -> None:
        try:
            super().start()
        except RuntimeError:
            self._close()
            raise

    def run(self) -> None:
        try:
            self._tell(self._open_sources())
            while not self._is_over:
                self._tell(self._wait())
        finally:
            self._close()

    def _close(self) -> None:
        self._close_sources()
        self._woken.close()
        self._waker.close()

    def _wake(self) -> None:
        # A full socket wakes the thread anyway, and a closed one has no thread to wake.
        with suppress(OSError):
            self._waker.send(b"\0")

    def _open_sources(self) -> frozenset[Happening]:
        """Open the missing sources, and reopen those whose interests changed; return their events."""
        wanted = self._wanted
        if wanted != self._followed:
            self._close_sources()
            self._followed = wanted
        told: frozenset[Happening] = frozenset()
        for name, open_source in self._sources_of(wanted).items():
            if name in self._sources:
                continue
            try:
                self._sources[name] = open_source()
            except OSError as error:
                _LOG.debug("%s cannot be observed: %s", name, error)
            else:
                told |= self._take(name)
        return told

    def _wait(self) -> frozenset[Happening]:
        """Wait for an event or a wake-up; return the events."""
        names = {source.fileno(): name for name, source in self._sources.items()}
        ready = _await_any(self._woken, self._sources.values())
        told = frozenset[Happening]().union(*(self._take(name) for at, name in names.items() if at in ready))
        if self._woken.fileno() not in ready:
            return told
        with suppress(BlockingIOError):
            while self._woken.recv(_READ_SIZE):
                pass
        # Ended sources are reopened only now: a bus that disconnects us at once would cause a busy loop.
        return told if self._is_over else told | self._open_sources()

    def _take(self, name: str) -> frozenset[Happening]:
        try:
            return self._sources[name].take()
        except OSError as error:
            _LOG.debug("%s is no longer observed: %s", name, error)
            self._sources.pop(name).close()
            return frozenset()

    def _tell(self, happenings: frozenset[Happening]) -> None:
        if not happenings or self._is_over:
            return
        self._happened(happenings)
        _await_any(self._woken, timeout_ms=_REST_MS)

    def _close_sources(self) -> None:
        for source in self._sources.values():
            source.close()
        self._sources.clear()


def _await_any(
    waker: socket.socket, sources: Iterable[EventSource] = (), timeout_ms: int | None = None
) -> set[int]:
    """Wait until woken or until a source has an event; return the descriptors of those that have."""
    if sys.platform == "win32":
        return set()  # Nothing is followed there.
    poll = select.poll()
    poll.register(waker, select.POLLIN)
    for source in sources:
        poll.register(source, select.POLLPRI if source.is_urgent else select.POLLIN)
    return {descriptor for descriptor, _ in poll.poll(timeout_ms)}
