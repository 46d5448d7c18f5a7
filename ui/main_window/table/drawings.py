"""Cached drawings of the job table's rows: texts, marks, chips, and the trend of the last runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum, auto
from functools import lru_cache
from math import sqrt
from typing import NamedTuple

from PySide6.QtCore import QObject, QPointF, QRectF, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetrics,
    QPainter,
    QPen,
    QPixmap,
    QPolygonF,
    QStaticText,
    QTransform,
)

from halo_scheduler.rules.statistics import TrendPoint
from ui.style.marks import Mark, Shape, outcome_mark, paint_mark
from ui.style.theme import Appearance, number_font, small_font, strong_font

MOST_BARS = 20
BAR = 3
STEP = 5
TREND_WIDTH = MOST_BARS * STEP - (STEP - BAR)
_LEAST = 3.0
_CAP = 4.0
CHIP_HEIGHT = 18
# Marks in a trend extend slightly beyond their bar.
TREND_EDGE = 2
_MOST_TEXTS = 2_048
_MOST_TRENDS = 128
_MOST_PICTURES = 256


def paint_trend(
    painter: QPainter, area: QRectF, points: Sequence[TrendPoint], appearance: Appearance
) -> None:
    """Draw the newest runs, the last one at the right."""
    shown = points[-MOST_BARS:]
    longest_ms = max((point.duration_ms or 0 for point in shown), default=0)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    left = area.left() + (MOST_BARS - len(shown)) * STEP
    for index, point in enumerate(shown):
        mark = outcome_mark(point.outcome)
        # Space for the mark on top of a failure, so that it is not cut off.
        height = bar_height(point.duration_ms, longest_ms, area.height() - _CAP)
        bar = QRectF(left + index * STEP, area.bottom() - height, BAR, height)
        _paint_bar(painter, bar, mark.shape, appearance.colour(mark.tone))
    painter.restore()


def bar_height(duration_ms: int | None, longest_ms: int, highest: float) -> float:
    """Return the bar height: by the square root, so that one slow run does not flatten all others."""
    if not duration_ms or not longest_ms:
        return _LEAST
    return max(_LEAST, sqrt(duration_ms / longest_ms) * highest)


def _paint_bar(painter: QPainter, bar: QRectF, shape: Shape, colour: QColor) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    if shape is Shape.SQUARE:
        painter.drawRect(bar)
        painter.drawRect(QRectF(bar.left(), bar.top() - _CAP, BAR, BAR))
    elif shape is Shape.TRIANGLE:
        top = bar.bottom() - STEP
        painter.drawPolygon(
            QPolygonF(
                [
                    QPointF(bar.center().x(), top),
                    QPointF(bar.right() + 1, bar.bottom()),
                    QPointF(bar.left() - 1, bar.bottom()),
                ]
            )
        )
    elif shape is Shape.DOTTED:
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(colour, 1))
        painter.drawEllipse(QPointF(bar.center().x(), bar.bottom() - 2), 1.5, 1.5)
    else:
        painter.drawRoundedRect(bar, 1, 1)


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
    """Caches recent drawings; they include their background, so that their edges are antialiased against it."""

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

    def _draw_chip(self, width: int, height: int, border: str, ground: str, ratio: float) -> QPixmap:
        def draw(painter: QPainter) -> None:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(QColor(border), 1))
            # On whole pixels; a line between two pixels is blurred.
            box = QRectF(0.5, 0.5, width - 1, height - 1)
            painter.drawRoundedRect(box, height / 2, height / 2)

        return _picture(width, height, ground, ratio, draw)

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
