"""Qt on a real X display: the libraries that the set-up installs are all there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest

_PROGRAM = """
from PySide6.QtWidgets import QApplication, QLabel
application = QApplication([])
label = QLabel("Halo")
label.show()
application.processEvents()
print(application.platformName(), label.isVisible())
"""


@pytest.fixture
def display() -> Iterator[str]:
    """Start an X server of our own on a free display."""
    assert shutil.which("Xvfb"), "Xvfb is missing; `make test` installs it or prints how"
    read_end, write_end = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(write_end), "-screen", "0", "800x600x24", "-nolisten", "tcp"],
        pass_fds=[write_end],
        stderr=subprocess.DEVNULL,
    )
    os.close(write_end)
    with os.fdopen(read_end) as numbers:
        number = numbers.readline().strip()
    yield f":{number}"
    server.terminate()
    server.wait(10)


def test_a_window_opens_on_a_real_display(display: str) -> None:
    environment = {**os.environ, "DISPLAY": display, "QT_QPA_PLATFORM": "xcb"}
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout.split() == ["xcb", "True"], done.stderr
