"""Looking at real processes from outside, and ending those a test has left."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import psutil

T = TypeVar("T")

LONG_S = 60.0
"""How long a test waits for what happens soon: only one that fails takes so long, on however busy a machine."""


def until(condition: Callable[[], T | None], seconds: float = LONG_S) -> T:
    """Wait for something that another process does and return it, or fail."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)
    return found


def files_below(folder: Path) -> dict[Path, bytes]:
    """Return the contents of all files; read them again if one is renamed meanwhile, as a finished backup is."""
    while True:
        with suppress(FileNotFoundError):
            return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def is_living(pid: int) -> bool:
    """Tell whether a process lives; one that only waits for its burial does not."""
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def is_idle(pid: int) -> bool:
    """Tell whether all threads of a process wait for something, and none of them for the processor or a disk."""
    with suppress(OSError):
        for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
            # After the name in brackets, which may be anything.
            if stat.read_text().rpartition(")")[2].split()[0] in "RD":
                return False
    return True


def pids_in(folder: Path) -> list[int]:
    """Return the numbers that processes wrote into files named *.pid."""
    return [int(text) for path in sorted(folder.glob("*.pid")) if (text := path.read_text()).endswith("\n")]


def living_in(folder: Path) -> list[int]:
    """Return those of them that live."""
    return [pid for pid in pids_in(folder) if is_living(pid)]


def end_all(pids: Iterable[int]) -> None:
    """End what a test started and did not end itself."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def end(process: subprocess.Popen[bytes]) -> None:
    """End a child, if need be by force."""
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)


def own_zombies() -> list[int]:
    """Return the children of this process that nobody has buried."""
    return [child.pid for child in psutil.Process().children() if child.status() == psutil.STATUS_ZOMBIE]


def descriptor_count(pid: int | str = "self") -> int:
    """Return how many descriptors a process has open."""
    return len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208 - names only
