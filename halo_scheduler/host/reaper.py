"""The subreaper: on Linux, orphans become children of this process instead of init's.

So no process of a run gets lost while its engine lives. A subreaper must also reap its orphans.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from halo_scheduler.host.process import ZOMBIE, ProcessStat, children_of, stat_of
from halo_scheduler.host.process_tree import is_mark, mark_of, read_mark

_LOG = logging.getLogger(__name__)
_PR_SET_CHILD_SUBREAPER = 36
_MOST_AT_ONCE = 1_000
_MOST_REMEMBERED = 1_000
_PATIENCE_MS = 60_000


class Reaper:
    """Reaps the children that this process did not start; a process needs exactly one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._awaited: dict[int, tuple[subprocess.Popen[bytes], str]] = {}
        self._ended: deque[int] = deque(maxlen=_MOST_REMEMBERED)
        self._unclear: dict[tuple[int, int], int] = {}
        self._spawning = 0

    def start(self) -> bool:
        """Become the subreaper; return whether the system supports that."""
        with self._lock:
            if not self._users and not _set_subreaper(on=True):
                return False
            self._users += 1
            return True

    def stop(self) -> None:
        """Stop being the subreaper; call once per start that returned True."""
        with self._lock:
            self._users -= 1
            if not self._users:
                _set_subreaper(on=False)
                self._unclear.clear()

    @contextmanager
    def spawning(self) -> Iterator[None]:
        """Reap no child that may be started inside the block.

        It may end before `leave_to_owner` is called. If it were reaped here, Popen would report exit code 0, as for any
        child that was reaped elsewhere.
        """
        with self._lock:
            self._spawning += 1
        try:
            yield
        finally:
            with self._lock:
                self._spawning -= 1

    def leave_to_owner(self, process: subprocess.Popen[bytes], run_id: str) -> None:
        """Never reap the first process of a run: its starter waits for the exit code."""
        with self._lock:
            self._forget_ended()
            self._awaited[process.pid] = process, run_id

    def reap(self, now_ms: int) -> int:
        """Reap orphans that have ended, and return how many."""
        if not self._users:
            return 0
        reaped = 0
        with self._lock:
            zombies = [(pid, stat) for pid, stat in self._others() if stat.state == ZOMBIE]
            keys = {(pid, stat.started) for pid, stat in zombies}
            self._unclear = {key: since for key, since in self._unclear.items() if key in keys}
            for pid, stat in zombies:
                is_due = _is_orphan(pid, stat) or self._is_forgotten(pid, stat, now_ms)
                reaped += is_due and _reap_one(pid)
                if reaped == _MOST_AT_ONCE:
                    break
        return reaped

    def strays(self, since: int) -> list[int]:
        """Return the living orphans that belong to no run, active or ended; an unknown mark may be forged.

        `since` is the earliest start to consider, in clock ticks since boot.
        """
        if not self._users:
            return []
        with self._lock:
            found = [pid for pid, stat in self._others() if stat.state != ZOMBIE and stat.started >= since]
            known = {*self._ended, *(mark_of(run_id) for _, run_id in self._awaited.values())}
            return [pid for pid in found if read_mark(pid) not in known]

    def _others(self) -> Iterator[tuple[int, ProcessStat]]:
        """Yield the unawaited children outside our session, which no process of a run can join."""
        if sys.platform == "win32":
            return
        self._forget_ended()
        session = os.getsid(0)
        for pid in children_of(os.getpid()):
            stat = None if pid in self._awaited else stat_of(pid)
            may_be_spawned = self._spawning and stat is not None and stat.session == pid
            if stat is not None and stat.session != session and not may_be_spawned:
                yield pid, stat

    def _forget_ended(self) -> None:
        for pid, (process, run_id) in list(self._awaited.items()):
            if process.returncode is not None:
                self._ended.append(mark_of(run_id))
                del self._awaited[pid]

    def _is_forgotten(self, pid: int, stat: ProcessStat, now_ms: int) -> bool:
        """Return whether a zombie that may be a direct child is so old that its starter no longer waits for it."""
        since = self._unclear.setdefault((pid, stat.started), now_ms)
        return abs(now_ms - since) >= _PATIENCE_MS


REAPER = Reaper()
"""The one of this process."""


def _is_orphan(pid: int, stat: ProcessStat) -> bool:
    """Return whether a child was certainly not started by this process.

    A direct child is in our session or leads its own. If it leads its own and has the mark of a run, it is not the
    first process of that run either, because that one is awaited.
    """
    mark = read_mark(pid)
    return stat.session != pid or (is_mark(mark) and mark != read_mark(0))


def _reap_one(pid: int) -> bool:
    if sys.platform != "linux":
        return False
    with suppress(ChildProcessError):
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG) is not None
    return False


def _set_subreaper(*, on: bool) -> bool:
    if sys.platform != "linux":
        return False
    import ctypes  # noqa: PLC0415 - only for orphans

    with suppress(OSError, AttributeError):
        return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(on), 0, 0, 0) == 0)
    _LOG.warning("The system call prctl cannot be found: processes that lose their parent may escape a stop.")
    return False
