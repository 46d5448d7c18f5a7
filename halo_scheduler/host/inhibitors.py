"""The ways in which systems let a program keep the machine awake."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Protocol

_LONGEST_REASON = 200
_LONGEST_END_S = 5.0
# From winbase.h.
_CONTINUOUS, _SYSTEM_REQUIRED = 0x80000000, 0x00000001


class NotAwakeError(Exception):
    """The machine cannot be kept awake; the text says why, as the end of a sentence."""


class Grip(Protocol):
    """What keeps the machine awake until it is let go; should this program die, the system lets go by itself."""

    def release(self) -> None:
        """Let go; this may take a moment."""


def inhibit_sleep(why: str) -> Grip:
    """Keep the machine awake for a reason that users are shown; `NotAwakeError` when this system does not let us."""
    if sys.platform == "linux":
        from halo_scheduler.host.bus_inhibitors import LogindGrip, PortalGrip  # noqa: PLC0415 - only on Linux

        return first_grip(why, (LogindGrip, PortalGrip))
    if sys.platform == "darwin":
        return ProcessGrip(("/usr/bin/caffeinate", "-i", "-w", str(os.getpid())))
    if sys.platform == "win32":
        return ThreadGrip(_windows_state())
    raise NotAwakeError("there is no way known on this system")


def first_grip(why: str, ways: Iterable[Callable[[str], Grip]]) -> Grip:
    """Return what the first way gives that gives anything; else `NotAwakeError` with all the reasons."""
    reason = one_line(why)
    faults: list[str] = []
    for way in ways:
        try:
            return way(reason)
        except OSError as error:
            faults.append(str(error))
    raise NotAwakeError("; ".join(faults))


def one_line(why: str) -> str:
    """Return a reason that every system can carry: one line, not too long, without half a sign."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in why).split())
    return line[:_LONGEST_REASON].encode(errors="replace").decode()


class ProcessGrip:
    """Keeps the machine awake by a process that does nothing else, as on macOS."""

    def __init__(self, command: tuple[str, ...]) -> None:
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own argument list
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            raise NotAwakeError(f"{command[0]} cannot be started ({error.strerror})") from error

    def release(self) -> None:
        self._process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_LONGEST_END_S)
            return
        self._process.kill()
        self._process.wait()


class ThreadGrip:
    """Keeps the machine awake by a wish that holds while the thread lives that made it, as on Windows."""

    def __init__(self, set_state: Callable[[int], int]) -> None:
        """`set_state` is the system's function; 0 is its way of saying no."""
        self._set_state = set_state
        self._is_over = threading.Event()
        self._is_answered = threading.Event()
        self._is_granted = False
        self._thread = threading.Thread(target=self._run, name="halo-awake", daemon=True)
        self._thread.start()
        self._is_answered.wait()
        if not self._is_granted:
            self._thread.join()
            raise NotAwakeError("Windows does not allow it")

    def release(self) -> None:
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            self._is_granted = self._set_state(_CONTINUOUS | _SYSTEM_REQUIRED) != 0
        finally:
            self._is_answered.set()
        if self._is_granted:
            self._is_over.wait()
            self._set_state(_CONTINUOUS)


def _windows_state() -> Callable[[int], int]:
    import ctypes  # noqa: PLC0415 - only where there is such a system

    windll = getattr(ctypes, "windll", None)
    if windll is None:
        raise NotAwakeError("this Python cannot ask Windows")
    set_state: Callable[[int], int] = windll.kernel32.SetThreadExecutionState
    return set_state
