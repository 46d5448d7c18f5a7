"""Probes for conditions: AC power, idle time, system load, paths."""

from __future__ import annotations

import locale
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import NamedTuple

from halo_scheduler.grammar.interval import SECOND_MS

_SUPPLIES = Path("/sys/class/power_supply")
_BATTERIES = frozenset({"Battery", "UPS"})
UPOWER = "org.freedesktop.UPower"
UPOWER_PATH = "/org/freedesktop/UPower"
_LIMIT_S = 3.0
_COUNTRY = re.compile(r"[a-z]{2,3}[_-]([A-Z]{2})\b")
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


def home_country() -> str | None:
    """Return the country of the user's language settings, like DE of de_DE.UTF-8; None if they name none."""
    chosen = (os.environ.get(name) for name in ("LC_ALL", "LC_TIME", "LANG"))
    match = _COUNTRY.match(next(filter(None, chosen), None) or locale.getlocale()[0] or "")
    return None if match is None else match[1]


def runs_on_mains() -> bool | None:
    """Return whether the computer runs on AC power; None if unknown."""
    return linux_says() if sys.platform == "linux" else psutil_says()


def linux_says(folder: Path = _SUPPLIES) -> bool | None:
    """Ask UPower, or the kernel if UPower is not running.

    If UPower runs but does not answer, the result is unknown: it may know a UPS that the kernel does not list.
    """
    from halo_scheduler.host.bus import BusError, CallError, NoBusError  # noqa: PLC0415 - only on Linux

    answer: bool | None = None
    try:
        answer = upower_says()
    except (CallError, NoBusError):
        return supplies_say(folder)
    except BusError:
        pass
    return supplies_say(folder, lists_all=False) if answer is None else answer


def upower_says() -> bool | None:
    """Ask UPower, which also recognises an unpowered AC adapter; BusError if it does not answer."""
    from halo_scheduler.host.bus import Bus, Callee, ask_properties  # noqa: PLC0415 - only on Linux

    on_battery = ask_properties(Bus.SYSTEM, Callee(UPOWER, UPOWER_PATH, UPOWER)).get("OnBattery")
    return not on_battery if isinstance(on_battery, bool) else None


class _Supply(NamedTuple):
    kind: str
    scope: str
    online: str
    status: str
    present: str

    @property
    def is_mains(self) -> bool:
        return self.kind == "Mains" and self.online != ""

    @property
    def is_battery(self) -> bool:
        """Whether it can power the computer: not the battery of a mouse, nor an empty bay."""
        return self.kind in _BATTERIES and self.scope != "Device" and self.present != "0"


def supplies_say(folder: Path = _SUPPLIES, *, lists_all: bool = True) -> bool | None:
    """Read the kernel's list of power supplies; if the list is complete, no battery means AC power."""
    try:
        supplies = list(_read_supplies(folder))
    except OSError:
        return None
    mains = [supply for supply in supplies if supply.is_mains]
    if any(supply.online != "0" for supply in mains):
        return True
    batteries = [supply for supply in supplies if supply.is_battery]
    if not batteries:
        return True if lists_all else None
    if mains or any(supply.status == "Discharging" for supply in batteries):
        return False
    # A battery that is charged proves that something charges it; "Unknown" proves nothing.
    return (
        True if all(supply.status in ("Charging", "Full", "Not charging") for supply in batteries) else None
    )


def psutil_says() -> bool | None:
    """Ask psutil; outside Linux, no battery there means that the computer has none."""
    import psutil  # noqa: PLC0415 - 20 ms, only when called

    find_battery = getattr(psutil, "sensors_battery", None)
    if find_battery is None:
        return None
    battery = find_battery()
    plugged: bool | None = True if battery is None else battery.power_plugged
    return plugged


def _read_supplies(folder: Path) -> Iterator[_Supply]:
    for supply in folder.iterdir():
        yield _Supply(*(_read(supply / name) for name in ("type", "scope", "online", "status", "present")))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def load_of_last_minute() -> float | None:
    """Return the 1-minute load average; None if the system has none."""
    import psutil  # noqa: PLC0415 - 20 ms, only when called

    try:
        load = psutil.getloadavg()[0]
    except (OSError, AttributeError):
        return None
    # Windows has none; psutil starts to measure at the first call, and has no value for a while.
    return None if sys.platform == "win32" and load == 0 else load


def idle_ms() -> int | None:
    """Return how long keyboard and mouse have been idle; None if unknown."""
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
    """Ask the screen saver service, which on Plasma answers in milliseconds.

    An answer in seconds would only make a job wait longer. Plasma on Wayland always answers 0, which real input
    hardly ever does.
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
    """Ask logind for the idle hint of the user's desktop, and since when it is set.

    A desktop sets it only after minutes, so the result is a lower bound. A desktop that has not set it since its start
    may never do so: then the idle time is unknown.
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
    """Ask macOS: its device list has the idle time of the input system."""
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
    # Both count milliseconds since boot, and wrap around after 49 days.
    return int((windll.kernel32.GetTickCount() - last.tick) & 0xFFFFFFFF)


class ForeignPathError(Exception):
    """The path is not absolute on this system."""


def is_of_this_system(path: str) -> bool:
    """Return whether a path is absolute here, without accessing it.

    A relative path would depend on the folder in which the program was started.
    """
    return os.path.isabs(_expanded(path))  # noqa: PTH117


def is_there(path: str) -> bool:
    """Return whether a path exists; OSError if it cannot be accessed.

    This may block forever on a drive that does not answer.
    """
    whole = _expanded(path)
    if not is_of_this_system(path):
        raise ForeignPathError
    try:
        os.stat(whole)  # noqa: PTH116
    except (FileNotFoundError, NotADirectoryError, ValueError):
        # ValueError for a name that no file can have.
        return False
    return True


def _expanded(path: str) -> str:
    return os.path.expanduser(path)  # noqa: PTH111 - a Path would raise where there is no home
