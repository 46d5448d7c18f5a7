"""Following what the system tells, on a thread that is there only while somebody waits for it."""

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
from functools import partial
from pathlib import Path
from typing import Protocol

from halo_scheduler.host.happenings import Happening, Interest

_EVENT_BYTES = 65_536
# From linux/rtnetlink.h: told whenever a route of IPv4 or of IPv6 comes or goes.
_ROUTE_GROUPS = 0x40 | 0x400
_MOUNTS = Path("/proc/self/mountinfo")

_LOG = logging.getLogger(__name__)
_READ_SIZE = 4_096
_LONGEST_CLOSE_S = 1.0
# What comes in a burst is told of twice, at its beginning and after it; one that never ends keeps nobody busy.
_REST_MS = 200


class RouteEvents:
    """Tells that the kernel's ways into the network changed, whoever manages them."""

    is_urgent = False

    def __init__(self) -> None:
        """Begin to listen; OSError when the kernel does not let us."""
        self._socket = _netlink_socket()
        try:
            self._socket.bind((0, _ROUTE_GROUPS))
        except OSError:
            self._socket.close()
            raise

    def fileno(self) -> int:
        return self._socket.fileno()

    def take(self) -> frozenset[Happening]:
        """Read what has come; OSError when nothing more will."""
        try:
            while True:
                self._socket.recv(_EVENT_BYTES)
        except BlockingIOError:
            pass
        except OSError as error:
            # So much happened that some of it was dropped: that is a change, too.
            if error.errno != errno.ENOBUFS:
                raise
        return frozenset({Happening.NETWORK})

    def close(self) -> None:
        self._socket.close()


def _netlink_socket() -> socket.socket:
    if sys.platform != "linux":
        raise OSError("only Linux tells of its routes")
    return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_NONBLOCK)


class MountEvents:
    """Tells that something was mounted or unmounted."""

    # The kernel marks the file as urgent, once for each change; there is nothing to be read for it.
    is_urgent = True

    def __init__(self, path: Path = _MOUNTS) -> None:
        """Begin to listen; OSError when there is no such file."""
        self._descriptor = os.open(path, os.O_RDONLY)

    def fileno(self) -> int:
        return self._descriptor

    def take(self) -> frozenset[Happening]:
        """Note that it changed."""
        return frozenset({Happening.MOUNTS})

    def close(self) -> None:
        os.close(self._descriptor)


class EventSource(Protocol):
    """Something with a descriptor that tells of happenings."""

    @property
    def is_urgent(self) -> bool:
        """Whether its descriptor becomes urgent, instead of readable, when there is something to `take`."""

    def fileno(self) -> int: ...

    def take(self) -> frozenset[Happening]:
        """Return what it has told since it was last asked; OSError when it has ended.

        Asked for the first time, it also returns what may have happened before it was there.
        """

    def close(self) -> None: ...


class Observer(Protocol):
    """Tells of happenings, for as long as somebody is interested in any."""

    def follow(self, interest: Interest) -> None:
        """Follow this from now on, and nothing when it is empty; never waits.

        Asked for the same again, it tries anew what could not be followed, or has ended.
        """

    def close(self) -> None:
        """Follow nothing any more."""


class NoObserver:
    """Stands where a system tells nothing of its own accord."""

    def follow(self, interest: Interest) -> None:
        pass

    def close(self) -> None:
        pass


def system_observer(happened: Callable[[Collection[Happening]], None]) -> Observer:
    """Return what follows the happenings of this system; `happened` is called on a thread of its own."""
    return SourceObserver(happened, linux_sources) if sys.platform == "linux" else NoObserver()


def linux_sources(interest: Interest) -> Mapping[str, Callable[[], EventSource]]:
    """Return how to open what tells of happenings, each by a name."""
    # Loaded by the thread: a program whose jobs never wait needs no client of the bus.
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
    """Follows sources of events on one thread, which starts with the first interest and ends with the last."""

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
    """Waits for whichever source has something to tell; woken, it follows what it was told to meanwhile."""

    def __init__(
        self,
        interest: Interest,
        happened: Callable[[Collection[Happening]], None],
        sources_of: SourceFactory,
    ) -> None:
        # A daemon: nothing that the system does keeps the program from ending.
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
        """Follow this from now on; for any thread."""
        self._wanted = interest
        self._wake()

    def end(self) -> None:
        """End soon; for any thread."""
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
        # A full pair wakes as well as one more byte would, and one that is closed has nobody to wake.
        with suppress(OSError):
            self._waker.send(b"\0")

    def _open_sources(self) -> frozenset[Happening]:
        """Open what is wanted and not open, and begin anew when something else is wanted; return what that tells."""
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
                _LOG.debug("%s cannot be followed: %s", name, error)
            else:
                told |= self._take(name)
        return told

    def _wait(self) -> frozenset[Happening]:
        """Wait until something has happened, or until woken; return what happened."""
        names = {source.fileno(): name for name, source in self._sources.items()}
        ready = _await_any(self._woken, self._sources.values())
        told = frozenset[Happening]().union(*(self._take(name) for at, name in names.items() if at in ready))
        if self._woken.fileno() not in ready:
            return told
        with suppress(BlockingIOError):
            while self._woken.recv(_READ_SIZE):
                pass
        # What has ended is tried anew only now: a bus that throws us out at once would keep us busy otherwise.
        return told if self._is_over else told | self._open_sources()

    def _take(self, name: str) -> frozenset[Happening]:
        try:
            return self._sources[name].take()
        except OSError as error:
            _LOG.debug("%s is followed no more: %s", name, error)
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
    """Wait until woken or until a source has something; return the descriptors of those that have."""
    if sys.platform == "win32":
        return set()  # Nothing is followed there.
    poll = select.poll()
    poll.register(waker, select.POLLIN)
    for source in sources:
        poll.register(source, select.POLLPRI if source.is_urgent else select.POLLIN)
    return {descriptor for descriptor, _ in poll.poll(timeout_ms)}
