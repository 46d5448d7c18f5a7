"""The details pane beside the job table: one selected job, or a summary of several."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QSplitter, QStackedWidget, QVBoxLayout, QWidget

from halo_scheduler.grammar.interval import SECOND_MS
from halo_scheduler.model import Run
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.service.scheduler import Scheduler
from ui.backend.backend import Asked, Backend
from ui.main_window.job_actions import JobActions
from ui.main_window.table.job_rows import JobRow
from ui.style.theme import GRID, MARGIN, Appearance, Tone
from ui.widgets.arrange import put_at
from ui.widgets.labels import label
from ui.widgets.signs import LineIcon

from .job_details import JobDetails, cancel_waiting, read_details

if TYPE_CHECKING:
    from .actions import SeveralJobs
    from .job import OneJob

_LATE_MS = 120
_PANE_SHARE = 0.295
_LEAST_PANE, _MOST_PANE = 300, 440
_TABLE_LETTERS, _PANE_LETTERS = 42, 32


class TableAndPane(QSplitter):
    """The table and the details beside it; divides the width until the user does."""

    pane_shown = Signal(bool)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self.setObjectName("splitter")
        self.setHandleWidth(1)
        self._is_moved = False
        self._is_wanted: bool | None = None
        self.splitterMoved.connect(self._keep)

    def _keep(self, _position: int, _index: int) -> None:
        self._is_moved = True

    def want_pane(self, *, is_wanted: bool) -> None:
        """Show the details or hide them, whatever room there is."""
        self._is_wanted = is_wanted
        self._show_pane(self.width())

    def _show_pane(self, width: int) -> None:
        """Show the details if that is wanted; else, with large letters, only beside a table that can be read."""
        letter = self.fontMetrics().averageCharWidth()
        has_room = width >= _TABLE_LETTERS * letter + max(_PANE_LETTERS * letter, _LEAST_PANE)
        is_shown = has_room if self._is_wanted is None else self._is_wanted
        pane = self.widget(1)
        if pane is not None and pane.isHidden() is is_shown:
            pane.setVisible(is_shown)
            self.pane_shown.emit(is_shown)

    def divide(self, width: int) -> None:
        """Divide a width, unless the user has moved the handle."""
        self._show_pane(width)
        if not self._is_moved:
            pane = min(max(round(width * _PANE_SHARE), _LEAST_PANE), _MOST_PANE)
            self.setSizes([width - pane, pane])


class DetailPane(QWidget):
    """Shows the selection; loads its details itself, one query at a time."""

    run_wanted = Signal(str)
    answer_wanted = Signal(str)
    """The id of the job whose question is to be answered."""
    job_wanted = Signal(str)
    """The id of another job that is to be shown."""
    times_changed = Signal()
    """The times shown have changed."""

    def __init__(
        self, backend: Backend, appearance: Appearance, actions: JobActions, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("detailPane")
        self._backend = backend
        self._appearance = appearance
        self._rows: tuple[JobRow, ...] = ()
        self._details: JobDetails | None = None
        self._asked: Asked | None = None
        self._is_dirty = False
        self._late = QTimer(self)
        self._late.setSingleShot(True)
        self._late.setInterval(_LATE_MS)
        self._late.timeout.connect(self._show_what_is_known)
        self._actions = actions
        self._pages = QStackedWidget(self)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self._pages)
        backend.changed.connect(self._note_change)
        self.setMinimumWidth(280)

    @cached_property
    def _one(self) -> OneJob:
        from .job import OneJob  # noqa: PLC0415 - not before the first window

        made = OneJob(self._appearance, self._actions, self._pages)
        made.run_wanted.connect(self.run_wanted)
        made.clear_hints_wanted.connect(self._clear_hints)
        made.answer_wanted.connect(self._ask_to_answer)
        made.job_wanted.connect(self.job_wanted)
        made.cancel_wanted.connect(self._cancel_waiting)
        self._pages.addWidget(made)
        put_at(self, made)
        return made

    @cached_property
    def _several(self) -> SeveralJobs:
        from .actions import SeveralJobs  # noqa: PLC0415 - not before the first window

        made = SeveralJobs(self._appearance, self._actions)
        self._pages.addWidget(made)
        put_at(self, made)
        return made

    @cached_property
    def _nothing(self) -> QWidget:
        page = QWidget()
        column = QVBoxLayout(page)
        column.setSpacing(GRID)
        column.addStretch(2)
        column.addWidget(LineIcon(self._appearance, "info", Tone.MUTED, 24), 0, Qt.AlignmentFlag.AlignHCenter)
        words = label(
            self.tr("Select a job to see what it does, when it runs next, and why."), "muted", wrap=True
        )
        words.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        words.setContentsMargins(MARGIN * 2, 0, MARGIN * 2, 0)
        column.addWidget(words)
        column.addStretch(3)
        self._pages.addWidget(page)
        return page

    # --- Showing ------------------------------------------------------------------------------------

    def show_rows(self, rows: Iterable[JobRow]) -> None:
        """Show these rows; if it is the job already shown, update it."""
        before = self._shown_id()
        self._rows = tuple(rows)
        if len(self._rows) > 1:
            self._several.show_situations([row.situation for row in self._rows], self._backend.now_ms())
        self._turn_page()
        if len(self._rows) != 1:
            self._details = None
            self.times_changed.emit()
            return
        if self._rows[0].id != before:
            self._details = None
            # Most details arrive at once; only if they are late is the job shown without them meanwhile.
            self._late.start()
        self.refresh()

    def _turn_page(self) -> None:
        if len(self._rows) > 1:
            self._pages.setCurrentWidget(self._several)
        elif not self._rows:
            self._pages.setCurrentWidget(self._nothing)
        elif "_one" in vars(self):
            self._pages.setCurrentWidget(self._one)
        # Otherwise the page is made once its content has arrived.

    def refresh(self) -> None:
        """Load the shown job again; if a query is pending, once more after it."""
        job_id = self._shown_id()
        if job_id is None or not self.isVisible():
            return
        if self._asked is not None:
            self._is_dirty = True
            return
        self._is_dirty = False

        ends = self._backend.ends

        def read(scheduler: Scheduler) -> JobDetails | None:
            return read_details(scheduler, job_id, ends)

        self._asked = self._backend.ask(read, self._take, lambda _error: self._take(None), owner=self)

    def concerns(self, job_ids: Container[str]) -> bool:
        """Return whether the pane shows anything about one of these jobs."""
        if self._details is None:
            return False
        chain = self._details.chain
        return any(link.job_id in job_ids for link in chain.before + chain.after)

    def count_seconds(self) -> None:
        """Update the times, and of a current run its progress and output."""
        if self._details is None:
            return
        now_ms = self._backend.now_ms()
        self._one.show_times(self._details, now_ms)
        usage = self._details.usage
        is_past = any(at <= now_ms for at in self._details.next_runs[1:])
        if self._details.running is not None or is_past or (usage is not None and now_ms >= usage.resets_at):
            self.refresh()

    def waits(self, now_ms: int) -> Iterator[int | None]:
        """Return how long each shown time stays valid."""
        if self._details is None or not self.isVisible():
            return iter(())
        shown = self._details
        resets = () if shown.usage is None else (shown.usage.resets_at - now_ms,)
        return chain(self._one.waits(now_ms), self._run_waits(shown.running, now_ms), resets)

    @staticmethod
    def _run_waits(run: Run | None, now_ms: int) -> Iterator[int | None]:
        if run is not None and run.started_at is not None:
            yield SECOND_MS - (now_ms - run.started_at) % SECOND_MS

    def _shown_id(self) -> str | None:
        return self._rows[0].id if len(self._rows) == 1 else None

    def _show_what_is_known(self) -> None:
        if len(self._rows) == 1 and self._details is None:
            self._show_one(JobDetails(job=self._rows[0].job, situation=self._rows[0].situation))

    def _show_one(self, details: JobDetails) -> None:
        self._one.show_job(details, self._backend.now_ms())
        self._turn_page()

    def _take(self, details: JobDetails | None) -> None:
        self._asked = None
        if details is not None and details.job.id == self._shown_id():
            is_another = self._details is None
            self._late.stop()
            self._details = details
            self._show_one(details)
            if is_another:
                self._one.scroll_to_top()
            self.times_changed.emit()
        elif details is not None:
            self._is_dirty = True
        if self._is_dirty:
            self.refresh()

    def _ask_to_answer(self) -> None:
        job_id = self._shown_id()
        if job_id is not None:
            self.answer_wanted.emit(job_id)

    def _clear_hints(self) -> None:
        job_id = self._shown_id()
        if job_id is not None:
            self._backend.ask(lambda scheduler: scheduler.clear_hints(job_id), owner=self)

    def _cancel_waiting(self, run_ids: tuple[str, ...]) -> None:
        self._backend.ask(lambda scheduler: cancel_waiting(scheduler, run_ids), owner=self)

    def _note_change(self, change: Change) -> None:
        # Quiet hours, for example, belong to no job.
        if change.kind is ChangeKind.SETTINGS:
            self.refresh()

    # --- Qt -----------------------------------------------------------------------------------------

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        super().showEvent(event)
        self.refresh()
