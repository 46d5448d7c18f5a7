"""Corrects jobs and runs whose end the store could not record yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from halo_scheduler.model import Job, JobStatus, Outcome, Run, Situation
from halo_scheduler.model.alarms import UnrecordedEnd
from halo_scheduler.model.words import ERRORS

Ends = Mapping[str, UnrecordedEnd]
"""The results still to be recorded, by job id: a job has one current run at most."""
NO_ENDS: Ends = {}


def ended_job(job: Job, ends: Ends) -> Job:
    """Return a job as it is after its run, if that has ended."""
    end = ends.get(job.id)
    if end is None or job.status is not JobStatus.RUNNING:
        return job
    return replace(job, status=JobStatus.IDLE, last_outcome=end.outcome, last_completed_at=end.finished_at)


def ended_situation(situation: Situation, ends: Ends) -> Situation:
    """Return a job's situation as it is after its run, if that has ended."""
    end = ends.get(situation.job_id)
    if end is None or situation.status is not JobStatus.RUNNING:
        return situation
    return situation._replace(
        status=JobStatus.IDLE,
        waiting=None,
        last_outcome=end.outcome,
        errors=situation.errors + (end.outcome in ERRORS),
    )


def ended_run(run: Run, ends: Ends) -> Run:
    """Return a run with its actual result, if it has ended."""
    end = ends.get(run.job_id)
    if end is None or end.run_id != run.id or run.outcome is not Outcome.RUNNING:
        return run
    return replace(run, outcome=end.outcome, finished_at=end.finished_at)


def still_running(runs: Iterable[Run], ends: Ends) -> list[Run]:
    """Return the runs that have not ended."""
    return [run for run in runs if ended_run(run, ends).outcome is Outcome.RUNNING]
