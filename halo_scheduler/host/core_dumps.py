"""Core dumps: this process writes none, because its memory holds secrets; its jobs may, by the user's limit."""

from __future__ import annotations

import importlib

# The unit of `ulimit -c`, whichever shell /bin/sh is.
_BLOCK_BYTES = 512


class CoreLimit:
    """The core dump limit of this process, shared by all its threads."""

    def __init__(self) -> None:
        self._soft_before: int | None = None

    def lower(self) -> None:
        """Disable core dumps.

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
        """The shell line that restores the original limit in a child; "" if it is unchanged."""
        if self._soft_before is None:
            return ""
        # A negative number means no limit.
        return f"ulimit -S -c {'unlimited' if self._soft_before < 0 else self._soft_before // _BLOCK_BYTES}; "


CORE_LIMIT = CoreLimit()
