"""The job table as it is seen: selection and place stay, whatever comes and goes."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from job_values import HOUR, MINUTE, NASTY, NOW, make_job, make_run, row_of
from PySide6.QtCore import (
    QEvent,
    QItemSelection,
    QItemSelectionModel,
    QItemSelectionRange,
    QObject,
    QPoint,
    QPointF,
    Qt,
)
from PySide6.QtGui import QCursor, QFont, QHoverEvent, QPaintEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from halo_scheduler.clock import ManualClock
from halo_scheduler.model import Job, JobStatus, Outcome
from halo_scheduler.rules.statistics import TrendPoint
from ui.main_window.table.job_rows import Column, JobFacts, JobFilter
from ui.main_window.table.job_table import JobTableModel
from ui.main_window.table.job_view import JobView
from ui.style.theme import Appearance


@pytest.fixture
def model(qtbot: QtBot) -> JobTableModel:  # noqa: ARG001 - an application
    return JobTableModel(ManualClock(NOW))


@pytest.fixture
def view(qtbot: QtBot, model: JobTableModel) -> JobView:
    made = JobView(model, Appearance())
    qtbot.addWidget(made)
    made.resize(900, 400)
    made.show()
    return made


def _fill(model: JobTableModel, names: Iterable[str]) -> None:
    model.replace([row_of(make_job(name)) for name in names])


def _hundred() -> list[str]:
    return [f"job {index}" for index in range(100)]


def _top(view: JobView, model: JobTableModel) -> str:
    return model.job_at(view.rows_in_sight()[0]).name


def _drawn(view: JobView) -> bool:
    return not view.grab().isNull()


def test_the_selection_stays_when_everything_is_read_again(model: JobTableModel, view: JobView) -> None:
    _fill(model, "abcd")
    view.select_ids(["b", "c"])
    model.replace([row_of(make_job(name)) for name in "xbdcay"])
    assert view.selected_ids() == ["b", "c"]


def test_the_selection_stays_when_rows_come_go_and_move(model: JobTableModel, view: JobView) -> None:
    _fill(model, "bdf")
    view.sort_by(Column.NEXT, Qt.SortOrder.AscendingOrder)
    view.select_ids(["d"])
    later = make_job("d", next_run_at=NOW + HOUR)
    model.update([row_of(later), row_of(make_job("a"))], ["b"])
    assert view.selected_ids() == ["d"]
    assert model.row_of("d") == model.rowCount() - 1


def test_keeping_the_selection_emits_no_signal(qtbot: QtBot, model: JobTableModel, view: JobView) -> None:
    _fill(model, "abc")
    view.select_ids(["b"])
    with qtbot.assertNotEmitted(view.selection_changed):
        model.replace([row_of(make_job(name)) for name in "zbx"])


def test_rows_inserted_above_do_not_move_the_visible_ones(model: JobTableModel, view: JobView) -> None:
    _fill(model, _hundred())
    view.doItemsLayout()
    view.verticalScrollBar().setValue(50 * 36 + 10)
    before, offset = _top(view, model), view.rowViewportPosition(view.rows_in_sight()[0])
    model.update([row_of(make_job("a first")), row_of(make_job("b second"))])
    assert _top(view, model) == before
    assert view.rowViewportPosition(view.rows_in_sight()[0]) == offset
    model.replace([row_of(make_job(name)) for name in [*_hundred(), "a third"]])
    assert _top(view, model) == before


def test_at_the_top_it_stays_at_the_top(model: JobTableModel, view: JobView) -> None:
    _fill(model, _hundred())
    model.update([row_of(make_job("a first"))])
    assert _top(view, model) == "a first"


def test_after_a_deletion_the_keyboard_continues_at_the_neighbour(
    model: JobTableModel, view: JobView
) -> None:
    _fill(model, "abcd")
    view.select_ids(["c"])
    model.update([], ["c"])
    assert view.selected_ids() == ["d"]
    assert model.job_at(view.currentIndex().row()).name == "d"


def test_where_a_job_was_deleted_its_neighbour_is_selected(model: JobTableModel, view: JobView) -> None:
    _fill(model, "abc")
    view.select_ids(["b"])
    model.update([], ["b"])
    assert view.selected_ids() == ["c"]
    model.update([], ["c"])
    assert view.selected_ids() == ["a"]
    model.update([], ["a"])
    assert view.selected_ids() == []


def test_a_selection_hidden_by_a_search_is_restored_after_it(model: JobTableModel, view: JobView) -> None:
    _fill(model, ["apple", "pear"])
    view.select_ids(["apple"])
    model.set_filter(JobFilter(text="pear"))
    assert view.selected_ids() == []
    model.set_filter(JobFilter())
    assert view.selected_ids() == ["apple"]


def test_selecting_brings_a_job_into_sight(model: JobTableModel, view: JobView) -> None:
    _fill(model, _hundred())
    view.select_ids(["job 77"])
    assert "job 77" in view.ids_in_sight()


def test_only_rows_in_sight_are_counted(model: JobTableModel, view: JobView) -> None:
    _fill(model, _hundred())
    assert 5 < len(view.ids_in_sight()) < 20
    assert len(list(view.waits(NOW))) == len(view.ids_in_sight())


def test_without_rows_nothing_is_in_sight(view: JobView) -> None:
    assert view.ids_in_sight() == []
    assert list(view.waits(NOW)) == []
    view.count_seconds()


def test_past_runs_are_waited_for_too(model: JobTableModel, view: JobView) -> None:
    model.replace([row_of(make_job(next_run_at=None))])
    model.set_facts({"backup": JobFacts(last=make_run(finished_at=NOW - MINUTE // 2))})
    assert list(view.waits(NOW)) == [MINUTE // 2]


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Enter])
def test_enter_requests_an_edit(qtbot: QtBot, model: JobTableModel, view: JobView, key: Qt.Key) -> None:
    _fill(model, "a")
    with qtbot.waitSignal(view.edit_wanted):
        QTest.keyClick(view, key)


def test_a_double_click_requests_an_edit(qtbot: QtBot, model: JobTableModel, view: JobView) -> None:
    _fill(model, "a")
    at = QPoint(60, 18)
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=at)
    with qtbot.waitSignal(view.edit_wanted):
        QTest.mouseDClick(view.viewport(), Qt.MouseButton.LeftButton, pos=at)


def test_arrows_walk_through_rows_not_cells(model: JobTableModel, view: JobView) -> None:
    _fill(model, "ab")
    view.select_ids(["a"])
    QTest.keyClick(view, Qt.Key.Key_Right)
    assert view.selected_ids() == ["a"]
    QTest.keyClick(view, Qt.Key.Key_Down)
    assert view.selected_ids() == ["b"]


def test_a_heading_sorts_and_turns(model: JobTableModel, view: JobView) -> None:
    _fill(model, "ab")
    header = view.horizontalHeader()

    def click(column: Column) -> None:
        at = QPoint(header.sectionPosition(column) + 12, header.height() // 2)
        QTest.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=at)

    click(Column.NAME)
    assert model.order == (Column.NAME, True)
    click(Column.NEXT)
    assert model.order == (Column.NEXT, False)
    click(Column.TREND)
    assert model.order == (Column.NEXT, False)
    assert header.sortIndicatorSection() == Column.NEXT


def test_columns_without_space_are_hidden(view: JobView) -> None:
    view.resize(1000, 300)
    assert not any(view.isColumnHidden(column) for column in Column)
    view.resize(480, 300)
    assert [column for column in Column if view.isColumnHidden(column)] == [Column.LAST, Column.TREND]
    assert sum(view.columnWidth(column) for column in Column) <= view.viewport().width()
    view.resize(320, 300)
    assert view.isColumnHidden(Column.SCHEDULE)
    assert sum(view.columnWidth(column) for column in Column) <= view.viewport().width()


def test_the_row_below_the_mouse_lights_up(model: JobTableModel, view: JobView) -> None:
    _fill(model, "ab")
    before = view.grab().toImage()
    _point_at(view, 400, 18)
    lit = view.grab().toImage()
    assert lit != before
    _leave(view)
    assert view.grab().toImage() == before


def test_the_row_that_comes_under_the_mouse_lights_up(model: JobTableModel, view: JobView) -> None:
    _fill(model, _hundred())
    _point_at(view, 400, 18)
    assert view._hovered == 0
    view.scrollToBottom()
    assert view._hovered == view.rowAt(18) > 0


def test_the_row_below_the_mouse_lights_up_although_the_table_moved(
    model: JobTableModel, view: JobView
) -> None:
    _fill(model, _hundred())
    house = QWidget()
    house.resize(1_000, 600)
    view.setParent(house)
    view.setGeometry(0, 0, 1_000, 600)
    house.show()
    _point_at(view, 400, 3 * view.rowHeight(0) + 1)
    assert view._hovered == 3
    view.setGeometry(0, view.rowHeight(0), 1_000, 500)
    assert view._hovered == 2
    view.setParent(None)


@pytest.mark.usefixtures("styled")
def test_no_single_cell_lights_up_after_scrolling(
    qapp: QApplication, model: JobTableModel, view: JobView
) -> None:
    _fill(model, _hundred())
    height = view.rowHeight(0)
    at = QPoint(view.columnViewportPosition(Column.LAST) + 2, height // 2)
    QCursor.setPos(view.viewport().mapToGlobal(at))
    qapp.processEvents()
    assert view._hovered == 0
    _leave(view)
    view.verticalScrollBar().setValue(10 * height)
    drawn = view.viewport().grab().toImage()
    QCursor.setPos(view.mapToGlobal(QPoint(0, view.height() + 50)))
    qapp.processEvents()
    assert drawn.pixelColor(at) == drawn.pixelColor(at + QPoint(0, height))


def _point_at(view: JobView, x: int, y: int) -> None:
    """Tell the table that the mouse is there; like Qt's own events, without its place on the screen."""
    at = QPointF(x, y)
    QApplication.sendEvent(view.viewport(), QHoverEvent(QEvent.Type.HoverMove, at, at, QPointF(-1, -1)))


