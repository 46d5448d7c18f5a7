"""The columns of the job table: shared out, dragged, hidden and remembered."""

from __future__ import annotations

import json
from typing import Any

import pytest
from job_values import NOW, make_job, row_of
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction, QFont, QFontMetrics
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from halo_scheduler import Cron
from halo_scheduler.clock import ManualClock
from halo_scheduler.model import PathExists, WaitingDetails, WaitingFor
from halo_scheduler.model.words import Shortage
from ui.main_window.table.columns import NARROWEST
from ui.main_window.table.job_rows import Column
from ui.main_window.table.job_table import JobTableModel
from ui.main_window.table.job_view import JobView
from ui.style.theme import GRID, Appearance, number_font, strong_font

_WAITS: dict[str, Any] = {
    "waiting_for": WaitingFor.DISK_SPACE,
    "waiting_details": WaitingDetails(name=Shortage.DISK),
    "next_run_at": NOW - 5_000,
}
_WAITING = "waiting for free disk space to start"
_LONG = "Back up disk health on db-replica-3 of the cluster"


@pytest.fixture
def view(qtbot: QtBot) -> JobView:
    model = JobTableModel(ManualClock(NOW))
    made = JobView(model, Appearance())
    qtbot.addWidget(made)
    made.resize(900, 400)
    made.show()
    model.replace([row_of(make_job(_LONG, schedule=Cron("0 6-18/2 * * 1-5"))), row_of(make_job("b"))])
    return made


def _hidden(view: JobView) -> list[Column]:
    return [column for column in Column if view.isColumnHidden(column)]


def _widths(view: JobView) -> dict[Column, int]:
    return {column: view.columnWidth(column) for column in Column if not view.isColumnHidden(column)}


def _drag(view: JobView, column: Column, by: int) -> None:
    header = view.horizontalHeader()
    edge = header.sectionViewportPosition(column) + header.sectionSize(column) - 1
    start, end = QPoint(edge, header.height() // 2), QPoint(edge + by, header.height() // 2)
    QTest.mousePress(header.viewport(), Qt.MouseButton.LeftButton, pos=start)
    QTest.mouseMove(header.viewport(), end)
    QTest.mouseRelease(header.viewport(), Qt.MouseButton.LeftButton, pos=end)


def _choose(view: JobView, name: str) -> None:
    menu = QMenu(view)
    view.columns.fill(menu)
    action = menu.findChild(QAction, name)
    assert action is not None
    action.trigger()


@pytest.mark.parametrize("later", [False, True])
def test_short_names_leave_room_for_a_long_schedule(view: JobView, later: bool) -> None:
    model = view.model()
    assert isinstance(model, JobTableModel)
    often = Cron("0 6-18/2 * * 1-5")
    shorts = [row_of(make_job(f"rsync {number}", schedule=often)) for number in range(50)]
    text = "Mon–Fri 06–18, every 2 h"
    needed = QFontMetrics(number_font(view.font())).horizontalAdvance(text) + 2 * GRID
    model.replace([*shorts, row_of(make_job(f"zz {_LONG}"))] if later else shorts)
    view.doItemsLayout()
    view.resize(850, 400)
    assert not _hidden(view)
    assert view.columnWidth(Column.SCHEDULE) > needed
    names = view.columnWidth(Column.NAME)
    view.scrollToBottom()
    # A long name that comes into sight gets its width back.
    assert (view.columnWidth(Column.NAME) > names) is later


def test_the_usual_schedules_and_times_are_not_cut_at_the_usual_size(view: JobView) -> None:
    metrics = QFontMetrics(view.font())
    assert not _hidden(view)
    for column, text in (
        (Column.SCHEDULE, "2 h after it ends"),
        (Column.SCHEDULE, "18 Nov 2026 20:58"),
        (Column.NEXT, "tomorrow at 09:00"),
    ):
        assert view.columnWidth(column) >= metrics.horizontalAdvance(text)


@pytest.mark.parametrize("points", [10, 17, 24])
def test_columns_drop_out_before_names_are_cut_below_twenty_letters(view: JobView, points: int) -> None:
    view.setFont(QFont(view.font().family(), points))
    letters = 20 * QFontMetrics(strong_font(view.font())).averageCharWidth()
    for width in range(300, 1200, 50):
        view.resize(width, 300)
        others = set(_widths(view)) - {Column.NAME, Column.NEXT}
        assert view.columnWidth(Column.NAME) >= letters or not others
        assert sum(_widths(view).values()) <= max(view.viewport().width(), 2 * NARROWEST)


def test_a_dragged_edge_moves_width_between_neighbours_and_stays(view: JobView) -> None:
    before = _widths(view)
    _drag(view, Column.NAME, -40)
    after = _widths(view)
    assert after[Column.NAME] == before[Column.NAME] - 40
    assert after[Column.SCHEDULE] == before[Column.SCHEDULE] + 40
    assert sum(after.values()) == sum(before.values())
    view.resize(1000, 400)
    assert view.columnWidth(Column.SCHEDULE) == after[Column.SCHEDULE]


def test_a_column_that_is_dragged_far_leaves_the_others_visible(view: JobView) -> None:
    total = sum(_widths(view).values())
    _drag(view, Column.NAME, 2_000)
    assert min(_widths(view).values()) == NARROWEST
    assert sum(_widths(view).values()) == total


def test_a_double_click_on_an_edge_fits_the_longest_text(view: JobView) -> None:
    header = view.horizontalHeader()
    edge = header.sectionViewportPosition(Column.NAME) + header.sectionSize(Column.NAME) - 1
    QTest.mouseDClick(header.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(edge, header.height() // 2))
    needed = QFontMetrics(strong_font(view.font())).horizontalAdvance(_LONG)
    assert needed < view.columnWidth(Column.NAME) < needed + 60
    assert view.sizeHintForColumn(Column.TREND) > 0


def test_columns_are_hidden_and_shown_from_the_menu(view: JobView) -> None:
    _choose(view, "column-trend")
    _choose(view, "column-schedule")
    assert _hidden(view) == [Column.SCHEDULE, Column.TREND]
    _choose(view, "column-trend")
    assert _hidden(view) == [Column.SCHEDULE]
    _choose(view, "resetColumns")
    assert not _hidden(view)


@pytest.mark.qt_log_ignore("This plugin does not support")
def test_a_right_click_on_the_headings_opens_the_menu(view: JobView) -> None:
    view.horizontalHeader().customContextMenuRequested.emit(QPoint(5, 5))
    menu = view.findChild(QMenu, "columnMenu")
    assert menu is not None
    assert menu.isVisible()
    menu.close()


def test_chosen_columns_are_remembered(qtbot: QtBot, view: JobView) -> None:
    _drag(view, Column.SCHEDULE, 30)
    _choose(view, "column-trend")
    view.sort_by(Column.NEXT, Qt.SortOrder.DescendingOrder)
    saved = json.loads(json.dumps(view.arrangement()))
    model = JobTableModel(ManualClock(NOW))
    other = JobView(model, Appearance())
    qtbot.addWidget(other)
    other.resize(900, 400)
    other.arrange(saved)
    other.show()
    assert _hidden(other) == [Column.TREND]
    assert other.columnWidth(Column.SCHEDULE) == view.columnWidth(Column.SCHEDULE)
    assert model.order == (Column.NEXT, True)


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"columns": 3, "sort": "TREND"},
        {"columns": {"widths": {"NEXT": "x", "NAME": -3, "NONE": 5, "LAST": 10**9}, "hidden": ["NAME", 4]}},
    ],
)
def test_invalid_choices_are_ignored(view: JobView, state: dict[str, Any]) -> None:
    before = _widths(view)
    view.arrange(state)
    assert _widths(view) == before


