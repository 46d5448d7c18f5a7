"""Process trees: who belongs to a run, asking, killing, and who never belongs to it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from marking import set_mark
from other_users import OTHER, needs_other_users
from process_probe import LONG_S, end_all, is_living, pids_in, until

from halo_scheduler.host import process_tree
from halo_scheduler.host.process import age_ms
from halo_scheduler.host.process_tree import (
    MARK,
    all_marked,
    ask_to_stop,
    find_members,
    kill,
    mark_of,
    marked_processes,
)

# Whoever runs these tests beside us has marks of their own.
_RUN, _ANOTHER, _OTHER = (f"{name}-{os.getpid()}" for name in ("run-of-this-test", "another-run", "other"))
_NOTE = "echo $$ >{}.pid"
Start = Callable[..., subprocess.Popen[bytes]]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sessions are a thing of POSIX")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start shell lines in sessions of their own, with the mark of a run; end all that is left of them."""
    processes: list[subprocess.Popen[bytes]] = []

    def start_one(line: str, mark: str = _RUN) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            ["/bin/sh", "-c", line],
            cwd=tmp_path,
            env={**os.environ, MARK: mark},
            start_new_session=True,
        )
        processes.append(process)
        return process

    yield start_one
    end_all([*pids_in(tmp_path), *(process.pid for process in processes if process.returncode is None)])
    for process in processes:
        process.wait()


def _pids(members: list[psutil.Process]) -> set[int]:
    return {process.pid for process in members}


def _noted(folder: Path, count: int) -> set[int]:
    until(lambda: len(pids_in(folder)) == count)
    return set(pids_in(folder))


@pytest.mark.parametrize(
    "line",
    [
        "sleep 60 & echo $! >child.pid; wait",
        "setsid sh -c 'echo $$ >child.pid; exec sleep 60' & wait",
        "env -i sh -c 'echo $$ >child.pid; exec sleep 60' & wait",
        "setsid env -i sh -c 'echo $$ >child.pid; exec sleep 60' & wait",
    ],
    ids=["in the session", "own session", "no mark", "neither session nor mark, but a child"],
)
def test_every_descendant_is_a_member(start: Start, tmp_path: Path, line: str) -> None:
    process = start(line)
    children = _noted(tmp_path, 1)
    assert {process.pid, *children} <= _pids(find_members(_RUN, process.pid))


def test_an_orphan_that_left_the_session_is_found_by_its_mark(start: Start, tmp_path: Path) -> None:
    process = start("setsid sh -c 'echo $$ >child.pid; exec sleep 60' & sleep 0.2")
    children = _noted(tmp_path, 1)
    process.wait()
    # In the middle of an exec, the mark cannot be read.
    until(lambda: _pids(find_members(_RUN, process.pid)) == children)


def test_the_children_of_a_found_orphan_are_members(start: Start, tmp_path: Path) -> None:
    process = start(
        "setsid sh -c 'echo $$ >a.pid; setsid env -i sh -c \"echo \\$\\$ >b.pid; exec sleep 60\" & wait' &"
    )
    process.wait()
    family = _noted(tmp_path, 2)
    until(lambda: _pids(find_members(_RUN, process.pid)) == family)


def test_a_member_that_lost_its_parent_stays_one(start: Start, tmp_path: Path) -> None:
    process = start("setsid env -i sh -c 'echo $$ >child.pid; exec sleep 60' & wait")
    children = _noted(tmp_path, 1)
    known = find_members(_RUN, process.pid)
    process.kill()
    process.wait()
    assert _pids(find_members(_RUN, process.pid, known)) == children


def test_a_reused_session_id_makes_no_members(start: Start) -> None:
    process = start("exec sleep 60", _ANOTHER)
    known = psutil.Process(process.pid)
    # As it was noted down before the number was given to this one.
    vars(known)["_ident"] = (process.pid, 0.0)
    assert find_members(_RUN, None, [known]) == []


def test_unrelated_processes_are_not_members(start: Start) -> None:
    mine, other = start("exec sleep 60"), start("exec sleep 60", _ANOTHER)
    until(lambda: _pids(find_members(_RUN, mine.pid)) == {mine.pid})
    until(lambda: _pids(find_members(_ANOTHER, None)) == {other.pid})
    assert find_members("no run", None) == []


