"""Runs that events start: one for each event, and counted like the slots of a schedule."""

from __future__ import annotations

import pytest
from chain_waits import awaited
from machine import START, Bench

from halo_scheduler import (
    Cron,
    Entry,
    Every,
    Follower,
    FollowOn,
    Limits,
    Manual,
    Once,
    OnSession,
    OnWebhook,
    Outcome,
    PathExists,
    Policy,
    Retry,
    Run,
    Several,
    Source,
    Trigger,
)
from halo_scheduler.engine.requested_runs import QueuedRuns
from halo_scheduler.model import (
    Backoff,
    Caps,
    InQuietTime,
    JobStatus,
    Schedule,
    SessionEvent,
    SkipReason,
    StatusReason,
)
from halo_scheduler.model.schedules import Overlap
from halo_scheduler.model.settings import QuietTime
from halo_scheduler.rules.event_requests import MOST_WAITING, Accepted, Happening, Refused, accept
from halo_scheduler.store.events import EventKind

_MINUTE, _HOUR = 60_000, 3_600_000
_CALL = OnWebhook()
_NO_BACKOFF = Backoff.none()

pytestmark = pytest.mark.usefixtures("stand_in_watchers")


def _add(
    bench: Bench,
    schedule: Schedule | Several = _CALL,
    policy: Policy | None = None,
    *,
    group: str | None = None,
    followers: tuple[Follower, ...] = (),
) -> None:
    bench.scheduler.add_job(
        "job",
        schedule,
        job_id="job",
        policy=policy,
        group=group,
        followers=followers,
        parameters={"mode": "full", "size": "1"},
    )


def _happen(bench: Bench, event_id: str = "1", key: str = "", content: bytes = b"") -> str:
    """Let an event happen, and return the id of its run."""
    happening = Happening(
        job_id="job",
        key=key,
        event_id=event_id,
        at=bench.clock.now_ms(),
        input=content,
        parameters={"mode": "quick", "undeclared": "x"},
    )
    store = bench.scheduler._store
    with store.transaction():
        found = accept(store, happening)
    assert isinstance(found, Accepted)
    return found.run_id


def _runs(bench: Bench) -> list[Run]:
    """Return the runs of the job, oldest first."""
    return bench.scheduler.get_run_log("job", limit=1_000)[::-1]


def _waits(bench: Bench) -> list[str]:
    return [awaited(run) for run in bench.scheduler.runs.waiting_in_chains()]


# --- One run for each event ----------------------------------------------------------------------------


def test_an_event_starts_a_run_with_its_input(bench: Bench) -> None:
    _add(bench)
    run_id = _happen(bench, content=b"hello")
    (run,) = bench.tick()
    assert run.id == run_id
    assert (run.trigger, run.source, run.slot_at, run.event_id) == (Trigger.EVENT, Source.MANUAL, None, "1")
    assert (run.attempt, run.late_ms, run.schedule_keys) == (1, 0, ())
    assert (run.parameters, run.input_bytes) == ({"mode": "quick", "size": "1"}, 5)
    assert bench.scheduler.runs.input(run.id) == b"hello"
    assert bench.scheduler._store.requests.events() == []


def test_a_run_names_its_event_and_gets_its_parameters(bench: Bench) -> None:
    login = Entry(OnSession(SessionEvent.LOGIN), parameters={"mode": "login", "size": "2"})
    _add(bench, Several((Entry(Every("1h")), login)))
    _happen(bench, key="2")
    (run,) = bench.tick()
    assert run.schedule_keys == ("2",)
    assert run.parameters == {"mode": "quick", "size": "2"}


def test_events_run_one_after_the_other_in_their_order(bench: Bench) -> None:
    _add(bench)
    expected = [_happen(bench, str(number)) for number in range(3)]
    (first,) = bench.tick()
    assert _waits(bench) == ["its previous run to end"] * 2
    bench.finish(first)
    bench.finish(bench.started[-1])
    assert [run.id for run in bench.started] == expected


def test_an_event_is_run_once_although_it_is_reported_again(bench: Bench) -> None:
    _add(bench)
    run_id = _happen(bench)
    (run,) = bench.tick()
    assert _happen(bench) == run_id
    bench.finish(run)
    assert _happen(bench) == run_id
    assert bench.tick() == []


