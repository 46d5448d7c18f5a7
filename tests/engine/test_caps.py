"""Caps: how often and for how much a job starts by itself in a day."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from cases import utc_ms
from machine import Bench

from halo_scheduler import After, Cron, Every, Manual, Once, Outcome, Policy, Retry, Run, Source, Trigger
from halo_scheduler.model import Caps, JobStatus, Schedule, SkipReason, StatusReason
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.rules.blockers import Holds
from halo_scheduler.store.runs import Spent

pytestmark = pytest.mark.usefixtures("machine_in_berlin", "dead_processes")

_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000
_NOON = utc_ms("2026-11-16T12:00+01:00")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A bench whose former processes count as dead."""
    found = Bench(tmp_path / "halo.db", now_ms=_NOON)
    yield found
    found.close()


def _add(
    bench: Bench,
    runs: int | None = None,
    cost: float | None = None,
    schedule: Schedule | None = None,
    *,
    name: str = "job",
    retry: Retry | None = None,
) -> str:
    policy = Policy(caps=Caps(runs_per_day=runs, cost_per_day=cost), retry=retry or Retry())
    return bench.scheduler.add_job(name, schedule or Every("1h"), policy=policy)


def _run_once(bench: Bench, advance_ms: int = _HOUR, **ended: float) -> Run:
    (run,) = bench.tick(advance_ms)
    bench.end(run, **ended)  # type: ignore[arg-type] # only costs are given here
    return run


def _held(bench: Bench, job_id: str) -> list[Run]:
    runs = bench.scheduler.get_run_log(job_id, outcome=Outcome.SKIPPED)
    assert {run.reason for run in runs} <= {SkipReason.CAP}
    return runs


def _used(bench: Bench, job_id: str) -> tuple[int, float]:
    usage = bench.scheduler.jobs.usage(job_id)
    return usage.runs, usage.cost


def test_a_job_that_has_run_as_often_as_it_may_is_skipped_until_midnight(bench: Bench) -> None:
    job_id = _add(bench, runs=2)
    _run_once(bench)
    _run_once(bench)
    for _ in range(9):
        assert bench.tick(_HOUR) == []
    runs = _held(bench, job_id)
    assert len(runs) == 9
    assert {(run.outcome, run.reason, run.error) for run in runs} == {
        (
            Outcome.SKIPPED,
            SkipReason.CAP,
            "2 runs today, which is its daily limit; it may run again after midnight",
        )
    }
    newest = runs[0]
    assert newest.slot_at == newest.finished_at == bench.clock.now_ms()
    assert (newest.trigger, newest.source, newest.started_at) == (Trigger.SCHEDULE, Source.EVERY, None)
    assert _run_once(bench).slot_at == utc_ms("2026-11-17T00:00+01:00")
    assert _used(bench, job_id) == (1, 0.0)


def test_a_skipped_slot_leaves_the_job_as_it_was_but_for_its_plan(bench: Bench) -> None:
    job_id = _add(bench, runs=1)
    (run,) = bench.tick(_HOUR)
    bench.end(run, Outcome.FAILURE)
    before = bench.job(job_id)
    bench.tick(_HOUR)
    job = bench.job(job_id)
    assert job.status is JobStatus.IDLE
    assert (job.errors, job.last_run_at) == (1, before.last_run_at)
    assert job.last_outcome is Outcome.SKIPPED
    assert job.next_run_at == bench.clock.now_ms() + _HOUR


def test_the_run_that_exceeds_the_daily_cost_limit_finishes_and_the_next_is_skipped(bench: Bench) -> None:
    job_id = _add(bench, cost=0.8)
    _run_once(bench, cost=0.7)
    crossing = _run_once(bench, cost=0.1)
    stored = bench.scheduler.get_run(crossing.id)
    assert stored is not None
    assert (stored.outcome, stored.cost) == (Outcome.SUCCESS, 0.1)
    assert bench.tick(_HOUR) == []
    (run,) = _held(bench, job_id)
    assert (
        run.error == "its runs cost 0.80 today, and its daily limit is 0.80; it may run again after midnight"
    )
    assert _used(bench, job_id) == (2, 0.8)


