"""The situations of jobs as the engine and people leave them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from asking import ask
from chain_waits import awaited
from machine import START, Bench

from halo_scheduler import Every, Manual, OnSession, OnWebhook, Policy
from halo_scheduler.errors import JobNotFoundError
from halo_scheduler.model import (
    Capacity,
    Caps,
    Follower,
    InQuietTime,
    Network,
    Outcome,
    PathExists,
    Retry,
    Schedule,
    SessionEvent,
    Situation,
    SituationKind,
    SkipReason,
    StatusReason,
    Waiting,
    WaitingDetails,
    WaitingFor,
)
from halo_scheduler.model.settings import QuietTime
from halo_scheduler.rules.event_requests import Happening, accept
from halo_scheduler.store.connection import Database
from halo_scheduler.wording.status import next_words, status_sentence

pytestmark = pytest.mark.usefixtures("machine_in_utc")
_MINUTE = 60_000
_HOUR = 60 * _MINUTE
_DISK = PathExists(path="/mnt/disk")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "halo.db", max_concurrent=2)
    made.scheduler.settings.change(max_concurrent=2)
    yield made
    made.close()


def _of(bench: Bench, job_id: str) -> Situation:
    return bench.scheduler.jobs.situation(job_id)


def _waiting(bench: Bench, job_id: str) -> Waiting:
    found = _of(bench, job_id).waiting
    assert found is not None
    return found


def test_a_job_that_does_not_exist_has_no_situation(bench: Bench) -> None:
    gone = bench.scheduler.add_job("gone", Manual())
    bench.scheduler.remove_job(gone)
    assert bench.scheduler.jobs.situations([gone, "unknown"]) == {}
    for job_id in (gone, "unknown"):
        with pytest.raises(JobNotFoundError):
            _of(bench, job_id)


def test_a_reached_limit_names_the_active_runs(bench: Bench) -> None:
    for name in ("mirror", "sync"):
        bench.scheduler.trigger(bench.scheduler.add_job(name, Manual()))
    late = bench.scheduler.add_job("late", Every("1h"))
    bench.tick()
    bench.tick(_HOUR)
    waiting = _waiting(bench, late)
    assert (waiting.kind, waiting.since) == (WaitingFor.AT_CAPACITY, START + _HOUR)
    assert waiting.capacity == Capacity(2, 2, None, ("mirror", "sync"))


def test_the_limit_of_a_group_comes_before_that_of_all(bench: Bench) -> None:
    bench.scheduler.set_group_limit("web", 1)
    first = bench.scheduler.add_job("first", Manual(), group="web")
    second = bench.scheduler.add_job("second", Every("1h"), group="web")
    other = bench.scheduler.add_job("other", Manual())
    bench.scheduler.trigger(first)
    bench.tick()
    bench.tick(_HOUR)
    assert _waiting(bench, second).capacity == Capacity(1, 1, "web", ("first",))
    bench.scheduler.trigger(other)
    # Nobody has seen the request yet, and there is a place.
    assert (_waiting(bench, other).kind, _waiting(bench, other).capacity) == (WaitingFor.START, None)
    assert _of(bench, first).kind is SituationKind.RUNNING


def test_manual_requests_come_before_due_slots_and_those_before_chains(bench: Bench) -> None:
    policy = Policy(conditions=(_DISK,))
    report = bench.scheduler.add_job("report", Every("1h"), policy=policy)
    backup = bench.scheduler.add_job("backup", Manual(), followers=[Follower(job_id=report)])
    bench.scheduler.trigger(backup)
    bench.finish(bench.tick()[0])
    chained = _waiting(bench, report)
    assert (chained.kind, chained.cause_name, chained.since) == (WaitingFor.CONDITION, "backup", START)
    bench.tick(_HOUR)
    due = _waiting(bench, report)
    assert (due.cause_name, due.since, due.details.conditions) == ("", START + _HOUR, (_DISK,))
    bench.scheduler.trigger(report)
    assert _waiting(bench, report).kind is WaitingFor.START


def test_conditions_are_kept_as_conditions_and_their_deadline_with_them(bench: Bench) -> None:
    policy = Policy(conditions=(_DISK, Network()), condition_deadline="2h")
    job_id = bench.scheduler.add_job("copy", Every("1h"), policy=policy)
    bench.surroundings.truths[_DISK] = False
    bench.surroundings.truths[Network()] = True
    bench.tick(_HOUR)
    waiting = _waiting(bench, job_id)
    assert waiting.details == WaitingDetails(conditions=(_DISK,))
    assert waiting.deadline == START + 3 * _HOUR


def test_after_the_migration_the_next_tick_finds_the_waiting_reason(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("copy", Every("1h"), policy=Policy(conditions=(_DISK,)))
    bench.surroundings.truths[_DISK] = False
    bench.tick(_HOUR)
    bench.scheduler._store.database.rows("UPDATE scheduler_jobs SET waiting_details = ''")
    assert awaited(bench.job(job_id)) == "its conditions"
    bench.tick()
    assert awaited(bench.job(job_id)) == "/mnt/disk to exist"


@pytest.mark.parametrize("text", ["{", "[]", '{"conditions": [{"kind": "moon"}]}', '{"moon": 1}'])
def test_details_that_cannot_be_read_do_not_affect_others(bench: Bench, text: str) -> None:
    job_id = bench.scheduler.add_job("copy", Every("1h"), policy=Policy(conditions=(_DISK,)))
    bench.surroundings.truths[_DISK] = False
    bench.tick(_HOUR)
    bench.scheduler._store.database.rows("UPDATE scheduler_jobs SET waiting_details = ?", [text])
    assert _of(bench, job_id).kind is SituationKind.WAITING
    bench.tick()
    assert _waiting(bench, job_id).details == WaitingDetails(conditions=(_DISK,))


def test_a_planned_run_names_its_blocker(bench: Bench) -> None:
    scheduler = bench.scheduler
    night = QuietTime(name="Night", group="quiet", start="01:00", end="06:00", timezone="UTC")
    scheduler.settings.change(quiet_times=(night,))
    skip = Policy(in_quiet_time=InQuietTime.SKIP)
    waits = scheduler.add_job("waits", Every("2h"), group="quiet")
    skips = scheduler.add_job("skips", Every("2h"), group="quiet", policy=skip)
    loud = scheduler.add_job("loud", Every("2h"), policy=skip)
    asks = scheduler.add_job("asks", Every("2h"), group="quiet", policy=skip)
    ask(scheduler, asks)
    found = scheduler.jobs.situations()
    assert {job_id: one.blocker for job_id, one in found.items()} == {
        waits: None,
        skips: SkipReason.QUIET_TIME,
        loud: None,
        asks: SkipReason.NEEDS_INPUT,
    }
    quiet = found[waits].quiet
    assert quiet is not None
    assert (quiet.by, found[loud].quiet) == (night, None)
    assert found[asks].question == "Which branch shall I take?"


def test_a_daily_limit_blocks_only_runs_of_its_day(bench: Bench) -> None:
    capped = Policy(caps=Caps(cost_per_day=0.3))
    today = bench.scheduler.add_job("today", Every("1h"), policy=capped)
    tomorrow = bench.scheduler.add_job("tomorrow", Every("1d"), policy=capped)
    for job_id in (today, tomorrow):
        bench.scheduler.trigger(job_id)
    for run in bench.tick():
        bench.end(run, cost=0.3)
    assert _of(bench, today).kind is SituationKind.CAPPED
    assert _of(bench, tomorrow).kind is SituationKind.READY


def test_a_failed_run_is_retried_then_failing_then_disabled(bench: Bench) -> None:
    policy = Policy(retry=Retry(attempts=1), max_errors=1)
    job_id = bench.scheduler.add_job("backup", Every("1h"), policy=policy)
    bench.finish(bench.tick(_HOUR)[0], error=ValueError("no disk"))
    found = _of(bench, job_id)
    assert (found.kind, found.last_outcome) == (SituationKind.RETRYING, Outcome.FAILURE)
    bench.finish(bench.tick(_MINUTE)[0], error=ValueError("no disk"))
    found = _of(bench, job_id)
    assert (found.kind, found.reason) == (SituationKind.DISABLED, StatusReason.ERRORS)
    assert found.is_failing


@pytest.mark.parametrize("schedule", [Manual(), Every("1h")])
def test_a_failed_manual_run_shows_as_a_failure_until_one_succeeds(bench: Bench, schedule: Schedule) -> None:
    job_id = bench.scheduler.add_job("backup", schedule)
    for outcome, kind in (
        (Outcome.FAILURE, SituationKind.FAILING),
        (Outcome.TIMEOUT, SituationKind.FAILING),
        (Outcome.SUCCESS, SituationKind.READY),
    ):
        bench.scheduler.trigger(job_id)
        bench.finish(bench.tick()[0], outcome)
        found = _of(bench, job_id)
        assert (found.kind, found.is_failing, found.errors) == (kind, kind is SituationKind.FAILING, 0)


def test_a_resumed_job_is_not_failing_until_it_fails_again(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("backup", Every("1h"), policy=Policy(max_errors=1))
    for _ in range(2):
        bench.finish(bench.tick(_HOUR)[0], Outcome.FAILURE)
        assert (_of(bench, job_id).kind, _of(bench, job_id).is_failing) == (SituationKind.DISABLED, True)
        bench.scheduler.resume_job(job_id)
        resumed = _of(bench, job_id)
        assert (resumed.kind, resumed.is_failing) == (SituationKind.READY, False)
        assert resumed.last_outcome is Outcome.FAILURE, "the history keeps it"


@pytest.mark.parametrize("disables", [False, True])
def test_a_job_that_is_enabled_again_is_not_failing(bench: Bench, *, disables: bool) -> None:
    job_id = bench.scheduler.add_job("backup", Every("1h"), policy=Policy(max_errors=1))
    bench.finish(bench.tick(_HOUR)[0], Outcome.FAILURE)
    if disables:
        bench.scheduler.update_job(job_id, enabled=False)
    bench.scheduler.update_job(job_id, enabled=True)
    assert (_of(bench, job_id).kind, _of(bench, job_id).is_failing) == (SituationKind.READY, False)


def test_a_run_that_fails_after_the_job_was_resumed_during_it_counts(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("backup", Every("1h"))
    run = bench.tick(_HOUR)[0]
    bench.scheduler.pause_job(job_id)
    bench.scheduler.resume_job(job_id)
    bench.finish(run, Outcome.FAILURE)
    assert _of(bench, job_id).is_failing


def test_all_situations_are_of_one_moment(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    job_id = bench.scheduler.add_job("asks", Every("1h"))
    other = Database.open(bench.path)
    real = Database.rows
    writes = ["DELETE FROM scheduler_questions"]

    def rows(database: Database, sql: str, values: tuple[object, ...] = ()) -> object:
        if database is not other and "scheduler_jobs" in sql and writes:
            found = real(database, sql, values)  # type: ignore[arg-type]
            real(other, writes.pop())
            return found
        return real(database, sql, values)  # type: ignore[arg-type]

    ask(bench.scheduler, job_id)
    monkeypatch.setattr(Database, "rows", rows)
    assert _of(bench, job_id).question is not None
    assert _of(bench, job_id).question is None
    other.close()


# --- Events --------------------------------------------------------------------------------------------


def _happen(bench: Bench, job_id: str) -> None:
    store = bench.scheduler._store
    happening = Happening(job_id=job_id, key="", event_id="1", at=bench.clock.now_ms())
    with store.transaction():
        accept(store, happening)


@pytest.mark.usefixtures("stand_in_watchers")
def test_a_job_that_only_events_start_names_them(bench: Bench) -> None:
    login = bench.scheduler.add_job("job", OnSession(SessionEvent.LOGIN))
    assert status_sentence(_of(bench, login), START) == "ready, on login"
    backup = bench.scheduler.add_job("backup", Manual(), followers=[Follower(job_id=login)])
    assert backup
    assert next_words(_of(bench, login), START) == "after backup, on login"
    several = [OnSession(event) for event in SessionEvent]
    bench.scheduler.update_job(backup, schedule=several)
    assert next_words(_of(bench, backup), START) == "on 6 events"


@pytest.mark.usefixtures("stand_in_watchers")
def test_an_event_that_happened_waits_for_its_start(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", OnWebhook())
    _happen(bench, job_id)
    waiting = _waiting(bench, job_id)
    assert (waiting.kind, waiting.cause_name, waiting.is_manual) == (WaitingFor.START, "an event", False)


@pytest.mark.usefixtures("stand_in_watchers")
def test_a_delayed_event_is_the_next_run(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", OnSession(SessionEvent.BOOT, "5m"))
    _happen(bench, job_id)
    situation = _of(bench, job_id)
    assert (situation.kind, situation.next_run_at) == (SituationKind.READY, START + 300_000)


@pytest.mark.usefixtures("stand_in_watchers")
def test_the_retry_of_an_event_is_the_next_run(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", OnWebhook(), policy=Policy(retry=Retry(attempts=1)))
    _happen(bench, job_id)
    (run,) = bench.tick()
    bench.end(run, Outcome.FAILURE)
    situation = _of(bench, job_id)
    assert (situation.kind, situation.next_run_at) == (SituationKind.RETRYING, START + 60_000)
