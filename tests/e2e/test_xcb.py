"""Qt on a real X display: the libraries that the set-up installs are all there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from x_server import x_server

_PROGRAM = """
from PySide6.QtWidgets import QApplication, QLabel
application = QApplication([])
label = QLabel("Halo")
label.show()
application.processEvents()
print(application.platformName(), label.isVisible())
"""


def test_a_window_opens_on_a_real_display() -> None:
    assert shutil.which("Xvfb"), "Xvfb is missing; `make test` installs it or prints how"
    with x_server("-screen", "0", "800x600x24") as (display, _):
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM],
            env={**os.environ, "DISPLAY": display, "QT_QPA_PLATFORM": "xcb"},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    assert done.stdout.split() == ["xcb", "True"], done.stderr
