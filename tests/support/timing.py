"""A bound on the work a call may do."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def at_most_ms(limit_ms: float) -> Iterator[None]:
    """Fail when the block took more processor time, to which a busy machine adds nothing.

    Nor does the garbage of the tests before: looking through all of it takes longer than many a limit.
    """
    was_collecting = gc.isenabled()
    gc.disable()
    try:
        started = time.thread_time()
        yield
        spent_ms = (time.thread_time() - started) * 1_000
    finally:
        if was_collecting:
            gc.enable()
    assert spent_ms <= limit_ms, f"took {spent_ms:.1f} ms of {limit_ms} ms"
