"""The marks of outcomes and statuses: each has a shape and a colour, the same everywhere."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF

from halo_scheduler.model import Outcome, Situation, SituationKind

from .theme import Tone


class Shape(StrEnum):
    """The shape of a mark; its value is also the name of the icon."""

    CIRCLE = "mark-ok"
    SQUARE = "mark-failed"
    TRIANGLE = "mark-late"
    DOTTED = "mark-skipped"
    BARS = "mark-paused"
    PLAY = "mark-running"
    RING = "mark-idle"
    DASH = "mark-disabled"
    DIAMOND = "mark-asks"


@dataclass(frozen=True, slots=True)
class Mark:
    """A shape in the colour of its meaning."""

    shape: Shape
    tone: Tone


ASKS = Mark(Shape.DIAMOND, Tone.WARN)
"""The mark of an open question."""
_OUTCOMES = {
    Outcome.RUNNING: Mark(Shape.PLAY, Tone.RUNNING),
    Outcome.SUCCESS: Mark(Shape.CIRCLE, Tone.OK),
    Outcome.FAILURE: Mark(Shape.SQUARE, Tone.ERROR),
    Outcome.TIMEOUT: Mark(Shape.SQUARE, Tone.ERROR),
    Outcome.CANCELLED: Mark(Shape.DOTTED, Tone.MUTED),
    Outcome.SKIPPED: Mark(Shape.DOTTED, Tone.MUTED),
    Outcome.MISSED: Mark(Shape.TRIANGLE, Tone.WARN),
    Outcome.INTERRUPTED: Mark(Shape.TRIANGLE, Tone.WARN),
}
_LATE = Mark(Shape.TRIANGLE, Tone.WARN)
_KINDS = {
    SituationKind.RUNNING: Mark(Shape.PLAY, Tone.RUNNING),
    SituationKind.NEEDS_INPUT: ASKS,
    SituationKind.WAITING: _LATE,
    SituationKind.DONE: Mark(Shape.CIRCLE, Tone.MUTED),
    SituationKind.DISABLED: Mark(Shape.DASH, Tone.MUTED),
    SituationKind.PAUSED: Mark(Shape.BARS, Tone.PAUSED),
    SituationKind.CAPPED: _LATE,
    SituationKind.RETRYING: _LATE,
    SituationKind.TROUBLED: _LATE,
    SituationKind.FAILING: _LATE,
    SituationKind.READY: Mark(Shape.CIRCLE, Tone.OK),
}


def outcome_mark(outcome: Outcome) -> Mark:
    """Return the mark of an outcome."""
    return _OUTCOMES[outcome]


def job_mark(situation: Situation) -> Mark:
    """Return the mark of a job's status."""
    kind = situation.kind
    if kind is SituationKind.READY and situation.last_outcome is None:
        return Mark(Shape.RING, Tone.OK)
    if kind is SituationKind.DISABLED and situation.is_failing:
        return Mark(Shape.SQUARE, Tone.ERROR)
    if kind is SituationKind.PAUSED and situation.needs_review:
        return Mark(Shape.BARS, Tone.WARN)
    return _KINDS[kind]


def paint_mark(painter: QPainter, area: QRectF, shape: Shape, colour: QColor) -> None:
    """Draw a mark as large as fits into an area, in its middle."""
    side = min(area.width(), area.height())
    box = QRectF(0, 0, side, side)
    box.moveCenter(area.center())
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    _PAINTERS[shape](painter, box, colour)
    painter.restore()


def _circle(painter: QPainter, box: QRectF, _colour: QColor) -> None:
    painter.drawEllipse(box)


def _square(painter: QPainter, box: QRectF, _colour: QColor) -> None:
    inset = box.width() * 0.06
    painter.drawRoundedRect(box.adjusted(inset, inset, -inset, -inset), inset, inset)


def _triangle(painter: QPainter, box: QRectF, _colour: QColor) -> None:
    painter.drawPolygon(
        QPolygonF([QPointF(box.center().x(), box.top()), box.bottomRight(), box.bottomLeft()])
    )


def _diamond(painter: QPainter, box: QRectF, _colour: QColor) -> None:
    middle = box.center()
    painter.drawPolygon(
        QPolygonF(
            [
                QPointF(middle.x(), box.top()),
                QPointF(box.right(), middle.y()),
                QPointF(middle.x(), box.bottom()),
                QPointF(box.left(), middle.y()),
            ]
        )
    )


def _play(painter: QPainter, box: QRectF, _colour: QColor) -> None:
    left = box.left() + box.width() * 0.12
    painter.drawPolygon(
        QPolygonF(
            [QPointF(left, box.top()), QPointF(box.right(), box.center().y()), QPointF(left, box.bottom())]
        )
    )


def _bars(painter: QPainter, box: QRectF, _colour: QColor) -> None:
    width = box.width() * 0.32
    painter.drawRoundedRect(QRectF(box.left() + box.width() * 0.08, box.top(), width, box.height()), 1, 1)
    painter.drawRoundedRect(
        QRectF(box.right() - width - box.width() * 0.08, box.top(), width, box.height()), 1, 1
    )


def _dash(painter: QPainter, box: QRectF, _colour: QColor) -> None:
    height = box.height() * 0.26
    painter.drawRoundedRect(QRectF(box.left(), box.center().y() - height / 2, box.width(), height), 1, 1)


def _outlined(painter: QPainter, box: QRectF, colour: QColor, style: Qt.PenStyle) -> None:
    width = max(1.5, box.width() * 0.17)
    pen = QPen(colour, width, style, Qt.PenCapStyle.FlatCap)
    if style is Qt.PenStyle.CustomDashLine:
        pen.setDashPattern([1.1, 1.1])
    painter.setPen(pen)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawEllipse(box.adjusted(width / 2, width / 2, -width / 2, -width / 2))


def _ring(painter: QPainter, box: QRectF, colour: QColor) -> None:
    _outlined(painter, box, colour, Qt.PenStyle.SolidLine)


def _dotted(painter: QPainter, box: QRectF, colour: QColor) -> None:
    _outlined(painter, box, colour, Qt.PenStyle.CustomDashLine)


_PAINTERS = {
    Shape.CIRCLE: _circle,
    Shape.SQUARE: _square,
    Shape.TRIANGLE: _triangle,
    Shape.PLAY: _play,
    Shape.BARS: _bars,
    Shape.DASH: _dash,
    Shape.RING: _ring,
    Shape.DOTTED: _dotted,
    Shape.DIAMOND: _diamond,
}
