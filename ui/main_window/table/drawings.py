"""What the rows of the job table are drawn from, each made once: texts cut to fit, marks, chips, trends."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from functools import lru_cache
from typing import NamedTuple

from PySide6.QtCore import QObject, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPen, QPixmap, QStaticText, QTransform

from halo_scheduler.rules.statistics import TrendPoint
from ui.style.marks import Mark, paint_mark
from ui.style.theme import Look, number_font, small_font, strong_font

from .trend import WIDTH as TREND_WIDTH
from .trend import paint_trend

CHIP_HEIGHT = 18
# Marks in a trend reach a little over the bars beside which they stand.
TREND_EDGE = 2
_MOST_TEXTS = 2_048
_MOST_TRENDS = 128
_MOST_PICTURES = 256


class Letters(Enum):
    """The fonts of a row."""

    PLAIN = auto()
    STRONG = auto()
    SMALL = auto()


class CutText(NamedTuple):
    """A text as it fits, laid out."""

    text: QStaticText
    width: int
    height: int


class Drawings(QObject):
    """Keeps what was drawn last; pictures stand on the ground they are shown on, so that they blend into it."""

    def __init__(self, look: Look, font: QFont, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self.text = lru_cache(_MOST_TEXTS)(self._cut)
        self.width = lru_cache(_MOST_TEXTS)(self._measure)
        self.mark = lru_cache(_MOST_PICTURES)(self._draw_mark)
        self.chip = lru_cache(_MOST_PICTURES)(self._draw_chip)
        self.trend = lru_cache(_MOST_TRENDS)(self._draw_trend)
        self.set_font(font)
        look.changed.connect(self._forget_pictures)

    def set_font(self, font: QFont) -> None:
        """Write in another font from now on."""
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
            # Half a pixel lower: so its middle is that of the row.
            place = QRectF(0, 0.5, side, side)
            paint_mark(painter, place, mark.shape, self._look.colour(mark.tone))

        return _picture(side, side + 1, ground, ratio, draw)

    def _draw_chip(self, width: int, border: str, ground: str, ratio: float) -> QPixmap:
        def draw(painter: QPainter) -> None:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(QColor(border), 1))
            # On whole pixels: a border between two of them is blurred.
            box = QRectF(0.5, 0.5, width - 1, CHIP_HEIGHT - 1)
            painter.drawRoundedRect(box, CHIP_HEIGHT / 2, CHIP_HEIGHT / 2)

        return _picture(width, CHIP_HEIGHT, ground, ratio, draw)

    def _draw_trend(self, points: tuple[TrendPoint, ...], height: int, ground: str, ratio: float) -> QPixmap:
        def draw(painter: QPainter) -> None:
            paint_trend(painter, QRectF(TREND_EDGE, 0, TREND_WIDTH, height), points, self._look)

        return _picture(TREND_WIDTH + 2 * TREND_EDGE, height, ground, ratio, draw)


def _picture(width: int, height: int, ground: str, ratio: float, draw: Callable[[QPainter], None]) -> QPixmap:
    """Return what is drawn, sharp on a screen with that many pixels to a point."""
    made = QPixmap(round(width * ratio), round(height * ratio))
    made.setDevicePixelRatio(ratio)
    made.fill(QColor(ground))
    painter = QPainter(made)
    draw(painter)
    painter.end()
    return made
