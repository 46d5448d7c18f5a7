"""One job in the details pane: its action, its next runs and why, its past runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import pairwise
from typing import Generic, TypeVar

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from halo_scheduler.model import Manual, Waiting, WaitingFor
from halo_scheduler.wording.schedules import following_words
from halo_scheduler.wording.status import waiting_sentences
from ui.main_window.job_actions import JobActions
from ui.main_window.table.cells import live_status, quiet_words, streak_sentence
from ui.main_window.table.job_rows import schedule_words
from ui.style.marks import ASKS, job_mark
from ui.style.theme import GRID, HALF, MARGIN, Appearance, Tone, title_font
from ui.style.wording import status_advice
from ui.widgets.labels import WrappedText, button
from ui.widgets.status_strip import MarkLabel

from .actions import ActionButtons
from .chain import RunsAfter, ThenRuns
from .job_details import JobDetails
from .job_sections import Hint, StartsOnly, Today, WhatItDoes
from .sections import NextRuns, OutputTail, RecentRuns, Section

_QUESTION_LINES = 6

T = TypeVar("T", bound=QWidget)


class AskedNote(QFrame):
    """The job's question; it is answered on the questions page."""

    answer_wanted = Signal()

    def __init__(self, appearance: Appearance) -> None:
        super().__init__()
        self.setObjectName("askedNote")
        self.setProperty("role", "note")
        row = QHBoxLayout(self)
        row.setContentsMargins(GRID, GRID, GRID, GRID)
        row.setSpacing(GRID)
        mark = MarkLabel(appearance)
        mark.set_mark(ASKS)
        left = QVBoxLayout()
        left.addSpacing(HALF)
        left.addWidget(mark)
        left.addStretch(1)
        row.addLayout(left)
        column = QVBoxLayout()
        column.setSpacing(GRID)
        row.addLayout(column, 1)
        self._text = WrappedText(appearance, name="askedText", most_lines=_QUESTION_LINES)
        column.addWidget(self._text)
        self._more = WrappedText(appearance, name="askedMore")
        self._more.setVisible(False)
        column.addWidget(self._more)
        answer = button(
            self.tr("Answer…"), name="askedAnswerButton", tip=self.tr("Answer or dismiss the question")
        )
        answer.clicked.connect(self.answer_wanted)
        column.addWidget(answer, 0, Qt.AlignmentFlag.AlignLeft)

    def show_questions(self, texts: tuple[str, ...]) -> None:
        """Show the first question and the number of others."""
        self.setVisible(bool(texts))
        if not texts:
            return
        self._text.set_text(texts[0])
        more = len(texts) - 1
        words = self.tr("and 1 more question") if more == 1 else self.tr("and {count} more questions")
        self._more.set_text(words.format(count=more) if more else "")


class SentenceNote(QFrame):
    """A sentence with a quiet background; hidden while it is empty."""

    def __init__(self, appearance: Appearance, *, name: str) -> None:
        super().__init__()
        self.setObjectName(f"{name}Note")
        self.setProperty("role", "note")
        row = QHBoxLayout(self)
        row.setContentsMargins(GRID, GRID, GRID, GRID)
        self._text = WrappedText(appearance, name=f"{name}Sentence")
        row.addWidget(self._text, 1)
        self.setVisible(False)

    def show_sentence(self, sentence: str) -> None:
        """Show a sentence; an empty one hides it."""
        self.setVisible(bool(sentence))
        self._text.set_text(sentence)


