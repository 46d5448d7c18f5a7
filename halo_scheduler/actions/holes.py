"""Files with holes: stretches that were given back to the disk while all else stays in its place."""

from __future__ import annotations

import os
import sys

_FALLOC_FL_KEEP_SIZE, _FALLOC_FL_PUNCH_HOLE = 1, 2


def used_bytes(status: os.stat_result) -> int:
    """Return what a file takes of the disk; without its holes, where the system knows of them."""
    return min(status.st_size, getattr(status, "st_blocks", sys.maxsize) * 512)


def data_from(descriptor: int, position: int) -> int:
    """Return the first place from here on where there is data, or here."""
    if sys.platform == "win32":
        return position  # It knows no holes.
    try:
        return os.lseek(descriptor, position, os.SEEK_DATA)
    except OSError:  # the end of the file
        return position


def hole_from(descriptor: int, position: int) -> int:
    """Return the first place from here on where data was taken out, or the end."""
    if sys.platform == "win32":
        return os.fstat(descriptor).st_size
    try:
        return os.lseek(descriptor, position, os.SEEK_HOLE)
    except OSError:
        return os.fstat(descriptor).st_size


def read_at(descriptor: int, most_bytes: int, position: int) -> bytes:
    """Read from a place in a file."""
    if sys.platform == "win32":
        os.lseek(descriptor, position, os.SEEK_SET)
        return os.read(descriptor, most_bytes)
    return os.pread(descriptor, most_bytes, position)


def punch_hole(path: str, start: int, length: int) -> bool:
    """Give a stretch of a file back to the disk, leaving all else in its place; False where that is not known."""
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