def test_events_wait_for_an_engine_and_outlive_a_crash(bench: Bench) -> None:
    _add(bench)
    bench.tick()
    run_id = _happen(bench, content=b"kept")
    bench.crash()
    (run,) = bench.tick(_HOUR)
    assert (run.id, run.late_ms) == (run_id, _HOUR)
    assert bench.scheduler.runs.input(run.id) == b"kept"


def test_an_interrupted_run_of_an_event_is_not_repeated(bench: Bench) -> None:
    _add(bench)
    run_id = _happen(bench)
    bench.tick()
    bench.crash()
    assert bench.tick(_MINUTE) == []
    assert bench.recorded(run_id).outcome is Outcome.INTERRUPTED


def test_folded_events_are_noted_on_the_run_that_counts_for_them(bench: Bench) -> None:
    _add(bench)
    for number in range(MOST_WAITING + 2):
        _happen(bench, str(number))
    bench.tick()
    while bench.open_runs:
        bench.finish(bench.started[-1])
    runs = _runs(bench)
    assert len(runs) == MOST_WAITING
    assert [run.note for run in runs if run.note] == ["it also counts for 2 other events"]


def test_a_delayed_event_starts_when_its_time_has_come(bench: Bench) -> None:
    _add(bench, OnSession(SessionEvent.BOOT, "5m"))
    _happen(bench)
    assert bench.tick(4 * _MINUTE) == []
    assert _waits(bench) == []
    engine = bench.scheduler.engine.get_engine()
    assert engine.delay_ms() == _MINUTE
    (run,) = bench.tick(_MINUTE)
    assert run.late_ms == 0


def test_a_clock_set_back_does_not_hold_events_up(bench: Bench) -> None:
    _add(bench, OnSession(SessionEvent.BOOT, "5m"))
    _happen(bench)
    bench.tick()
    bench.clock.set(START - _HOUR)
    assert bench.tick() == []
    assert len(bench.tick(5 * _MINUTE)) == 1


@pytest.mark.parametrize("is_running", [True, False])
def test_an_event_that_overlaps_is_skipped_if_the_schedule_says_so(bench: Bench, is_running: bool) -> None:
    _add(bench, Several((Entry(_CALL, on_overlap=Overlap.SKIP),)))
    _happen(bench, "1", key="1")
    if is_running:
        bench.tick()
    store = bench.scheduler._store
    late = Happening(job_id="job", key="1", event_id="2", at=START, input=b"seen")
    with store.transaction():
        assert accept(store, late) == Refused(SkipReason.ALREADY_RUNNING)
        # Reported again, it has its run already.
        again = accept(store, late)
    skipped = next(run for run in _runs(bench) if run.event_id == "2")
    assert again == Accepted(skipped.id)
    assert (skipped.outcome, skipped.reason) == (Outcome.SKIPPED, SkipReason.ALREADY_RUNNING)
    assert bench.scheduler.runs.input(skipped.id) == b"seen"


def test_the_latest_event_replaces_the_waiting_one(bench: Bench) -> None:
    _add(bench, Several((Entry(_CALL, on_overlap=Overlap.LATEST),)))
    _happen(bench, "1", key="1")
    (first,) = bench.tick()
    run_id = _happen(bench, "2", key="1", content=b"old")
    assert _happen(bench, "3", key="1", content=b"new") == run_id
    bench.finish(first)
    last = bench.started[-1]
    assert (last.id, last.event_id) == (run_id, "3")
    assert bench.scheduler.runs.input(run_id) == b"new"
    assert bench.recorded(run_id).note == "it also counts for 1 other event"


# --- Counted like slots --------------------------------------------------------------------------------


