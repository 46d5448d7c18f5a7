"""The sections of the details pane: next runs, recent runs, last output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from PySide6.QtCore import QCoreApplication, QEvent, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QEnterEvent,
    QFontMetrics,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QTextOption,
)
from PySide6.QtWidgets import (
    QAbstractButton,
    QGridLayout,
    QLabel,
    QPlainTextEdit,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from halo_scheduler.grammar.english import clock_time, short_date, weekday_name
from halo_scheduler.grammar.zone import local_time
from halo_scheduler.model import Outcome, Run
from halo_scheduler.model.messages import MessageKind
from halo_scheduler.wording.measures import amount_words, dated_moment, full_moment, took_words
from halo_scheduler.wording.messages import EXIT_CODES
from halo_scheduler.wording.schedules import describe_when
from ui.backend.questions import item_words
from ui.style.marks import outcome_mark, paint_mark
from ui.style.theme import GRID, HALF, Appearance, Tone, mono_font, number_font, small_font
from ui.style.wording import ago, plain_tooltip, run_words
from ui.widgets.countdown import until_ago_changes, until_next_changes
from ui.widgets.labels import WrappedText, button, label

from .job_details import NEXT_RUNS, OUTPUT_LINES, RECENT_RUNS

BESIDE_LINK = HALF + 2
"""The top margin of a text beside a link, so that their first lines align."""
_NOTHING_QUIET: Mapping[int, str] = MappingProxyType({})
_MARK = 8
_RUN_HEIGHT = 24
_SCROLL_BAR = 24
_DAYS_BY_NAME = 7


class Section(QWidget):
    """A small heading with content below it."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(0, GRID, 0, 0)
        self.column.setSpacing(HALF)
        self.heading = label(title, "small")
        self.column.addWidget(self.heading)


class NextRuns(Section):
    """The next five runs: relative and exact times, and what holds them up."""

    def __init__(self, appearance: Appearance) -> None:
        super().__init__("")
        self.heading.setText(self.tr("Next runs"))
        self._held = WrappedText(appearance, name="nextHeld", tone=Tone.WARN)
        self._held.setVisible(False)
        self.column.addWidget(self._held)
        self._times: tuple[int, ...] = ()
        grid = QGridLayout()
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(GRID * 2)
        grid.setVerticalSpacing(HALF)
        grid.setColumnStretch(1, 1)
        self._rows = [self._row(grid, row) for row in range(NEXT_RUNS)]
        self.column.addLayout(grid)

    def _row(self, grid: QGridLayout, row: int) -> tuple[QLabel, QLabel]:
        ahead, at = label(name=f"nextRun{row}"), label(role="muted", name=f"nextRunAt{row}")
        for column, one in enumerate((ahead, at)):
            one.setFont(number_font(one.font()))
            grid.addWidget(one, row, column)
        # It is hidden if there is no room.
        at.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        return ahead, at

    def show_times(
        self,
        times: Sequence[int],
        now_ms: int,
        *,
        asks: bool = False,
        waits: bool = False,
        skips: bool = False,
        quiet: Mapping[int, str] = _NOTHING_QUIET,
        following: str = "",
    ) -> None:
        """Show the next runs; with an open question they are skipped; a waiting run is not late.

        `skips` means that the first run is skipped on request.

        `quiet` says what happens to runs in quiet hours, `following` what determines further runs if their times are
        unknown.
        """
        # Slots that pass while a run waits are coalesced.
        times = [at for index, at in enumerate(times) if not (waits and index and at <= now_ms)]
        self._times = tuple(times)
        words = self.tr("On hold until you answer; these runs are skipped.")
        self._held.set_text(words if asks else "")
        self.setVisible(bool(times))
        for index, (ahead, at) in enumerate(self._rows):
            is_there = index < len(times)
            ahead.setVisible(is_there)
            at.setVisible(is_there)
            if is_there:
                is_waiting = waits and times[index] <= now_ms
                ahead.setText(self.tr("waiting") if is_waiting else describe_when(times[index], now_ms))
                told = quiet.get(times[index], "")
                exact = _rest_of(times[index], now_ms, is_waiting=is_waiting)
                skipped = self.tr("skipped") if skips and not index else ""
                at.setText(" · ".join(filter(None, [exact, self.tr("quiet") if told else "", skipped])))
                at.setToolTip(plain_tooltip("\n".join(filter(None, [full_moment(times[index]), told]))))
                ahead.setToolTip(at.toolTip())
            elif following and index == len(times):
                ahead.setText(following)
                ahead.setVisible(True)
        self._fit()

    def _fit(self) -> None:
        """Show the exact times if there is room."""
        rows = self._rows[: len(self._times)]
        needed = sum(max(one.sizeHint().width() for one in column) for column in zip(*rows, strict=True))
        for _, at in rows:
            at.setVisible(needed + GRID * 2 <= self.width())

    def waits(self, now_ms: int) -> Iterator[int | None]:
        return (until_next_changes(at, now_ms) for at in self._times)

    # --- Qt -----------------------------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        self._fit()


