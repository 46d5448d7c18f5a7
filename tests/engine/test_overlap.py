"""What happens when a job is due while it still runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from machine import START, Bench

from halo_scheduler import (
    Backoff,
    Command,
    Cron,
    Entry,
    Every,
    Limits,
    OnWebhook,
    Outcome,
    Overlap,
    Policy,
    Retry,
    Run,
    Source,
    Trigger,
)
from halo_scheduler.model import SkipReason
from halo_scheduler.rules.event_requests import Happening, accept

_MINUTE = 60_000
_NO_BACKOFF = Policy(backoff=Backoff.none())


@pytest.fixture
def bench(tmp_path: Path, dead_processes: None) -> Iterator[Bench]:  # noqa: ARG001 - they die before it opens
    found = Bench(tmp_path / "halo.db")
    yield found
    found.close()


def _add(bench: Bench, on_overlap: Overlap, policy: Policy = _NO_BACKOFF) -> str:
    return bench.scheduler.add_job("job", [Entry(Every("1m"), on_overlap=on_overlap)], policy=policy)


def _slots(bench: Bench, job_id: str) -> list[int]:
    """Return the minutes of the recorded slots, oldest first."""
    runs = bench.scheduler.get_run_log(job_id, limit=1_000)
    return [
        ((run.slot_at or 0) - START) // _MINUTE for run in reversed(runs) if run.trigger is Trigger.SCHEDULE
    ]


def _first(bench: Bench) -> Run:
    (run,) = bench.tick(_MINUTE)
    return run


def _end_all(bench: Bench) -> None:
    """End runs at once until none is under way."""
    while bench.open_runs:
        run = next(one for one in bench.started if one.id in bench.open_runs)
        bench.end(run)


def test_points_that_pass_while_it_runs_are_counted_by_default(bench: Bench) -> None:
    job_id = _add(bench, Overlap.SKIP)
    run = _first(bench)

    bench.clock.advance(3 * _MINUTE)
    bench.end(run)

    assert _slots(bench, job_id) == [1]
    (following,) = bench.tick(_MINUTE)
    assert (following.slot_at, following.passed_over) == (START + 5 * _MINUTE, 3)


def test_queued_points_run_one_after_the_other_oldest_first(bench: Bench) -> None:
    job_id = _add(bench, Overlap.QUEUE)
    run = _first(bench)

    bench.clock.advance(3 * _MINUTE)
    bench.end(run)
    _end_all(bench)

    runs = list(reversed(bench.scheduler.get_run_log(job_id)))
    assert _slots(bench, job_id) == [1, 2, 3, 4]
    assert [run.passed_over for run in runs] == [0, 0, 0, 0]
    assert [run.late_ms // _MINUTE for run in runs] == [0, 2, 1, 0]
    assert {run.source for run in runs} == {Source.EVERY}
    assert bench.job(job_id).next_run_at == START + 5 * _MINUTE


def test_points_that_pass_while_queued_ones_run_queue_behind_them(bench: Bench) -> None:
    job_id = _add(bench, Overlap.QUEUE)
    run = _first(bench)
    bench.clock.advance(2 * _MINUTE)
    bench.end(run)

    bench.clock.advance(_MINUTE)
    _end_all(bench)

    assert _slots(bench, job_id) == [1, 2, 3, 4]


def test_at_most_a_hundred_points_queue_and_the_older_ones_are_counted(bench: Bench) -> None:
    job_id = _add(bench, Overlap.QUEUE, Policy(time_limit=None))
    run = _first(bench)

    bench.clock.advance(120 * _MINUTE)
    bench.end(run)
    _end_all(bench)

    assert _slots(bench, job_id) == [1, *range(22, 122)]
    after = next(run for run in bench.scheduler.get_run_log(job_id, limit=200) if run.passed_over)
    assert (after.slot_at, after.passed_over, after.passed_reason) == (START + 22 * _MINUTE, 20, "running")


def test_the_latest_point_runs_once_afterwards(bench: Bench) -> None:
    job_id = _add(bench, Overlap.LATEST)
    run = _first(bench)

    bench.clock.advance(3 * _MINUTE)
    bench.end(run)
    _end_all(bench)

    assert _slots(bench, job_id) == [1, 4]
    (newest, _) = bench.scheduler.get_run_log(job_id)
    assert (newest.passed_over, newest.passed_reason) == (2, "running")


def test_a_point_that_passes_during_a_manual_run_is_handled_alike(bench: Bench) -> None:
    job_id = _add(bench, Overlap.LATEST)
    bench.scheduler.trigger(job_id)
    (run,) = bench.tick()

    bench.clock.advance(3 * _MINUTE)
    bench.end(run)
    _end_all(bench)

    assert _slots(bench, job_id) == [3]


def test_points_queue_behind_a_manual_run(bench: Bench) -> None:
    job_id = _add(bench, Overlap.QUEUE)
    bench.scheduler.trigger(job_id)
    (run,) = bench.tick()

    bench.clock.advance(3 * _MINUTE)
    bench.end(run)
    _end_all(bench)

    assert _slots(bench, job_id) == [1, 2, 3]


def test_each_schedule_has_its_own_rule(bench: Bench) -> None:
    entries = [
        Entry(Cron("* * * * *", timezone="UTC"), key="often"),
        Entry(Cron("*/2 * * * *", timezone="UTC"), key="even", on_overlap=Overlap.QUEUE),
        Entry(Cron("*/3 * * * *", timezone="UTC"), key="third", on_overlap=Overlap.LATEST),
    ]
    job_id = bench.scheduler.add_job("job", entries)
    run = _first(bench)

    bench.clock.advance(5 * _MINUTE)
    bench.end(run)
    _end_all(bench)

    runs = list(reversed(bench.scheduler.get_run_log(job_id)))
    assert _slots(bench, job_id) == [1, 2, 4, 6]
    assert [run.schedule_keys for run in runs[1:]] == [("even",), ("even",), ("even", "third")]
    assert [run.passed_over for run in runs] == [0, 0, 1, 1]


def test_the_latest_point_is_that_of_each_set_of_parameters(bench: Bench) -> None:
    entries = [
        Entry(Every("1m"), key="full", parameters={"mode": "full"}, on_overlap=Overlap.LATEST),
        Entry(Every("2m"), key="quick", parameters={"mode": "quick"}, on_overlap=Overlap.LATEST),
    ]
    job_id = bench.scheduler.add_job("job", entries, parameters={"mode": "full"})
    run = _first(bench)

    bench.clock.advance(4 * _MINUTE)
    bench.end(run)
    bench.clock.advance(2 * _MINUTE)
    _end_all(bench)

    runs = list(reversed(bench.scheduler.get_run_log(job_id)))
    assert _slots(bench, job_id) == [1, 4, 6, 7]
    assert [run.parameters["mode"] for run in runs] == ["full", "quick", "quick", "full"]


def test_queued_points_survive_a_crash_and_run_once(bench: Bench) -> None:
    job_id = _add(bench, Overlap.QUEUE)
    run = _first(bench)
    bench.clock.advance(3 * _MINUTE)
    bench.end(run)

    bench.crash()
    bench.tick(1_000)
    _end_all(bench)

    outcomes = [run.outcome for run in reversed(bench.scheduler.get_run_log(job_id))]
    assert _slots(bench, job_id) == [1, 2, 3, 4]
    assert outcomes == [Outcome.SUCCESS, Outcome.INTERRUPTED, Outcome.SUCCESS, Outcome.SUCCESS]


def test_a_pause_ends_the_queue(bench: Bench) -> None:
    job_id = _add(bench, Overlap.QUEUE)
    run = _first(bench)
    bench.clock.advance(3 * _MINUTE)
    bench.end(run)

    bench.scheduler.pause_job(job_id)
    _end_all(bench)
    bench.scheduler.resume_job(job_id)

    assert _slots(bench, job_id) == [1, 2]
    (following,) = bench.tick(_MINUTE)
    assert (following.slot_at, following.passed_over) == (START + 5 * _MINUTE, 2)


def test_points_in_a_pause_of_the_run_are_not_queued(bench: Bench) -> None:
    job_id = _add(bench, Overlap.QUEUE)
    run = _first(bench)
    bench.clock.advance(_MINUTE)
    bench.scheduler.pause_job(job_id)
    bench.clock.advance(_MINUTE)
    bench.scheduler.resume_job(job_id)
    bench.clock.advance(_MINUTE)

    bench.end(run)
    _end_all(bench)

    assert _slots(bench, job_id) == [1, 4]


def test_a_changed_schedule_ends_the_queue(bench: Bench) -> None:
    job_id = _add(bench, Overlap.QUEUE)
    run = _first(bench)
    bench.clock.advance(2 * _MINUTE)
    bench.scheduler.update_job(job_id, schedule=[Entry(Every("1m"), on_overlap=Overlap.LATEST)])
    bench.clock.advance(_MINUTE)

    bench.end(run)
    _end_all(bench)

    assert _slots(bench, job_id) == [1, 4]


def test_a_failed_slot_is_retried_before_the_queue(bench: Bench) -> None:
    job_id = _add(
        bench, Overlap.QUEUE, Policy(retry=Retry(attempts=1, delay_ms=5_000), backoff=Backoff.none())
    )
    run = _first(bench)
    bench.clock.advance(2 * _MINUTE)

    bench.end(run, Outcome.FAILURE)
    bench.tick(5_000)
    _end_all(bench)

    runs = list(reversed(bench.scheduler.get_run_log(job_id)))
    assert [(run.slot_at, run.attempt) for run in runs] == [
        (START + _MINUTE, 1),
        (START + _MINUTE, 2),
        (START + 2 * _MINUTE, 1),
        (START + 3 * _MINUTE, 1),
    ]


def test_back_off_and_limits_delay_the_queue(bench: Bench) -> None:
    policy = Policy(backoff=Backoff.ladder(20_000), limits=Limits(min_ms=10_000))
    job_id = _add(bench, Overlap.QUEUE, policy)
    run = _first(bench)
    bench.clock.advance(2 * _MINUTE)

    bench.end(run, Outcome.FAILURE)

    job = bench.job(job_id)
    assert (job.next_run_at, job.next_source) == (bench.clock.now_ms() + 20_000, Source.BACKOFF)
    (queued,) = bench.tick(20_000)
    assert queued.slot_at == START + 2 * _MINUTE
    bench.end(queued)
    job = bench.job(job_id)
    assert (job.next_run_at, job.next_source) == (bench.clock.now_ms() + 10_000, Source.CLAMPED_MIN)


# --- Restart -------------------------------------------------------------------------------------------


def _restarting(bench: Bench, *argv: str) -> str:
    action = Command(argv=argv)
    entries = [Entry(Every("1m"), on_overlap=Overlap.RESTART)]
    return bench.scheduler.add_job("job", entries, action, policy=Policy(retry=Retry(attempts=2)))


def _wait_for_end(bench: Bench, run_id: str) -> Run:
    engine = bench.scheduler.engine.get_engine()
    while (run := bench.recorded(run_id)).outcome is Outcome.RUNNING:
        engine.wait_for_end(0.1)
        bench.scheduler.tick()
    return run


def test_a_run_is_stopped_when_the_job_is_due_again_and_a_new_one_starts(bench: Bench) -> None:
    job_id = _restarting(bench, "sleep", "1000")
    bench.tick(_MINUTE)
    (first,) = bench.scheduler.get_run_log(job_id)

    bench.tick(_MINUTE)
    ended = _wait_for_end(bench, first.id)

    assert (ended.outcome, ended.reason) == (Outcome.CANCELLED, SkipReason.RESTARTED)
    bench.scheduler.tick()
    newest = bench.scheduler.get_run_log(job_id)[0]
    assert (newest.outcome, newest.slot_at) == (Outcome.RUNNING, START + 2 * _MINUTE)
    assert newest.started_at is not None
    assert newest.started_at >= (ended.finished_at or 0)


def test_the_loop_wakes_up_to_restart_a_job(bench: Bench) -> None:
    _restarting(bench, "sleep", "1000")
    bench.tick(_MINUTE)
    bench.clock.advance(50_000)
    bench.scheduler.tick()

    assert bench.scheduler.engine.get_engine().delay_ms() == 10_000


def _on_call(bench: Bench, event_id: str, content: bytes = b"") -> None:
    """Let an event happen, as the watcher of another thread reports it."""
    store = bench.scheduler._store
    with store.transaction():
        accept(
            store,
            Happening(job_id="job", key="1", event_id=event_id, at=bench.clock.now_ms(), input=content),
        )


@pytest.mark.usefixtures("stand_in_watchers")
@pytest.mark.parametrize("crashes", [False, True])
def test_an_event_stops_the_run_and_the_newest_one_starts(bench: Bench, *, crashes: bool) -> None:
    entries = [Entry(OnWebhook(), on_overlap=Overlap.RESTART)]
    bench.scheduler.add_job("job", entries, Command(argv=("sleep", "1000")), job_id="job")
    _on_call(bench, "a")
    bench.tick()
    (first,) = bench.scheduler.get_run_log("job")

    _on_call(bench, "b")
    _on_call(bench, "c", b"newest")
    if crashes:
        bench.crash()
    bench.tick(1_000)
    ended = _wait_for_end(bench, first.id)
    bench.scheduler.tick()

    if not crashes:
        assert (ended.outcome, ended.reason) == (Outcome.CANCELLED, SkipReason.RESTARTED)
    newest, *others = bench.scheduler.get_run_log("job")
    assert [run.id for run in others] == [first.id]
    assert (newest.outcome, newest.event_id) == (Outcome.RUNNING, "c")
    assert bench.scheduler.runs.input(newest.id) == b"newest"


@pytest.mark.usefixtures("stand_in_watchers")
def test_an_event_restarts_nothing_while_the_job_does_not_run(bench: Bench) -> None:
    entries = [Entry(OnWebhook(), on_overlap=Overlap.RESTART)]
    bench.scheduler.add_job("job", entries, job_id="job")
    _on_call(bench, "a")
    (run,) = bench.tick()
    assert bench.recorded(run.id).outcome is Outcome.RUNNING
    bench.end(run)
    assert bench.recorded(run.id).outcome is Outcome.SUCCESS


def test_a_function_is_not_restarted_but_followed_by_the_latest_run(bench: Bench) -> None:
    job_id = _add(bench, Overlap.RESTART)
    run = _first(bench)

    bench.tick(3 * _MINUTE)
    assert bench.recorded(run.id).outcome is Outcome.RUNNING
    bench.end(run)
    _end_all(bench)

    assert _slots(bench, job_id) == [1, 4]


def test_a_paused_job_is_not_restarted(bench: Bench) -> None:
    job_id = _restarting(bench, "sleep", "1000")
    bench.tick(_MINUTE)
    bench.scheduler.pause_job(job_id)

    bench.tick(2 * _MINUTE)
    bench.scheduler.resume_job(job_id)
    bench.tick(59_000)

    (run,) = bench.scheduler.get_run_log(job_id)
    assert run.outcome is Outcome.RUNNING
    bench.tick(1_000)
    assert _wait_for_end(bench, run.id).reason is SkipReason.RESTARTED


def test_an_edit_decides_for_the_run_under_way_whether_it_is_restarted(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1m"), Command(argv=("sleep", "1000")))
    bench.tick(_MINUTE)
    (run,) = bench.scheduler.get_run_log(job_id)

    bench.scheduler.update_job(job_id, schedule=[Entry(Every("1m"), on_overlap=Overlap.RESTART)])
    bench.tick(_MINUTE)

    assert _wait_for_end(bench, run.id).reason is SkipReason.RESTARTED
