"""The trend: height is duration, shape and colour are outcome."""

from __future__ import annotations

import pytest
from job_values import NOW
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QImage, QPainter
from pytestqt.qtbot import QtBot

from halo_scheduler.model import Outcome
from halo_scheduler.model.settings import Theme
from halo_scheduler.rules.statistics import TrendPoint
from ui.main_window.table.trend import WIDTH, bar_height, paint_trend
from ui.style.theme import Appearance


@pytest.fixture
def appearance(qtbot: QtBot) -> Appearance:  # noqa: ARG001 - an application
    return Appearance(Theme.LIGHT)


def _drawn(appearance: Appearance, *outcomes: Outcome) -> QImage:
    image = QImage(WIDTH, 24, QImage.Format.Format_ARGB32)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    points = [TrendPoint(str(index), outcome, 1_000, NOW) for index, outcome in enumerate(outcomes)]
    paint_trend(painter, QRectF(0, 0, WIDTH, 24), points, appearance)
    painter.end()
    return image


def _pattern(image: QImage) -> list[int]:
    """Return where there is any colour: the shape, whatever its colour."""
    return [
        int(image.pixelColor(x, y).alpha() > 127) for y in range(image.height()) for x in range(image.width())
    ]


def test_a_run_four_times_as_long_stands_twice_as_high() -> None:
    assert bar_height(1_000, 4_000, 20) == pytest.approx(bar_height(4_000, 4_000, 20) / 2)


def test_a_run_without_a_duration_can_still_be_seen() -> None:
    assert bar_height(None, 4_000, 20) > 0
    assert bar_height(0, 0, 20) > 0


def test_outcomes_differ_in_shape_not_only_in_colour(appearance: Appearance) -> None:
    kinds = (Outcome.SUCCESS, Outcome.FAILURE, Outcome.MISSED, Outcome.SKIPPED)
    patterns = [tuple(_pattern(_drawn(appearance, kind))) for kind in kinds]
    assert len(set(patterns)) == len(kinds)


def test_the_newest_run_stands_at_the_right_end(appearance: Appearance) -> None:
    image = _drawn(appearance, Outcome.SUCCESS)
    columns = {x for x in range(WIDTH) for y in range(24) if image.pixelColor(x, y).alpha()}
    assert min(columns) >= WIDTH - 4


def test_of_many_runs_the_newest_are_drawn(appearance: Appearance) -> None:
    many = [Outcome.FAILURE] * 10 + [Outcome.SUCCESS] * 20
    assert _pattern(_drawn(appearance, *many)) == _pattern(_drawn(appearance, *many[-20:]))


def test_no_runs_leave_it_blank(appearance: Appearance) -> None:
    assert not any(_pattern(_drawn(appearance)))
