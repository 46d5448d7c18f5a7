"""How much room a disk has, and how much of that stays free."""

from __future__ import annotations

import shutil
from typing import NamedTuple

_KEPT_FREE_BYTES = 64 << 20
_KEPT_FREE_PART = 20
_FULL_BYTES = 1 << 20


class DiskSpace(NamedTuple):
    """The size of a disk and what is free of it, in bytes."""

    total: int
    free: int

    @property
    def kept_free(self) -> int:
        """What output must leave free: 64 MiB, or on a small disk a twentieth of it."""
        return min(_KEPT_FREE_BYTES, self.total // _KEPT_FREE_PART)

    @property
    def room(self) -> int:
        """What output may still take; below zero, what it should give back."""
        return self.free - self.kept_free

    @property
    def is_full(self) -> bool:
        """Whether hardly anything can be written any more."""
        return self.free < min(_FULL_BYTES, self.kept_free // 4)


def disk_space(path: str) -> DiskSpace | None:
    """Return the space of the disk that a file or folder is on; None where that is not known, or without limit."""
    try:
        total, _, free = shutil.disk_usage(path)
    except OSError:
        return None
    return DiskSpace(total, free) if total else None
