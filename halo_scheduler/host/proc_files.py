"""Reading what Linux tells about processes in /proc."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

HAS_PROC = Path("/proc/self/environ").exists()
ZOMBIE = "Z"
_CHUNK = 1 << 15
# Counted from behind the command's closing bracket: the command may contain anything, also spaces and brackets.
_STATE, _PARENT, _SESSION, _START = 0, 1, 3, 19


class ProcessStat(NamedTuple):
    """The state of a process; `started` is in clock ticks since boot."""

    state: str
    parent: int
    session: int
    started: int


def stat_of(pid: int) -> ProcessStat | None:
    """Return the state of a process; None when there is no such process."""
    with suppress(OSError, IndexError, ValueError):
        fields = read_file(f"/proc/{pid}/stat").rpartition(b")")[2].split()
        return ProcessStat(
            fields[_STATE].decode(), int(fields[_PARENT]), int(fields[_SESSION]), int(fields[_START])
        )
    return None


def children_of(pid: int) -> list[int]:
    """Return the children of a process, zombies too; none where the kernel does not list them."""
    found: list[int] = []
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - names only
            with suppress(OSError):
                found += map(int, read_file(f"/proc/{pid}/task/{thread}/children").split())
    return found


def read_file(path: str) -> bytes:
    """Read one of the small files of /proc; there may be thousands, and a file object costs more than they do."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        content = os.read(descriptor, _CHUNK)
        chunk = content
        while chunk:
            chunk = os.read(descriptor, _CHUNK)
            content += chunk
        return content
    finally:
        os.close(descriptor)
