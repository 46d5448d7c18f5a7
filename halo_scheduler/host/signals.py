"""SIGTERM and SIGINT as a descriptor for an event loop."""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import socket
import sys
from typing import Self

_CLOCK_REALTIME = 0
_TFD_NONBLOCK = 0o4000
_TFD_CLOEXEC = 0o2000000
_TFD_TIMER_ABSTIME = 1
_TFD_TIMER_CANCEL_ON_SET = 2
# A time that never comes: only the cancellation of this timer matters.
_NEVER_S = 2 ** (8 * ctypes.sizeof(ctypes.c_long) - 1) - 1


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _TimerSpec(ctypes.Structure):
    _fields_ = (("interval", _Timespec), ("value", _Timespec))


class ClockChanges:
    """A descriptor that becomes readable when the wall clock is set or the computer wakes from sleep."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def open(cls) -> Self | None:
        """Return an armed one; None if the system does not support it."""
        if not sys.platform.startswith("linux"):
            return None
        create = getattr(ctypes.CDLL(None, use_errno=True), "timerfd_create", None)
        descriptor = -1 if create is None else create(_CLOCK_REALTIME, _TFD_NONBLOCK | _TFD_CLOEXEC)
        if descriptor < 0:
            return None
        found = cls(descriptor)
        if not found._arm():
            found.close()
            return None
        return found

    def fileno(self) -> int:
        return self._descriptor

    def take(self) -> bool:
        """Return whether the clock was set since the last call, and arm the timer again."""
        try:
            os.read(self._descriptor, 8)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno != errno.ECANCELED:
                raise
        self._arm()
        return True

    def close(self) -> None:
        os.close(self._descriptor)

    def _arm(self) -> bool:
        timer = _TimerSpec(_Timespec(0, 0), _Timespec(_NEVER_S, 0))
        flags = _TFD_TIMER_ABSTIME | _TFD_TIMER_CANCEL_ON_SET
        libc = ctypes.CDLL(None, use_errno=True)
        # It fails with ECANCELED if the clock was set in between, but still arms the timer.
        failed = libc.timerfd_settime(self._descriptor, flags, ctypes.byref(timer), None)
        return not failed or ctypes.get_errno() == errno.ECANCELED


class StopSignals:
    """Turns the signals that ask a program to stop into a descriptor that becomes readable."""

    def __enter__(self) -> Self:
        self._read, self._write = socket.socketpair()
        for end in (self._read, self._write):
            end.setblocking(False)
        self._old_fd = signal.set_wakeup_fd(self._write.fileno(), warn_on_full_buffer=False)
        self._old = {number: signal.signal(number, _ignore) for number in (signal.SIGTERM, signal.SIGINT)}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._old.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._old_fd)
        self._read.close()
        self._write.close()

    def fileno(self) -> int:
        return self._read.fileno()

    def is_asked_to_stop(self) -> bool:
        """Return whether a stop signal arrived; other signals wake the loop too."""
        return bool({signal.SIGTERM, signal.SIGINT} & set(self._read.recv(64)))

    def leave_on_next(self) -> None:
        """Let the next signal end the program at once."""
        for number in self._old:
            signal.signal(number, signal.SIG_DFL)


def _ignore(*_: object) -> None:
    """Do nothing: Python writes the signal's number to the socket, which is all we need."""