def test_a_mark_is_a_whole_variable(start: Start) -> None:
    process = start(f"exec env -u {MARK} X{MARK}={_RUN} {MARK}_2={_RUN} sleep 60", _ANOTHER)
    until(lambda: psutil.Process(process.pid).name() == "sleep")
    assert find_members(_RUN, None) == []
    assert marked_processes([_RUN]) == {}


def test_the_oldest_process_comes_first_even_when_pids_wrap(start: Start, tmp_path: Path) -> None:
    last_pid = Path("/proc/sys/kernel/ns_last_pid")
    os.mkfifo(tmp_path / "gate")
    process = start("read go <gate; sleep 60 & echo $! >child.pid; wait")
    before = last_pid.read_text() if last_pid.exists() else ""
    try:
        last_pid.write_text("310\n")
    except OSError:
        pytest.skip("only root can choose the next process number, on Linux")
    try:
        (tmp_path / "gate").write_text("go\n")
        (child,) = _noted(tmp_path, 1)
    finally:
        last_pid.write_text(before)
    until(lambda: len(marked_processes([_RUN]).get(_RUN, [])) == 2)
    found = marked_processes([_RUN])
    end_all([child])
    if child > process.pid:
        pytest.skip("the numbers of this machine are just beginning anew")
    assert found == {_RUN: [process.pid, child]}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has an inherited mark")
def test_an_orphan_that_cleared_its_environment_is_found_by_its_inherited_mark(
    start: Start, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "gate")
    process = start("read go <gate; (setsid env -i sh -c 'echo $$ >child.pid; exec sleep 60' &)")
    set_mark(process.pid, mark_of(_RUN))
    (tmp_path / "gate").write_text("go\n")
    process.wait(LONG_S)
    children = _noted(tmp_path, 1)
    assert _pids(find_members(_RUN, process.pid)) == children
    assert marked_processes([_RUN, _OTHER]) == {_RUN: sorted(children)}
    assert all_marked(lambda: [_OTHER, _RUN])[_RUN] == sorted(children)
    assert _RUN not in all_marked(list)
    assert find_members(_OTHER, None) == []
    end_all(children)


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can start processes as another user"
)
def test_a_mark_that_another_user_has_set_counts_only_on_a_child_of_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stranger = subprocess.Popen(
        ["/bin/sh", "-c", "sleep 60 & echo $!; wait"], user=54_321, group=54_321, stdout=subprocess.PIPE
    )
    assert stranger.stdout is not None
    with stranger.stdout:
        grandchild = int(stranger.stdout.readline())
    # Whether root can set limits of others depends on a capability that it may lack.
    marks = dict.fromkeys((stranger.pid, grandchild), mark_of(_RUN))
    monkeypatch.setattr(process_tree, "read_mark", lambda pid: marks.get(pid, -1))
    try:
        assert marked_processes([_RUN]) == {_RUN: [stranger.pid]}
        monkeypatch.setattr(os, "geteuid", lambda: 12_345)
        monkeypatch.setattr(os, "getuid", lambda: 12_345)
        assert marked_processes([_RUN]) == {_RUN: [stranger.pid]}
    finally:
        end_all([stranger.pid, grandchild])
        stranger.wait()


def test_zombies_are_not_living(start: Start) -> None:
    process = start("exit 0")
    until(lambda: psutil.Process(process.pid).status() == psutil.STATUS_ZOMBIE)
    assert find_members(_RUN, process.pid, [psutil.Process(process.pid)]) == []
    assert marked_processes([_RUN]) == {}


@needs_other_users
def test_the_mark_of_another_users_process_counts_for_nothing(start: Start) -> None:
    """Everybody can read the run's id in the list of processes, and start one that carries it."""
    mine = start("exec sleep 60")
    # In a folder that everybody may enter; pytest closes its own.
    with subprocess.Popen(
        ["/bin/sleep", "60"],
        cwd="/",
        env={MARK: _RUN},
        start_new_session=True,
        user=OTHER,
        group=OTHER,
        extra_groups=[],
    ) as foreign:
        try:
            until(lambda: b"sleep" in Path(f"/proc/{foreign.pid}/cmdline").read_bytes())
            until(lambda: mine.pid in marked_processes([_RUN]).get(_RUN, []))
            for found in (
                marked_processes([_RUN])[_RUN],
                all_marked(list)[_RUN],
                _pids(find_members(_RUN, None)),
            ):
                assert mine.pid in found
                assert foreign.pid not in found
        finally:
            foreign.kill()


