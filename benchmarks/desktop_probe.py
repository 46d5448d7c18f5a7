"""The desktop program with a watch inside, in a process of its own; prints what it measured as JSON.

`python benchmarks/desktop_probe.py search|history|use|bare`; with HALO_BENCH_STACKS=1 also what held the window up.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NoReturn, TypeVar

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QSocketNotifier, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QTableView, QWidget

from halo_scheduler.host.signals import StopSignals
from halo_scheduler.paths import database_path
from ui.app import program as app
from ui.main_window.table.job_table import JobTableModel

_BEAT_MS = 10
_STALL_MS = 50
_LONGEST_S = 30.0
_TYPED = ("42", "backup 07", "zzz", "of 3")
_PAGES = 60
W = TypeVar("W", bound=QWidget)


class Heartbeat(QObject):
    """Beats in the thread of the window, and remembers when it could not."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.beats = 0
        self.stalls_ms: list[float] = []
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(_BEAT_MS)
        self._timer.timeout.connect(self._beat)
        self.last_at = time.perf_counter()

    def start(self) -> None:
        self.beats, self.stalls_ms = 0, []
        self.last_at = time.perf_counter()
        self._timer.start()

    def _beat(self) -> None:
        now = time.perf_counter()
        late_ms = (now - self.last_at) * 1_000 - _BEAT_MS
        self.last_at = now
        self.beats += 1
        if late_ms > _STALL_MS:
            self.stalls_ms.append(round(late_ms, 1))

    def report(self) -> dict[str, object]:
        return {"beats": self.beats, "stalls_ms": self.stalls_ms}


class Onlooker:
    """Looks, from another thread, at what the window's thread does while it is held up; for finding out why."""

    def __init__(self, heartbeat: Heartbeat) -> None:
        self._heartbeat = heartbeat
        self._seen: Counter[str] = Counter()
        self._main = threading.get_ident()
        threading.Thread(target=self._look, daemon=True).start()

    def _look(self) -> None:
        while True:
            time.sleep(0.01)
            if time.perf_counter() - self._heartbeat.last_at > (_BEAT_MS + _STALL_MS) / 1_000:
                frames = traceback.extract_stack(sys._current_frames()[self._main])
                self._seen[
                    " < ".join(f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in frames[:3:-1])
                ] += 1

    def report(self) -> str:
        return "\n".join(f"{count:5} {where}" for where, count in self._seen.most_common(40))