def test_a_failed_event_is_retried_with_the_same_parameters_and_input(bench: Bench) -> None:
    _add(bench, policy=Policy(retry=Retry(attempts=1, delay_ms=_MINUTE)))
    _happen(bench, content=b"again")
    (first,) = bench.tick()
    bench.end(first, Outcome.FAILURE)
    assert bench.job("job").errors == 0
    assert bench.tick(_MINUTE - 1) == []
    (second,) = bench.tick(1)
    assert (second.trigger, second.source, second.attempt) == (Trigger.EVENT, Source.RETRY, 2)
    assert (second.event_id, second.parameters) == ("1", first.parameters)
    assert bench.scheduler.runs.input(second.id) == b"again"
    bench.end(second, Outcome.FAILURE)
    assert bench.job("job").errors == 1
    assert bench.tick(_HOUR) == []


def test_a_retry_without_its_input_is_skipped(bench: Bench) -> None:
    _add(bench, policy=Policy(retry=Retry(attempts=1, delay_ms=_MINUTE)))
    _happen(bench, content=b"again")
    (first,) = bench.tick()
    # As in a backup, which has no input of runs.
    bench.scheduler._store.database.rows("DELETE FROM scheduler_run_input")
    bench.end(first, Outcome.FAILURE)
    assert bench.tick(_MINUTE) == []
    skipped, failed = bench.scheduler.get_run_log()
    assert (skipped.outcome, skipped.attempt, failed.outcome) == (Outcome.SKIPPED, 2, Outcome.FAILURE)
    assert skipped.error == "the input of its earlier attempt is no longer stored"


def test_an_interrupted_event_counts_as_a_failed_attempt(bench: Bench) -> None:
    _add(bench, policy=Policy(retry=Retry(attempts=1, delay_ms=_MINUTE)))
    _happen(bench)
    bench.tick()
    bench.crash()
    assert bench.tick() == []
    (second,) = bench.tick(_MINUTE)
    assert second.attempt == 2


def test_a_failure_delays_the_next_events(bench: Bench) -> None:
    _add(bench, policy=Policy(backoff=Backoff.ladder(2 * _MINUTE)))
    _happen(bench, "1")
    _happen(bench, "2")
    (first,) = bench.tick()
    bench.end(first, Outcome.FAILURE)
    _happen(bench, "3")
    assert bench.tick(2 * _MINUTE - 1) == []
    (second,) = bench.tick(1)
    assert (second.event_id, second.late_ms) == ("2", 0)
    bench.end(second)
    assert bench.job("job").errors == 0
    assert bench.started[-1].event_id == "3"


def test_the_shortest_distance_between_runs_holds_for_events(bench: Bench) -> None:
    _add(bench, policy=Policy(limits=Limits(min_ms=_MINUTE)))
    _happen(bench, "1")
    _happen(bench, "2")
    (first,) = bench.tick()
    bench.end(first)
    assert len(bench.tick(_MINUTE)) == 1


def test_too_many_failed_events_disable_the_job_and_skip_the_others(bench: Bench) -> None:
    _add(bench, policy=Policy(max_errors=1, backoff=_NO_BACKOFF))
    _happen(bench, "1")
    _happen(bench, "2")
    (first,) = bench.tick()
    bench.end(first, Outcome.FAILURE)
    job = bench.job("job")
    assert (job.status, job.status_reason) == (JobStatus.DISABLED, StatusReason.ERRORS)
    last = _runs(bench)[-1]
    assert (last.outcome, last.reason, last.event_id) == (Outcome.SKIPPED, SkipReason.DISABLED, "2")
    assert last.error == "it was disabled when the event happened"


def test_a_failed_event_delays_the_next_slot_and_a_success_frees_it(bench: Bench) -> None:
    ladder = Backoff.ladder(10 * _MINUTE)
    _add(bench, Several((Entry(Every("5m")), Entry(_CALL))), Policy(backoff=ladder))
    _happen(bench, "1", key="2")
    (first,) = bench.tick()
    bench.end(first, Outcome.FAILURE)
    assert bench.job("job").next_run_at == START + 10 * _MINUTE
    (slot,) = bench.tick(10 * _MINUTE)
    assert slot.trigger is Trigger.SCHEDULE