def _leave(view: JobView) -> None:
    away = QPointF(-1, -1)
    QApplication.sendEvent(view.viewport(), QHoverEvent(QEvent.Type.HoverLeave, away, away, away))


def test_a_larger_font_gets_higher_rows(model: JobTableModel, view: JobView) -> None:
    _fill(model, "a")
    font = QFont(view.font())
    font.setPointSizeF(30)
    view.setFont(font)
    assert view.rowHeight(0) > 36
    assert _drawn(view)


def _every_kind() -> list[Job]:
    return [
        make_job("ready", group="home", last_outcome=Outcome.SUCCESS),
        make_job("running", status=JobStatus.RUNNING, next_run_at=None),
        make_job("off", status=JobStatus.DISABLED, next_run_at=None),
        make_job("paused", status=JobStatus.PAUSED, next_run_at=None, group="g" * 200),
        make_job(NASTY, group=NASTY),
    ]


def test_every_kind_of_job_can_be_drawn(model: JobTableModel, view: JobView) -> None:
    model.replace([row_of(job) for job in _every_kind()])
    trend = tuple(TrendPoint(outcome, outcome, 900, NOW) for outcome in Outcome)
    model.set_facts({job.id: JobFacts(last=make_run(), trend=trend) for job in _every_kind()})
    model.set_running({"running": make_run(Outcome.RUNNING, job_id="running", progress=0.4)})
    view.select_ids(["ready"])
    assert _drawn(view)
    view.resize(300, 300)
    assert _drawn(view)


