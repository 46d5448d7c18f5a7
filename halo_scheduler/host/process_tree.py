"""All processes of a run: those of its session, their descendants, and those that carry one of its marks."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from math import inf

import psutil

from halo_scheduler.host.inherited_mark import is_mark, mark_of, read_mark
from halo_scheduler.host.proc_files import HAS_PROC, read_file, stat_of

MARK = "HALO_RUN_ID"


def find_members(
    run_id: str, session: int | None, known: Iterable[psutil.Process] = ()
) -> list[psutil.Process]:
    """Return the living processes of a run.

    A process that began a session of its own still carries the mark in its environment, and one that cleared its
    environment still has the inherited mark; where there are no such marks, it may still be somebody's child.
    `known` are members found before, which may have lost their parent since.
    """
    pids = [pid for pid in psutil.pids() if pid != os.getpid()]
    marks = {mark_of(run_id): run_id}
    found = {pid for pid in pids if session_of(pid) == session or _run_of(pid, marks) == run_id}
    found |= {process.pid for process in known if process.is_running()}
    if found:
        found |= _descendants(found, pids)
    return [process for pid in sorted(found) if (process := _living(pid)) is not None]


def marked_processes(run_ids: Iterable[str]) -> dict[str, list[int]]:
    """Return, of some runs, those that have living processes, and these, the oldest first."""
    marks = {mark_of(run_id): run_id for run_id in run_ids}
    found: dict[str, list[int]] = {}
    for pid in psutil.pids() if marks else []:
        run_id = _run_of(pid, marks)
        if run_id is not None and pid != os.getpid() and _living(pid) is not None:
            found.setdefault(run_id, []).append(pid)
    return {run_id: sorted(pids, key=_age) for run_id, pids in found.items()}


def _age(pid: int) -> tuple[float, bool, int]:
    """Return what sorts the processes of a run by age; numbers alone do not, as they begin anew at some time.

    Of those that started within one tick of the kernel's clock, the leader of a session is the first.
    """
    with suppress(psutil.Error):
        return psutil.Process(pid).create_time(), session_of(pid) != pid, pid
    return inf, True, pid


def all_marked(run_ids: Callable[[], Iterable[str]]) -> dict[str, list[int]]:
    """Return the runs, of whatever database, that have living processes, and these, the oldest number first.

    A process that cleared its environment does not name its run: it is found if its run is among `run_ids`, which are
    asked for only if there is such a process.
    """
    found: dict[str, list[int]] = {}
    nameless: dict[int, int] = {}
    for pid in sorted(psutil.pids()):
        run_id = _mark_of(pid)
        if run_id and _living(pid) is not None:
            found.setdefault(run_id, []).append(pid)
        elif run_id is None and is_mark(mark := read_mark(pid)) and _may_be_ours(pid) and _living(pid):
            nameless[pid] = mark
    names = {mark_of(run_id): run_id for run_id in run_ids()} if nameless else {}
    for pid, mark in nameless.items():
        if mark in names:
            found[names[mark]] = sorted([*found.get(names[mark], []), pid])
    return found


def beside_first(members: Iterable[psutil.Process], session: int | None) -> list[psutil.Process]:
    """Return those that do something else than the first process of the session; its forks do the same as it."""
    first = _command_line_of(session)
    return [
        process for process in members if process.pid != session and _command_line_of(process.pid) != first
    ]


def ask_to_stop(members: Iterable[psutil.Process], session: int | None) -> None:
    """Ask processes to end: a group as one, so that nobody is asked twice, and each of the others."""
    others = list(members)
    if session is not None and sys.platform != "win32":
        in_group = [process for process in others if _group_of(process.pid) == session]
        others = [process for process in others if process not in in_group]
        if in_group:
            with suppress(OSError):
                os.killpg(session, signal.SIGTERM)
                # One that was halted must first go on to hear it.
                os.killpg(session, signal.SIGCONT)
    for process in others:
        with suppress(psutil.Error):
            process.terminate()
            if hasattr(signal, "SIGCONT"):
                process.send_signal(signal.SIGCONT)


def kill(members: Iterable[psutil.Process]) -> list[psutil.Process]:
    """Kill processes; return those that we are not allowed to."""
    denied: list[psutil.Process] = []
    for process in members:
        try:
            process.kill()
        except psutil.AccessDenied:
            denied.append(process)
        except psutil.NoSuchProcess:
            continue
    return denied


def _run_of(pid: int, marks: Mapping[int, str]) -> str | None:
    """Return which of some runs a process belongs to, by either mark; `marks` are the inherited ones."""
    run_id = marks.get(read_mark(pid))
    if run_id is not None and _may_be_ours(pid):
        return run_id
    named = _mark_of(pid)
    return None if named is None else marks.get(mark_of(named))


def _may_be_ours(pid: int) -> bool:
    """Tell whether an inherited mark counts: any user can set it, but only on processes of their own."""
    with suppress(psutil.Error):
        return _parent_of(pid) == os.getpid() or _is_ours(pid)
    return False


def _mark_of(pid: int) -> str | None:
    """Return the run that a process of ours carries in its environment; anybody can start one that says the same."""
    try:
        mark = _claimed_mark_of(pid)
        return mark if mark is not None and _is_ours(pid) else None
    except (OSError, psutil.Error):
        return None


def _claimed_mark_of(pid: int) -> str | None:
    if not HAS_PROC:
        environment: Mapping[str, str] = psutil.Process(pid).environ()
        return environment.get(MARK)
    _, found, rest = (b"\0" + read_file(f"/proc/{pid}/environ")).partition(f"\0{MARK}=".encode())
    return rest.partition(b"\0")[0].decode(errors="replace") if found else None


def _is_ours(pid: int) -> bool:
    return sys.platform == "win32" or psutil.Process(pid).uids().real == os.getuid()


def session_of(pid: int) -> int:
    """Return the session a process belongs to; -1 when that cannot be known."""
    if sys.platform != "win32":
        with suppress(OSError):
            return os.getsid(pid)
    return -1


def _command_line_of(pid: int | None) -> list[str] | None:
    with suppress(psutil.Error):
        return None if pid is None else psutil.Process(pid).cmdline()
    return None


def _group_of(pid: int) -> int:
    if sys.platform != "win32":
        with suppress(OSError):
            return os.getpgid(pid)
    return -1


def _descendants(roots: set[int], pids: Iterable[int]) -> set[int]:
    children: dict[int, list[int]] = {}
    for pid in pids:
        children.setdefault(_parent_of(pid), []).append(pid)
    found: set[int] = set()
    left = list(roots)
    while left:
        for child in children.get(left.pop(), []):
            if child not in found:
                found.add(child)
                left.append(child)
    return found


def _parent_of(pid: int) -> int:
    if HAS_PROC:
        stat = stat_of(pid)
        return -1 if stat is None else stat.parent
    with suppress(psutil.Error):
        return psutil.Process(pid).ppid()
    return -1


def _living(pid: int) -> psutil.Process | None:
    """Return a process, unless it is gone or only waits for its parent to bury it."""
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        if process.status() != psutil.STATUS_ZOMBIE:
            return process
    return None
