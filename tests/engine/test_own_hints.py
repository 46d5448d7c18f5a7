"""What a run proposes about its own job: kept with the run, and taken when its end is recorded."""

from __future__ import annotations

import pytest
from machine import START, Bench

from halo_scheduler import Every, Hints, Limits, Manual, Once, Outcome, Policy, Retry, Run, Source
from halo_scheduler.actions.run_services import Ended, Late
from halo_scheduler.actions.spool import Output
from halo_scheduler.model import HintSource, Proposal, Schedule
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.store.events import Event, EventKind

_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000
_SOON = Proposal(next_ms=10 * _MINUTE, reason="more is coming")
_FAST = Proposal(every_ms=5 * _MINUTE, ttl_ms=2 * _HOUR, reason="queue is long")


def _events(bench: Bench, job_id: str) -> list[Event]:
    events = bench.scheduler._store.events.of_job(job_id)
    return [event for event in events if event.kind is EventKind.JOB_HINTED]


def _by_hand(bench: Bench, job_id: str, proposal: Proposal) -> Run:
    bench.scheduler.trigger(job_id)
    (run,) = bench.tick()
    bench.end(run, proposal=proposal)
    return run


def test_a_pace_is_taken_before_the_next_run_is_planned(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"))
    (run,) = bench.tick(_HOUR)
    bench.clock.advance(_MINUTE)
    bench.end(run, proposal=_FAST)
    ended_at = START + _HOUR + _MINUTE
    job = bench.job(job_id)
    assert (job.next_run_at, job.next_source) == (ended_at + 5 * _MINUTE, Source.HINT_INTERVAL)
    assert job.hints == Hints(
        interval_ms=5 * _MINUTE,
        expires_at=ended_at + 2 * _HOUR,
        reason="queue is long",
        source=HintSource.JOB,
    )
    assert bench.recorded(run.id).proposal == _FAST
    (event,) = _events(bench, job_id)
    assert event.detail == {
        "source": "job",
        "run_id": run.id,
        "interval_ms": 5 * _MINUTE,
        "expires_at": ended_at + 2 * _HOUR,
        "reason": "queue is long",
    }


def test_a_hint_may_request_one_run_after_a_delay(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"))
    (run,) = bench.tick(_HOUR)
    bench.end(run, proposal=_SOON)
    assert (bench.job(job_id).next_run_at, bench.job(job_id).next_source) == (
        START + _HOUR + 10 * _MINUTE,
        Source.HINT_ONCE,
    )
    (event,) = _events(bench, job_id)
    assert event.detail["next_at"] == START + _HOUR + 10 * _MINUTE
    assert "interval_ms" not in event.detail
    (again,) = bench.tick(10 * _MINUTE)
    bench.end(again)
    assert bench.job(job_id).next_run_at == START + 2 * _HOUR


def test_a_slower_pace_passes_points_over_with_the_reason(bench: Bench) -> None:
    bench.scheduler.add_job("job", Every("10m"))
    (run,) = bench.tick(10 * _MINUTE)
    bench.end(run, proposal=Proposal(every_ms=30 * _MINUTE, ttl_ms=_DAY))
    (after,) = bench.tick(30 * _MINUTE)
    assert (after.source, after.passed_over, after.passed_reason) == (Source.HINT_INTERVAL, 2, "hint")


def test_a_failed_run_may_propose_too_and_its_retry_comes_first(bench: Bench) -> None:
    policy = Policy(retry=Retry(attempts=1, delay_ms=_MINUTE))
    job_id = bench.scheduler.add_job("job", Every("1h"), policy=policy)
    (run,) = bench.tick(_HOUR)
    bench.end(run, Outcome.FAILURE, proposal=_FAST)
    assert (bench.job(job_id).next_source, bench.job(job_id).hints.interval_ms) == (
        Source.RETRY,
        5 * _MINUTE,
    )


def test_limits_win(bench: Bench) -> None:
    policy = Policy(limits=Limits(min_ms=30 * _MINUTE))
    job_id = bench.scheduler.add_job("job", Every("1h"), policy=policy)
    (run,) = bench.tick(_HOUR)
    bench.end(run, proposal=_FAST)
    assert bench.job(job_id).next_run_at == START + 90 * _MINUTE


def test_a_pause_wins(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"))
    (run,) = bench.tick(_HOUR)
    bench.scheduler.pause_job(job_id)
    bench.end(run, proposal=_FAST)
    assert bench.job(job_id).next_run_at is None
    assert bench.recorded(run.id).proposal == _FAST
    bench.scheduler.resume_job(job_id)
    assert bench.job(job_id).next_run_at == START + _HOUR + 5 * _MINUTE


def test_a_manual_run_of_a_paused_job_plans_nothing(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"))
    bench.scheduler.pause_job(job_id)
    _by_hand(bench, job_id, _SOON)
    job = bench.job(job_id)
    assert (job.next_run_at, job.hints.next_at) == (None, START + 10 * _MINUTE)


def test_a_manual_run_moves_the_plan_only_if_that_makes_it_earlier(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"))
    _by_hand(bench, job_id, Proposal(every_ms=2 * _HOUR))
    assert (bench.job(job_id).next_run_at, bench.job(job_id).hints.interval_ms) == (
        START + _HOUR,
        2 * _HOUR,
    )
    run = _by_hand(bench, job_id, _SOON)
    assert bench.job(job_id).next_run_at == START + 10 * _MINUTE
    assert _events(bench, job_id)[0].detail["run_id"] == run.id


def test_a_hint_of_a_test_run_is_shown_but_not_applied(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"))
    bench.scheduler.runs.request_test(job_id, bench.job(job_id).spec)
    (run,) = bench.tick()
    bench.end(run, proposal=_SOON)
    assert (bench.recorded(run.id).proposal, bench.recorded(run.id).note) == (_SOON, "")
    assert (bench.job(job_id).next_run_at, bench.job(job_id).hints) == (START + _HOUR, Hints())
    assert _events(bench, job_id) == []


@pytest.mark.parametrize("schedule", [Manual(), Once(START + _SECOND)])
def test_a_job_that_is_never_due_again_ignores_hints_and_the_run_notes_it(
    bench: Bench, schedule: Schedule
) -> None:
    job_id = bench.scheduler.add_job("job", schedule)
    bench.clock.advance(_SECOND)
    bench.scheduler.trigger(job_id)
    (run,) = bench.tick()
    bench.end(run, proposal=_SOON)
    found = bench.recorded(run.id)
    assert found.proposal == _SOON
    assert found.note == "its hint was ignored, because the job has no next run to move"
    assert bench.job(job_id).hints == Hints()
    assert _events(bench, job_id) == []


def _end_with_late_words(bench: Bench, run: Run, late: Late, later_ms: int) -> None:
    engine = bench.scheduler.engine.get_engine()
    bench.open_runs.pop(run.id)
    engine.handle.end(Ended(run_id=run.id, outcome=Outcome.SUCCESS, needs_secrets=frozenset({"TOKEN"})))
    bench.tick()
    engine._post_run.deferred_outputs.arrived[run.id] = run, late
    bench.tick(later_ms)


def test_a_hint_read_after_secrets_became_available_counts_from_the_end_of_the_run(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"))
    (run,) = bench.tick(_HOUR)
    told: list[Change] = []
    bench.scheduler.subscribe(told.append)
    _end_with_late_words(bench, run, Late(output=Output.of(b"", 0), proposal=_SOON), 30 * _SECOND)
    job = bench.job(job_id)
    assert job.next_run_at == START + _HOUR + 10 * _MINUTE
    assert job.hints.expires_at == START + 2 * _HOUR
    assert bench.recorded(run.id).proposal == _SOON
    assert Change(ChangeKind.JOB, job_id=job_id) in told
    assert len(_events(bench, job_id)) == 1


def test_an_output_is_awaited_until_it_is_stored_not_only_until_it_was_read(bench: Bench) -> None:
    bench.scheduler.add_job("job", Every("1h"))
    (run,) = bench.tick(_HOUR)
    engine = bench.scheduler.engine.get_engine()
    bench.open_runs.pop(run.id)
    engine.handle.end(Ended(run_id=run.id, outcome=Outcome.SUCCESS, needs_secrets=frozenset({"TOKEN"})))
    bench.tick()
    engine._post_run.deferred_outputs.arrived[run.id] = run, Late(output=Output.of(b"answer", 6))
    assert engine.is_output_awaited(run.id)
    assert bench.scheduler.get_output(run.id) == b""
    bench.tick()
    assert not engine.is_output_awaited(run.id)
    assert bench.scheduler.get_output(run.id) == b"answer"


def test_late_advice_for_a_job_that_runs_again_is_taken_when_that_run_ends(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1m"))
    (run,) = bench.tick(_MINUTE)
    late = Late(output=Output.of(b"", 0), proposal=Proposal(every_ms=5 * _MINUTE))
    _end_with_late_words(bench, run, late, 0)
    assert bench.job(job_id).next_run_at == START + 2 * _MINUTE
    (again,) = bench.tick(_MINUTE)
    _end_with_late_words(bench, again, late, _MINUTE)
    assert bench.job(job_id).next_run_at == bench.clock.now_ms() + 4 * _MINUTE


def test_late_advice_while_a_slot_runs_leaves_its_run_in_peace(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1m"))
    (run,) = bench.tick(_MINUTE)
    engine = bench.scheduler.engine.get_engine()
    bench.open_runs.pop(run.id)
    engine.handle.end(Ended(run_id=run.id, outcome=Outcome.SUCCESS, needs_secrets=frozenset({"TOKEN"})))
    bench.tick()
    (again,) = bench.tick(_MINUTE)
    late = Late(output=Output.of(b"", 0), proposal=_FAST)
    engine._post_run.deferred_outputs.arrived[run.id] = run, late
    bench.tick(_SECOND)
    assert (bench.job(job_id).next_run_at, bench.job(job_id).hints.interval_ms) == (None, 5 * _MINUTE)
    bench.end(again)
    assert bench.job(job_id).next_run_at == bench.clock.now_ms() + 5 * _MINUTE


def test_late_words_of_a_test_run_or_of_a_manual_job_move_nothing(bench: Bench) -> None:
    manual = bench.scheduler.add_job("manual", Manual())
    tried = bench.scheduler.add_job("tried", Every("1h"))
    bench.scheduler.trigger(manual)
    bench.scheduler.runs.request_test(tried, bench.job(tried).spec)
    late = Late(output=Output.of(b"", 0), proposal=_SOON)
    for run in bench.tick():
        _end_with_late_words(bench, run, late, _SECOND)
        assert bench.recorded(run.id).proposal == _SOON
    assert (bench.job(manual).hints, bench.job(tried).hints) == (Hints(), Hints())
    assert _events(bench, manual) == _events(bench, tried) == []
