"""Paints the rows of the job table: marks, names with their group, times, trends."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from functools import lru_cache
from typing import NamedTuple

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPen, QPixmap, QStaticText, QTransform
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QTableView

from halo_scheduler.model import JobStatus, Situation, SituationKind
from halo_scheduler.rules.statistics import TrendPoint
from ui.style.marks import Mark, job_mark, outcome_mark, paint_mark
from ui.style.theme import GRID, HALF, ROW, Appearance, Tone, number_font, small_font, strong_font
from ui.style.wording import one_line

from .cells import last_outcome, short_duration
from .job_rows import Column, JobFacts, JobRow
from .job_table import JobTableModel
from .trend import WIDTH as TREND_WIDTH
from .trend import paint_trend

CHIP_HEIGHT = 18
# Marks in a trend extend slightly beyond their bar.
TREND_EDGE = 2
_MOST_TEXTS = 2_048
_MOST_TRENDS = 128
_MOST_PICTURES = 256

_MARK = 10
_SMALL_MARK = 8
_SHORTEST_CHIP = 8 * GRID
_SHORTEST_NAME = 16 * GRID
_PROGRESS = 3
_NO_FACTS = JobFacts()
_SELECTED = QStyle.StateFlag.State_Selected.value


class Letters(Enum):
    """The fonts of a row."""

    PLAIN = auto()
    STRONG = auto()
    SMALL = auto()


class CutText(NamedTuple):
    """A text elided to fit, laid out."""

    text: QStaticText
    width: int
    height: int


class Drawings(QObject):
    """Caches what was painted last; pictures include their background, so that their edges blend into it."""

    def __init__(self, appearance: Appearance, font: QFont, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self.text = lru_cache(_MOST_TEXTS)(self._cut)
        self.width = lru_cache(_MOST_TEXTS)(self._measure)
        self.mark = lru_cache(_MOST_PICTURES)(self._draw_mark)
        self.chip = lru_cache(_MOST_PICTURES)(self._draw_chip)
        self.trend = lru_cache(_MOST_TRENDS)(self._draw_trend)
        self.set_font(font)
        appearance.changed.connect(self._forget_pictures)

    def set_font(self, font: QFont) -> None:
        """Use another font from now on."""
        self._fonts = {
            Letters.PLAIN: number_font(font),
            Letters.STRONG: strong_font(font),
            Letters.SMALL: number_font(small_font(font)),
        }
        self._metrics = {letters: QFontMetrics(made) for letters, made in self._fonts.items()}
        self.text.cache_clear()
        self.width.cache_clear()

    def font(self, letters: Letters) -> QFont:
        return self._fonts[letters]

    def _forget_pictures(self) -> None:
        for kept in (self.mark, self.chip, self.trend):
            kept.cache_clear()

    def _measure(self, text: str, letters: Letters) -> int:
        return self._metrics[letters].horizontalAdvance(text)

    def _cut(self, text: str, letters: Letters, width: int) -> CutText:
        metrics = self._metrics[letters]
        shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, width)
        laid_out = QStaticText(shown)
        laid_out.setTextFormat(Qt.TextFormat.PlainText)
        laid_out.prepare(QTransform(), self._fonts[letters])
        return CutText(laid_out, metrics.horizontalAdvance(shown), metrics.height())

    def _draw_mark(self, mark: Mark, side: int, ground: str, ratio: float) -> QPixmap:
        def draw(painter: QPainter) -> None:
            # Half a pixel lower, to centre it in the row.
            place = QRectF(0, 0.5, side, side)
            paint_mark(painter, place, mark.shape, self._appearance.colour(mark.tone))

        return _picture(side, side + 1, ground, ratio, draw)

    def _draw_chip(self, width: int, border: str, ground: str, ratio: float) -> QPixmap:
        def draw(painter: QPainter) -> None:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(QColor(border), 1))
            # On whole pixels; a line between two pixels is blurred.
            box = QRectF(0.5, 0.5, width - 1, CHIP_HEIGHT - 1)
            painter.drawRoundedRect(box, CHIP_HEIGHT / 2, CHIP_HEIGHT / 2)

        return _picture(width, CHIP_HEIGHT, ground, ratio, draw)

    def _draw_trend(self, points: tuple[TrendPoint, ...], height: int, ground: str, ratio: float) -> QPixmap:
        def draw(painter: QPainter) -> None:
            paint_trend(painter, QRectF(TREND_EDGE, 0, TREND_WIDTH, height), points, self._appearance)

        return _picture(TREND_WIDTH + 2 * TREND_EDGE, height, ground, ratio, draw)


def _picture(width: int, height: int, ground: str, ratio: float, draw: Callable[[QPainter], None]) -> QPixmap:
    """Return the pixmap for a device pixel ratio."""
    made = QPixmap(round(width * ratio), round(height * ratio))
    made.setDevicePixelRatio(ratio)
    made.fill(QColor(ground))
    painter = QPainter(made)
    draw(painter)
    painter.end()
    return made


class RowDelegate(QStyledItemDelegate):
    """Paints a cell's background, the same for the whole row, and its text on one line."""

    def __init__(
        self, view: QTableView, model: JobTableModel, appearance: Appearance, drawings: Drawings
    ) -> None:
        super().__init__(view)
        self._view = view
        self._model = model
        self._appearance = appearance
        self._drawings = drawings
        self._hovered = -1
        self._is_selected = False
        self._ground = appearance.colours.raised

    def set_hovered(self, row: int) -> None:
        self._hovered = row

    def _paint_ground(self, painter: QPainter, option: QStyleOptionViewItem, row: int) -> None:
        state: QStyle.StateFlag = option.state
        colours = self._appearance.colours
        self._is_selected = bool(state.value & _SELECTED)
        self._ground = colours.raised
        if self._is_selected:
            self._ground = colours.selected
        elif row == self._hovered:
            self._ground = colours.hover
        if self._ground is not colours.raised:
            painter.fillRect(option.rect, QColor(self._ground))

    def _text(self, painter: QPainter, area: QRect, text: str, letters: Letters, tone: Tone) -> int:
        """Draw a text, elided to fit, and return its width."""
        if not text:
            return 0
        cut = self._drawings.text(text, letters, area.width())
        painter.setFont(self._drawings.font(letters))
        painter.setPen(self._appearance.colour(tone))
        painter.drawStaticText(area.left(), area.top() + (area.height() - cut.height + 1) // 2, cut.text)
        return cut.width

    def _mark(self, painter: QPainter, left: int, area: QRect, side: int, mark: Mark) -> None:
        picture = self._drawings.mark(mark, side, self._ground, painter.device().devicePixelRatio())
        painter.drawPixmap(left, area.center().y() - side // 2, picture)

    def _paint(self, painter: QPainter, area: QRect, row: JobRow, text: str) -> None:
        is_quiet = row.situation.status is JobStatus.DISABLED
        self._text(painter, area, text, Letters.PLAIN, Tone.MUTED if is_quiet else Tone.TEXT)

    # --- Qt -----------------------------------------------------------------------------------------

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        row = index.row()
        self._paint_ground(painter, option, row)
        rect: QRect = option.rect
        text = self._model.text_at(row, Column(index.column()))
        self._paint(painter, rect.adjusted(GRID, 0, -GRID, 0), self._model.row_at(row), text)

    def sizeHint(self, _option: QStyleOptionViewItem, _index: _Index) -> QSize:  # noqa: N802
        return QSize(ROW * 2, ROW)


_Index = QModelIndex | QPersistentModelIndex


class NameDelegate(RowDelegate):
    """The status mark, the name, and the group in a chip."""

    def _paint_ground(self, painter: QPainter, option: QStyleOptionViewItem, row: int) -> None:
        super()._paint_ground(painter, option, row)
        if self._view.currentIndex().row() == row and self._view.hasFocus():
            rect: QRect = option.rect
            painter.fillRect(rect.left(), rect.top(), 3, rect.height(), self._appearance.colour(Tone.ACCENT))

    def _paint(self, painter: QPainter, area: QRect, row: JobRow, text: str) -> None:
        job = row.job
        self._mark(painter, area.left() + GRID, area, _MARK, job_mark(row.situation))
        area = area.adjusted(GRID + _MARK + GRID + HALF, 0, 0, 0)
        chip = one_line(job.group) if job.group else ""
        room = self._chip_width(chip, area.width(), self._drawings.width(text, Letters.STRONG)) if chip else 0
        tone = Tone.MUTED if row.situation.status is JobStatus.DISABLED else Tone.TEXT
        name_area = area.adjusted(0, 0, -(room + GRID), 0) if room else area
        used = self._text(painter, name_area, text, Letters.STRONG, tone)
        if room:
            self._chip(painter, QRect(area.left() + used + GRID, area.top(), room, area.height()), chip)

    def _chip_width(self, text: str, width: int, name_width: int) -> int:
        """Return the chip's width: the name yields to a short chip, and a chip of two letters is left out."""
        if not text:
            return 0
        wanted = self._drawings.width(text, Letters.SMALL) + 2 * GRID
        least = min(wanted, _SHORTEST_CHIP)
        left_over = width - min(name_width, _SHORTEST_NAME) - GRID
        room = min(wanted, max(width - name_width - GRID, least if least <= left_over else 0))
        return room if room >= least else 0

    def _chip(self, painter: QPainter, area: QRect, text: str) -> None:
        top = area.top() + (area.height() - CHIP_HEIGHT) // 2
        # The colour of lines is too faint on a selected row.
        colours = self._appearance.colours
        border = colours.muted if self._is_selected else colours.line
        ratio = painter.device().devicePixelRatio()
        painter.drawPixmap(area.left(), top, self._drawings.chip(area.width(), border, self._ground, ratio))
        inner = QRect(area.left() + GRID, top, area.width() - 2 * GRID + 1, CHIP_HEIGHT)
        self._text(painter, inner, text, Letters.SMALL, Tone.MUTED)


class ScheduleDelegate(RowDelegate):
    """The schedule in words, muted so that the name stands out."""

    def _paint(self, painter: QPainter, area: QRect, _row: JobRow, text: str) -> None:
        self._text(painter, area, text, Letters.PLAIN, Tone.MUTED)


class NextDelegate(RowDelegate):
    """The next run, or the progress of a current run with a thin bar below."""

    def _paint(self, painter: QPainter, area: QRect, row: JobRow, text: str) -> None:
        is_running = row.situation.kind is SituationKind.RUNNING
        self._text(painter, area, text, Letters.PLAIN, _next_tone(row.situation))
        run = self._model.run_of(row.id)
        if not is_running or run is None or run.progress is None:
            return
        painter.save()
        groove = QRectF(area.left(), area.bottom() - HALF - 1, area.width(), _PROGRESS)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._appearance.colours.sunken))
        painter.drawRoundedRect(groove, _PROGRESS / 2, _PROGRESS / 2)
        groove.setWidth(max(_PROGRESS, groove.width() * min(run.progress, 1.0)))
        painter.setBrush(self._appearance.colour(Tone.RUNNING))
        painter.drawRoundedRect(groove, _PROGRESS / 2, _PROGRESS / 2)
        painter.restore()


