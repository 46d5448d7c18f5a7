"""Test runs: a job tried as it was edited, after which it goes on as if nothing had happened."""

from __future__ import annotations

from dataclasses import replace

import pytest
from machine import START, Bench

from halo_scheduler import (
    Callback,
    Every,
    Job,
    JobNotFoundError,
    Manual,
    Once,
    Outcome,
    Policy,
    Run,
    ScheduleError,
    ScheduleTriggerError,
    Trigger,
)
from halo_scheduler.model import JobSpec, JobStatus, SkipReason
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.store.requests import Request, RequestKind

_MINUTE, _HOUR = 60_000, 3_600_000


def _state(bench: Bench, job_id: str) -> object:
    """Return everything that is stored of a job."""
    return bench.scheduler._store.jobs.get(job_id)


@pytest.fixture
def job_id(bench: Bench) -> str:
    """A job with a history: it failed once."""
    found = bench.scheduler.add_job("job", Every("1h"), group="g", policy=Policy(time_limit="10m"))
    (run,) = bench.tick(_HOUR)
    bench.finish(run, Outcome.FAILURE)
    return found


def _edited(bench: Bench, job_id: str) -> JobSpec:
    policy = Policy(time_limit="1m", max_errors=1)
    return replace(
        bench.job(job_id).spec, name="new name", schedule=Once(START), policy=policy, action=Callback("try")
    )


@pytest.mark.parametrize("outcome", [Outcome.SUCCESS, Outcome.FAILURE, Outcome.CANCELLED])
def test_a_test_run_changes_nothing_about_the_job(bench: Bench, job_id: str, outcome: Outcome) -> None:
    tried: list[tuple[str, Trigger]] = []

    def attempt(job: Job, run: Run) -> Outcome:
        tried.append((job.name, run.trigger))
        return outcome

    bench.scheduler.on_job_due(attempt, "try")
    before, stats = _state(bench, job_id), bench.scheduler.get_run_stats(job_id)
    trend, last = bench.scheduler.runs.trends([job_id]), bench.scheduler.runs.last([job_id])
    run_id = bench.scheduler.runs.request_test(job_id, _edited(bench, job_id))
    bench.tick(_MINUTE)
    run = bench.recorded(run_id)
    assert tried == [("new name", Trigger.TEST)]
    assert (run.outcome, run.trigger, run.slot_at, run.job_id) == (outcome, Trigger.TEST, None, job_id)
    assert _state(bench, job_id) == before
    assert bench.scheduler.get_run_stats(job_id) == stats
    assert bench.scheduler.runs.trends([job_id]) == trend
    assert bench.scheduler.runs.last([job_id]) == last
    assert bench.scheduler._store.requests.tests_under_way() == {}
    assert bench.scheduler.get_run_log(trigger=Trigger.TEST) == [run]
    assert bench.scheduler.runs.unseen_failures() == bench.scheduler.get_run_log(
        job_id, trigger=Trigger.SCHEDULE
    )


def test_a_test_run_ends_at_the_limit_of_the_edited_job(bench: Bench, job_id: str) -> None:
    spec = replace(_edited(bench, job_id), action=Callback())
    run_id = bench.scheduler.runs.request_test(job_id, spec)
    bench.tick()
    assert bench.job(job_id).status is JobStatus.RUNNING
    bench.tick(_MINUTE - 1)
    assert bench.recorded(run_id).outcome is Outcome.RUNNING
    bench.tick(1)
    assert bench.recorded(run_id).outcome is Outcome.TIMEOUT
    assert bench.job(job_id).status is JobStatus.IDLE


def test_while_a_job_runs_or_waits_no_test_is_taken(bench: Bench, job_id: str) -> None:
    spec = bench.job(job_id).spec
    bench.scheduler.runs.request_test(job_id, spec)
    for ask in (bench.scheduler.trigger, lambda found: bench.scheduler.runs.request_test(found, spec)):
        with pytest.raises(ScheduleTriggerError) as caught:
            ask(job_id)
        assert caught.value.reason == SkipReason.ALREADY_QUEUED
    (run,) = bench.tick()
    with pytest.raises(ScheduleTriggerError):
        bench.scheduler.runs.request_test(job_id, spec)
    bench.finish(run)
    bench.scheduler.trigger(job_id)
    with pytest.raises(ScheduleTriggerError):
        bench.scheduler.runs.request_test(job_id, spec)


