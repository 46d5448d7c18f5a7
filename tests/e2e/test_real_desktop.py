"""What the end-to-end tests see of a screen is right while windows come and go."""

from __future__ import annotations

import subprocess
import sys

from real_desktop import Desktop

_COME_AND_GO = """
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QApplication, QWidget

application = QApplication([])
fleeting = []


def show_others():
    fleeting[:] = [QWidget(None, Qt.WindowType.ToolTip) for _ in range(5)]
    for window in fleeting:
        window.show()


timer = QTimer()
timer.timeout.connect(show_others)
timer.start(50)
lasting = QWidget()
lasting.setWindowTitle("Lasting")
lasting.show()
application.exec()
"""


def test_a_window_is_seen_while_others_come_and_go(bare_desktop: Desktop) -> None:
    process = subprocess.Popen([sys.executable, "-c", _COME_AND_GO], env=bare_desktop.environment)
    try:
        bare_desktop.wait_for(lambda: bare_desktop.windows("^Lasting$"))
        assert all(bare_desktop.windows("^Lasting$") for _ in range(10))
    finally:
        process.kill()
        process.wait()
