"""The status strip: where the engine runs, the next run, and a button that pauses all jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QRectF, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QWidget

from halo_scheduler.model.alarms import StoreTrouble
from halo_scheduler.wording.faults import trouble_title
from ui.style.marks import Mark, Shape, paint_mark
from ui.style.theme import GRID, MARGIN, Appearance, Tone

from .labels import WrappedText, button, frame, set_words, tint
from .pauses import PauseChoice, add_pause_choices

_MARK = 10
# Pause and Resume share the shortcut, as only one of them is visible.
_PAUSE_KEYS = "Ctrl+Shift+P"


@dataclass(frozen=True, slots=True)
class EngineShown:
    """Where the engine runs: in this program, in another one, nowhere, or starting here."""

    kind: Literal["here", "elsewhere", "none", "starting", "stopping"]
    text: str = ""
    can_start: bool = False


@dataclass(frozen=True, slots=True)
class Summary:
    """The numbers that the strip shows."""

    running: int = 0
    failing: int = 0
    paused: int = 0
    ready: int = 0
    waiting: str = ""
    """The due jobs that wait, and for what."""
    next_name: str = ""
    next_when: str = ""

    @property
    def is_all_paused(self) -> bool:
        """Whether every enabled job is paused."""
        return self.paused > 0 and self.ready == 0


class MarkLabel(QWidget):
    """A mark beside a text."""

    def __init__(self, appearance: Appearance, size: int = _MARK) -> None:
        super().__init__()
        self._appearance = appearance
        self._mark = Mark(Shape.RING, Tone.MUTED)
        self.setFixedSize(size, size)
        appearance.changed.connect(self.update)

    def set_mark(self, mark: Mark) -> None:
        if mark != self._mark:
            self._mark = mark
            self.update()

    # --- Qt -----------------------------------------------------------------------------------------

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        paint_mark(
            QPainter(self), QRectF(self.rect()), self._mark.shape, self._appearance.colour(self._mark.tone)
        )


_ENGINE_MARKS = {
    "here": Mark(Shape.CIRCLE, Tone.OK),
    "elsewhere": Mark(Shape.CIRCLE, Tone.OK),
    "starting": Mark(Shape.RING, Tone.MUTED),
    "stopping": Mark(Shape.RING, Tone.MUTED),
    "none": Mark(Shape.TRIANGLE, Tone.WARN),
}


class StatusStrip(QWidget):
    """Status on the left, failures and the pause button on the right."""

    pause_wanted = Signal(object)
    """A PauseChoice."""
    resume_wanted = Signal()
    failing_wanted = Signal()
    start_wanted = Signal()

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("statusStrip")
        # The height stays the same with and without the buttons.
        self.setMinimumHeight(5 * GRID)
        self._appearance = appearance
        self._engine = EngineShown("starting")
        self._summary = Summary()
        self._trouble = ""
        outer = QHBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        box = frame("bar")
        outer.addWidget(box)
        row = QHBoxLayout(box)
        row.setContentsMargins(MARGIN, GRID // 2, GRID, GRID // 2)
        row.setSpacing(GRID)
        self._mark = MarkLabel(appearance)
        row.addWidget(self._mark)
        self._words = WrappedText(appearance, name="statusWords", most_lines=1)
        row.addWidget(self._words, 1)
        self._start = button(
            self.tr("Start"), name="startEngineButton", kind="link", tip=self.tr("Run jobs in this window")
        )
        self._start.clicked.connect(self.start_wanted)
        row.addWidget(self._start)
        self._failing = button(
            "",
            name="failingButton",
            kind="link",
            tip=self.tr("Show failing jobs"),
            shortcut="Ctrl+Shift+F",
        )
        self._failing.clicked.connect(self.failing_wanted)
        self._failing.setVisible(False)
        row.addWidget(self._failing)
        self._add_pause(appearance, row)
        self._show()

    def _add_pause(self, appearance: Appearance, row: QHBoxLayout) -> None:
        self._resume = button(
            self.tr("Resume all"), name="resumeAllButton", kind="quiet", shortcut=_PAUSE_KEYS
        )
        tint(self._resume, appearance, "resume")
        self._resume.clicked.connect(self.resume_wanted)
        row.addWidget(self._resume)
        self._pause = button(
            self.tr("Pause all"),
            name="pauseAllButton",
            kind="quiet",
            tip=self.tr("Pause all jobs until I resume"),
            shortcut=_PAUSE_KEYS,
        )
        tint(self._pause, appearance, "pause")
        self._pause.clicked.connect(lambda: self.pause_wanted.emit(PauseChoice.UNTIL_RESUMED))
        row.addWidget(self._pause)
        self._menu = QMenu(self)
        self._menu.setObjectName("pauseAllMenu")
        add_pause_choices(self._menu, self.pause_wanted.emit)
        self._longer = button(
            "",
            name="pauseAllMenuButton",
            kind="quiet",
            accessible=self.tr("Pause all for…"),
            tip=self.tr("Pause all for…"),
            shortcut="Ctrl+Alt+P",
        )
        tint(self._longer, appearance, "chevron-up")
        self._longer.setMenu(self._menu)
        row.addWidget(self._longer)

    def show_engine(self, engine: EngineShown) -> None:
        self._engine = engine
        self._show()

    def show_trouble(self, trouble: StoreTrouble | None) -> None:
        """Show why no runs start; None clears it."""
        self._trouble = "" if trouble is None else trouble_title(trouble)
        self._show()

    def show_summary(self, summary: Summary) -> None:
        self._summary = summary
        self._show()

    def _show(self) -> None:
        summary, engine = self._summary, self._engine
        mark = _ENGINE_MARKS[engine.kind]
        if engine.kind in ("here", "elsewhere"):
            if summary.running:
                mark = Mark(Shape.PLAY, Tone.RUNNING)
            elif summary.is_all_paused:
                mark = Mark(Shape.BARS, Tone.PAUSED)
        if self._trouble:
            mark = Mark(Shape.SQUARE, Tone.ERROR)
        self._mark.set_mark(mark)
        self._words.set_text(self._sentence())
        self._start.setVisible(engine.can_start)
        self._failing.setVisible(summary.failing > 0)
        set_words(self._failing, self._failing_words(summary.failing))
        self._failing.setAccessibleName(self._failing.text())
        can_pause = summary.ready + summary.running > 0 and not summary.is_all_paused
        self._resume.setVisible(summary.is_all_paused)
        self._pause.setVisible(can_pause)
        self._longer.setVisible(can_pause)

    def _failing_words(self, count: int) -> str:
        return self.tr("{count} failing").format(count=count)

    def _sentence(self) -> str:
        summary = self._summary
        if self._trouble:
            return " · ".join([self._trouble, self._doing()] if summary.running else [self._trouble])
        if self._engine.kind == "none":
            return self._engine.text or self.tr("Nothing is running your jobs.")
        if self._engine.kind == "starting":
            return self._engine.text or self.tr("Starting…")
        parts = [self._doing()]
        if self._engine.kind == "stopping":
            return " · ".join([*parts, self.tr("no other jobs start: Halo is quitting")])
        if summary.waiting:
            parts.append(summary.waiting)
        if summary.next_name:
            parts.append(
                self.tr("next: {name} {when}").format(name=summary.next_name, when=summary.next_when)
            )
        if self._engine.text:
            parts.append(self._engine.text)
        return " · ".join(parts)

    def _doing(self) -> str:
        if self._summary.running == 1:
            return self.tr("Running 1 job")
        if self._summary.running:
            return self.tr("Running {count} jobs").format(count=self._summary.running)
        return self.tr("All jobs are paused") if self._summary.is_all_paused else self.tr("Idle")
