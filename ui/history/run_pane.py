"""The pane of one run: result, facts, output and actions."""

from __future__ import annotations

import importlib
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QKeySequence, QShowEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QProgressBar, QVBoxLayout, QWidget

from halo_scheduler.errors import SchedulerError
from halo_scheduler.model import Outcome, Question, Run, Trigger
from halo_scheduler.model.changes import Change
from halo_scheduler.service.scheduler import Scheduler
from ui.backend.backend import Asked, Backend
from ui.style.marks import outcome_mark
from ui.style.theme import GRID, HALF, MARGIN, Appearance, Tone, strong_font, title_font
from ui.style.wording import one_line, outcome_words
from ui.widgets.labels import WrappedText, button, frame, label, tint
from ui.widgets.output_feed import OutputFeed
from ui.widgets.signs import LineIcon

from .choice import JobName, job_names
from .facts import RelationsReader, advice_of, as_sentence, facts_of, problem_of
from .facts_grid import FactsGrid, QuestionNote, YieldingArea
from .run_cells import file_name, job_words

if TYPE_CHECKING:
    from ui.widgets.output_view import OutputView

_TICK_MS = 1_000
_AGAIN_KEYS = "Ctrl+R"
_NEVER_STARTED = (Outcome.SKIPPED, Outcome.MISSED)


