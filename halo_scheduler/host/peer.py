"""The user at the other end of a local socket."""

from __future__ import annotations

import os
import socket
import struct
import sys

_XUCRED = "=II"  # macOS: the version and the user, before the groups
_LOCAL_LEVEL, _LOCAL_PEERCRED = 0, 1


def is_own_peer(descriptor: int) -> bool:
    """Tell whether the other end belongs to our user; where the system does not say, the folder is the guard."""
    if not hasattr(os, "geteuid"):
        return True
    try:
        with socket.socket(fileno=os.dup(descriptor)) as connection:
            uid = _peer_uid(connection)
    except OSError:
        return False  # It is gone.
    return uid is None or uid == os.geteuid()


def _peer_uid(connection: socket.socket) -> int | None:
    if sys.platform == "darwin":
        found = connection.getsockopt(_LOCAL_LEVEL, _LOCAL_PEERCRED, struct.calcsize(_XUCRED))
        return int(struct.unpack(_XUCRED, found)[1])
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return None
    _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, option, struct.calcsize("3i")))
    return int(uid)
