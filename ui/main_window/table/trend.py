"""The trend of a job's last runs as small bars: height is duration, colour and shape are the outcome."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF

from halo_scheduler.rules.statistics import TrendPoint
from ui.style.marks import Shape, outcome_mark
from ui.style.theme import Appearance

MOST_BARS = 20
BAR = 3
STEP = 5
WIDTH = MOST_BARS * STEP - (STEP - BAR)
_LEAST = 3.0
_CAP = 4.0


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
        # The full height is left to the mark on top of a failure, so that nothing is cut off.
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
