"""`halo list`, `show`, `resume` and `remove`: the jobs there are."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

import click

from halo_scheduler.chains import WaitingRun
from halo_scheduler.checks import LONGEST_TEXT
from halo_scheduler.cli.details import Standing, details, standing_of
from halo_scheduler.cli.option_sections import choice_of
from halo_scheduler.cli.run_words import cause_words, causes_of, run_data, run_words
from halo_scheduler.cli.shown import (
    duration,
    moment,
    next_words,
    outcome_mark,
    print_table,
    status_mark,
)
from halo_scheduler.clock import SystemClock
from halo_scheduler.finding import MOST_QUESTIONS, find_job
from halo_scheduler.model import Job, JobStatus, StatusReason
from halo_scheduler.output_text import plain_line
from halo_scheduler.schedule.describe import describe, describe_when
from halo_scheduler.schedule.words import counted, listed
from halo_scheduler.service import Scheduler
from halo_scheduler.strict_json import encode

_RECENT = 5
_LONGEST = 1_000
_MOST_NAMED = 2


@click.command("list")
@click.argument("text", required=False)
@click.option("--group", metavar="GROUP", help="Only the jobs of a group.")
@click.option("--status", type=choice_of(JobStatus), help="Only jobs that are so.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable; times in epoch milliseconds.")
def list_(*, text: str | None, group: str | None, status: str | None, as_json: bool) -> None:
    """List the jobs, the next to run first; a TEXT is looked for in name, description and group.

    \b
    Examples:
      halo list
      halo list backup --status idle
      halo list --json
    """
    with Scheduler.open() as scheduler:
        jobs = scheduler.list_jobs(status=JobStatus(status) if status else None, group=group, text=text)
        asking = {question.job_id for question in scheduler.list_questions(limit=MOST_QUESTIONS)}
        waiting = {run.job_id: run for run in reversed(scheduler.list_waiting_chain_runs())}
        before = _before(jobs if text is group is status is None else scheduler.list_jobs())
    if as_json:
        click.echo(json.dumps([job.to_dict() for job in jobs], ensure_ascii=False, indent=2))
        return
    if not jobs:
        click.echo(
            "no jobs yet; add one with: halo add" if text is group is status is None else "no such jobs"
        )
        return
    now_ms = SystemClock().now_ms()
    rows = [
        [
            status_mark(job, asks=job.id in asking, waits=job.id in waiting),
            job.name,
            describe(job.schedule),
            _next(job, now_ms, waiting.get(job.id), before.get(job.id, []), asks=job.id in asking),
            _last(job, now_ms),
        ]
        for job in jobs
    ]
    print_table(["", "NAME", "SCHEDULE", "NEXT", "LAST RUN"], rows)


def _before(jobs: Sequence[Job]) -> dict[str, list[str]]:
    """Return the names of the jobs that others run after, by the id of the other."""
    found: dict[str, list[str]] = {}
    for job in jobs:
        for follower in job.followers:
            found.setdefault(follower.job_id, []).append(job.name)
    return found


def _next(job: Job, now_ms: int, waiting: WaitingRun | None, before: list[str], *, asks: bool) -> str:
    words = next_words(job, now_ms, asks=asks)
    if asks or job.status is not JobStatus.IDLE or job.waiting_for is not None:
        return words
    if waiting is not None:
        # What waits to start comes before what is planned for later.
        return f"waiting for {plain_line(waiting.reason) or 'a place'}, after {waiting.cause_name}"
    if job.next_run_at is None and before:
        return f"after {listed(before) if len(before) <= _MOST_NAMED else counted(len(before), 'other job')}"
    return words


@click.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable; times in epoch milliseconds.")
def show(*, name: str, as_json: bool) -> None:
    """Show everything about a job: what it does, when it runs next, how its last runs went."""
    now_ms = SystemClock().now_ms()
    with Scheduler.open() as scheduler:
        job = find_job(scheduler, name)
        runs = scheduler.get_run_log(job.id, limit=_RECENT)
        standing = standing_of(scheduler, job)
        causes = causes_of(scheduler, runs)
    if as_json:
        data = job.to_dict() | _beside(standing) | {"runs": [run_data(run) for run in runs]}
        click.echo(json.dumps(data, ensure_ascii=False, indent=2))
        return
    _print_details(job, standing, now_ms)
    for run in runs:
        at = run.started_at or run.finished_at or 0
        click.echo(
            f"  {outcome_mark(run.outcome)} {moment(at)}  {duration(run.duration_ms):<9} "
            f"{run_words(run)}{cause_words(run, causes)}"
        )


def _beside(standing: Standing) -> dict[str, object]:
    usage = standing.usage
    return {
        "today": {"day": usage.day, "runs": usage.runs, "cost": usage.cost, "resets_at": usage.resets_at},
        "questions": [question.to_dict() for question in standing.questions],
        "chain": encode(standing.chain),
        "waiting_runs": [encode(run) for run in standing.waiting],
        "waits_until": standing.waits_until,
    }


def _print_details(job: Job, standing: Standing, now_ms: int, longest: int = _LONGEST) -> None:
    click.echo(f"{status_mark(job, asks=bool(standing.questions))} {click.style(job.name, bold=True)}")
    for label, text in details(job, standing, now_ms):
        click.echo(f"  {click.style(f'{label:<9}', dim=True)} {plain_line(text, longest)}")


@click.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not show what an assistant made or changed, and do not ask.")
def resume(*, name: str, yes: bool) -> None:
    """Let a paused or disabled job go on from now; one that an assistant made or changed is shown to you first."""
    with Scheduler.open() as scheduler:
        job = find_job(scheduler, name)
        if job.status_reason is StatusReason.ASSISTANT and not yes and sys.stdin.isatty():
            _print_details(job, standing_of(scheduler, job), SystemClock().now_ms(), LONGEST_TEXT)
            click.confirm("Let it run?", abort=True)
        scheduler.resume_job(job.id, seen=job.spec)
        resumed = scheduler.get_job(job.id) or job
    click.echo(f"{job.name} goes on; next: {next_words(resumed, SystemClock().now_ms())}")


@click.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
def remove(*, name: str, yes: bool) -> None:
    """Remove a job; it stays in the trash for 30 days. A run under way goes on to its end."""
    with Scheduler.open() as scheduler:
        job = find_job(scheduler, name)
        if not yes and sys.stdin.isatty():
            click.confirm(f"Remove {job.name}?", abort=True)
        scheduler.remove_job(job.id)
    click.echo(f"removed {job.name}")


def _last(job: Job, now_ms: int) -> str:
    if job.last_run_at is None or job.last_outcome is None:
        return "never" if job.last_run_at is None else "running"
    return f"{outcome_mark(job.last_outcome)} {_ago(job.last_run_at, now_ms)}"


def _ago(at: int, now_ms: int) -> str:
    return describe_when(at, now_ms).replace(" late", " ago")