def test_the_triangle_points_up_while_the_order_ascends(view: JobView) -> None:
    Appearance().apply()
    header = view.horizontalHeader()

    def widths_of_the_triangle(order: Qt.SortOrder) -> list[int]:
        """Return how many pixels the triangle has in each of its lines, from the top."""
        view.sort_by(Column.NAME, order)
        with_it = header.grab().toImage()
        header.setSortIndicatorShown(False)
        without = header.grab().toImage()
        header.setSortIndicatorShown(True)
        lines = (
            [x for x in range(with_it.width()) if with_it.pixel(x, y) != without.pixel(x, y)]
            for y in range(with_it.height())
        )
        return [max(line) - min(line) for line in lines if len(line) > 1]

    up = widths_of_the_triangle(Qt.SortOrder.AscendingOrder)
    down = widths_of_the_triangle(Qt.SortOrder.DescendingOrder)
    assert up == down[::-1]
    assert up[0] < up[1]


def _needed(view: JobView, text: str) -> int:
    return QFontMetrics(view.font()).horizontalAdvance(text) + GRID


@pytest.mark.parametrize(("points", "width"), [(9, 640), (17, 1_100)])
def test_the_next_run_is_not_cut_when_a_job_begins_to_wait(view: JobView, points: int, width: int) -> None:
    view.setFont(QFont(view.font().family(), points))
    view.resize(width, 300)
    model = view.model()
    assert isinstance(model, JobTableModel)
    model.update([row_of(make_job("b", **_WAITS))])
    assert _WAITING in [model.text_at(row, Column.NEXT) for row in range(2)]
    assert view.columnWidth(Column.NEXT) >= _needed(view, _WAITING)
    assert sum(_widths(view).values()) <= view.viewport().width()


