"""Processes: identity, /proc data, exit notification, core dumps."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Protocol

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_START_FIELD = 19  # field 22 of /proc/PID/stat, counted from behind the command's closing bracket
HAS_PROC = Path("/proc/self/environ").exists()
ZOMBIE = "Z"
_CHUNK = 1 << 15
# Indices after the command's closing bracket: the command may contain anything, even spaces and brackets.
_STATE, _PARENT, _SESSION, _START = 0, 1, 3, 19
# The unit of `ulimit -c`, whichever shell /bin/sh is.
_BLOCK_BYTES = 512


def process_start(pid: int) -> str | None:
    """Return a text that identifies this start of a process; None if there is no such process.

    On Linux it is the boot id and the start in clock ticks since boot: unlike a time of day, neither changes when the
    clock is set.
    """
    stat = Path(f"/proc/{pid}/stat")
    try:
        if _BOOT_ID.exists():
            fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if fields[0] == "Z":
                return None  # Dead, only not yet buried by its parent.
            return f"{_BOOT_ID.read_text(encoding='ascii').strip()}/{fields[_START_FIELD]}"
    except (OSError, IndexError):
        return None
    return _start_elsewhere(pid)


def _start_elsewhere(pid: int) -> str | None:
    import psutil  # noqa: PLC0415 - not needed on Linux, and not small

    try:
        return str(psutil.Process(pid).create_time())
    except psutil.Error:
        return None


def is_alive(pid: int, start: str) -> bool:
    """Return whether exactly that process is still alive."""
    return process_start(pid) == start


def own_identity() -> tuple[int, str]:
    """Return the pid and the start of this process."""
    pid = os.getpid()
    return pid, process_start(pid) or ""


def wait_until_gone(pid: int) -> None:
    """Wait until a process that is not our child is gone."""
    import psutil  # noqa: PLC0415 - few wait for others' children

    with suppress(psutil.Error):
        psutil.Process(pid).wait()


def reap(process: subprocess.Popen[bytes]) -> None:
    """Wait until a child of ours ends, so that it does not stay a zombie."""
    process.wait()


class ProcessStat(NamedTuple):
    """The state of a process; `started` is in clock ticks since boot."""

    state: str
    parent: int
    session: int
    started: int


def stat_of(pid: int) -> ProcessStat | None:
    """Return the state of a process; None if there is no such process."""
    with suppress(OSError, IndexError, ValueError):
        fields = read_file(f"/proc/{pid}/stat").rpartition(b")")[2].split()
        return ProcessStat(
            fields[_STATE].decode(), int(fields[_PARENT]), int(fields[_SESSION]), int(fields[_START])
        )
    return None


def age_ms(pid: int) -> int | None:
    """Return how long ago a process was started, whatever the clock was set to; None if that is unknown."""
    stat = stat_of(pid)
    if stat is None or sys.platform == "win32":
        return None
    uptime_s = float(read_file("/proc/uptime").split()[0])
    return int((uptime_s - stat.started / os.sysconf("SC_CLK_TCK")) * 1_000)


def children_of(pid: int) -> list[int]:
    """Return the children of a process, including zombies; none if the kernel does not list them."""
    found: list[int] = []
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - names only
            with suppress(OSError):
                found += map(int, read_file(f"/proc/{pid}/task/{thread}/children").split())
    return found


def read_file(path: str) -> bytes:
    """Read a small file of /proc; cheaper than a file object, as there may be thousands."""
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


class Watch(Protocol):
    """Reports when processes are gone."""

    def add(self, pid: int, wait: Callable[[], object], gone: Callable[[], None]) -> None:
        """Call `gone` on the engine's thread once that process is gone.

        `wait` blocks until then, for implementations without a better way.
        """


class ThreadWatch:
    """Waits with one thread per process, where process descriptors are unavailable."""

    def __init__(self, post: Callable[[Callable[[], None]], None]) -> None:
        self._post = post

    def add(self, pid: int, wait: Callable[[], object], gone: Callable[[], None]) -> None:
        def watch() -> None:
            wait()
            self._post(gone)

        threading.Thread(target=watch, name=f"halo-watch-{pid}", daemon=True).start()


class CoreLimit:
    """The core dump limit of this process, shared by all its threads."""

    def __init__(self) -> None:
        self._soft_before: int | None = None

    def lower(self) -> None:
        """Disable core dumps.

        Only the soft limit is lowered, so that a child may raise it again. Windows has no such limit.
        """
        try:
            resource = importlib.import_module("resource")
        except ImportError:
            return
        soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
        if soft != 0:
            resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
            self._soft_before = soft

    @property
    def restoring_line(self) -> str:
        """The shell line that restores the original limit in a child; "" if it is unchanged."""
        if self._soft_before is None:
            return ""
        # A negative number means no limit.
        return f"ulimit -S -c {'unlimited' if self._soft_before < 0 else self._soft_before // _BLOCK_BYTES}; "


CORE_LIMIT = CoreLimit()
