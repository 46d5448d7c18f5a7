"""Paints the rows of the job table: marks, names with their group, times, and the trend of the last runs."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QPainter,
    QPolygonF,
)
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QTableView

from halo_scheduler.model import JobStatus, Situation, SituationKind
from ui.style.marks import Mark, job_mark, outcome_mark
from ui.style.theme import GRID, HALF, ROW, Appearance, Tone, scaled
from ui.style.wording import one_line

from .cells import last_outcome, section_words, short_duration
from .drawings import CHIP_HEIGHT, TREND_EDGE, CutText, Drawings, Letters
from .job_rows import Column, JobFacts, JobRow, Section, hidden_match, match_in, short_schedule_words
from .job_table import JobTableModel

_MARK = 10
_SMALL_MARK = 8
_SHORTEST_CHIP = 8 * GRID
_SHORTEST_NAME = 16 * GRID
_PROGRESS = 3
_MATCH_ALPHA = 80
_NO_FACTS = JobFacts()
_SELECTED = QStyle.StateFlag.State_Selected.value


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

    def _paint_section(self, painter: QPainter, rect: QRect, row: int, _section: Section) -> None:
        """Draw the heading of a group; its text is in the first column."""
        colours = self._appearance.colours
        painter.fillRect(rect, QColor(colours.hover if row == self._hovered else colours.surface))

    def _text(self, painter: QPainter, area: QRect, text: str, letters: Letters, tone: Tone) -> int:
        """Draw a text, elided to fit and with search matches highlighted, and return its width."""
        if not text:
            return 0
        cut = self._drawings.text(text, letters, area.width())
        self._mark_match(painter, area, text, letters, cut)
        painter.setFont(self._drawings.font(letters))
        painter.setPen(self._appearance.colour(tone))
        painter.drawStaticText(area.left(), area.top() + (area.height() - cut.height + 1) // 2, cut.text)
        return cut.width

    def _mark_match(self, painter: QPainter, area: QRect, text: str, letters: Letters, cut: CutText) -> None:
        found = match_in(text, self._model.filter.words)
        if found is None:
            return
        start, end = found
        left = min(self._drawings.width(text[:start], letters), cut.width)
        right = min(self._drawings.width(text[:end], letters), cut.width)
        top = area.top() + (area.height() - cut.height) // 2
        colour = QColor(self._appearance.colour(Tone.WARN))
        colour.setAlpha(_MATCH_ALPHA)
        painter.fillRect(area.left() + left, top, right - left, cut.height, colour)

    def _mark(self, painter: QPainter, left: int, area: QRect, side: int, mark: Mark) -> None:
        picture = self._drawings.mark(mark, side, self._ground, painter.device().devicePixelRatio())
        painter.drawPixmap(left, area.center().y() - side // 2, picture)

    def _paint(self, painter: QPainter, area: QRect, row: JobRow, text: str) -> None:
        is_quiet = row.situation.status is JobStatus.DISABLED
        self._text(painter, area, text, Letters.PLAIN, Tone.MUTED if is_quiet else Tone.TEXT)

    # --- Qt -----------------------------------------------------------------------------------------

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        row = index.row()
        rect: QRect = option.rect
        section = self._model.section_at(row)
        if section is not None:
            self._paint_section(painter, rect, row, section)
            return
        self._paint_ground(painter, option, row)
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

    def _paint_section(self, painter: QPainter, rect: QRect, row: int, section: Section) -> None:
        super()._paint_section(painter, rect, row, section)
        colour = self._appearance.colour(Tone.MUTED)
        if self._view.currentIndex().row() == row and self._view.hasFocus():
            painter.fillRect(rect.left(), rect.top(), 3, rect.height(), self._appearance.colour(Tone.ACCENT))
        middle, left = QRectF(rect).center().y(), rect.left() + 2 * GRID
        arrow = [(2, -4), (7, 0.5), (2, 5)] if section.is_folded else [(0, -2), (9, -2), (4.5, 3)]
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        painter.drawPolygon(QPolygonF([QPointF(left + x, middle + y) for x, y in arrow]))
        painter.restore()
        area = rect.adjusted(2 * GRID + _MARK + GRID + HALF, 0, -GRID, 0)
        self._text(painter, area, section_words(section), Letters.PLAIN, Tone.MUTED)

    def _paint(self, painter: QPainter, area: QRect, row: JobRow, text: str) -> None:
        job = row.job
        self._mark(painter, area.left() + GRID, area, _MARK, job_mark(row.situation))
        area = area.adjusted(GRID + _MARK + GRID + HALF, 0, 0, 0)
        # Below a group heading, the chip would repeat it.
        chip = one_line(job.group) if job.group and not self._model.has_sections else ""
        room = self._chip_width(chip, area.width(), self._drawings.width(text, Letters.STRONG)) if chip else 0
        tone = Tone.MUTED if row.situation.status is JobStatus.DISABLED else Tone.TEXT
        where = self._where_found(row, text, chip)
        if where:
            # A search match replaces the group.
            area = self._paint_match(painter, area, where, self._drawings.width(text, Letters.STRONG))
            room = 0
        name_area = area.adjusted(0, 0, -(room + GRID), 0) if room else area
        used = self._text(painter, name_area, text, Letters.STRONG, tone)
        if room:
            self._chip(painter, QRect(area.left() + used + GRID, area.top(), room, area.height()), chip)

    def _where_found(self, row: JobRow, name: str, group: str) -> str:
        """Return the matching part of a command or description, if the match is not visible elsewhere in the row."""
        words = self._model.filter.words
        shown = (name, group, short_schedule_words(row.job.schedule))
        if not words or any(match_in(text, words) is not None for text in shown):
            return ""
        return one_line(hidden_match(row, words))

    def _paint_match(self, painter: QPainter, area: QRect, text: str, name_width: int) -> QRect:
        """Draw the match at the right of the name, and return the space left for the name."""
        name_room = min(name_width + 1, max(area.width() // 2, min(area.width(), scaled(_SHORTEST_NAME))))
        rest = area.adjusted(name_room + GRID, 0, 0, 0)
        self._text(painter, rest, text, Letters.SMALL, Tone.MUTED)
        return QRect(area.left(), area.top(), name_room, area.height())

    def _chip_width(self, text: str, width: int, name_width: int) -> int:
        """Return the chip's width: a short chip takes precedence over the name, a chip of two letters is dropped."""
        if not text:
            return 0
        wanted = self._drawings.width(text, Letters.SMALL) + 2 * GRID
        least = min(wanted, scaled(_SHORTEST_CHIP))
        left_over = width - min(name_width, scaled(_SHORTEST_NAME)) - GRID
        room = min(wanted, max(width - name_width - GRID, least if least <= left_over else 0))
        return room if room >= least else 0

    def _chip(self, painter: QPainter, area: QRect, text: str) -> None:
        height = scaled(CHIP_HEIGHT)
        top = area.top() + (area.height() - height) // 2
        # The colour of lines is too faint on a selected row.
        colours = self._appearance.colours
        border = colours.muted if self._is_selected else colours.line
        ratio = painter.device().devicePixelRatio()
        painter.drawPixmap(
            area.left(), top, self._drawings.chip(area.width(), height, border, self._ground, ratio)
        )
        inner = QRect(area.left() + GRID, top, area.width() - 2 * GRID + 1, height)
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
    """Return the colour of the next run's time; muted if the job will not start at that time."""
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


DELEGATES: dict[Column, type[RowDelegate]] = dict.fromkeys(Column, RowDelegate) | {
    Column.NAME: NameDelegate,
    Column.SCHEDULE: ScheduleDelegate,
    Column.NEXT: NextDelegate,
    Column.LAST: LastDelegate,
    Column.TREND: TrendDelegate,
}
