"""Who owns a file, and whether others than its owner can write to it."""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from pathlib import Path

WRITE_BY_OTHERS = 0o022
_WRITE_BY_GROUP = 0o020
_UNMAPPED_UID = 65_534
_ALL_IDS = ["0", "0", "4294967295"]


def is_writable_by_others(status: os.stat_result) -> bool:
    """Tell whether a group of several users, or everybody, can write to a file or folder."""
    writable = status.st_mode & WRITE_BY_OTHERS
    return bool(writable) and (
        writable != _WRITE_BY_GROUP or not _is_private_group(status.st_gid, status.st_uid)
    )


def own_uid() -> int:
    """Return the number of our user; 0, whose all files seem to be, on Windows."""
    if sys.platform == "win32":
        return 0
    return os.geteuid()


def is_trusted(uid: int) -> bool:
    """Tell whether a user is ourselves or root."""
    return uid in {own_uid(), 0} or (uid == _UNMAPPED_UID and _has_unmapped_users())


@lru_cache(maxsize=1)
def _has_unmapped_users() -> bool:
    """Tell whether this is a sandbox that does not know root: what is root's then seems to be nobody's."""
    try:
        return Path("/proc/self/uid_map").read_text(encoding="ascii").split() != _ALL_IDS
    except OSError:
        return False


@lru_cache(maxsize=16)
def _is_private_group(gid: int, owner: int) -> bool:
    """Tell whether a group has no other member than its user, as Debian and Fedora give one to everybody."""
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
    # A group does not list those who have it as their primary one.
    return is_own and all(user.pw_uid == owner for user in pwd.getpwall() if user.pw_gid == gid)


def user_name(uid: int) -> str:
    """Return the name of a user; the number of one without a name."""
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