class Painted(QObject):
    """Tells whether a widget has been painted since it was last asked."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self._count = 0
        widget.installEventFilter(self)

    def take(self) -> bool:
        count, self._count = self._count, 0
        return count > 0

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        self._count += event.type() is QEvent.Type.Paint
        return False


def measure_search() -> list[float]:
    """Return how long each key takes, in ms, from pressing it to the filtered table on the screen."""
    main = _main_window()
    table = _child(main, QTableView, "jobTable")
    field = _child(main, QLineEdit, "searchField")
    model = table.model()
    assert isinstance(model, JobTableModel)  # noqa: S101 - the program's
    painted = Painted(table.viewport())
    field.setFocus()
    took_ms: list[float] = []
    for text in _TYPED:
        for length in range(1, len(text) + 1):
            painted.take()
            began = time.perf_counter()
            QTest.keyClicks(field, text[length - 1])
            _spin_until(partial(_is_filtered, model, text[:length].strip(), painted))
            took_ms.append((time.perf_counter() - began) * 1_000)
        field.clear()
        _spin_until(partial(_is_filtered, model, "", painted))
        QTest.qWait(200)
    return took_ms


def measure_history() -> dict[str, object]:
    """Return how long the history takes to open, and then each page-down, in ms."""
    main = _main_window()
    began = time.perf_counter()
    QTest.keyClick(main, Qt.Key.Key_H, Qt.KeyboardModifier.ControlModifier)
    _spin_until(lambda: _window("historyWindow") is not None)
    window = _window("historyWindow")
    assert window is not None  # noqa: S101 - waited for
    table = _child(window, QTableView, "runTable")
    painted = Painted(table.viewport())
    _spin_until(lambda: table.model().rowCount() > 0 and painted.take())
    opened_ms = (time.perf_counter() - began) * 1_000
    QTest.qWait(1_000)
    table.setFocus()
    pages_ms = []
    for _ in range(_PAGES):
        before = table.verticalScrollBar().value()
        painted.take()
        began = time.perf_counter()
        QTest.keyClick(table, Qt.Key.Key_PageDown)
        _spin_until(partial(_is_below, table, before, painted))
        pages_ms.append((time.perf_counter() - began) * 1_000)
        QTest.qWait(60)
    return {"opened_ms": opened_ms, "pages_ms": pages_ms}


def _is_filtered(model: JobTableModel, text: str, painted: Painted) -> bool:
    """Whether the table has been filtered by a text and drawn; a blank at its end changes nothing."""
    return model.filter.text.strip() == text and (model.rowCount() == 0 or text == "" or painted.take())


def _is_below(table: QTableView, before: int, painted: Painted) -> bool:
    return table.verticalScrollBar().value() > before and painted.take()


def _main_window() -> QWidget:
    """Return the window with the jobs, once they are all in it and nothing moves any more."""
    _spin_until(lambda: _window("mainWindow") is not None)
    main = _window("mainWindow")
    assert main is not None  # noqa: S101 - waited for
    table = _child(main, QTableView, "jobTable")
    jobs = _count_jobs()
    _spin_until(lambda: table.model() is not None and table.model().rowCount() == jobs)
    QTest.qWait(2_000)
    return main


def _window(name: str) -> QWidget | None:
    shown = (widget for widget in QApplication.topLevelWidgets() if widget.objectName() == name)
    return next((widget for widget in shown if widget.isVisible()), None)


def _count_jobs() -> int:
    return int(os.environ.get("HALO_BENCH_JOBS", "100"))


def _child(parent: QWidget, kind: type[W], name: str) -> W:
    found = parent.findChild(kind, name)
    assert isinstance(found, kind), name  # noqa: S101 - the program has it
    return found


def _spin_until(condition: Callable[[], bool]) -> None:
    deadline = time.perf_counter() + _LONGEST_S
    while not condition():
        QCoreApplication.processEvents()
        if time.perf_counter() > deadline:
            raise TimeoutError("it did not happen in time")


class MeasuredApplication(QApplication):
    """Measures instead of merely running, and then ends the process."""

    def exec(self) -> int:  # type: ignore[override] # Qt has it static
        what = sys.argv[1]
        if what == "search":
            _end_with(measure_search())
        if what == "history":
            _end_with(measure_history())
        heartbeat = Heartbeat(self)
        _main_window()
        heartbeat.start()
        onlooker = Onlooker(heartbeat) if os.environ.get("HALO_BENCH_STACKS") else None
        QApplication.exec()
        if onlooker is not None:
            sys.stderr.write(f"{onlooker.report()}\n")
        _end_with(heartbeat.report())


def _beat_alone() -> NoReturn:
    """Beat in a program that has no window and nothing to do: what the machine itself holds up."""
    application = QCoreApplication(sys.argv[:1])
    heartbeat = Heartbeat(application)
    with StopSignals() as signals:
        stop = QSocketNotifier(signals.fileno(), QSocketNotifier.Type.Read)
        stop.activated.connect(application.quit)
        heartbeat.start()
        application.exec()
        stop.setEnabled(False)
    _end_with(heartbeat.report())


def _end_with(report: object) -> NoReturn:
    sys.stdout.write(json.dumps(report) + "\n")
    sys.stdout.flush()
    os._exit(0)


def main() -> None:
    """Run the program as `python -m ui` does, with an application that measures."""
    if sys.argv[1] == "bare":
        _beat_alone()
    app.QApplication = MeasuredApplication  # type: ignore[attr-defined] # the one that the program makes
    app.run_program(database_path(), hidden=False)


if __name__ == "__main__":
    main()
