"""Advice from outside: who gave it, how long it counts, what it moves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from machine import START, Bench

from halo_scheduler import (
    Every,
    IntervalParseError,
    Job,
    Limits,
    Manual,
    Once,
    Outcome,
    Policy,
    Retry,
    ScheduleError,
    Source,
)
from halo_scheduler.model import Hints, HintSource
from halo_scheduler.model.changes import Change, ChangeKind

_MINUTE = 60_000
_HOUR = 60 * _MINUTE


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    found = Bench(tmp_path / "halo.db")
    yield found
    found.close()


@pytest.fixture
def job_id(bench: Bench) -> str:
    return bench.scheduler.add_job("job", Every("1h"))


def _job(bench: Bench, job_id: str) -> Job:
    job = bench.scheduler.get_job(job_id)
    assert job is not None
    return job


def _hinted(bench: Bench, job_id: str) -> list[dict[str, Any]]:
    events = bench.scheduler._store.events.of_job(job_id)
    return [event.detail for event in events if event.kind == "job-hinted"]


# --- What is kept of it ---------------------------------------------------------------------------


def test_a_pace_is_stored_with_source_and_reason(bench: Bench, job_id: str) -> None:
    bench.scheduler.propose_interval(job_id, "5m", ttl="2h", reason="long queue", source=HintSource.USER)
    job = _job(bench, job_id)
    assert job.hints == Hints(
        interval_ms=5 * _MINUTE, expires_at=START + 2 * _HOUR, reason="long queue", source=HintSource.USER
    )
    assert (job.next_run_at, job.next_source) == (START + 5 * _MINUTE, Source.HINT_INTERVAL)
    assert _hinted(bench, job_id) == [
        {
            "source": "user",
            "interval_ms": 5 * _MINUTE,
            "expires_at": START + 2 * _HOUR,
            "reason": "long queue",
        }
    ]


def test_a_single_run_is_stored_with_its_source(bench: Bench, job_id: str) -> None:
    bench.scheduler.propose_next_run(job_id, START + 7 * _MINUTE, source=HintSource.ASSISTANT)
    job = _job(bench, job_id)
    assert job.hints == Hints(
        next_at=START + 7 * _MINUTE, expires_at=START + _HOUR, source=HintSource.ASSISTANT
    )
    assert (job.next_run_at, job.next_source) == (START + 7 * _MINUTE, Source.HINT_ONCE)
    assert _hinted(bench, job_id) == [
        {"source": "assistant", "next_at": START + 7 * _MINUTE, "expires_at": START + _HOUR, "reason": ""}
    ]


def test_without_a_source_a_hint_comes_from_a_program(bench: Bench, job_id: str) -> None:
    bench.scheduler.propose_interval(job_id, "5m")
    assert _job(bench, job_id).hints.source is HintSource.PROGRAM


def test_an_added_hint_keeps_the_other_with_its_reason_and_expiry(bench: Bench, job_id: str) -> None:
    bench.scheduler.propose_interval(job_id, "5m", ttl="2h", reason="one", source=HintSource.USER)
    bench.scheduler.propose_next_run(job_id, START + _MINUTE, ttl="10m", reason="two")
    assert _job(bench, job_id).hints == Hints(
        interval_ms=5 * _MINUTE,
        next_at=START + _MINUTE,
        expires_at=START + 2 * _HOUR,
        reason="one",
        source=HintSource.USER,
        next_expires_at=START + 10 * _MINUTE,
        next_reason="two",
        next_source=HintSource.PROGRAM,
    )


def test_an_expired_hint_does_not_return_with_an_added_one(bench: Bench, job_id: str) -> None:
    bench.scheduler.propose_interval(job_id, "5m", ttl="1m")
    bench.clock.advance(2 * _MINUTE)
    bench.scheduler.propose_next_run(job_id, START + 50 * _MINUTE)
    assert _job(bench, job_id).hints.interval_ms is None


# --- What is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"ttl": "367d"}, "ttl: a hint lasts 366d at most; change the schedule instead"),
        ({"ttl": "soon"}, "ttl: cannot read the interval 'soon'"),
        ({"interval": "5"}, "interval: cannot read the interval '5'"),
        ({"reason": "x" * 201}, "reason: is longer than 200 characters"),
        ({"reason": "two\nlines"}, "reason: must be a single line"),
        ({"reason": 5}, "reason: must be text"),
        ({"source": "stranger"}, "source: must be one of user, program, assistant, job, not 'stranger'"),
    ],
)
def test_advice_that_makes_no_sense_is_refused(
    bench: Bench, job_id: str, given: dict[str, Any], sentence: str
) -> None:
    before = _job(bench, job_id)
    with pytest.raises(ScheduleError) as caught:
        bench.scheduler.propose_interval(job_id, **{"interval": "5m", **given})
    assert str(caught.value).startswith(sentence)
    assert _job(bench, job_id) == before
    assert _hinted(bench, job_id) == []


def test_a_bad_interval_is_still_the_error_of_an_interval(bench: Bench, job_id: str) -> None:
    with pytest.raises(IntervalParseError) as caught:
        bench.scheduler.propose_interval(job_id, "5")
    assert caught.value.interval == "5"


def test_a_reason_is_plain_text(bench: Bench, job_id: str) -> None:
    bench.scheduler.propose_interval(job_id, "5m", reason="a\u202eb" + "x" * 190, ttl="366d")
    assert _job(bench, job_id).hints.reason == "a\ufffdb" + "x" * 190


def test_a_job_that_is_not_due_by_itself_takes_no_advice(bench: Bench) -> None:
    over = bench.scheduler.add_job("over", Once(START + _MINUTE), enabled=False)
    by_hand = bench.scheduler.add_job("by hand", Manual())
    bench.clock.advance(_MINUTE)
    for job_id in (over, by_hand):
        with pytest.raises(ScheduleError, match="hints: a job without scheduled times takes no hints"):
            bench.scheduler.propose_next_run(job_id, START + 2 * _MINUTE)


# --- What it moves --------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["paused", "disabled"])
def test_advice_for_a_job_that_rests_is_kept_but_moves_nothing(bench: Bench, job_id: str, how: str) -> None:
    if how == "paused":
        bench.scheduler.pause_job(job_id)
    else:
        bench.scheduler.update_job(job_id, enabled=False)
    bench.scheduler.propose_interval(job_id, "5m", ttl="3h")
    assert _job(bench, job_id).next_run_at is None
    assert bench.tick(10 * _MINUTE) == []
    bench.scheduler.resume_job(job_id)
    assert _job(bench, job_id).next_run_at == START + 15 * _MINUTE


def test_limits_apply_to_hints_too(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("2h"), policy=Policy(limits=Limits(min_ms=_HOUR)))
    bench.scheduler.propose_interval(job_id, "1m")
    assert _job(bench, job_id).next_run_at == START + _HOUR


def test_a_job_that_runs_is_planned_by_advice_when_it_ends(bench: Bench, job_id: str) -> None:
    (run,) = bench.tick(_HOUR)
    bench.scheduler.propose_interval(job_id, "5m")
    assert _job(bench, job_id).next_run_at is None
    bench.clock.advance(_MINUTE)
    bench.finish(run)
    assert _job(bench, job_id).next_run_at == START + _HOUR + 6 * _MINUTE


def test_advice_brings_a_retry_forward_and_it_stays_a_retry(bench: Bench) -> None:
    policy = Policy(retry=Retry(attempts=1, delay_ms=10 * _MINUTE))
    job_id = bench.scheduler.add_job("job", Every("1h"), policy=policy)
    (run,) = bench.tick(_HOUR)
    bench.finish(run, Outcome.FAILURE)
    bench.scheduler.propose_next_run(job_id, START + _HOUR + _MINUTE)
    (again,) = bench.tick(_MINUTE)
    assert (again.slot_at, again.attempt, again.source) == (START + _HOUR, 2, Source.HINT_ONCE)
    bench.finish(again, Outcome.FAILURE)
    job = _job(bench, job_id)
    assert (job.errors, job.next_run_at) == (1, START + 2 * _HOUR)


# --- Forgetting it --------------------------------------------------------------------------------


def test_after_clearing_hints_the_schedule_decides(bench: Bench, job_id: str) -> None:
    bench.scheduler.propose_interval(job_id, "5m")
    heard: list[Change] = []
    bench.scheduler.subscribe(heard.append)
    bench.scheduler.clear_hints(job_id, source=HintSource.USER)
    job = _job(bench, job_id)
    assert (job.hints, job.next_run_at, job.next_source) == (Hints(), START + _HOUR, Source.EVERY)
    assert _hinted(bench, job_id)[0] == {"source": "user", "cleared": True}
    assert Change(ChangeKind.JOB, job_id=job_id) in heard


def test_the_plan_of_advice_that_has_expired_is_cleared_too(bench: Bench, job_id: str) -> None:
    bench.scheduler.propose_next_run(job_id, START + 7 * _MINUTE, ttl="1s")
    bench.clock.advance(_MINUTE)
    bench.scheduler.clear_hints(job_id)
    assert _job(bench, job_id).next_run_at == START + _HOUR


def test_clearing_nothing_moves_nothing(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("10m"), policy=Policy(limits=Limits(min_ms=_HOUR)))
    bench.clock.advance(_MINUTE)
    bench.scheduler.clear_hints(job_id)
    assert _job(bench, job_id).next_run_at == START + _HOUR
    assert _hinted(bench, job_id) == []


def test_clearing_leaves_a_retry_where_it_is(bench: Bench) -> None:
    policy = Policy(retry=Retry(attempts=1, delay_ms=10 * _MINUTE))
    job_id = bench.scheduler.add_job("job", Every("1h"), policy=policy)
    (run,) = bench.tick(_HOUR)
    bench.scheduler.propose_interval(job_id, "30m")
    bench.finish(run, Outcome.FAILURE)
    assert _job(bench, job_id).next_run_at == START + _HOUR + 10 * _MINUTE
    bench.scheduler.clear_hints(job_id)
    (again,) = bench.tick(10 * _MINUTE)
    assert (again.slot_at, again.attempt) == (START + _HOUR, 2)


def test_a_stranger_cannot_clear_it(bench: Bench, job_id: str) -> None:
    stranger: Any = "stranger"
    with pytest.raises(ScheduleError, match="source: must be one of"):
        bench.scheduler.clear_hints(job_id, source=stranger)