def test_a_due_slot_stays_due_while_an_event_runs(bench: Bench) -> None:
    _add(bench, Several((Entry(Every("5m")), Entry(_CALL))), Policy(backoff=_NO_BACKOFF))
    _happen(bench, key="2")
    (event,) = bench.tick()
    bench.tick(5 * _MINUTE)
    bench.end(event, Outcome.FAILURE)
    assert bench.started[-1].slot_at == START + 5 * _MINUTE


def test_a_job_with_an_event_is_not_done_when_its_times_are_over(bench: Bench) -> None:
    _add(bench, Several((Entry(Once(START + _MINUTE)), Entry(_CALL))))
    (once,) = bench.tick(_MINUTE)
    bench.finish(once)
    assert bench.job("job").status is JobStatus.IDLE
    _happen(bench, key="2")
    assert len(bench.tick()) == 1


def test_next_jobs_run_after_the_last_attempt_of_an_event(bench: Bench) -> None:
    bench.scheduler.add_job("next", Manual(), job_id="next")
    followers = (Follower(job_id="next", on=FollowOn.FAILURE),)
    _add(bench, policy=Policy(retry=Retry(attempts=1), backoff=_NO_BACKOFF), followers=followers)
    _happen(bench)
    (first,) = bench.tick()
    bench.end(first, Outcome.FAILURE)
    assert bench.scheduler.get_run_log("next") == []
    (second,) = bench.tick(_MINUTE)
    bench.end(second, Outcome.FAILURE)
    (following,) = bench.scheduler.get_run_log("next")
    assert (following.caused_by, following.input_bytes) == (second.id, 0)


@pytest.mark.parametrize("drop", ["pause", "cancel"])
def test_a_dropped_retry_lets_the_next_jobs_run(bench: Bench, drop: str) -> None:
    bench.scheduler.add_job("next", Manual(), job_id="next")
    followers = (Follower(job_id="next", on=FollowOn.FAILURE),)
    _add(bench, policy=Policy(retry=Retry(attempts=1)), followers=followers)
    _happen(bench)
    (first,) = bench.tick()
    bench.end(first, Outcome.FAILURE)
    (retry,) = bench.scheduler._store.requests.events()
    if drop == "pause":
        bench.scheduler.pause_job("job")
    else:
        bench.scheduler.cancel_run(retry.run_id)
    bench.tick(_MINUTE)
    assert [run.caused_by for run in bench.scheduler.get_run_log("next")] == [first.id]


def test_next_jobs_run_when_the_event_of_a_failed_run_was_edited_away(bench: Bench) -> None:
    bench.scheduler.add_job("next", Manual(), job_id="next")
    followers = (Follower(job_id="next", on=FollowOn.FAILURE),)
    _add(bench, policy=Policy(retry=Retry(attempts=1)), followers=followers)
    _happen(bench)
    (run,) = bench.tick()
    bench.scheduler.update_job("job", schedule=Every("1h"))
    bench.end(run, Outcome.FAILURE)
    assert [found.caused_by for found in bench.scheduler.get_run_log("next")] == [run.id]
    assert bench.scheduler._store.jobs.require("job").errors == 1


def test_next_jobs_run_when_the_retry_of_an_event_had_nothing_to_do(bench: Bench) -> None:
    bench.scheduler.add_job("next", Manual(), job_id="next")
    followers = (Follower(job_id="next", on=FollowOn.FAILURE),)
    _add(bench, policy=Policy(retry=Retry(attempts=1), backoff=_NO_BACKOFF), followers=followers)
    _happen(bench)
    (failed,) = bench.tick()
    bench.end(failed, Outcome.FAILURE)
    assert bench.scheduler.get_run_log("next") == []
    (retry,) = bench.tick(_MINUTE)
    bench.end(retry, Outcome.SKIPPED)
    assert [found.caused_by for found in bench.scheduler.get_run_log("next")] == [failed.id]


# --- What keeps an event waiting, or skips it ----------------------------------------------------------


def test_a_paused_job_skips_the_events_that_wait(bench: Bench) -> None:
    _add(bench)
    _happen(bench, "1")
    bench.tick()
    run_id = _happen(bench, "2")
    bench.scheduler.pause_job("job")
    bench.finish(bench.started[-1])
    skipped = bench.recorded(run_id)
    assert (skipped.outcome, skipped.reason) == (Outcome.SKIPPED, SkipReason.PAUSED)
    assert skipped.error == "it was paused when the event happened"


