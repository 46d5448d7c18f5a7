"""Whether the computer runs on AC power: by UPower, by the kernel's list, by psutil."""

from __future__ import annotations

import ctypes
import errno
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from stand_in_services import (
    Buses,
    LoginService,
    MutterService,
    PowerService,
    ScreenSaverService,
    private_buses,
)

from halo_scheduler.host import machine_state
from halo_scheduler.host.machine_state import (
    idle_ms,
    ioreg_says,
    linux_says,
    logind_says,
    mutter_says,
    psutil_says,
    runs_on_mains,
    screen_saver_says,
    supplies_say,
    upower_says,
)


@pytest.fixture
def buses(monkeypatch: pytest.MonkeyPatch) -> Iterator[Buses]:
    with private_buses() as found:
        for name, value in found.environment.items():
            monkeypatch.setenv(name, value)
        yield found


def _supplies(folder: Path, **supplies: dict[str, str]) -> Path:
    for name, files in supplies.items():
        (folder / name).mkdir()
        for file, text in files.items():
            (folder / name / file).write_text(f"{text}\n")
    return folder


_BATTERY = {"type": "Battery", "present": "1", "scope": "System"}

_PLUGGED, _UNPLUGGED = {"type": "Mains", "online": "1"}, {"type": "Mains", "online": "0"}


@pytest.mark.parametrize("on_battery", [True, False])
def test_upower_knows(buses: Buses, on_battery: bool) -> None:
    with PowerService(buses, on_battery=on_battery):
        assert upower_says() is not on_battery


def test_upower_is_asked_first(buses: Buses) -> None:
    with PowerService(buses, on_battery=True):
        assert runs_on_mains() is False


@pytest.mark.usefixtures("buses")
def test_where_upower_does_not_run_the_kernel_is_believed(tmp_path: Path) -> None:
    assert linux_says(tmp_path) is True
    assert linux_says(_supplies(tmp_path, BAT0=_BATTERY, AC=_UNPLUGGED)) is False