def _next_tone(situation: Situation) -> Tone:
    """Return the colour of when a job runs next: what will not start at that time is muted."""
    if situation.kind is SituationKind.RUNNING:
        return Tone.RUNNING
    if situation.kind is SituationKind.NEEDS_INPUT and situation.status is JobStatus.IDLE:
        return Tone.WARN
    if situation.kind is SituationKind.CAPPED or situation.quiet is not None:
        return Tone.MUTED
    has_news = situation.next_run_at is not None or situation.waiting is not None
    return Tone.TEXT if has_news else Tone.MUTED


class LastDelegate(RowDelegate):
    """The last run: outcome, time and duration."""

    def _paint(self, painter: QPainter, area: QRect, row: JobRow, text: str) -> None:
        facts = self._model.facts(row.id) or _NO_FACTS
        outcome = last_outcome(row, facts)
        if outcome is not None:
            self._mark(painter, area.left(), area, _SMALL_MARK, outcome_mark(outcome))
        area = area.adjusted(_SMALL_MARK + GRID, 0, 0, 0)
        is_over = facts.last is not None and row.situation.kind is not SituationKind.RUNNING
        took = short_duration(facts.last.duration_ms) if is_over and facts.last is not None else ""
        room = self._drawings.width(took, Letters.SMALL) if took else 0
        used = self._text(painter, area, text, Letters.PLAIN, Tone.MUTED)
        if room and used + GRID + room <= area.width():
            self._text(painter, area.adjusted(area.width() - room, 0, 1, 0), took, Letters.SMALL, Tone.MUTED)


class TrendDelegate(RowDelegate):
    """The last runs as small bars."""

    def _paint(self, painter: QPainter, area: QRect, row: JobRow, _text: str) -> None:
        facts = self._model.facts(row.id)
        if facts is not None and facts.trend:
            height = area.height() - HALF - 2 - GRID
            ratio = painter.device().devicePixelRatio()
            picture = self._drawings.trend(facts.trend, height, self._ground, ratio)
            painter.drawPixmap(area.left() - TREND_EDGE, area.top() + HALF + 2, picture)


DELEGATES: dict[Column, type[RowDelegate]] = {
    Column.NAME: NameDelegate,
    Column.SCHEDULE: ScheduleDelegate,
    Column.NEXT: NextDelegate,
    Column.LAST: LastDelegate,
    Column.TREND: TrendDelegate,
}
