"""File owners, write access of others, and the peer of a local socket."""

from __future__ import annotations

import os
import struct
import sys
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket

WRITE_BY_OTHERS = 0o022
_WRITE_BY_GROUP = 0o020
_UNMAPPED_UID = 65_534
_ALL_IDS = ["0", "0", "4294967295"]
_XUCRED = "=II"  # macOS: the version and the user, before the groups
_LOCAL_LEVEL, _LOCAL_PEERCRED = 0, 1


def is_writable_by_others(status: os.stat_result) -> bool:
    """Return whether a file or folder is writable by everybody or by a group with several users."""
    writable = status.st_mode & WRITE_BY_OTHERS
    return bool(writable) and (
        writable != _WRITE_BY_GROUP or not _is_private_group(status.st_gid, status.st_uid)
    )


def own_uid() -> int:
    """Return the id of our user; 0 on Windows, where all files seem to belong to 0."""
    if sys.platform == "win32":
        return 0
    return os.geteuid()


def is_trusted(uid: int) -> bool:
    """Return whether a user is our own or root."""
    return uid in {own_uid(), 0} or (uid == _UNMAPPED_UID and _has_unmapped_users())


@lru_cache(maxsize=1)
def _has_unmapped_users() -> bool:
    """Return whether this is a sandbox without a mapping for root, where root's files seem to belong to nobody."""
    try:
        return Path("/proc/self/uid_map").read_text(encoding="ascii").split() != _ALL_IDS
    except OSError:
        return False


@lru_cache(maxsize=16)
def _is_private_group(gid: int, owner: int) -> bool:
    """Return whether a group's only member is its user, as with the per-user groups of Debian and Fedora."""
    if sys.platform == "win32":
        return False
    import grp  # noqa: PLC0415 - not on every system
    import pwd  # noqa: PLC0415 - not on every system

    try:
        group = grp.getgrgid(gid)
    except KeyError:
        is_own = gid == owner
    else:
        is_own = group.gr_name == user_name(owner) and set(group.gr_mem) <= {group.gr_name}
    # A group does not list the users whose primary group it is.
    return is_own and all(user.pw_uid == owner for user in pwd.getpwall() if user.pw_gid == gid)


def user_name(uid: int) -> str:
    """Return the name of a user; the id if it has none."""
    if sys.platform == "win32":
        return str(uid)
    import pwd  # noqa: PLC0415 - not on every system

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def owner_words(uid: int) -> str:
    """Return a user's name for a sentence."""
    name = user_name(uid)
    return f"user {name}" if name.isdigit() else name


def is_own_peer(descriptor: int) -> bool:
    """Return whether the peer is our user; True if the system cannot tell, where the folder's permissions protect."""
    if not hasattr(os, "geteuid"):
        return True
    import socket  # noqa: PLC0415 - 4 ms that a list of jobs does without

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
    import socket  # noqa: PLC0415 - likewise

    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return None
    _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, option, struct.calcsize("3i")))
    return int(uid)
