"""What the kernel tells by descriptors: that ways into the network, or mounted file systems, have changed."""

from __future__ import annotations

import errno
import os
import select
import socket
from pathlib import Path

from halo_scheduler.host.happenings import Happening

_READ_SIZE = 65_536
# From linux/rtnetlink.h: told whenever a route of IPv4 or of IPv6 comes or goes.
_ROUTE_GROUPS = 0x40 | 0x400
_MOUNTS = Path("/proc/self/mountinfo")


class RouteEvents:
    """Tells that the kernel's ways into the network changed, whoever manages them."""

    mask = select.POLLIN

    def __init__(self) -> None:
        """Begin to listen; OSError when the kernel does not let us."""
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_NONBLOCK)
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
                self._socket.recv(_READ_SIZE)
        except BlockingIOError:
            pass
        except OSError as error:
            # So much happened that some of it was dropped: that is a change, too.
            if error.errno != errno.ENOBUFS:
                raise
        return frozenset({Happening.NETWORK})

    def close(self) -> None:
        self._socket.close()


class MountEvents:
    """Tells that something was mounted or unmounted."""

    # The kernel marks the file as urgent, once for each change; there is nothing to be read for it.
    mask = select.POLLPRI

    def __init__(self, path: Path = _MOUNTS) -> None:
        """Begin to listen; OSError when there is no such file."""
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def fileno(self) -> int:
        return self._descriptor

    def take(self) -> frozenset[Happening]:
        """Note that it changed."""
        return frozenset({Happening.MOUNTS})

    def close(self) -> None:
        os.close(self._descriptor)