def test_a_run_that_costs_far_more_than_allowed_says_so(bench: Bench) -> None:
    job_id = _add(bench, cost=0.0005)
    _run_once(bench, cost=12.3456)
    bench.tick(_HOUR)
    (run,) = _held(bench, job_id)
    assert run.error.startswith("its runs cost 12.35 today, and its daily limit is 0.0005;")


def test_a_run_without_a_cost_does_not_count_toward_the_daily_cost_limit(bench: Bench) -> None:
    job_id = _add(bench, cost=1.0)
    for _ in range(5):
        _run_once(bench)
    assert _held(bench, job_id) == []


def test_manual_runs_count_but_always_start(bench: Bench) -> None:
    job_id = _add(bench, runs=1)
    for _ in range(3):
        bench.scheduler.trigger(job_id)
        _run_once(bench, _MINUTE)
    assert _used(bench, job_id) == (3, 0.0)
    assert bench.tick(_HOUR) == []
    (run,) = _held(bench, job_id)
    assert run.error == "3 runs today, and its daily limit is 1; it may run again after midnight"
    bench.scheduler.trigger(job_id)
    assert len(bench.tick()) == 1


def test_a_test_run_counts_by_its_cost_only(bench: Bench) -> None:
    job_id = _add(bench, runs=1, cost=1.0)
    bench.scheduler.runs.request_test(job_id, bench.job(job_id).spec)
    (test,) = bench.tick()
    assert _used(bench, job_id) == (0, 0.0)
    bench.end(test, cost=0.4)
    assert _used(bench, job_id) == (0, 0.4)
    assert len(bench.tick(_HOUR)) == 1


@pytest.mark.parametrize(
    ("outcome", "counted"),
    [
        (Outcome.SUCCESS, 1),
        (Outcome.FAILURE, 1),
        (Outcome.TIMEOUT, 1),
        (Outcome.CANCELLED, 1),
        (Outcome.INTERRUPTED, 1),
        (Outcome.SKIPPED, 0),
    ],
)
def test_a_run_counts_unless_there_was_nothing_to_do(bench: Bench, outcome: Outcome, counted: int) -> None:
    job_id = _add(bench, runs=10)
    (run,) = bench.tick(_HOUR)
    assert _used(bench, job_id) == (1, 0.0)
    bench.end(run, outcome, cost=0.5)
    assert _used(bench, job_id) == (counted, 0.5)


def test_a_run_that_a_crash_interrupted_counts(bench: Bench) -> None:
    job_id = _add(bench, runs=1)
    bench.tick(_HOUR)
    bench.crash()
    bench.tick()
    assert _used(bench, job_id) == (1, 0.0)
    assert bench.tick(_HOUR) == []
    assert len(_held(bench, job_id)) == 1


def test_daily_usage_survives_a_restart(bench: Bench) -> None:
    job_id = _add(bench, runs=1)
    _run_once(bench)
    bench.crash()
    assert bench.tick(_HOUR) == []
    assert len(_held(bench, job_id)) == 1


def test_daily_usage_survives_pruning_of_runs(bench: Bench) -> None:
    job_id = _add(bench, runs=1)
    _run_once(bench)
    bench.scheduler._store.runs.prune(keep_per_job=0, ended_before=0, most=10)
    assert bench.tick(_HOUR) == []
    assert len(_held(bench, job_id)) == 1


def test_a_run_belongs_to_the_day_it_began(bench: Bench) -> None:
    bench.clock.set(utc_ms("2026-11-16T23:30+01:00"))
    job_id = _add(bench, runs=1, cost=1.0)
    bench.tick(20 * _MINUTE)
    bench.scheduler.trigger(job_id)
    (late,) = bench.tick()
    bench.clock.set(utc_ms("2026-11-17T00:10+01:00"))
    bench.end(late, cost=5.0)
    assert bench.scheduler.jobs.usage(job_id).day == "2026-11-17"
    assert _used(bench, job_id) == (0, 0.0)
    assert bench.scheduler._store.usage.of(job_id, "2026-11-16") == Spent(1, 5.0)
    assert len(bench.tick(20 * _MINUTE)) == 1


def test_a_daily_limit_set_during_a_day_counts_earlier_runs(bench: Bench) -> None:
    job_id = _add(bench)
    _run_once(bench, cost=3.0)
    bench.scheduler.update_job(job_id, policy=Policy(caps=Caps(cost_per_day=2.0)))
    assert bench.tick(_HOUR) == []
    bench.scheduler.update_job(job_id, policy=Policy(caps=Caps(cost_per_day=4.0)))
    assert len(bench.tick(_HOUR)) == 1


