"""Whether the machine runs on AC power: by UPower, by the kernel's list, by psutil."""

from __future__ import annotations

import errno
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from stand_in_services import Buses, PowerService, private_buses

from halo_scheduler.host.power import linux_says, psutil_says, runs_on_mains, supplies_say, upower_says


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


def test_of_a_silent_upower_nobody_knows_which_batteries_it_has(
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


def test_a_plug_is_seen_whatever_the_battery_does(tmp_path: Path) -> None:
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
def test_without_a_word_on_the_plug_the_battery_tells(
    tmp_path: Path, status: str, on_mains: bool | None
) -> None:
    assert supplies_say(_supplies(tmp_path, BAT0={**_BATTERY, "status": status})) is on_mains


def test_the_battery_of_a_mouse_is_not_the_machines(tmp_path: Path) -> None:
    mouse = {"type": "Battery", "scope": "Device", "status": "Discharging", "present": "1"}
    assert supplies_say(_supplies(tmp_path, hid=mouse, AC=_UNPLUGGED)) is True


def test_an_empty_bay_is_no_battery(tmp_path: Path) -> None:
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
