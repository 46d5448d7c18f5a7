"""`halo show`, `resume` and `remove`: one job."""

from __future__ import annotations

import json
import sys

import click

from halo_scheduler.checks import LONGEST_TEXT
from halo_scheduler.cli.details import Standing, details, standing_of
from halo_scheduler.cli.run_words import cause_words, causes_of, run_data, run_words
from halo_scheduler.cli.shown import (
    duration,
    moment,
    next_words,
    outcome_mark,
    status_mark,
)
from halo_scheduler.clock import SystemClock
from halo_scheduler.finding import find_job
from halo_scheduler.model import Job, StatusReason
from halo_scheduler.output_text import plain_line
from halo_scheduler.service import Scheduler
from halo_scheduler.strict_json import encode

_RECENT = 5
_LONGEST = 1_000


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