def test_a_test_asked_for_twice_at_the_same_moment_starts_once(bench: Bench, job_id: str) -> None:
    run_id = bench.scheduler.runs.request_test(job_id, bench.job(job_id).spec)
    (first,) = bench.scheduler._store.requests.triggers()
    bench.scheduler._store.requests.append(replace(first, run_id="second"))
    (run,) = bench.tick()
    assert run.id == run_id
    second = bench.recorded("second")
    assert (second.trigger, second.outcome, second.reason) == (
        Trigger.TEST,
        Outcome.SKIPPED,
        "already_running",
    )
    bench.finish(run)
    assert bench.scheduler._store.database.rows("SELECT count(*) FROM scheduler_requests") == [(0,)]


def test_a_slot_falling_due_during_a_test_stays_due(bench: Bench, job_id: str) -> None:
    bench.scheduler.runs.request_test(job_id, bench.job(job_id).spec)
    (run,) = bench.tick(_HOUR - 1)
    bench.tick(1)
    before = len(bench.started)
    bench.finish(run)
    (due,) = bench.started[before:]
    assert (due.slot_at, due.trigger, due.attempt) == (START + 2 * _HOUR, Trigger.SCHEDULE, 1)


def test_a_test_run_leaves_a_job_paused_or_disabled(bench: Bench, job_id: str) -> None:
    bench.scheduler.pause_job(job_id)
    before = _state(bench, job_id)
    bench.scheduler.runs.request_test(job_id, bench.job(job_id).spec)
    (run,) = bench.tick()
    bench.finish(run)
    assert _state(bench, job_id) == before


def test_an_edit_saved_during_a_test_is_kept(bench: Bench, job_id: str) -> None:
    bench.scheduler.runs.request_test(job_id, _edited(bench, job_id))
    bench.scheduler.on_job_due(lambda *_: None, "try")
    bench.scheduler.update_job(job_id, name="saved", schedule=Every("2h"))
    bench.tick()
    job = bench.job(job_id)
    assert (job.name, job.schedule, job.action, job.policy.time_limit) == (
        "saved",
        Every("2h"),
        Callback(),
        "10m",
    )


def test_a_test_that_waits_can_be_withdrawn_and_one_that_runs_be_stopped(bench: Bench, job_id: str) -> None:
    spec = bench.job(job_id).spec
    run_id = bench.scheduler.runs.request_test(job_id, spec)
    assert bench.scheduler.runs.waiting_of(job_id) == run_id
    bench.scheduler.cancel_run(run_id)
    assert bench.tick() == []
    run_id = bench.scheduler.runs.request_test(job_id, spec)
    bench.tick()
    bench.scheduler.cancel_run(run_id)
    bench.tick()
    assert bench.recorded(run_id).outcome is Outcome.CANCELLED


def test_a_test_lost_in_a_crash_is_interrupted_and_the_job_keeps_running(bench: Bench, job_id: str) -> None:
    before = _state(bench, job_id)
    run_id = bench.scheduler.runs.request_test(job_id, _edited(bench, job_id))
    bench.scheduler.on_job_due(bench._begin, "try")
    bench.tick()
    assert bench.recorded(run_id).outcome is Outcome.RUNNING
    assert list(bench.scheduler._store.requests.tests_under_way()) == [run_id]
    bench.crash()
    bench.tick()
    assert bench.recorded(run_id).outcome is Outcome.INTERRUPTED
    assert _state(bench, job_id) == before
    assert bench.scheduler._store.requests.tests_under_way() == {}


def test_a_test_requested_without_an_engine_does_not_start_days_later(bench: Bench, job_id: str) -> None:
    bench.scheduler.stop()
    run_id = bench.scheduler.runs.request_test(job_id, bench.job(job_id).spec)
    bench.clock.advance(2 * _MINUTE)
    bench.tick()
    run = bench.recorded(run_id)
    assert (run.trigger, run.outcome, run.reason) == (Trigger.TEST, Outcome.SKIPPED, "missed")


