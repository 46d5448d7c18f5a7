"""Whether there is a tray, asked of real displays and buses; who has files open."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from process_probe import until
from stand_in_services import Buses, StandIn, private_buses

from halo_scheduler.doctor.scene import users_of
from halo_scheduler.host.desktop import NoDisplayError, has_selection_owner, has_tray

_TRAY = "trayer --edge top --align right --width 200 --widthtype pixel --height 32"
_SELECTION = "_NET_SYSTEM_TRAY_S%d"


class _Watcher(StandIn):
    """The service that icons register with."""

    NAME = "org.kde.StatusNotifierWatcher"

    def __init__(self, buses: Buses, *, has_host: object = True, **strangeness: Any) -> None:
        self._has_host = has_host
        super().__init__(buses, **strangeness)

    def properties(self) -> dict[str, tuple[str, Any]]:
        kind = "b" if isinstance(self._has_host, bool) else "s"
        return {"IsStatusNotifierHostRegistered": (kind, self._has_host)}


@pytest.fixture
def desktop(monkeypatch: pytest.MonkeyPatch) -> Iterator[Buses]:
    """Be on a desktop that has a bus, and a display of which nothing can be asked."""
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    with private_buses() as buses:
        for name, value in buses.environment.items():
            monkeypatch.setenv(name, value)
        yield buses


@contextmanager
def _screen() -> Iterator[str]:
    assert shutil.which("Xvfb"), "Xvfb is missing; `make test` installs it or prints how"
    read_end, write_end = os.pipe()
    with subprocess.Popen(
        ["Xvfb", "-displayfd", str(write_end), "-screen", "0", "320x200x24", "-nolisten", "tcp", "-noreset"],
        pass_fds=[write_end],
        stderr=subprocess.DEVNULL,
    ) as server:
        os.close(write_end)
        try:
            with os.fdopen(read_end) as told:
                yield f":{told.readline().strip()}"
        finally:
            server.terminate()


def test_a_desktop_whose_bus_shows_icons_has_a_tray(desktop: Buses) -> None:
    assert has_tray() is False
    with _Watcher(desktop, has_host=True):
        assert has_tray() is True
    with _Watcher(desktop, has_host=False):
        assert has_tray() is False
    with _Watcher(desktop, has_host="yes"):
        assert has_tray() is False


def test_a_display_whose_windows_take_icons_in_has_a_tray(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shutil.which("trayer"), "trayer is missing; `make test` installs it or prints how"
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    with _screen() as display:
        monkeypatch.setenv("DISPLAY", display)
        assert has_tray() is False
        with subprocess.Popen(_TRAY.split(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as tray:
            try:
                until(has_tray)
            finally:
                tray.terminate()
        until(lambda: has_tray() is False)
    with pytest.raises(NoDisplayError):
        has_selection_owner(_SELECTION)
    assert has_tray() is None


def test_without_a_desktop_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert has_tray() is None


def test_processes_with_a_file_open_are_found_even_after_its_deletion(tmp_path: Path) -> None:
    path = tmp_path / "file (deleted)"
    path.touch()
    with path.open("rb") as file, subprocess.Popen(["sleep", "60"], stdin=file) as process:
        try:
            until(lambda: [user.program for user in users_of(path)] == ["sleep"])
            assert [(user.pid, user.is_deleted) for user in users_of(path)] == [(process.pid, False)]
            path.unlink()
            assert [(user.pid, user.is_deleted) for user in users_of(path)] == [(process.pid, True)]
        finally:
            process.kill()
    assert users_of(path) == []
