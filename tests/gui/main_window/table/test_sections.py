"""Jobs below the headings of their groups."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from job_values import MINUTE, NOW, make_job, row_of
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QAbstractItemModelTester, QTest
from pytestqt.qtbot import QtBot

from halo_scheduler.clock import ManualClock
from ui.main_window.table.job_rows import Column, JobFilter, Section
from ui.main_window.table.job_table import JobTableModel
from ui.main_window.table.job_view import JobView
from ui.style.theme import Appearance


@pytest.fixture
def model(qtbot: QtBot) -> JobTableModel:  # noqa: ARG001 - an application
    made = JobTableModel(ManualClock(NOW))
    made.replace(
        row_of(make_job(name, group=group, next_run_at=NOW + minutes * MINUTE))
        for name, group, minutes in (("x", None, 5), ("b", "web", 1), ("a", "web", 2), ("c", "Data", 3))
    )
    made.set_sections(True)
    QAbstractItemModelTester(made, QAbstractItemModelTester.FailureReportingMode.Fatal, made)
    return made


@pytest.fixture
def view(qtbot: QtBot, model: JobTableModel) -> JobView:
    made = JobView(model, Appearance())
    qtbot.addWidget(made)
    made.resize(800, 500)
    made.show()
    return made


def _texts(model: JobTableModel) -> list[str]:
    return [model.text_at(row, Column.NAME) for row in range(model.rowCount())]


def _click(view: JobView, row: int) -> None:
    at = QPoint(40, view.rowViewportPosition(row) + 10)
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=at)


def _keys(view: JobView, keys: Sequence[Qt.Key]) -> None:
    for key in keys:
        QTest.keyClick(view, key)


def test_jobs_are_below_their_groups_and_those_without_one_last(model: JobTableModel) -> None:
    assert _texts(model) == ["Data (1)", "c", "web (2)", "a", "b", "No group (1)", "x"]
    model.sort(Column.NEXT, Qt.SortOrder.AscendingOrder)
    assert _texts(model) == ["Data (1)", "c", "web (2)", "b", "a", "No group (1)", "x"]
    model.sort(Column.NAME, Qt.SortOrder.DescendingOrder)
    assert _texts(model) == ["Data (1)", "c", "web (2)", "b", "a", "No group (1)", "x"]
    assert model.headerData(Column.NAME, Qt.Orientation.Horizontal) == "Job (4)"
    model.set_sections(False)
    assert _texts(model) == ["x", "c", "b", "a"]


def test_a_changed_row_moves_to_its_section(model: JobTableModel) -> None:
    model.update([row_of(make_job("a", group="Data")), row_of(make_job("new", group="web"))], ["c"])
    assert _texts(model) == ["Data (1)", "a", "web (2)", "b", "new", "No group (1)", "x"]
    model.set_filter(JobFilter(text="new"))
    assert _texts(model) == ["web (1)", "new"]
    assert model.row_of("new") == 1
    assert model.row_of("b") == -1


def test_a_click_folds_a_group_and_the_selection_stays(model: JobTableModel, view: JobView) -> None:
    view.select_ids(["x"])
    _click(view, 2)
    assert _texts(model) == ["Data (1)", "c", "web (2)", "No group (1)", "x"]
    assert model.section_at(2) == Section("web", 2, is_folded=True)
    _click(view, 2)
    assert _texts(model)[2:5] == ["web (2)", "a", "b"]


def test_keys_fold_the_group_below_the_cursor(model: JobTableModel, view: JobView) -> None:
    view.setCurrentIndex(model.index(2, Column.NAME))
    _keys(view, [Qt.Key.Key_Left, Qt.Key.Key_Left])
    assert model.folded == {"web"}
    _keys(view, [Qt.Key.Key_Right])
    assert not model.folded
    _keys(view, [Qt.Key.Key_Space])
    assert model.folded == {"web"}


def test_headings_are_not_jobs(qtbot: QtBot, model: JobTableModel, view: JobView) -> None:
    view.selectAll()
    assert view.selected_ids() == ["c", "a", "b", "x"]
    assert sorted(view.ids_in_sight()) == ["a", "b", "c", "x"]
    assert len(list(view.waits(NOW))) == 4
    with qtbot.waitSignal(view.menu_wanted) as wanted:
        view.customContextMenuRequested.emit(QPoint(40, view.rowViewportPosition(2) + 10))
    assert wanted.args is not None
    assert wanted.args[1] == Section("web", 2, is_folded=False)
    assert model.data(model.index(0, 0), Qt.ItemDataRole.AccessibleTextRole) == "Data (1)"


def test_a_job_that_is_wanted_is_unfolded(model: JobTableModel, view: JobView) -> None:
    model.fold("web")
    view.select_ids(["b"])
    assert view.selected_ids() == ["b"]
    assert not model.folded


def test_groups_are_remembered(qtbot: QtBot, model: JobTableModel, view: JobView) -> None:
    model.fold("web")
    model.fold(None)
    other = JobTableModel(ManualClock(NOW))
    again = JobView(other, Appearance())
    qtbot.addWidget(again)
    again.arrange(view.arrangement())
    assert other.has_sections
    assert other.folded == {"web", None}


def test_headings_are_painted(model: JobTableModel, view: JobView) -> None:
    before = view.grab().toImage()
    model.fold("web")
    assert view.grab().toImage() != before
