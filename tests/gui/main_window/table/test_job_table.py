"""The model of the job table: what it shows after whatever came, and how little it disturbs to get there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from job_values import MINUTE, NASTY, NOW, make_job, make_run, row_of
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from halo_scheduler.clock import ManualClock
from halo_scheduler.model import Job, JobStatus, Outcome, Source
from halo_scheduler.rules.statistics import TrendPoint
from ui.main_window.table.job_rows import Column, JobFacts, JobFilter, sort_key
from ui.main_window.table.job_table import ID_ROLE, JobTableModel

_ROLE = Qt.ItemDataRole


@pytest.fixture
def model(qtbot: QtBot) -> Iterator[JobTableModel]:  # noqa: ARG001 - an application
    made = JobTableModel(ManualClock(NOW))
    tester = QAbstractItemModelTester(made, QAbstractItemModelTester.FailureReportingMode.Warning)
    yield made
    del tester


def _fill(model: JobTableModel, *jobs: Job) -> None:
    model.replace([row_of(job) for job in jobs])


def _names(model: JobTableModel) -> list[str]:
    return [model.job_at(row).name for row in range(model.rowCount())]


def _cell(model: JobTableModel, column: Column, role: int = _ROLE.DisplayRole, row: int = 0) -> Any:
    return model.data(model.index(row, column), role)


def test_jobs_are_shown_by_name(model: JobTableModel) -> None:
    _fill(model, make_job("b"), make_job("a"))
    assert _names(model) == ["a", "b"]
    assert model.row_of("b") == 1


def test_a_filter_hides_rows_but_forgets_nothing(model: JobTableModel) -> None:
    _fill(model, make_job("apple"), make_job("pear"))
    model.set_filter(JobFilter(text="pea"))
    assert _names(model) == ["pear"]
    assert model.row_of("apple") == -1
    assert model.job_count == 2
    model.set_filter(JobFilter())
    assert _names(model) == ["apple", "pear"]


def test_sorting_from_the_end(model: JobTableModel) -> None:
    _fill(model, make_job("a"), make_job("b"), make_job("c"))
    model.sort(Column.NAME, Qt.SortOrder.DescendingOrder)
    assert _names(model) == ["c", "b", "a"]
    assert model.row_of("a") == 2


def test_trends_have_no_order(model: JobTableModel) -> None:
    _fill(model, make_job("a"), make_job("b"))
    model.sort(Column.TREND, Qt.SortOrder.DescendingOrder)
    assert _names(model) == ["a", "b"]


_NAMES = st.sampled_from("abcde")
_CHANGES = st.lists(
    st.tuples(st.sampled_from(["put", "put", "put", "drop", "sort", "filter"]), _NAMES, st.integers(0, 5)),
    max_size=40,
)


@given(_CHANGES)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_after_any_change_the_right_rows_are_shown_in_order(
    model: JobTableModel, changes: list[tuple[str, str, int]]
) -> None:
    model.replace([])
    model.set_filter(JobFilter())
    model.sort(Column.NAME, Qt.SortOrder.AscendingOrder)
    column, is_descending, chosen = Column.NAME, False, JobFilter()
    jobs: dict[str, Job] = {}
    for what, name, number in changes:
        if what == "put":
            jobs[name] = make_job(name, next_run_at=NOW + number, group=str(number % 2))
            model.update([row_of(jobs[name])])
        elif what == "drop":
            jobs.pop(name, None)
            model.update([], [name])
        elif what == "sort":
            column = (Column.NAME, Column.NEXT)[number % 2]
            is_descending = number > 2
            model.sort(column, Qt.SortOrder(int(is_descending)))
        else:
            chosen = JobFilter(group=(None, "0", "1")[number % 3])
            model.set_filter(chosen)
        rows = sorted(chosen.choose([row_of(job) for job in jobs.values()]), key=sort_key(column))
        expected = [row.id for row in rows]
        assert _names(model) == (expected[::-1] if is_descending else expected)
        assert all(model.row_of(job_id) == row for row, job_id in enumerate(_names(model)))


@pytest.mark.parametrize("order", list(Qt.SortOrder))
@pytest.mark.parametrize("minutes", [1, 15, 25, 35, 45])
def test_a_job_whose_time_changes_moves_in_the_order(
    qtbot: QtBot, model: JobTableModel, order: Qt.SortOrder, minutes: int
) -> None:
    _fill(
        model,
        *(make_job(name, next_run_at=NOW + 10 * MINUTE * place) for place, name in enumerate("abcd", 1)),
    )
    model.sort(Column.NEXT, order)
    with qtbot.assertNotEmitted(model.modelReset):
        model.update([row_of(make_job("b", next_run_at=NOW + minutes * MINUTE))])
    times = [model.job_at(row).next_run_at or 0 for row in range(4)]
    assert times == sorted(times, reverse=order is Qt.SortOrder.DescendingOrder)
    assert sorted(_names(model)) == list("abcd")


def test_a_changed_job_changes_its_row_and_nothing_else(qtbot: QtBot, model: JobTableModel) -> None:
    _fill(model, make_job("a"), make_job("b"), make_job("c"))
    with qtbot.waitSignal(model.dataChanged) as told, qtbot.assertNotEmitted(model.modelReset):
        model.update([row_of(make_job("b", errors=1))])
    first, last, *_ = told.args or []
    assert (first.row(), last.row()) == (1, 1)


def test_many_changes_at_once_are_one(qtbot: QtBot, model: JobTableModel) -> None:
    with qtbot.waitSignals([model.modelReset]), qtbot.assertNotEmitted(model.rowsInserted):
        model.update([row_of(make_job(str(index))) for index in range(200)])
    assert model.rowCount() == 200


def test_reading_everything_again_moves_nothing_when_nothing_moved(
    qtbot: QtBot, model: JobTableModel
) -> None:
    _fill(model, make_job("a"), make_job("b"))
    with qtbot.assertNotEmitted(model.modelReset):
        _fill(model, make_job("b", errors=2), make_job("a"))
    assert model.job_at(1).errors == 2


def test_details_of_a_row_are_dropped_with_its_job(model: JobTableModel) -> None:
    _fill(model, make_job("a"))
    model.set_facts({"a": JobFacts(last=make_run())})
    _fill(model, make_job("b"))
    assert model.facts("a") is None


def test_counting_touches_the_times_of_some_rows_only(qtbot: QtBot, model: JobTableModel) -> None:
    _fill(model, *(make_job(name) for name in "abcdef"))
    with qtbot.waitSignal(model.dataChanged) as told:
        model.count_seconds(2, 4)
    first, last, *_ = told.args or []
    assert (first.row(), last.row(), first.column(), last.column()) == (2, 4, Column.NEXT, Column.LAST)


def test_the_cells_of_a_job(model: JobTableModel) -> None:
    _fill(model, make_job("backup", group="home", last_outcome=Outcome.SUCCESS))
    trend = (TrendPoint("r", Outcome.SUCCESS, 12_000, NOW), TrendPoint("s", Outcome.FAILURE, 500, NOW))
    model.set_facts({"backup": JobFacts(last=make_run(), trend=trend)})
    assert [_cell(model, column) for column in Column] == [
        *("backup", "Every 15 min", "in 4 min", "4 min ago", ""),
    ]
    assert _cell(model, Column.NAME, ID_ROLE) == "backup"


def test_every_cell_can_be_spoken(model: JobTableModel) -> None:
    _fill(model, make_job("backup", group="home", last_outcome=Outcome.SUCCESS))
    trend = (TrendPoint("r", Outcome.SUCCESS, 12_000, NOW), TrendPoint("s", Outcome.FAILURE, 500, NOW))
    model.set_facts({"backup": JobFacts(last=make_run(), trend=trend)})
    spoken = [_cell(model, column, _ROLE.AccessibleTextRole) for column in Column]
    assert spoken[:4] == [
        "backup, group home, Ready",
        "Every 15 minutes",
        "next run: in 4 min",
        "last run: 4 min ago, Succeeded, 12 s",
    ]
    assert spoken[4].startswith("Last 2 runs: 1 succeeded, 1 failed.")


def test_a_running_job_shows_how_far_it_has_come(model: JobTableModel) -> None:
    _fill(model, make_job("backup", status=JobStatus.RUNNING, next_run_at=None))
    model.set_running({"backup": make_run(Outcome.RUNNING, progress=0.42, finished_at=None)})
    assert _cell(model, Column.NEXT) == "running, 42%"
    assert _cell(model, Column.LAST).startswith("since ")
    model.set_running({})
    assert _cell(model, Column.NEXT) == "running"


def test_progress_repaints_its_row_only_when_it_changed(qtbot: QtBot, model: JobTableModel) -> None:
    _fill(model, make_job("backup", status=JobStatus.RUNNING), make_job("other"))
    runs = {"backup": make_run(Outcome.RUNNING, progress=0.42)}
    with qtbot.waitSignal(model.dataChanged):
        model.set_running(runs)
    with qtbot.assertNotEmitted(model.dataChanged):
        model.set_running(dict(runs))


def test_texts_from_outside_stay_on_one_line_and_style_nothing(model: JobTableModel) -> None:
    _fill(model, make_job(NASTY, group="a\tb", description="<i>first</i>\nsecond"))
    name = _cell(model, Column.NAME)
    assert "<b>bold</b> &" in name
    assert "\u202e" not in name
    assert "\n" not in name
    tip = _cell(model, Column.NAME, _ROLE.ToolTipRole)
    assert "<\u2060b>bold<\u2060/b> &" in tip
    assert "<i>" not in tip


def test_the_next_run_on_hover_is_exact_and_has_its_reason(model: JobTableModel) -> None:
    _fill(model, make_job(next_source=Source.BACKOFF, next_run_at=NOW + 4 * MINUTE))
    tip = _cell(model, Column.NEXT, _ROLE.ToolTipRole)
    assert "2027" in tip
    assert "Back-off after failures" in tip


def test_columns_are_named(model: JobTableModel) -> None:
    names = [model.headerData(column, Qt.Orientation.Horizontal) for column in Column]
    assert names == ["Job", "When", "Next run", "Last run", "Last 20 runs"]


def test_an_invalid_index_has_no_data(model: JobTableModel) -> None:
    _fill(model, make_job())
    assert model.data(model.index(5, 0)) is None
    assert _cell(model, Column.NAME, _ROLE.DecorationRole) is None


def test_the_heading_shows_how_many_jobs_there_are_and_were_found(model: JobTableModel) -> None:
    def heading() -> str:
        return str(model.headerData(Column.NAME, Qt.Orientation.Horizontal))

    assert heading() == "Job"
    _fill(model, make_job("apple"), make_job("pear"), make_job("peach"))
    assert heading() == "Job (3)"
    model.set_filter(JobFilter(text="pea"))
    assert heading() == "Job (2 of 3)"
