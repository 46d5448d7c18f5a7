"""`halo list`: the table of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from halo_scheduler.cli.terminal.terminal import (
    job_data,
    outcome_mark,
    print_json_list,
    print_table,
    status_mark,
    warn_not_running,
    warn_read_only,
    without_garbage_collection,
)
from halo_scheduler.clock import SystemClock
from halo_scheduler.grammar.interval import SECOND_MS
from halo_scheduler.model import JobStatus
from halo_scheduler.service.quick_list import JobLine, Overview
from halo_scheduler.wording.schedules import elapsed_in_words
from halo_scheduler.wording.short_schedules import describe_shortly
from halo_scheduler.wording.status import next_words

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def _complete_groups(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from halo_scheduler.cli.terminal.completions import complete_groups  # noqa: PLC0415 - not to list jobs

    return complete_groups(ctx, param, incomplete)


@click.command("list")
@click.argument("text", required=False)
@click.option("--group", metavar="GROUP", shell_complete=_complete_groups, help="Only jobs of this group.")
@click.option("--status", type=click.Choice([*map(str, JobStatus)]), help="Only jobs with this status.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable; times in epoch milliseconds.")
@without_garbage_collection()
def list_(*, text: str | None, group: str | None, status: str | None, as_json: bool) -> None:
    """List jobs, the next to run first. TEXT searches names, groups, descriptions, commands and schedules.

    \b
    Examples:
      halo list
      halo list backup --status idle
      halo list --json
    """
    wanted = JobStatus(status) if status else None
    if as_json:
        _print_json(wanted, group, text)
        return
    now_ms = SystemClock().now_ms()
    with Overview.open(now_ms) as overview:
        warn_read_only(overview.refusal)
        jobs = overview.list_jobs(status=wanted, group=group, text=text)
        is_overdue = any(one.is_late(now_ms) for _, one in jobs) and not overview.is_run(now_ms)
    if not jobs:
        click.echo(
            "no jobs yet; add one with: halo add" if text is group is status is None else "no matching jobs"
        )
        return
    rows = [
        [
            status_mark(situation),
            job.name,
            describe_shortly(job.schedule),
            next_words(situation, now_ms),
            _last(job, now_ms),
        ]
        for job, situation in jobs
    ]
    headings = ["", "NAME", "SCHEDULE", "NEXT", "LAST RUN"]
    print_table(headings, rows, spare=["SCHEDULE", "LAST RUN"], firm=["NAME", "NEXT"])
    if is_overdue:
        warn_not_running()


def _print_json(status: JobStatus | None, group: str | None, text: str | None) -> None:
    """Print all fields of the jobs, which takes longer than the table."""
    now_ms = SystemClock().now_ms()
    with Overview.open(now_ms) as overview:
        warn_read_only(overview.refusal)
        jobs = overview.list_data(status=status, group=group, text=text)
    print_json_list([job_data(data, situation, now_ms) for data, situation in jobs])


def _last(job: JobLine, now_ms: int) -> str:
    if job.last_run_at is None or job.last_outcome is None:
        is_running = job.last_run_at is not None and job.waiting_for is None
        return "running" if is_running else "never"
    past_ms = now_ms - job.last_run_at
    when = "just now" if past_ms < SECOND_MS else f"{elapsed_in_words(past_ms)} ago"
    return f"{outcome_mark(job.last_outcome)} {when}"
