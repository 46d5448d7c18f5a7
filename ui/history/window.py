"""The history window: every run, including runs that did not happen, with its output."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QResizeEvent, QShortcut, QShowEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QScrollArea, QSplitter, QVBoxLayout, QWidget

from halo_scheduler.model import Run
from halo_scheduler.service.scheduler import Scheduler
from ui.backend.backend import Backend
from ui.style.theme import GRID, HALF, MARGIN, Appearance
from ui.widgets.labels import button, frame, label

from .choice import Choice, JobName, job_names, run_at
from .export import ExportBar, ExportButton
from .filters import Filters, Period
from .overview import Overview
from .run_list import RunList
from .run_pane import RunPane
from .run_table import RunTableModel, State

_NARROW = 900
# In a window lower than this, the chart is hidden to make room for the runs.
_LOW, _LOW_NARROW = 600, 760
_LEAST = QSize(600, 400)
_LIST_SHARE, _PANE_SHARE = 11, 9


class HistoryWindow(QWidget):
    """Filters, chart, list and selected run, for one job or all."""

    run_again_requested = Signal(str)
    """The id of a job."""
    stop_requested = Signal(str)
    """The id of a run."""
    edit_job_requested = Signal(str)
    """The id of a job."""
    answer_requested = Signal(str)
    """The id of a run with a question."""

    def __init__(self, backend: Backend, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent, Qt.WindowType.Window)
        self.setObjectName("historyWindow")
        self.setWindowTitle(self.tr("Run history"))
        self.setMinimumSize(_LEAST)
        self._backend = backend
        self._just: tuple[str, ...] = ()
        self._has_begun = False
        self._is_shared_out = False
        self.model = RunTableModel(backend, self)
        self._filters = Filters(backend, appearance, self)
        self._overview = Overview(backend, appearance, self)
        self._splitter = QSplitter(Qt.Orientation.Horizontal, self)
        self._list = RunList(self.model, appearance, self._splitter)
        self._pane_area = QScrollArea(self._splitter)
        self._pane = RunPane(backend, appearance)
        self._export = ExportButton(appearance, self._filters)
        self._export_bar = ExportBar(backend, appearance, self)
        self._just_bar, self._just_words = self._new_just_bar()
        self._lay_out()
        self._connect()
        find = QShortcut(QKeySequence(QKeySequence.StandardKey.Find), self)
        find.activated.connect(self._filters.focus_text)
        # Qt's standard key differs on some desktops.
        close = QShortcut(QKeySequence("Ctrl+W"), self)
        close.activated.connect(self.close)

    # --- What to show --------------------------------------------------------------------------------

    def show_job(self, job_id: str | None) -> None:
        """Show the runs of a job, or of all jobs."""
        self._just = ()
        self._list.want(None)
        self._filters.set_job(job_id)

    def show_run(self, run_id: str) -> None:
        """Show a run among the runs of its job."""
        self._backend.ask(lambda scheduler: _find(scheduler, run_id), self._show_found, owner=self)

    def show_runs(self, run_ids: Iterable[str]) -> None:
        """Show only these runs, until a filter changes."""
        self._just = tuple(run_ids)
        self._list.want(None)
        self._filters.clear(quietly=True, period=Period.ALL)
        self._apply()

    def _show_found(self, found: tuple[Run, JobName] | None) -> None:
        if found is None:
            self._backend.fault.emit(self.tr("This run is no longer in the history."))
            return
        run, job = found
        self._list.want(run.id)
        # The list may not reach back to this run; then it cannot select the run for the pane.
        self._pane.show_run(run, job)
        self._just = ()
        self._filters.set_job(run.job_id, around=run_at(run))

    def _show_everything(self) -> None:
        self._just = ()
        self._filters.clear(period=Period.ALL)

    # --- What happens --------------------------------------------------------------------------------

    def _choose_anew(self) -> None:
        self._just = ()
        self._apply()

    def _apply(self) -> None:
        self._has_begun = True
        choice = Choice(run_ids=self._just) if self._just else self._filters.choice()
        self._just_bar.setVisible(bool(self._just))
        self._just_words.setText(self._just_sentence())
        self._overview.show_choice(self._filters.choice(), self._filters.span())
        self._pane.set_search(choice.text)
        if choice != self.model.choice or self.model.state is not State.READY:
            self.model.show(choice)

    def _just_sentence(self) -> str:
        if len(self._just) == 1:
            return self.tr("Showing the run from the notification.")
        return self.tr("Showing {count} runs from the notification.").format(count=len(self._just))

    def _show_pane(self) -> None:
        """Hide the pane while there are no runs at all."""
        self._pane_area.setVisible(self.model.has_history)

    def _chart_found(self) -> None:
        if self.model.choice.text:
            self._overview.show_found(self.model.runs())

    def _show_selected(self, run: Run | None) -> None:
        self._pane.show_run(run, self.model.job_name(run.job_id) if run is not None else None)

    # --- Making --------------------------------------------------------------------------------------

    def _new_just_bar(self) -> tuple[QFrame, QLabel]:
        """Return the note that only some runs are shown, with a button that shows all."""
        bar = frame("note")
        bar.setObjectName("justBar")
        words = label("", name="justWords")
        everything = button(self.tr("Show all runs"), name="justEverything", kind="link")
        everything.clicked.connect(self._show_everything)
        row = QHBoxLayout(bar)
        row.setContentsMargins(MARGIN, HALF, GRID, HALF)
        row.addWidget(words, 1)
        row.addWidget(everything)
        bar.hide()
        return bar, words

    def _lay_out(self) -> None:
        # In a low window the pane scrolls.
        self._pane_area.setWidget(self._pane)
        self._pane_area.setWidgetResizable(True)
        self._pane_area.setFrameShape(QFrame.Shape.NoFrame)
        self._pane_area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._pane_area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._filters.end_of_first_row.addWidget(self._export)
        self._splitter.addWidget(self._list)
        self._splitter.addWidget(self._pane_area)
        self._splitter.setChildrenCollapsible(False)
        self._splitter.setHandleWidth(GRID)
        # The gap between the two cards is the splitter handle.
        self._splitter.setStyleSheet("QSplitter::handle { background: transparent; }")
        self._splitter.setStretchFactor(0, _LIST_SHARE)
        self._splitter.setStretchFactor(1, _PANE_SHARE)
        column = QVBoxLayout(self)
        column.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
        column.setSpacing(GRID + HALF)
        column.addWidget(self._filters)
        column.addWidget(self._just_bar)
        column.addWidget(self._export_bar)
        column.addWidget(self._overview)
        column.addWidget(self._splitter, 1)

    def _share_out(self) -> None:
        """Divide the width between list and pane, until the user moves the splitter."""
        length = self._splitter.width() + self._splitter.height()
        self._splitter.setSizes([length * _LIST_SHARE, length * _PANE_SHARE])

    def _connect(self) -> None:
        self._filters.changed.connect(self._choose_anew)
        self._overview.days_picked.connect(self._filters.pick_days)
        self.model.state_changed.connect(self._show_pane)
        self.model.state_changed.connect(self._chart_found)
        self._list.run_selected.connect(self._show_selected)
        self._list.everything_requested.connect(self._show_everything)
        self._pane.run_again_requested.connect(self.run_again_requested)
        self._pane.stop_requested.connect(self.stop_requested)
        self._pane.edit_job_requested.connect(self.edit_job_requested)
        self._pane.answer_requested.connect(self.answer_requested)
        self._pane.run_wanted.connect(self.show_run)
        self._export.wanted.connect(lambda kind: self._export_bar.ask_file(kind, self.model.choice))

    # --- Qt -----------------------------------------------------------------------------------------

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return QSize(1180, 760)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        super().showEvent(event)
        if not self._is_shared_out:
            self._is_shared_out = True
            self._share_out()
        if not self._has_begun:
            self._apply()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        is_low = self.height() < (_LOW_NARROW if self.width() < _NARROW else _LOW)
        self._overview.setVisible(not is_low)
        wanted = Qt.Orientation.Vertical if self.width() < _NARROW else Qt.Orientation.Horizontal
        if wanted is not self._splitter.orientation():
            self._splitter.setOrientation(wanted)
            self._share_out()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        if event.key() != Qt.Key.Key_Escape:
            super().keyPressEvent(event)
        elif self.model.state is State.SEARCHING:
            self.model.stop_search()
        else:
            # Esc never closes the window: pressed once too often, it would discard all filters.
            self._filters.clear_text()


def _find(scheduler: Scheduler, run_id: str) -> tuple[Run, JobName] | None:
    run = scheduler.get_run(run_id)
    if run is None:
        return None
    return run, job_names(scheduler, [run.job_id]).get(run.job_id, JobName(""))
