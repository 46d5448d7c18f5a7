"""The subreaper: which children it reaps, when, and whose exit codes it never takes."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from marking import set_mark
from process_probe import LONG_S, end_all, is_living, pids_in, until
from PySide6.QtCore import QProcess

from halo_scheduler.host import reaper as module
from halo_scheduler.host.process import stat_of
from halo_scheduler.host.process_tree import mark_of, marked_processes
from halo_scheduler.host.reaper import Reaper

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="subreapers are a thing of Linux")

_NOW = 1_735_689_600_000
_DAY_MS = 86_400_000
_PR_GET_CHILD_SUBREAPER = 37
_UNLIMITED = -1
# A process without a parent that leads its own session, and one whose session was begun by another.
_LEADER = "(setsid sh -c 'echo $$ >a.pid; exec sleep 60' &)"
_FOLLOWER = "setsid sh -c '(echo >b; exec sh -c \"echo \\$\\$ >a.pid; exec sleep 60\") & sleep 0.1' & wait"
Orphan = Callable[..., int]


def _is_subreaper() -> bool:
    found = ctypes.c_int()
    ctypes.CDLL(None).prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(found), 0, 0, 0)
    return bool(found.value)


def _have_strays_ended(reaper: Reaper) -> bool:
    """End and reap what tests before this one left behind, and tell whether nothing of it is left."""
    strays = reaper.strays(0)
    end_all(strays)
    for pid in strays:
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
    return not strays


@pytest.fixture
def reaper() -> Iterator[Reaper]:
    made = Reaper()
    assert made.start()
    until(lambda: _have_strays_ended(made))
    yield made
    made.stop()


@pytest.fixture
def orphan(reaper: Reaper, tmp_path: Path) -> Iterator[Orphan]:
    """Make a child that this process did not start, and return its number."""

    def make(line: str, run_id: str = "") -> int:
        gate = f"while [ ! -e {tmp_path}/go ]; do sleep 0.01; done; "
        process = subprocess.Popen(["/bin/sh", "-c", gate + line], cwd=tmp_path, start_new_session=True)
        if run_id:
            set_mark(process.pid, mark_of(run_id))
        (tmp_path / "go").touch()
        process.wait(LONG_S)
        (pid,) = until(lambda: pids_in(tmp_path))
        until(lambda: psutil.Process(pid).name() == "sleep")
        assert psutil.Process(pid).ppid() == psutil.Process().pid
        return pid

    yield make
    end_all(pids_in(tmp_path))
    reaper.reap(_NOW)
    reaper.reap(_NOW + _DAY_MS)


def _reaps(reaper: Reaper, pid: int, now_ms: int = _NOW) -> bool:
    """Tell whether a process is gone after reaping, a zombie too."""
    reaper.reap(now_ms)
    return not psutil.pid_exists(pid)


def _kill(pid: int) -> None:
    psutil.Process(pid).kill()
    until(lambda: not is_living(pid))


def test_the_process_is_a_subreaper_only_between_start_and_stop() -> None:
    assert not _is_subreaper()
    first = Reaper()
    assert first.start()
    assert first.start()
    assert _is_subreaper()
    first.stop()
    assert _is_subreaper()
    first.stop()
    assert not _is_subreaper()


def test_a_system_without_subreapers_is_not_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_set_subreaper", lambda *, on: not on)
    made = Reaper()
    assert not made.start()
    assert (made.reap(_NOW), made.strays(0)) == (0, [])


def test_an_orphan_of_another_session_is_reaped_at_once(reaper: Reaper, orphan: Orphan) -> None:
    pid = orphan(_FOLLOWER)
    assert not _reaps(reaper, pid)
    assert is_living(pid)
    _kill(pid)
    assert _reaps(reaper, pid)


def test_an_orphan_of_a_run_is_reaped_at_once(reaper: Reaper, orphan: Orphan) -> None:
    pid = orphan(_LEADER, "run")
    _kill(pid)
    assert _reaps(reaper, pid)


def test_a_zombie_that_may_have_a_waiter_is_left_for_a_minute(reaper: Reaper, orphan: Orphan) -> None:
    pid = orphan(_LEADER)
    _kill(pid)
    assert not any(_reaps(reaper, pid, _NOW + later) for later in (0, 1_000, 59_999))
    assert _reaps(reaper, pid, _NOW + 60_000)


def test_reaping_is_bounded_per_call(reaper: Reaper, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "_MOST_AT_ONCE", 2)
    line = "for i in 1 2 3; do setsid sh -c '(echo >$0; exec sleep 0.5) & sleep 0.01' $i & done; wait"
    subprocess.run(["/bin/sh", "-c", line], cwd=tmp_path, start_new_session=True, check=True)
    own = psutil.Process()
    until(lambda: [child.status() for child in own.children()].count(psutil.STATUS_ZOMBIE) >= 3)
    assert [reaper.reap(_NOW) for _ in range(2)] == [2, 1]


@pytest.mark.parametrize("new_session", [True, False])
def test_an_exit_code_that_is_awaited_is_never_taken(reaper: Reaper, *, new_session: bool) -> None:
    process = subprocess.Popen(["/bin/sh", "-c", "exit 7"], start_new_session=new_session)
    if new_session:
        # Without this, the mark would tell it for an orphan of the run.
        reaper.leave_to_owner(process, "run")
        set_mark(process.pid, mark_of("run"))
    until(lambda: not is_living(process.pid))
    assert not any(_reaps(reaper, process.pid, now_ms) for now_ms in (_NOW, _NOW + _DAY_MS))
    assert process.wait() == 7


def test_a_child_that_ends_while_it_is_started_keeps_its_exit_code(reaper: Reaper) -> None:
    with reaper.spawning():
        process = subprocess.Popen(
            ["/bin/sh", "-c", "read line; exit 7"], stdin=subprocess.PIPE, start_new_session=True
        )
        set_mark(process.pid, mark_of("run"))
        assert process.stdin is not None
        process.stdin.close()
        until(lambda: not is_living(process.pid))
        assert not _reaps(reaper, process.pid)
        assert reaper.strays(0) == []
        reaper.leave_to_owner(process, "run")
    assert not _reaps(reaper, process.pid, _NOW + _DAY_MS)
    assert process.wait() == 7


def test_an_awaited_process_that_ended_is_forgotten() -> None:
    made = Reaper()
    for _ in range(3):
        process = subprocess.Popen(["true"])
        made.leave_to_owner(process, "run")
        process.wait()
    assert len(made._awaited) == 1


def test_an_orphan_of_a_known_run_is_not_a_stray(reaper: Reaper, orphan: Orphan) -> None:
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as first:
        try:
            reaper.leave_to_owner(first, "run")
            pid = orphan(_LEADER, "run")
            assert reaper.strays(0) == []
        finally:
            first.kill()
    assert reaper.strays(0) == []
    set_mark(pid, mark_of("another run"))
    assert reaper.strays(0) == [pid]


@pytest.mark.parametrize("mark", [_UNLIMITED, mark_of("invented"), mark_of("x") >> 48 << 48])
def test_an_orphan_of_no_known_run_belongs_to_the_runs_before_it(
    reaper: Reaper, orphan: Orphan, mark: int
) -> None:
    pid = orphan(_LEADER, "run")
    set_mark(pid, mark)
    stat = stat_of(pid)
    assert stat is not None
    assert (reaper.strays(0), reaper.strays(stat.started), reaper.strays(stat.started + 1)) == (
        [pid],
        [pid],
        [],
    )
    _kill(pid)
    assert reaper.strays(0) == []


def test_a_program_that_the_desktop_opens_is_left_alone_and_reaped(reaper: Reaper, tmp_path: Path) -> None:
    QProcess.startDetached("/bin/sh", ["-c", "echo $$ >a.pid; exec sleep 60"], str(tmp_path))
    (pid,) = until(lambda: pids_in(tmp_path))
    try:
        assert psutil.Process(pid).ppid() == psutil.Process().pid
        assert marked_processes(["run"]) == {}
        assert not _reaps(reaper, pid)
        assert is_living(pid)
    finally:
        _kill(pid)
    assert _reaps(reaper, pid)
