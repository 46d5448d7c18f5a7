"""The chart of runs per day: told when pointed at, chosen by a click or a key."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta
from itertools import pairwise

import pytest
from PySide6.QtCore import QPoint, QRectF, Qt
from PySide6.QtGui import QFontMetrics
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from halo_scheduler.model import Outcome
from halo_scheduler.model.settings import Theme
from ui.history.chart import DayChart
from ui.history.chart_parts import SERIES, Legend, bucket_words, part_heights, series_words, short_count
from ui.history.choice import Bucket, DaySpan
from ui.style.theme import Appearance, Tone

_FIRST = date(2026, 11, 16)


def _bucket(day: int, **counts: int) -> Bucket:
    at = _FIRST + timedelta(days=day)
    return Bucket(at, at, Counter({Outcome(outcome): count for outcome, count in counts.items()}))


_BUCKETS = [_bucket(0, success=3), _bucket(1, success=12, failure=1), _bucket(2)]


@pytest.fixture
def chart(qtbot: QtBot) -> DayChart:
    appearance = Appearance(Theme.LIGHT)
    made = DayChart(appearance)
    appearance.setParent(made)
    made.resize(600, 112)
    qtbot.addWidget(made)
    made.show()
    made.show_buckets(_BUCKETS, DaySpan())
    return made


def _middle(chart: DayChart, index: int) -> QPoint:
    return chart.column_rect(index).center().toPoint()


def test_drawing_leaves_the_colours_of_the_theme_alone(chart: DayChart) -> None:
    chart.grab()
    assert {chart._appearance.colour(tone).alpha() for tone in Tone} == {255}


def test_pointing_at_a_day_shows_its_times(chart: DayChart, qtbot: QtBot) -> None:
    with qtbot.waitSignal(chart.pointed, check_params_cb=lambda bucket: bucket is _BUCKETS[1]):
        QTest.mouseMove(chart, _middle(chart, 1))
    assert chart.accessibleDescription() == "Tue 17 Nov: 12 succeeded, 1 failed"


def test_a_click_chooses_a_day(chart: DayChart, qtbot: QtBot) -> None:
    with qtbot.waitSignal(chart.chosen) as chosen:
        QTest.mouseClick(chart, Qt.MouseButton.LeftButton, pos=_middle(chart, 0))
    assert chosen.args == [_BUCKETS[0]]


def test_keys_move_and_choose(chart: DayChart, qtbot: QtBot) -> None:
    chart.setFocus()
    QTest.keyClick(chart, Qt.Key.Key_Left)
    assert chart.pointed_bucket is _BUCKETS[2]
    QTest.keyClick(chart, Qt.Key.Key_Left)
    QTest.keyClick(chart, Qt.Key.Key_Home)
    QTest.keyClick(chart, Qt.Key.Key_Left)
    assert chart.pointed_bucket is _BUCKETS[0]
    QTest.keyClick(chart, Qt.Key.Key_End)
    QTest.keyClick(chart, Qt.Key.Key_Right)
    assert chart.pointed_bucket is _BUCKETS[2]
    with qtbot.waitSignal(chart.chosen):
        QTest.keyClick(chart, Qt.Key.Key_Return)


def test_other_numbers_point_at_nothing(chart: DayChart) -> None:
    QTest.mouseMove(chart, _middle(chart, 1))
    chart.show_buckets(_BUCKETS[:1], DaySpan())
    assert chart.pointed_bucket is None
    assert chart.accessibleDescription() == ""


def test_the_drawing_changes_with_its_data(chart: DayChart) -> None:
    full = chart.grab().toImage()
    chart.set_span(DaySpan(_FIRST, _FIRST))
    faint = chart.grab().toImage()
    chart.show_buckets([], DaySpan())
    assert len({bytes(image.constBits()) for image in (full, faint, chart.grab().toImage())}) == 3


def test_parts_differ_by_more_than_their_colour() -> None:
    assert len({series.pattern for series in SERIES}) == len(SERIES)
    assert len({series.mark.shape for series in SERIES}) == len(SERIES)
    assert {outcome for series in SERIES for outcome in series.outcomes} == set(Outcome) - {Outcome.RUNNING}


def test_one_failure_among_thousands_can_be_seen() -> None:
    heights = dict(part_heights(_bucket(0, success=5_000, failure=1), 5_001, 90.0))
    assert min(heights.values()) >= 3.0
    assert sum(heights.values()) == pytest.approx(90.0)


def test_a_day_without_runs_is_described() -> None:
    assert bucket_words(_BUCKETS[2]) == "Wed 18 Nov: no runs"


def test_a_week_is_described_from_its_first_to_its_last_day() -> None:
    week = Bucket(_FIRST, _FIRST + timedelta(days=6), Counter({Outcome.MISSED: 2}))
    assert bucket_words(week) == "Mon 16 Nov – Sun 22 Nov: 2 missed"


@pytest.mark.parametrize(("count", "words"), [(950, "950"), (12_400, "12k"), (3_100_000, "3M")])
def test_numbers_fit_beside_the_chart(count: int, words: str) -> None:
    assert short_count(count) == words


def test_the_legend_names_every_part(qtbot: QtBot) -> None:
    appearance = Appearance(Theme.DARK)
    legend = Legend(appearance)
    appearance.setParent(legend)
    qtbot.addWidget(legend)
    assert all(series_words(series) in legend.accessibleName() for series in SERIES)
    assert not legend.grab().isNull()


def test_bars_are_drawn_again_only_when_they_change(chart: DayChart, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[object] = []
    monkeypatch.setattr("ui.history.chart.paint_pattern", lambda *part: drawn.append(part))
    chart.grab()
    drawn.clear()
    QTest.mouseMove(chart, _middle(chart, 1))
    chart.set_span(DaySpan())
    chart.grab()
    assert not drawn
    chart.show_buckets(_BUCKETS, DaySpan())
    chart.grab()
    assert len(drawn) == 3
    chart.set_span(DaySpan(_FIRST, _FIRST))
    chart.grab()
    assert len(drawn) == 6
    chart.resize(500, 112)
    chart.grab()
    assert len(drawn) == 9
    chart._appearance.choose(Theme.DARK)
    chart.grab()
    assert len(drawn) == 12


def test_a_day_that_is_pointed_at_is_lit_up(chart: DayChart) -> None:
    corner = chart.column_rect(1).topLeft().toPoint() + QPoint(2, 2)
    for index, is_lit in ((1, True), (0, False)):
        QTest.mouseClick(chart, Qt.MouseButton.LeftButton, pos=_middle(chart, index))
        colour = chart.grab().toImage().pixelColor(corner).name()
        assert (colour == chart._appearance.colours.hover) is is_lit


@pytest.mark.usefixtures("large_letters")
def test_the_words_below_the_bars_do_not_overlap_with_large_letters(chart: DayChart) -> None:
    chart.show_buckets([_bucket(day, success=200) for day in range(22)], DaySpan())
    chart.grab()
    counts, dates = chart._words[:2], chart._words[2:]
    places = sorted((spot for spot, *_ in dates), key=QRectF.left)
    assert all(before.right() < after.left() for before, after in pairwise(places))
    assert all(spot.width() >= QFontMetrics(font).horizontalAdvance(text) for spot, _, text, font in counts)