def test_a_retry_over_the_daily_limit_is_skipped_and_its_slot_ends(bench: Bench) -> None:
    job_id = _add(bench, runs=1, retry=Retry(attempts=3, delay_ms=_MINUTE))
    (run,) = bench.tick(_HOUR)
    bench.end(run, Outcome.FAILURE)
    assert bench.tick(_MINUTE) == []
    (held,) = _held(bench, job_id)
    assert (held.slot_at, held.attempt, held.source) == (run.slot_at, 2, Source.RETRY)
    job = bench.job(job_id)
    assert (job.errors, job.next_run_at) == (0, (run.slot_at or 0) + _HOUR)


def test_an_after_job_at_its_daily_limit_is_skipped_at_its_own_pace(bench: Bench) -> None:
    job_id = _add(bench, runs=1, schedule=After("10m"))
    _run_once(bench, 0)
    for _ in range(5):
        bench.tick()
    assert _held(bench, job_id) == []
    for _ in range(6):
        assert bench.tick(10 * _MINUTE) == []
        bench.tick()
    assert len(_held(bench, job_id)) == 6
    assert bench.scheduler.engine.get_engine().delay_ms() == _MINUTE


def test_a_one_time_job_at_its_daily_limit_is_skipped_and_explains_how_to_continue(bench: Bench) -> None:
    at = _NOON + _HOUR
    job_id = _add(bench, runs=1, schedule=Once(at))
    bench.scheduler.trigger(job_id)
    _run_once(bench, 0)
    assert bench.tick(_HOUR) == []
    (run,) = _held(bench, job_id)
    assert run.slot_at == at
    assert run.error == (
        "1 run today, which is its daily limit; it had only this time, so run it manually or set a new one"
    )
    job = bench.job(job_id)
    assert (job.status, job.status_reason) == (JobStatus.DISABLED, StatusReason.DONE)


def test_a_caught_up_slot_over_the_daily_limit_is_skipped(bench: Bench) -> None:
    job_id = _add(bench, runs=1)
    _run_once(bench)
    assert bench.tick(3 * _HOUR + 5 * _MINUTE) == []
    (run,) = _held(bench, job_id)
    assert (run.source, run.passed_over) == (Source.CATCH_UP, 2)


def test_skipped_jobs_use_no_capacity(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "one.db", max_concurrent=1, now_ms=_NOON)
    for number in range(5):
        capped = _add(bench, runs=1, name=f"capped {number}", schedule=Cron("0 * * * *"))
        bench.scheduler.trigger(capped)
        _run_once(bench, 0)
    free = bench.scheduler.add_job("free", Cron("0 * * * *"), job_id="z, the last of all that are due")
    (run,) = bench.tick(_HOUR)
    assert run.job_id == free
    assert len(bench.scheduler.get_run_log(outcome=Outcome.SKIPPED)) == 5
    bench.close()


def test_the_journal_records_a_reached_daily_limit_once_a_day(bench: Bench) -> None:
    job_id = _add(bench, runs=1)

    def told() -> list[object]:
        events = bench.scheduler._store.events.of_job(job_id)
        return [event.detail["day"] for event in events if event.kind == "job-capped"]

    _run_once(bench)
    bench.tick(_HOUR)
    bench.scheduler.trigger(job_id)
    _run_once(bench, 0)
    bench.crash()
    bench.tick(_HOUR)
    assert told() == ["2026-11-16"]
    bench.clock.set(utc_ms("2026-11-16T23:59:30+01:00"))
    bench.tick()
    _run_once(bench, 30 * _SECOND)
    bench.tick(_HOUR)
    assert told() == ["2026-11-17", "2026-11-16"]


def test_subscribers_are_notified_of_a_skipped_slot(bench: Bench) -> None:
    job_id = _add(bench, runs=1)
    _run_once(bench)
    heard: list[Change] = []
    bench.scheduler.subscribe(heard.append)
    bench.tick(_HOUR)
    (run,) = _held(bench, job_id)
    assert heard == [Change(ChangeKind.RUN_FINISHED, job_id=job_id, run_id=run.id)]


