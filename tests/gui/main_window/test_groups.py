"""What can be done with whole groups of jobs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from job_values import NOW
from machine import Bench
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QInputDialog, QMenu, QWidget
from pytestqt.qtbot import QtBot

from halo_scheduler import Every
from halo_scheduler.model import Job, JobStatus
from ui.backend.backend import Backend
from ui.main_window.groups import GroupActions
from ui.main_window.table.job_rows import JobRow, make_row


class _Desk:
    """A window with three jobs: two of the group web, one of none."""

    def __init__(self, bench: Bench, qtbot: QtBot) -> None:
        self.bench, self.qtbot = bench, qtbot
        self.window = QWidget()
        qtbot.addWidget(self.window)
        for name, group in (("a", "web"), ("b", "web"), ("c", None)):
            bench.scheduler.add_job(name, Every("1h"), group=group)
        backend = Backend.inline(bench.scheduler, bench.clock)
        self.actions = GroupActions(backend, self.window, self.rows)

    def rows(self) -> list[JobRow]:
        situations = self.bench.scheduler.jobs.situations()
        return [make_row(job, situations[job.id]) for job in self.bench.scheduler.list_jobs()]

    def jobs(self) -> dict[str, Job]:
        return {job.name: job for job in self.bench.scheduler.list_jobs()}

    def groups(self) -> dict[str, str | None]:
        return {name: job.group for name, job in sorted(self.jobs().items())}

    def statuses(self) -> list[JobStatus]:
        return [job.status for _, job in sorted(self.jobs().items())]

    def choose(self, name: str, group: str | None = "web") -> None:
        menu = QMenu(self.window)
        self.actions.fill(menu, group)
        _action(menu, name).trigger()
        self.qtbot.wait(1)


def _action(menu: QMenu, name: str) -> QAction:
    return next(action for action in menu.actions() if action.objectName() == name)


@pytest.fixture
def desk(tmp_path: Path, qtbot: QtBot) -> Iterator[_Desk]:
    bench = Bench(tmp_path / "halo.db", now_ms=NOW)
    yield _Desk(bench, qtbot)
    bench.close()


def test_a_group_is_paused_and_resumed(desk: _Desk) -> None:
    desk.choose("pauseGroup")
    assert desk.statuses() == [JobStatus.PAUSED, JobStatus.PAUSED, JobStatus.IDLE]
    desk.choose("resumeGroup")
    assert desk.statuses() == [JobStatus.IDLE] * 3


def test_a_group_paused_while_its_jobs_run_is_resumed(desk: _Desk) -> None:
    desk.choose("runGroup")
    desk.bench.tick()
    desk.choose("pauseGroup")
    assert [job.is_paused for _, job in sorted(desk.jobs().items())] == [True, True, False]
    desk.choose("resumeGroup")
    assert [job.is_paused for _, job in sorted(desk.jobs().items())] == [False] * 3


def test_a_group_is_run(desk: _Desk) -> None:
    desk.choose("runGroup")
    assert sorted(run.job_id for run in desk.bench.tick()) == sorted(
        desk.jobs()[name].id for name in ("a", "b")
    )


def test_a_group_is_renamed_with_its_limit(desk: _Desk) -> None:
    desk.bench.scheduler.set_group_limit("web", 2)
    desk.actions.rename("web", " servers ")
    desk.qtbot.wait(1)
    assert desk.groups() == {"a": "servers", "b": "servers", "c": None}
    assert desk.bench.scheduler.jobs.group_limits() == {"servers": 2}
    desk.actions.rename("servers", "  ")
    assert desk.groups()["a"] == "servers"


def test_the_name_is_asked_for(desk: _Desk) -> None:
    desk.choose("renameGroup")
    dialog = desk.window.findChild(QInputDialog, "groupNameDialog")
    assert dialog is not None
    assert dialog.textValue() == "web"
    dialog.setTextValue("sites")
    dialog.accept()
    desk.qtbot.wait(1)
    assert desk.groups() == {"a": "sites", "b": "sites", "c": None}


def test_jobs_are_moved_to_a_group_a_new_one_and_none(desk: _Desk) -> None:
    menu = QMenu(desk.window)
    desk.actions.fill_targets(menu, [desk.jobs()["c"]])
    assert [action.text() for action in menu.actions() if action.text()] == ["web", "New group…"]
    _action(menu, "moveToGroup").trigger()
    desk.qtbot.wait(1)
    assert desk.groups()["c"] == "web"
    _action(menu, "moveToNewGroup").trigger()
    dialog = desk.window.findChild(QInputDialog, "groupNameDialog")
    assert dialog is not None
    dialog.setTextValue("home")
    dialog.accept()
    desk.qtbot.wait(1)
    assert desk.groups()["c"] == "home"
    other = QMenu(desk.window)
    desk.actions.fill_targets(other, [desk.jobs()["c"]])
    _action(other, "moveToNoGroup").trigger()
    desk.qtbot.wait(1)
    assert desk.groups()["c"] is None


def test_a_refused_change_is_reported(desk: _Desk) -> None:
    jobs = list(desk.jobs().values())
    for job in jobs:
        desk.bench.scheduler.remove_job(job.id)
    with desk.qtbot.waitSignal(desk.actions.refused) as told:
        desk.actions.move(jobs, "x")
    assert "more)" in told.args[0]
