"""What can be done with jobs, and what the service refuses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from asking import ask
from job_values import NOW
from machine import Bench
from pane_desk import rows_of
from PySide6.QtGui import QAction
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QMenu, QPlainTextEdit, QWidget
from pytestqt.qtbot import QtBot

from halo_scheduler.model import Every, JobStatus, Manual, Outcome, StatusReason
from ui.backend.backend import Backend
from ui.main_window.job_actions import JobActions
from ui.main_window.run_dialog import RunDialog
from ui.style.theme import Appearance


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "halo.db", now_ms=NOW)
    yield made
    made.close()


@pytest.fixture
def window(qtbot: QtBot) -> QWidget:
    made = QWidget()
    qtbot.addWidget(made)
    return made


@pytest.fixture
def actions(bench: Bench, window: QWidget) -> JobActions:
    return JobActions(Backend.inline(bench.scheduler, bench.clock, window), Appearance(parent=window), window)


def _choose(bench: Bench, actions: JobActions, *job_ids: str) -> None:
    rows = rows_of(bench.scheduler, *job_ids)
    actions.set_jobs([row.job for row in rows], [row.situation for row in rows])


def _named(menu: QMenu, name: str) -> QAction:
    return next(action for action in menu.actions() if action.objectName() == name)


def _status(bench: Bench, job_id: str) -> JobStatus:
    job = bench.scheduler.get_job(job_id)
    assert job is not None
    return job.status


def _is_paused(bench: Bench, job_id: str) -> bool:
    job = bench.scheduler.get_job(job_id)
    assert job is not None
    return job.is_paused


def test_without_a_selection_nothing_can_be_done(actions: JobActions) -> None:
    offered = (actions.run, actions.stop, actions.edit, actions.duplicate, actions.pause, actions.remove)
    assert not any(action.isEnabled() for action in offered)


def test_run_now_starts_every_selected_job(bench: Bench, actions: JobActions) -> None:
    ids = [bench.scheduler.add_job(name, Manual()) for name in "ab"]
    _choose(bench, actions, *ids)
    actions.run.trigger()
    assert {run.job_id for run in bench.tick()} == set(ids)


def test_run_with_asks_for_values_and_an_input(bench: Bench, actions: JobActions, window: QWidget) -> None:
    job_id = bench.scheduler.add_job("a", Manual(), parameters={"mode": "full", "target": "nas"})
    _choose(bench, actions, job_id)
    actions.run_with.trigger()
    dialog = window.findChild(RunDialog)
    assert dialog is not None
    line = dialog.findChild(QLineEdit, "value_mode")
    assert line is not None
    assert line.text() == "full"
    line.selectAll()
    QTest.keyClicks(line, "quick")
    text = dialog.findChild(QPlainTextEdit, "runInput")
    assert text is not None
    text.setPlainText("notes")
    dialog.accept()
    (run,) = bench.tick()
    assert run.parameters == {"mode": "quick", "target": "nas"}
    assert bench.scheduler.runs.input(run.id) == b"notes"


def test_run_with_needs_one_job_that_does_not_run(bench: Bench, actions: JobActions) -> None:
    ids = [bench.scheduler.add_job(name, Manual()) for name in "ab"]
    _choose(bench, actions, *ids)
    assert not actions.run_with.isEnabled()
    bench.scheduler.trigger(ids[0])
    bench.tick()
    _choose(bench, actions, ids[0])
    assert not actions.run_with.isEnabled()
    _choose(bench, actions, ids[1])
    assert actions.run_with.isEnabled()


def test_the_next_run_is_skipped_and_not_skipped_after_all(bench: Bench, actions: JobActions) -> None:
    ids = [bench.scheduler.add_job(name, Every("1h")) for name in "ab"]
    manual = bench.scheduler.add_job("manual", Manual())
    bench.scheduler.skip_next(ids[0])
    _choose(bench, actions, *ids, manual)
    assert actions.skip.text() == "Skip next run"
    actions.skip.trigger()
    assert all(bench.job(job_id).skips_next for job_id in ids)
    _choose(bench, actions, *ids, manual)
    assert actions.skip.text() == "Don't skip next run"
    actions.skip.trigger()
    assert not any(bench.job(job_id).skips_next for job_id in ids)


def test_without_a_next_run_there_is_none_to_skip(bench: Bench, actions: JobActions) -> None:
    _choose(bench, actions, bench.scheduler.add_job("manual", Manual()))
    menu = QMenu()
    actions.fill_menu(menu)
    assert actions.skip not in menu.actions()
    _choose(bench, actions, bench.scheduler.add_job("job", Every("1h")))
    actions.fill_menu(menu)
    assert actions.skip in menu.actions()


def test_run_at_plans_a_run_that_can_be_cancelled(bench: Bench, actions: JobActions, window: QWidget) -> None:
    job_id = bench.scheduler.add_job("a", Manual())
    _choose(bench, actions, job_id)
    assert not actions.cancel_later.isEnabled()
    actions.run_at.trigger()
    dialog = window.findChild(RunDialog)
    assert dialog is not None
    line = dialog.findChild(QLineEdit, "runAtLine")
    assert line is not None
    line.setText("in 2h")
    dialog.accept()
    assert [run.at for run in bench.scheduler.runs.later(job_id)] == [NOW + 7_200_000]
    _choose(bench, actions, job_id)
    menu = QMenu()
    actions.fill_menu(menu)
    assert actions.cancel_later in menu.actions()
    actions.cancel_later.trigger()
    assert bench.scheduler.runs.later(job_id) == []


def test_stop_requests_the_end_of_current_runs(bench: Bench, actions: JobActions) -> None:
    job_id = bench.scheduler.add_job("a", Every("1m"))
    bench.tick(60_000)
    _choose(bench, actions, job_id)
    assert not actions.run.isEnabled()
    actions.stop.trigger()
    bench.tick()
    (run,) = bench.scheduler.get_run_log(job_id)
    assert run.outcome is Outcome.CANCELLED


def test_pause_and_resume_with_the_same_key(bench: Bench, actions: JobActions) -> None:
    job_id = bench.scheduler.add_job("a", Every("1m"))
    _choose(bench, actions, job_id)
    actions.pause.trigger()
    assert _status(bench, job_id) is JobStatus.PAUSED
    _choose(bench, actions, job_id)
    actions.pause.trigger()
    assert _status(bench, job_id) is JobStatus.IDLE


def test_of_a_mixed_selection_the_active_jobs_are_paused(bench: Bench, actions: JobActions) -> None:
    awake, off = bench.scheduler.add_job("a", Manual()), bench.scheduler.add_job("b", Manual(), enabled=False)
    _choose(bench, actions, awake, off)
    actions.pause.trigger()
    assert (_status(bench, awake), _status(bench, off)) == (JobStatus.PAUSED, JobStatus.DISABLED)


def test_a_pause_for_an_hour(bench: Bench, actions: JobActions) -> None:
    job_id = bench.scheduler.add_job("a", Every("1m"))
    _choose(bench, actions, job_id)
    actions.pause_menu.actions()[0].trigger()
    job = bench.scheduler.get_job(job_id)
    assert job is not None
    assert job.paused_until == NOW + 3_600_000


def test_delete_moves_jobs_to_the_trash_and_reports_them(
    qtbot: QtBot, bench: Bench, actions: JobActions
) -> None:
    job_id = bench.scheduler.add_job("<b>x</b>", Manual())
    _choose(bench, actions, job_id)
    with qtbot.waitSignal(actions.removed) as told:
        actions.remove.trigger()
    assert told.args == ["Deleted “<b>x</b>”.", (job_id,)]
    assert [job.id for job in bench.scheduler.list_removed()] == [job_id]
    with qtbot.waitSignal(actions.restored):
        actions.restore([job_id])
    assert bench.scheduler.get_job(job_id) is not None


def test_deleted_jobs_and_refusals_are_both_reported(qtbot: QtBot, bench: Bench, actions: JobActions) -> None:
    ids = [bench.scheduler.add_job(name, Manual()) for name in "abc"]
    _choose(bench, actions, *ids)
    bench.scheduler.remove_job(ids[1])
    told: list[object] = []
    actions.removed.connect(lambda words, job_ids: told.extend([words, job_ids]))
    with qtbot.waitSignal(actions.refused) as refused:
        actions.remove.trigger()
    assert told == ["Deleted 2 jobs.", (ids[0], ids[2])]
    assert refused.args is not None
    assert refused.args[0].startswith("there is no job")


def test_an_error_of_the_service_is_shown_as_a_sentence(
    qtbot: QtBot, bench: Bench, actions: JobActions
) -> None:
    ids = [bench.scheduler.add_job(name, Manual()) for name in "ab"]
    _choose(bench, actions, *ids)
    for job_id in ids:
        bench.scheduler.trigger(job_id)
    with qtbot.waitSignal(actions.refused) as told:
        actions.run.trigger()
    assert told.args == ["a manual run of a is already waiting to start (and 1 more)"]


def test_editing_and_the_like_are_for_one_job(qtbot: QtBot, bench: Bench, actions: JobActions) -> None:
    one, two = (bench.scheduler.add_job(name, Manual()) for name in "ab")
    _choose(bench, actions, one)
    for action, signal in (
        (actions.edit, actions.edit_requested),
        (actions.duplicate, actions.duplicate_requested),
        (actions.history, actions.history_requested),
    ):
        with qtbot.waitSignal(signal) as told:
            action.trigger()
        assert told.args == [one]
    _choose(bench, actions, one, two)
    assert not actions.edit.isEnabled()
    assert not actions.duplicate.isEnabled()


def test_the_menu_fits_the_selection(
    qtbot: QtBot, bench: Bench, actions: JobActions, window: QWidget
) -> None:
    job_id = bench.scheduler.add_job("a", Manual(), group="r&d")
    _choose(bench, actions, job_id)
    menu = QMenu(window)
    actions.fill_menu(menu)
    texts = [action.text() for action in menu.actions() if action.text()]
    assert texts == [
        *("Run now", "Run with…", "Run at…", "Stop", "Edit…", "Duplicate…", "Pause", "Job history"),
        "Move to group",
        *("Group “r&&d”", "Delete"),
    ]
    group = menu.findChild(QMenu, "groupMenu")
    assert group is not None
    with qtbot.waitSignal(actions.group_wanted) as only:
        _named(group, "onlyGroup").trigger()
    with qtbot.waitSignal(actions.limit_wanted) as limit:
        _named(group, "limitGroup").trigger()
    assert only.args == limit.args == ["r&d"]


def test_a_paused_job_offers_to_resume(bench: Bench, actions: JobActions, window: QWidget) -> None:
    job_id = bench.scheduler.add_job("a", Manual())
    bench.scheduler.pause_job(job_id)
    _choose(bench, actions, job_id)
    menu = QMenu(window)
    actions.fill_menu(menu)
    texts = [action.text() for action in menu.actions()]
    assert "Resume" in texts
    assert "Pause" not in texts
    actions.resume.trigger()
    assert _status(bench, job_id) is JobStatus.IDLE


def test_a_job_paused_while_it_runs_offers_to_resume(bench: Bench, actions: JobActions) -> None:
    job_id = bench.scheduler.add_job("a", Every("1h"))
    bench.scheduler.trigger(job_id)
    bench.tick()
    _choose(bench, actions, job_id)
    actions.pause_or_resume()
    assert _is_paused(bench, job_id)
    _choose(bench, actions, job_id)
    actions.pause_or_resume()
    assert not _is_paused(bench, job_id)


def test_a_job_that_an_assistant_changed_since_it_was_shown_is_not_resumed(
    qtbot: QtBot, bench: Bench, actions: JobActions
) -> None:
    job_id = bench.scheduler.add_job("a", Manual(), paused_by=StatusReason.ASSISTANT)
    _choose(bench, actions, job_id)
    bench.scheduler.update_job(job_id, description="another", paused_by=StatusReason.ASSISTANT)
    with qtbot.waitSignal(actions.refused) as refused:
        actions.resume.trigger()
    assert refused.args == ["an assistant has changed a in the meantime; review it again"]
    _choose(bench, actions, job_id)
    actions.resume.trigger()
    assert _status(bench, job_id) is JobStatus.IDLE


def test_every_action_has_an_icon_and_shows_its_key(actions: JobActions, window: QWidget) -> None:
    for action in window.findChildren(QAction):
        if action.objectName().endswith("Action"):
            assert not action.icon().isNull()
            key = action.shortcut().toString()
            assert not key or key in action.toolTip()
    assert actions.remove.shortcut().toString() == "Del"


def test_resuming_a_mixed_selection_skips_disabled_jobs(bench: Bench, actions: JobActions) -> None:
    paused = bench.scheduler.add_job("a", Manual())
    off = bench.scheduler.add_job("b", Manual(), enabled=False)
    bench.scheduler.pause_job(paused)
    _choose(bench, actions, paused, off)
    actions.pause.trigger()
    assert (_status(bench, paused), _status(bench, off)) == (JobStatus.IDLE, JobStatus.DISABLED)
    _choose(bench, actions, off)
    actions.resume.trigger()
    assert _status(bench, off) is JobStatus.IDLE


def test_only_a_single_job_that_asks_can_be_answered(
    qtbot: QtBot, bench: Bench, window: QWidget, actions: JobActions
) -> None:
    asks, quiet = (bench.scheduler.add_job(name, Manual()) for name in ("asks", "quiet"))
    ask(bench.scheduler, asks)
    for chosen in ([quiet], [asks, quiet], []):
        _choose(bench, actions, *chosen)
        assert not actions.answer.isEnabled()
    _choose(bench, actions, asks)
    menu = QMenu(window)
    actions.fill_menu(menu)
    assert menu.actions()[0] is actions.answer
    with qtbot.waitSignal(actions.answer_wanted) as told:
        actions.answer.trigger()
    assert told.args == [asks]


def test_a_manual_run_that_waits_for_its_group_can_be_started_anyway(
    bench: Bench, window: QWidget, actions: JobActions
) -> None:
    bench.scheduler.set_group_limit("disk", 1)
    first, second = (bench.scheduler.add_job(name, Manual(), group="disk") for name in ("first", "second"))
    bench.scheduler.trigger(first)
    bench.tick()
    _choose(bench, actions, second)
    assert not actions.start_anyway.isEnabled(), "nothing waits yet"
    actions.run.trigger()
    assert bench.tick() == []
    _choose(bench, actions, second)
    menu = QMenu(window)
    actions.fill_menu(menu)
    assert actions.start_anyway in menu.actions()
    assert "limit of its group" in actions.start_anyway.toolTip()
    actions.start_anyway.trigger()
    assert [run.job_id for run in bench.tick()] == [second]
    _choose(bench, actions, second)
    assert not actions.start_anyway.isEnabled()


def test_the_limit_for_all_jobs_cannot_be_ignored(bench: Bench, actions: JobActions) -> None:
    bench.scheduler.settings.change(max_concurrent=1)
    first, second = (bench.scheduler.add_job(name, Manual()) for name in ("first", "second"))
    bench.scheduler.trigger(first)
    bench.scheduler.trigger(second)
    bench.tick()
    _choose(bench, actions, second)
    assert not actions.start_anyway.isEnabled()


def test_a_finished_job_does_not_offer_to_resume(bench: Bench, actions: JobActions) -> None:
    job_id = bench.scheduler.add_job("a", Manual())
    bench.scheduler.pause_job(job_id)
    paused = bench.scheduler.get_job(job_id)
    assert paused is not None
    actions.set_jobs([paused])
    assert actions.resume.isEnabled()
    done = replace(paused, status=JobStatus.DISABLED, status_reason=StatusReason.DONE)
    actions.set_jobs([done])
    assert not actions.resume.isEnabled()
