"""Telling one process from another, also after its number was given to a new one."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_START_FIELD = 19  # field 22 of /proc/PID/stat, counted from behind the command's closing bracket


def process_start(pid: int) -> str | None:
    """Return a text that identifies this start of a process; None when there is no such process.

    On Linux it is the boot and the start in clock ticks since then: unlike a time of day, neither moves when
    the clock is set.
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
    """Tell whether that very process still lives."""
    return process_start(pid) == start


def own_identity() -> tuple[int, str]:
    """Return the number and the start of this process."""
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