def test_a_test_without_a_runner_is_skipped(bench: Bench, job_id: str) -> None:
    before = _state(bench, job_id)
    bench.scheduler.engine.get_handlers()._by_name.clear()
    run_id = bench.scheduler.runs.request_test(job_id, bench.job(job_id).spec)
    bench.tick()
    assert bench.recorded(run_id).reason is SkipReason.UNSUPPORTED_TYPE
    assert _state(bench, job_id) == before


def test_only_a_saved_job_and_a_spec_can_be_tried(bench: Bench, job_id: str) -> None:
    with pytest.raises(JobNotFoundError):
        bench.scheduler.runs.request_test("unknown", bench.job(job_id).spec)
    with pytest.raises(ScheduleError, match="spec: must be a JobSpec"):
        bench.scheduler.runs.request_test(job_id, bench.job(job_id))  # type: ignore[arg-type]  # the mistake


def test_a_test_that_cannot_be_read_is_skipped_and_the_others_continue(bench: Bench, job_id: str) -> None:
    bad = Request(kind=RequestKind.TEST, job_id=job_id, run_id="bad", at=START, payload='{"version": 1}')
    bench.scheduler._store.requests.append(bad)
    other = bench.scheduler.trigger(bench.scheduler.add_job("other", Manual()))
    (run,) = bench.tick()
    assert run.id == other
    assert bench.recorded("bad").outcome is Outcome.SKIPPED
    assert bench.job(job_id).status is JobStatus.IDLE


def test_a_test_counts_toward_the_limit_of_the_stored_group(bench: Bench, job_id: str) -> None:
    bench.scheduler.runs.request_test(job_id, replace(bench.job(job_id).spec, group="other"))
    bench.tick()
    assert bench.scheduler.status().running_by_group == {"g": 1}


# --- What is told -----------------------------------------------------------------------------------


def test_a_test_that_never_started_is_published_too(bench: Bench) -> None:
    skips = Policy(catch_up="skip")  # type: ignore[arg-type]  # its word
    job_id = bench.scheduler.add_job("job", Every("1h"), policy=skips)
    once_id = bench.scheduler.add_job("once", Once(START + _MINUTE))
    bench.scheduler.pause_job(once_id, START + 2 * _MINUTE)
    bench.tick()
    heard: list[Change] = []
    bench.scheduler.subscribe(heard.append)

    def finished() -> set[tuple[str | None, str | None]]:
        found = {(change.job_id, change.run_id) for change in heard if change.kind is ChangeKind.RUN_FINISHED}
        heard.clear()
        return found

    bench.tick(2 * _MINUTE)
    (paused,) = bench.scheduler.get_run_log(once_id)
    assert finished() == {(once_id, paused.id)}
    bench.tick(5 * _HOUR)
    (asleep,) = bench.scheduler.get_run_log(job_id)
    assert asleep.outcome is Outcome.MISSED
    assert finished() == {(job_id, asleep.id)}
    bench.scheduler.stop()
    stale_id = bench.scheduler.trigger(job_id)
    bench.clock.advance(5 * _HOUR)
    bench.tick()
    off = bench.scheduler.get_run_log(job_id, outcome=Outcome.MISSED)[0]
    assert finished() == {(job_id, off.id), (job_id, stale_id)}


def test_nothing_is_published_about_a_failed_tick(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"), policy=Policy(catch_up="skip"))  # type: ignore[arg-type]  # its word
    bench.tick()
    heard: list[Change] = []
    bench.scheduler.subscribe(heard.append)
    engine = bench.scheduler.engine.get_engine()
    monkeypatch.setattr(engine, "_claim", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        bench.tick(5 * _HOUR)
    assert heard == []
    monkeypatch.undo()
    bench.tick()
    told = [change for change in heard if change.kind is ChangeKind.RUN_FINISHED]
    assert [change.job_id for change in told] == [job_id]


def test_of_many_missed_runs_only_one_is_named(bench: Bench) -> None:
    skips = Policy(catch_up="skip")  # type: ignore[arg-type]  # its word
    bench.scheduler.add_jobs([{"name": str(n), "schedule": Every("1h"), "policy": skips} for n in range(50)])
    bench.tick()
    heard: list[Change] = []
    bench.scheduler.subscribe(heard.append)
    bench.tick(5 * _HOUR)
    missed, example = heard
    assert missed == Change(ChangeKind.RUN_FINISHED)
    assert example.run_id in {run.id for run in bench.scheduler.get_run_log(outcome=Outcome.MISSED)}
