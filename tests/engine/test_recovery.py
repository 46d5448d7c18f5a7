"""A database that cannot be written for a while: what is recorded afterwards, and with which reasons."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest
from machine import START, Bench

from halo_scheduler import Callback, Cron, Every, Outcome, Policy, Run
from halo_scheduler.actions.run_services import Ended
from halo_scheduler.errors import StoreUnavailableError
from halo_scheduler.model import CatchUp
from halo_scheduler.store.events import EventKind
from halo_scheduler.why.journal import gap_at

_SECOND = 1_000
_MINUTE = 60 * _SECOND


@pytest.fixture
def bench(tmp_path: Path, dead_processes: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:  # noqa: ARG001 - they die before it opens
    """Have a bench that does not wait for a database which others have locked."""
    monkeypatch.setattr("halo_scheduler.store.connection._BUSY_TIMEOUT_MS", 1)
    found = Bench(tmp_path / "halo.db")
    yield found
    found.close()


@contextmanager
def _locked(bench: Bench) -> Iterator[None]:
    connection = apsw.Connection(str(bench.path))
    connection.execute("BEGIN IMMEDIATE").fetchall()
    try:
        yield
    finally:
        connection.execute("ROLLBACK").fetchall()
        connection.close()


def _try_in_vain(bench: Bench, for_ms: int) -> None:
    """Let an engine tick as its loop does while the database is locked."""
    with _locked(bench):
        for _ in range(for_ms // (5 * _SECOND)):
            with pytest.raises(StoreUnavailableError):
                bench.tick(5 * _SECOND)


def _add(bench: Bench) -> str:
    job_id = bench.scheduler.add_job("often", Cron("* * * * * *"), Callback())
    bench.tick()
    return job_id


def _end(bench: Bench, run: Run) -> None:
    """Let a run end without a tick."""
    bench.open_runs.pop(run.id)
    bench.scheduler.engine.get_engine().handle.end(Ended(run_id=run.id, outcome=Outcome.SUCCESS))


def _next_of(bench: Bench, run: Run) -> Run:
    """End a run, and return the next one, which counts what was passed over."""
    bench.end(run)
    (after,) = bench.tick(_SECOND)
    return bench.recorded(after.id)


def test_a_run_that_ended_meanwhile_ended_when_it_did(bench: Bench) -> None:
    _add(bench)
    (run,) = bench.tick(_SECOND)
    _end(bench, run)
    _try_in_vain(bench, 30 * _SECOND)
    bench.tick()
    recorded = bench.recorded(run.id)
    assert recorded.finished_at == START + _SECOND
    assert recorded.duration_ms == 0


@pytest.mark.parametrize("is_running", [True, False], ids=["a run ends meanwhile", "nothing runs"])
def test_slots_during_downtime_are_not_coalesced_as_running(bench: Bench, is_running: bool) -> None:
    _add(bench)
    (run,) = bench.tick(_SECOND)
    if is_running:
        _end(bench, run)
    else:
        bench.end(run)
    _try_in_vain(bench, 30 * _SECOND)
    (late,) = bench.tick()
    assert late.late_ms > 20 * _SECOND
    after = _next_of(bench, late)
    assert after.passed_over > 20
    assert after.passed_reason == "database unavailable"


def test_slots_during_a_long_run_are_coalesced_as_running(bench: Bench) -> None:
    _add(bench)
    (run,) = bench.tick(_SECOND)
    _try_in_vain(bench, 30 * _SECOND)
    bench.tick()
    after = _next_of(bench, run)
    assert (after.passed_over, after.passed_reason) == (30, "running")


def test_later_runs_pass_over_for_their_own_reasons(bench: Bench) -> None:
    _add(bench)
    (run,) = bench.tick(_SECOND)
    bench.end(run)
    _try_in_vain(bench, 30 * _SECOND)
    (late,) = bench.tick()
    bench.end(late)
    (second,) = bench.tick(_SECOND)
    bench.clock.advance(5 * _SECOND)
    third = _next_of(bench, second)
    assert (third.passed_over, third.passed_reason) == (5, "running")


def test_a_long_outage_is_not_sleep_and_is_recorded(bench: Bench) -> None:
    job_id = bench.scheduler.add_job(
        "hourly", Every("1h"), Callback(), anchor_at=START, policy=Policy(catch_up=CatchUp.SKIP)
    )
    bench.tick(59 * _MINUTE)
    _try_in_vain(bench, 10 * _MINUTE)
    assert bench.tick() == []
    (missed,) = bench.scheduler.get_run_log(job_id)
    assert (missed.outcome, missed.error) == (
        Outcome.MISSED,
        "the database could not be written at that time",
    )
    events = bench.scheduler._store.events
    assert events.of_kinds(None, [EventKind.SLEEP_GAP]) == []
    (event,) = events.of_kinds(None, [EventKind.STORE_OUTAGE])
    assert event.detail["since"] == START + 59 * _MINUTE + 5 * _SECOND
    gap = gap_at(bench.scheduler._store, START + 60 * _MINUTE, bench.clock.now_ms())
    assert gap is not None
    assert gap.words(bench.clock.now_ms()).startswith("the database could not be written from")


def test_a_slot_of_a_long_outage_is_caught_up_once(bench: Bench) -> None:
    _add(bench)
    (run,) = bench.tick(_SECOND)
    bench.end(run)
    _try_in_vain(bench, 10 * _MINUTE)
    (late,) = bench.tick()
    late = bench.recorded(late.id)
    assert (late.passed_over > 500, late.passed_reason) == (True, "database unavailable")
    assert bench.scheduler._store.events.of_kinds(None, [EventKind.STORE_OUTAGE])


def test_a_machine_that_slept_during_an_outage_slept(bench: Bench) -> None:
    _add(bench)
    _try_in_vain(bench, 30 * _SECOND)
    bench.tick(60 * _MINUTE)
    assert len(bench.scheduler._store.events.of_kinds(None, [EventKind.SLEEP_GAP])) == 1


def test_the_log_says_once_when_the_database_can_be_written_again(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    _add(bench)
    _try_in_vain(bench, 30 * _SECOND)
    bench.tick(5 * _SECOND)
    bench.tick(5 * _SECOND)
    assert [record.message for record in caplog.records if "written again" in record.message] == [
        "The database can be written again, after 30 s in which nothing was recorded."
    ]