class RunButton(QAbstractButton):
    """One past run in a line: outcome, time and duration; a click opens it."""

    def __init__(self, appearance: Appearance, index: int) -> None:
        super().__init__()
        self.setObjectName(f"recentRun{index}")
        self._appearance = appearance
        self._shown: Run | None = None
        self._when = self._took = self._words = ""
        self.setFixedHeight(_RUN_HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        appearance.changed.connect(self.update)

    @property
    def shown_run(self) -> Run | None:
        return self._shown

    def show_run(self, shown: Run, now_ms: int) -> None:
        self._shown = shown
        at = run_at(shown)
        self._when = "" if at is None else ago(at, now_ms)
        took, cost = took_words(shown.duration_ms), amount_words(shown.cost)
        self._took = " · ".join(filter(None, [cost, took]))
        item = item_words(shown.work_id, shown.work_title)
        self._words = " · ".join(filter(None, [_short_words(shown), item]))
        self.setText(self._words)
        self.setAccessibleName(", ".join(filter(None, [self._words, self._when, self._took])))
        spent = self.tr("cost {cost}").format(cost=cost) if cost else ""
        lines = [run_words(shown), item, "" if at is None else full_moment(at), took, spent]
        self.setToolTip(plain_tooltip("\n".join(filter(None, lines))))
        self.update()

    # --- Qt -----------------------------------------------------------------------------------------

    def sizeHint(self) -> QSize:  # noqa: N802
        return QSize(200, _RUN_HEIGHT)

    def enterEvent(self, event: QEnterEvent) -> None:  # noqa: N802
        self.update()
        super().enterEvent(event)

    def leaveEvent(self, event: QEvent) -> None:  # noqa: N802
        self.update()
        super().leaveEvent(event)

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        if self._shown is None:
            return
        painter = QPainter(self)
        self._paint_focus(painter)
        mark = outcome_mark(self._shown.outcome)
        place = QRectF(1, (self.height() - _MARK) / 2, _MARK, _MARK)
        paint_mark(painter, place, mark.shape, self._appearance.colour(mark.tone))
        small = number_font(small_font(self.font()))
        metrics = QFontMetrics(small)
        area = self.rect().adjusted(_MARK + GRID + 1, 0, -1, 0)
        when = max(metrics.horizontalAdvance("yesterday 00:00"), metrics.horizontalAdvance(self._when)) + GRID
        took = metrics.horizontalAdvance(self._took)
        painter.setFont(small)
        painter.setPen(self._appearance.colour(Tone.MUTED))
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, self._took)
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, self._when)
        words = QRect(area.left() + when, area.top(), area.width() - when - took - GRID, area.height())
        painter.setPen(self._appearance.colour(Tone.ACCENT if self.underMouse() else Tone.TEXT))
        shown = metrics.elidedText(self._words, Qt.TextElideMode.ElideRight, words.width())
        painter.drawText(words, Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine, shown)

    def _paint_focus(self, painter: QPainter) -> None:
        if self.hasFocus():
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(QColor(self._appearance.colours.accent), 1))
            # Focus frame around the text, so that it does not cross the mark.
            left = _MARK + HALF + 1.5
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(left, 0.5, -0.5, -0.5), HALF, HALF)


