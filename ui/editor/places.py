"""The pages of the editor, in their order."""

from __future__ import annotations

from enum import IntEnum


class Place(IntEnum):
    """Where a page stands, counted from 0."""

    WHAT = 0
    WHEN = 1
    WAITS = 2
    TROUBLE = 3
    AFTER = 4
    ALSO = 5
