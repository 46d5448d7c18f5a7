"""The pane beside the job table, on a bench, with what tests look at in it."""

from __future__ import annotations

from pathlib import Path

from job_values import NOW
from machine import Bench
from PySide6.QtWidgets import QAbstractButton, QLabel, QWidget
from pytestqt.qtbot import QtBot

from halo_scheduler.service.scheduler import Scheduler
from ui.backend.backend import Backend
from ui.main_window.details.pane import DetailPane
from ui.main_window.job_actions import JobActions
from ui.main_window.table.job_rows import JobRow, make_row
from ui.style.theme import Appearance
from ui.widgets.labels import WrappedText
from ui.widgets.signs import LinkLine


def rows_of(scheduler: Scheduler, *job_ids: str) -> list[JobRow]:
    """Return stored jobs as the table keeps them."""
    jobs, situations = scheduler.jobs.get_many(job_ids), scheduler.jobs.situations(job_ids)
    return [make_row(jobs[job_id], situations[job_id]) for job_id in job_ids]


class PaneDesk:
    """A scheduler and the pane that shows its jobs."""

    def __init__(self, qtbot: QtBot, path: Path) -> None:
        self._qtbot = qtbot
        self.bench = Bench(path, now_ms=NOW)
        self.scheduler = self.bench.scheduler
        self._window = QWidget()
        qtbot.addWidget(self._window)
        appearance = Appearance(parent=self._window)
        backend = Backend.inline(self.scheduler, self.bench.clock, self._window)
        self.actions = JobActions(backend, appearance, self._window)
        self.pane = DetailPane(backend, appearance, self.actions)
        qtbot.addWidget(self.pane)
        self.pane.resize(400, 900)
        self.pane.show()

    def show(self, job_id: str) -> None:
        """Show a job, and wait until all of it was read."""
        rows = rows_of(self.scheduler, job_id)
        self.actions.set_jobs([row.job for row in rows], [row.situation for row in rows])
        with self._qtbot.waitSignal(self.pane.times_changed):
            self.pane.show_rows(rows)

    def text(self, name: str) -> str:
        found = self.pane.findChild(WrappedText, name)
        assert found is not None
        return found.text()

    def label(self, name: str) -> QLabel:
        found = self.pane.findChild(QLabel, name)
        assert isinstance(found, QLabel)
        return found

    def button(self, name: str) -> QAbstractButton:
        found = self.pane.findChild(QAbstractButton, name)
        assert found is not None
        return found

    def links(self, name: str) -> list[str]:
        """Return what the links of a part say, from top to bottom."""
        part = self.pane.findChild(QWidget, name)
        lines = [] if part is None else part.findChildren(LinkLine)
        return [line.accessibleName() for line in lines if line.isVisible()]

    def is_shown(self, name: str) -> bool:
        found = self.pane.findChild(QWidget, name)
        return found is not None and found.isVisible()
