"""The panel at the right: the schedule in words, its next runs, and notes on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from halo_scheduler.errors import ScheduleError, SchedulerError
from halo_scheduler.grammar.english import clock_time, counted
from halo_scheduler.grammar.zone import local_time
from halo_scheduler.model import Situation
from halo_scheduler.model.settings import Quiet, QuietTime
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.wording.lint import Severity
from halo_scheduler.wording.measures import dated_moment, full_moment
from halo_scheduler.wording.schedules import distance_in_words, local_words
from ui.backend.backend import Asked, Backend
from ui.style.marks import Mark, Shape
from ui.style.theme import GRID, HALF, MARGIN, Appearance, Tone, number_font, scaled, strong_font
from ui.style.wording import one_line, plain_tooltip, sentence_case
from ui.widgets.arrange import show_if
from ui.widgets.labels import WrappedText, label
from ui.widgets.signs import MarkSign

from .month_strip import MonthStrip
from .preview import SHOWN_RUNS, Month, Preview, preview_schedule
from .reading import Reading

PANEL_WIDTH = 280
_LONGEST_NAME = 40
_SEVERITIES = {
    Severity.INFO: Mark(Shape.RING, Tone.ACCENT),
    Severity.WARNING: Mark(Shape.TRIANGLE, Tone.WARN),
    Severity.ERROR: Mark(Shape.SQUARE, Tone.ERROR),
}


class PlanPreview(QObject):
    """Computes the preview in the background and shows the latest one."""

    words_found = Signal(str)
    """The schedule in words."""

    def __init__(self, backend: Backend, side: SidePanel, job_id: str | None, parent: QObject) -> None:
        super().__init__(parent)
        self._backend = backend
        self._job_id = job_id
        self._side = side
        self._asked: Asked | None = None
        self._is_enabled = True

    def refresh(self, reading: Reading, quiet_times: Sequence[QuietTime]) -> None:
        """Update the preview from the current values of the form."""
        if self._asked is not None:
            self._asked.cancel()
        self._is_enabled = reading.is_enabled
        when, policy, options = reading.when, reading.policy, reading.options
        if when is None:
            self._side.show_nothing()
            return
        now_ms = self._backend.now_ms()
        self._asked = self._backend.ask(
            lambda scheduler: preview_schedule(
                scheduler.jobs.look_up_days(when.schedule, self._job_id),
                now_ms,
                anchor_at=when.anchor_at,
                policy=policy,
                group=None if options is None else options.group,
                quiet_times=quiet_times,
                situation=_situation(scheduler, self._job_id),
            ),
            self._show,
            self._show_error,
            owner=self,
        )

    def _show(self, preview: Preview) -> None:
        self._side.show_preview(preview, is_enabled=self._is_enabled)
        self.words_found.emit(" · ".join(filter(None, (preview.pause, preview.words))))

    def _show_error(self, error: SchedulerError) -> None:
        self._side.show_nothing(error.message if isinstance(error, ScheduleError) else str(error))


def _situation(scheduler: Scheduler, job_id: str | None) -> Situation | None:
    return None if job_id is None else scheduler.jobs.situations([job_id]).get(job_id)


class _RunLabels(NamedTuple):
    """The labels of one run."""

    absolute: QLabel
    relative: QLabel
    local: QLabel


class SidePanel(QScrollArea):
    """Shows the preview while the user edits."""

    def __init__(self, appearance: Appearance) -> None:
        super().__init__()
        self.setObjectName("sidePanel")
        self.setAccessibleName(self.tr("Preview"))
        self.setFixedWidth(scaled(PANEL_WIDTH))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._appearance = appearance
        self._words = label("", name="scheduleWords", wrap=True)
        self._words.setFont(strong_font(self._words.font()))
        self._remark = label("", "muted", name="scheduleRemark", wrap=True)
        self._runs_title = label(self.tr("Next runs"), "small", name="nextRunsTitle", wrap=True)
        self._runs = QGridLayout()
        self._runs.setContentsMargins(0, 0, 0, 0)
        self._runs.setHorizontalSpacing(GRID)
        self._runs.setVerticalSpacing(HALF)
        self._runs.setColumnStretch(1, 1)
        self._run_labels = [self._run_row(row) for row in range(SHOWN_RUNS)]
        self._notes_title = label(self.tr("Good to know"), "small")
        self._notes = QVBoxLayout()
        self._notes.setContentsMargins(0, 0, 0, 0)
        self._notes.setSpacing(GRID + HALF)
        self._note_widgets: list[QWidget] = []
        self._calendar_title = label(self.tr("Calendar"), "small", name="monthsTitle")
        self._calendar = MonthStrip(appearance)
        canvas = QWidget()
        canvas.setAccessibleName(self.tr("Preview"))
        layout = QVBoxLayout(canvas)
        layout.setContentsMargins(MARGIN, GRID * 3, MARGIN, MARGIN)
        layout.setSpacing(GRID)
        layout.addWidget(label(self.tr("Schedule"), "small"))
        layout.addWidget(self._words)
        layout.addWidget(self._remark)
        layout.addSpacing(GRID)
        layout.addWidget(self._runs_title)
        layout.addLayout(self._runs)
        layout.addSpacing(GRID)
        layout.addWidget(self._notes_title)
        layout.addLayout(self._notes)
        layout.addSpacing(GRID)
        layout.addWidget(self._calendar_title)
        layout.addWidget(self._calendar)
        layout.addStretch(1)
        self.setWidget(canvas)
        self._remark.hide()
        self._hide_runs()
        self._show_notes(())
        self._show_months(())

    def _run_row(self, row: int) -> _RunLabels:
        absolute = label("", name=f"nextRun{row}")
        absolute.setFont(number_font(absolute.font()))
        relative = label("", "muted", name=f"nextRunIn{row}")
        relative.setAlignment(Qt.AlignmentFlag.AlignRight)
        local = label("", "small", name=f"nextRunLocal{row}")
        self._runs.addWidget(absolute, row * 2, 0)
        self._runs.addWidget(relative, row * 2, 1)
        self._runs.addWidget(local, row * 2 + 1, 0, 1, 2)
        return _RunLabels(absolute, relative, local)

    def show_nothing(self, error: str = "") -> None:
        """Show that there is no valid schedule yet, or why it has no preview."""
        self._words.setText(self.tr("No preview") if error else self.tr("No schedule yet"))
        self._remark.setText(sentence_case(error) if error else self.tr("Upcoming runs appear here."))
        self._remark.show()
        self._hide_runs()
        self._show_notes(())
        self._show_months(())

    def show_preview(self, preview: Preview, *, is_enabled: bool) -> None:
        """Show the preview of a schedule."""
        self._words.setText(preview.words)
        self._show_runs(preview, is_enabled=is_enabled)
        notes = [(note.severity, note.message) for note in preview.notes]
        notes += [(Severity.INFO, words) for words in self._waiting_notes(preview)]
        if preview.capped_at is not None:
            # Runs without a work item do not count, so the number of due runs is not shown.
            words = self.tr("After {runs} in a day, further ones are skipped until midnight.")
            notes.append((Severity.INFO, words.format(runs=counted(preview.capped_at, "run"))))
        self._show_notes(notes)
        self._show_months(preview.months)
        remark = ""
        if not is_enabled:
            remark = self.tr("The job is disabled and only runs manually.")
        elif preview.pause:
            remark = self.tr("The job is {pause}.").format(pause=preview.pause)
        elif preview.is_after:
            remark = self.tr("Later runs depend on how long each one takes.")
        elif preview.has_event:
            remark = self.tr("Events start it when they happen.")
        elif not preview.runs:
            remark = self.tr("No runs scheduled.")
        self._remark.setText(remark)
        show_if(self._remark, bool(remark))

    def _waiting_notes(self, preview: Preview) -> list[str]:
        """Return notes on what delays or skips its runs."""
        found = []
        if preview.waits_for:
            found.append(
                self.tr("When due, the job waits for {what}.").format(what=one_line(preview.waits_for))
            )
        if len(preview.quiet) == 1:
            at, quiet = preview.quiet[0]
            words = (
                self.tr("The {when} run falls in {quiet} and will be skipped.")
                if preview.is_left_out
                else self.tr("The {when} run falls in {quiet} and waits until {end}.")
            )
            found.append(
                words.format(
                    when=dated_moment(at, preview.now_ms),
                    quiet=self._quiet_name(quiet),
                    end=clock_time(local_time(quiet.until)),
                )
            )
        elif preview.quiet:
            words = (
                self.tr("{count} of these runs fall in {quiet} and will be skipped.")
                if preview.is_left_out
                else self.tr("{count} of these runs fall in {quiet} and wait until they end.")
            )
            quiet = preview.quiet[0][1]
            found.append(words.format(count=len(preview.quiet), quiet=self._quiet_name(quiet)))
        return found

    def _quiet_name(self, quiet: Quiet) -> str:
        if not quiet.by.name:
            return self.tr("quiet hours")
        return self.tr("the quiet hours “{name}”").format(name=one_line(quiet.by.name, _LONGEST_NAME))

    def _hide_runs(self) -> None:
        for row in (self._runs_title, *(one for labels in self._run_labels for one in labels)):
            row.hide()

    def _show_runs(self, preview: Preview, *, is_enabled: bool) -> None:
        self._hide_runs()
        self._runs_title.setText(self._title(preview, is_enabled=is_enabled))
        show_if(self._runs_title, bool(preview.runs))
        for at, labels in zip(preview.runs, self._run_labels, strict=False):
            labels.absolute.setText(dated_moment(at, preview.now_ms, preview.timezone))
            labels.absolute.setToolTip(plain_tooltip(full_moment(at)))
            labels.absolute.show()
            # Nobody knows when a job without an end of its pause runs.
            if is_enabled and not preview.is_pause_open:
                labels.relative.setText(distance_in_words(at, preview.now_ms))
                labels.relative.show()
            local = local_words(at, preview.timezone)
            labels.local.setText(self.tr("{time} local time").format(time=local))
            show_if(labels.local, bool(local))

    def _title(self, preview: Preview, *, is_enabled: bool) -> str:
        if not is_enabled:
            words = self.tr("Next runs once enabled")
        elif preview.is_pause_open:
            words = self.tr("Next runs once resumed")
        else:
            words = self.tr("Next runs")
        is_elsewhere = any(local_words(at, preview.timezone) for at in preview.runs)
        return f"{words} ({preview.timezone})" if is_elsewhere else words

    def _show_months(self, months: tuple[Month, ...]) -> None:
        self._calendar.show_months(months)
        for part in (self._calendar_title, self._calendar):
            show_if(part, bool(months))

    def _show_notes(self, notes: Sequence[tuple[Severity, str]]) -> None:
        show_if(self._notes_title, bool(notes))
        for widget in self._note_widgets:
            self._notes.removeWidget(widget)
            widget.hide()
            widget.deleteLater()
        self._note_widgets = [_NoteRow(self._appearance, *note, index) for index, note in enumerate(notes)]
        for widget in self._note_widgets:
            self._notes.addWidget(widget)


class _NoteRow(QWidget):
    """A note with the mark of its severity."""

    def __init__(self, appearance: Appearance, severity: Severity, message: str, index: int) -> None:
        super().__init__()
        self.setObjectName(f"note{index}")
        words = {
            Severity.INFO: self.tr("Note"),
            Severity.WARNING: self.tr("Warning"),
            Severity.ERROR: self.tr("Error"),
        }[severity]
        self.setAccessibleName(f"{words}: {message}")
        text = WrappedText(appearance, name=f"noteText{index}")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GRID)
        sign = MarkSign(appearance, _SEVERITIES[severity], words)
        layout.addWidget(sign, alignment=Qt.AlignmentFlag.AlignTop)
        layout.addWidget(text, 1)
        # Only after it has a parent: otherwise it would be shown as a window.
        text.set_text(message)
