"""Skipping the next run of a job: once, recorded, and shown until then."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from assistant import Assistant
from machine import START, Bench

from halo_scheduler import Cron, Every, Manual, Once, Outcome, Policy, Retry, ScheduleError, SchedulerError
from halo_scheduler.model import CatchUp, SkipReason, StatusReason
from halo_scheduler.wording.status import next_sentence, next_words

_MINUTE = 60_000
_HOUR = 60 * _MINUTE


@pytest.fixture
def bench(tmp_path: Path, dead_processes: None) -> Iterator[Bench]:  # noqa: ARG001 - they die before it opens
    found = Bench(tmp_path / "halo.db")
    yield found
    found.close()


def test_the_next_slot_is_recorded_as_skipped_once(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"))
    bench.scheduler.skip_next(job_id)
    bench.scheduler.skip_next(job_id)

    assert bench.tick(_HOUR) == []

    (run,) = bench.scheduler.get_run_log(job_id)
    assert (run.outcome, run.reason, run.slot_at) == (Outcome.SKIPPED, SkipReason.USER, START + _HOUR)
    assert run.error == "the user asked to skip this run"
    job = bench.job(job_id)
    assert (job.skips_next, job.next_run_at) == (False, START + 2 * _HOUR)
    (following,) = bench.tick(_HOUR)
    assert following.passed_over == 0


def test_it_can_be_taken_back_before_its_time(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"))
    bench.scheduler.skip_next(job_id)
    bench.scheduler.skip_next(job_id, skip=False)

    (run,) = bench.tick(_HOUR)

    assert run.slot_at == START + _HOUR
    with pytest.raises(ScheduleError, match="the next run of job isn't skipped"):
        bench.scheduler.skip_next(job_id, skip=False)


def test_it_is_shown_with_the_run_after_it(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Cron("0 * * * *", timezone="UTC"))
    bench.scheduler.skip_next(job_id)
    now_ms = bench.clock.now_ms()

    situation = bench.scheduler.jobs.situation(job_id)

    assert situation.blocker is SkipReason.USER
    assert situation.starts_at == START + 2 * _HOUR
    assert next_words(situation, now_ms) == "today at 01:00 · skipped, then today at 02:00"
    assert next_sentence(situation, now_ms).startswith("Next run: ")
    assert " · skipped, then " in next_sentence(situation, now_ms)
    assert "But it will be skipped then: the user asked to skip this run." in (
        bench.scheduler.jobs.explain(job_id).sentences
    )


def test_a_run_planned_for_a_time_is_not_said_to_be_skipped(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"))
    bench.scheduler.trigger(job_id, at=START + 2 * _HOUR)
    bench.scheduler.skip_next(job_id)
    said = bench.scheduler.jobs.explain(job_id).sentences
    assert [one.partition(":")[0] for one in said[1:]] == [
        "But it will be skipped then",
        "A manual run is planned for 02",
    ]


def test_the_only_time_of_a_job_can_be_skipped(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Once(START + _HOUR))
    bench.scheduler.skip_next(job_id)
    assert bench.scheduler.jobs.situation(job_id).then_at is None
    assert next_words(bench.scheduler.jobs.situation(job_id), START) == "today at 01:00 · skipped"

    bench.tick(_HOUR)

    (run,) = bench.scheduler.get_run_log(job_id)
    assert run.error.startswith("the user asked to skip this run; it had only this time")
    assert bench.job(job_id).status_reason is StatusReason.DONE


def test_while_it_runs_the_run_after_that_is_skipped(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"))
    (run,) = bench.tick(_HOUR)
    bench.scheduler.skip_next(job_id)
    bench.end(run)

    assert bench.tick(_HOUR) == []

    assert bench.scheduler.get_run_log(job_id)[0].reason is SkipReason.USER


def test_a_manual_run_is_not_skipped(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"))
    bench.scheduler.skip_next(job_id)
    bench.scheduler.trigger(job_id)

    (run,) = bench.tick()
    bench.end(run)

    assert bench.job(job_id).skips_next


def test_a_retry_can_be_skipped(bench: Bench) -> None:
    job_id = bench.scheduler.add_job(
        "job", Every("1h"), policy=Policy(retry=Retry(attempts=1, delay_ms=1_000))
    )
    (run,) = bench.tick(_HOUR)
    bench.end(run, Outcome.FAILURE)
    bench.scheduler.skip_next(job_id)

    assert bench.tick(1_000) == []

    skipped = bench.scheduler.get_run_log(job_id)[0]
    assert (skipped.reason, skipped.attempt) == (SkipReason.USER, 2)


@pytest.mark.parametrize(
    ("catch_up", "hours"), [(CatchUp.ONCE, [1, 3]), (CatchUp.ALL, [1, 2, 3]), (CatchUp.SKIP, [1])]
)
def test_only_the_slot_to_be_skipped_is_not_caught_up(
    bench: Bench, catch_up: CatchUp, hours: list[int]
) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"), policy=Policy(catch_up=catch_up))
    bench.tick()
    bench.scheduler.skip_next(job_id)

    bench.crash()
    bench.tick(3 * _HOUR)
    while bench.open_runs:
        bench.end(next(run for run in bench.started if run.id in bench.open_runs))

    runs = list(reversed(bench.scheduler.get_run_log(job_id)))
    assert [((run.slot_at or 0) - START) // _HOUR for run in runs] == hours
    first = Outcome.MISSED if catch_up is CatchUp.SKIP else Outcome.SKIPPED
    assert [run.outcome for run in runs] == [first, *[Outcome.SUCCESS] * (len(hours) - 1)]
    assert not bench.job(job_id).skips_next


def test_pausing_and_a_new_schedule_take_it_back(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"))
    bench.scheduler.skip_next(job_id)
    bench.scheduler.pause_job(job_id)
    bench.scheduler.resume_job(job_id)
    assert not bench.job(job_id).skips_next
    bench.scheduler.skip_next(job_id)
    bench.scheduler.update_job(job_id, description="other")
    assert bench.job(job_id).skips_next
    bench.scheduler.update_job(job_id, schedule=Every("2h"))
    assert not bench.job(job_id).skips_next


def test_a_job_without_a_next_run_is_refused(bench: Bench) -> None:
    manual = bench.scheduler.add_job("manual", Manual())
    paused = bench.scheduler.add_job("paused", Every("1h"))
    bench.scheduler.pause_job(paused)
    for job_id, name in ((manual, "manual"), (paused, "paused")):
        with pytest.raises(ScheduleError, match=f"{name} has no next run to skip"):
            bench.scheduler.skip_next(job_id)


def test_an_assistant_cancels_only_skips_of_assistants(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"))
    assistant = Assistant(bench.scheduler, "test")
    assistant.skip_next(job_id)
    assistant.skip_next(job_id, skip=False)
    bench.scheduler.skip_next(job_id)
    with pytest.raises(
        SchedulerError, match="a person asked to skip this run; only a person can cancel the skip"
    ):
        assistant.skip_next(job_id, skip=False)
    bench.scheduler.skip_next(job_id, skip=False)
    assistant.skip_next(job_id)
    bench.tick(_HOUR)
    assert bench.scheduler.get_run_log(job_id)[0].error == "the assistant “test” asked to skip this run"


def test_an_assistant_cannot_skip_runs_of_a_job_that_a_person_stopped(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"))
    bench.scheduler.pause_job(job_id)
    with pytest.raises(SchedulerError, match="a person stopped job; only a person can change that"):
        Assistant(bench.scheduler).skip_next(job_id)