def test_marked_processes_are_grouped_by_run_in_order(start: Start) -> None:
    first, second, other = start("exec sleep 60"), start("exec sleep 60"), start("exec sleep 60", _OTHER)
    start("exec sleep 60", _ANOTHER)
    expected = {_RUN: sorted([first.pid, second.pid]), _OTHER: [other.pid]}
    until(lambda: marked_processes([_RUN, _OTHER, "none"]) == expected)
    assert marked_processes([]) == {}


def test_this_process_is_never_a_member() -> None:
    code = (
        "import os; from halo_scheduler.host.process_tree import find_members, marked_processes; "
        f"print(find_members({_RUN!r}, os.getsid(0)), marked_processes([{_RUN!r}]))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, MARK: _RUN},
        start_new_session=True,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert shown.stdout == "[] {}\n"


_COUNTER = """
import os, signal, sys, time
name, seconds = sys.argv[1], float(sys.argv[2])
def count(*_):
    with open(name, "a") as file: file.write("T")
signal.signal(signal.SIGTERM, count)
with open(name + ".pid", "w") as file: file.write(f"{os.getpid()}\\n")
while True: time.sleep(seconds)
"""


def _counter(name: str) -> str:
    return f"{sys.executable} -c '{_COUNTER}' {name} 0.05"


def test_each_process_is_asked_once(start: Start, tmp_path: Path) -> None:
    process = start(
        f"trap : TERM; {_counter('a')} & {_counter('b')} & setsid {_counter('c')} & while :; do wait; done"
    )
    counters = _noted(tmp_path, 3)
    members = find_members(_RUN, process.pid)
    assert counters < _pids(members)
    ask_to_stop(members, process.pid)
    until(lambda: all((tmp_path / name).exists() for name in "abc"))
    # A second signal would have arrived with the first: what is asked for now comes after both.
    ask_to_stop(find_members(_RUN, process.pid), process.pid)
    until(lambda: all(len((tmp_path / name).read_text()) >= 2 for name in "abc"))
    assert [(tmp_path / name).read_text() for name in "abc"] == ["TT"] * 3


def test_a_halted_process_hears_that_it_is_asked(start: Start) -> None:
    for session in (True, False):
        process = start("exec sleep 60")
        until(lambda process=process: psutil.Process(process.pid).name() == "sleep")  # type: ignore[misc] # bound now
        process.send_signal(signal.SIGSTOP)
        until(lambda process=process: psutil.Process(process.pid).status() == psutil.STATUS_STOPPED)  # type: ignore[misc]
        ask_to_stop([psutil.Process(process.pid)], process.pid if session else None)
        assert process.wait(LONG_S) == -signal.SIGTERM


def test_stopping_and_killing_dead_processes_is_not_an_error(start: Start) -> None:
    process = start("exec sleep 60")
    gone = psutil.Process(process.pid)
    process.kill()
    process.wait()
    ask_to_stop([gone], process.pid)
    ask_to_stop([gone], None)
    assert kill([gone]) == []


def test_killing_ends_processes_that_ignore_signals(start: Start, tmp_path: Path) -> None:
    process = start("trap '' TERM; echo $$ >a.pid; setsid sh -c 'echo $$ >b.pid; sleep 60' & wait")
    _noted(tmp_path, 2)
    assert kill(find_members(_RUN, process.pid)) == []
    process.wait(LONG_S)
    until(lambda: not any(is_living(pid) for pid in pids_in(tmp_path)))


def test_those_that_may_not_be_killed_are_returned(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    process = start("exec sleep 60")
    member = psutil.Process(process.pid)

    def refuse(_: psutil.Process) -> None:
        raise psutil.AccessDenied(process.pid)

    with monkeypatch.context() as patched:
        patched.setattr(psutil.Process, "kill", refuse)
        assert kill([member, member]) == [member, member]


def test_the_age_of_a_process_does_not_depend_on_the_wall_clock() -> None:
    own, gone = age_ms(os.getpid()), subprocess.Popen(["true"])
    gone.wait()
    assert own is not None
    assert own >= 0
    assert own < (age_ms(1) or 0)
    assert age_ms(gone.pid) is None
