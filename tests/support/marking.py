"""Mark a process from outside, as a shell of a run marks itself."""

from __future__ import annotations

import sys

if sys.platform == "linux":
    import resource

_LOCKS = 10


def set_mark(pid: int, mark: int) -> None:
    """Set the soft limit that marks a process; 0 is this process."""
    if sys.platform == "linux":
        _, hard = resource.prlimit(pid, _LOCKS)
        resource.prlimit(pid, _LOCKS, (mark, hard))
