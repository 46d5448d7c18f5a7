"""The table of runs: by the page, live, and never moving what is being read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from past_runs import DAY, MINUTE, NOW, Past
from PySide6.QtCore import Qt
from PySide6.QtGui import QFont
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from halo_scheduler import Outcome, Scheduler, Trigger
from halo_scheduler.clock import ManualClock
from halo_scheduler.errors import StoreError
from halo_scheduler.model.changes import Change, ChangeKind
from ui.backend.backend import Backend
from ui.history.choice import Choice
from ui.history.run_cells import Column
from ui.history.run_table import RUN_ROLE, RunTableModel, State
from ui.history.run_view import RunTable
from ui.style.theme import GRID, Appearance


@pytest.fixture
def past(tmp_path: Path) -> Iterator[Past]:
    with Scheduler.open(tmp_path / "halo.db", clock=ManualClock(NOW)) as scheduler:
        yield Past(scheduler)


@pytest.fixture
def backend(past: Past) -> Backend:
    return Backend.inline(past.scheduler, ManualClock(NOW))


@pytest.fixture
def model(backend: Backend, qtbot: QtBot) -> RunTableModel:  # noqa: ARG001 - an event loop
    made = RunTableModel(backend)
    made.watch(True)
    QAbstractItemModelTester(made, QAbstractItemModelTester.FailureReportingMode.Fatal, made)
    return made


def _show(model: RunTableModel, qtbot: QtBot, choice: Choice | None = None) -> None:
    model.show(choice or Choice())
    qtbot.waitUntil(lambda: model.state is not State.LOADING)


def _ids(model: RunTableModel) -> list[str]:
    runs = [model.run_of(row) for row in range(model.rowCount())]
    return [run.id for run in runs if run is not None]


def _cells(model: RunTableModel, row: int = 0) -> list[str]:
    return [str(model.index(row, column).data()) for column in Column]


def test_a_row_shows_its_run(past: Past, model: RunTableModel, qtbot: QtBot) -> None:
    job_id = past.job("<i>backup</i>")
    past.run(
        *(job_id, NOW - 5 * MINUTE),
        outcome=Outcome.FAILURE,
        trigger=Trigger.SCHEDULE,
        slot_at=NOW - 9 * MINUTE,
        late_ms=4 * MINUTE,
        attempt=2,
        error="<b>broken</b>",
    )
    _show(model, qtbot)
    assert _cells(model) == ["Failed", "<i>backup</i>", "5 min ago", "1.0 s", "attempt 2, late"]
    tips = [str(model.index(0, column).data(Qt.ItemDataRole.ToolTipRole)) for column in Column]
    assert "<\u2060b>broken" in tips[Column.OUTCOME]
    assert "2027" in tips[Column.WHEN]
    assert "4 min 0 s late" in tips[Column.HOW]


def test_the_item_a_run_worked_on_is_reported_when_its_job_is_pointed_at(
    past: Past, model: RunTableModel, qtbot: QtBot
) -> None:
    past.run(past.job("triage"), work_id="42", work_title="<b>Fix</b>")
    _show(model, qtbot)
    tip = str(model.index(0, Column.JOB).data(Qt.ItemDataRole.ToolTipRole))
    assert "triage\nitem: 42 · <\u2060b>Fix<\u2060/b>" in tip


def test_the_headings_name_the_columns(model: RunTableModel) -> None:
    sections = [model.headerData(section, Qt.Orientation.Horizontal) for section in Column]
    assert sections == ["Outcome", "Job", "When", "Duration", "Started"]


def test_pages_follow_each_other_without_gap(past: Past, model: RunTableModel, qtbot: QtBot) -> None:
    runs = past.runs(past.job(), 450)
    _show(model, qtbot)
    assert model.rowCount() == 200
    assert not model.is_complete
    while model.canFetchMore():
        before = model.rowCount()
        model.fetchMore()
        qtbot.waitUntil(lambda before=before: model.rowCount() > before or model.is_complete)  # type: ignore[misc]
    assert _ids(model) == [run.id for run in reversed(runs)]
    assert model.is_complete


def test_the_next_page_is_asked_for_before_the_end(past: Past, model: RunTableModel, qtbot: QtBot) -> None:
    past.runs(past.job(), 300)
    _show(model, qtbot)
    model.reach(20)
    assert model.rowCount() == 200
    model.reach(60)
    qtbot.waitUntil(lambda: model.rowCount() == 300)


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (Choice(outcomes=frozenset({Outcome.FAILURE})), ["failed"]),
        (Choice(trigger=Trigger.SCHEDULE), ["scheduled"]),
        (Choice(since=NOW - DAY), ["failed", "scheduled"]),
        (Choice(until=NOW - DAY), ["old"]),
        (Choice(run_ids=("old", "failed", "gone")), ["failed", "old"]),
    ],
)
def test_only_runs_that_match_the_filter_are_shown(
    choice: Choice, expected: list[str], past: Past, model: RunTableModel, qtbot: QtBot
) -> None:
    job_id = past.job()
    past.run(job_id, NOW - 2 * DAY, id="old")
    past.run(job_id, NOW - 2 * MINUTE, id="scheduled", trigger=Trigger.SCHEDULE)
    past.run(job_id, id="failed", outcome=Outcome.FAILURE)
    _show(model, qtbot, choice)
    assert _ids(model) == expected


def test_runs_of_one_job_and_of_jobs_in_the_trash(past: Past, model: RunTableModel, qtbot: QtBot) -> None:
    kept, gone = past.job("kept"), past.job("gone")
    past.run(kept)
    past.run(gone)
    past.scheduler.remove_job(gone)
    _show(model, qtbot, Choice(job_id=gone))
    assert [_cells(model)[Column.JOB], model.rowCount()] == ["gone (deleted)", 1]


def test_a_new_run_comes_on_top(past: Past, backend: Backend, model: RunTableModel, qtbot: QtBot) -> None:
    job_id = past.job()
    first = past.run(job_id)
    _show(model, qtbot)
    run = past.begin(job_id)
    backend.tell(Change(ChangeKind.RUN_STARTED, job_id=job_id, run_id=run.id))
    qtbot.waitUntil(lambda: _ids(model) == [run.id, first.id])


def test_a_run_changes_in_its_place(past: Past, backend: Backend, model: RunTableModel, qtbot: QtBot) -> None:
    job_id = past.job()
    run = past.begin(job_id, progress=0.25)
    past.run(job_id)
    _show(model, qtbot)
    assert _cells(model)[Column.OUTCOME] == "Running 25%"
    past.end(run, outcome=Outcome.TIMEOUT)
    backend.tell(Change(ChangeKind.RUN_FINISHED, job_id=job_id, run_id=run.id))
    qtbot.waitUntil(lambda: _cells(model)[Column.OUTCOME] == "Timed out")
    assert model.rowCount() == 2


def test_a_run_that_no_longer_fits_goes(
    past: Past, backend: Backend, model: RunTableModel, qtbot: QtBot
) -> None:
    run = past.begin(past.job())
    _show(model, qtbot, Choice(outcomes=frozenset({Outcome.RUNNING})))
    assert model.rowCount() == 1
    past.end(run)
    backend.tell(Change(ChangeKind.RUN_FINISHED, job_id=run.job_id, run_id=run.id))
    qtbot.waitUntil(lambda: model.rowCount() == 0)


def test_a_new_run_that_does_not_match_is_not_shown(
    past: Past, backend: Backend, model: RunTableModel, qtbot: QtBot
) -> None:
    job_id, other = past.job("one"), past.job("other")
    past.run(job_id)
    _show(model, qtbot, Choice(job_id=job_id))
    stranger, own = past.run(other, NOW), past.run(job_id, NOW)
    for run in (stranger, own):
        backend.tell(Change(ChangeKind.RUN_FINISHED, job_id=run.job_id, run_id=run.id))
    qtbot.waitUntil(lambda: model.rowCount() == 2)
    assert stranger.id not in _ids(model)


def test_after_an_unknown_change_everything_is_read_again(
    past: Past, backend: Backend, model: RunTableModel, qtbot: QtBot
) -> None:
    job_id = past.job()
    running = past.begin(job_id)
    _show(model, qtbot)
    past.end(running)
    new = past.run(job_id, NOW + 1)
    backend.tell(Change(ChangeKind.JOB))
    qtbot.waitUntil(lambda: _ids(model) == [new.id, running.id])
    assert _cells(model, 1)[Column.OUTCOME] == "Succeeded"


def test_a_renamed_job_is_shown_with_its_new_name(past: Past, model: RunTableModel, qtbot: QtBot) -> None:
    job_id = past.job("old")
    past.run(job_id)
    _show(model, qtbot)
    past.scheduler.update_job(job_id, name="new")
    assert _cells(model)[Column.JOB] == "old"
    qtbot.waitUntil(model._settling.isActive)
    assert _cells(model)[Column.JOB] == "old"
    qtbot.waitUntil(lambda: _cells(model)[Column.JOB] == "new")


def test_changes_are_not_read_while_hidden(
    past: Past, backend: Backend, model: RunTableModel, qtbot: QtBot
) -> None:
    job_id = past.job()
    _show(model, qtbot)
    model.watch(False)
    run = past.run(job_id)
    backend.tell(Change(ChangeKind.RUN_FINISHED, job_id=job_id, run_id=run.id))
    assert not model._settling.isActive()
    model.watch(True)
    qtbot.waitUntil(lambda: _ids(model) == [run.id])


def test_words_are_searched_in_the_output(past: Past, model: RunTableModel, qtbot: QtBot) -> None:
    job_id = past.job()
    hit = past.run(job_id, NOW - 3 * MINUTE, output=b"\x1b[31mConnection\x1b[0m refused")
    past.run(job_id, NOW - 2 * MINUTE, output=b"fine")
    newest = past.run(job_id, output=b"connection REFUSED again")
    model.show(Choice(text="connection refused"))
    assert model.state is State.SEARCHING
    qtbot.waitUntil(lambda: model.state is State.READY)
    assert _ids(model) == [newest.id, hit.id]
    assert not model.canFetchMore()


def test_a_stopped_search_keeps_its_results(past: Past, model: RunTableModel, qtbot: QtBot) -> None:
    past.run(past.job(), output=b"text")
    model.show(Choice(text="text"))
    model.stop_search()
    assert model.state is State.READY
    _show(model, qtbot)
    assert model.rowCount() == 1


def test_an_error_is_kept_as_a_sentence(
    past: Past, model: RunTableModel, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise StoreError("the database is locked")

    monkeypatch.setattr(past.scheduler._store.history, "log", fail)
    _show(model, qtbot)
    assert [model.state, model.error] == [State.FAILED, "the database is locked"]
    assert not model.canFetchMore()


def test_it_is_known_that_nothing_ever_ran(past: Past, model: RunTableModel, qtbot: QtBot) -> None:
    _show(model, qtbot, Choice(since=NOW))
    assert not model.has_history
    past.run(past.job(), NOW - DAY)
    _show(model, qtbot, Choice(since=NOW))
    assert model.has_history
    assert model.rowCount() == 0


def test_the_run_itself_can_be_had(past: Past, model: RunTableModel, qtbot: QtBot) -> None:
    run = past.run(past.job())
    _show(model, qtbot)
    assert model.index(0, 0).data(RUN_ROLE) == run
    assert [model.row_of(run.id), model.row_of("none")] == [0, -1]


@pytest.mark.parametrize("points", range(8, 19))
def test_usual_texts_fit_their_columns(model: RunTableModel, qtbot: QtBot, points: int) -> None:
    table = RunTable(model, Appearance())
    qtbot.addWidget(table)
    font = QFont("DejaVu Sans")
    font.setPointSize(points)
    table.setFont(font)
    table.resize(1_600, 300)
    table.show()
    room = table.columnWidth(Column.WHEN) - 2 * GRID
    assert table._delegate._fit("yesterday 13:30", room, is_strong=False) == "yesterday 13:30"
