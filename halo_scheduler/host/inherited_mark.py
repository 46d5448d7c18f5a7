"""A mark on the processes of a run that the kernel keeps: fork and exec inherit it, `env -i` does not remove it.

The mark is the soft limit RLIMIT_LOCKS, which has limited nothing since Linux 2.4.25. The hard limit stays as it is,
so a process may still set any value it could set before.
"""

from __future__ import annotations

import hashlib
import re
import sys
from contextlib import suppress

from halo_scheduler.host.proc_files import read_file

if sys.platform == "linux":
    import resource

# A kernel with 32 bits has no room for them.
_HAS_MARKS = sys.platform == "linux" and sys.maxsize > 1 << 32
_LOCKS = 10  # RLIMIT_LOCKS on every architecture; Python has no name for it
_SIGNATURE = 0x4A10
_BITS = 48
_UNLIMITED, _UNREADABLE = -1, -2
_LINE = re.compile(rb"^Max file locks +([0-9]+|unlimited) ", re.MULTILINE)


def mark_of(run_id: str) -> int:
    """Return the mark of a run."""
    digest = hashlib.blake2b(run_id.encode(), digest_size=_BITS // 8).digest()
    return _SIGNATURE << _BITS | int.from_bytes(digest)


def is_mark(value: int) -> bool:
    """Tell whether a limit was set by Halo."""
    return value >> _BITS == _SIGNATURE


def read_mark(pid: int) -> int:
    """Return the limit of a process, be it a mark or not; 0 is this process.

    Anybody can set it, and the limits of other users are told too: who relies on a mark looks at the user as well.
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
    """Return the limit from where everybody can read it; it takes longer."""
    with suppress(OSError):
        found = _LINE.search(read_file(f"/proc/{pid}/limits"))
        if found:
            return _UNLIMITED if found[1] == b"unlimited" else int(found[1])
    return _UNREADABLE


def marking_line(run_id: str) -> str:
    """Return what a shell does to mark itself, before it starts anything; empty where there are no marks.

    From outside it could be done only after the shell was started, and then that has often started others already.
    """
    mark = mark_of(run_id)
    # The first option is that of dash and BusyBox, the second that of Bash.
    return f"{{ ulimit -S -w {mark} || ulimit -S -x {mark}; }} 2>/dev/null; " if _HAS_MARKS else ""
