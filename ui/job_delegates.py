"""Drawing the rows of the job table: marks, names with their group, times, trends."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QTableView

from halo_scheduler.model import Job, JobStatus

from .job_words import last_outcome, short_duration
from .marks import job_mark, outcome_mark, paint_mark
from .models.job_rows import Column, JobFacts
from .models.job_table import JobTableModel
from .theme import GRID, HALF, ROW, Look, Tone, number_font, small_font, strong_font
from .widgets.trend import paint_trend
from .wording import one_line

_MARK = 10
_SMALL_MARK = 8
_CHIP_HEIGHT = 18
_SHORTEST_CHIP = 8 * GRID
_SHORTEST_NAME = 16 * GRID
_PROGRESS = 3
_NO_FACTS = JobFacts()


class RowDelegate(QStyledItemDelegate):
    """Draws the ground of a cell, the same over the whole row, and its text on one line."""

    def __init__(self, view: QTableView, model: JobTableModel, look: Look) -> None:
        super().__init__(view)
        self._view = view
        self._model = model
        self._look = look
        self._hovered = -1
        self._is_selected = False
        self.fit_fonts()

    def fit_fonts(self) -> None:
        """Take up the view's font."""
        font = self._view.font()
        self._plain, self._strong = number_font(font), strong_font(font)
        self._small = number_font(small_font(font))

    def set_hovered(self, row: int) -> None:
        self._hovered = row

    def _ground(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        state: QStyle.StateFlag = option.state
        rect: QRect = option.rect
        colours = self._look.colours
        self._is_selected = bool(state & QStyle.StateFlag.State_Selected)
        if self._is_selected:
            painter.fillRect(rect, QColor(colours.selected))
        elif index.row() == self._hovered:
            painter.fillRect(rect, QColor(colours.hover))
        is_current = self._view.currentIndex().row() == index.row() and self._view.hasFocus()
        if is_current and index.column() == Column.NAME:
            painter.fillRect(QRect(rect.left(), rect.top(), 3, rect.height()), QColor(colours.accent))

    def _text(self, painter: QPainter, area: QRect, text: str, font: QFont, tone: Tone) -> int:
        """Draw a text, shortened to fit, and return how wide it came out."""
        metrics = QFontMetrics(font)
        shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, area.width())
        painter.setFont(font)
        painter.setPen(self._look.colour(tone))
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine, shown)
        return metrics.horizontalAdvance(shown)

    def _paint(self, painter: QPainter, area: QRect, job: Job, text: str) -> None:
        is_quiet = job.status is JobStatus.DISABLED
        self._text(painter, area, text, self._plain, Tone.MUTED if is_quiet else Tone.TEXT)

    # --- Qt -----------------------------------------------------------------------------------------

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        painter.save()
        self._ground(painter, option, index)
        rect: QRect = option.rect
        area = rect.adjusted(GRID, 0, -GRID, 0)
        self._paint(painter, area, self._model.job_at(index.row()), str(index.data() or ""))
        painter.restore()

    def sizeHint(self, _option: QStyleOptionViewItem, _index: _Index) -> QSize:  # noqa: N802
        return QSize(ROW * 2, ROW)


_Index = QModelIndex | QPersistentModelIndex


