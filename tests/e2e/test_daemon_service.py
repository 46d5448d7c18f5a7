"""A real daemon as a service manager sees it: what it is told, and what the daemon's jobs get."""

from __future__ import annotations

import importlib.resources
import os
import resource
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import shell
from daemons import House
from process_probe import LONG_S


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    found = House(tmp_path, monkeypatch)
    yield found
    found.close()


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as found:
        found.bind(str(tmp_path / "notify"))
        found.settimeout(LONG_S)
        yield found


def _until_heard(manager: socket.socket, message: str) -> None:
    while message not in manager.recv(4_096).decode():
        pass


def test_a_daemon_notifies_systemd_that_it_is_ready_alive_and_stopping(
    house: House, manager: socket.socket
) -> None:
    # Pings come so slowly that they do not fill the socket while nobody reads it.
    environment = {"NOTIFY_SOCKET": manager.getsockname(), "WATCHDOG_USEC": "4000000"}
    house.start(environment=environment)
    _until_heard(manager, "READY=1")
    _until_heard(manager, "WATCHDOG=1")
    run_id = house.begin(shell("env | grep -c -e NOTIFY -e WATCHDOG || true"))
    house.end_of(run_id)
    assert house.text(run_id) == "0\n"
    _until_heard(manager, "WATCHDOG=1")
    assert house.stop() == 0
    _until_heard(manager, "STOPPING=1")


def test_a_daemon_that_hangs_is_not_pinged_for(house: House, manager: socket.socket) -> None:
    house.start(environment={"NOTIFY_SOCKET": manager.getsockname(), "WATCHDOG_USEC": "4000"})
    _until_heard(manager, "WATCHDOG=1")
    os.kill(house.pid, signal.SIGSTOP)
    manager.settimeout(0.5)
    with pytest.raises(TimeoutError):
        _until_heard(manager, "more than what was on its way")
    os.kill(house.pid, signal.SIGCONT)
    manager.settimeout(LONG_S)
    house.begin(shell("true"))
    _until_heard(manager, "WATCHDOG=1")


@pytest.mark.parametrize("given", [0, 512 * 2_000, resource.RLIM_INFINITY])
def test_a_daemon_writes_no_core_dump_and_its_jobs_may_as_before(house: House, given: int) -> None:
    before = resource.getrlimit(resource.RLIMIT_CORE)
    if before[1] != resource.RLIM_INFINITY:
        pytest.skip("the limit on core dumps cannot be raised here")
    resource.setrlimit(resource.RLIMIT_CORE, (given, before[1]))
    try:
        house.start()
        run_id = house.begin(shell("grep 'Max core file size' /proc/self/limits"))
        house.end_of(run_id)
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, before)
    soft = "unlimited" if given == resource.RLIM_INFINITY else str(given)
    assert house.text(run_id).split()[4:6] == [soft, "unlimited"]
    assert resource.prlimit(house.pid, resource.RLIMIT_CORE) == (0, resource.RLIM_INFINITY)


def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not here")
    unit = importlib.resources.files("halo_scheduler.resources.systemd") / "halo-scheduler.service"
    (tmp_path / ".local/bin").mkdir(parents=True)
    program = tmp_path / ".local/bin/halo"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    file = tmp_path / "halo-scheduler.service"
    file.write_text(unit.read_text().replace("%h", str(tmp_path)))
    found = subprocess.run(
        ["systemd-analyze", "verify", "--user", file],
        env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=LONG_S,
        check=False,
    )
    assert (found.returncode, found.stderr) == (0, "")
