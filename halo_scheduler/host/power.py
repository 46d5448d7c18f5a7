"""Whether the machine runs on AC power."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_SUPPLIES = Path("/sys/class/power_supply")
_BATTERIES = frozenset({"Battery", "UPS"})
UPOWER = "org.freedesktop.UPower"
UPOWER_PATH = "/org/freedesktop/UPower"


def runs_on_mains() -> bool | None:
    """Tell whether the machine runs on AC power; None when nothing here knows."""
    return linux_says() if sys.platform == "linux" else psutil_says()


def linux_says(folder: Path = _SUPPLIES) -> bool | None:
    """Ask UPower, or the kernel where that cannot be had.

    One that runs and does not answer may know of a battery that the kernel does not list, as many a UPS is one.
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
    """Ask UPower, which also knows of mains that are there but give nothing; BusError when it does not answer."""
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
        """Whether the machine can run from it: the battery of a mouse is none, nor is an empty bay."""
        return self.kind in _BATTERIES and self.scope != "Device" and self.present != "0"


def supplies_say(folder: Path = _SUPPLIES, *, lists_all: bool = True) -> bool | None:
    """Ask the kernel's list of power supplies; if it has all, the machine runs on mains without a battery in it."""
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
    """Ask psutil, which elsewhere than on Linux finds no battery only where there is none."""
    import psutil  # noqa: PLC0415 - 20 ms, for those who ask only

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