def test_the_table_has_a_name(view: JobView) -> None:
    assert view.accessibleName() == "Jobs"


@pytest.mark.parametrize("order", list(Qt.SortOrder))
def test_many_selected_neighbours_are_selected_as_one_after_sorting(
    model: JobTableModel, view: JobView, order: Qt.SortOrder
) -> None:
    _fill(model, _hundred())
    view.selectAll()
    view.sort_by(Column.NEXT, order)
    assert view.selectionModel().selection().count() == 1
    assert len(view.selected_ids()) == 100
    assert [row.job.id for row in view.selected_rows()] == view.selected_ids()


def test_ranges_that_overlap_count_each_job_once(model: JobTableModel, view: JobView) -> None:
    _fill(model, "abcde")
    chosen = QItemSelection(model.index(0, 0), model.index(2, 4))
    chosen.append(QItemSelectionRange(model.index(1, 0), model.index(3, 4)))
    view.selectionModel().select(chosen, QItemSelectionModel.SelectionFlag.ClearAndSelect)
    assert view.selected_ids() == ["a", "b", "c", "d"]


def test_scrolling_by_a_row_draws_that_row_only(qtbot: QtBot, model: JobTableModel, view: JobView) -> None:
    _fill(model, _hundred())
    drawn, bar = _Drawn(view), view.verticalScrollBar()

    def scroll_by_a_row() -> bool:
        if bar.value() + view.rowHeight(0) > bar.maximum():
            bar.setValue(0)
            QApplication.processEvents()
        drawn.heights.clear()
        bar.setValue(bar.value() + view.rowHeight(0))
        QApplication.processEvents()
        return 0 < max(drawn.heights, default=0) <= view.rowHeight(0)

    # The first times the window is still being put up, for longer than there are rows on a busy machine.
    qtbot.waitUntil(scroll_by_a_row)


class _Drawn(QObject):
    """Notes how much of a view is drawn each time."""

    def __init__(self, view: JobView) -> None:
        super().__init__(view)
        self.heights: list[int] = []
        view.viewport().installEventFilter(self)

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:  # noqa: N802
        if isinstance(event, QPaintEvent):
            self.heights.append(event.rect().height())
        return False


@pytest.mark.parametrize("modifier", [Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ControlModifier])
def test_home_and_end_select_the_first_and_the_last_job(
    model: JobTableModel, view: JobView, modifier: Qt.KeyboardModifier
) -> None:
    _fill(model, _hundred())
    view.select_ids(["job 50"])
    QTest.keyClick(view, Qt.Key.Key_End, modifier)
    assert view.selected_ids() == ["job 99"]
    QTest.keyClick(view, Qt.Key.Key_Home, modifier)
    assert view.selected_ids() == ["job 0"]
    QTest.keyClick(view, Qt.Key.Key_End, modifier | Qt.KeyboardModifier.ShiftModifier)
    assert len(view.selected_ids()) == 100


def test_typing_jumps_to_the_name_that_begins_so(model: JobTableModel, view: JobView) -> None:
    _fill(model, ("apple", "pear", "plum", "peach"))
    view.setCurrentIndex(model.index(0, Column.NEXT))
    QTest.keyClicks(view, "plu")
    assert view.selected_ids() == ["plum"]
