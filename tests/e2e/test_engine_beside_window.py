"""The engine's Qt objects are made and destroyed beside a window: amplified, in a process of its own.

If two threads stop each other, none of them can say so any more: only whoever waits for the process can.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from process_probe import LONG_S

# With objects that are connected, this stops for ever after 180 to 700 of them.
_LOOPS = 1_200
_PROGRAM = """
import gc
import os
import sys
import threading
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QThread, QTimer, Signal, Slot
from PySide6.QtWidgets import QApplication, QComboBox, QDialog, QLineEdit, QTableWidget, QVBoxLayout

from halo_scheduler.engine.loop import EngineLoop
from halo_scheduler.service.scheduler import Scheduler

path, loops, way = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
sys.setswitchinterval(1e-5)
if way == "garbage in any thread":
    gc.set_threshold(50, 5, 5)
else:
    gc.disable()


class Host(QObject):
    turned = Signal()

    def __init__(self):
        super().__init__()
        self.scheduler = None
        self.made = 0
        self.turned.connect(self.turn, Qt.ConnectionType.QueuedConnection)

    @Slot()
    def turn(self):
        self.scheduler = self.scheduler or Scheduler.open(path)
        for _ in range(10):
            self.make()
        if self.made < loops:
            self.turned.emit()

    def make(self):
        scheduler = self.scheduler
        loop = EngineLoop(
            scheduler.engine.get_engine(), scheduler._clock, scheduler._store,
            changed=scheduler._session.publish, lost=scheduler.engine._lose_engine,
        )
        loop._server.start()
        loop._clock_listener.start()
        loop._mailbox.post(lambda: None)
        loop._timer.start(0)
        loop.stop()
        if way == "destroyed later":
            loop.deleteLater()
        self.made += 1


class Dialog(QDialog):
    def __init__(self):
        super().__init__()
        box = QVBoxLayout(self)
        self.line, self.choice, self.timer = QLineEdit(), QComboBox(), QTimer(self)
        self.choice.addItems("abc")
        self.line.textChanged.connect(self.hear)
        self.choice.currentIndexChanged.connect(lambda _: self.hear())
        self.timer.timeout.connect(self.hear)
        self.timer.start(5)
        for widget in (self.line, self.choice, QTableWidget(2, 2)):
            box.addWidget(widget)
        self.line.setText("text")

    def hear(self, *_):
        pass


def make_garbage():
    while True:
        knot = {}
        knot["itself"] = [knot for _ in range(50)]
        event.wait(0.0005)


def make_dialog():
    dialogs.append(Dialog())
    if len(dialogs) > 5:
        dialogs.pop(0).deleteLater()
    if host.made >= loops:
        application.exit(0)
    if way != "garbage in any thread" and gc.get_count()[0] > 2_000:
        gc.collect()


application = QApplication([])
event, dialogs, thread, host, spinner = threading.Event(), [], QThread(), Host(), QTimer()
threading.Thread(target=make_garbage, daemon=True).start()
host.moveToThread(thread)
spinner.timeout.connect(make_dialog)
spinner.start(0)
thread.start()
host.turned.emit()
application.exec()
thread.quit()
thread.wait()
print("ended", flush=True)
os._exit(0)
"""


@pytest.mark.parametrize("way", ["destroyed later", "garbage in any thread"])
def test_loops_of_the_engine_are_destroyed_beside_a_window(tmp_path: Path, way: str) -> None:
    (tmp_path / "run").mkdir(mode=0o700)
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path / "run"), "QT_QPA_PLATFORM": "offscreen"}
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", _PROGRAM, str(tmp_path / "halo.db"), str(_LOOPS), way],
        capture_output=True,
        text=True,
        env=environment,
        timeout=LONG_S,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "ended\n"), done.stderr
