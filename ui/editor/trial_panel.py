"""The panel of a test run: elapsed time, output and outcome."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QFrame, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from halo_scheduler.model import Outcome, Proposal, SkipReason
from halo_scheduler.wording.jobs import proposal_words
from halo_scheduler.wording.measures import amount_words, took_words
from ui.style.marks import outcome_mark
from ui.style.theme import GRID, MARGIN, Appearance, number_font
from ui.style.wording import one_line, outcome_words, plain_tooltip, reason_words
from ui.widgets.labels import button, frame, icon_button, label, set_role
from ui.widgets.output_view import OutputView
from ui.widgets.signs import MarkSign

from .summary import joined

_HEIGHT = 232
_TICK_MS = 500
_MARK = 12
_STOP_KEYS = "Ctrl+."


class TrialEnd(Protocol):
    """The end of a test run, stored or not."""

    @property
    def outcome(self) -> Outcome: ...
    @property
    def error(self) -> str: ...
    @property
    def reason(self) -> SkipReason | None: ...
    @property
    def note(self) -> str: ...
    @property
    def exit_code(self) -> int | None: ...
    @property
    def http_status(self) -> int | None: ...
    @property
    def cost(self) -> float | None: ...
    @property
    def proposal(self) -> Proposal | None: ...


class TrialPanel(QFrame):
    """Shows one test run at a time."""

    stop_requested = Signal()
    closed = Signal()

    def __init__(self, now_ms: Callable[[], int], appearance: Appearance, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("trialPanel")
        self.setProperty("role", "bar")
        self.setAccessibleName(self.tr("Test run"))
        self._now_ms = now_ms
        self._began_at = 0
        self._is_running = False
        self._mark = MarkSign(appearance, outcome_mark(Outcome.RUNNING), size=_MARK)
        self._words = label("", "strong", name="trialWords")
        self._words.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._elapsed = label("", "muted", name="trialElapsed")
        self._elapsed.setFont(number_font(self._elapsed.font()))
        self._stop = button(
            self.tr("Stop"),
            name="trialStop",
            kind="danger",
            tip=self.tr("Stop the test run"),
            shortcut=_STOP_KEYS,
        )
        self._stop.setAutoDefault(False)
        self._close = icon_button(
            appearance, "close", self.tr("Close the test run"), name="trialClose", shortcut="Ctrl+Shift+W"
        )
        self._output = OutputView(appearance)
        self._output.setMinimumHeight(MARGIN * 4)
        head = QHBoxLayout()
        head.setContentsMargins(MARGIN, 0, GRID, 0)
        head.setSpacing(GRID)
        for widget in (self._mark, self._words, self._elapsed, self._stop, self._close):
            head.addWidget(widget, 1 if widget is self._words else 0)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, GRID, 0, 0)
        layout.setSpacing(GRID)
        layout.addLayout(head)
        layout.addWidget(frame("line"))
        screen = QVBoxLayout()
        screen.setContentsMargins(MARGIN, 0, MARGIN, GRID)
        screen.addWidget(self._output)
        layout.addLayout(screen, 1)
        self.setFixedHeight(_HEIGHT)
        self._timer = QTimer(self)
        self._timer.setInterval(_TICK_MS)
        self._timer.timeout.connect(self._show_elapsed)
        self._stop.clicked.connect(self._request_stop)
        self._close.clicked.connect(self._shut)

    @property
    def is_running(self) -> bool:
        return self._is_running

    def begin(self) -> None:
        """Show that a test run has started."""
        self._is_running = True
        self._began_at = self._now_ms()
        self._output.clear()
        self._show_mark(Outcome.RUNNING)
        set_role(self._words, "strong")
        self._words.setText(self.tr("Test running"))
        self._stop.setText(self.tr("Stop"))
        self._stop.setShortcut(QKeySequence(_STOP_KEYS))  # Qt drops the shortcut when the text changes.
        self._stop.setEnabled(True)
        self._stop.show()
        self._close.setEnabled(False)
        self._show_elapsed()
        self._timer.start()
        self.show()

    @property
    def has_keyboard(self) -> bool:
        """Whether the stop button has the focus."""
        return self._stop.hasFocus()

    def take_keyboard(self) -> None:
        """Focus the stop button."""
        self._stop.setFocus()

    def feed(self, data: bytes) -> None:
        """Show output of the run."""
        self._output.feed(data)

    def end(self, ended: TrialEnd | None, sentence: str) -> None:
        """Show how the run ended; `ended` is None if it could not start, and `sentence` says why."""
        self._is_running = False
        self._timer.stop()
        self._output.end()
        if ended is not None and ended.http_status is not None:
            # The status and the headers come first.
            self._output.go_to_beginning()
        self._show_elapsed()
        outcome = Outcome.FAILURE if ended is None else ended.outcome
        self._show_mark(outcome)
        words = sentence or self._describe(ended)
        if ended is not None:
            cost = self.tr("cost {cost}").format(cost=amount_words(ended.cost)) if ended.cost else ""
            words = joined(words, cost, self._proposed(ended), ended.note)
        self._words.setText(one_line(words))
        self._words.setToolTip(plain_tooltip(words))
        self._stop.hide()
        self._close.setEnabled(True)
        self.show()

    def _proposed(self, ended: TrialEnd) -> str:
        words = proposal_words(ended.proposal)
        return self.tr("hint: {words}").format(words=words) if words else ""

    def _describe(self, ended: TrialEnd | None) -> str:
        if ended is None:
            return self.tr("The test run couldn't be started")
        words = outcome_words(ended.outcome)
        if ended.error:
            return f"{words}: {ended.error}"
        if ended.reason is not None:
            return f"{words}: {reason_words(ended.reason)}"
        if ended.http_status is not None:
            return self.tr("{words}, status {status}").format(words=words, status=ended.http_status)
        if ended.exit_code is not None:
            return self.tr("{words}, exit code {code}").format(words=words, code=ended.exit_code)
        return words

    def _show_mark(self, outcome: Outcome) -> None:
        self._mark.show_mark(outcome_mark(outcome), outcome_words(outcome))

    def _request_stop(self) -> None:
        self._stop.setEnabled(False)
        self._stop.setText(self.tr("Stopping…"))
        self.stop_requested.emit()

    def _shut(self) -> None:
        self.hide()
        self.closed.emit()

    def _show_elapsed(self) -> None:
        self._elapsed.setText(took_words(max(0, self._now_ms() - self._began_at)))
