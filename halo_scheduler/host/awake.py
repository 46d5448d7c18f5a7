"""Sleep inhibitors: keep the computer awake while runs need it."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import ClassVar, Protocol

from jeepney import MatchRule, Message, message_bus
from jeepney.fds import FileDescriptor

from halo_scheduler.host.bus import Bus, BusConnection, BusError, Callee, method_call

_LONGEST_REASON = 200
_LONGEST_END_S = 5.0
# From winbase.h.
_CONTINUOUS, _SYSTEM_REQUIRED = 0x80000000, 0x00000001
_LOG = logging.getLogger(__name__)
_WHO = "Halo Scheduler"
_SUSPEND, _IDLE = 4, 8


class NotAwakeError(Exception):
    """Sleep cannot be inhibited; the text says why, as the end of a sentence."""


class Grip(Protocol):
    """An active sleep inhibitor; the system releases it if this program dies."""

    def release(self) -> None:
        """Release the inhibitor; may take a moment."""


def inhibit_sleep(why: str) -> Grip:
    """Inhibit sleep for a reason that the system shows; `NotAwakeError` if no method works."""
    if sys.platform == "linux":
        return first_grip(why, (LogindGrip, PortalGrip))
    if sys.platform == "darwin":
        return ProcessGrip(("/usr/bin/caffeinate", "-i", "-w", str(os.getpid())))
    if sys.platform == "win32":
        return ThreadGrip(_windows_state())
    raise NotAwakeError("not supported on this system")


def first_grip(why: str, ways: Iterable[Callable[[str], Grip]]) -> Grip:
    """Return the inhibitor of the first method that works; else `NotAwakeError` with all the reasons."""
    reason = one_line(why)
    faults: list[str] = []
    for way in ways:
        try:
            return way(reason)
        except OSError as error:
            faults.append(str(error))
    raise NotAwakeError("; ".join(faults))


def one_line(why: str) -> str:
    """Return a reason that every system accepts: one line of limited length, without a split character."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in why).split())
    return line[:_LONGEST_REASON].encode(errors="replace").decode()


class ProcessGrip:
    """Inhibits sleep through a helper process, as on macOS."""

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
    """Inhibits sleep through a thread's execution state, which lasts while the thread lives, as on Windows."""

    def __init__(self, set_state: Callable[[int], int]) -> None:
        """`set_state` is the system's function; it returns 0 if refused."""
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
        raise NotAwakeError("this Python cannot call the Windows API")
    set_state: Callable[[int], int] = windll.kernel32.SetThreadExecutionState
    return set_state


class _Hold:
    """The inhibitor of one run, from the request to the release."""

    def __init__(self) -> None:
        self.is_wanted = True
        self.grip: Grip | None = None


class KeepAwake:
    """Inhibits sleep for each run between `hold` and `release`; neither blocks."""

    def __init__(
        self,
        submit: Callable[[Callable[[], None]], None],
        *,
        inhibit: Callable[[str], Grip] = inhibit_sleep,
    ) -> None:
        """`submit` runs a blocking call on another thread; `inhibit` inhibits sleep for a reason."""
        self._submit = submit
        self._inhibit = inhibit
        self._lock = threading.Lock()
        self._holds: dict[str, _Hold] = {}

    def hold(self, run_id: str, why: str, failed: Callable[[str], None]) -> None:
        """Inhibit sleep for a run; `failed` is called with the reason, on any thread, if that is refused."""
        hold = _Hold()
        with self._lock:
            if run_id in self._holds:
                return
            self._holds[run_id] = hold
        self._submit(lambda: self._take_hold(hold, why, failed))

    def release(self, run_id: str) -> None:
        """Release the inhibitor of a run; does nothing if it has none."""
        with self._lock:
            hold = self._holds.pop(run_id, None)
        if hold is None:
            return
        try:
            self._submit(lambda: self._let_go(hold))
        except RuntimeError:
            # No thread is available; blocking for a moment is better than an inhibitor for an ended run.
            self._let_go(hold)

    def close(self) -> None:
        """Release all inhibitors at once."""
        with self._lock:
            holds = list(self._holds.values())
            self._holds.clear()
        for hold in holds:
            self._let_go(hold)

    def _take_hold(self, hold: _Hold, why: str, failed: Callable[[str], None]) -> None:
        if not hold.is_wanted:
            return
        try:
            grip = self._inhibit(why)
        except NotAwakeError as error:
            if hold.is_wanted:
                failed(str(error))
            return
        with self._lock:
            if hold.is_wanted:
                hold.grip = grip
                return
        # The run ended before the system answered.
        _release(grip)

    def _let_go(self, hold: _Hold) -> None:
        with self._lock:
            hold.is_wanted = False
            grip, hold.grip = hold.grip, None
        if grip is not None:
            _release(grip)


def _release(grip: Grip) -> None:
    try:
        grip.release()
    except OSError as error:
        _LOG.warning("The sleep inhibitor could not be released: %s", error)


class LogindGrip:
    """A logind inhibitor lock; it lasts while its descriptor is open, also in a child that inherited it."""

    _MANAGER: ClassVar = Callee(
        "org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager"
    )

    def __init__(self, why: str) -> None:
        """Take the lock; `BusError` if logind refuses."""
        wish = method_call(
            self._MANAGER, "Inhibit", "ssss", ("sleep:idle", _WHO, why, "block"), starts_service=True
        )
        try:
            with BusConnection(Bus.SYSTEM, takes_descriptors=True) as connection:
                answer = connection.call(wish)
        except BusError as error:
            raise BusError(f"logind failed ({error})") from error
        match answer:
            case (FileDescriptor() as descriptor,):
                self._descriptor = descriptor.to_raw_fd()
            case _:
                raise BusError("logind returned no lock")

    def release(self) -> None:
        os.close(self._descriptor)


class PortalGrip:
    """An inhibit request to the desktop portal; it lasts until it or its bus connection is closed."""

    _SERVICE: ClassVar = "org.freedesktop.portal.Desktop"
    _INHIBIT: ClassVar = Callee(_SERVICE, "/org/freedesktop/portal/desktop", "org.freedesktop.portal.Inhibit")
    _REQUEST: ClassVar = "org.freedesktop.portal.Request"

    def __init__(self, why: str) -> None:
        """Make the request; `BusError` if the portal refuses."""
        try:
            self._connection = BusConnection(Bus.SESSION)
        except BusError as error:
            raise BusError(f"no desktop portal ({error})") from error
        try:
            self._close = self._ask(why)
        except BusError as error:
            self._connection.close()
            raise BusError(f"the desktop portal failed ({error})") from error

    def release(self) -> None:
        try:
            self._connection.call(self._close)
        finally:
            self._connection.close()

    def _ask(self, why: str) -> Message:
        """Make the request; return the object path that ends it."""
        rule = MatchRule(type="signal", sender=self._SERVICE, interface=self._REQUEST, member="Response")
        self._connection.call(message_bus.AddMatch(rule))
        wish = ("", _SUSPEND | _IDLE, {"reason": ("s", why)})
        message = method_call(self._INHIBIT, "Inhibit", "sua{sv}", wish, starts_service=True)
        match self._connection.call(message):
            case (str(path),):
                close = method_call(Callee(self._SERVICE, path, self._REQUEST), "Close")
                self._require_grant(path)
                return close
        raise BusError("the portal returned no request")

    def _require_grant(self, path: str) -> None:
        """Wait for a later refusal of the request; a portal may not confirm a grant."""
        match self._connection.wait_for_signal(path, "Response"):
            case (int(refusal), _) if refusal:
                raise BusError("the portal refused")