class RecentRuns(Section):
    """The last runs of a job."""

    run_wanted = Signal(str)

    def __init__(self, appearance: Appearance) -> None:
        super().__init__("")
        self.heading.setText(self.tr("Recent runs"))
        self._runs: tuple[Run, ...] = ()
        self._buttons = [RunButton(appearance, index) for index in range(RECENT_RUNS)]
        box = QVBoxLayout()
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(0)
        for one in self._buttons:
            one.clicked.connect(self._open)
            box.addWidget(one)
        self.column.addLayout(box)

    def show_runs(self, runs: Sequence[Run], now_ms: int) -> None:
        self._runs = tuple(runs)
        self.setVisible(bool(runs))
        for index, one in enumerate(self._buttons):
            one.setVisible(index < len(runs))
            if index < len(runs):
                one.show_run(runs[index], now_ms)

    def waits(self, now_ms: int) -> Iterator[int | None]:
        ends = (run_at(one) for one in self._runs)
        return (until_ago_changes(at, now_ms) for at in ends if at is not None)

    def _open(self) -> None:
        sender = self.sender()
        if isinstance(sender, RunButton) and sender.shown_run is not None:
            self.run_wanted.emit(sender.shown_run.id)


class OutputTail(Section):
    """The end of the last run's output."""

    open_wanted = Signal()

    def __init__(self) -> None:
        super().__init__("")
        self.heading.setText(self.tr("Last output"))
        self._fitted_width = 0
        self._text = QPlainTextEdit()
        self._text.setObjectName("outputTail")
        self._text.setAccessibleName(self.tr("Last output"))
        self._text.setReadOnly(True)
        self._text.setTabChangesFocus(True)
        self._text.setFont(mono_font(small_font(self._text.font())))
        self._text.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self._text.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.column.addWidget(self._text)
        self._open = button(
            self.tr("Open in history"), name="openOutputButton", kind="link", shortcut="Ctrl+O"
        )
        self._open.clicked.connect(self.open_wanted)
        self.column.addWidget(self._open, 0, Qt.AlignmentFlag.AlignLeft)

    def show_output(self, text: str, *, has_run: bool, is_running: bool = False) -> None:
        self.setVisible(has_run)
        nothing = self.tr("No output yet.") if is_running else self.tr("No output.")
        shown = text or nothing
        if shown != self._text.toPlainText():
            self._text.setPlainText(shown)
            self._fit()

    def _fit(self) -> None:
        """Fit the height to the wrapped lines, up to a maximum; longer output is scrolled to its end."""
        self._fitted_width = self.width()
        lines = min(round(self._text.document().size().height()), OUTPUT_LINES)
        self._text.setFixedHeight(QFontMetrics(self._text.font()).lineSpacing() * lines + 3 * GRID)
        bar = self._text.verticalScrollBar()
        bar.setValue(bar.maximum())

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        # A scroll bar that comes and goes must not make the text jump back and forth.
        if abs(event.size().width() - self._fitted_width) > _SCROLL_BAR:
            self._fit()


def _rest_of(at: int, now_ms: int, *, is_waiting: bool) -> str:
    """Return what "in 4 min" or "tomorrow at 09:00" does not say of an instant: the time, the date, or the day."""
    local, today = local_time(at), local_time(now_ms)
    days = (local.date() - today.date()).days
    if is_waiting or " at " not in describe_when(at, now_ms):
        return clock_time(local) if days == 0 else dated_moment(at, now_ms)
    if days == 0:
        return ""
    if days >= _DAYS_BY_NAME:
        return weekday_name(local)[:3]
    day = short_date(local, year=local.year != today.year)
    return f"{weekday_name(local)[:3]} {day}" if days == 1 else day


def _short_words(run: Run) -> str:
    """Return how a run ended; an exit code or HTTP status comes first, so that it is never cut off."""
    if run.message is not None and run.message.kind is MessageKind.UNEXPECTED_STATUS:
        words = QCoreApplication.translate("RunButton", "HTTP status {answer}")
        return words.format(answer=run.message.params["answer"])
    if run.outcome is not Outcome.FAILURE or run.exit_code is None:
        return run_words(run)
    words = QCoreApplication.translate("RunButton", "Exit code {code}").format(code=run.exit_code)
    meaning = EXIT_CODES.get(run.exit_code, "")
    return f"{words}: {meaning}" if meaning else words


def run_at(run: Run) -> int | None:
    """Return the time to show for a run: its end, else its start, else its slot."""
    return run.finished_at or run.started_at or run.slot_at