@pytest.mark.parametrize(
    ("day", "hours"),
    [("2026-03-29", 23), ("2026-10-25", 25), ("2026-11-16", 24)],
    ids=["spring", "autumn", "plain"],
)
def test_a_day_is_as_long_as_the_clocks_make_it(bench: Bench, day: str, hours: int) -> None:
    midnight = utc_ms(f"{day}T00:00" + ("+01:00" if day != "2026-10-25" else "+02:00"))
    bench.clock.set(midnight)
    job_id = _add(bench, runs=1, schedule=Every("30m"))
    _run_once(bench, 30 * _MINUTE)
    usage = bench.scheduler.jobs.usage(job_id)
    assert (usage.day, usage.resets_at) == (day, midnight + hours * _HOUR)
    started: list[Run] = []
    while not started:
        started = bench.tick(30 * _MINUTE)
    assert started[0].slot_at == midnight + hours * _HOUR


def test_a_clock_set_back_over_midnight_counts_on_for_the_day_it_shows(bench: Bench) -> None:
    job_id = _add(bench, runs=1)
    _run_once(bench)
    bench.clock.set(utc_ms("2026-11-17T00:30+01:00"))
    _run_once(bench, 0)
    bench.clock.set(utc_ms("2026-11-16T20:30+01:00"))
    assert bench.tick() == []
    assert bench.tick(30 * _MINUTE) == []
    assert _held(bench, job_id)[0].slot_at == utc_ms("2026-11-16T21:00+01:00")


def test_old_daily_usage_is_deleted(bench: Bench) -> None:
    job_id = _add(bench, runs=5)
    _run_once(bench)
    assert bench.scheduler._store.usage.of(job_id, "2026-11-16") == Spent(1, 0.0)
    bench.clock.set(_NOON + 6 * _DAY)
    bench.tick()
    assert bench.scheduler._store.usage.of(job_id, "2026-11-16") == Spent(1, 0.0)
    bench.clock.set(_NOON + 8 * _DAY)
    bench.tick()
    assert bench.scheduler._store.usage.of(job_id, "2026-11-16") == Spent(0, 0.0)


def test_an_error_while_checking_blockers_affects_no_other_job(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = _add(bench, runs=1, name="bad")
    good = _add(bench, name="good")
    real = Holds.find

    def stumble(self: Holds, record: object, *, is_slot: bool) -> object:
        if getattr(record, "id", "") == bad:
            raise ZeroDivisionError
        return real(self, record, is_slot=is_slot)  # type: ignore[arg-type] # a record is what the engine gives

    monkeypatch.setattr(Holds, "find", stumble)
    (run,) = bench.tick(_HOUR)
    assert run.job_id == good
    assert bench.job(bad).status_reason is StatusReason.ERRORS


def test_without_daily_limits_and_questions_nothing_is_queried(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def notice(job_id: str, _day: str) -> Spent:
        asked.append(job_id)
        return Spent(0, 0.0)

    monkeypatch.setattr(bench.scheduler._store.usage, "of", notice)
    for number in range(3):
        _add(bench, name=f"free {number}")
    capped = _add(bench, runs=1, name="capped")
    assert len(bench.tick(_HOUR)) == 4
    assert asked == [capped]


def test_the_next_run_is_explained_with_its_blocker_of_that_day(bench: Bench) -> None:
    job_id = _add(bench, runs=1, schedule=Every("6h"))
    _run_once(bench, 6 * _HOUR)
    assert bench.scheduler.jobs.explain(job_id).sentences == ("Next: tomorrow 00:00 (every 6 hours).",)
    bench.scheduler.update_job(job_id, schedule=Every("5h"))
    assert bench.scheduler.jobs.explain(job_id).sentences == (
        "Next: 22:00 (every 5 hours).",
        "But it will be skipped then: 1 run today, which is its daily limit; it may run again after midnight.",
    )


def test_usage_of_a_job_without_runs_says_when_the_day_ends(bench: Bench) -> None:
    job_id = _add(bench, runs=3, cost=1.5, schedule=Manual())
    usage = bench.scheduler.jobs.usage(job_id)
    assert (usage.runs, usage.cost, usage.caps) == (0, 0.0, Caps(runs_per_day=3, cost_per_day=1.5))
    assert (usage.day, usage.resets_at) == ("2026-11-16", utc_ms("2026-11-17T00:00+01:00"))
