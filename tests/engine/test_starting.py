"""Keeping the machine awake exactly as long as a run lasts that wants it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import pytest
from commands import shell
from machine import Bench, FakeSurroundings
from process_probe import until
from pytestqt.qtbot import QtBot

from halo_scheduler import After, Every, Manual, Outcome, Policy
from halo_scheduler.actions.run_services import Ended
from halo_scheduler.errors import StoreUnavailableError
from halo_scheduler.host import awake
from halo_scheduler.model import JobSpec, PathExists
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.wording.messages import messages_words

_MINUTE, _HOUR = 60_000, 3_600_000
_AWAKE = Policy(keep_awake=True)


class FakeKeeper:
    """Notes who holds the machine awake; says no if it is to."""

    held: dict[str, str]
    refuses: bool
    is_closed: bool

    def __init__(self, submit: Callable[[Callable[[], None]], None]) -> None:
        self._submit = submit

    def hold(self, run_id: str, why: str, failed: Callable[[str], None]) -> None:
        if self.refuses:
            self._submit(lambda: failed("nobody answers"))
        else:
            self.held[run_id] = why

    def release(self, run_id: str) -> None:
        self.held.pop(run_id, None)

    def close(self) -> None:
        FakeKeeper.is_closed = True
        self.held.clear()


@pytest.fixture(autouse=True)
def keeper(monkeypatch: pytest.MonkeyPatch) -> type[FakeKeeper]:
    FakeKeeper.held, FakeKeeper.refuses, FakeKeeper.is_closed = {}, False, False
    monkeypatch.setattr(awake, "KeepAwake", FakeKeeper)
    return FakeKeeper


def test_the_computer_is_kept_awake_until_the_end_is_recorded(bench: Bench, keeper: type[FakeKeeper]) -> None:
    bench.scheduler.add_job("plain", Every("1h"))
    job_id = bench.scheduler.add_job("backup", Every("1h"), policy=_AWAKE)
    bench.tick(_HOUR - 1)
    assert keeper.held == {}
    run = next(run for run in bench.tick(1) if run.job_id == job_id)
    assert keeper.held == {run.id: "backup is running"}
    bench.tick(_MINUTE)
    assert run.id in keeper.held
    bench.end(run)
    assert (keeper.held, bench.recorded(run.id).note) == ({}, "")


def test_the_inhibitor_is_released_only_when_the_end_is_written(
    bench: Bench, keeper: type[FakeKeeper], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.scheduler.add_job("backup", Every("1h"), policy=_AWAKE)
    (run,) = bench.tick(_HOUR)
    lease = bench.scheduler._store.lease
    renew = lease.renew

    def fail(*_: object, **__: object) -> None:
        raise StoreUnavailableError("the disk is full")

    monkeypatch.setattr(lease, "renew", fail)
    with pytest.raises(StoreUnavailableError):
        bench.end(run)
    assert run.id in keeper.held
    monkeypatch.setattr(lease, "renew", renew)
    bench.tick()
    assert keeper.held == {}


def test_manual_and_test_runs_keep_the_computer_awake_too(bench: Bench, keeper: type[FakeKeeper]) -> None:
    by_hand = bench.scheduler.add_job("by hand", Manual(), policy=_AWAKE)
    tried = bench.scheduler.add_job("tried", Manual(), policy=_AWAKE)
    job = bench.scheduler.get_job(tried)
    assert job is not None
    bench.scheduler.trigger(by_hand)
    bench.scheduler.runs.request_test(tried, job.spec)
    runs = bench.tick()
    assert keeper.held.keys() == {run.id for run in runs}


@pytest.mark.parametrize("end", ["timeout", "cancel"])
def test_every_end_lets_it_go(bench: Bench, keeper: type[FakeKeeper], end: str) -> None:
    bench.scheduler.add_job("backup", Every("1h"), policy=Policy(keep_awake=True, time_limit="1m"))
    (run,) = bench.tick(_HOUR)
    if end == "cancel":
        bench.scheduler.cancel_run(run.id)
        bench.tick()
    else:
        bench.tick(_MINUTE)
    assert keeper.held == {}


def test_that_it_cannot_be_had_is_noted_and_stops_nothing(bench: Bench, keeper: type[FakeKeeper]) -> None:
    keeper.refuses = True
    bench.scheduler.add_job("backup", Every("1h"), policy=_AWAKE)
    told: list[Change] = []
    bench.scheduler.subscribe(told.append)
    (run,) = bench.tick(_HOUR)
    engine = bench.scheduler.engine.get_engine()
    until(lambda: engine.drain_inbox() or bench.recorded(run.id).note)
    note = "the computer could not be kept awake: nobody answers"
    assert (bench.recorded(run.id).note, bench.recorded(run.id).outcome) == (note, Outcome.RUNNING)
    assert told.count(Change(ChangeKind.RUN_PROGRESS, job_id=run.job_id, run_id=run.id)) == 1
    bench.end(run)
    assert (bench.recorded(run.id).note, bench.recorded(run.id).outcome) == (note, Outcome.SUCCESS)


def test_a_fault_in_keeping_awake_is_not_the_runs(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def stumble(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(FakeKeeper, "hold", stumble)
    bench.scheduler.add_job("backup", Every("1h"), policy=_AWAKE)
    (run,) = bench.tick(_HOUR)
    assert bench.recorded(run.id).outcome is Outcome.RUNNING
    assert bench.recorded(run.id).note == "the computer could not be kept awake: can't start new thread"
    assert "not kept awake" in caplog.text


def test_a_run_that_never_starts_takes_no_inhibitor(bench: Bench, keeper: type[FakeKeeper]) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"), policy=_AWAKE)
    bench.scheduler.engine.get_handlers()._by_name.clear()
    bench.tick(_HOUR)
    (run,) = bench.scheduler.get_run_log(job_id)
    assert (run.outcome, keeper.held) == (Outcome.SKIPPED, {})


def test_a_leaving_engine_releases_inhibitors_and_the_next_takes_them_for_adopted_runs(
    tmp_path: Path, keeper: type[FakeKeeper], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", "/bin/sh")
    action = shell("touch begun; while [ ! -e go ]; do sleep 0.02; done", directory=str(tmp_path))
    first = Scheduler.open(tmp_path / "halo.db")
    run_id = first.trigger(first.add_job("backup", Manual(), action, policy=_AWAKE))
    first.tick()
    until((tmp_path / "begun").exists)
    assert keeper.held.keys() == {run_id}
    first.close()
    assert (keeper.held, keeper.is_closed) == ({}, True)
    second = Scheduler.open(tmp_path / "halo.db")
    second.tick()
    assert keeper.held == {run_id: "backup is running"}
    (tmp_path / "go").touch()

    def is_over() -> bool:
        second.tick()
        run = second.get_run(run_id)
        return run is not None and run.outcome is Outcome.SUCCESS

    until(is_over)
    assert keeper.held == {}
    second.close()


@pytest.mark.usefixtures("qapp")
def test_an_engine_that_lost_its_lease_keeps_no_inhibitor(
    tmp_path: Path, keeper: type[FakeKeeper], qtbot: QtBot
) -> None:
    disk = PathExists(path="/mnt/backup")
    with Scheduler.open(tmp_path / "halo.db") as scheduler:
        surroundings = scheduler.engine.surroundings = FakeSurroundings()
        scheduler.on_job_due(lambda *_: Future())
        run_id = scheduler.trigger(scheduler.add_job("backup", Manual(), policy=_AWAKE))
        scheduler.add_job("waits", After("1h"), policy=Policy(conditions=(disk,)))
        scheduler.start()
        qtbot.waitUntil(lambda: keeper.held.keys() == {run_id} and surroundings.watched == {disk})
        scheduler._store.database.rows("UPDATE scheduler_engine SET generation = generation + 1")
        scheduler._session.loop.look_again()  # type: ignore[union-attr] # started above
        qtbot.waitUntil(lambda: not scheduler.engine.is_running)
        assert (keeper.held, surroundings.watched) == ({}, frozenset())


@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize("refuses", [False, True])
def test_a_test_of_a_job_that_is_not_stored_keeps_awake_too(
    tmp_path: Path, keeper: type[FakeKeeper], qtbot: QtBot, refuses: bool
) -> None:
    keeper.refuses = refuses
    with Scheduler.open(tmp_path / "halo.db") as scheduler:
        action = shell("while [ ! -e go ]; do sleep 0.02; done", directory=str(tmp_path))
        trial = scheduler.engine.try_job(
            JobSpec(name="backup", schedule=Manual(), action=action, policy=_AWAKE)
        )
        ends: list[Ended] = []
        trial.ended.connect(ends.append)
        trial.start()
        if refuses:
            qtbot.waitUntil(lambda: bool(trial._notes))
        else:
            assert keeper.held == {trial.run_id: "backup is running"}
        (tmp_path / "go").touch()
        qtbot.waitUntil(lambda: bool(ends))
    assert keeper.held == {}
    note = "the computer could not be kept awake: nobody answers" if refuses else ""
    assert (ends[0].outcome, messages_words(ends[0].notes)) == (Outcome.SUCCESS, note)
