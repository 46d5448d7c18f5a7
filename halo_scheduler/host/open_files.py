"""Which processes have a file open, also one that was deleted since."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil

_PROCESSES = Path("/proc")
_DELETED = " (deleted)"


class FileUser(NamedTuple):
    """A process that has a file open."""

    pid: int
    program: str
    is_deleted: bool
    """Whether what it has open is no longer what is found at that path."""


def users_of(path: Path) -> list[FileUser]:
    """Return the other processes that have a file open, as far as we may see; none where the system does not tell."""
    target = str(path.resolve())
    found: set[FileUser] = set()
    for pid in psutil.pids() if (_PROCESSES / "self" / "fd").is_dir() else []:
        if pid == os.getpid():
            continue
        for name in _open_names(pid):
            if name in (target, target + _DELETED):
                found.add(FileUser(pid, _program_of(pid), name != target))
    return sorted(found)


def _open_names(pid: int) -> list[str]:
    names: list[str] = []
    with suppress(OSError):  # It has gone, or is somebody else's.
        for entry in os.scandir(_PROCESSES / str(pid) / "fd"):
            with suppress(OSError):
                names.append(os.readlink(entry.path))  # noqa: PTH115 - thousands of them
    return names


def _program_of(pid: int) -> str:
    with suppress(psutil.Error):
        return psutil.Process(pid).name()
    return "?"
