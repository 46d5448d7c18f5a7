"""How long nobody has touched anything: by GNOME, by a screen saver, by logind, by macOS."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from stand_in_services import Buses, LoginService, MutterService, ScreenSaverService, private_buses

from halo_scheduler.host import idle
from halo_scheduler.host.idle import idle_ms, ioreg_says, logind_says, mutter_says, screen_saver_says


@pytest.fixture
def buses(monkeypatch: pytest.MonkeyPatch) -> Iterator[Buses]:
    with private_buses() as found:
        for name, value in found.environment.items():
            monkeypatch.setenv(name, value)
        yield found


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


def test_logind_counts_from_when_the_desktop_told_it(buses: Buses) -> None:
    with LoginService(buses, is_idle=True, idle_since_us=100_000_000):
        assert logind_says(lambda: 160.5) == 60_500
        assert logind_says(lambda: 99.0) == 0


def test_a_desktop_that_never_told_logind_may_never_do_so(buses: Buses) -> None:
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


def test_macos_tells_in_nanoseconds() -> None:
    assert ioreg_says(_print('  | |   "HIDIdleTime" = 65000000000\n "Other" = 1')) == 65_000


def test_a_macos_that_does_not_tell_is_not_known() -> None:
    assert ioreg_says(_print('"HIDIdle" = yes')) is None
    assert ioreg_says(("/nowhere/ioreg",)) is None


def test_a_macos_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle, "_LIMIT_S", 0.05)
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
