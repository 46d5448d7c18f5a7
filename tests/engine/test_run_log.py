"""What the engine logs about runs: problems as warnings, everything else as information, each once."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from machine import Bench

from halo_scheduler import Every, Manual, Outcome, PathExists, Policy, Run
from halo_scheduler.engine import run_log
from halo_scheduler.errors import StoreUnavailableError
from halo_scheduler.model import Backoff, CatchUp, SkipReason
from halo_scheduler.model.messages import MessageKind, message
from halo_scheduler.store import runs
from halo_scheduler.store.connection import Row

_MINUTE, _HOUR = 60_000, 3_600_000
_NAME = "halo_scheduler.engine.run_log"


@pytest.fixture(autouse=True)
def verbose(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level(logging.INFO, _NAME):
        yield


def _said(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    """Return the lines so far without the ids of runs, and forget them."""
    found = [
        (record.levelname, record.getMessage().split(" (run ")[0].split(", run ")[0])
        for record in caplog.records
        if record.name == _NAME
    ]
    caplog.clear()
    return found


def test_starts_and_ends_are_logged_with_name_outcome_and_reason(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.scheduler.add_job(
        "backup/nightly", Every("1m"), policy=Policy(max_errors=2, backoff=Backoff.none())
    )
    (run,) = bench.tick(_MINUTE + 2_000)
    assert _said(caplog) == [("INFO", "backup/nightly started (schedule, 2 s late")]
    bench.clock.advance(3_000)
    bench.finish(run)
    assert _said(caplog) == [("INFO", "backup/nightly succeeded after 3 s")]
    (run,) = bench.tick(_MINUTE)
    _said(caplog)
    bench.finish(run, error=RuntimeError("no disk"))
    assert _said(caplog) == [("WARNING", "backup/nightly failed after under a second: RuntimeError: no disk")]
    (run,) = bench.tick(_MINUTE)
    bench.end(run, Outcome.SKIPPED, reason=SkipReason.NO_WORK)
    assert _said(caplog)[1:] == [("INFO", "backup/nightly had nothing to do")]
    (run,) = bench.tick(_MINUTE)
    bench.finish(run, Outcome.FAILURE)
    assert _said(caplog)[1:] == [
        ("WARNING", "backup/nightly failed after under a second"),
        ("WARNING", "backup/nightly is disabled after 2 failures"),
    ]


def test_a_quiet_log_reads_only_runs_with_problems(
    bench: Bench, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def run_of(row: Row) -> Run:
        run = runs.run_of(row)
        read.append(run.id)
        return run

    monkeypatch.setattr("halo_scheduler.store.history.run_of", run_of)
    bench.scheduler.add_job("good", Every("1m"), job_id="good")
    bench.scheduler.add_job("bad", Every("1m"), job_id="bad")
    with caplog.at_level(logging.WARNING, _NAME):
        started = {run.job_id: run for run in bench.tick(_MINUTE)}
        bench.finish(started["good"])
        assert read == []
        bench.finish(started["bad"], Outcome.FAILURE)
    assert read == [started["bad"].id]
    assert _said(caplog) == [("WARNING", "bad failed after under a second")]


def test_each_wait_is_logged_once(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    scheduler = bench.scheduler
    scheduler.set_group_limit("backup", 1)
    scheduler.add_job("backup/first", Manual(), job_id="first", group="backup")
    away = Policy(conditions=(PathExists(path="/mnt/away"),))
    scheduler.add_job("backup/nightly", Every("1h"), group="backup")
    scheduler.add_job("sync", Every("1h"), policy=away)
    scheduler.trigger("first")
    (first,) = bench.tick()
    _said(caplog)
    bench.tick(_HOUR)
    assert sorted(_said(caplog)) == [
        ("INFO", "backup/nightly is waiting: limit of backup reached (1 of 1: backup/first)"),
        ("INFO", "sync is waiting for /mnt/away to exist"),
    ]
    bench.tick(_MINUTE)
    assert _said(caplog) == []
    bench.finish(first)
    assert [line.split(" (")[0] for _, line in _said(caplog)] == [
        "backup/first succeeded after 1 h 1 min",
        "backup/nightly started",
    ]


def test_many_that_begin_to_wait_are_summed_up(
    narrow: Bench, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_log, "_MOST_WAITS", 3)
    narrow.scheduler.add_jobs([{"name": f"job {number:02}", "schedule": Every("1h")} for number in range(30)])
    narrow.tick(_HOUR)
    lines = [line for _, line in _said(caplog)]
    assert sum("is waiting: limit reached" in line for line in lines) == 3
    assert lines[-1] == "26 more jobs begin to wait"


def test_missed_and_interrupted_runs_are_warnings(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    bench.scheduler.add_job("report", Every("1h"), policy=Policy(catch_up=CatchUp.SKIP))
    bench.scheduler.add_job("sync", Manual(), job_id="sync")
    bench.tick()
    bench.scheduler.trigger("sync")
    bench.tick()
    _said(caplog)
    bench.clock.advance(2 * _HOUR)
    bench.crash()
    bench.tick()
    lines = {line.split(":")[0].split(" after ")[0]: level for level, line in _said(caplog)}
    assert lines == {"report missed its run": "WARNING", "sync was interrupted": "WARNING"}


def test_a_note_after_the_end_is_not_logged_as_a_second_end(
    bench: Bench, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_log, "_MOST_REMEMBERED", 1)
    bench.scheduler.add_job("job", Manual(), job_id="job")
    for _ in range(2):
        bench.scheduler.trigger("job")
        bench.finish(bench.tick()[0])
    _said(caplog)
    engine = bench.scheduler.engine.get_engine()
    note = message(MessageKind.TEXT, text="late words")
    engine.handle.note_on(bench.recorded(bench.started[-1].id), note)
    bench.tick()
    assert _said(caplog) == []


def test_without_information_only_problems_are_logged(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, _NAME)
    bench.scheduler.add_job("job", Every("1m"))
    (run,) = bench.tick(_MINUTE)
    bench.finish(run, Outcome.FAILURE)
    assert _said(caplog) == [("WARNING", "job failed after under a second")]


def test_a_log_that_cannot_be_written_blocks_nothing(
    bench: Bench, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise StoreUnavailableError("locked")

    engine = bench.scheduler.engine.get_engine()
    monkeypatch.setattr(engine._run_log, "_write_runs", refuse)
    bench.scheduler.add_job("job", Every("1m"))
    assert len(bench.tick(_MINUTE)) == 1
    assert _said(caplog) == []