def test_a_removed_job_skips_its_events_and_a_deleted_one_drops_them(bench: Bench) -> None:
    _add(bench)
    run_id = _happen(bench)
    bench.scheduler.remove_job("job")
    bench.tick()
    assert bench.recorded(run_id).reason is SkipReason.DISABLED
    bench.scheduler.restore_job("job")
    _happen(bench, "2")
    bench.scheduler.remove_job("job")
    bench.scheduler.jobs.delete_removed(["job"])
    assert bench.tick() == []
    assert bench.scheduler._store.requests.events() == []


def test_conditions_hold_an_event_back(bench: Bench) -> None:
    disk = PathExists(path="/mnt/backup")
    _add(bench, policy=Policy(conditions=(disk,)))
    _happen(bench)
    assert bench.tick() == []
    assert _waits(bench) == ["/mnt/backup to exist"]
    bench.surroundings.truths[disk] = True
    assert len(bench.tick(_MINUTE)) == 1


def test_an_event_in_quiet_hours_is_skipped_if_the_job_says_so(bench: Bench) -> None:
    quiet = QuietTime(name="Rest", start="00:00", end="24:00")
    bench.scheduler.settings.change(quiet_times=(quiet,))
    _add(bench, policy=Policy(in_quiet_time=InQuietTime.SKIP))
    run_id = _happen(bench)
    bench.tick()
    assert bench.recorded(run_id).reason is SkipReason.QUIET_TIME


def test_a_daily_limit_skips_an_event(bench: Bench) -> None:
    _add(bench, policy=Policy(caps=Caps(runs_per_day=1)))
    _happen(bench, "1")
    (first,) = bench.tick()
    run_id = _happen(bench, "2")
    bench.finish(first)
    assert bench.recorded(run_id).reason is SkipReason.CAP


def test_events_wait_for_the_limits_of_all_jobs_and_of_their_group(narrow: Bench) -> None:
    narrow.scheduler.add_job("other", Every("1h"), job_id="other", group="web")
    _add(narrow, group="web")
    narrow.scheduler.set_group_limit("web", 1)
    (other,) = narrow.tick(_HOUR)
    _happen(narrow)
    assert narrow.tick() == []
    assert _waits(narrow) == ["limit of web reached (1 of 1: other)"]
    narrow.finish(other)
    assert narrow.started[-1].job_id == "job"


def test_a_waiting_event_can_be_cancelled(bench: Bench) -> None:
    _add(bench)
    _happen(bench, "1")
    (first,) = bench.tick()
    run_id = _happen(bench, "2", content=b"seen")
    bench.scheduler.cancel_run(run_id)
    cancelled = bench.recorded(run_id)
    assert (cancelled.outcome, cancelled.trigger, cancelled.event_id) == (
        Outcome.CANCELLED,
        Trigger.EVENT,
        "2",
    )
    assert bench.scheduler.runs.input(run_id) == b"seen"
    bench.finish(first)
    assert len(bench.started) == 1


def test_an_error_in_one_job_records_its_event_and_disturbs_no_other(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stumble(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    _add(bench)
    other = bench.scheduler.add_job("other", Every("1h"))
    run_id = _happen(bench)
    monkeypatch.setattr(QueuedRuns, "check", stumble)
    assert [run.job_id for run in bench.tick(_HOUR)] == [other]
    assert bench.recorded(run_id).outcome is Outcome.SKIPPED
    kinds = [event.kind for event in bench.scheduler._store.events.of_job("job")]
    assert EventKind.JOB_FAULT in kinds


def test_events_and_slots_start_oldest_first(narrow: Bench) -> None:
    narrow.scheduler.add_job("slot", Cron("30 0 * * *", timezone="UTC"), job_id="slot")
    _add(narrow)
    narrow.clock.advance(20 * _MINUTE)
    _happen(narrow)
    narrow.clock.advance(20 * _MINUTE)
    (first,) = narrow.tick()
    narrow.finish(first)
    assert [run.job_id for run in narrow.started] == ["job", "slot"]
