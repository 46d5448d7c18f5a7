"""The main window: all jobs, their status, and the actions on them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QCloseEvent, QHideEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QMainWindow, QStackedWidget, QVBoxLayout, QWidget

from ui.backend.backend import Backend
from ui.main_window.details.pane import DetailPane, TableAndPane
from ui.main_window.table.job_rows import JobFilter, StatusChoice
from ui.main_window.table.job_table import JobTableModel
from ui.main_window.table.job_view import JobView
from ui.questions.needs_you import NeedsYou
from ui.style.marks import ASKS
from ui.style.theme import Appearance
from ui.widgets.arrange import put_after, put_at
from ui.widgets.countdown import Countdown
from ui.widgets.status_strip import EngineShown, StatusStrip

from .groups import GroupLimits
from .job_actions import JobActions
from .job_loader import JobLoader, JobTotals
from .more_menu import HelpTopic, MoreMenu
from .notes import Notes
from .toolbar import JobToolbar

if TYPE_CHECKING:
    from .empty_state import EmptyState, NoMatch
    from .notes import UndoBar
    from .trash import Trash

_SIZE = QSize(1280, 780)
_LEAST = QSize(640, 420)


class MainWindow(QMainWindow):
    """Shows the jobs; emits a signal when another window is to be opened."""

    new_job_requested = Signal(object)
    """The key of a template; None for an empty job."""
    edit_requested = Signal(str)
    duplicate_requested = Signal(str)
    history_requested = Signal(object)
    """The id of a job; None for all of them."""
    run_shown_requested = Signal(str)
    settings_requested = Signal()
    import_requested, export_requested = Signal(), Signal()
    help_requested = Signal(HelpTopic)
    quit_requested = Signal()
    autostart_requested = Signal()
    start_engine_requested = Signal()
    quitting_cancelled = Signal()
    closing = Signal()
    """The window was closed; it is hidden and can be shown again."""

    def __init__(self, backend: Backend, appearance: Appearance) -> None:
        super().__init__()
        self.setObjectName("mainWindow")
        self.setWindowTitle(self.tr("Halo Scheduler"))
        self.setMinimumSize(_LEAST)
        self.resize(_SIZE)
        self._minimises_on_close = False
        self._backend = backend
        self._appearance = appearance
        self._wanted_jobs: tuple[str, ...] = ()
        self._is_first_load = True
        self._model = JobTableModel(backend, self)
        self._actions = JobActions(backend, appearance, self, self._model.rows)
        self._limits = GroupLimits(backend, appearance, self)
        self._build()
        self._loader = JobLoader(backend, self._model, self._view.ids_in_sight, self)
        self._countdown = Countdown(self)
        self._countdown.add(lambda: self._view.waits(backend.now_ms()))
        self._countdown.add(lambda: self._pane.waits(backend.now_ms()))
        self._countdown.add(lambda: self._needs_you.waits(backend.now_ms()))
        self._totals = JobTotals(backend, self._model, self._strip)
        self._add_menus()
        self._connect()
        self._fit_pages()
        self._view.setFocus()

    # --- Building -----------------------------------------------------------------------------------

    def _build(self) -> None:
        """Build from the outside in: Qt restyles a widget every time it is reparented."""
        column = QWidget(self)
        self.setCentralWidget(column)
        layout = QVBoxLayout(column)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        self._toolbar = JobToolbar(self._appearance, column, self._model.rows)
        self._notes = Notes(self._backend, self._appearance, self._toolbar.more_button, column)
        self._pages = QStackedWidget(column)
        for part in (self._toolbar, self._notes):
            layout.addWidget(part)
        asked = QVBoxLayout()
        layout.addLayout(asked)
        layout.addWidget(self._pages, 1)
        self._needs_you = NeedsYou(
            self._backend, self._appearance, asked, self._pages, self._toolbar.more_button
        )
        self._splitter = TableAndPane(self._pages)
        self._pages.addWidget(self._splitter)
        self._table_pages = QStackedWidget(self._splitter)
        self._view = JobView(self._model, self._appearance, self._table_pages)
        self._table_pages.addWidget(self._view)
        self._pane = DetailPane(self._backend, self._appearance, self._actions, self._splitter)
        self._splitter.setCollapsible(0, False)
        self._below = QVBoxLayout()
        layout.addLayout(self._below)
        self._strip = StatusStrip(self._appearance, column)
        layout.addWidget(self._strip)

    @cached_property
    def _empty(self) -> EmptyState:
        from .empty_state import EmptyState  # noqa: PLC0415 - most have jobs

        made = EmptyState(self._appearance)
        made.new_wanted.connect(self.new_job_requested)
        made.import_wanted.connect(self.import_requested)
        self._pages.addWidget(made)
        put_after(self._toolbar.more_button, made)
        return made

    @cached_property
    def _no_match(self) -> NoMatch:
        from .empty_state import NoMatch  # noqa: PLC0415 - not before the first window

        made = NoMatch(self._appearance)
        made.clear_wanted.connect(self._toolbar.clear)
        self._table_pages.addWidget(made)
        put_after(self._view, made)
        return made

    @cached_property
    def _undo(self) -> UndoBar:
        from .notes import UndoBar  # noqa: PLC0415 - not before the first window

        made = UndoBar(self._appearance)
        self._below.addWidget(made)
        put_at(self._strip, made)
        return made

    @cached_property
    def _trash(self) -> Trash:
        from .trash import Trash  # noqa: PLC0415 - not before the first window

        made = Trash(self._backend, self._appearance, self)
        made.restore_wanted.connect(self._actions.restore)
        return made

    def _add_menus(self) -> None:
        menu = MoreMenu(self._appearance, self._model, self._view.columns.fill, self._toolbar.more_button)
        menu.pane_toggled.connect(self._show_pane)
        self._splitter.pane_shown.connect(menu.check_pane)
        menu.sort_wanted.connect(lambda column: self._view.sort_by(column, Qt.SortOrder.AscendingOrder))
        menu.import_wanted.connect(self.import_requested)
        menu.export_wanted.connect(self.export_requested)
        menu.trash_wanted.connect(lambda: self._trash.show())  # noqa: PLW0108 - made when first shown
        menu.help_wanted.connect(self.help_requested)
        menu.quit_wanted.connect(self.quit_requested)
        self.addActions([*menu.with_keys, self._toolbar.search_action()])
        self._toolbar.more_button.setMenu(menu)

    def _connect(self) -> None:
        toolbar, actions = self._toolbar, self._actions
        toolbar.new_wanted.connect(lambda: self.new_job_requested.emit(None))
        toolbar.template_wanted.connect(self.new_job_requested)
        toolbar.history_wanted.connect(lambda: self.history_requested.emit(None))
        toolbar.settings_wanted.connect(self.settings_requested)
        toolbar.filter_changed.connect(self._filter)
        toolbar.limit_wanted.connect(self._limits.ask)
        toolbar.left.connect(self._view.focus_rows)
        self._limits.read.connect(toolbar.set_groups)
        self._limits.refused.connect(self.show_message)
        self._view.selection_changed.connect(self._follow_selection)
        self._view.edit_wanted.connect(actions.edit.trigger)
        self._view.menu_wanted.connect(actions.show_menu)
        self._view.rested.connect(self._load_visible)
        actions.add_to(self, self._view)
        self._pane.run_wanted.connect(self.run_shown_requested)
        self._pane.answer_wanted.connect(self.show_questions)
        self._pane.job_wanted.connect(self.select_job)
        self._pane.times_changed.connect(self._countdown.arm)
        self._countdown.due.connect(self._count_seconds)
        self._loader.loaded.connect(self._after_loading)
        self._loader.updated.connect(self._after_update)
        actions.edit_requested.connect(self.edit_requested)
        actions.duplicate_requested.connect(self.duplicate_requested)
        actions.history_requested.connect(self.history_requested)
        actions.removed.connect(self._offer_undo)
        actions.restored.connect(self._select_jobs)
        actions.refused.connect(self.show_message)
        actions.limit_wanted.connect(self._limits.ask)
        actions.group_wanted.connect(lambda group: toolbar.set_filter(JobFilter(group=group)))
        actions.answer_wanted.connect(self.show_questions)
        self._totals.groups_found.connect(toolbar.offer_groups)
        self._totals.refused.connect(self.show_message)
        self._strip.failing_wanted.connect(lambda: toolbar.show_only(StatusChoice.FAILING))
        self._strip.start_wanted.connect(self.start_engine_requested)
        self._connect_needs_you()
        self._notes.autostart_wanted.connect(self.autostart_requested)
        self._notes.quitting_cancelled.connect(self.quitting_cancelled)
        self._totals.imported_found.connect(self._notes.say_of_imported)
        self._notes.resume_wanted.connect(self._totals.resume_imported)
        self._notes.review_wanted.connect(lambda: toolbar.show_only(StatusChoice.PAUSED))
        self._backend.fault.connect(self.show_message)
        self._backend.trouble_changed.connect(self._strip.show_trouble)

    def _connect_needs_you(self) -> None:
        needs_you = self._needs_you
        needs_you.shown.connect(self._turn_to_questions)
        needs_you.run_wanted.connect(self.run_shown_requested)
        needs_you.dismissed.connect(self._offer_reopening)
        needs_you.said.connect(self.show_news)
        needs_you.refused.connect(self.show_message)
        needs_you.times_changed.connect(self._countdown.arm)

    # --- Called by the app --------------------------------------------------------------------------

    def is_watching(self, job_id: str) -> bool:
        """Return whether a job is visible in the active window."""
        return self.isActiveWindow() and job_id in self._view.ids_in_sight()

    def show_engine(self, engine: EngineShown) -> None:
        """Show where the engine runs."""
        self._strip.show_engine(engine)

    def show_quitting(self, *, is_quitting: bool) -> None:
        """Show that Halo quits when current runs finish, and that nothing starts until then."""
        self._notes.say_of_quitting(is_quitting=is_quitting)
        if is_quitting:
            self._strip.show_engine(EngineShown("stopping"))

    def show_message(self, text: str) -> None:
        """Show an error until it is closed; an empty text hides it."""
        self._notes.say(text)

    def show_news(self, text: str) -> None:
        """Show good news until it is closed; an empty text hides it."""
        self._notes.say_news(text)

    def set_autostart_note(self, visible: bool) -> None:  # noqa: FBT001 - it is what the name says
        """Show or hide the note that jobs run only while Halo is open."""
        self._notes.say_of_autostart(self.tr("Jobs run only while Halo is open.") if visible else "")

    def set_minimises_on_close(self, minimises: bool) -> None:  # noqa: FBT001 - it is what the name says
        """Let closing minimise the window; without a tray a hidden window could not be shown again."""
        self._minimises_on_close = minimises

    def set_closing_note(self, text: str) -> None:
        """Show what closing the window does; an empty text hides the note."""
        self._notes.say_of_closing(text)

    def layout_state(self) -> dict[str, Any]:
        """Return how the user arranged the table, as JSON data."""
        return self._view.arrangement()

    def restore_layout(self, state: Mapping[str, Any]) -> None:
        """Restore the arrangement of the table."""
        self._view.arrange(state)

    def select_job(self, job_id: str) -> None:
        """Select a job and scroll to it; a job that is still loading is selected later."""
        self._select_jobs((job_id,))

    def show_questions(self, whose: str | None = None) -> None:
        """Show the open questions, starting with the one from the run or job with this id."""
        self._needs_you.open(whose)

    # --- Reacting -----------------------------------------------------------------------------------

    def _offer_undo(self, words: str, job_ids: tuple[str, ...]) -> None:
        self._undo.offer(words, partial(self._actions.restore, job_ids))

    def _offer_reopening(self, words: str, question_id: str) -> None:
        self._undo.offer(words, partial(self._needs_you.reopen, question_id), ASKS.shape)

    def _after_loading(self) -> None:
        self._fit_pages()
        self._limits.read_for({job.group for job in self._model.jobs() if job.group})
        if self._is_wanted_there():
            self._select_wanted()
        elif self._is_first_load and not self._view.selected_ids() and self._model.rowCount():
            first = self._model.rows_between(0, self._model.rowCount() - 1)[:1]
            self._view.select_ids([row.id for row in first])
        self._is_first_load = False

    def _after_update(self, job_ids: frozenset[str] | None) -> None:
        if self._is_wanted_there():
            self._select_wanted()
        selected = self._view.selected_ids()
        if job_ids is None or job_ids & set(selected):
            self._follow_selection()
        elif self._pane.concerns(job_ids):
            self._pane.refresh()
        if job_ids is None or job_ids:
            self._fit_pages()
            self._totals.sum_up_later()
        self._countdown.arm()

    def _follow_selection(self) -> None:
        rows = self._view.selected_rows()
        self._actions.set_jobs([row.job for row in rows], [row.situation for row in rows])
        self._pane.show_rows(rows)

    def _filter(self, chosen: JobFilter) -> None:
        self._model.set_filter(chosen)
        self._needs_you.close()
        self._fit_pages()

    def _fit_pages(self) -> None:
        """Show the table, or the page that replaces it when it is empty."""
        is_empty = self._loader.is_loaded and self._model.job_count == 0
        if self._needs_you.is_shown:
            self._pages.setCurrentWidget(self._needs_you.page)
        else:
            self._pages.setCurrentWidget(self._empty if is_empty else self._splitter)
        self._toolbar.set_searchable(not is_empty)
        is_missed = self._loader.is_loaded and not is_empty and self._model.rowCount() == 0
        self._table_pages.setCurrentWidget(self._no_match if is_missed else self._view)

    def _turn_to_questions(self, is_shown: bool) -> None:  # noqa: FBT001 - a slot
        # Checked first: hiding a page moves the focus to the next widget.
        is_searched = self._toolbar.isAncestorOf(self.focusWidget())
        self._fit_pages()
        if not is_shown and not is_searched:
            self._view.setFocus(Qt.FocusReason.OtherFocusReason)

    def _load_visible(self) -> None:
        self._loader.load_visible()
        self._countdown.arm()

    def _count_seconds(self) -> None:
        self._view.count_seconds()
        self._pane.count_seconds()
        self._needs_you.count_seconds()
        self._totals.show_times()

    def _select_jobs(self, job_ids: tuple[str, ...]) -> None:
        self._wanted_jobs = tuple(job_ids)
        if self._is_wanted_there():
            self._select_wanted()

    def _is_wanted_there(self) -> bool:
        return bool(self._wanted_jobs) and all(self._model.job(one) is not None for one in self._wanted_jobs)

    def _select_wanted(self) -> None:
        job_ids, self._wanted_jobs = self._wanted_jobs, ()
        self._needs_you.close()
        if any(self._model.row_of(job_id) < 0 for job_id in job_ids):
            self._toolbar.clear()
        self._view.select_ids(job_ids)
        self._view.setFocus(Qt.FocusReason.OtherFocusReason)

    def _show_pane(self, visible: bool) -> None:  # noqa: FBT001 - Qt's signal
        self._splitter.want_pane(is_wanted=visible)
        if visible:
            self._pane.refresh()

    def _set_watching(self) -> None:
        is_seen = self.isVisible() and not self.isMinimized()
        self._loader.set_watching(is_seen)
        self._needs_you.set_watching(is_seen)
        self._countdown.set_running(is_seen)
        if is_seen:
            self._count_seconds()

    # --- Qt -----------------------------------------------------------------------------------------

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        super().showEvent(event)
        self._set_watching()

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802
        super().hideEvent(event)
        self._set_watching()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        self._splitter.divide(self.width())

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        super().changeEvent(event)
        if event.type() is QEvent.Type.WindowStateChange:
            self._set_watching()

    def closeEvent(self, event: QCloseEvent) -> None:  # noqa: N802
        if self._minimises_on_close:
            # Not hidden first: some window managers lose a window that is withdrawn and mapped again at once.
            event.ignore()
            self.showMinimized()
            return
        super().closeEvent(event)
        self.closing.emit()
