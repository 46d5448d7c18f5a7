"""Jobs that somebody else than the user paused: they wait until a person resumes just them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from machine import START, Bench

from halo_scheduler import Command, Every, Job, Outcome, Policy, Prompt, ScheduleError
from halo_scheduler.model import JobStatus, StatusReason
from halo_scheduler.model.changes import Actor
from halo_scheduler.model.settings import AssistantAccess

_HOUR = 3_600_000
_ASSISTANT = StatusReason.ASSISTANT


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    found = Bench(tmp_path / "halo.db")
    yield found
    found.close()


def _job(bench: Bench, job_id: str) -> Job:
    job = bench.scheduler.get_job(job_id)
    assert job is not None
    return job


def _events(bench: Bench, job_id: str) -> list[tuple[str, Any]]:
    events = reversed(bench.scheduler._store.events.of_job(job_id))
    return [(str(event.kind), event.detail.get("by")) for event in events]


def test_a_job_can_be_added_paused_because_of_an_assistant(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"), paused_by=_ASSISTANT)
    job = _job(bench, job_id)
    assert (job.status, job.status_reason, job.next_run_at) == (JobStatus.PAUSED, _ASSISTANT, None)
    assert bench.tick(5 * _HOUR) == []
    assert _events(bench, job_id) == [("job-added", None), ("job-paused", "assistant")]


def test_jobs_can_be_added_paused_by_name(bench: Bench) -> None:
    first, second = bench.scheduler.add_jobs(
        [
            {"name": "a", "schedule": Every("1h"), "paused_by": "assistant"},
            {"name": "b", "schedule": Every("1h"), "paused_by": None},
        ]
    )
    assert _job(bench, first).status_reason is _ASSISTANT
    assert _job(bench, second).status is JobStatus.IDLE


def test_an_edit_can_pause_a_job_in_the_same_step(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"))
    bench.scheduler.pause_job(job_id, START + 2 * _HOUR)
    bench.scheduler.update_job(job_id, name="renamed", paused_by=_ASSISTANT)
    job = _job(bench, job_id)
    assert (job.name, job.status_reason, job.paused_until) == ("renamed", _ASSISTANT, None)
    assert bench.tick(5 * _HOUR) == []


def test_an_edit_that_is_refused_pauses_nothing(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"))
    with pytest.raises(ScheduleError):
        bench.scheduler.update_job(job_id, action=Prompt(agent="nobody"), paused_by=_ASSISTANT)
    assert _job(bench, job_id).status is JobStatus.IDLE


@pytest.mark.parametrize("word", ["nobody", 5])
def test_every_pausing_actor_is_known(bench: Bench, word: Any) -> None:
    with pytest.raises(ScheduleError, match="paused_by: must be one of"):
        bench.scheduler.add_job("job", Every("1h"), paused_by=word)
    job_id = bench.scheduler.add_job("other", Every("1h"))
    with pytest.raises(ScheduleError, match="paused_by: must be one of"):
        bench.scheduler.update_job(job_id, paused_by=word)


def test_a_job_that_runs_while_it_is_edited_is_paused_from_its_end_on(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"))
    (run,) = bench.tick(_HOUR)
    bench.scheduler.update_job(job_id, action=Command(argv=("true",)), paused_by=_ASSISTANT)
    assert _job(bench, job_id).status is JobStatus.RUNNING
    bench.finish(run, Outcome.SUCCESS)
    job = _job(bench, job_id)
    assert (job.status, job.status_reason, job.next_run_at) == (JobStatus.PAUSED, _ASSISTANT, None)


def test_a_person_resumes_it(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"), paused_by=_ASSISTANT)
    bench.scheduler.resume_job(job_id)
    job = _job(bench, job_id)
    assert (job.status, job.status_reason, job.next_run_at) == (JobStatus.IDLE, None, START + _HOUR)
    bench.scheduler.pause_job(job_id)
    assert _job(bench, job_id).status_reason is StatusReason.USER


def test_a_pause_until_later_does_not_let_it_go_unseen(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"))
    (run,) = bench.tick(_HOUR)
    bench.scheduler.update_job(job_id, action=Command(argv=("true",)), paused_by=_ASSISTANT)
    # It still shows as running: whoever pauses it now may not know that it was changed.
    bench.scheduler.pause_job(job_id, START + 2 * _HOUR)
    bench.finish(run, Outcome.SUCCESS)
    bench.tick(3 * _HOUR)
    job = _job(bench, job_id)
    assert (job.status_reason, job.paused_until, job.next_run_at) == (_ASSISTANT, None, None)


def test_resuming_all_leaves_alone_an_unreviewed_job(bench: Bench) -> None:
    unseen = bench.scheduler.add_job("unseen", Every("1h"), paused_by=_ASSISTANT)
    own = bench.scheduler.add_job("own", Every("1h"))
    bench.scheduler.pause_all()
    bench.scheduler.resume_all()
    assert _job(bench, own).status is JobStatus.IDLE
    assert _job(bench, unseen).status_reason is _ASSISTANT
    bench.scheduler.pause_all(START + _HOUR)
    bench.tick(2 * _HOUR)
    assert _job(bench, unseen).status_reason is _ASSISTANT


def test_a_disabled_job_that_an_assistant_edited_reports_the_assistant(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"), enabled=False)
    bench.scheduler.update_job(job_id, description="new", paused_by=_ASSISTANT)
    job = _job(bench, job_id)
    assert (job.status, job.status_reason) == (JobStatus.DISABLED, _ASSISTANT)
    bench.scheduler.resume_job(job_id)
    job = _job(bench, job_id)
    assert (job.status, job.status_reason, job.enabled) == (JobStatus.IDLE, None, True)


def test_it_stays_paused_in_the_trash_and_over_a_restart(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"), paused_by=_ASSISTANT)
    bench.scheduler.remove_job(job_id)
    bench.scheduler.restore_job(job_id)
    assert _job(bench, job_id).status_reason is _ASSISTANT
    bench.tick()
    bench.scheduler.stop()
    bench.crash()
    bench.tick(5 * _HOUR)
    assert _job(bench, job_id).status_reason is _ASSISTANT


def test_a_pause_of_an_assistant_is_reported_as_its_own_and_waits_for_no_review(bench: Bench) -> None:
    scheduler = bench.scheduler
    scheduler.settings.change(assistants=AssistantAccess.RUN)
    job_id = scheduler.add_job("job", Every("1h"), policy=Policy(assistants_may_run=True))
    with scheduler.acting_as(Actor.assistant("Robin")):
        assert scheduler.pause_job(job_id)
    by = StatusReason.PAUSED_BY_ASSISTANT
    job = _job(bench, job_id)
    assert (job.status_reason, job.review) == (by, None)
    situation = scheduler.jobs.situation(job_id)
    assert (situation.reason, situation.needs_review) == (by, False)
    assert scheduler.jobs.pausing_assistant(job_id) == "Robin"
    assert scheduler.jobs.explain(job_id).sentences == ("It is paused until you resume it.",)
    # Whoever pauses it as well makes that their own.
    scheduler.pause_all()
    assert (_job(bench, job_id).status_reason, scheduler.jobs.pausing_assistant(job_id)) == (
        StatusReason.USER,
        None,
    )
    scheduler.resume_all()
    assert _job(bench, job_id).status is JobStatus.IDLE


def test_why_a_job_is_disabled_goes_before_the_pause_of_an_assistant(bench: Bench) -> None:
    scheduler = bench.scheduler
    scheduler.settings.change(assistants=AssistantAccess.RUN)
    job_id = scheduler.add_job("job", Every("1h"), policy=Policy(assistants_may_run=True, max_errors=1))
    bench.finish(bench.tick(_HOUR)[0], Outcome.FAILURE)
    with scheduler.acting_as(Actor.assistant("Robin")):
        scheduler.pause_job(job_id)
    assert _job(bench, job_id).status_reason is StatusReason.ERRORS
    scheduler.resume_job(job_id)
    assert (_job(bench, job_id).status, _job(bench, job_id).status_reason) == (JobStatus.IDLE, None)