class RunPane(QFrame):
    """Shows one run, live while it runs."""

    run_again_requested = Signal(str)
    stop_requested = Signal(str)
    edit_job_requested = Signal(str)
    answer_requested = Signal(str)
    """The id of a run with a question."""
    run_wanted = Signal(str)
    """The id of a run that triggered this one, or that it triggered."""

    def __init__(self, backend: Backend, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("runPane")
        self.setProperty("role", "card")
        self._backend = backend
        self._appearance = appearance
        self._run: Run | None = None
        self._job = JobName("")
        self._asked: Asked | None = None
        self._is_stale = False
        self._relations = RelationsReader(backend, self)
        self._relations.read.connect(self._show_facts)
        self._feed = OutputFeed(backend, self)
        self._ticks = QTimer(self)
        self._ticks.setInterval(_TICK_MS)
        self._ticks.timeout.connect(self._show_facts)
        self._content: QWidget | None = None
        self._output: OutputView | None = None
        self._is_making = False
        self._searched = ""
        self._hint = self._new_hint()
        outer = QVBoxLayout(self)
        outer.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
        outer.addWidget(self._hint, 1)
        backend.changed.connect(self._notice)

    # --- What is shown -------------------------------------------------------------------------------

    @property
    def run_id(self) -> str | None:
        """The run shown."""
        return None if self._run is None else self._run.id

    def show_run(self, run: Run | None, job: JobName | None = None) -> None:
        """Show a run, or a hint to select one; for the same run the output is kept."""
        is_other = run is None or run.id != self.run_id
        if is_other or self._run is None or run is None or run.outcome is not self._run.outcome:
            self._relations.follow(run)
        self._run = run
        self._job = job or self._job
        self._hint.setVisible(run is None)
        if self._content is None and run is not None:
            self._content = self._make_content()
        if self._content is not None:
            self._content.setVisible(run is not None)
            if run is not None:
                self._show_head(run)
            self._show_facts()
            if is_other:
                self._question_note.show_question(None)
                self._show_output(run)
                if run is not None:
                    self._ask_for_question(run)
        self._tick_while_needed()

    def _show_head(self, run: Run) -> None:
        mark = outcome_mark(run.outcome)
        self._mark.set_icon(mark.shape, mark.tone)
        self._title.setText(outcome_words(run.outcome))
        self._name.set_text(job_words(self._job))
        problem = problem_of(run)
        self._problem.set_text(problem, Tone.WARN if mark.tone is Tone.WARN else Tone.TEXT)
        self._advice.set_text(advice_of(run) if problem else "")
        self._note.setVisible(bool(problem))
        self._note_icon.set_icon("warning" if mark.tone is not Tone.ERROR else "error", mark.tone)
        is_running = run.outcome is Outcome.RUNNING
        self._progress.setVisible(is_running and run.progress is not None)
        self._progress_text.set_text(one_line(run.progress_text) if is_running else "")
        if run.progress is not None:
            self._progress.setValue(round(run.progress * 100))
        self._stop.setVisible(is_running)
        self._again.setVisible(not is_running)
        for one in (self._again, self._edit):
            one.setEnabled(not self._job.is_removed)
        words = self.tr("Run now") if run.outcome in _NEVER_STARTED else self.tr("Run again")
        self._again.setText(words)
        self._again.setAccessibleName(words)
        # Setting the text removes the shortcut.
        self._again.setShortcut(QKeySequence(_AGAIN_KEYS))

    def _show_facts(self) -> None:
        if self._run is not None:
            facts = facts_of(self._run, self._backend.now_ms(), self._relations.found)
            self._facts.show_facts(facts)

    # --- Its question --------------------------------------------------------------------------------

    def _ask_for_question(self, run: Run) -> None:
        """Load the question a run left or the answer it received; a run that never started has neither."""
        if run.outcome not in _NEVER_STARTED:
            self._backend.ask(
                lambda scheduler: _question_of(scheduler, run),
                partial(self._take_question, run.id),
                owner=self,
            )

    def _take_question(self, run_id: str, question: Question | None) -> None:
        if run_id == self.run_id:
            self._question_note.show_question(question, is_own=question is None or question.run_id == run_id)

    def _ask_to_answer(self) -> None:
        if self._run is not None:
            self.answer_requested.emit(self._run.id)

    # --- Its output ----------------------------------------------------------------------------------

    def _show_output(self, run: Run | None) -> None:
        self._feed.stop()
        if self._output is None:
            if run is not None and run.outcome not in _NEVER_STARTED:
                self._begin_output()
            return
        if run is None:
            self._output.clear()
            return
        is_empty = run.outcome in _NEVER_STARTED
        self._output.setVisible(not is_empty)
        self._filler.setVisible(is_empty)
        is_running = run.outcome is Outcome.RUNNING
        self._output.clear(self.tr("No output yet.") if is_running else "")
        self._output.set_file_name(file_name(run, self._job))
        self._feed.follow(run.id)

    def _begin_output(self) -> None:
        """Build the larger part once; the result is readable before."""
        if not self._is_making:
            self._is_making = True
            self._backend.ask(
                lambda _scheduler: importlib.import_module("ui.widgets.output_view"),
                lambda _module: self._make_output(),
                owner=self,
            )

    def _make_output(self) -> None:
        from ui.widgets.output_view import OutputView  # noqa: PLC0415 - read in another thread

        self._output = made = OutputView(self._appearance)
        made.hide()
        self._column.insertWidget(self._column.indexOf(self._filler), made, 1)
        self._feed.chunk.connect(made.feed)
        self._feed.printed.connect(made.set_total)
        self._feed.ended.connect(self._end_output)
        self._feed.failed.connect(lambda sentence: made.set_note(as_sentence(sentence), "error"))
        made.set_search(self._searched)
        self._show_output(self._run)

    def _end_output(self) -> None:
        if self._output is None:
            return
        self._output.end()
        if self._run is not None and self._run.http_status is not None and not self._searched:
            # The status and the headers come first.
            self._output.go_to_beginning()

    def set_search(self, words: str) -> None:
        """Highlight the search text in the output."""
        self._searched = words
        if self._output is not None:
            self._output.set_search(words)

    # --- Following it --------------------------------------------------------------------------------

    def _notice(self, change: Change) -> None:
        run = self._run
        if run is None or (change.run_id != run.id and change.job_id not in (None, run.job_id)):
            return
        if self.isVisible():
            self._reload(run)
            self._ask_for_question(run)

    def _reload(self, run: Run) -> None:
        self._is_stale = self._asked is not None
        if self._asked is None:
            self._asked = self._backend.ask(
                lambda scheduler: _look_up(scheduler, run.id, run.job_id), self._take, self._fail, owner=self
            )

    def _fail(self, error: SchedulerError) -> None:
        self._asked = None
        self._backend.fault.emit(str(error))

    def _take(self, found: tuple[Run | None, JobName]) -> None:
        self._asked = None
        run, job = found
        if run is not None and run.id == self.run_id:
            self.show_run(run, job)
        if self._is_stale and self._run is not None:
            self._reload(self._run)

    def _tick_while_needed(self) -> None:
        is_running = self._run is not None and self._run.outcome is Outcome.RUNNING
        if is_running and self.isVisible():
            self._ticks.start()
        else:
            self._ticks.stop()

    # --- Making --------------------------------------------------------------------------------------

    def _make_content(self) -> QWidget:
        """Build everything about a run, when the first one is selected."""
        made = QWidget(self)
        self._make()
        self._lay_out(made)
        layout = self.layout()
        if layout is not None:
            layout.addWidget(made)
        return made

    def _new_hint(self) -> QLabel:
        hint = label(
            self.tr("Select a run to see its details and output."),
            "muted",
            name="paneHint",
            wrap=True,
        )
        hint.setAlignment(Qt.AlignmentFlag.AlignCenter)
        return hint

    def _make(self) -> None:
        appearance = self._appearance
        self._mark = LineIcon(appearance, "mark-idle", Tone.MUTED, 16)
        self._title = label("", name="runTitle")
        self._title.setFont(title_font(self._title.font()))
        self._name = WrappedText(appearance, name="runJob", font=strong_font(self.font()), most_lines=1)
        self._again = button(
            self.tr("Run again"), name="runAgainButton", tip=self.tr("Run the job now"), shortcut=_AGAIN_KEYS
        )
        tint(self._again, appearance, "run")
        self._again.clicked.connect(self._run_again)
        self._stop = button(
            self.tr("Stop"), name="stopButton", kind="danger", tip=self.tr("Stop this run"), shortcut="Ctrl+."
        )
        tint(self._stop, appearance, "stop", Tone.ERROR)
        self._stop.clicked.connect(self._ask_to_stop)
        self._edit = button(
            self.tr("Edit job"), name="editJobButton", tip=self.tr("Edit this job"), shortcut="Ctrl+E"
        )
        tint(self._edit, appearance, "edit")
        self._edit.clicked.connect(self._edit_job)
        self._progress = QProgressBar()
        self._progress.setObjectName("runProgress")
        self._progress.setAccessibleName(self.tr("Progress"))
        self._progress.setTextVisible(False)
        self._progress_text = WrappedText(appearance, name="runProgressText", tone=Tone.MUTED, most_lines=1)
        self._problem = WrappedText(
            appearance, name="runProblem", font=strong_font(self.font()), most_lines=4
        )
        self._advice = WrappedText(appearance, name="runAdvice", tone=Tone.MUTED)
        self._note_icon = LineIcon(appearance, "error", Tone.ERROR)
        self._note = frame("note")
        self._note.setObjectName("runNote")
        self._question_note = QuestionNote(appearance)
        self._question_note.answer_requested.connect(self._ask_to_answer)
        self._facts = FactsGrid(appearance)
        self._facts.run_wanted.connect(self.run_wanted)

    def _lay_out(self, content: QWidget) -> None:
        self._head = QWidget()
        head = QHBoxLayout(self._head)
        head.setContentsMargins(0, 0, 0, 0)
        head.setSpacing(GRID)
        words = QVBoxLayout()
        words.setSpacing(HALF)
        first = QHBoxLayout()
        first.setSpacing(GRID)
        first.addWidget(self._mark)
        first.addWidget(self._title, 1)
        words.addLayout(first)
        words.addWidget(self._name)
        head.addLayout(words, 1)
        for one in (self._stop, self._again, self._edit):
            head.addWidget(one, 0, Qt.AlignmentFlag.AlignTop)
        self._filler = QWidget()
        self._column = column = QVBoxLayout(content)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GRID + HALF)
        column.addWidget(self._head)
        column.addWidget(self._progress)
        column.addWidget(self._progress_text)
        column.addWidget(self._lay_out_told())
        column.addWidget(self._filler, 1)

    def _lay_out_told(self) -> YieldingArea:
        """Build the top of the pane; long texts must not push the output out of the window."""
        told = QWidget()
        column = QVBoxLayout(told)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GRID + HALF)
        for one in (self._lay_out_note(), self._question_note, self._facts):
            column.addWidget(one)
        return YieldingArea(told)

    def _lay_out_note(self) -> QFrame:
        row = QHBoxLayout(self._note)
        row.setContentsMargins(GRID + HALF, GRID, GRID + HALF, GRID)
        row.setSpacing(GRID)
        row.addWidget(self._note_icon, 0, Qt.AlignmentFlag.AlignTop)
        words = QVBoxLayout()
        words.setSpacing(HALF)
        words.addWidget(self._problem)
        words.addWidget(self._advice)
        row.addLayout(words, 1)
        return self._note

    def _run_again(self) -> None:
        if self._run is not None:
            self.run_again_requested.emit(self._run.job_id)

    def _ask_to_stop(self) -> None:
        if self._run is not None:
            self.stop_requested.emit(self._run.id)

    def _edit_job(self) -> None:
        if self._run is not None:
            self.edit_job_requested.emit(self._run.job_id)

    # --- Qt -----------------------------------------------------------------------------------------

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return QSize(520, 400)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        super().showEvent(event)
        self._tick_while_needed()
        if self._run is None:
            return
        # Changes while the window was hidden were not followed.
        self._ask_for_question(self._run)
        if self._run.outcome is Outcome.RUNNING:
            self._reload(self._run)

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802 - Qt's name
        super().hideEvent(event)
        self._ticks.stop()


def _look_up(scheduler: Scheduler, run_id: str, job_id: str) -> tuple[Run | None, JobName]:
    names = job_names(scheduler, [job_id])
    return scheduler.get_run(run_id), names.get(job_id, JobName("", is_removed=True))


def _question_of(scheduler: Scheduler, run: Run) -> Question | None:
    """Return the run's question, or else the question whose answer it received."""
    asked = scheduler.questions.of_run(run.id)
    if asked is not None or run.trigger is not Trigger.ANSWER:
        return asked
    return scheduler.questions.answered_by(run.id)
