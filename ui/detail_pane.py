"""The pane beside the job table: everything about the selected job, or about the selection as a whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import chain
from operator import attrgetter

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QMenu,
    QPushButton,
    QScrollArea,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from halo_scheduler.model import Job, Run
from halo_scheduler.schedule.interval import SECOND_MS
from halo_scheduler.service import Scheduler

from .backend import Asked, Backend
from .detail_sections import NextRuns, OutputTail, RecentRuns, Section
from .job_actions import JobActions, is_resting
from .job_details import JobDetails, read_details
from .job_words import hint_sentence, status_sentence, streak_sentence
from .marks import job_mark
from .models.job_rows import schedule_words
from .theme import GRID, HALF, MARGIN, Look, Tone, title_font
from .widgets.labels import button, frame, icon_button, label, tint
from .widgets.line_icon import LineIcon
from .widgets.status_strip import MarkLabel
from .widgets.wrapped_text import WrappedText
from .wording import status_words

_LATE_MS = 120
# What makes a job's status words: taken from thousands of jobs, the words made for a few.
_STATUS = attrgetter("status", "status_reason", "waiting_for", "errors")


class DetailPane(QWidget):
    """Shows what is selected; asks for it itself, one question at a time."""

    run_wanted = Signal(str)
    times_changed = Signal()
    """Other times are shown than before."""

    def __init__(
        self, backend: Backend, look: Look, actions: JobActions, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("detailPane")
        self._backend = backend
        self._look = look
        self._jobs: tuple[Job, ...] = ()
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
        self._one = OneJob(look, actions, self._pages)
        self._pages.addWidget(self._one)
        self._one.run_wanted.connect(self.run_wanted)
        self._one.clear_hints_wanted.connect(self._clear_hints)
        self.setMinimumWidth(280)

    @cached_property
    def _several(self) -> SeveralJobs:
        made = SeveralJobs(self._look, self._actions)
        self._pages.addWidget(made)
        return made

    @cached_property
    def _nothing(self) -> QWidget:
        page = QWidget()
        column = QVBoxLayout(page)
        column.setSpacing(GRID)
        column.addStretch(2)
        column.addWidget(LineIcon(self._look, "info", Tone.MUTED, 24), 0, Qt.AlignmentFlag.AlignHCenter)
        words = label(
            self.tr("Select a job to see what it does, when it runs next, and why."), "muted", wrap=True
        )
        words.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        words.setContentsMargins(MARGIN * 2, 0, MARGIN * 2, 0)
        column.addWidget(words)
        column.addStretch(3)
        self._pages.addWidget(page)
        return page

    # --- What is shown ------------------------------------------------------------------------------

    def show_jobs(self, jobs: Iterable[Job]) -> None:
        """Show these; of a single one that is already shown, what it is now."""
        before = self._shown_id()
        self._jobs = tuple(jobs)
        if len(self._jobs) > 1:
            self._several.show_jobs(self._jobs)
        self._turn_page()
        if len(self._jobs) != 1:
            self._details = None
            self.times_changed.emit()
            return
        if self._jobs[0].id != before:
            self._details = None
            # Most answers come at once; only for a late one half of it is shown meanwhile.
            self._late.start()
        self.refresh()

    def _turn_page(self) -> None:
        if len(self._jobs) > 1:
            self._pages.setCurrentWidget(self._several)
        else:
            self._pages.setCurrentWidget(self._one if self._jobs else self._nothing)

    def refresh(self) -> None:
        """Ask for the shown job anew; while an answer is awaited, once more after it."""
        job_id = self._shown_id()
        if job_id is None or not self.isVisible():
            return
        if self._asked is not None:
            self._is_dirty = True
            return
        self._is_dirty = False

        def read(scheduler: Scheduler) -> JobDetails | None:
            return read_details(scheduler, job_id)

        self._asked = self._backend.ask(read, self._take, lambda _error: self._take(None), owner=self)

    def count_seconds(self) -> None:
        """Show the times as they are now; of a run under way also how far it has come and what it says."""
        if self._details is None:
            return
        self._one.show_times(self._details, self._backend.now_ms())
        if self._details.running is not None:
            self.refresh()

    def waits(self, now_ms: int) -> Iterator[int | None]:
        """Return for how long each shown time stays true."""
        if self._details is None or not self.isVisible():
            return iter(())
        return chain(self._one.waits(now_ms), self._run_waits(self._details.running, now_ms))

    @staticmethod
    def _run_waits(run: Run | None, now_ms: int) -> Iterator[int | None]:
        if run is not None and run.started_at is not None:
            yield SECOND_MS - (now_ms - run.started_at) % SECOND_MS

    def _shown_id(self) -> str | None:
        return self._jobs[0].id if len(self._jobs) == 1 else None

    def _show_what_is_known(self) -> None:
        if len(self._jobs) == 1 and self._details is None:
            self._one.show_job(JobDetails(job=self._jobs[0]), self._backend.now_ms())

    def _take(self, details: JobDetails | None) -> None:
        self._asked = None
        if details is not None and details.job.id == self._shown_id():
            is_another = self._details is None
            self._late.stop()
            self._details = details
            self._one.show_job(details, self._backend.now_ms())
            if is_another:
                self._one.scroll_to_top()
            self.times_changed.emit()
        elif details is not None:
            self._is_dirty = True
        if self._is_dirty:
            self.refresh()

    def _clear_hints(self) -> None:
        job_id = self._shown_id()
        if job_id is not None:
            self._backend.ask(lambda scheduler: scheduler.clear_hints(job_id), owner=self)

    # --- Qt -----------------------------------------------------------------------------------------

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        super().showEvent(event)
        self.refresh()


class _ActionButtons(QWidget):
    """The common actions as buttons, the others behind a menu; where room is short only the first has words."""

    def __init__(self, look: Look, actions: JobActions, prefix: str) -> None:
        super().__init__()
        self._actions = actions
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID)
        self._run = self._button(look, actions.run, "run", f"{prefix}Run")
        self._stop = self._button(look, actions.stop, "stop", f"{prefix}Stop")
        self._edit = self._button(look, actions.edit, "edit", f"{prefix}Edit")
        self._pause = self._button(look, actions.pause, "pause", f"{prefix}Pause")
        self._resume = self._button(look, actions.resume, "resume", f"{prefix}Resume")
        self._all = (self._run, self._stop, self._edit, self._pause, self._resume)
        self._texts = [one.text() for one in self._all]
        for one in self._all:
            row.addWidget(one)
        row.addStretch(1)
        self._more = icon_button(
            look, "more", self.tr("More actions"), name=f"{prefix}More", shortcut="Ctrl+M"
        )
        self._more.setPopupMode(self._more.ToolButtonPopupMode.InstantPopup)
        self._menu = QMenu(self._more)
        self._menu.aboutToShow.connect(self._fill)
        self._more.setMenu(self._menu)
        row.addWidget(self._more)

    def _button(self, look: Look, action: QAction, icon: str, name: str) -> QPushButton:
        made = button(action.text().rstrip("…"), name=name, tip=" ")
        made.setToolTip(action.toolTip())
        tint(made, look, icon)
        made.clicked.connect(action.trigger)
        return made

    def fit(self) -> None:
        """Offer what can be done with the selection."""
        actions = self._actions
        self._run.setVisible(actions.run.isEnabled())
        self._stop.setVisible(actions.stop.isEnabled())
        self._edit.setVisible(actions.edit.isEnabled())
        is_resting_all = all(is_resting(job) for job in actions.jobs)
        self._pause.setVisible(not is_resting_all)
        self._resume.setVisible(is_resting_all or (len(actions.jobs) > 1 and actions.resume.isEnabled()))

        self._fit_texts()

    def _fit_texts(self) -> None:
        shown = [(one, text) for one, text in zip(self._all, self._texts, strict=True) if not one.isHidden()]
        for one, text in shown:
            one.setText(text)
        room = self.width() - self._more.sizeHint().width()
        if sum(one.sizeHint().width() + GRID for one, _ in shown) > room:
            for one, _ in shown[1:]:
                one.setText("")

    def _fill(self) -> None:
        self._menu.clear()
        self._actions.fill_menu(self._menu)

    # --- Qt -----------------------------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        self._fit_texts()

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        return QSize(0, super().minimumSizeHint().height())


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
    """One job: what it does, when it runs next and why, how it went."""

    run_wanted = Signal(str)
    clear_hints_wanted = Signal()

    def __init__(self, look: Look, actions: JobActions, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._output_run_id: str | None = None
        self._mark = MarkLabel(look)
        self._name = WrappedText(look, name="detailName", font=title_font(self.font()), most_lines=3)
        self._status = WrappedText(look, name="detailStatus", tone=Tone.MUTED)
        self._buttons = _ActionButtons(look, actions, "detail")
        self._description = WrappedText(look, name="detailDescription", most_lines=6)
        self._streak = WrappedText(look, name="detailStreak", tone=Tone.ERROR)
        self._schedule = WrappedText(look, name="detailSchedule")
        self._why = WrappedText(look, name="detailWhy")
        self._next = NextRuns()
        self._recent = RecentRuns(look)
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
        column.addWidget(self._description)
        column.addWidget(self._streak)
        column.addWidget(self._hints())
        for title, content in ((self.tr("When"), self._schedule), (self.tr("Why"), self._why)):
            section = Section(title)
            section.column.addWidget(content)
            column.addWidget(section)
            if content is self._schedule:
                column.addWidget(self._next)
        self._why_section = self._why.parentWidget()
        for part in (self._recent, self._output):
            column.addWidget(part)

    def _hints(self) -> QWidget:
        self._hint_box = frame("note")
        self._hint_box.setObjectName("hintNote")
        row = QHBoxLayout(self._hint_box)
        row.setContentsMargins(GRID, HALF, HALF, HALF)
        self._hint = WrappedText(self._look, name="detailHint")
        row.addWidget(self._hint, 1)
        clear = button(
            self.tr("Clear"), name="clearHintsButton", kind="link", tip=self.tr("Forget this advice")
        )
        clear.clicked.connect(self.clear_hints_wanted)
        row.addWidget(clear)
        self._hint_box.setVisible(False)
        return self._hint_box

    def scroll_to_top(self) -> None:
        self._area.verticalScrollBar().setValue(0)

    def show_job(self, details: JobDetails, now_ms: int) -> None:
        """Show a job; until all of it was read, what the table knows."""
        job = details.job
        self._name.set_text(job.name)
        self._mark.set_mark(job_mark(job))
        self._buttons.fit()
        self._description.set_text(job.description.strip())
        self._streak.set_text(streak_sentence(job))
        self._schedule.set_text(schedule_words(job.schedule))
        self._why.set_text("\n".join(details.why))
        if self._why_section is not None:
            self._why_section.setVisible(bool(details.why))
        self._output_run_id = details.output_run_id
        self._output.show_output(
            details.output,
            has_run=details.output_run_id is not None,
            is_running=details.running is not None,
        )
        self.show_times(details, now_ms)

    def show_times(self, details: JobDetails, now_ms: int) -> None:
        """Show the times as they are now."""
        self._status.set_text(status_sentence(details.job, now_ms, details.running))
        hint = hint_sentence(details.job, now_ms)
        self._hint_box.setVisible(bool(hint))
        self._hint.set_text(hint)
        self._next.show_times(details.next_runs, now_ms)
        self._recent.show_runs(details.runs, now_ms)

    def waits(self, now_ms: int) -> Iterator[int | None]:
        yield from self._next.waits(now_ms)
        yield from self._recent.waits(now_ms)

    def _open_output(self) -> None:
        if self._output_run_id is not None:
            self.run_wanted.emit(self._output_run_id)


class SeveralJobs(QWidget):
    """A selection of several jobs: how many, what they do, what can be done with all of them."""

    def __init__(self, look: Look, actions: JobActions) -> None:
        super().__init__()
        self._title = WrappedText(look, name="severalTitle", font=title_font(self.font()))
        self._counts = WrappedText(look, name="severalCounts", tone=Tone.MUTED)
        self._buttons = _ActionButtons(look, actions, "several")
        column = QVBoxLayout(self)
        column.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
        column.setSpacing(GRID)
        column.addWidget(self._title)
        column.addWidget(self._counts)
        column.addSpacing(HALF)
        column.addWidget(self._buttons)
        column.addStretch(1)

    def show_jobs(self, jobs: tuple[Job, ...]) -> None:
        self._title.set_text(self.tr("{count} jobs selected").format(count=len(jobs)))
        statuses = list(map(_STATUS, jobs))
        alike = dict(zip(statuses, jobs, strict=True))
        counts = Counter(statuses)
        lines = (f"{count} × {status_words(alike[status])}" for status, count in counts.most_common())
        self._counts.set_text("\n".join(lines))
        self._buttons.fit()
