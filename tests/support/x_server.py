"""An X server of our own, on a free display."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from process_probe import end

_TRIES = 5


@contextmanager
def x_server(*options: str | Path) -> Iterator[tuple[str, int]]:
    """Run a server; give its display and its process.

    One that goes for the display of a server that is just ending finds it taken, and has to be started again.
    """
    for _ in range(_TRIES):
        read_end, write_end = os.pipe()
        server = subprocess.Popen(
            ["Xvfb", "-displayfd", str(write_end), "-nolisten", "tcp", *options],
            pass_fds=[write_end],
            stderr=subprocess.DEVNULL,
        )
        os.close(write_end)
        with os.fdopen(read_end) as numbers:
            try:
                if number := numbers.readline().strip():
                    yield f":{number}", server.pid
                    return
            finally:
                end(server)
    raise AssertionError("no X server comes up")
