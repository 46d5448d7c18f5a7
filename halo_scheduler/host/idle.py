"""How long nobody has touched keyboard or mouse."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from time import monotonic, sleep

from halo_scheduler.grammar.interval import SECOND_MS

_LIMIT_S = 3.0
_NANOSECONDS_PER_MS = 1_000_000
_MICROSECONDS_PER_MS = 1_000
_PAUSES_S = (0.02,) * 9
_HID_IDLE = re.compile(rb'"HIDIdleTime"\s*=\s*([0-9]+)')

MUTTER = "org.gnome.Mutter.IdleMonitor"
MUTTER_PATH = "/org/gnome/Mutter/IdleMonitor/Core"
SCREEN_SAVER = "org.freedesktop.ScreenSaver"
SCREEN_SAVER_PATH = "/org/freedesktop/ScreenSaver"
LOGIND = "org.freedesktop.login1"
LOGIND_PATH = "/org/freedesktop/login1"


def load_of_last_minute() -> float | None:
    """Return the load average of the last minute; None when this system does not know it."""
    import psutil  # noqa: PLC0415 - 20 ms, for those who ask only

    try:
        load = psutil.getloadavg()[0]
    except (OSError, AttributeError):
        return None
    # Windows has none; psutil begins to count with the first question, and has nothing to tell for a while.
    return None if sys.platform == "win32" and load == 0 else load


def idle_ms() -> int | None:
    """Return for how long nobody has touched keyboard or mouse; None when nothing here knows."""
    if sys.platform == "linux":
        return _first_answer(mutter_says, screen_saver_says, logind_says)
    if sys.platform == "darwin":
        return ioreg_says()
    if sys.platform == "win32":
        return _windows_says()
    return None


def _first_answer(*sources: Callable[[], int | None]) -> int | None:
    return next((answer for source in sources if (answer := source()) is not None), None)


def mutter_says() -> int | None:
    """Ask GNOME's compositor."""
    return _ask_session(MUTTER, MUTTER_PATH, "GetIdletime")


def screen_saver_says(pause: Callable[[float], None] = sleep) -> int | None:
    """Ask the screen saver, as Plasma has it: in milliseconds.

    One that answered in seconds would only make a job wait longer. On Wayland that of Plasma cannot know, and says
    0 each time; keyboard and mouse hardly ever do.
    """
    for pause_s in (0, *_PAUSES_S):
        pause(pause_s)
        found = _ask_session(SCREEN_SAVER, SCREEN_SAVER_PATH, "GetSessionIdleTime")
        if found != 0:
            return found
    return None


def _ask_session(service: str, path: str, method: str) -> int | None:
    from halo_scheduler.host.bus import Bus, BusError, Callee, ask, method_call  # noqa: PLC0415 - only on Linux

    try:
        answer = ask(Bus.SESSION, method_call(Callee(service, path, service), method))
    except BusError:
        return None
    match answer:
        case (int(found),) if not isinstance(found, bool):
            return max(found, 0)
    return None


def logind_says(now_s: Callable[[], float] = monotonic) -> int | None:
    """Ask logind what the user's desktop told it: that nobody is there, and since when.

    That is less than the whole truth, as a desktop tells only after minutes. One that has told nothing since its
    start may never do so: then nothing is known.
    """
    from halo_scheduler.host.bus import Bus, BusError, Callee, ask_properties  # noqa: PLC0415 - only on Linux

    user = Callee(LOGIND, f"{LOGIND_PATH}/user/self", f"{LOGIND}.User")
    try:
        found = ask_properties(Bus.SYSTEM, user)
    except BusError:
        return None
    match found.get("IdleHint"), found.get("IdleSinceHintMonotonic"):
        case bool(is_idle), int(since_us) if since_us > 0:
            return max(int(now_s() * SECOND_MS) - since_us // _MICROSECONDS_PER_MS, 0) if is_idle else 0
    return None


def ioreg_says(command: tuple[str, ...] = ("/usr/sbin/ioreg", "-c", "IOHIDSystem", "-d", "4")) -> int | None:
    """Ask macOS, whose list of devices tells how long its input has been silent."""
    try:
        done = subprocess.run(  # noqa: S603 - our own argument list
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _HID_IDLE.search(done.stdout)
    return int(found[1]) // _NANOSECONDS_PER_MS if found else None


def _windows_says() -> int | None:
    import ctypes  # noqa: PLC0415 - only where there is such a system

    class LastInput(ctypes.Structure):
        _fields_ = (("size", ctypes.c_uint), ("tick", ctypes.c_uint))

    windll = getattr(ctypes, "windll", None)
    last = LastInput(size=ctypes.sizeof(LastInput))
    if windll is None or not windll.user32.GetLastInputInfo(ctypes.byref(last)):
        return None
    # Both count milliseconds since the start of the system, and begin anew after 49 days.
    return int((windll.kernel32.GetTickCount() - last.tick) & 0xFFFFFFFF)
