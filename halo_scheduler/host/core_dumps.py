"""Core dumps: this process writes none, because its memory holds secrets; its jobs may, as their user chose."""

from __future__ import annotations

import importlib

# What `ulimit -c` counts in, whichever shell /bin/sh is.
_BLOCK_BYTES = 512


class CoreLimit:
    """The limit on the size of this process's core dumps; there is one for all its threads."""

    def __init__(self) -> None:
        self._soft_before: int | None = None

    def lower(self) -> None:
        """Write no core dump from now on.

        Only the soft limit is lowered, so that a child may raise it again. Windows has no such limit.
        """
        try:
            resource = importlib.import_module("resource")
        except ImportError:
            return
        soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
        if soft != 0:
            resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
            self._soft_before = soft

    @property
    def restoring_line(self) -> str:
        """What a child's shell says to get the limit back that this process was started with; "" if it has it."""
        if self._soft_before is None:
            return ""
        # A negative number stands for no limit.
        return f"ulimit -S -c {'unlimited' if self._soft_before < 0 else self._soft_before // _BLOCK_BYTES}; "


CORE_LIMIT = CoreLimit()
