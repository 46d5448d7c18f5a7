"""What runs ask of the user: read while somebody looks, shown in a bar and a list, answered and dismissed."""

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
from ui.widgets.tab_order import put_after

if TYPE_CHECKING:
    from .bar import NeedsYouBar
    from .page import NeedsYouPage

# A burst of changes is one question.
_GATHER_MS = 40
_KINDS = (ChangeKind.QUESTION, ChangeKind.JOB)


class NeedsYou(QObject):
    """Keeps bar and list true, and does what is wanted in them; both are made when something is first asked."""

    shown = Signal(bool)
    """The list is to be seen, or the jobs again."""
    run_wanted = Signal(str)
    dismissed = Signal(str, str)
    """What was dismissed in words, and the id of the question."""
    said = Signal(str)
    """A sentence for whoever looks."""
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
        """Put the bar into `place`, for the Tab key behind `before`, and the list among `pages`."""
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
        from .bar import NeedsYouBar  # noqa: PLC0415 - most have no questions

        made = NeedsYouBar(self._appearance)
        made.list_wanted.connect(lambda wanted: self.open() if wanted else self.close())
        self._place.addWidget(made)
        put_after(self._before, made)
        return made

    @cached_property
    def page(self) -> NeedsYouPage:
        """The list, among the pages."""
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

    # --- What the window tells ----------------------------------------------------------------------

    @property
    def is_shown(self) -> bool:
        """Whether the list is to be seen, and there is something in it."""
        return self._is_shown

    @property
    def questions(self) -> tuple[OpenQuestion, ...]:
        """What is asked, oldest first, as far as it was read."""
        return self._questions

    def set_watching(self, watching: bool) -> None:  # noqa: FBT001 - it is what the name says
        """Follow what is asked while somebody looks; what changed meanwhile is read then."""
        self._is_watching = watching
        if watching:
            self._ask()
        else:
            self._gather.stop()

    def open(self, whose: str | None = None) -> None:
        """Show the list, at the question that a run or a job of that id asks."""
        self._wanted, self._is_wanted = whose, True
        if self._is_dirty:
            # What is asked may be younger than what was read.
            self._ask()
        elif not self._is_asking:
            self._show_wanted()

    def close(self) -> None:
        """Show the jobs again; what is typed stays."""
        self._wanted, self._is_wanted = None, False
        if self._is_shown:
            self._is_shown = False
            self._bar.set_open(False)
            self.shown.emit(False)

    def count_seconds(self) -> None:
        """Show the times as they are now."""
        if self._is_shown:
            self.page.show_times(self._backend.now_ms())

    def waits(self, now_ms: int) -> Iterator[int | None]:
        """Return for how long each shown time stays true."""
        return self.page.waits(now_ms) if self._is_shown else iter(())

    def reopen(self, question_id: str) -> None:
        """Take back that a question was dismissed."""
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
        """Show the list that somebody asked for, or say that there is nothing in it any more."""
        wanted, self._wanted, self._is_wanted = self._wanted, None, False
        if not self._questions:
            self.said.emit(self.tr("Nothing waits for an answer any more."))
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
            Sent.STARTS: self.tr("Answered: {job} starts with it now."),
            Sent.WAITS_FOR_RUN: self.tr("Answered: {job} starts with it when its present run has ended."),
            Sent.WAITS_FOR_PLACE: self.tr("Answered: {job} starts with it as soon as there is a place."),
            Sent.WAITS_FOR_ENGINE: self.tr("Answered: {job} starts with it once Halo runs the jobs again."),
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
        words = self.tr("Dismissed the question of “{job}”.").format(job=question.job_name)
        self.dismissed.emit(words, question.id)

    def _refuse(self, question: OpenQuestion, error: SchedulerError) -> None:
        self.page.show_refusal(question.id, _sentence(error))
        # It may have been settled elsewhere.
        self._is_dirty = True
        self._ask()


def _sentence(error: SchedulerError) -> str:
    """Return an error as a sentence, without the name of the field that stands right above it."""
    text = error.message if isinstance(error, ScheduleError) else str(error)
    return f"{text[:1].upper()}{text[1:]}"