class LatePart(Generic[T]):
    """A placeholder in a layout for a section that is made when it is first needed."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: T | None = None
        self.place = QVBoxLayout()

    @property
    def made(self) -> T | None:
        """The section, if it has been made."""
        return self._made

    def get(self) -> T:
        """Return the section, making it if needed."""
        if self._made is None:
            self._made = self._make()
            self.place.addWidget(self._made)
        return self._made


def _sentences(notes: Iterable[str]) -> str:
    return "\n".join(f"{note[:1].upper()}{note[1:]}." for note in notes)


def _scrolled(column: Callable[[QVBoxLayout], None], parent: QWidget) -> QScrollArea:
    area = QScrollArea(parent)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setWidgetResizable(True)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    inner = QWidget()
    inner.setObjectName("detailContent")
    area.setWidget(inner)
    layout = QVBoxLayout(inner)
    layout.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
    layout.setSpacing(GRID)
    column(layout)
    layout.addStretch(1)
    return area


class OneJob(QWidget):
    """One job: its action, its next runs and why, its past runs."""

    run_wanted = Signal(str)
    clear_hints_wanted = Signal()
    answer_wanted = Signal()
    job_wanted = Signal(str)
    """The id of another job of its chain."""
    cancel_wanted = Signal(object)
    """The ids of waiting runs."""

    def __init__(self, appearance: Appearance, actions: JobActions, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._output_run_id: str | None = None
        self._shown_id = ""
        self._mark = MarkLabel(appearance)
        self._name = WrappedText(appearance, name="detailName", font=title_font(self.font()), most_lines=3)
        self._status = WrappedText(appearance, name="detailStatus", tone=Tone.MUTED)
        self._buttons = ActionButtons(appearance, actions, "detail")
        self._description = WrappedText(appearance, name="detailDescription", most_lines=6)
        self._streak = WrappedText(appearance, name="detailStreak", tone=Tone.ERROR)
        self._review = SentenceNote(appearance, name="review")
        self._waiting = SentenceNote(appearance, name="waiting")
        # Most jobs have none of these sections.
        self._hint, self._starts_only = LatePart(self._make_hint), LatePart(lambda: StartsOnly(appearance))
        self._before, self._after = LatePart(self._make_before), LatePart(self._make_after)
        self._stops: list[QWidget] = []
        self._advice = SentenceNote(appearance, name="advice")
        self._what = WhatItDoes(appearance)
        self._today = Today(appearance)
        self._schedule = WrappedText(appearance, name="detailSchedule")
        self._why = WrappedText(appearance, name="detailWhy")
        self._next = NextRuns(appearance)
        self._recent = RecentRuns(appearance)
        self._recent.run_wanted.connect(self.run_wanted)
        self._output = OutputTail()
        self._output.open_wanted.connect(self._open_output)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        self._area = _scrolled(self._fill, self)
        outer.addWidget(self._area)

    def _fill(self, column: QVBoxLayout) -> None:
        column.addWidget(self._name)
        status = QHBoxLayout()
        status.setSpacing(GRID)
        status.addWidget(self._mark)
        status.addWidget(self._status, 1)
        column.addLayout(status)
        column.addSpacing(HALF)
        column.addWidget(self._buttons)
        self._asked_place = QVBoxLayout()
        column.addLayout(self._asked_place)
        for upper in (self._review, self._waiting, self._advice, self._description, self._streak):
            column.addWidget(upper)
            # An empty section takes no space, not even the spacing.
            upper.setVisible(False)
        column.addWidget(self._what)
        self._when_section, self._why_section = Section(self.tr("When")), Section(self.tr("Why"))
        self._when_section.column.addWidget(self._schedule)
        self._why_section.column.addWidget(self._why)
        column.addWidget(self._when_section)
        for late in (self._before, self._starts_only, self._hint):
            column.addLayout(late.place)
        column.addWidget(self._next)
        column.addWidget(self._why_section)
        column.addLayout(self._after.place)
        for lower in (self._today, self._recent, self._output):
            column.addWidget(lower)

    def _make_hint(self) -> Hint:
        made = Hint(self._appearance)
        made.clear_wanted.connect(self.clear_hints_wanted)
        return made

    def _make_before(self) -> RunsAfter:
        made = RunsAfter(self._appearance)
        made.cancel_wanted.connect(self.cancel_wanted)
        made.job_wanted.connect(self.job_wanted)
        return made

    def _make_after(self) -> ThenRuns:
        made = ThenRuns(self._appearance)
        made.job_wanted.connect(self.job_wanted)
        return made

    @cached_property
    def _asked(self) -> AskedNote:
        made = AskedNote(self._appearance)
        made.answer_wanted.connect(self.answer_wanted)
        self._asked_place.addWidget(made)
        return made

    def _fold(self) -> None:
        for links in (self._before.made, self._after.made):
            if links is not None:
                links.fold()

    def scroll_to_top(self) -> None:
        self._area.verticalScrollBar().setValue(0)

    def show_job(self, details: JobDetails, now_ms: int) -> None:
        """Show a job; until its details are loaded, show what the table has."""
        job = details.job
        if job.id != self._shown_id:
            self._shown_id = job.id
            self._fold()
        self._name.set_text(job.name)
        self._mark.set_mark(job_mark(details.situation))
        self._buttons.fit()
        self._description.set_text(job.description.strip())
        self._streak.set_text(streak_sentence(job))
        if details.questions or "_asked" in vars(self):
            self._asked.show_questions(details.questions)
        self._review.show_sentence(_sentences(details.notes))
        advice = status_advice(details.situation)
        self._advice.show_sentence(advice)
        self._what.show_job(job, details.default_agent)
        self._today.show_usage(details.usage)
        self._schedule.set_text(schedule_words(job.schedule))
        # The jobs that trigger it have their own section.
        self._when_section.setVisible(not isinstance(job.schedule, Manual) or not details.chain.before)
        if job.policy.conditions or self._starts_only.made is not None:
            self._starts_only.get().show_policy(job.policy)
        if details.chain.after or self._after.made is not None:
            self._after.get().show_after(details.chain.after, details.caused_waits)
        # The advice says why already, and a manual job needs no reason.
        why = () if advice or isinstance(job.schedule, Manual) else details.why
        self._why.set_text("\n".join(why))
        self._why_section.setVisible(bool(why))
        self._output_run_id = details.output_run_id
        self._output.show_output(
            details.output,
            has_run=details.output_run_id is not None,
            is_running=details.running is not None,
        )
        self.show_times(details, now_ms)

    def show_times(self, details: JobDetails, now_ms: int) -> None:
        """Update the relative times."""
        situation, before = details.situation, details.chain.before
        asks, waiting = situation.question is not None, situation.waiting
        self._status.set_text(live_status(situation, now_ms, details.running))
        # A run that another job triggered is shown beside that job.
        is_own = waiting is not None and not details.chain_waits
        sentences = (
            [*waiting_sentences(waiting, now_ms), *self._ways_out(waiting)]
            if is_own and waiting is not None
            else []
        )
        self._waiting.show_sentence(" ".join(sentences))
        if before or details.chain_waits or self._before.made is not None:
            self._before.get().show_before(before, details.chain_waits, now_ms, waiting)
        if details.job.hints.expires_at is not None or self._hint.made is not None:
            self._hint.get().show_hint(details.job, now_ms)
        self._order_stops()
        waits = waiting is not None
        # A waiting run is explained elsewhere, and with an open question runs are skipped anyway.
        quiet = {
            at: quiet_words(details.job, one, now_ms)
            for at, one in details.quiet.items()
            if at > now_ms and not asks
        }
        following = following_words(details.job.schedule)
        self._next.show_times(
            details.next_runs,
            now_ms,
            asks=asks,
            waits=waits,
            skips=details.job.skips_next,
            quiet=quiet,
            following=following,
        )
        self._recent.show_runs(details.runs, now_ms)

    def _ways_out(self, waiting: Waiting) -> Iterator[str]:
        """Return which button starts a run at once, and what that ignores."""
        if waiting.may_pass_group:
            yield self.tr("“Start anyway” ignores the limit of its group, but not the limit for all jobs.")
        elif waiting.kind in (WaitingFor.CONDITION, WaitingFor.QUIET_TIME):
            yield self.tr("“Run now” ignores conditions and quiet hours.")

    def waits(self, now_ms: int) -> Iterator[int | None]:
        yield from self._next.waits(now_ms)
        yield from self._recent.waits(now_ms)
        if self._hint.made is not None:
            yield from self._hint.made.waits(now_ms)

    def _order_stops(self) -> None:
        """Put late sections into the tab order."""
        made = (self._before.made, self._hint.made, self._after.made)
        stops = [stop for part in made if part is not None for stop in part.stops]
        if stops == self._stops:
            return
        self._stops = stops
        for before, after in pairwise([self._buttons.last, *stops]):
            QWidget.setTabOrder(before, after)

    def _open_output(self) -> None:
        if self._output_run_id is not None:
            self.run_wanted.emit(self._output_run_id)
