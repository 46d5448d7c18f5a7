"""The engine's promises, one by one, with the time in our hands."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from machine import START, Bench

from halo_scheduler import After, Cron, Every, Manual, Once, Outcome, Policy, Retry, Run, Source, Trigger
from halo_scheduler.engine import endings, handle, slots
from halo_scheduler.errors import (
    EngineHeldError,
    ScheduleError,
    ScheduleTriggerError,
    StaleEngineError,
    StoreDamagedError,
    StoreUnavailableError,
)
from halo_scheduler.grammar.zone import machine_zone
from halo_scheduler.model import (
    Backoff,
    Callback,
    CatchUp,
    JobStatus,
    Limits,
    StatusReason,
    WaitingFor,
)
from halo_scheduler.rules import grid, planning
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.store.requests import Request, RequestKind

_MINUTE, _HOUR, _DAY = 60_000, 3_600_000, 86_400_000


# --- Being due ---------------------------------------------------------------------------------------


def test_a_due_job_runs_once_at_its_slot(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1m"))
    assert bench.tick(_MINUTE - 1) == []
    (run,) = bench.tick(1)
    assert (run.slot_at, run.late_ms, run.trigger, run.source) == (
        START + _MINUTE,
        0,
        Trigger.SCHEDULE,
        Source.EVERY,
    )
    assert bench.tick() == []
    assert bench.job(job_id).status is JobStatus.RUNNING
    bench.finish(run)
    job = bench.job(job_id)
    assert (job.status, job.next_run_at, job.last_outcome) == (
        JobStatus.IDLE,
        START + 2 * _MINUTE,
        Outcome.SUCCESS,
    )


def test_a_late_run_says_how_late(bench: Bench) -> None:
    bench.scheduler.add_job("job", Every("1m"))
    bench.tick()
    (run,) = bench.tick(_MINUTE + 2_500)
    assert run.late_ms == 2_500


def test_slots_coalesced_during_a_long_run_are_counted_with_the_reason(bench: Bench) -> None:
    bench.scheduler.add_job("job", Every("1m"))
    (run,) = bench.tick(_MINUTE)
    for _ in range(5):
        bench.tick(_MINUTE)
    bench.finish(run)
    (after,) = bench.tick(_MINUTE)
    assert (after.slot_at, after.passed_over, after.passed_reason) == (START + 7 * _MINUTE, 5, "running")


def test_a_failure_backs_off_and_the_fifth_disables_the_job(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("10s"))
    delays = []
    for _ in range(5):
        job = bench.job(job_id)
        (run,) = bench.tick((job.next_run_at or 0) - bench.clock.now_ms())
        bench.finish(run, error=RuntimeError("boom"))
        delays.append((bench.job(job_id).next_run_at or 0) - bench.clock.now_ms())
    assert delays[:4] == [30_000, 60_000, 300_000, 900_000]
    job = bench.job(job_id)
    assert (job.status, job.status_reason, job.errors) == (JobStatus.DISABLED, StatusReason.ERRORS, 5)
    assert job.last_error == "RuntimeError: boom"
    events = [str(event.kind) for event in bench.scheduler._store.events.of_job(job_id)]
    assert events.count("job-disabled") == 1
    assert bench.tick(_DAY) == []


def test_success_resets_the_error_count(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1m"))
    (run,) = bench.tick(_MINUTE)
    bench.finish(run, Outcome.FAILURE)
    assert bench.job(job_id).errors == 1
    (run,) = bench.tick(_MINUTE)
    bench.finish(run)
    assert bench.job(job_id).errors == 0


def test_a_failed_slot_is_retried_and_counts_as_one_error(bench: Bench) -> None:
    policy = Policy(retry=Retry(attempts=2, delay_ms=1_000))
    job_id = bench.scheduler.add_job("job", Every("1h"), policy=policy)
    (run,) = bench.tick(_HOUR)
    for attempt in (2, 3):
        bench.finish(run, Outcome.FAILURE)
        assert bench.job(job_id).errors == 0
        (run,) = bench.tick(1_000)
        assert (run.slot_at, run.attempt, run.source) == (START + _HOUR, attempt, Source.RETRY)
    bench.finish(run, Outcome.FAILURE)
    assert bench.job(job_id).errors == 1
    assert bench.job(job_id).next_run_at == START + 2 * _HOUR


def test_once_runs_once_and_is_done(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Once(START + 5_000))
    (run,) = bench.tick(5_000)
    bench.finish(run, Outcome.FAILURE)
    job = bench.job(job_id)
    assert (job.status, job.status_reason, job.next_run_at) == (JobStatus.DISABLED, StatusReason.DONE, None)
    with pytest.raises(ScheduleError, match="its only time is in the past"):
        bench.scheduler.resume_job(job_id)


def test_after_counts_from_the_end_of_the_run(bench: Bench) -> None:
    bench.scheduler.add_job("job", After("5m"))
    (run,) = bench.tick()
    bench.tick(_MINUTE)
    bench.finish(run)
    assert bench.tick(5 * _MINUTE - 1) == []
    assert len(bench.tick(1)) == 1


def test_after_counts_from_the_end_of_a_manual_run_too(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", After("1h"))
    bench.finish(bench.tick()[0])
    bench.tick(48 * _MINUTE)
    bench.scheduler.trigger(job_id)
    (run,) = bench.tick()
    bench.tick(_MINUTE)
    bench.finish(run)
    ended_at = bench.clock.now_ms()
    job = bench.job(job_id)
    assert (job.last_ended_at, job.next_run_at, job.next_source) == (ended_at, ended_at + _HOUR, Source.AFTER)
    assert job.last_completed_at == START
    assert bench.scheduler.jobs.next_runs(job_id, 5) == [ended_at + _HOUR]


def test_a_due_after_slot_is_rescheduled_without_a_row_when_a_manual_run_ends(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", After("1h"))
    bench.finish(bench.tick()[0])
    bench.scheduler.trigger(job_id)
    (run,) = bench.tick()
    bench.tick(2 * _HOUR)  # Its slot falls due meanwhile.
    bench.finish(run)
    assert bench.job(job_id).next_run_at == bench.clock.now_ms() + _HOUR
    assert len(bench.scheduler.get_run_log(job_id)) == 2


def test_the_retry_of_an_after_job_stays_when_a_manual_run_ends(bench: Bench) -> None:
    policy = Policy(retry=Retry(attempts=1, delay_ms=30 * _MINUTE))
    job_id = bench.scheduler.add_job("job", After("1h"), policy=policy)
    bench.finish(bench.tick()[0], Outcome.FAILURE)
    bench.scheduler.trigger(job_id)
    bench.finish(bench.tick()[0])
    job = bench.job(job_id)
    assert (job.next_run_at, job.next_source) == (START + 30 * _MINUTE, Source.RETRY)


def test_a_manual_job_is_never_due(bench: Bench) -> None:
    bench.scheduler.add_job("job", Manual())
    assert bench.tick(_DAY) == []


# --- Handlers ----------------------------------------------------------------------------------------


def _raise(error: BaseException) -> Callable[..., object]:
    def handler(*_: object) -> object:
        raise error

    return handler


def _failed_future(*_: object) -> Future[None]:
    future: Future[None] = Future()
    future.set_exception(OSError("gone"))
    return future


def _cancelled_future(*_: object) -> Future[None]:
    future: Future[None] = Future()
    future.cancel()
    return future


async def _coroutine(*_: object) -> Outcome:
    await asyncio.sleep(0)
    return Outcome.SKIPPED


async def _failing_coroutine(*_: object) -> None:
    await asyncio.sleep(0)
    raise OSError("gone")


@pytest.mark.parametrize(
    ("handler", "outcome", "error"),
    [
        (lambda *_: None, Outcome.SUCCESS, ""),
        (_coroutine, Outcome.SKIPPED, ""),
        (_failing_coroutine, Outcome.FAILURE, "OSError: gone"),
        (lambda *_: Outcome.SKIPPED, Outcome.SKIPPED, ""),
        (_raise(ValueError("no")), Outcome.FAILURE, "ValueError: no"),
        (_raise(SystemExit()), Outcome.FAILURE, "SystemExit"),
        (_raise(ValueError("\0\ud800")), Outcome.FAILURE, "ValueError: ?"),
        (lambda *_: 42, Outcome.FAILURE, "the handler returned a int; expected None, an Outcome or a Future"),
        (lambda *_: Outcome.RUNNING, Outcome.FAILURE, "the handler returned a Outcome"),
        (_failed_future, Outcome.FAILURE, "OSError: gone"),
        (_cancelled_future, Outcome.CANCELLED, ""),
    ],
)
def test_every_behaviour_of_a_handler_becomes_an_outcome(
    bench: Bench, handler: Callable[..., object], outcome: Outcome, error: str
) -> None:
    bench.scheduler.on_job_due(handler, "special")
    job_id = bench.scheduler.add_job("job", After("1h"), Callback("special"))
    other = bench.scheduler.add_job("other", After("1h"))
    bench.clock.advance(0)
    bench.scheduler.tick()
    (run,) = bench.scheduler.get_run_log(job_id)
    assert run.outcome is outcome
    assert run.error.startswith(error)
    assert len(bench.scheduler.get_run_log(other)) == 1


def test_a_run_past_its_time_limit_is_recorded_and_its_late_result_ignored(bench: Bench) -> None:
    job_id = bench.scheduler.add_job(
        "job", Every("1m"), policy=Policy(time_limit="10s", backoff=Backoff.none())
    )
    (run,) = bench.tick(_MINUTE)
    bench.tick(10_000)
    (recorded,) = bench.scheduler.get_run_log(job_id)
    assert recorded.outcome is Outcome.TIMEOUT
    (second,) = bench.tick(50_000)
    bench.finish(run, Outcome.SUCCESS)
    assert bench.scheduler.get_run(run.id) == recorded
    assert bench.job(job_id).status is JobStatus.RUNNING
    bench.finish(second)


def test_a_job_without_a_handler_is_skipped_and_reported_once(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1m"))
    bench.scheduler.engine.get_handlers()._by_name.clear()
    for _ in range(3):
        bench.tick(_MINUTE)
    runs = bench.scheduler.get_run_log(job_id)
    assert {(run.outcome, run.reason) for run in runs} == {(Outcome.SKIPPED, "unsupported_type")}
    events = [str(event.kind) for event in bench.scheduler._store.events.of_job(job_id)]
    assert events.count("job-unsupported") == 1
    assert bench.job(job_id).errors == 0


def test_a_run_that_cannot_be_started_is_a_failure_and_the_others_continue(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [bench.scheduler.add_job(name, Every("1m")) for name in ("bad", "good")]
    handlers = bench.scheduler.engine.get_handlers()
    start = handlers.start

    def refuse(handler: Any, job: Any, run: Any, ended: Any) -> None:
        if job.name == "bad":
            raise RuntimeError("no way")
        start(handler, job, run, ended)

    monkeypatch.setattr(handlers, "start", refuse)
    bench.tick(_MINUTE)
    (bad,) = bench.scheduler.get_run_log(ids[0])
    assert (bad.outcome, bad.error) == (Outcome.FAILURE, "it could not be started: no way")
    (good,) = bench.scheduler.get_run_log(ids[1])
    assert good.outcome is Outcome.RUNNING


def test_a_job_that_cannot_be_planned_does_not_disturb_the_others(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = bench.scheduler.add_job("bad", Every("1m"))
    good = bench.scheduler.add_job("good", Every("1m"))
    real = planning.plan_after_run

    def stumble(record: Any, *rest: Any) -> Any:
        if record.id == bad:
            raise ZeroDivisionError
        return real(record, *rest)

    monkeypatch.setattr(endings, "plan_after_run", stumble)
    for run in bench.tick(_MINUTE):
        bench.open_runs.pop(run.id).set_result(None)
    bench.tick()
    assert {run.outcome for run in bench.scheduler.get_run_log()} == {Outcome.SUCCESS}
    assert bench.job(good).status is JobStatus.IDLE
    assert (bench.job(bad).status, bench.job(bad).status_reason) == (
        JobStatus.DISABLED,
        StatusReason.ERRORS,
    )
    assert "job-fault" in [str(event.kind) for event in bench.scheduler._store.events.of_job(bad)]


def test_a_damaged_database_is_noticed_when_the_engine_starts(bench: Bench) -> None:
    for index in range(200):
        bench.scheduler.add_job(f"job {index}", Every("1m"))
    bench.scheduler.close()
    content = bytearray(bench.path.read_bytes())
    content[8_192:40_960] = b"\x5a" * (40_960 - 8_192)
    bench.path.write_bytes(content)
    bench.scheduler = Scheduler.open(bench.path, clock=bench.clock)
    with pytest.raises(StoreDamagedError, match="halo backup restore --latest"):
        bench.scheduler.tick()


# --- Capacity ----------------------------------------------------------------------------------------


def test_a_job_at_the_limit_stays_due_and_the_oldest_slot_starts_first(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "halo.db", max_concurrent=2)
    ids = [
        bench.scheduler.add_job(f"job {index}", Every("1h"), anchor_at=START - 10 + index)
        for index in range(4)
    ]
    first = bench.tick(_HOUR + 10)
    assert [run.job_id for run in first] == ids[:2]
    waiting = bench.job(ids[2])
    assert (waiting.waiting_for, waiting.next_run_at) == (WaitingFor.AT_CAPACITY, START + _HOUR - 8)
    bench.clock.advance(_MINUTE * 10)
    before = len(bench.started)
    bench.finish(first[0])
    (third,) = bench.started[before:]
    assert (third.job_id, third.late_ms) == (ids[2], 10 * _MINUTE + 18)
    assert bench.job(ids[2]).waiting_for is None
    bench.close()


def _waiting_once(tmp_path: Path) -> tuple[Bench, str, Run]:
    """A `once` that is due and waits for the only place."""
    bench = Bench(tmp_path / "halo.db", max_concurrent=1)
    bench.scheduler.add_job("long", Every("1h"), anchor_at=START - _HOUR + 500)
    job_id = bench.scheduler.add_job("once", Once(START + 1_000))
    (long,) = bench.tick(10_000)
    assert bench.job(job_id).waiting_for is WaitingFor.AT_CAPACITY
    return bench, job_id, long


@pytest.mark.parametrize("what", ["clock back", "policy", "clear hints", "resume"])
def test_a_slot_that_waits_for_the_limit_survives_everything_but_a_new_schedule(
    tmp_path: Path, what: str
) -> None:
    bench, job_id, long = _waiting_once(tmp_path)
    if what == "clock back":
        bench.tick(-2_000)
    elif what == "policy":
        bench.scheduler.update_job(job_id, policy=Policy(max_errors=1))
    elif what == "clear hints":
        bench.scheduler.clear_hints(job_id)
    else:
        bench.scheduler.resume_job(job_id)
    before = len(bench.started)
    bench.finish(long)
    assert [run.slot_at for run in bench.started[before:]] == [START + 1_000]
    bench.close()


def test_every_waiting_job_gives_its_reason_and_no_healthy_one_starves(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "halo.db", max_concurrent=5)
    ids = [bench.scheduler.add_job(f"job {index}", Every("1h")) for index in range(9)]
    for job_id in ids[:3]:
        bench.scheduler.trigger(job_id)
    assert len(bench.tick(_HOUR)) == 5
    waiting = [job for job in bench.scheduler.list_jobs() if job.waiting_for is WaitingFor.AT_CAPACITY]
    assert len(waiting) == 4
    bench.close()


def test_jobs_that_cannot_be_claimed_do_not_starve_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path / "halo.db", max_concurrent=1)
    for name in ("a", "b", "c"):
        bench.scheduler.add_job(name, Every("1h"), job_id=name)
    real = grid.passed_over

    def stumble(record: Any) -> int:
        if record.id != "c":
            raise ZeroDivisionError
        return real(record)

    monkeypatch.setattr(slots, "passed_over", stumble)
    assert [run.job_id for run in bench.tick(_HOUR)] == ["c"]
    assert {job.name: str(job.status) for job in bench.scheduler.list_jobs()} == {
        "a": "disabled",
        "b": "disabled",
        "c": "running",
    }
    bench.close()


def test_a_job_that_cannot_be_read_here_is_disabled_and_the_others_run(bench: Bench) -> None:
    bad = bench.scheduler.add_job("bad", Cron("* * * * *", timezone="UTC"))
    good = bench.scheduler.add_job("good", Every("1m"))
    bench.tick()
    bench.scheduler._store.database.rows(
        "UPDATE scheduler_jobs SET schedule = replace(schedule, 'UTC', 'Moon/Base') WHERE id = ?", [bad]
    )
    assert [run.job_id for run in bench.tick(_MINUTE)] == [good]


def test_a_group_has_its_own_limit(bench: Bench) -> None:
    bench.scheduler.set_group_limit("g", 1)
    for index in range(3):
        bench.scheduler.add_job(f"in {index}", Every("1h"), group="g")
    bench.scheduler.add_job("out", Every("1h"))
    runs = bench.tick(_HOUR)
    assert len(runs) == 2
    assert bench.scheduler.status().running_by_group == {"g": 1}
    before = len(bench.started)
    bench.finish(next(run for run in runs if bench.job(run.job_id).group == "g"))
    assert len(bench.started) == before + 1


# --- By hand -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["idle", "paused", "disabled", "manual"])
def test_a_manual_run_works_in_every_state_and_changes_no_plan(bench: Bench, state: str) -> None:
    schedule = Manual() if state == "manual" else Every("1h")
    job_id = bench.scheduler.add_job("job", schedule, enabled=state != "disabled")
    if state == "paused":
        bench.scheduler.pause_job(job_id)
    before = bench.job(job_id)
    run_id = bench.scheduler.trigger(job_id)
    (run,) = bench.tick(1_000)
    assert (run.id, run.slot_at, run.trigger) == (run_id, None, Trigger.MANUAL)
    bench.finish(run, Outcome.FAILURE)
    after = bench.job(job_id)
    assert (after.next_run_at, after.errors, after.last_completed_at, after.status) == (
        *(before.next_run_at, 0, None, before.status),
    )


def test_a_slot_falling_due_during_a_manual_run_stays_due(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1m"))
    bench.scheduler.trigger(job_id)
    (run,) = bench.tick()
    bench.tick(_MINUTE)
    before = len(bench.started)
    bench.finish(run)
    (due,) = bench.started[before:]
    assert (due.slot_at, due.trigger) == (START + _MINUTE, Trigger.SCHEDULE)


def test_a_run_asked_for_twice_starts_once(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"))
    bench.scheduler.trigger(job_id)
    with pytest.raises(ScheduleTriggerError):
        bench.scheduler.trigger(job_id)
    # Even when two processes asked at the same moment.
    request = Request(kind=RequestKind.TRIGGER, job_id=job_id, run_id="second", at=START)
    bench.scheduler._store.requests.append(request)
    assert len(bench.tick()) == 1
    second = bench.scheduler.get_run("second")
    assert second is not None
    assert (second.outcome, second.reason) == (Outcome.SKIPPED, "already_running")


def test_a_waiting_manual_run_can_be_cancelled(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"))
    bench.scheduler.cancel_run(bench.scheduler.trigger(job_id))
    assert bench.tick() == []


def test_a_request_made_without_an_engine_does_not_start_days_later(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Manual())
    run_id = bench.scheduler.trigger(job_id)
    assert bench.tick(7 * _DAY) == []
    run = bench.scheduler.get_run(run_id)
    assert run is not None
    assert (run.outcome, run.reason) == (Outcome.SKIPPED, "missed")


def test_a_job_edited_or_resumed_during_a_manual_run_is_planned_at_once(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"))
    bench.scheduler.pause_job(job_id)
    bench.scheduler.trigger(job_id)
    (run,) = bench.tick()
    bench.scheduler.resume_job(job_id)
    assert bench.job(job_id).next_run_at == START + _HOUR
    bench.scheduler.update_job(job_id, schedule=Every("5m"))
    bench.finish(run)
    assert bench.job(job_id).next_run_at == START + 5 * _MINUTE


def test_a_once_that_is_done_cannot_be_resumed_during_a_manual_run(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Once(START + 1_000))
    (run,) = bench.tick(1_000)
    bench.finish(run)
    bench.scheduler.trigger(job_id)
    bench.tick()
    with pytest.raises(ScheduleError, match="its only time is in the past"):
        bench.scheduler.resume_job(job_id)


def test_a_once_that_fell_into_a_pause_is_recorded_and_done(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Once(START + 1_000))
    bench.scheduler.pause_job(job_id, until=START + 5_000)
    assert bench.tick(10_000) == []
    (run,) = bench.scheduler.get_run_log(job_id)
    assert (run.slot_at, run.outcome, run.reason) == (START + 1_000, Outcome.SKIPPED, "paused")
    assert bench.job(job_id).status_reason is StatusReason.DONE


def test_a_cancelled_run_is_recorded_and_leaves_the_error_count(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1m"))
    (run,) = bench.tick(_MINUTE)
    bench.scheduler.cancel_run(run.id)
    bench.tick()
    (recorded,) = bench.scheduler.get_run_log(job_id)
    assert recorded.outcome is Outcome.CANCELLED
    assert (bench.job(job_id).errors, bench.job(job_id).status) == (0, JobStatus.IDLE)


# --- Pauses and edits --------------------------------------------------------------------------------


def test_no_job_runs_because_a_pause_ended(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"))
    bench.scheduler.pause_job(job_id, until=START + 2 * _HOUR + 60_000)
    for _ in range(4):
        assert bench.tick(_HOUR // 2) == []
    assert bench.tick(60_000) == []
    job = bench.job(job_id)
    assert (job.status, job.paused_until, job.next_run_at) == (JobStatus.IDLE, None, START + 3 * _HOUR)
    (run,) = bench.tick(_HOUR - 60_000)
    assert (run.passed_over, run.passed_reason) == (2, "paused")


def test_a_pause_that_ended_without_an_engine_counts_from_its_end(bench: Bench) -> None:
    hourly = bench.scheduler.add_job("hourly", Every("1h"))
    once = bench.scheduler.add_job("once", Once(START + 90 * _MINUTE))
    bench.tick()
    for job_id in (hourly, once):
        bench.scheduler.pause_job(job_id, until=START + 30 * _MINUTE)
    runs = {run.job_id: run for run in bench.tick(150 * _MINUTE)}
    assert (runs[hourly].slot_at, runs[hourly].source) == (START + 2 * _HOUR, Source.CATCH_UP)
    assert runs[once].slot_at == START + 90 * _MINUTE


def test_a_pause_survives_a_restart(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"))
    bench.tick()
    bench.scheduler.pause_job(job_id, until=START + 10 * _HOUR)
    bench.crash()
    assert bench.tick(5 * _HOUR) == []
    assert bench.job(job_id).status is JobStatus.PAUSED
    assert bench.tick(5 * _HOUR) == []
    assert bench.job(job_id).next_run_at == START + 11 * _HOUR


def test_a_pause_during_a_run_counts_from_its_end(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"))
    (run,) = bench.tick(_HOUR)
    bench.scheduler.pause_job(job_id)
    assert bench.job(job_id).status is JobStatus.RUNNING
    bench.finish(run)
    job = bench.job(job_id)
    assert (job.status, job.next_run_at) == (JobStatus.PAUSED, None)


def test_a_once_whose_pause_ends_while_it_runs_keeps_its_retry(bench: Bench) -> None:
    policy = Policy(retry=Retry(attempts=1, delay_ms=1_000))
    job_id = bench.scheduler.add_job("job", Once(START + 1_000), policy=policy)
    (run,) = bench.tick(1_000)
    bench.scheduler.pause_job(job_id, until=START + 2_000)
    bench.tick(5_000)
    assert bench.job(job_id).status is JobStatus.RUNNING
    bench.finish(run, Outcome.FAILURE)
    (again,) = bench.tick(1_000)
    assert (again.slot_at, again.attempt) == (START + 1_000, 2)


def test_a_retry_dropped_by_an_edit_leaves_its_slot_failed(bench: Bench) -> None:
    policy = Policy(retry=Retry(attempts=1, delay_ms=60_000))
    job_id = bench.scheduler.add_job("job", Every("1h"), policy=policy)
    (run,) = bench.tick(_HOUR)
    bench.finish(run, Outcome.FAILURE)
    assert bench.job(job_id).errors == 0
    bench.scheduler.update_job(job_id, schedule=Every("2h"))
    assert bench.job(job_id).errors == 1


def test_an_edit_takes_effect_at_once(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"))
    bench.tick(_MINUTE)
    bench.scheduler.update_job(job_id, schedule=Every("5m"))
    assert bench.job(job_id).next_run_at == START + 5 * _MINUTE
    assert len(bench.tick(4 * _MINUTE)) == 1


def test_an_edit_during_a_run_keeps_the_state_the_run_writes(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"))
    (run,) = bench.tick(_HOUR)
    bench.scheduler.update_job(job_id, schedule=Every("5m"), name="renamed")
    bench.finish(run, Outcome.FAILURE)
    job = bench.job(job_id)
    assert (job.name, job.errors, job.next_run_at) == ("renamed", 1, START + _HOUR + 5 * _MINUTE)


def test_a_job_removed_while_it_runs_does_not_come_back(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1m"))
    (run,) = bench.tick(_MINUTE)
    bench.scheduler.remove_job(job_id)
    bench.finish(run)
    assert bench.tick(_HOUR) == []
    assert bench.scheduler.get_job(job_id) is None
    (recorded,) = bench.scheduler.get_run_log(job_id)
    assert recorded.outcome is Outcome.SUCCESS


# --- Hints -------------------------------------------------------------------------------------------


def test_a_clamped_one_shot_hint_fires_once(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"), policy=Policy(limits=Limits(min_ms=_MINUTE)))
    bench.scheduler.propose_next_run(job_id, START + 1_000, ttl="10h")
    assert bench.job(job_id).next_run_at == START + _MINUTE
    (run,) = bench.tick(_MINUTE)
    assert run.source is Source.CLAMPED_MIN
    bench.finish(run)
    assert bench.job(job_id).next_run_at == START + _HOUR


def test_a_faster_pace_counts_at_once_and_a_slower_one_after_the_next_run(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("10m"))
    bench.scheduler.propose_interval(job_id, "30m", ttl="10h")
    assert bench.job(job_id).next_run_at == START + 10 * _MINUTE
    bench.scheduler.propose_interval(job_id, "2s", ttl="10h")
    assert bench.job(job_id).next_run_at == START + 10_000
    bench.scheduler.clear_hints(job_id)
    assert bench.job(job_id).next_run_at == START + 10 * _MINUTE
    with pytest.raises(ScheduleError, match="takes no hints"):
        bench.scheduler.propose_interval(bench.scheduler.add_job("manual", Manual()), "5m")


# --- Downtime, sleep, clock changes ------------------------------------------------------------------


def test_an_interrupted_slot_is_used_up_and_reported(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"))
    bench.tick(_HOUR)
    bench.crash()
    bench.clock.advance(5_000)
    assert bench.tick() == []
    (run,) = bench.scheduler.get_run_log(job_id)
    assert (run.outcome, run.error) == (Outcome.INTERRUPTED, "Halo ended while it ran")
    job = bench.job(job_id)
    assert (job.next_run_at, job.errors, job.status) == (START + 2 * _HOUR, 0, JobStatus.IDLE)


def test_an_interrupted_slot_with_retries_is_retried(bench: Bench) -> None:
    bench.scheduler.add_job("job", Every("1h"), policy=Policy(retry=Retry(attempts=1, delay_ms=1_000)))
    bench.tick(_HOUR)
    bench.crash()
    bench.tick()
    (run,) = bench.tick(1_000)
    assert (run.attempt, run.slot_at) == (2, START + _HOUR)


@pytest.mark.parametrize("how", ["crash", "sleep"])
def test_missed_slots_are_caught_up_once(bench: Bench, how: str) -> None:
    bench.scheduler.add_job("job", Every("1h"))
    bench.tick()
    bench.clock.advance(10 * _HOUR + 30 * _MINUTE)
    if how == "crash":
        bench.crash()
    (run,) = bench.tick()
    assert (run.slot_at, run.source, run.late_ms, run.passed_over) == (
        *(START + 10 * _HOUR, Source.CATCH_UP, 30 * _MINUTE, 9),
    )
    bench.finish(run)
    assert bench.tick() == []
    (after,) = bench.tick(30 * _MINUTE)
    assert (after.slot_at, after.source) == (START + 11 * _HOUR, Source.EVERY)


@pytest.mark.parametrize(
    "policy", [Policy(catch_up=CatchUp.SKIP), Policy(catch_up_max_age="10m")], ids=["skip", "too old"]
)
def test_slots_that_are_not_caught_up_are_recorded_as_missed(bench: Bench, policy: Policy) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"), policy=policy)
    bench.tick()
    bench.clock.advance(10 * _HOUR + 30 * _MINUTE)
    bench.crash()
    assert bench.tick() == []
    (run,) = bench.scheduler.get_run_log(job_id)
    assert (run.outcome, run.slot_at, run.passed_over) == (Outcome.MISSED, START + _HOUR, 9)
    assert bench.job(job_id).next_run_at == START + 11 * _HOUR
    (after,) = bench.tick(30 * _MINUTE)
    assert after.passed_over == 0


def test_less_than_a_minute_is_merely_late(bench: Bench) -> None:
    bench.scheduler.add_job("job", Every("1h"), policy=Policy(catch_up=CatchUp.SKIP))
    bench.tick()
    bench.clock.advance(_HOUR + 59_000)
    bench.crash()
    (run,) = bench.tick()
    assert (run.source, run.late_ms) == (Source.EVERY, 59_000)


def test_a_slot_that_waits_for_the_limit_is_never_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handle, "is_alive", lambda _pid, _start: False)
    bench = Bench(tmp_path / "halo.db", max_concurrent=1)
    for index in range(2):
        bench.scheduler.add_job(
            f"job {index}", Every("1h"), anchor_at=START - 10 + index, policy=Policy(catch_up=CatchUp.SKIP)
        )
    bench.tick(_HOUR + 10)
    bench.clock.advance(10 * _MINUTE)
    bench.crash()
    (run,) = bench.tick()
    assert (run.slot_at, run.outcome) == (START + _HOUR - 9, Outcome.RUNNING)
    bench.close()


def test_a_missed_once_is_caught_up_or_done(bench: Bench) -> None:
    caught = bench.scheduler.add_job("caught", Once(START + _HOUR))
    missed = bench.scheduler.add_job("missed", Once(START + _HOUR), policy=Policy(catch_up=CatchUp.SKIP))
    bench.tick()
    bench.clock.advance(5 * _HOUR)
    bench.crash()
    (run,) = bench.tick()
    assert (run.job_id, run.slot_at) == (caught, START + _HOUR)
    assert bench.job(missed).status_reason is StatusReason.DONE
    assert bench.scheduler.get_run_log(missed)[0].outcome is Outcome.MISSED


def test_a_stored_future_slot_survives_a_restart(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"))
    bench.scheduler.propose_next_run(job_id, START + 7 * _MINUTE, ttl="1s")
    bench.tick()
    bench.clock.advance(5 * _MINUTE)
    bench.crash()
    bench.tick()
    assert bench.job(job_id).next_run_at == START + 7 * _MINUTE


@pytest.mark.parametrize("how", ["crash", "jump"])
def test_after_the_clock_went_back_nothing_runs_again_and_nothing_sleeps(bench: Bench, how: str) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"), anchor_at=START - 10 * _DAY)
    rare = bench.scheduler.add_job("rare", After("1h"))
    bench.tick()
    for _ in range(3):
        for run in bench.tick(_HOUR):
            bench.finish(run)
    for run in list(bench.started):
        if run.id in bench.open_runs:
            bench.finish(run)
    slots = {run.slot_at for run in bench.scheduler.get_run_log(job_id)}
    bench.clock.set(START - 5 * _HOUR - 30 * _MINUTE)
    if how == "crash":
        bench.crash()
    bench.tick()
    assert bench.job(job_id).next_run_at == START - 5 * _HOUR
    assert (bench.job(rare).next_run_at or 0) <= START - 4 * _HOUR
    bench.clock.set(START + 30 * _MINUTE)
    bench.tick()
    for run in list(bench.started):
        if run.id in bench.open_runs:
            bench.finish(run)
    again = [run.slot_at for run in bench.scheduler.get_run_log(job_id)]
    assert len(again) == len(set(again))
    assert slots <= set(again)


def test_a_catch_up_after_the_clock_went_back_takes_no_slot_that_had_its_run(bench: Bench) -> None:
    job_id = bench.scheduler.add_job(
        "job", Every("1m"), policy=Policy(time_limit="1m", backoff=Backoff.none())
    )
    bench.tick()
    for step in (_HOUR, _HOUR, -2 * _HOUR, _HOUR):
        bench.tick(step)
        for run in [run for run in bench.started if run.id in bench.open_runs]:
            bench.finish(run)
    slots = [run.slot_at for run in bench.scheduler.get_run_log(job_id)]
    assert len(slots) == len(set(slots))
    assert (bench.job(job_id).next_run_at or 0) > bench.clock.now_ms()


def test_a_slot_that_comes_up_again_is_not_run_again_and_blocks_no_others(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1m"))
    other = bench.scheduler.add_job("other", Every("1m"))
    for run in bench.tick(_MINUTE):
        bench.finish(run)
    record = bench.scheduler._store.jobs.get(job_id)
    assert record is not None
    again = record.evolve(next_run_at=START + _MINUTE, slot_at=START + _MINUTE)
    bench.scheduler._store.jobs.save_states([again])
    assert [run.job_id for run in bench.tick(_MINUTE)] == [other]
    assert (bench.job(job_id).next_run_at or 0) > bench.clock.now_ms()


def test_a_retry_does_not_sleep_until_the_old_time_returns(bench: Bench) -> None:
    job_id = bench.scheduler.add_job(
        "job", Every("1h"), policy=Policy(retry=Retry(attempts=1, delay_ms=5_000))
    )
    (run,) = bench.tick(_HOUR)
    bench.finish(run, Outcome.FAILURE)
    bench.tick(-_DAY)
    assert bench.job(job_id).next_run_at == bench.clock.now_ms() + 5_000


def test_a_missed_slot_after_the_clock_went_back_does_not_bring_up_old_ones(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1m"), policy=Policy(catch_up=CatchUp.SKIP))
    for step in [_MINUTE] * 10:
        for run in bench.tick(step):
            bench.finish(run)
    bench.clock.set(START + 2 * _MINUTE + 1_000)
    bench.tick()
    bench.tick(3 * _MINUTE)
    for _ in range(20):
        for run in bench.tick(_MINUTE):
            bench.finish(run)
    slots = [run.slot_at for run in bench.scheduler.get_run_log(job_id)]
    assert len(slots) == len(set(slots))


def test_a_slot_whose_run_was_pruned_is_not_run_again(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1m"))
    for _ in range(10):
        for run in bench.tick(_MINUTE):
            bench.finish(run)
    bench.scheduler._store.runs.prune(keep_per_job=3, ended_before=0, most=100)
    bench.tick(-6 * _MINUTE - 1_000)
    assert bench.job(job_id).next_run_at == START + 11 * _MINUTE


def test_a_zone_change_that_could_not_be_written_is_noticed_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "UTC")
    machine_zone.cache_clear()
    local = bench.scheduler.add_job("local", Cron("0 9 * * *"))
    bench.tick()
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    database = bench.scheduler._store.database
    database.rows("PRAGMA query_only = ON")
    with pytest.raises(StoreUnavailableError):
        bench.tick(_MINUTE)
    database.rows("PRAGMA query_only = OFF")
    bench.tick(1_000)
    assert bench.job(local).next_run_at == START + _DAY
    machine_zone.cache_clear()


def test_after_a_zone_change_cron_jobs_without_a_zone_are_rescheduled(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "UTC")
    machine_zone.cache_clear()
    local = bench.scheduler.add_job("local", Cron("0 9 * * *"))
    fixed = bench.scheduler.add_job("fixed", Cron("0 9 * * *", timezone="UTC"))
    bench.tick()
    assert bench.job(local).next_run_at == START + 9 * _HOUR
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    bench.tick(_MINUTE)
    assert bench.job(local).next_run_at == START + _DAY
    assert bench.job(fixed).next_run_at == START + 9 * _HOUR
    machine_zone.cache_clear()


# --- One engine per database -------------------------------------------------------------------------


def test_a_second_engine_refuses_and_names_the_holder(tmp_path: Path) -> None:
    first = Bench(tmp_path / "halo.db")
    first.tick()
    second = Scheduler.open(tmp_path / "halo.db", clock=first.clock)
    with pytest.raises(EngineHeldError, match=r"the jobs are run by .+ \(process \d+\)"):
        second.tick()
    first.scheduler.stop()
    second.tick()
    second.close()
    first.close()


def test_an_expired_holder_is_replaced_and_when_woken_writes_nothing(tmp_path: Path) -> None:
    old = Bench(tmp_path / "halo.db")
    old.scheduler.add_job("job", Every("1m"))
    old.tick()
    old.clock.advance(181_000)
    new = Scheduler.open(tmp_path / "halo.db", clock=old.clock)
    new.tick()
    runs = new.get_run_log()
    old.clock.advance(10 * _MINUTE)
    with pytest.raises(StaleEngineError):
        old.scheduler.tick()
    assert old.started == []
    assert new.get_run_log() == runs
    new.close()
    old.close()


def test_a_deleted_database_is_noticed_at_the_tick(bench: Bench) -> None:
    bench.scheduler.add_job("job", Every("1m"))
    bench.tick()
    bench.path.unlink()
    with pytest.raises(StoreUnavailableError, match="deleted or replaced"):
        bench.tick(_MINUTE)
    assert bench.started == []


def _add_until_it_fails(bench: Bench, ids: list[str]) -> None:
    for index in range(1_000):
        ids.append(bench.scheduler.add_job(f"more {index}", Every("1d")))  # noqa: PERF401 - those before the failure


def test_a_full_disk_under_a_running_engine_loses_nothing(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1m"))
    (run,) = bench.tick(_MINUTE)
    database = bench.scheduler._store.database
    (pages,) = database.rows("PRAGMA page_count")[0]
    database.rows(f"PRAGMA max_page_count = {pages}")
    ids: list[str] = []
    with pytest.raises(StoreUnavailableError, match="is full"):
        _add_until_it_fails(bench, ids)
    bench.open_runs[run.id].set_result(None)
    database.rows("PRAGMA max_page_count = 1000000")
    bench.scheduler.tick()
    assert {job.id for job in bench.scheduler.list_jobs()} == {job_id, *ids}
    (recorded,) = bench.scheduler.get_run_log(job_id)
    assert recorded.outcome is Outcome.SUCCESS
    assert database.rows("PRAGMA integrity_check") == [("ok",)]


def test_ends_are_kept_until_they_can_be_written(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1m"))
    (run,) = bench.tick(_MINUTE)
    database = bench.scheduler._store.database
    database.rows("PRAGMA query_only = ON")
    bench.open_runs[run.id].set_result(None)
    with pytest.raises(StoreUnavailableError):
        bench.scheduler.tick()
    database.rows("PRAGMA query_only = OFF")
    bench.scheduler.tick()
    (recorded,) = bench.scheduler.get_run_log(job_id)
    assert recorded.outcome is Outcome.SUCCESS


def test_a_takeover_between_claim_and_start_is_noticed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last look before each start: what the new engine recorded as interrupted must not run."""
    bench.scheduler.add_job("job", Every("1m"))
    bench.tick()
    engine = bench.scheduler.engine._engine
    assert engine is not None
    other = Scheduler.open(bench.path, clock=bench.clock)
    start = engine._try_to_start

    def be_overtaken(record: Any, run: Run) -> bool:
        # Frozen right here, for longer than the lease lasts.
        bench.clock.advance(200_000)
        other._store.database.rows("UPDATE scheduler_engine SET generation = generation + 1")
        return start(record, run)

    monkeypatch.setattr(engine, "_try_to_start", be_overtaken)
    with pytest.raises(StaleEngineError):
        bench.tick(_MINUTE)
    assert bench.started == []
    other.close()


def test_a_commit_that_fails_is_repeated_completely(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = bench.scheduler.add_job("ended", Every("1m"))
    overdue = bench.scheduler.add_job(
        "overdue", Every("1m"), policy=Policy(time_limit="10s", backoff=Backoff.none())
    )
    runs = {run.job_id: run for run in bench.tick(_MINUTE)}
    bench.open_runs.pop(runs[ended].id).set_result(None)
    lease = bench.scheduler._store.lease
    renew = lease.renew

    def fail(*_: object, **__: object) -> None:
        raise StoreUnavailableError("the disk is full")

    monkeypatch.setattr(lease, "renew", fail)
    with pytest.raises(StoreUnavailableError):
        bench.tick(_MINUTE)
    assert {run.outcome for run in bench.scheduler.get_run_log()} == {Outcome.RUNNING}
    monkeypatch.setattr(lease, "renew", renew)
    assert bench.tick() == []
    outcomes = {
        run.job_id: run.outcome for run in bench.scheduler.get_run_log() if run.outcome is not Outcome.RUNNING
    }
    assert outcomes == {ended: Outcome.SUCCESS, overdue: Outcome.TIMEOUT}