def test_where_the_answer_is_an_error_the_kernel_is_believed(
    buses: Buses, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(PowerService, "answer", lambda *_: None)
    with PowerService(buses):
        assert linux_says(tmp_path) is True


def test_upower_that_answers_nonsense_knows_nothing(buses: Buses, tmp_path: Path) -> None:
    for nonsense in (
        ("s", ("on battery",)),
        ("a{sv}", ({"OnBattery": ("s", "true")},)),
        ("a{sv}", ({},)),
        ("a{ss}", ({"OnBattery": "no"},)),
        ("a{s(bb)}", ({"OnBattery": (False, False)},)),
        (None, ()),
    ):
        with PowerService(buses, nonsense=nonsense):
            assert linux_says(tmp_path) is None


def test_without_any_bus_the_kernel_is_believed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for address in (f"unix:path={tmp_path}/none", "nonsense", "tcp:host=127.0.0.1,port=1", "unix:path=/"):
        monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", address)
        assert linux_says(tmp_path) is True


def test_without_upower_the_batteries_are_unknown(
    buses: Buses, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("halo_scheduler.host.bus.ANSWER_LIMIT_S", 0.1)
    with PowerService(buses, is_silent=True) as upower:
        assert linux_says(tmp_path) is None
        upower.wait_for_call("GetAll")
        assert linux_says(_supplies(tmp_path, BAT0=_BATTERY, AC=_PLUGGED)) is True


def test_without_a_descriptor_to_ask_upower_nothing_is_known(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def find_none(*_: object) -> socket.socket:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(socket, "socket", find_none)
    assert linux_says(tmp_path) is None


def test_a_machine_without_a_battery_runs_on_mains(tmp_path: Path) -> None:
    assert supplies_say(tmp_path) is True


def test_ac_power_is_detected_whatever_the_battery_reports(tmp_path: Path) -> None:
    _supplies(tmp_path, AC=_PLUGGED, BAT0={**_BATTERY, "status": "Discharging"})
    assert supplies_say(tmp_path) is True


def test_without_a_plug_the_battery_is_used(tmp_path: Path) -> None:
    assert supplies_say(_supplies(tmp_path, AC=_UNPLUGGED, BAT0={**_BATTERY, "status": "Unknown"})) is False


def test_a_battery_that_gets_empty_is_used(tmp_path: Path) -> None:
    discharging = {**_BATTERY, "status": "Discharging"}
    charging_port = {"type": "USB", "online": "1"}
    assert supplies_say(_supplies(tmp_path, BAT0=discharging, usb=charging_port)) is False


@pytest.mark.parametrize(
    ("status", "on_mains"),
    [("Charging", True), ("Full", True), ("Not charging", True), ("Unknown", None), ("", None)],
)
def test_without_a_word_on_the_plug_the_battery_decides(
    tmp_path: Path, status: str, on_mains: bool | None
) -> None:
    assert supplies_say(_supplies(tmp_path, BAT0={**_BATTERY, "status": status})) is on_mains


def test_the_battery_of_a_mouse_is_not_the_machines(tmp_path: Path) -> None:
    mouse = {"type": "Battery", "scope": "Device", "status": "Discharging", "present": "1"}
    assert supplies_say(_supplies(tmp_path, hid=mouse, AC=_UNPLUGGED)) is True


def test_an_empty_bay_is_not_a_battery(tmp_path: Path) -> None:
    assert supplies_say(_supplies(tmp_path, BAT1={"type": "Battery", "present": "0"})) is True


def test_unreadable_files_of_a_supply_say_nothing(tmp_path: Path) -> None:
    _supplies(tmp_path, AC={"type": "Mains"}, BAT0=_BATTERY)
    (tmp_path / "BAT0" / "status").write_bytes(b"\xff\xfe")
    assert supplies_say(tmp_path) is None


def test_without_the_kernels_list_it_knows_nothing(tmp_path: Path) -> None:
    assert supplies_say(tmp_path / "none") is None


@pytest.mark.parametrize(
    ("battery", "on_mains"),
    [
        (None, True),
        (SimpleNamespace(power_plugged=True), True),
        (SimpleNamespace(power_plugged=False), False),
        (SimpleNamespace(power_plugged=None), None),
    ],
)
def test_psutil_knows_elsewhere(
    monkeypatch: pytest.MonkeyPatch, battery: object, on_mains: bool | None
) -> None:
    monkeypatch.setattr(psutil, "sensors_battery", lambda: battery, raising=False)
    monkeypatch.setattr(sys, "platform", "darwin")
    assert runs_on_mains() is on_mains


def test_a_psutil_without_batteries_knows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(psutil, "sensors_battery", raising=False)
    assert psutil_says() is None


def test_mutter_is_believed_before_all_others(buses: Buses) -> None:
    with MutterService(buses, idle_ms=61_000), ScreenSaverService(buses, idle_ms=5):
        assert idle_ms() == 61_000


def test_the_screen_saver_is_asked_where_there_is_no_mutter(buses: Buses) -> None:
    with ScreenSaverService(buses, idle_ms=7_000):
        assert idle_ms() == 7_000


def test_a_screen_saver_that_always_says_0_knows_nothing(buses: Buses) -> None:
    pauses: list[float] = []
    with ScreenSaverService(buses, idle_ms=0) as saver:
        assert screen_saver_says(pauses.append) is None
        assert len(saver.calls) == len(pauses) == 10
        assert 0.1 < sum(pauses) < 0.5
        with LoginService(buses, is_idle=True, idle_since_us=1):
            assert (idle_ms() or 0) > 0


def test_a_screen_saver_that_says_0_once_is_asked_again(buses: Buses) -> None:
    with ScreenSaverService(buses, idle_ms=0) as saver:

        def touch_nothing(pause_s: float) -> None:
            saver._idle_ms = 20 if pause_s else 0

        assert screen_saver_says(touch_nothing) == 20


def test_logind_is_asked_last(buses: Buses) -> None:
    with LoginService(buses, is_idle=False, idle_since_us=1):
        assert idle_ms() == 0


@pytest.mark.usefixtures("buses")
def test_without_any_of_them_nothing_is_known() -> None:
    assert idle_ms() is None


def test_without_a_session_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    assert mutter_says() is None
    assert screen_saver_says() is None


def test_nonsense_is_not_believed(buses: Buses) -> None:
    for nonsense in (("s", ("long",)), ("b", (True,)), ("tt", (1, 2)), (None, ())):
        with MutterService(buses, nonsense=nonsense):
            assert mutter_says() is None


def test_logind_counts_from_when_the_desktop_reported_it(buses: Buses) -> None:
    with LoginService(buses, is_idle=True, idle_since_us=100_000_000):
        assert logind_says(lambda: 160.5) == 60_500
        assert logind_says(lambda: 99.0) == 0


def test_a_desktop_that_never_reported_to_logind_may_never_do_so(buses: Buses) -> None:
    for is_idle in (False, True):
        with LoginService(buses, is_idle=is_idle, idle_since_us=0):
            assert logind_says() is None


def test_nonsense_of_logind_is_not_believed(buses: Buses) -> None:
    for properties in (
        {},
        {"IdleHint": ("s", "yes"), "IdleSinceHintMonotonic": ("t", 5)},
        {"IdleHint": ("b", True)},
    ):
        with LoginService(buses, nonsense=("a{sv}", (properties,))):
            assert logind_says() is None


def _print(text: str) -> tuple[str, ...]:
    return sys.executable, "-S", "-c", f"print({text!r})"


def test_macos_reports_nanoseconds() -> None:
    assert ioreg_says(_print('  | |   "HIDIdleTime" = 65000000000\n "Other" = 1')) == 65_000


def test_a_macos_that_does_not_report_is_unknown() -> None:
    assert ioreg_says(_print('"HIDIdle" = yes')) is None
    assert ioreg_says(("/nowhere/ioreg",)) is None


def test_a_macos_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_state, "_LIMIT_S", 0.05)
    assert ioreg_says(("sleep", "60")) is None


def test_windows_counts_from_the_start_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    def tell(reference: Any) -> int:
        reference._obj.tick = 0xFFFFFF00
        return 1

    kernel = SimpleNamespace(GetTickCount=lambda: 0x100)
    windows = SimpleNamespace(user32=SimpleNamespace(GetLastInputInfo=tell), kernel32=kernel)
    monkeypatch.setattr(ctypes, "windll", windows, raising=False)
    monkeypatch.setattr(sys, "platform", "win32")
    assert idle_ms() == 0x200, "also over the 49 days after which it begins anew"
    monkeypatch.setattr(windows.user32, "GetLastInputInfo", lambda _: 0)
    assert idle_ms() is None


def test_a_python_that_cannot_ask_windows_knows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert idle_ms() is None


def test_a_strange_system_knows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "beos")
    assert idle_ms() is None
