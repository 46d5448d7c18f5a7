"""A mark on the processes of a run that the kernel keeps: fork and exec inherit it, `env -i` does not remove it.

The mark is the soft limit RLIMIT_LOCKS, which has limited nothing since Linux 2.4.25. The hard limit stays as it is,
so a process may still set any value it could set before.
"""

from __future__ import annotations

import hashlib
import sys
from contextlib import suppress

if sys.platform == "linux":
    import resource

# A kernel with 32 bits has no room for them.
_HAS_MARKS = sys.platform == "linux" and sys.maxsize > 1 << 32
_LOCKS = 10  # RLIMIT_LOCKS on every architecture; Python has no name for it
_SIGNATURE = 0x4A10
_BITS = 48
_UNREADABLE = -2  # RLIM_INFINITY is -1
OWN_MARK = _SIGNATURE << _BITS
"""Marks what belongs to Halo itself and to no run."""


def mark_of(run_id: str) -> int:
    """Return the mark of a run."""
    digest = hashlib.blake2b(run_id.encode(), digest_size=_BITS // 8).digest()
    return OWN_MARK | int.from_bytes(digest)


def is_mark(value: int) -> bool:
    """Tell whether a limit was set by Halo."""
    return value >> _BITS == _SIGNATURE


def read_mark(pid: int) -> int:
    """Return the limit of a process, be it a mark or not; 0 is this process."""
    if sys.platform == "linux":
        with suppress(OSError, ValueError):
            return resource.prlimit(pid, _LOCKS)[0]
    return _UNREADABLE


def marking_line(run_id: str) -> str:
    """Return what a shell does to mark itself, before it starts anything; empty where there are no marks.

    From outside it could be done only after the shell was started, and then that has often started others already.
    """
    mark = mark_of(run_id)
    # The first option is that of dash and BusyBox, the second that of Bash.
    return f"{{ ulimit -S -w {mark} || ulimit -S -x {mark}; }} 2>/dev/null; " if _HAS_MARKS else ""


def set_mark(pid: int, mark: int) -> bool:
    """Set the limit of a process and tell whether that was possible; 0 is this process."""
    if sys.platform == "linux" and _HAS_MARKS:
        with suppress(OSError, ValueError):
            _, hard = resource.prlimit(pid, _LOCKS)
            resource.prlimit(pid, _LOCKS, (mark, hard))
            return True
    return False
