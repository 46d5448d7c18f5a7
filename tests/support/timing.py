"""A bound on the work a call may do."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def at_most_ms(limit_ms: float) -> Iterator[None]:
    """Fail when the block took more processor time, to which a busy machine adds nothing."""
    started = time.thread_time()
    yield
    spent_ms = (time.thread_time() - started) * 1_000
    assert spent_ms <= limit_ms, f"took {spent_ms:.1f} ms of {limit_ms} ms"
