"""Processes that try to escape a stop, under a real daemon: without parent, session, environment or descriptors."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from commands import shell
from daemons import House
from process_probe import is_living, until

from halo_scheduler import Command, Outcome
from halo_scheduler.host.process_tree import mark_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="subreapers are a thing of Linux")

_ESCAPEE = Path(__file__).parents[1] / "support" / "escapee.py"
_LONG = "600"


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    found = House(tmp_path, monkeypatch)
    yield found
    found.close()


def _escaping(house: House, name: str, *then: str, limit: str = "") -> Command:
    """Return a command that lets a process escape, and then takes its other steps."""
    escapee = f"{sys.executable} -IS {_ESCAPEE} {house.folder}/{name}.pid {_LONG} {limit}"
    return shell("; ".join([escapee, *then]), grace="1s")


def _escaped(house: House, name: str) -> int:
    path = house.folder / f"{name}.pid"
    until(path.exists)
    pid = int(path.read_text())
    until(lambda: psutil.Process(pid).name() == "sleep")
    return pid


def _zombies(house: House) -> list[int]:
    children = [child.pid for child in psutil.Process(house.pid).children()]
    return [pid for pid in children if psutil.pid_exists(pid) and not is_living(pid)]


def _halo(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "halo_scheduler", *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout + done.stderr


def test_an_escaped_process_does_not_survive_the_time_limit(house: House) -> None:
    house.start()
    run_id = house.begin(_escaping(house, "a", "exec sleep 600"), time_limit="2s")
    pid = _escaped(house, "a")
    assert is_living(pid)
    run = house.end_of(run_id)
    assert not is_living(pid), "it is gone before the run is recorded"
    assert (run.outcome, run.note) == (Outcome.TIMEOUT, "")


def test_an_escaped_process_of_a_run_that_ended_by_itself_lives_on_and_is_noted(house: House) -> None:
    house.start()
    run_id = house.begin(_escaping(house, "a"))
    pid = _escaped(house, "a")
    assert house.end_of(run_id).outcome is Outcome.SUCCESS
    until(lambda: house.get(run_id).note)
    assert house.get(run_id).note == f"a process it started still runs ({pid})"
    assert is_living(pid)
    assert f"a process it started still runs ({pid})" in _halo("history", "job 1")


def test_each_escaped_process_ends_with_its_own_run(house: House) -> None:
    house.start()
    first = house.begin(_escaping(house, "a", "exec sleep 600"))
    second = house.begin(_escaping(house, "b", "exec sleep 600"))
    first_pid, second_pid = _escaped(house, "a"), _escaped(house, "b")
    house.scheduler.cancel_run(second)
    assert house.end_of(second).outcome is Outcome.CANCELLED
    assert (is_living(first_pid), is_living(second_pid)) == (True, False)
    house.scheduler.cancel_run(first)
    assert house.end_of(first).outcome is Outcome.CANCELLED
    assert not is_living(first_pid)


def test_a_process_left_on_purpose_by_an_earlier_run_survives_the_stop_of_a_later_one(house: House) -> None:
    house.start()
    assert house.end_of(house.begin(_escaping(house, "a"))).outcome is Outcome.SUCCESS
    left = _escaped(house, "a")
    run_id = house.begin(_escaping(house, "b", "exec sleep 600"))
    pid = _escaped(house, "b")
    house.scheduler.cancel_run(run_id)
    assert house.end_of(run_id).note == ""
    assert (is_living(left), is_living(pid)) == (True, False)


def test_a_run_that_is_stopped_does_not_name_what_a_run_beside_it_left_on_purpose(house: House) -> None:
    house.start()
    run_id = house.begin(_escaping(house, "a", "exec sleep 600"))
    pid = _escaped(house, "a")
    assert house.end_of(house.begin(_escaping(house, "b"))).outcome is Outcome.SUCCESS
    left = _escaped(house, "b")
    house.scheduler.cancel_run(run_id)
    assert house.end_of(run_id).note == ""
    assert (is_living(left), is_living(pid)) == (True, False)


def test_an_escaped_process_is_found_after_a_crash(house: House) -> None:
    house.start()
    run_id = house.begin(_escaping(house, "a", "exec sleep 600"))
    pid = _escaped(house, "a")
    house.crash()
    house.start()
    house.scheduler.cancel_run(run_id)
    assert house.end_of(run_id).outcome is Outcome.CANCELLED
    assert not is_living(pid)


@pytest.mark.parametrize("limit", ["-1", str(0x4A10 << 48), str(mark_of("an invented run"))])
def test_a_process_that_nothing_connects_with_its_run_is_named_and_left_alone(
    house: House, limit: str
) -> None:
    house.start()
    run_id = house.begin(_escaping(house, "a", "exec sleep 600", limit=limit))
    pid = _escaped(house, "a")
    house.scheduler.cancel_run(run_id)
    run = house.end_of(run_id)
    note = f"still running, and perhaps started by this run: process {pid} (sleep)"
    assert (run.outcome, run.note) == (Outcome.CANCELLED, note)
    assert is_living(pid)
    assert note in _halo("history", "job 1")


def test_short_lived_orphans_do_not_pile_up_as_zombies(house: House) -> None:
    house.start()
    loop = "for i in $(seq 500); do (setsid true &); (setsid sh -c 'true & true' &); done"
    run_id = house.begin(shell(f"{loop}; touch {house.folder}/all-begun; exec sleep 600"))
    until(lambda: (house.folder / "all-begun").exists() or _zombies(house))
    until(lambda: (house.folder / "all-begun").exists() and not _zombies(house))
    house.scheduler.cancel_run(run_id)
    assert house.end_of(run_id).outcome is Outcome.CANCELLED


def test_an_orphan_that_ends_after_its_run_is_reaped(house: House) -> None:
    house.start()
    assert house.end_of(house.begin(_escaping(house, "a"))).outcome is Outcome.SUCCESS
    pid = _escaped(house, "a")
    assert psutil.Process(pid).ppid() == house.pid
    psutil.Process(pid).kill()
    assert house.end_of(house.begin(shell("sleep 1.5"))).outcome is Outcome.SUCCESS
    until(lambda: not psutil.pid_exists(pid))


def test_quitting_leaves_nothing_of_the_runs_it_ends(house: House) -> None:
    house.start((sys.executable, "-m", "halo_scheduler", "daemon", "--stop-timeout", "1s"))
    run_id = house.begin(_escaping(house, "a", "exec sleep 600"))
    pid = _escaped(house, "a")
    assert house.stop() == 1
    assert not is_living(pid)
    assert house.get(run_id).outcome is Outcome.CANCELLED


def test_the_desktop_program_ends_processes_that_escape_from_its_runs(house: House) -> None:
    house.start((sys.executable, "-P", "-m", "ui", "--hidden"), {"QT_QPA_PLATFORM": "offscreen"})
    run_id = house.begin(_escaping(house, "a", "exec sleep 600"))
    pid = _escaped(house, "a")
    assert psutil.Process(pid).ppid() == house.pid
    house.scheduler.cancel_run(run_id)
    assert house.end_of(run_id).outcome is Outcome.CANCELLED
    assert not is_living(pid)
