"""`halo list`, `show` and `remove`: the jobs there are."""

from __future__ import annotations

import json
import shlex
import sys
from typing import assert_never

import click

from halo_scheduler.cli.schedule_options import choice_of
from halo_scheduler.cli.shown import (
    duration,
    moment,
    next_words,
    outcome_mark,
    print_table,
    run_words,
    status_mark,
    status_words,
)
from halo_scheduler.clock import SystemClock
from halo_scheduler.finding import find_job
from halo_scheduler.model import Action, Callback, Command, HttpRequest, Job, JobStatus, Policy, Prompt
from halo_scheduler.output_text import plain_line
from halo_scheduler.schedule.describe import describe, describe_when
from halo_scheduler.schedule.interval import interval_in_words
from halo_scheduler.schedule.words import counted
from halo_scheduler.service import Scheduler

_RECENT = 5


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
    if as_json:
        click.echo(json.dumps([job.to_dict() for job in jobs], ensure_ascii=False, indent=2))
        return
    if not jobs:
        click.echo(
            "no jobs yet; add one with: halo add" if text is group is status is None else "no such jobs"
        )
        return
    now_ms = SystemClock().now_ms()
    print_table(
        ["", "NAME", "SCHEDULE", "NEXT", "LAST RUN"],
        [
            [status_mark(job), job.name, describe(job.schedule), next_words(job, now_ms), _last(job, now_ms)]
            for job in jobs
        ],
    )


@click.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable; times in epoch milliseconds.")
def show(*, name: str, as_json: bool) -> None:
    """Show everything about a job: what it does, when it runs next, how its last runs went."""
    now_ms = SystemClock().now_ms()
    with Scheduler.open() as scheduler:
        job = find_job(scheduler, name)
        runs = scheduler.get_run_log(job.id, limit=_RECENT)
    if as_json:
        data = job.to_dict() | {"runs": [run.to_dict() | {"duration_ms": run.duration_ms} for run in runs]}
        click.echo(json.dumps(data, ensure_ascii=False, indent=2))
        return
    click.echo(f"{status_mark(job)} {click.style(job.name, bold=True)}")
    for label, text in _details(job, now_ms):
        click.echo(f"  {click.style(f'{label:<9}', dim=True)} {plain_line(text, 1_000)}")
    for run in runs:
        at = run.started_at or run.finished_at or 0
        click.echo(
            f"  {outcome_mark(run.outcome)} {moment(at)}  {duration(run.duration_ms):<9} {run_words(run)}"
        )


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


def _details(job: Job, now_ms: int) -> list[tuple[str, str]]:
    details = [
        ("id", job.id),
        ("status", status_words(job)),
        ("about", job.description),
        ("group", job.group or ""),
        ("does", _action_words(job.action)),
        ("when", describe(job.schedule)),
        ("next", next_words(job, now_ms)),
        ("policy", _policy_words(job.policy)),
        ("errors", f"{job.errors} in a row; {job.last_error}" if job.errors else ""),
    ]
    return [(label, text) for label, text in details if text]


def _action_words(action: Action) -> str:
    match action:
        case Command(argv=argv, line=line, shell=shell):
            return shlex.join(argv) if argv else f"{line} ({shell})"
        case HttpRequest(method=method, url=url):
            return f"{method} {url}"
        case Prompt(text=text, agent=agent):
            return f"asks {agent or 'the default agent'}: {text}"
        case Callback(name=name):
            return f"calls {name or 'a function'} of the program that embeds Halo"
        case _:
            assert_never(action)


def _policy_words(policy: Policy) -> str:
    limit_ms = policy.time_limit_ms
    parts = [
        "never stopped" if limit_ms is None else f"stops after {interval_in_words(limit_ms)}",
        _retry_words(policy.retry.attempts),
        f"gives up after {counted(policy.max_errors, 'error')}" if policy.max_errors else "never gives up",
        "catches up once" if policy.catch_up == "once" else "does not catch up",
    ]
    return " · ".join(parts)


def _retry_words(attempts: int) -> str:
    return "no retries" if not attempts else "1 retry" if attempts == 1 else f"{attempts} retries"


def _last(job: Job, now_ms: int) -> str:
    if job.last_run_at is None or job.last_outcome is None:
        return "never" if job.last_run_at is None else "running"
    return f"{outcome_mark(job.last_outcome)} {_ago(job.last_run_at, now_ms)}"


def _ago(at: int, now_ms: int) -> str:
    return describe_when(at, now_ms).replace(" late", " ago")
