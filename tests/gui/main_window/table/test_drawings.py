"""What rows are drawn from: made once, and anew when what it depends on changes."""

from __future__ import annotations

import pytest
from job_values import NOW
from PySide6.QtGui import QFont
from pytestqt.qtbot import QtBot

from halo_scheduler.model import Outcome
from halo_scheduler.model.settings import Theme
from halo_scheduler.rules.statistics import TrendPoint
from ui.main_window.table.drawings import Drawings, Letters
from ui.style.marks import outcome_mark
from ui.style.theme import Appearance

_POINTS = tuple(TrendPoint(str(number), Outcome.SUCCESS, 1_000 * number, NOW) for number in range(1, 6))


@pytest.fixture
def appearance(qtbot: QtBot) -> Appearance:  # noqa: ARG001 - an application
    return Appearance(Theme.LIGHT)


@pytest.fixture
def drawings(appearance: Appearance) -> Drawings:
    return Drawings(appearance, QFont())


def test_a_trend_is_drawn_once_until_a_run_is_added(drawings: Drawings, appearance: Appearance) -> None:
    ground = appearance.colours.raised
    first = drawings.trend(_POINTS, 22, ground, 1.0)
    assert drawings.trend(tuple(_POINTS), 22, ground, 1.0) is first
    assert drawings.trend(_POINTS[1:], 22, ground, 1.0).toImage() != first.toImage()


def test_pictures_are_redrawn_in_another_theme(drawings: Drawings, appearance: Appearance) -> None:
    mark = outcome_mark(Outcome.SUCCESS)
    light = drawings.mark(mark, 10, appearance.colours.raised, 1.0).toImage()
    ground = appearance.colours.raised
    appearance.choose(Theme.DARK)
    assert drawings.mark(mark, 10, ground, 1.0).toImage() != light


def test_pictures_have_the_pixels_of_the_screen(drawings: Drawings, appearance: Appearance) -> None:
    picture = drawings.chip(60, 18, appearance.colours.line, appearance.colours.raised, 2.0)
    assert (picture.width(), picture.deviceIndependentSize().width()) == (120, 60)


def test_a_text_is_cut_to_fit(drawings: Drawings) -> None:
    whole, cut = (drawings.text("a rather long name", Letters.PLAIN, width) for width in (1_000, 60))
    assert whole.text.text() == "a rather long name"
    assert cut.text.text().endswith("…")
    assert cut.width <= 60 < whole.width


def test_a_text_that_resembles_markup_is_plain_text(drawings: Drawings) -> None:
    plain = drawings.text("<b>x</b>", Letters.PLAIN, 1_000)
    assert plain.text.size().width() >= plain.width - 1


def test_another_font_is_measured_again(drawings: Drawings) -> None:
    before = drawings.width("name", Letters.STRONG)
    drawings.set_font(QFont("", 40))
    assert drawings.width("name", Letters.STRONG) > before