class NameDelegate(RowDelegate):
    """The status mark, the name, and the group in a chip beside it."""

    def _paint(self, painter: QPainter, area: QRect, job: Job, text: str) -> None:
        mark = job_mark(job)
        left = area.left() + GRID
        place = QRectF(left, area.center().y() - _MARK / 2 + 0.5, _MARK, _MARK)
        paint_mark(painter, place, mark.shape, self._look.colour(mark.tone))
        area = area.adjusted(GRID + _MARK + GRID + HALF, 0, 0, 0)
        chip = one_line(job.group) if job.group else ""
        room = self._chip_width(chip, area.width(), QFontMetrics(self._strong).horizontalAdvance(text))
        tone = Tone.MUTED if job.status is JobStatus.DISABLED else Tone.TEXT
        name_area = area.adjusted(0, 0, -(room + GRID) if room else 0, 0)
        used = self._text(painter, name_area, text, self._strong, tone)
        if room:
            self._chip(painter, QRect(area.left() + used + GRID, area.top(), room, area.height()), chip)

    def _chip_width(self, text: str, width: int, name_width: int) -> int:
        """Return how wide the chip is: the name gives way for a short one, and a chip of two letters is none."""
        if not text:
            return 0
        wanted = QFontMetrics(self._small).horizontalAdvance(text) + 2 * GRID
        least = min(wanted, _SHORTEST_CHIP)
        left_over = width - min(name_width, _SHORTEST_NAME) - GRID
        room = min(wanted, max(width - name_width - GRID, least if least <= left_over else 0))
        return room if room >= least else 0

    def _chip(self, painter: QPainter, area: QRect, text: str) -> None:
        # On whole pixels: a border between two of them is blurred.
        top = area.top() + (area.height() - _CHIP_HEIGHT) // 2
        box = QRectF(area.left(), top, area.width(), _CHIP_HEIGHT)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        # The quiet colour of lines is lost on a selected row.
        colours = self._look.colours
        painter.setPen(QPen(QColor(colours.muted if self._is_selected else colours.line), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), _CHIP_HEIGHT / 2, _CHIP_HEIGHT / 2)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        inner = box.toRect().adjusted(GRID, 0, -GRID + 1, 0)
        self._text(painter, inner, text, self._small, Tone.MUTED)


class ScheduleDelegate(RowDelegate):
    """The schedule in words, muted: the name is what is read first."""

    def _paint(self, painter: QPainter, area: QRect, _job: Job, text: str) -> None:
        self._text(painter, area, text, self._plain, Tone.MUTED)


class NextDelegate(RowDelegate):
    """When the next run is; of one under way how far it has come, with a thin bar below."""

    def _paint(self, painter: QPainter, area: QRect, job: Job, text: str) -> None:
        is_running = job.status is JobStatus.RUNNING
        tone = Tone.TEXT if job.next_run_at is not None and not is_running else Tone.MUTED
        self._text(painter, area, text, self._plain, Tone.RUNNING if is_running else tone)
        run = self._model.run_of(job.id)
        if not is_running or run is None or run.progress is None:
            return
        groove = QRectF(area.left(), area.bottom() - HALF - 1, area.width(), _PROGRESS)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._look.colours.sunken))
        painter.drawRoundedRect(groove, _PROGRESS / 2, _PROGRESS / 2)
        groove.setWidth(max(_PROGRESS, groove.width() * min(run.progress, 1.0)))
        painter.setBrush(self._look.colour(Tone.RUNNING))
        painter.drawRoundedRect(groove, _PROGRESS / 2, _PROGRESS / 2)


class LastDelegate(RowDelegate):
    """How the last run ended, when, and how long it took."""

    def _paint(self, painter: QPainter, area: QRect, job: Job, text: str) -> None:
        facts = self._model.facts(job.id) or _NO_FACTS
        outcome = last_outcome(job, facts, self._model.run_of(job.id))
        if outcome is not None:
            mark = outcome_mark(outcome)
            place = QRectF(area.left(), area.center().y() - _SMALL_MARK / 2 + 0.5, _SMALL_MARK, _SMALL_MARK)
            paint_mark(painter, place, mark.shape, self._look.colour(mark.tone))
        area = area.adjusted(_SMALL_MARK + GRID, 0, 0, 0)
        is_over = facts.last is not None and job.status is not JobStatus.RUNNING
        took = short_duration(facts.last.duration_ms) if is_over and facts.last is not None else ""
        room = QFontMetrics(self._small).horizontalAdvance(took) if took else 0
        used = self._text(painter, area, text, self._plain, Tone.MUTED)
        if room and used + GRID + room <= area.width():
            self._text(painter, area.adjusted(area.width() - room, 0, 1, 0), took, self._small, Tone.MUTED)


class TrendDelegate(RowDelegate):
    """The last runs as small bars."""

    def _paint(self, painter: QPainter, area: QRect, job: Job, _text: str) -> None:
        facts = self._model.facts(job.id)
        if facts is not None:
            paint_trend(painter, QRectF(area.adjusted(0, HALF + 2, 0, -GRID)), facts.trend, self._look)


DELEGATES: dict[Column, type[RowDelegate]] = {
    Column.NAME: NameDelegate,
    Column.SCHEDULE: ScheduleDelegate,
    Column.NEXT: NextDelegate,
    Column.LAST: LastDelegate,
    Column.TREND: TrendDelegate,
}
