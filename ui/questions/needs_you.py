"""Open questions in the main window: loaded while it is visible, shown in a bar and on a page, answered there."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from halo_scheduler.errors import ScheduleError, SchedulerError
from halo_scheduler.model.changes import Change, ChangeKind
from ui.backend.backend import Backend
from ui.backend.questions import OpenQuestion, Sent, read_questions, send_answer
from ui.style.theme import Appearance
from ui.widgets.arrange import put_after

if TYPE_CHECKING:
    from .card import NeedsYouBar
    from .page import NeedsYouPage

# A burst of changes becomes one query.
_GATHER_MS = 40
_KINDS = (ChangeKind.QUESTION, ChangeKind.JOB)


class NeedsYou(QObject):
    """Keeps the bar and the page up to date and executes their actions; both are created on first use."""

    shown = Signal(bool)
    """Whether the page is shown instead of the jobs."""
    run_wanted = Signal(str)
    dismissed = Signal(str, str)
    """A sentence that names the dismissed question, and its id."""
    said = Signal(str)
    """A sentence to show to the user."""
    refused = Signal(str)
    times_changed = Signal()

    def __init__(
        self,
        backend: Backend,
        appearance: Appearance,
        place: QVBoxLayout,
        pages: QStackedWidget,
        before: QWidget,
    ) -> None:
        """Put the bar into `place`, after `before` in the tab order, and the page among `pages`."""
        super().__init__(pages)
        self._backend = backend
        self._appearance = appearance
        self._place = place
        self._pages = pages
        self._before = before
        self._questions: tuple[OpenQuestion, ...] = ()
        self._is_watching = False
        self._is_wanted = False
        self._is_shown = False
        self._is_asking = False
        self._is_dirty = True
        self._wanted: str | None = None
        self._gather = QTimer(self)
        self._gather.setSingleShot(True)
        self._gather.setInterval(_GATHER_MS)
        self._gather.timeout.connect(self._ask)
        backend.changed.connect(self._note)

    @cached_property
    def _bar(self) -> NeedsYouBar:
        from .card import NeedsYouBar  # noqa: PLC0415 - most have no questions

        made = NeedsYouBar(self._appearance)
        made.list_wanted.connect(lambda wanted: self.open() if wanted else self.close())
        self._place.addWidget(made)
        put_after(self._before, made)
        return made

    @cached_property
    def page(self) -> NeedsYouPage:
        """The questions page."""
        from .page import NeedsYouPage  # noqa: PLC0415 - most have no questions

        made = NeedsYouPage(self._appearance)
        made.answer_wanted.connect(self._answer)
        made.dismiss_wanted.connect(self._dismiss)
        made.run_wanted.connect(self.run_wanted)
        made.item_wanted.connect(lambda address: QDesktopServices.openUrl(QUrl(address)))
        made.left.connect(self.close)
        made.emptied.connect(self.close)
        self._pages.addWidget(made)
        put_after(self._bar.button, made)
        made.show_questions(self._questions, self._backend.now_ms())
        return made

    # --- Called by the window -----------------------------------------------------------------------

    @property
    def is_shown(self) -> bool:
        """Whether the page is shown and has questions."""
        return self._is_shown

    @property
    def questions(self) -> tuple[OpenQuestion, ...]:
        """The open questions as loaded, oldest first."""
        return self._questions

    def set_watching(self, watching: bool) -> None:  # noqa: FBT001 - it is what the name says
        """Follow changes while the window is visible; changes in between are loaded then."""
        self._is_watching = watching
        if watching:
            self._ask()
        else:
            self._gather.stop()

    def open(self, whose: str | None = None) -> None:
        """Show the page, at the question from the run or job with this id."""
        self._wanted, self._is_wanted = whose, True
        if self._is_dirty:
            # The question may be newer than those loaded.
            self._ask()
        elif not self._is_asking:
            self._show_wanted()

    def close(self) -> None:
        """Show the jobs again; texts typed stay."""
        self._wanted, self._is_wanted = None, False
        if self._is_shown:
            self._is_shown = False
            self._bar.set_open(False)
            self.shown.emit(False)

    def count_seconds(self) -> None:
        """Update the times shown."""
        if self._is_shown:
            self.page.show_times(self._backend.now_ms())

    def waits(self, now_ms: int) -> Iterator[int | None]:
        """Return how long each shown time stays valid."""
        return self.page.waits(now_ms) if self._is_shown else iter(())

    def reopen(self, question_id: str) -> None:
        """Reopen a dismissed question."""
        self._backend.ask(
            lambda scheduler: scheduler.questions.reopen(question_id),
            None,
            lambda error: self.refused.emit(_sentence(error)),
            owner=self,
        )

    # --- Reading ------------------------------------------------------------------------------------

    def _note(self, change: Change) -> None:
        if change.kind in _KINDS:
            self._is_dirty = True
            if self._is_watching and not self._gather.isActive():
                self._gather.start()

    def _ask(self) -> None:
        if self._is_asking or not self._is_watching or not self._is_dirty:
            return
        self._is_asking, self._is_dirty = True, False
        self._backend.ask(read_questions, self._take, self._fail, owner=self)

    def _take(self, questions: tuple[OpenQuestion, ...]) -> None:
        self._is_asking = False
        if questions != self._questions:
            self._questions = questions
            self._bar.show_questions([(one.job_name, one.text) for one in questions])
            if "page" in vars(self):
                self.page.show_questions(questions, self._backend.now_ms())
            self.times_changed.emit()
        if self._is_dirty:
            self._gather.start()
        elif self._is_wanted:
            self._show_wanted()

    def _fail(self, error: SchedulerError) -> None:
        self._is_asking, self._is_wanted, self._is_dirty = False, False, True
        self.refused.emit(_sentence(error))

    def _show_wanted(self) -> None:
        """Show the requested page, or say that there are no open questions."""
        wanted, self._wanted, self._is_wanted = self._wanted, None, False
        if not self._questions:
            self.said.emit(self.tr("No open questions."))
            return
        self._is_shown = True
        self._bar.set_open(True)
        self.shown.emit(True)
        found = next((one.id for one in self._questions if wanted in (one.run_id, one.job_id)), None)
        self.page.focus_question(found)
        self.times_changed.emit()

    # --- Answering ----------------------------------------------------------------------------------

    def _answer(self, question: OpenQuestion, text: str) -> None:
        self._backend.ask(
            lambda scheduler: send_answer(scheduler, question, text),
            partial(self._tell_sent, question),
            partial(self._refuse, question),
            owner=self,
        )

    def _tell_sent(self, question: OpenQuestion, sent: Sent) -> None:
        words = {
            Sent.STARTS: self.tr("Answer sent. Starting {job}."),
            Sent.WAITS_FOR_RUN: self.tr("Answer sent. {job} starts when its current run ends."),
            Sent.WAITS_FOR_PLACE: self.tr("Answer sent. Limit reached: {job} starts when another run ends."),
            Sent.WAITS_FOR_ENGINE: self.tr("Answer saved. {job} starts once Halo runs your jobs again."),
        }[sent]
        self.page.show_sent(question.id, words.format(job=question.job_name))

    def _dismiss(self, question: OpenQuestion) -> None:
        self._backend.ask(
            lambda scheduler: scheduler.questions.dismiss(question.id),
            lambda _none: self._tell_dismissed(question),
            partial(self._refuse, question),
            owner=self,
        )

    def _tell_dismissed(self, question: OpenQuestion) -> None:
        self.page.drop(question.id)
        words = self.tr("Dismissed the question from “{job}”.").format(job=question.job_name)
        self.dismissed.emit(words, question.id)

    def _refuse(self, question: OpenQuestion, error: SchedulerError) -> None:
        self.page.show_refusal(question.id, _sentence(error))
        # It may have been answered elsewhere.
        self._is_dirty = True
        self._ask()


def _sentence(error: SchedulerError) -> str:
    """Return an error as a sentence, without the field name."""
    text = error.message if isinstance(error, ScheduleError) else str(error)
    return f"{text[:1].upper()}{text[1:]}"
