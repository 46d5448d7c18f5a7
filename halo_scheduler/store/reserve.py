"""The reserve: a file that holds some room beside the database, and is given up when the disk is full."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from halo_scheduler.host.disk_space import disk_space

_MOST_BYTES = 4 << 20
_PART = 32


def reserve_path(database: Path) -> Path:
    """Return where the reserve of a database lies."""
    return database.with_name(f"{database.name}-reserve")


def hold_reserve(database: Path) -> None:
    """Take the reserve from the disk, unless it is held or the disk has not twice as much free."""
    path, space = reserve_path(database), disk_space(str(database.parent))
    if space is None:
        return
    size = min(_MOST_BYTES, space.total // _PART)
    if _size(path) < size and space.free >= 2 * size:
        with suppress(OSError):  # It is tried again.
            _fill(path, size)


def release_reserve(database: Path) -> bool:
    """Give the room back to the disk; tell whether there was any."""
    try:
        reserve_path(database).unlink()
    except OSError:
        return False
    return True


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def _fill(path: Path, size: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(descriptor, 0, size)
        else:
            os.write(descriptor, bytes(size))
    except OSError:
        path.unlink()
        raise
    finally:
        os.close(descriptor)
