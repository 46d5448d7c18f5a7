"""What a window shows beside jobs and runs: trends, days, gaps, next runs, what was printed."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from asking import ask
from cases import utc_ms
from machine import START, Bench

from halo_scheduler import (
    After,
    Cron,
    Every,
    JobNotFoundError,
    Manual,
    Once,
    Outcome,
    Policy,
    Retry,
    Run,
    Source,
    Trigger,
)
from halo_scheduler.model import Caps, Follower, Limits, SkipReason
from halo_scheduler.rules.statistics import DayCount, GapKind
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.store.runs import Spent

_MINUTE, _HOUR, _DAY = 60_000, 3_600_000, 86_400_000
_OK, _BAD = Outcome.SUCCESS, Outcome.FAILURE


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    found = Bench(tmp_path / "halo.db")
    yield found
    found.close()


@pytest.fixture
def scheduler(bench: Bench) -> Scheduler:
    return bench.scheduler


def _log(scheduler: Scheduler, *runs: Run) -> None:
    scheduler._store.runs.insert(runs, 1)


def _run(
    run_id: str,
    job_id: str,
    at: int,
    outcome: Outcome = _OK,
    *,
    trigger: Trigger = Trigger.SCHEDULE,
    took_ms: int = 1_000,
) -> Run:
    is_started = outcome not in (Outcome.MISSED, Outcome.SKIPPED)
    return Run(
        id=run_id,
        job_id=job_id,
        trigger=trigger,
        source=Source.EVERY,
        outcome=outcome,
        started_at=at if is_started else None,
        finished_at=None if outcome is Outcome.RUNNING else at + took_ms if is_started else at,
    )


# --- Trends and last runs ---------------------------------------------------------------------------


def test_a_trend_has_the_last_ended_runs_oldest_first(scheduler: Scheduler) -> None:
    busy, quiet = (scheduler.add_job(name, Manual()) for name in ("busy", "quiet"))
    _log(scheduler, *(_run(f"a{index}", busy, START + index, took_ms=index) for index in range(25)))
    _log(scheduler, _run("m", busy, START + 30, Outcome.MISSED))
    _log(scheduler, _run("test", busy, START + 40, _BAD, trigger=Trigger.TEST))
    _log(scheduler, _run("now", busy, START + 50, Outcome.RUNNING))
    found = scheduler.runs.trends([busy, quiet, "unknown", busy], limit=3)
    assert set(found) == {busy}
    points = [(point.run_id, point.outcome, point.duration_ms, point.at) for point in found[busy]]
    assert points == [
        ("a23", _OK, 23, START + 23),
        ("a24", _OK, 24, START + 24),
        ("m", Outcome.MISSED, None, START + 30),
    ]
    assert len(scheduler.runs.trends([busy])[busy]) == 20


def test_the_last_run_is_the_newest_ended_one(scheduler: Scheduler) -> None:
    one, two, none = (scheduler.add_job(name, Manual()) for name in "abc")
    _log(scheduler, _run("1", one, START), _run("2", one, START + 5, _BAD), _run("3", two, START))
    _log(scheduler, _run("4", one, START + 6, Outcome.RUNNING), _run("5", two, START, trigger=Trigger.TEST))
    assert {job_id: run.id for job_id, run in scheduler.runs.last([one, two, none]).items()} == {
        one: "2",
        two: "3",
    }
    assert [run.id for run in scheduler.runs.running()] == ["4"]
    assert set(scheduler.runs.get_many(["1", "4", "nothing"])) == {"1", "4"}


# --- The log ----------------------------------------------------------------------------------------


@pytest.fixture
def full(scheduler: Scheduler) -> tuple[Scheduler, str, str]:
    """A log of two jobs, sixty runs each, of all kinds, several at one instant."""
    one, two = (scheduler.add_job(name, Manual()) for name in "ab")
    outcomes = [_OK, _BAD, Outcome.TIMEOUT, Outcome.MISSED, Outcome.SKIPPED]
    triggers = [
        Trigger.SCHEDULE,
        Trigger.SCHEDULE,
        Trigger.SCHEDULE,
        Trigger.MANUAL,
        Trigger.TEST,
        Trigger.SCHEDULE,
    ]
    _log(
        scheduler,
        *(
            _run(
                f"{index:03}",
                one if index % 2 else two,
                START + index // 7 * _HOUR,
                outcomes[index % 5],
                trigger=triggers[index % 6],
            )
            for index in range(120)
        ),
        _run("running", one, START + 100 * _HOUR, Outcome.RUNNING),
    )
    return scheduler, one, two


def _expected(
    runs: list[Run],
    *,
    job_id: str | None = None,
    outcomes: set[Outcome] | None = None,
    trigger: Trigger | None = None,
    since: int | None = None,
    until: int | None = None,
) -> list[str]:
    def at(run: Run) -> int:
        return run.started_at or run.finished_at or 0

    return [
        run.id
        for run in runs
        if (job_id is None or run.job_id == job_id)
        and (outcomes is None or run.outcome in outcomes)
        and (trigger is None or run.trigger is trigger)
        and (since is None or at(run) >= since)
        and (until is None or at(run) < until)
    ]


@pytest.mark.parametrize("with_job", [False, True])
def test_every_filter_pages_through_its_runs(full: tuple[Scheduler, str, str], with_job: bool) -> None:
    scheduler, one, _ = full
    everything = scheduler.get_run_log(limit=1_000)
    assert [run.id for run in everything] == ["running", *(f"{index:03}" for index in reversed(range(120)))]
    outcomes = [None, {_OK}, {_BAD, Outcome.TIMEOUT}, {Outcome.RUNNING}, set(Outcome), set()]
    triggers = [None, Trigger.SCHEDULE, Trigger.MANUAL, Trigger.CHAIN]
    spans = [(None, None), (4, None), (None, 9), (3, 12)]
    for chosen_outcomes, trigger, (since, until) in itertools.product(outcomes, triggers, spans):
        chosen: dict[str, Any] = {
            "job_id": one if with_job else None,
            "outcomes": chosen_outcomes,
            "trigger": trigger,
            "since": since and START + since * _HOUR,
            "until": until and START + until * _HOUR,
        }
        found: list[str] = []
        while page := scheduler.get_run_log(limit=7, before=found[-1] if found else None, **chosen):
            found += [run.id for run in page]
        assert found == _expected(everything, **chosen), chosen


def test_one_outcome_can_be_given_alone(full: tuple[Scheduler, str, str]) -> None:
    scheduler, _, _ = full
    assert scheduler.get_run_log(outcome=_BAD) == scheduler.get_run_log(outcomes=[_BAD])


def test_a_page_after_a_run_that_is_gone_is_empty(full: tuple[Scheduler, str, str]) -> None:
    assert full[0].get_run_log(before="gone") == []


def test_runs_of_all_jobs_are_sorted_by_their_time_and_those_of_one_as_recorded(scheduler: Scheduler) -> None:
    job_id = scheduler.add_job("job", Manual())
    # The clock went back between the two.
    _log(scheduler, _run("first", job_id, START + _HOUR), _run("second", job_id, START))
    assert [run.id for run in scheduler.get_run_log()] == ["first", "second"]
    assert [run.id for run in scheduler.get_run_log(job_id)] == ["second", "first"]


# --- Days -------------------------------------------------------------------------------------------


def _days(found: list[DayCount]) -> dict[str, dict[str, int]]:
    return {
        count.day: {str(outcome): number for outcome, number in count.by_outcome.items()} for count in found
    }


@pytest.mark.usefixtures("machine_in_berlin")
def test_days_are_those_of_the_machine_also_when_the_clocks_change(scheduler: Scheduler) -> None:
    job_id = scheduler.add_job("job", Manual())
    instants = {
        "a": "2026-10-24T21:59Z",  # 23:59 on the day before the clocks go back
        "b": "2026-10-24T22:00Z",  # midnight, summer time
        "c": "2026-10-25T22:59Z",  # 23:59, winter time: a day of 25 hours
        "d": "2026-10-25T23:00Z",  # midnight again
    }
    for run_id, instant in instants.items():
        _log(scheduler, _run(run_id, job_id, utc_ms(instant), _BAD if run_id == "c" else _OK))
    expected = {
        "2026-10-24": {"success": 1},
        "2026-10-25": {"success": 1, "failure": 1},
        "2026-10-26": {"success": 1},
    }
    since, until = utc_ms("2026-10-01T00:00Z"), utc_ms("2026-11-01T00:00Z")
    assert _days(scheduler.runs.count_by_day(since, until)) == expected
    assert _days(scheduler.runs.count_by_day(since, until, job_id=job_id)) == expected
    # The first and the last day may be cut.
    narrow = scheduler.runs.count_by_day(utc_ms("2026-10-24T22:00Z"), utc_ms("2026-10-25T22:59Z"))
    assert _days(narrow) == {"2026-10-25": {"success": 1}}


@pytest.mark.parametrize("with_job", [False, True])
def test_days_count_the_filtered_runs(full: tuple[Scheduler, str, str], with_job: bool) -> None:
    scheduler, one, _ = full
    job_id = one if with_job else None
    since, until = START + 2 * _HOUR, START + 14 * _HOUR
    outcomes = [None, _OK, Outcome.MISSED, Outcome.RUNNING]
    triggers = [None, Trigger.SCHEDULE, Trigger.MANUAL, Trigger.CHAIN]
    for outcome, trigger in itertools.product(outcomes, triggers):
        found = scheduler.runs.count_by_day(since, until, job_id=job_id, outcome=outcome, trigger=trigger)
        chosen = scheduler.get_run_log(
            job_id, limit=1_000, outcome=outcome, trigger=trigger, since=since, until=until
        )
        counts: Counter[Outcome] = Counter()
        for day in found:
            counts.update(day.by_outcome)
        assert counts == Counter(run.outcome for run in chosen if run.outcome is not Outcome.RUNNING)
        assert all(day.by_outcome for day in found)


def test_without_runs_no_days_are_listed(scheduler: Scheduler) -> None:
    assert scheduler.runs.count_by_day(0, START) == []
    job_id = scheduler.add_job("job", Manual())
    _log(scheduler, _run("a", job_id, START))
    assert scheduler.runs.count_by_day(0, START) == []
    assert len(scheduler.runs.count_by_day(0, START + 1)) == 1


# --- Gaps -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["off", "crash", "asleep"])
def test_a_downtime_lists_caught_up_and_missed_runs(bench: Bench, how: str) -> None:
    scheduler = bench.scheduler
    scheduler.add_job("caught", Every("1h"))
    scheduler.add_job("missed", Every("1h"), policy=Policy(catch_up="skip"))  # type: ignore[arg-type]  # its word
    scheduler.add_job("later", Every("30d"))
    bench.tick()
    began_at = bench.clock.now_ms()
    if how == "off":
        scheduler.stop()
    bench.clock.advance(5 * _HOUR)
    if how != "asleep":
        bench.crash()
    (run,) = bench.tick()
    (gap,) = bench.scheduler.runs.gaps(0)
    assert (gap.began_at, gap.ended_at) == (began_at, bench.clock.now_ms())
    assert gap.kind is (GapKind.ASLEEP if how == "asleep" else GapKind.OFF)
    assert (gap.caught_up, gap.missed) == (1, 1)
    assert gap.run_ids[0] == run.id
    missed = bench.scheduler.get_run(gap.run_ids[1])
    assert missed is not None
    assert missed.outcome is Outcome.MISSED
    assert bench.scheduler.runs.gaps(bench.clock.now_ms() + 1) == []


def test_pending_catch_up_runs_count_too(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "few.db", max_concurrent=1)
    for name in "abc":
        bench.scheduler.add_job(name, Every("1h"))
    bench.tick()
    bench.clock.advance(5 * _HOUR)
    bench.crash()
    assert len(bench.tick()) == 1
    (gap,) = bench.scheduler.runs.gaps(0)
    assert (gap.caught_up, gap.missed, len(gap.run_ids)) == (3, 0, 1)
    bench.close()


def test_a_downtime_without_due_runs_is_not_listed(bench: Bench) -> None:
    bench.scheduler.add_job("later", Every("30d"))
    bench.tick()
    bench.clock.advance(5 * _HOUR)
    bench.crash()
    bench.tick()
    bench.tick(5 * _HOUR)
    assert bench.scheduler.runs.gaps(0) == []


# --- Next runs and why ------------------------------------------------------------------------------


def test_the_next_runs_are_the_plan_and_then_the_schedule(bench: Bench) -> None:
    scheduler = bench.scheduler
    every = scheduler.add_job("every", Every("1h"))
    assert scheduler.jobs.next_runs(every) == [START + hours * _HOUR for hours in range(1, 6)]
    scheduler.propose_next_run(every, START + 5 * _MINUTE)
    assert scheduler.jobs.next_runs(every, 2) == [START + 5 * _MINUTE, START + _HOUR]
    cron = scheduler.add_job("cron", Cron("0 9 * * *", timezone="UTC"))
    assert scheduler.jobs.next_runs(cron, 2) == [START + 9 * _HOUR, START + 33 * _HOUR]
    once = scheduler.add_job("once", Once(START + _HOUR))
    assert scheduler.jobs.next_runs(once) == [START + _HOUR]
    after = scheduler.add_job("after", After("5m"))
    assert scheduler.jobs.next_runs(after, 3) == [START]


def test_a_job_that_is_not_due_by_itself_has_no_next_runs(bench: Bench) -> None:
    scheduler = bench.scheduler
    assert scheduler.jobs.next_runs(scheduler.add_job("manual", Manual())) == []
    assert scheduler.jobs.next_runs(scheduler.add_job("off", Every("1h"), enabled=False)) == []
    paused = scheduler.add_job("paused", Every("1h"))
    scheduler.pause_job(paused, START + _HOUR)
    assert scheduler.jobs.next_runs(paused) == []
    with pytest.raises(JobNotFoundError):
        scheduler.jobs.next_runs("unknown")


def test_a_running_job_has_the_runs_its_schedule_gives(bench: Bench) -> None:
    every, after = (
        bench.scheduler.add_job("every", Every("1h")),
        bench.scheduler.add_job("after", After("5m")),
    )
    assert len(bench.tick(_HOUR)) == 2
    assert bench.scheduler.jobs.next_runs(every, 2) == [START + 2 * _HOUR, START + 3 * _HOUR]
    # When it goes on depends on its end.
    assert bench.scheduler.jobs.next_runs(after) == []


def test_next_runs_can_be_asked_for_from_an_instant_on(bench: Bench) -> None:
    scheduler = bench.scheduler
    every = scheduler.add_job("every", Every("1h"))
    assert scheduler.jobs.next_runs(every, 2, since=START) == [START + _HOUR, START + 2 * _HOUR]
    later = START + 3 * _HOUR
    assert scheduler.jobs.next_runs(every, 2, since=later) == [later, later + _HOUR]
    assert scheduler.jobs.next_runs(every, 1, since=later + 1) == [later + _HOUR]
    once = scheduler.add_job("once", Once(START + _HOUR))
    assert scheduler.jobs.next_runs(once, since=later) == []
    after = scheduler.add_job("after", After("5m"))
    assert scheduler.jobs.next_runs(after, 1, since=later) == [later]


def test_a_late_job_has_no_next_runs_in_the_past(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "few.db", max_concurrent=1)
    first = bench.scheduler.add_job("first", Every("1h"))
    waiting = bench.scheduler.add_job("waiting", Every("1h"))
    bench.tick(_HOUR)
    late = bench.scheduler.get_job(waiting) or bench.scheduler.get_job(first)
    assert late is not None
    job_id = waiting if bench.started[0].job_id == first else first
    bench.tick(90 * _MINUTE)
    assert bench.scheduler.jobs.next_runs(job_id, 2) == [START + _HOUR, START + 3 * _HOUR]
    bench.close()


@pytest.mark.usefixtures("machine_in_berlin")
def test_why_is_answered_from_the_stored_trail(bench: Bench) -> None:
    policy = Policy(retry=Retry(attempts=1), max_errors=3)
    job_id = bench.scheduler.add_job("job", Every("1h"), policy=policy)
    found = bench.scheduler.jobs.explain(job_id)
    assert found.at == START + _HOUR
    assert found.sentences == ("Next: 02:00 (every hour).",)
    (run,) = bench.tick(_HOUR)
    assert bench.scheduler.jobs.explain(job_id).at is None
    bench.finish(run, _BAD)
    assert bench.scheduler.jobs.explain(job_id).sentences[-1] == (
        "The last attempt failed. Attempt 2 of 2 starts 1 min later, at 02:01."
    )
    (again,) = bench.tick(_MINUTE)
    bench.finish(again, _BAD)
    assert bench.scheduler.jobs.explain(job_id).sentences == (
        "Next: 03:00 (every hour).",
        "After 2 more failures in a row it will be disabled.",
    )
    with pytest.raises(JobNotFoundError):
        bench.scheduler.jobs.explain("unknown")


def test_jobs_are_blocked_by_a_question_or_a_daily_limit_on_the_day_of_their_run(bench: Bench) -> None:
    scheduler = bench.scheduler
    capped = Policy(caps=Caps(runs_per_day=1))
    free = scheduler.add_job("free", Every("1h"))
    asks = scheduler.add_job("asks", Every("1h"))
    by_hand = scheduler.add_job("by hand", Manual())
    today = scheduler.add_job("today", Every("1h"), policy=capped)
    tomorrow = scheduler.add_job("tomorrow", Every("1d"), policy=capped)
    for job_id in (asks, by_hand):
        ask(scheduler, job_id)
    for job_id in (free, today, tomorrow):
        scheduler._store.usage.add([(job_id, scheduler.jobs.usage(job_id).day, Spent(1, 0))])
    found = scheduler.jobs.situations([free, asks, by_hand, today, tomorrow, "unknown"])
    assert {job_id: one.blocker for job_id, one in found.items() if one.is_held} == {
        asks: SkipReason.NEEDS_INPUT,
        today: SkipReason.CAP,
    }


def test_blockers_of_a_chain_run_are_reported(bench: Bench) -> None:
    scheduler = bench.scheduler
    report = scheduler.add_job("report", Manual(), policy=Policy(caps=Caps(runs_per_day=1)))
    assert scheduler.jobs.explain(report).sentences == ("It only runs manually: it has no schedule.",)
    scheduler.add_job("backup", Every("1h"), followers=[Follower(job_id=report)])
    follows = "It runs after backup succeeds, or manually."
    assert scheduler.jobs.explain(report).sentences == (follows,)
    scheduler.trigger(report)
    bench.finish(bench.tick()[0])
    capped = "1 run today, which is its daily limit; it may run again after midnight"
    assert scheduler.jobs.explain(report).sentences == (
        follows,
        f"But after another job it would be skipped now: {capped}.",
    )
    scheduler.pause_job(report)
    assert not any("skipped now" in sentence for sentence in scheduler.jobs.explain(report).sentences)
    scheduler.resume_job(report)
    scheduler.trigger(report)
    bench.end(bench.tick()[0], question="really?")
    assert scheduler.jobs.explain(report).sentences[-1] == (
        "But after another job it would be skipped now: it waits for your answer to: really?"
    )


# --- Failures that nobody has seen ------------------------------------------------------------------


def test_failures_are_unseen_until_they_are_marked(bench: Bench) -> None:
    scheduler = bench.scheduler
    one, gone = scheduler.add_job("one", Manual()), scheduler.add_job("gone", Manual())
    _log(scheduler, _run("1", one, START, _BAD), _run("2", one, START + 1), _run("3", gone, START + 2, _BAD))
    _log(scheduler, _run("4", one, START + 3, Outcome.TIMEOUT))
    _log(scheduler, _run("5", one, START + 4, _BAD, trigger=Trigger.TEST))
    under_way = _run("6", one, START + 5, Outcome.RUNNING)
    _log(scheduler, under_way)
    scheduler.remove_job(gone)
    assert [run.id for run in scheduler.runs.unseen_failures()] == ["4", "1"]
    scheduler.runs.mark_failures_seen()
    assert scheduler.runs.unseen_failures() == []
    _log(scheduler, _run("7", one, START + 6, _BAD))
    assert [run.id for run in scheduler.runs.unseen_failures()] == ["7"]
    # What was under way when all was seen can still fail.
    scheduler._store.database.rows("UPDATE scheduler_run_log SET outcome = 'failure' WHERE id = '6'")
    assert [run.id for run in scheduler.runs.unseen_failures()] == ["7", "6"]
    scheduler.runs.mark_failures_seen()
    assert scheduler.runs.unseen_failures() == []
    bench.crash()
    assert bench.scheduler.runs.unseen_failures() == []


def test_at_most_a_hundred_failures_are_unseen(scheduler: Scheduler) -> None:
    job_id = scheduler.add_job("job", Manual())
    _log(scheduler, *(_run(str(index), job_id, START + index, _BAD) for index in range(70)))
    _log(scheduler, *(_run(f"t{index}", job_id, START + index, Outcome.TIMEOUT) for index in range(70)))
    found = scheduler.runs.unseen_failures()
    assert len(found) == 100
    assert (found[0].started_at, found[-1].started_at) == (START + 69, START + 20)


def test_an_invalid_mark_counts_as_none(scheduler: Scheduler) -> None:
    job_id = scheduler.add_job("job", Manual())
    _log(scheduler, replace(_run("1", job_id, START, _BAD)))
    for garbage in ("", "x", "5", '{"seq": "x", "open": []}', '{"seq": 9}', '{"seq": 9, "open": 7}'):
        scheduler._store.settings._set_text("failures_seen", garbage)
        assert [run.id for run in scheduler.runs.unseen_failures()] == ["1"]


def test_the_next_runs_follow_the_pace_that_was_asked_for_as_long_as_it_counts(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("poll", Every("1h"), policy=Policy(limits=Limits(min_ms=20 * _MINUTE)))
    bench.scheduler.propose_interval(job_id, "15m", ttl="40m")
    now_ms = bench.clock.now_ms()
    minutes = [(at - now_ms) // _MINUTE for at in bench.scheduler.jobs.next_runs(job_id)]
    assert minutes == [20, 40, 60, 120, 180]
    assert [(run.at - now_ms) // _MINUTE for run in bench.scheduler.jobs.upcoming(5)] == minutes
