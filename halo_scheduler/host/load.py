"""How busy the machine is."""

from __future__ import annotations

import sys


def load_of_last_minute() -> float | None:
    """Return the load average of the last minute; None when this system does not know it."""
    import psutil  # noqa: PLC0415 - 20 ms, for those who ask only

    try:
        load = psutil.getloadavg()[0]
    except (OSError, AttributeError):
        return None
    # Windows has none; psutil begins to count with the first question, and has nothing to tell for a while.
    return None if sys.platform == "win32" and load == 0 else load
