"""A wall clock that a test can set for the processes it starts, and for nobody else."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

_SOURCE = Path(__file__).with_suffix(".c")
_NS_PER_MS = 1_000_000


class ShiftedClock:
    """Steps CLOCK_REALTIME of a process tree through a preloaded library; the monotonic clock stays."""

    def __init__(self, folder: Path) -> None:
        self._offset = folder / "clock-offset"
        self._library = folder / "shifted_clock.so"
        self.set(0)
        _compile(self._library)

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs to live by this clock."""
        return {"LD_PRELOAD": str(self._library), "SHIFTED_CLOCK": str(self._offset)}

    def set(self, ahead_ms: int) -> None:
        """Step the clock to so far ahead of the machine's."""
        content = (ahead_ms * _NS_PER_MS).to_bytes(8, sys.byteorder, signed=True)
        # In place: whoever maps the file sees the change.
        with self._offset.open("r+b" if self._offset.exists() else "wb") as file:
            file.write(content)
        self.ahead_ms = ahead_ms

    def now_ms(self) -> int:
        """Return what this clock shows."""
        return time.time_ns() // _NS_PER_MS + self.ahead_ms


def _compile(library: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("stepping a daemon's clock needs Linux and a C compiler")
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, _SOURCE], check=True)
