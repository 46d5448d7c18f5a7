"""Telling what happened, once for each incident."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from asking import ask
from past_runs import Past
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from halo_scheduler import Every, Outcome, Policy, Scheduler, Trigger
from halo_scheduler.clock import ManualClock
from halo_scheduler.engine.watchdog import record_alarm
from halo_scheduler.model import Caps, CatchUp, Follower, Manual, Notify
from halo_scheduler.model.alarms import Alarm, AlarmKind
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.quiet_times import QuietTime
from halo_scheduler.rules.notices import Notice, NoticeKind
from ui.backend.backend import Backend
from ui.notifications.alerts import Alerts

_NOW = 1_800_000_000_000
_HOUR = 3_600_000


class Shown(QObject):
    """Stands in for the desktop's notifications."""

    def __init__(self) -> None:
        super().__init__()
        self.notices: list[Notice] = []

    def show(self, notice: Notice) -> None:
        self.notices.append(notice)


class Stage:
    """An engine that is driven by hand, and what the user is told."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock = ManualClock(_NOW)
        self.outcome = Outcome.FAILURE
        self.open()
        self.shown = Shown()
        self.backend = Backend.inline(self.scheduler, self.clock)
        self.alerts = Alerts(self.backend, self.shown)  # type: ignore[arg-type] # a stand-in

    def open(self) -> None:
        self.scheduler = Scheduler.open(self.path, clock=self.clock)
        self.scheduler.on_job_due(lambda _job, _run: self.outcome)


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot) -> Iterator[Stage]:  # noqa: ARG001 - a loop
    monkeypatch.setattr("ui.notifications.alerts._GAP_SETTLES_MS", 10)
    made = Stage(tmp_path / "halo.db")
    yield made
    made.scheduler.close()


def _kinds(stage: Stage) -> list[NoticeKind]:
    return [notice.kind for notice in stage.shown.notices]


def test_a_failure_is_told_once_until_it_recovers(stage: Stage, qtbot: QtBot) -> None:
    stage.scheduler.add_job("backup", Every("1h"), policy=Policy(catch_up=CatchUp.SKIP))
    stage.scheduler.tick()
    for _ in range(2):
        stage.clock.advance(_HOUR)
        stage.scheduler.tick()
    qtbot.waitUntil(lambda: NoticeKind.FAILED in _kinds(stage))
    stage.outcome = Outcome.SUCCESS
    stage.clock.advance(_HOUR)
    stage.scheduler.tick()
    qtbot.waitUntil(lambda: NoticeKind.RECOVERED in _kinds(stage))
    told = [kind for kind in _kinds(stage) if kind is not NoticeKind.GAP]
    assert told == [NoticeKind.FAILED, NoticeKind.RECOVERED]


def test_a_run_told_of_twice_alerts_once(stage: Stage, qtbot: QtBot) -> None:
    stage.scheduler.add_job("backup", Every("1h"))
    stage.scheduler.tick()
    stage.clock.advance(_HOUR)
    stage.scheduler.tick()
    qtbot.waitUntil(lambda: bool(stage.shown.notices))
    (run,) = stage.scheduler.get_run_log()
    with qtbot.waitSignal(stage.backend.changed):
        stage.backend.tell(Change(ChangeKind.RUN_FINISHED, run.job_id, run.id))
    # Another failing job's alert comes after whatever the repetition would have caused.
    stage.scheduler.add_job("other", Every("1h"))
    stage.clock.advance(_HOUR)
    stage.scheduler.tick()
    qtbot.waitUntil(lambda: any(notice.title.startswith("other") for notice in stage.shown.notices))
    assert len([notice for notice in stage.shown.notices if notice.title.startswith("backup")]) == 1


def test_a_gap_is_told_once_with_what_was_missed(stage: Stage, qtbot: QtBot) -> None:
    stage.outcome = Outcome.SUCCESS
    for name in ("one", "two"):
        stage.scheduler.add_job(name, Every("1h"), policy=Policy(catch_up=CatchUp.SKIP))
    stage.scheduler.add_job("three", Every("1h"))
    stage.scheduler.tick()
    stage.clock.advance(10 * _HOUR)
    stage.scheduler.tick()
    qtbot.waitUntil(lambda: NoticeKind.GAP in _kinds(stage))
    (gap,) = [notice for notice in stage.shown.notices if notice.kind is NoticeKind.GAP]
    assert "1 run caught up" in gap.text + gap.title
    assert "2 missed" in gap.text + gap.title


def test_a_gap_that_an_engine_found_at_its_start_is_told(stage: Stage, qtbot: QtBot) -> None:
    stage.outcome = Outcome.SUCCESS
    stage.scheduler.add_job("one", Every("1h"), policy=Policy(catch_up=CatchUp.SKIP))
    stage.scheduler.tick()
    stage.scheduler.stop()
    stage.clock.advance(10 * _HOUR)
    # Another connection, so that nothing is heard of what it finds.
    with Scheduler.open(stage.path, clock=stage.clock) as engine:
        engine.tick()
    stage.alerts.expect_gap()
    qtbot.waitUntil(lambda: _kinds(stage) == [NoticeKind.GAP])


def test_a_success_is_told_with_its_last_line(stage: Stage, qtbot: QtBot) -> None:
    past = Past(stage.scheduler)
    job_id = stage.scheduler.add_job("report", Manual(), policy=Policy(notify=Notify.ALL))
    run = past.run(job_id, _NOW, trigger=Trigger.CHAIN, output=b"reading\n12 rows written\n")
    stage.backend.tell(Change(ChangeKind.RUN_FINISHED, job_id, run.id))
    qtbot.waitUntil(lambda: _kinds(stage) == [NoticeKind.SUCCEEDED])
    assert stage.shown.notices[0].text == "12 rows written"


def test_a_question_is_told_with_its_words(stage: Stage, qtbot: QtBot) -> None:
    question = ask(stage.scheduler, stage.scheduler.add_job("fix", Manual()), "Which <branch>?")
    qtbot.waitUntil(lambda: _kinds(stage) == [NoticeKind.NEEDS_INPUT])
    (notice,) = stage.shown.notices
    assert (notice.title, notice.text) == ("fix needs you", "Which <branch>?")
    assert notice.run_ids == (question.run_id,)


@pytest.mark.usefixtures("machine_in_utc")
def test_a_cap_is_told_once_a_day(stage: Stage, qtbot: QtBot) -> None:
    stage.outcome = Outcome.SUCCESS
    stage.scheduler.add_job("fix", Every("1h"), policy=Policy(caps=Caps(runs_per_day=1)))
    stage.scheduler.tick()
    for _ in range(4):
        stage.clock.advance(_HOUR)
        stage.scheduler.tick()
    qtbot.waitUntil(lambda: NoticeKind.CAPPED in _kinds(stage))
    # What is told later would have come before this one.
    ask(stage.scheduler, stage.scheduler.add_job("other", Manual()))
    qtbot.waitUntil(lambda: NoticeKind.NEEDS_INPUT in _kinds(stage))
    assert _kinds(stage).count(NoticeKind.CAPPED) == 1


def test_a_follower_that_is_gone_is_told_once_a_day(stage: Stage, qtbot: QtBot) -> None:
    stage.outcome = Outcome.SUCCESS
    gone = stage.scheduler.add_job("report", Manual())
    job_id = stage.scheduler.add_job("backup", Manual(), followers=[Follower(job_id=gone)])
    stage.scheduler.remove_job(gone)
    for _ in range(2):
        stage.scheduler.trigger(job_id)
        stage.scheduler.tick()
    qtbot.waitUntil(lambda: NoticeKind.CHAIN_BROKEN in _kinds(stage))
    assert [notice.title for notice in stage.shown.notices] == ["report did not run after backup"]


def test_a_follower_that_is_paused_is_told(stage: Stage, qtbot: QtBot) -> None:
    stage.outcome = Outcome.SUCCESS
    paused = stage.scheduler.add_job("report", Manual())
    job_id = stage.scheduler.add_job("backup", Manual(), followers=[Follower(job_id=paused)])
    stage.scheduler.pause_job(paused)
    stage.scheduler.trigger(job_id)
    stage.scheduler.tick()
    qtbot.waitUntil(lambda: NoticeKind.CHAIN_BROKEN in _kinds(stage))
    (notice,) = stage.shown.notices
    assert (notice.title, notice.job_id) == ("report did not run", paused)
    assert notice.text == "It was to run after backup, but it was paused at that time."


def test_a_follower_that_is_removed_while_it_waits_is_told_after_the_run_before_it_was(
    stage: Stage, qtbot: QtBot
) -> None:
    stage.outcome = Outcome.SUCCESS
    then = stage.scheduler.add_job("report", Manual())
    job_id = stage.scheduler.add_job("backup", Manual(), followers=[Follower(job_id=then)])
    whole_day = QuietTime(start="00:00", end="24:00")
    stage.scheduler.settings.change(quiet_times=(whole_day,), notify=Notify.ALL)
    run_id = stage.scheduler.trigger(job_id)
    stage.scheduler.tick()
    with qtbot.waitSignal(stage.backend.changed):
        stage.scheduler.tick()
        stage.scheduler.remove_job(then)
    assert NoticeKind.CHAIN_BROKEN not in _kinds(stage)
    stage.scheduler.tick()
    qtbot.waitUntil(lambda: NoticeKind.CHAIN_BROKEN in _kinds(stage))
    stage.backend.tell(Change(ChangeKind.RUN_FINISHED, job_id, run_id))
    ask(stage.scheduler, stage.scheduler.add_job("other", Manual()))
    qtbot.waitUntil(lambda: NoticeKind.NEEDS_INPUT in _kinds(stage))
    assert _kinds(stage).count(NoticeKind.CHAIN_BROKEN) == 1


def test_an_alarm_is_told_once_though_its_thread_and_the_journal_both_tell(
    stage: Stage, qtbot: QtBot
) -> None:
    told: list[Notice] = []
    stage.alerts.alarm_told.connect(told.append)
    alarm = Alarm(AlarmKind.SILENT, _NOW + 1)
    record_alarm(stage.path, alarm)
    stage.alerts.notify_alarm(alarm)
    record_alarm(stage.path, Alarm(AlarmKind.STARVED, _NOW + 2))
    for _ in range(2):
        stage.backend.tell(Change(ChangeKind.ENGINE))
    qtbot.waitUntil(lambda: len(told) == 2)
    qtbot.wait(50)
    assert [notice.title for notice in told] == [
        "Halo isn't running your jobs",
        "Halo isn't starting due jobs",
    ]
    assert _kinds(stage) == [NoticeKind.STUCK] * 2


def test_alarms_from_before_the_program_began_are_not_told(stage: Stage, qtbot: QtBot) -> None:
    for at in (_NOW - 1, _NOW):
        record_alarm(stage.path, Alarm(AlarmKind.SILENT, at))
    stage.backend.tell(Change(ChangeKind.ENGINE))
    qtbot.waitUntil(lambda: bool(stage.shown.notices))
    qtbot.wait(50)
    assert _kinds(stage) == [NoticeKind.STUCK]