def test_a_next_run_does_not_lack_a_fraction_of_a_pixel(
    view: JobView, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics = QFontMetrics(number_font(view.font()))

    def fits(text: str, room: int) -> bool:
        return metrics.elidedText(text, Qt.TextElideMode.ElideRight, room) == text

    texts = (f"waiting for free disk space{'i' * count}" for count in range(40))
    text = next(text for text in texts if not fits(text, metrics.horizontalAdvance(text)))
    model = view.model()
    assert isinstance(model, JobTableModel)
    monkeypatch.setattr(model, "text_at", lambda *_: text)
    model.update([row_of(make_job("b", next_run_at=NOW))])
    assert fits(text, view.columnWidth(Column.NEXT) - 2 * GRID)


def test_the_next_run_is_not_cut_when_a_row_is_scrolled_into_sight(view: JobView) -> None:
    waits = make_job("z", **_WAITS)
    model = view.model()
    assert isinstance(model, JobTableModel)
    model.replace([*(row_of(make_job(f"job {number:02}")) for number in range(40)), row_of(waits)])
    view.resize(640, 300)
    before = view.columnWidth(Column.NEXT)
    assert before < _needed(view, _WAITING)
    view.scrollToBottom()
    assert view.columnWidth(Column.NEXT) >= _needed(view, _WAITING)


@pytest.mark.parametrize("points", [9, 10, 11])
def test_the_time_of_a_single_run_is_shown_beside_a_long_next_run(view: JobView, points: int) -> None:
    view.setFont(QFont(view.font().family(), points))
    view.resize(889, 400)
    _long_wait(view)
    assert view.columnWidth(Column.SCHEDULE) >= _needed(view, "24 Dec 2026 00:00")


def test_a_width_that_was_dragged_stays_although_a_text_is_cut(view: JobView) -> None:
    _drag(view, Column.NEXT, -30)
    chosen = view.columnWidth(Column.NEXT)
    model = view.model()
    assert isinstance(model, JobTableModel)
    model.update([row_of(make_job("b", **_WAITS))])
    assert view.columnWidth(Column.NEXT) == chosen


def _long_wait(view: JobView) -> str:
    """Let a job in sight wait for several folders, and return its long next run."""
    folders = tuple(PathExists(path=f"/media/archive/year-{number}/photos") for number in range(4))
    waits = _WAITS | {
        "waiting_for": WaitingFor.CONDITION,
        "waiting_details": WaitingDetails(conditions=folders),
    }
    model = view.model()
    assert isinstance(model, JobTableModel)
    model.update([row_of(make_job("b", **waits))])
    return max((model.text_at(row, Column.NEXT) for row in range(2)), key=len)


@pytest.mark.parametrize("points", [10, 17, 24])
def test_a_long_next_run_leaves_names_twenty_letters_or_half_of_the_table(view: JobView, points: int) -> None:
    view.setFont(QFont(view.font().family(), points))
    letters = 20 * QFontMetrics(strong_font(view.font())).averageCharWidth()
    assert len(_long_wait(view)) > 60
    for width in range(300, 1200, 50):
        view.resize(width, 300)
        assert view.columnWidth(Column.NAME) >= min(letters, view.viewport().width() // 2)


def test_beside_the_details_with_large_letters_names_take_the_place_of_the_next_run(view: JobView) -> None:
    view.setFont(QFont(view.font().family(), 17))
    letters = QFontMetrics(strong_font(view.font())).averageCharWidth()
    for width in range(200, 700, 20):
        view.resize(width, 300)
        assert view.columnWidth(Column.NAME) >= min(10 * letters, view.viewport().width())
        assert view.columnWidth(Column.NEXT) == 0 or view.columnWidth(Column.NEXT) >= 10 * letters
    view.resize(900, 300)
    assert Column.NEXT not in _hidden(view)


def test_a_long_next_run_takes_no_width_from_the_schedules_of_other_jobs(view: JobView) -> None:
    view.resize(1_100, 400)
    before = _widths(view)
    long = _long_wait(view)
    assert _widths(view)[Column.NEXT] > before[Column.NEXT]
    assert _widths(view)[Column.SCHEDULE] >= _needed(view, "Mon–Fri 06–18, every 2 h")
    view.resize(2_000, 400)
    assert view.columnWidth(Column.NEXT) >= _needed(view, long)


@pytest.mark.parametrize("points", [9, 10, 11, 12])
def test_the_bars_stay_beside_a_long_next_run_at_the_usual_size(view: JobView, points: int) -> None:
    view.setFont(QFont(view.font().family(), points))
    view.resize(889, 400)  # The table of a new window, beside the details.
    _long_wait(view)
    assert not _hidden(view)
    assert view.columnWidth(Column.NEXT) >= _needed(view, "tomorrow at 00:00 · quiet")
