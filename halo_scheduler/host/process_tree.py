"""All processes of a run: those of its session, their descendants, and those with one of its marks.

The kernel keeps the inherited mark: fork and exec pass it on, `env -i` does not remove it.
It is the soft limit RLIMIT_LOCKS, which has limited nothing since Linux 2.4.25. The hard limit stays as it is,
so a process may still set any value it could set before.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from math import inf

import psutil

from halo_scheduler.host.process import HAS_PROC, read_file, stat_of

MARK = "HALO_RUN_ID"


if sys.platform == "linux":
    import resource
try:
    # The same function as in hashlib, which would also load OpenSSL: 4 MB of memory.
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

# A 32-bit kernel has no room for marks.
_HAS_MARKS = sys.platform == "linux" and sys.maxsize > 1 << 32

_LOCKS = 10  # RLIMIT_LOCKS on every architecture; Python has no name for it

_SIGNATURE = 0x4A10

_BITS = 48

_UNLIMITED, _UNREADABLE = -1, -2

_LINE = re.compile(rb"^Max file locks +([0-9]+|unlimited) ", re.MULTILINE)


def mark_of(run_id: str) -> int:
    """Return the mark of a run."""
    digest = blake2b(run_id.encode(), digest_size=_BITS // 8).digest()
    return _SIGNATURE << _BITS | int.from_bytes(digest)


def is_mark(value: int) -> bool:
    """Return whether a limit was set by Halo."""
    return value >> _BITS == _SIGNATURE


def read_mark(pid: int) -> int:
    """Return the limit of a process, whether it is a mark or not; 0 means this process.

    Any user can set it, and the limits of other users are readable too: check the user before trusting a mark.
    """
    if sys.platform == "linux":
        try:
            return resource.prlimit(pid, _LOCKS)[0]
        except PermissionError:
            return _written_limit(pid)
        except (OSError, ValueError):
            pass
    return _UNREADABLE


def _written_limit(pid: int) -> int:
    """Return the limit from /proc, which everybody can read but which is slower."""
    with suppress(OSError):
        found = _LINE.search(read_file(f"/proc/{pid}/limits"))
        if found:
            return _UNLIMITED if found[1] == b"unlimited" else int(found[1])
    return _UNREADABLE


def marking_line(run_id: str) -> str:
    """Return the shell line that marks the shell before it starts anything; empty where there are no marks.

    Set from outside, the mark would often come after the shell has started other processes.
    """
    mark = mark_of(run_id)
    # The first option is that of dash and BusyBox, the second that of Bash.
    return f"{{ ulimit -S -w {mark} || ulimit -S -x {mark}; }} 2>/dev/null; " if _HAS_MARKS else ""


def find_members(
    run_id: str, session: int | None, known: Iterable[psutil.Process] = ()
) -> list[psutil.Process]:
    """Return the living processes of a run.

    A process with its own session still has the mark in its environment, and one that cleared its environment still has
    the inherited mark; without marks it may still be found as a descendant. `known` are members found before, which may
    have lost their parent since.
    """
    pids = [pid for pid in psutil.pids() if pid != os.getpid()]
    marks = {mark_of(run_id): run_id}
    found = {pid for pid in pids if session_of(pid) == session or _run_of(pid, marks) == run_id}
    found |= {process.pid for process in known if process.is_running()}
    if found:
        found |= _descendants(found, pids)
    return [process for pid in sorted(found) if (process := _living(pid)) is not None]


def marked_processes(run_ids: Iterable[str]) -> dict[str, list[int]]:
    """Return the living processes of some runs, oldest first; runs without any are left out."""
    marks = {mark_of(run_id): run_id for run_id in run_ids}
    found: dict[str, list[int]] = {}
    for pid in psutil.pids() if marks else []:
        run_id = _run_of(pid, marks)
        if run_id is not None and pid != os.getpid() and _living(pid) is not None:
            found.setdefault(run_id, []).append(pid)
    return {run_id: sorted(pids, key=_age) for run_id, pids in found.items()}


def _age(pid: int) -> tuple[float, bool, int]:
    """Return the sort key for the age of a run's processes; pids alone do not suffice, because they wrap around.

    Among those started within one clock tick, the session leader is the first.
    """
    with suppress(psutil.Error):
        return psutil.Process(pid).create_time(), session_of(pid) != pid, pid
    return inf, True, pid


def all_marked(run_ids: Callable[[], Iterable[str]]) -> dict[str, list[int]]:
    """Return the runs of any database that have living processes, with these, lowest pid first.

    A process that cleared its environment does not name its run: it is found if its run is among `run_ids`, which is
    called only if there is such a process.
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
    """Return the processes that run something else than the session's first process; its forks run the same."""
    first = _command_line_of(session)
    return [
        process for process in members if process.pid != session and _command_line_of(process.pid) != first
    ]


def ask_to_stop(members: Iterable[psutil.Process], session: int | None) -> None:
    """Ask processes to end: a process group once as a whole, and each of the others."""
    others = list(members)
    if session is not None and sys.platform != "win32":
        in_group = [process for process in others if _group_of(process.pid) == session]
        others = [process for process in others if process not in in_group]
        if in_group:
            with suppress(OSError):
                os.killpg(session, signal.SIGTERM)
                # A stopped process must continue before it can handle the signal.
                os.killpg(session, signal.SIGCONT)
    for process in others:
        with suppress(psutil.Error):
            process.terminate()
            if hasattr(signal, "SIGCONT"):
                process.send_signal(signal.SIGCONT)


def kill(members: Iterable[psutil.Process]) -> list[psutil.Process]:
    """Kill processes; return those that we may not kill."""
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
    """Return whether to trust an inherited mark: any user can set it, but only on their own processes."""
    with suppress(psutil.Error):
        return _parent_of(pid) == os.getpid() or _is_ours(pid)
    return False


def _mark_of(pid: int) -> str | None:
    """Return the run id in the environment of a process of ours; other users' processes could claim any id."""
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
    """Return the session of a process; -1 if unknown."""
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
    """Return a process, unless it is gone or a zombie."""
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        if process.status() != psutil.STATUS_ZOMBIE:
            return process
    return None
