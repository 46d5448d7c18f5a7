"""Chains: when a run of one job has ended, another job runs; once, in its turn, or it is said why not."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest
from asking import ask
from chain_waits import awaited
from commands import shell
from machine import START, Bench
from process_probe import until

from halo_scheduler import (
    After,
    Every,
    Manual,
    Once,
    Outcome,
    Policy,
    Retry,
    Run,
    Source,
    Trigger,
)
from halo_scheduler.actions.run_services import Ended, Late
from halo_scheduler.actions.spool import Output
from halo_scheduler.engine.requested_runs import QueuedRuns
from halo_scheduler.errors import ScheduleTriggerError, StaleEngineError, StoreUnavailableError
from halo_scheduler.model import (
    Backoff,
    Capacity,
    Caps,
    CatchUp,
    Follower,
    FollowOn,
    InQuietTime,
    JobStatus,
    PathExists,
    Schedule,
    SkipReason,
    StatusReason,
    WaitingFor,
)
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.settings import QuietTime
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.store.events import Event, EventKind
from halo_scheduler.store.requests import Request, RequestKind

_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000
_DISK = PathExists(path="/mnt/backup")
_ALL_DAY = QuietTime(name="Rest", group="quiet", start="00:00", end="24:00")


def _chain(
    bench: Bench,
    on: FollowOn = FollowOn.ALWAYS,
    *,
    backup: Policy | None = None,
    report: Policy | None = None,
    schedule: Schedule | None = None,
    group: str | None = None,
) -> None:
    """Add a job `backup` that is due every hour, and another, `report`, that follows it."""
    bench.scheduler.add_job("report", schedule or Manual(), job_id="report", policy=report, group=group)
    followers = [Follower(job_id="report", on=on)]
    bench.scheduler.add_job("backup", Every("1h"), job_id="backup", policy=backup, followers=followers)


def _runs(bench: Bench, job_id: str = "report") -> list[Run]:
    """Return the runs of a job, oldest first."""
    return bench.scheduler.get_run_log(job_id)[::-1]


def _reasons(bench: Bench) -> list[str]:
    return [awaited(waiting) for waiting in bench.scheduler.runs.waiting_in_chains()]


def _events(bench: Bench) -> list[Event]:
    events = bench.scheduler._store.events.of_job("backup")
    return [event for event in events if event.kind is EventKind.CHAIN_BROKEN]


def _cause(bench: Bench, outcome: Outcome = Outcome.SUCCESS) -> Run:
    """Run the first job by hand to its end."""
    bench.scheduler.trigger("backup")
    run = next(run for run in bench.tick() if run.job_id == "backup")
    bench.end(run, outcome)
    return run


# --- Which ends start whom ---------------------------------------------------------------------------


def _end_somehow(bench: Bench, run: Run, outcome: Outcome) -> None:
    match outcome:
        case Outcome.TIMEOUT:
            bench.tick(2 * _HOUR)
        case Outcome.CANCELLED:
            bench.scheduler.cancel_run(run.id)
            bench.tick()
        case Outcome.INTERRUPTED:
            bench.crash()
            bench.tick()
        case _:
            bench.end(run, outcome)
    assert bench.recorded(run.id).outcome is outcome


@pytest.mark.parametrize(
    ("outcome", "followed"),
    [
        (Outcome.SUCCESS, {FollowOn.SUCCESS, FollowOn.ALWAYS}),
        (Outcome.FAILURE, {FollowOn.FAILURE, FollowOn.ALWAYS}),
        (Outcome.TIMEOUT, {FollowOn.FAILURE, FollowOn.ALWAYS}),
        (Outcome.INTERRUPTED, {FollowOn.FAILURE, FollowOn.ALWAYS}),
        (Outcome.CANCELLED, {FollowOn.ALWAYS}),
        (Outcome.SKIPPED, set()),
    ],
)
def test_each_outcome_triggers_its_next_jobs_once(
    bench: Bench, outcome: Outcome, followed: set[FollowOn]
) -> None:
    for on in FollowOn:
        bench.scheduler.add_job(on, Manual(), job_id=on)
    followers = [Follower(job_id=on, on=on) for on in FollowOn]
    bench.scheduler.add_job("first", Every("1h"), followers=followers)
    (run,) = bench.tick(_HOUR)
    _end_somehow(bench, run, outcome)
    bench.tick(_SECOND)
    assert {on for on in FollowOn if _runs(bench, on)} == followed
    assert all(len(_runs(bench, on)) == 1 for on in followed)
    assert bench.scheduler.runs.waiting_in_chains() == []


@pytest.mark.usefixtures("machine_in_utc")
def test_missed_and_skipped_slots_trigger_nothing(bench: Bench) -> None:
    _chain(bench, backup=Policy(catch_up=CatchUp.SKIP, caps=Caps(runs_per_day=1)))
    bench.tick()
    bench.clock.advance(2 * _HOUR)
    bench.crash()
    bench.tick()
    assert [run.outcome for run in _runs(bench, "backup")] == [Outcome.MISSED]
    (run,) = bench.tick(_HOUR)
    bench.end(run)
    bench.tick(_HOUR)
    assert [run.outcome for run in _runs(bench, "backup")][-1] is Outcome.SKIPPED
    assert len(_runs(bench)) == 1


def test_a_chain_run_names_its_cause_and_does_not_change_its_jobs_plan(bench: Bench) -> None:
    _chain(bench, FollowOn.SUCCESS, schedule=Once(START + _DAY))
    before = bench.job("report")
    (cause,) = bench.tick(_HOUR)
    bench.clock.advance(_MINUTE)
    bench.end(cause)
    (run,) = _runs(bench)
    assert (run.trigger, run.source, run.slot_at, run.attempt) == (Trigger.CHAIN, Source.MANUAL, None, 1)
    assert (run.caused_by, run.started_at, run.late_ms) == (cause.id, START + _HOUR + _MINUTE, 0)
    bench.end(run, Outcome.FAILURE)
    after = bench.job("report")
    assert (after.next_run_at, after.errors, after.last_completed_at) == (START + _DAY, 0, None)
    assert (after.status, after.hints) == (before.status, before.hints)
    (own,) = [run for run in bench.tick(_DAY) if run.job_id == "report"]
    assert (own.trigger, own.slot_at) == (Trigger.SCHEDULE, START + _DAY)


def test_manual_answer_and_chain_runs_trigger_next_jobs_and_tests_do_not(bench: Bench) -> None:
    _chain(bench)
    bench.scheduler.add_job("first", Manual(), job_id="first", followers=[Follower(job_id="backup")])
    bench.scheduler.runs.request_test("backup", bench.job("backup").spec)
    (tried,) = bench.tick()
    bench.end(tried)
    assert _runs(bench) == []
    bench.scheduler.trigger("backup")
    (run,) = bench.tick()
    bench.end(run, question="Which?")
    bench.end(_runs(bench)[-1])
    (question,) = bench.scheduler.questions.list()
    bench.scheduler.questions.answer(question.id, "this one")
    (answered,) = bench.tick()
    bench.end(answered)
    bench.end(_runs(bench)[-1])
    bench.scheduler.trigger("first")
    (first,) = bench.tick()
    bench.end(first)
    chained = _runs(bench, "backup")[-1]
    bench.end(chained)
    bench.end(_runs(bench)[-1])
    assert [run.caused_by for run in _runs(bench)] == [run.id, answered.id, chained.id]


def test_only_the_last_attempt_of_a_slot_is_its_end(bench: Bench) -> None:
    policy = Policy(retry=Retry(attempts=2, delay_ms=_SECOND), backoff=Backoff.none())
    _chain(bench, FollowOn.FAILURE, backup=policy)
    (run,) = bench.tick(_HOUR)
    for _ in range(2):
        bench.end(run, Outcome.FAILURE)
        assert _runs(bench) == []
        (run,) = bench.tick(_SECOND)
    bench.end(run, Outcome.FAILURE)
    assert [found.caused_by for found in _runs(bench)] == [run.id]
    assert run.attempt == 3


def test_an_attempt_whose_retry_is_dropped_counts_as_the_last(bench: Bench) -> None:
    policy = Policy(retry=Retry(attempts=1, delay_ms=_SECOND), caps=Caps(runs_per_day=1))
    _chain(bench, FollowOn.FAILURE, backup=policy)
    (run,) = bench.tick(_HOUR)
    bench.end(run, Outcome.FAILURE)
    assert _runs(bench) == []
    bench.tick(_SECOND)
    assert [found.reason for found in _runs(bench, "backup")] == [None, SkipReason.CAP]
    assert [found.caused_by for found in _runs(bench)] == [run.id]


def test_a_retry_that_was_missed_leaves_the_attempt_before_as_the_last(bench: Bench) -> None:
    policy = Policy(retry=Retry(attempts=1, delay_ms=_MINUTE), catch_up=CatchUp.SKIP)
    _chain(bench, FollowOn.FAILURE, backup=policy)
    (run,) = bench.tick(_HOUR)
    bench.end(run, Outcome.FAILURE)
    bench.clock.advance(_HOUR)
    bench.crash()
    bench.tick()
    assert [found.outcome for found in _runs(bench, "backup")] == [Outcome.FAILURE, Outcome.MISSED]
    assert [found.caused_by for found in _runs(bench)] == [run.id]


def test_a_job_removed_while_it_runs_still_triggers_its_next_jobs(bench: Bench) -> None:
    _chain(bench)
    (run,) = bench.tick(_HOUR)
    bench.scheduler.remove_job("backup")
    bench.end(run)
    assert [found.caused_by for found in _runs(bench)] == [run.id]


# --- Exactly once, whatever happens ------------------------------------------------------------------


def test_an_end_and_its_chain_runs_are_written_together(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    _chain(bench)
    (run,) = bench.tick(_HOUR)
    lease = bench.scheduler._store.lease
    renew = lease.renew

    def fail(*_: object, **__: object) -> None:
        raise StoreUnavailableError("the disk is full")

    monkeypatch.setattr(lease, "renew", fail)
    with pytest.raises(StoreUnavailableError):
        bench.end(run)
    assert bench.recorded(run.id).outcome is Outcome.RUNNING
    assert bench.scheduler.runs.waiting_in_chains() == []
    monkeypatch.setattr(lease, "renew", renew)
    bench.tick()
    assert [found.caused_by for found in _runs(bench)] == [run.id]


def test_a_crash_between_the_end_and_the_claim_loses_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    _chain(bench)
    (run,) = bench.tick(_HOUR)
    engine = bench.scheduler.engine.get_engine()
    monkeypatch.setattr(engine, "_claim", lambda *_: [])
    bench.end(run)
    assert _runs(bench) == []
    # However long it takes: nobody asked for it by hand, so it is never too late.
    bench.clock.advance(30 * _MINUTE)
    bench.crash()
    bench.tick()
    (found,) = _runs(bench)
    assert (found.caused_by, found.late_ms, found.outcome) == (run.id, 30 * _MINUTE, Outcome.RUNNING)


def test_a_crash_between_the_claim_and_the_start_doubles_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    _chain(bench)
    (run,) = bench.tick(_HOUR)

    def die(*_: object) -> bool:
        raise StaleEngineError("killed")

    monkeypatch.setattr(bench.scheduler.engine.get_engine(), "_try_to_start", die)
    with pytest.raises(StaleEngineError):
        bench.end(run)
    bench.crash()
    bench.tick(_SECOND)
    bench.tick(_SECOND)
    assert [(found.caused_by, found.outcome) for found in _runs(bench)] == [(run.id, Outcome.INTERRUPTED)]


def test_an_unseen_end_triggers_next_jobs(bench: Bench) -> None:
    _chain(bench, FollowOn.FAILURE)
    (run,) = bench.tick(_HOUR)
    bench.crash()
    bench.tick(_MINUTE)
    assert bench.recorded(run.id).outcome is Outcome.INTERRUPTED
    assert [found.caused_by for found in _runs(bench)] == [run.id]


def test_a_run_triggers_each_next_job_once_even_if_repeated(bench: Bench) -> None:
    _chain(bench)
    cause = _cause(bench)
    (run,) = _runs(bench)
    again = Request(kind=RequestKind.CHAIN, job_id="report", run_id="again", at=START, payload=cause.id)
    requests = bench.scheduler._store.requests
    requests.append_chain_runs([again])
    assert requests.queued(START) == []
    other = replace(again, payload="another run")
    requests.append_chain_runs([other, replace(other, run_id="once more")])
    assert [request.run_id for request in requests.queued(START)] == ["again"]
    assert _runs(bench) == [run]


def test_an_adopted_run_triggers_next_jobs_when_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", "/bin/sh")
    action = shell("touch begun; while [ ! -e go ]; do sleep 0.02; done; echo done", directory=str(tmp_path))
    first = Scheduler.open(tmp_path / "halo.db")
    second_id = first.add_job("second", Manual(), shell("true", directory=str(tmp_path)))
    first_id = first.add_job("first", Manual(), action, followers=[Follower(job_id=second_id)])
    run_id = first.trigger(first_id)
    first.tick()
    until((tmp_path / "begun").exists)
    first.engine.get_engine().leave_runs()
    first._store.close()
    second = Scheduler.open(tmp_path / "halo.db")
    second._store.database.rows("UPDATE scheduler_engine SET expires_at = 0")
    second.tick()
    (tmp_path / "go").touch()

    def has_followed() -> bool:
        second.tick()
        runs = second.get_run_log(second_id)
        return bool(runs) and runs[0].outcome is not Outcome.RUNNING

    until(has_followed)
    (run,) = second.get_run_log(second_id)
    assert (run.outcome, run.error, run.caused_by) == (Outcome.SUCCESS, "", run_id)
    second.close()


# --- Its turn ----------------------------------------------------------------------------------------


def test_due_jobs_and_chain_runs_start_oldest_first(narrow: Bench) -> None:
    for name, anchor in (("earlier", -30 * _MINUTE), ("later", -10 * _MINUTE)):
        narrow.scheduler.add_job(name, Every("1h"), job_id=name, anchor_at=START + anchor)
    _chain(narrow)
    narrow.scheduler.trigger("backup")
    (cause,) = narrow.tick()
    # At half past the one job is due, then the run ends, then the other job is due; there was no place so far.
    narrow.clock.advance(40 * _MINUTE)
    narrow.scheduler.add_job("long", Manual(), job_id="long")
    narrow.scheduler.trigger("long")
    narrow.end(cause)
    (long,) = narrow.open_runs
    narrow.tick(15 * _MINUTE)
    order = []
    for _ in range(3):
        narrow.finish(next(run for run in narrow.started if run.id == long))
        (long,) = narrow.open_runs
        order.append(narrow.recorded(long).job_id)
    assert order == ["earlier", "report", "later"]


def test_a_next_job_that_is_running_runs_again_afterwards(bench: Bench) -> None:
    _chain(bench)
    causes = [_cause(bench) for _ in range(3)]
    assert _reasons(bench) == 2 * ["its previous run to end"]
    for number in (1, 2, 3):
        assert len(_runs(bench)) == number
        bench.end(_runs(bench)[-1])
    assert [run.caused_by for run in _runs(bench)] == [cause.id for cause in causes]
    assert bench.scheduler.runs.waiting_in_chains() == []


def test_the_reason_a_chain_run_waits_is_published_once(bench: Bench) -> None:
    _chain(bench, group="quiet")
    bench.scheduler.settings.change(quiet_times=(_ALL_DAY,))
    bench.scheduler.trigger("backup")
    (run,) = bench.tick()
    told: list[Change] = []
    bench.scheduler.subscribe(told.append)
    bench.end(run)
    assert set(told) == {
        Change(ChangeKind.JOB, job_id="report"),
        Change(ChangeKind.RUN_FINISHED, job_id="backup", run_id=run.id),
    }
    told.clear()
    bench.tick(_MINUTE)
    assert told == []


def test_a_chain_run_waits_for_the_limit_of_its_group(bench: Bench) -> None:
    bench.scheduler.set_group_limit("disk", 1)
    _chain(bench, group="disk")
    bench.scheduler.add_job("other", Manual(), job_id="other", group="disk")
    bench.scheduler.trigger("other")
    (other,) = bench.tick()
    _cause(bench)
    assert (_runs(bench), _reasons(bench)) == ([], ["limit of disk reached (1 of 1: other)"])
    bench.end(other)
    assert len(_runs(bench)) == 1


def test_a_slot_and_a_chain_run_of_a_job_do_not_run_at_once(bench: Bench) -> None:
    _chain(bench, schedule=Every("1h"))
    for run in bench.tick(_HOUR):
        bench.finish(run)
    slot, chained = _runs(bench)
    assert (slot.trigger, slot.outcome) == (Trigger.SCHEDULE, Outcome.SUCCESS)
    assert (chained.trigger, chained.outcome) == (Trigger.CHAIN, Outcome.RUNNING)


def test_a_slot_that_falls_due_while_a_chain_run_lasts_stays_due(bench: Bench) -> None:
    _chain(bench, schedule=Every("1h"))
    _cause(bench)
    (chained,) = _runs(bench)
    bench.tick(_HOUR)
    assert bench.job("report").next_run_at == START + _HOUR
    bench.end(chained)
    assert _runs(bench)[-1].slot_at == START + _HOUR


def test_a_chain_run_waits_for_the_end_of_quiet_hours_or_is_skipped(bench: Bench) -> None:
    bench.scheduler.settings.change(
        quiet_times=(QuietTime(group="quiet", start="00:00", end="01:00", timezone="UTC"),)
    )
    skips = Policy(in_quiet_time=InQuietTime.SKIP)
    bench.scheduler.add_job("gone", Manual(), job_id="gone", group="quiet", policy=skips)
    bench.scheduler.add_job("waits", Manual(), job_id="waits", group="quiet")
    followers = [Follower(job_id=name) for name in ("gone", "waits")]
    bench.scheduler.add_job("backup", Manual(), job_id="backup", followers=followers)
    cause = _cause(bench)
    (gone,) = _runs(bench, "gone")
    assert (gone.outcome, gone.reason, gone.trigger) == (
        Outcome.SKIPPED,
        SkipReason.QUIET_TIME,
        Trigger.CHAIN,
    )
    assert (gone.caused_by, gone.started_at) == (cause.id, None)
    assert [reason.startswith("quiet until") for reason in _reasons(bench)] == [True]
    assert bench.scheduler.engine.get_engine().delay_ms() == _MINUTE
    bench.tick(59 * _MINUTE + 55 * _SECOND)
    assert bench.scheduler.engine.get_engine().delay_ms() == 5 * _SECOND
    bench.tick(5 * _SECOND)
    assert len(_runs(bench, "waits")) == 1


def test_a_chain_run_waits_for_its_conditions_until_its_deadline(bench: Bench) -> None:
    policy = Policy(conditions=(_DISK,), condition_deadline="10m")
    _chain(bench, report=policy)
    first = _cause(bench)
    assert (_runs(bench), _reasons(bench)) == ([], ["/mnt/backup to exist"])
    assert bench.surroundings.watched == {_DISK}
    bench.tick(5 * _MINUTE)
    second = _cause(bench)
    bench.tick(5 * _MINUTE - 1)
    assert bench.scheduler.engine.get_engine().delay_ms() == 1
    bench.tick(1)
    (given_up,) = _runs(bench)
    assert (given_up.caused_by, given_up.reason) == (first.id, SkipReason.CONDITION)
    assert given_up.error == "it waited 10 minutes for /mnt/backup to exist: it is not so"
    bench.surroundings.truths[_DISK] = True
    bench.tick(_MINUTE)
    assert [(run.caused_by, run.outcome) for run in _runs(bench)][1:] == [(second.id, Outcome.RUNNING)]
    assert bench.surroundings.watched == frozenset()


def test_a_chain_run_at_the_limit_does_not_report_a_first_probe(narrow: Bench) -> None:
    _chain(narrow, report=Policy(conditions=(_DISK,)))
    narrow.scheduler.trigger("backup")
    (cause,) = narrow.tick()
    narrow.scheduler.trigger(narrow.scheduler.add_job("long", Manual()))
    narrow.surroundings.truths[_DISK] = None
    narrow.end(cause)
    assert _reasons(narrow) == ["limit reached"]
    assert narrow.surroundings.watched == {_DISK}
    narrow.surroundings.truths[_DISK] = False
    narrow.tick(_SECOND)
    assert _reasons(narrow) == ["/mnt/backup to exist"]


def test_a_deadline_of_a_chain_run_survives_a_restart_and_a_lack_of_places(narrow: Bench) -> None:
    _chain(narrow, report=Policy(conditions=(_DISK,), condition_deadline="10m"))
    _cause(narrow)
    narrow.clock.advance(5 * _MINUTE)
    narrow.crash()
    narrow.scheduler.add_job("long", After("1h"))
    narrow.tick()
    narrow.tick(5 * _MINUTE)
    (given_up,) = _runs(narrow)
    assert given_up.reason is SkipReason.CONDITION


def test_an_open_question_and_a_daily_limit_skip_a_chain_run_with_the_reason(bench: Bench) -> None:
    _chain(bench, report=Policy(caps=Caps(runs_per_day=1)), schedule=Once(START + _DAY))
    _cause(bench)
    bench.end(_runs(bench)[-1], question="Which?")
    _cause(bench)
    (question,) = bench.scheduler.questions.list()
    bench.scheduler.questions.dismiss(question.id)
    _cause(bench)
    asked, capped = _runs(bench)[1:]
    assert (asked.reason, asked.error) == (SkipReason.NEEDS_INPUT, "it waits for your answer to: Which?")
    assert capped.reason is SkipReason.CAP
    assert capped.error.endswith("; it may run again after midnight")
    assert bench.job("report").next_run_at == START + _DAY


def test_output_that_waits_for_secrets_delays_the_chain(bench: Bench) -> None:
    _chain(bench)
    bench.scheduler.trigger("backup")
    (run,) = bench.tick()
    bench.open_runs.pop(run.id)
    engine = bench.scheduler.engine.get_engine()
    engine.handle.end(Ended(run_id=run.id, outcome=Outcome.SUCCESS, needs_secrets=frozenset({"TOKEN"})))
    bench.tick()
    assert (_runs(bench), _reasons(bench)) == ([], ["the output of backup"])
    late = Late(output=Output.of(b"done\n", 5))
    engine._post_run.deferred_outputs.arrived[run.id] = run, late
    bench.tick(_SECOND)
    assert [found.caused_by for found in _runs(bench)] == [run.id]
    assert bench.scheduler.get_output(run.id) == b"done\n"


def test_an_edited_next_job_runs_with_its_new_definition(narrow: Bench) -> None:
    _chain(narrow)
    narrow.scheduler.add_job("long", Manual(), job_id="long")
    narrow.scheduler.trigger("backup")
    (cause,) = narrow.tick()
    narrow.scheduler.trigger("long")
    narrow.end(cause)
    narrow.scheduler.update_job("report", name="renamed", policy=Policy(time_limit="1m"))
    (long,) = narrow.open_runs
    narrow.finish(narrow.recorded(long))
    narrow.tick(_MINUTE)
    (run,) = _runs(narrow)
    assert run.outcome is Outcome.TIMEOUT


# --- Chains that break -------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["paused", "disabled"])
def test_a_next_job_that_does_not_run_is_recorded_on_both_runs(bench: Bench, state: str) -> None:
    _chain(bench, schedule=Every("1h"))
    if state == "paused":
        bench.scheduler.pause_job("report")
    else:
        bench.scheduler.update_job("report", enabled=False)
    told: list[Change] = []
    bench.scheduler.subscribe(told.append)
    cause = _cause(bench)
    (run,) = _runs(bench)
    assert (run.outcome, run.reason, run.trigger) == (Outcome.SKIPPED, SkipReason(state), Trigger.CHAIN)
    assert run.error == f"it was triggered by backup, but it was {state} at that time"
    assert (run.caused_by, run.started_at) == (cause.id, None)
    assert bench.recorded(cause.id).note == f"report was not triggered, because it was {state}"
    assert Change(ChangeKind.RUN_FINISHED, job_id="report", run_id=run.id) in told
    (event,) = _events(bench)
    assert event.detail == {"follower": "report", "name": "report", "reason": state, "run_id": cause.id}
    assert bench.job("report").last_run_at is None
    bench.scheduler.resume_job("report")
    bench.tick()
    assert _runs(bench) == [run]


def test_a_passed_once_is_disabled_and_does_not_follow(bench: Bench) -> None:
    _chain(bench, schedule=Once(START + 30 * _MINUTE))
    (run,) = bench.tick(30 * _MINUTE)
    bench.finish(run)
    _cause(bench)
    assert bench.job("report").status_reason is StatusReason.DONE
    assert _runs(bench)[-1].reason is SkipReason.DISABLED


def test_a_next_job_paused_before_its_turn_is_skipped(bench: Bench) -> None:
    _chain(bench)
    first = _cause(bench)
    second = _cause(bench)
    bench.scheduler.pause_job("report")
    bench.end(_runs(bench)[0])
    assert [(run.caused_by, run.reason) for run in _runs(bench)] == [
        (first.id, None),
        (second.id, SkipReason.PAUSED),
    ]


@pytest.mark.parametrize("is_purged", [False, True])
def test_a_removed_next_job_is_named_on_the_causing_run(bench: Bench, is_purged: bool) -> None:
    _chain(bench)
    bench.scheduler.remove_job("report")
    if is_purged:
        bench.scheduler._store.jobs.purge(START + 1)
    cause = _cause(bench)
    name = "a deleted job" if is_purged else "report"
    assert bench.recorded(cause.id).note == f"{name} was not triggered, because it was removed"
    (event,) = _events(bench)
    assert event.detail == {"follower": "report", "name": name, "reason": "removed", "run_id": cause.id}
    assert bench.scheduler.runs.waiting_in_chains() == []
    assert _runs(bench) == []


def test_a_next_job_removed_while_it_waits_is_reported(bench: Bench) -> None:
    _chain(bench, report=Policy(conditions=(_DISK,)))
    cause = _cause(bench)
    bench.scheduler.remove_job("report")
    bench.tick(_MINUTE)
    assert "because it was removed" in bench.recorded(cause.id).note
    bench.scheduler.restore_job("report")
    bench.surroundings.truths[_DISK] = True
    bench.tick(_MINUTE)
    assert _runs(bench) == []


def test_a_cause_that_is_gone_from_the_log_stops_no_chain(bench: Bench) -> None:
    _chain(bench, report=Policy(conditions=(_DISK,)))
    cause = _cause(bench)
    bench.scheduler.remove_job("backup")
    bench.scheduler._store.jobs.purge(START + 1)
    bench.scheduler.pause_job("report")
    bench.tick(_MINUTE)
    (run,) = _runs(bench)
    assert run.error == "it was triggered by a deleted job, but it was paused at that time"
    assert run.caused_by == cause.id


def test_a_fault_in_deciding_about_a_chain_run_is_reported_and_does_not_affect_others(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    _chain(bench)
    other = bench.scheduler.add_job("other", Every("1h"))

    def stumble(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    bench.scheduler.trigger("backup")
    (cause,) = bench.tick()
    monkeypatch.setattr(QueuedRuns, "check", stumble)
    bench.end(cause)
    assert bench.recorded(cause.id).note == ("report was not triggered, because of an error (see the log)")
    assert bench.scheduler.runs.waiting_in_chains() == []
    assert other in {run.job_id for run in bench.tick(_HOUR)}


# --- Cancelling --------------------------------------------------------------------------------------


def test_a_waiting_chain_run_can_be_cancelled_and_triggers_nothing(bench: Bench) -> None:
    bench.scheduler.add_job("last", Manual(), job_id="last")
    _chain(bench)
    bench.scheduler.update_job(
        "report",
        policy=Policy(conditions=(_DISK,)),
        followers=[Follower(job_id="last", on=FollowOn.ALWAYS)],
    )
    cause = _cause(bench)
    (waiting,) = bench.scheduler.runs.waiting_in_chains()
    told: list[Change] = []
    bench.scheduler.subscribe(told.append)
    bench.scheduler.cancel_run(waiting.run_id)
    (run,) = _runs(bench)
    assert (run.id, run.outcome, run.trigger) == (waiting.run_id, Outcome.CANCELLED, Trigger.CHAIN)
    assert (run.caused_by, run.started_at, run.finished_at) == (cause.id, None, START)
    assert run.error == "cancelled by the user before it started"
    assert Change(ChangeKind.RUN_FINISHED, job_id="report", run_id=run.id) in told
    bench.surroundings.truths[_DISK] = True
    bench.tick(_MINUTE)
    assert _runs(bench) == [run]
    assert _runs(bench, "last") == []
    job = bench.job("report")
    assert (job.status, job.waiting_for) == (JobStatus.IDLE, None)


def test_an_active_chain_run_is_cancelled_like_any_other(bench: Bench) -> None:
    _chain(bench)
    _cause(bench)
    (run,) = _runs(bench)
    bench.scheduler.cancel_run(run.id)
    bench.tick()
    assert bench.recorded(run.id).outcome is Outcome.CANCELLED


def test_a_chain_run_that_starts_while_it_is_being_cancelled_is_cancelled(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    _chain(bench, report=Policy(conditions=(_DISK,)))
    _cause(bench)
    (waiting,) = bench.scheduler.runs.waiting_in_chains()
    with Scheduler.open(bench.path, clock=bench.clock) as window:
        transaction = window._store.transaction

        def wait_for_the_engine() -> AbstractContextManager[None]:
            bench.surroundings.truths[_DISK] = True
            bench.tick()
            return transaction()

        monkeypatch.setattr(window._store, "transaction", wait_for_the_engine)
        window.cancel_run(waiting.run_id)
    bench.tick()
    assert bench.recorded(waiting.run_id).outcome is Outcome.CANCELLED


# --- Manual runs and the limit of their group --------------------------------------------------------


def _busy_group(bench: Bench) -> Run:
    """Start the only run that a group has a place for; another job of it is `second`."""
    bench.scheduler.set_group_limit("disk", 1)
    for name in ("first", "second"):
        bench.scheduler.add_job(name, Manual(), job_id=name, group="disk")
    bench.scheduler.trigger("first")
    (run,) = bench.tick()
    return run


def test_a_manual_run_waits_for_the_limit_of_its_group_and_says_so(bench: Bench) -> None:
    first = _busy_group(bench)
    told: list[Change] = []
    bench.scheduler.trigger("second")
    bench.scheduler.subscribe(told.append)
    assert bench.tick() == []
    assert told == [Change(ChangeKind.JOB, job_id="second")]
    waiting = bench.scheduler.jobs.situation("second").waiting
    assert waiting is not None
    assert (waiting.kind, waiting.is_manual) == (WaitingFor.AT_CAPACITY, True)
    assert waiting.capacity == Capacity(1, 1, "disk", ("first",))
    why = bench.scheduler.jobs.why("second").sentences
    assert "A manual run has been waiting since" in why[0]
    assert "limit of disk reached (1 of 1: first)" in why[0]
    bench.tick(_MINUTE)
    assert told[1:] == []  # The same is told once.
    with pytest.raises(ScheduleTriggerError, match="already waiting to start") as caught:
        bench.scheduler.trigger("second")
    assert caught.value.reason is SkipReason.ALREADY_QUEUED
    assert not bench.scheduler.engine.get_engine().is_overlooking()
    bench.finish(first)
    assert [run.job_id for run in bench.started] == ["first", "second"]


def test_a_waiting_manual_run_does_not_delay_another_group(bench: Bench) -> None:
    _busy_group(bench)
    bench.scheduler.trigger("second")
    bench.scheduler.trigger(bench.scheduler.add_job("other", Manual(), job_id="other"))
    assert [run.job_id for run in bench.tick()] == ["other"]


def test_a_manual_run_may_exceed_the_limit_of_its_group_but_not_that_of_all_jobs(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "two.db", max_concurrent=2)
    bench.scheduler.settings.change(max_concurrent=2)
    _busy_group(bench)
    waiting = bench.scheduler.trigger("second")
    assert bench.tick() == []
    # Also once it waits: it is the same run.
    assert bench.scheduler.trigger("second", now=True) == waiting
    assert [run.id for run in bench.tick()] == [waiting]
    bench.scheduler.trigger(bench.scheduler.add_job("third", Manual(), group="disk"), now=True)
    assert bench.tick() == []
    (third,) = [one for one in bench.scheduler.jobs.situations().values() if one.name == "third"]
    assert third.waiting is not None
    assert third.waiting.capacity == Capacity(2, 2, None, ("first", "second"))
    with pytest.raises(ScheduleTriggerError) as caught:
        bench.scheduler.trigger("second", now=True)
    assert caught.value.reason is SkipReason.ALREADY_RUNNING
    bench.close()


def test_an_answer_that_waits_for_its_group_may_pass_the_limit_too(bench: Bench) -> None:
    _busy_group(bench)
    question = ask(bench.scheduler, "second")
    answer_id = bench.scheduler.questions.answer(question.id, "yes")
    assert bench.tick() == []
    assert bench.scheduler.trigger("second", now=True) == answer_id
    assert [run.id for run in bench.tick()] == [answer_id]


def test_an_accepted_manual_run_survives_a_restart_of_any_length(
    bench: Bench,
) -> None:
    _busy_group(bench)
    run_id = bench.scheduler.trigger("second")
    bench.tick()
    bench.clock.advance(_HOUR)
    bench.crash()
    assert bench.scheduler.jobs.situation("second").waiting is not None
    assert [run.id for run in bench.tick()] == [run_id]


def test_an_answer_waits_for_the_limit_of_its_group_and_a_test_does_not(bench: Bench) -> None:
    first = _busy_group(bench)
    record = bench.scheduler._store.jobs.require("second")
    test_id = bench.scheduler.runs.request_test("second", record.spec)
    assert [run.id for run in bench.tick()] == [test_id]
    bench.finish(bench.started[-1])
    question = ask(bench.scheduler, "second")
    answer_id = bench.scheduler.questions.answer(question.id, "yes")
    assert bench.tick() == []
    bench.finish(first)
    assert bench.started[-1].id == answer_id
