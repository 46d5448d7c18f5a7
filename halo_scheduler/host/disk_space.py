"""Disk space: size, free space, reserve, and sparse files."""

from __future__ import annotations

import os
import sys
from typing import NamedTuple

_KEPT_FREE_BYTES = 64 << 20
_KEPT_FREE_PART = 20
_FULL_BYTES = 1 << 20
_FALLOC_FL_KEEP_SIZE, _FALLOC_FL_PUNCH_HOLE = 1, 2


class DiskSpace(NamedTuple):
    """The size of a disk and its free space, in bytes."""

    total: int
    free: int

    @property
    def kept_free(self) -> int:
        """What output must leave free: 64 MiB, or 5 % of a small disk."""
        return min(_KEPT_FREE_BYTES, self.total // _KEPT_FREE_PART)

    @property
    def room(self) -> int:
        """The bytes that output may still use; negative: the bytes it should free."""
        return self.free - self.kept_free

    @property
    def is_full(self) -> bool:
        """Whether the disk is practically full."""
        return self.free < min(_FULL_BYTES, self.kept_free // 4)


def disk_space(path: str) -> DiskSpace | None:
    """Return the space of the disk that holds a path; None if unknown or unlimited."""
    import shutil  # noqa: PLC0415 - 2 ms that a list of jobs does without

    try:
        total, _, free = shutil.disk_usage(path)
    except OSError:
        return None
    return DiskSpace(total, free) if total else None


def used_bytes(status: os.stat_result) -> int:
    """Return the disk space a file uses, without its holes where the system reports them."""
    return min(status.st_size, getattr(status, "st_blocks", sys.maxsize) * 512)


def data_from(descriptor: int, position: int) -> int:
    """Return the first offset from here on that holds data; this offset if unknown."""
    if sys.platform == "win32":
        return position  # It knows no holes.
    try:
        return os.lseek(descriptor, position, os.SEEK_DATA)
    except OSError:  # the end of the file
        return position


def hole_from(descriptor: int, position: int) -> int:
    """Return the first offset from here on that lies in a hole, or the end."""
    if sys.platform == "win32":
        return os.fstat(descriptor).st_size
    try:
        return os.lseek(descriptor, position, os.SEEK_HOLE)
    except OSError:
        return os.fstat(descriptor).st_size


def read_at(descriptor: int, most_bytes: int, position: int) -> bytes:
    """Read from an offset in a file."""
    if sys.platform == "win32":
        os.lseek(descriptor, position, os.SEEK_SET)
        return os.read(descriptor, most_bytes)
    return os.pread(descriptor, most_bytes, position)


def punch_hole(path: str, start: int, length: int) -> bool:
    """Free the disk space of a range without moving the rest; False if the system cannot."""
    if not sys.platform.startswith("linux"):
        return False
    import ctypes  # noqa: PLC0415 - only for output that is too long

    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = os.open(path, os.O_RDWR)
    try:
        return bool(
            libc.fallocate(
                descriptor,
                _FALLOC_FL_PUNCH_HOLE | _FALLOC_FL_KEEP_SIZE,
                ctypes.c_int64(start),
                ctypes.c_int64(length),
            )
            == 0
        )
    finally:
        os.close(descriptor)
