"""The job editor window: takes a spec and returns one."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QKeySequence, QPalette, QResizeEvent, QShortcut
from PySide6.QtWidgets import QApplication, QDialog, QFrame, QHBoxLayout, QVBoxLayout, QWidget

from halo_scheduler.model import JobSpec
from ui.backend.backend import Backend
from ui.forms.fields import Field, Page, Problem, as_sentence
from ui.style.theme import MARGIN, Appearance, scaled
from ui.style.wording import one_line
from ui.widgets.arrange import show_if
from ui.widgets.labels import frame

from .draft import Draft, PageNumber
from .form import Form
from .frame import PAGES_WIDTH, SAVE_KEYS, TEST_KEYS, Footer, PageList, editor_pages
from .reading import Reading
from .side_panel import PANEL_WIDTH, PlanPreview, SidePanel
from .trial_panel import TrialEnd, TrialPanel

_DEBOUNCE_MS = 120
_REFRESH_MS = 30_000
_MORE_SAVE_KEYS = ("Ctrl+Return", "Ctrl+Enter")
_WIDTH, _HEIGHT = 1000, 680
# The width of the longest row of controls.
_LEAST = QSize(720, 400)
# Room for a title bar and a panel.
_FRAME = QSize(16, 80)


class JobEditor(QDialog):
    """Edits one job; the caller stores the result."""

    saved = Signal(object)
    """The JobSpec to store; answer with `accept()` or `show_error()`, after `show_saving()` if that takes long."""
    test_requested = Signal(object)
    """The JobSpec to run now; answer with `show_test_started()`, `feed_test()`, `show_test_ended()`."""
    test_stop_requested = Signal()
    job_requested = Signal(str)
    """The id of another job in its chain to open."""
    quiet_times_requested = Signal()
    """Requests the quiet hours page of the settings."""
    secrets_requested = Signal()
    """Requests the secrets page of the settings."""
    webhooks_requested = Signal()
    """Requests the webhooks page of the settings."""
    chat_requested = Signal()
    """Requests the chat page of the settings."""

    def __init__(
        self, backend: Backend, appearance: Appearance, draft: Draft, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("jobEditor")
        self.setWindowFlag(Qt.WindowType.Window)
        self.setModal(False)
        room = self.screen().availableSize() - _FRAME
        self.resize(QSize(_WIDTH, _HEIGHT).boundedTo(room))
        self.setMinimumSize(_LEAST.boundedTo(room))
        self._backend = backend
        self._appearance = appearance
        self._draft = draft
        self._save_error: Problem | None = None
        self._is_closing = False
        self._is_saving = False
        self._reading: Reading | None = None
        self._form = Form(backend, appearance, draft, self)
        self._list = PageList(appearance, editor_pages(self.tr))
        self._side = SidePanel(appearance)
        self._plan_preview = PlanPreview(backend, self._side, draft.job_id, self)
        self._footer = Footer(appearance)
        self._trial: TrialPanel | None = None
        self._lay_out()
        self._check_timer = QTimer(self)
        self._check_timer.setSingleShot(True)
        self._check_timer.setInterval(_DEBOUNCE_MS)
        self._check_timer.timeout.connect(self._check)
        self._refresh_timer = QTimer(self)
        self._refresh_timer.setInterval(_REFRESH_MS)
        self._refresh_timer.timeout.connect(self._refresh_previews)
        self._connect()
        self._form.begin()
        self._form.focus_first_page()
        self._form.select_name(is_on=self._draft.is_new)
        self._footer.show_problem("")
        self._footer.allow(saving=False, testing=False)

    def _lay_out(self) -> None:
        name = one_line(self._draft.start_spec().name, 80)
        title = self.tr("New job") if self._draft.is_new else self.tr("Edit {name}").format(name=name)
        self.setWindowTitle(title)
        layout = self._column = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        middle = QHBoxLayout()
        middle.setSpacing(0)
        layout.addLayout(middle, 1)
        left = QFrame()
        left.setBackgroundRole(QPalette.ColorRole.Base)
        left.setAutoFillBackground(True)
        left_layout = QVBoxLayout(left)
        left_layout.setContentsMargins(0, MARGIN, 0, 0)
        left_layout.addWidget(self._list)
        middle.addWidget(left)
        middle.addWidget(_vertical_line())
        middle.addWidget(self._form, 1)
        middle.addWidget(_vertical_line())
        middle.addWidget(self._side)
        layout.addWidget(self._footer)

    def _connect(self) -> None:
        self._form.edited.connect(self._note_edit)
        self._form.completed.connect(self._check)
        self._form.learned.connect(self._check_timer.start)
        self._form.job_wanted.connect(self.job_requested)
        self._form.quiet_times_wanted.connect(self.quiet_times_requested)
        self._form.secret_wanted.connect(self.secrets_requested)
        self._form.webhooks_wanted.connect(self.webhooks_requested)
        self._form.chat_wanted.connect(self.chat_requested)
        for number in range(self._list.count()):
            QShortcut(QKeySequence(f"Ctrl+{number + 1}"), self).activated.connect(
                partial(self.turn_to, number)
            )
        for keys in (SAVE_KEYS, *_MORE_SAVE_KEYS):
            QShortcut(QKeySequence(keys), self).activated.connect(self._save)
        QShortcut(QKeySequence(TEST_KEYS), self).activated.connect(self._test)
        self._list.page_chosen.connect(self._show_page)
        self._footer.save_wanted.connect(self._save)
        self._footer.test_wanted.connect(self._test)
        self._footer.cancel_wanted.connect(self.reject)
        self._footer.discard_wanted.connect(self._discard)
        self._footer.reason_clicked.connect(self._go_to_problem)
        self._plan_preview.words_found.connect(self._show_words)
        self._refresh_timer.start()
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.focusChanged.connect(self._note_visit)

    # --- For the caller -------------------------------------------------------------------------------

    @property
    def draft(self) -> Draft:
        """What the editor was opened with."""
        return self._draft

    def has_unsaved_changes(self) -> bool:
        """Return whether closing would lose changes."""
        if self._draft.is_begun:
            return True
        return self._form.has_changes(self._form.read(self._backend.now_ms()))

    def show_saving(self) -> None:
        """Show that saving takes a while, and disable the form."""
        self._is_saving = True
        # Otherwise the focus moves to a button, which the next key would press.
        self.setFocus()
        self._form.setEnabled(False)
        self._form.pages.conditions.stop_checks()
        self._show_state()

    def show_error(self, path: str, sentence: str) -> None:
        """Show an error at the field of a path until the next edit."""
        self._is_saving = False
        self._form.setEnabled(True)
        self._save_error = Problem(path, sentence)
        self._check()
        self._go_to_problem()

    def show_test_started(self) -> None:
        """Show that the test run has started."""
        trial = self._make_trial()
        trial.begin()
        # When the test button is disabled, Qt would move the focus to Cancel.
        if self._footer.test_has_keyboard:
            trial.take_keyboard()
        self._show_state()

    def feed_test(self, data: bytes) -> None:
        """Show output of the test run."""
        self._make_trial().feed(data)

    def show_test_ended(self, run: TrialEnd | None, sentence: str = "") -> None:
        """Show how the test run ended; None when it could not be started."""
        trial = self._make_trial()
        was_there = trial.has_keyboard
        trial.end(run, sentence)
        self._show_state()
        if was_there:
            self._footer.focus_test()

    def _make_trial(self) -> TrialPanel:
        """Return the test run panel, created on first use."""
        if self._trial is None:
            self._trial = TrialPanel(self._backend.now_ms, self._appearance, self)
            self._trial.stop_requested.connect(self.test_stop_requested)
            self._column.insertWidget(self._column.indexOf(self._footer), self._trial)
        return self._trial

    @property
    def _is_testing(self) -> bool:
        return self._trial is not None and self._trial.is_running

    def turn_to(self, number: int) -> None:
        """Show a page, counted from 0, and focus its first field."""
        self._list.setCurrentRow(number)
        self._form.focus_first()

    def _show_page(self, number: int) -> None:
        self._form.complete()
        self._form.setCurrentIndex(number)

    # --- Checking -------------------------------------------------------------------------------------

    def _note_edit(self) -> None:
        self._save_error = None
        self._footer.stop_asking()
        self._check_timer.start()

    def _note_visit(self, left: QWidget | None, entered: QWidget | None) -> None:
        """Mark a field as visited when it loses the focus: from then on it may be reported as empty."""
        if left is None or entered is None:
            return
        field = _field_around(left)
        # The popup of a combo box belongs to its field, though it is a separate window.
        if field is None or field.is_touched or field is _field_around(entered):
            return
        if self.isAncestorOf(field):
            field.is_touched = True
            self._check_timer.start()

    def _check(self) -> None:
        """Read the form, show its problems and preview what the job will do."""
        self._read_form()
        self._refresh_previews()

    def _read_form(self) -> None:
        """Read the form once, and show its problems."""
        self._form.complete()
        self._check_timer.stop()
        reading = self._reading = self._form.read(self._backend.now_ms())
        problems = self._problems()
        self._form.show_problems(problems)
        self._show_summaries(reading, problems)
        self._show_state()

    @property
    def _read(self) -> Reading:
        """The values at the last check."""
        if self._reading is None:
            self._reading = self._form.read(self._backend.now_ms())
        return self._reading

    def _problems(self) -> list[Problem]:
        told = [] if self._save_error is None else [self._save_error]
        return [*told, *self._read.problems]

    @property
    def _is_in_order(self) -> bool:
        """Whether no field has an error; a save that failed for another reason may be tried again."""
        failed = self._save_error
        return not self._read.problems and (failed is None or not failed.path)

    def _show_summaries(self, reading: Reading, problems: list[Problem]) -> None:
        summaries = reading.summaries(self._list.summary(PageNumber.WHEN))
        for number, (page, summary) in enumerate(zip(self._form.pages.all(), summaries, strict=True)):
            found = [problem for problem in problems if page.field_of(problem.path) is not None]
            shown = [
                problem for problem in found if not problem.is_missing or self._is_visited(page, problem)
            ]
            waiting = self.tr("needs attention") if shown else self.tr("incomplete")
            self._list.set_state(number, waiting if found else summary, has_problem=bool(shown))

    def _is_visited(self, page: Page, problem: Problem) -> bool:
        field = page.field_of(problem.path)
        return field is not None and field.is_touched

    def _show_state(self) -> None:
        problems, spec = self._problems(), self._read.spec
        is_worth_saving = self._is_worth_saving()
        first = problems[0] if problems else None
        self._footer.show_problem(
            "" if first is None else self._sentence(first), is_missing=first is not None and first.is_missing
        )
        remark = "" if is_worth_saving else self.tr("No changes")
        self._footer.show_remark(self.tr("Saving…") if self._is_saving else remark)
        self._footer.allow(
            saving=spec is not None and self._is_in_order and is_worth_saving and not self._is_saving,
            testing=self._tested_spec is not None and not self._is_testing and not self._is_saving,
        )

    def _is_worth_saving(self) -> bool:
        return self._draft.is_new or self._draft.is_begun or self._form.has_changes(self._read)

    def _sentence(self, problem: Problem) -> str:
        field = self._form.place_of(problem)
        return as_sentence("", problem.message) if field is None else field[1].sentence(problem)

    def _go_to_problem(self) -> None:
        problems = self._problems()
        found = self._form.place_of(problems[0]) if problems else None
        if found is None:
            return
        page, field = found
        self._list.setCurrentRow(self._form.indexOf(page))
        field.is_touched = True
        page.reveal(field)
        page.show_problems(problems)

    def _refresh_previews(self) -> None:
        if self._form.is_complete:
            self._form.preview_prompt(self._read)
            self._plan_preview.refresh(self._read, self._form.pages.conditions.quiet_times)

    def _show_words(self, words: str) -> None:
        self._list.set_state(PageNumber.WHEN, words, has_problem=self._list.has_problem(PageNumber.WHEN))

    # --- Acting ---------------------------------------------------------------------------------------

    def _save(self) -> None:
        self._read_form()
        spec = self._read.spec
        if not self._is_in_order or spec is None:
            self._refresh_previews()
            self._go_to_problem()
        elif not self._is_saving and self._is_worth_saving():
            # No preview is queued ahead of what the user waits for.
            self._save_error = None
            self._show_state()
            self.saved.emit(spec)

    @property
    def _tested_spec(self) -> JobSpec | None:
        return self._read.for_test(self._draft.start_spec())

    def _test(self) -> None:
        self._check()
        spec = self._tested_spec
        if spec is not None and not self._is_testing:
            self.test_requested.emit(spec)

    def _discard(self) -> None:
        self._is_closing = True
        self.reject()

    # --- Closing --------------------------------------------------------------------------------------

    def accept(self) -> None:
        """Close: the spec has been stored."""
        self._is_closing = True
        super().accept()

    def reject(self) -> None:
        """Close; ask first if changes would be lost."""
        if self._footer.is_asking and not self._is_closing:
            self._footer.stop_asking()
            return
        if not self._is_closing and self.has_unsaved_changes():
            self._footer.ask()
            return
        if self._is_testing:
            self.test_stop_requested.emit()
        super().reject()

    def focusNextPrevChild(self, next: bool) -> bool:  # noqa: A002, FBT001, N802 - Qt's names
        # A quick Tab must not jump from the name to a button because the next field is not built yet.
        self._form.open()
        return super().focusNextPrevChild(next)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        # In a narrow window the form takes precedence; the page list shows the schedule too, while it has room.
        self._list.show_words(self.width() >= PAGES_WIDTH + scaled(_LEAST.width() - PAGES_WIDTH))
        show_if(self._side, self.width() >= _LEAST.width() + scaled(PANEL_WIDTH))

    def setVisible(self, visible: bool) -> None:  # noqa: FBT001, N802 - Qt's name
        super().setVisible(visible)
        if visible:
            # Qt selects the focused text when a dialog appears: a stray key would erase a stored name.
            self._form.select_name(is_on=self._draft.is_new)


def _field_around(widget: QWidget | None) -> Field | None:
    while widget is not None and not isinstance(widget, Field):
        widget = widget.parentWidget()
    return widget


def _vertical_line() -> QFrame:
    made = frame("line")
    made.setMinimumHeight(0)
    made.setMaximumHeight(16_777_215)
    made.setFixedWidth(1)
    return made
