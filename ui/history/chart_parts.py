"""The parts of the chart's bars: colour, pattern, legend and words of each."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time
from math import ceil

from PySide6.QtCore import QCoreApplication, QLineF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from halo_scheduler.grammar.english import short_date, weekday_name
from halo_scheduler.grammar.zone import local_time
from halo_scheduler.model import Outcome
from halo_scheduler.model.words import ERRORS, PROBLEMS
from ui.style.marks import Mark, outcome_mark, paint_mark
from ui.style.theme import GRID, HALF, Appearance, Tone, small_font
from ui.style.wording import outcome_words

from .choice import Bucket

_SMALLEST_PART = 3.0
_HATCH_STEP = 5
_QUIET = 0.72


@dataclass(frozen=True, slots=True)
class Series:
    """Outcomes drawn as one part, and its pattern."""

    outcomes: tuple[Outcome, ...]
    pattern: str

    @property
    def mark(self) -> Mark:
        return outcome_mark(self.outcomes[0])

    def count(self, bucket: Bucket) -> int:
        return sum(bucket.counts[outcome] for outcome in self.outcomes)


_DONE = (Outcome.RUNNING, Outcome.SUCCESS)
# From the bottom up: failures are on top, where they stand out.
SERIES = (
    Series((Outcome.SUCCESS,), "solid"),
    Series(tuple(outcome for outcome in Outcome if outcome not in (*_DONE, *PROBLEMS)), "outline"),
    Series(tuple(outcome for outcome in PROBLEMS if outcome not in ERRORS), "lines"),
    Series(ERRORS, "hatched"),
)


class Legend(QWidget):
    """The legend: colour and pattern of each part, with the mark used elsewhere."""

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("chartLegend")
        self._appearance = appearance
        self.setFont(small_font(self.font()))
        self.setAccessibleName(", ".join(series_words(series) for series in SERIES))
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        appearance.changed.connect(self.update)

    def _places(self) -> list[tuple[Series, int, int]]:
        places = []
        left = 0
        for series in reversed(SERIES):
            width = QFontMetrics(self.font()).horizontalAdvance(series_words(series))
            places.append((series, left, width))
            left += 10 + HALF + 12 + HALF + width + 2 * GRID
        return places

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        _, left, width = self._places()[-1]
        return QSize(left + 10 + HALF + 12 + HALF + width + 1, QFontMetrics(self.font()).height() + 2)

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        middle = self.height() / 2
        for series, left, width in self._places():
            colour = self._appearance.colour(series.mark.tone)
            paint_mark(painter, QRectF(left, middle - 4.5, 9, 9), series.mark.shape, colour)
            paint_pattern(painter, QRectF(left + 10 + HALF, middle - 5, 12, 10), series, self._appearance)
            painter.setPen(self._appearance.colour(Tone.MUTED))
            spot = QRect(left + 10 + HALF + 12 + HALF, 0, width + 2, self.height())
            painter.drawText(spot, Qt.AlignmentFlag.AlignVCenter, series_words(series))


def paint_pattern(painter: QPainter, part: QRectF, series: Series, appearance: Appearance) -> None:
    """Fill a part of a bar with a pattern, so that it is recognisable without colour."""
    # A copy: the theme's colour is shared.
    colour = QColor(appearance.colour(series.mark.tone))
    # A thin gap between the parts.
    inner = part.adjusted(0, 1 if part.height() > _SMALLEST_PART else 0, 0, 0)
    if series.pattern == "solid":
        # Success is drawn quietly.
        colour.setAlphaF(_QUIET)
        painter.fillRect(inner, colour)
        return
    painter.save()
    painter.setPen(Qt.PenStyle.NoPen)
    if series.pattern == "outline":
        painter.setPen(QPen(colour, 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(part.adjusted(0.5, 1.5, -0.5, -0.5))
        painter.restore()
        return
    painter.fillRect(inner, colour)
    painter.setClipRect(inner, Qt.ClipOperation.IntersectClip)
    painter.setPen(QPen(QColor(appearance.colours.raised), 1.2))
    painter.drawLines(_level_lines(inner) if series.pattern == "lines" else _slanted_lines(inner))
    painter.restore()


def _level_lines(area: QRectF) -> list[QLineF]:
    step = _HATCH_STEP - 1
    count = max(0, ceil((area.height() - 2.5) / step))
    heights = (area.top() + 2.5 + step * number for number in range(count))
    return [QLineF(area.left(), y, area.right(), y) for y in heights]


def _slanted_lines(area: QRectF) -> list[QLineF]:
    count = ceil((area.width() + area.height()) / _HATCH_STEP)
    starts = (area.left() - area.height() + _HATCH_STEP * number for number in range(count))
    return [QLineF(x, area.bottom(), x + area.height(), area.top()) for x in starts]


def part_heights(bucket: Bucket, most: int, height: float) -> list[tuple[Series, float]]:
    """Return the height of each part; every part with runs is visible."""
    counts = [(series, series.count(bucket)) for series in SERIES]
    heights = [
        (series, max(_SMALLEST_PART, count / most * height)) for series, count in counts if count and most
    ]
    excess = sum(part for _, part in heights) - height
    if excess <= 0:
        return heights
    largest = max(part for _, part in heights)
    return [(series, part - excess if part == largest else part) for series, part in heights]


def series_words(series: Series) -> str:
    """Return what a part of the bars means: "Failed or timed out"."""
    first, *rest = (outcome_words(outcome) for outcome in series.outcomes)
    return " / ".join([first, *(word.lower() for word in rest)])


def bucket_words(bucket: Bucket) -> str:
    """Return a bar in words: "Tue 17 Nov: 12 succeeded, 1 failed"."""
    first = day_words(bucket.first)
    when = first if bucket.first == bucket.last else f"{first} – {day_words(bucket.last)}"
    if bucket.hour_at is not None:
        when = f"{first}, {short_words(bucket)}"
    counts = [
        f"{bucket.counts[outcome]:,} {outcome_words(outcome).lower()}"
        for series in SERIES
        for outcome in series.outcomes
        if bucket.counts[outcome]
    ]
    return f"{when}: {', '.join(counts) or QCoreApplication.translate('DayChart', 'no runs')}"


def short_words(bucket: Bucket) -> str:
    """Return what stands below a bar: "17 Nov", or of an hour "14:00"."""
    if bucket.hour_at is None:
        return day_words(bucket.first, short=True)
    return f"{local_time(bucket.hour_at):%H:%M}"


def day_words(day: date, *, short: bool = False) -> str:
    """Return a day in words: "Tue 17 Nov", or short "17 Nov"."""
    midnight = datetime.combine(day, time())
    text = short_date(midnight, year=False)
    return text if short else f"{weekday_name(midnight)[:3]} {text}"


def short_count(count: int) -> str:
    """Return a number that fits beside the chart: "950", "12k", "3M"."""
    if count < 10_000:  # noqa: PLR2004 - four figures fit
        return str(count)
    return f"{count // 1000}k" if count < 1_000_000 else f"{count // 1_000_000}M"  # noqa: PLR2004
