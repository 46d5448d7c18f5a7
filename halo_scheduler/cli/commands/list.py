"""`halo list`: the jobs there are."""

from __future__ import annotations

from collections.abc import Sequence

import click

from halo_scheduler.cli.options.sections import choice_of
from halo_scheduler.cli.terminal.completing import complete_groups
from halo_scheduler.cli.terminal.terminal import (
    LATE_MS,
    is_starting,
    next_words,
    outcome_mark,
    print_json_list,
    print_table,
    status_mark,
    tell_nobody_runs,
    tell_refusal,
)
from halo_scheduler.clock import SystemClock
from halo_scheduler.grammar.english import counted, listed
from halo_scheduler.grammar.text import plain_line
from halo_scheduler.model import JobStatus
from halo_scheduler.service.quick_list import JobLine, Overview, WaitingAfter
from halo_scheduler.wording.schedules import describe, describe_when

_MOST_NAMED = 2


@click.command("list")
@click.argument("text", required=False)
@click.option("--group", metavar="GROUP", shell_complete=complete_groups, help="Only the jobs of a group.")
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
    wanted = JobStatus(status) if status else None
    if as_json:
        _print_json(wanted, group, text)
        return
    now_ms = SystemClock().now_ms()
    with Overview.open(now_ms) as overview:
        tell_refusal(overview.refusal)
        jobs = overview.list_jobs(status=wanted, group=group, text=text)
        asking = overview.get_asking()
        waiting = overview.get_waiting_after()
        before = _before(jobs if text is group is status is None else overview.list_jobs())
        is_overdue = any(_is_overdue(job, now_ms) for job in jobs) and not overview.is_run(now_ms)
    if not jobs:
        click.echo(
            "no jobs yet; add one with: halo add" if text is group is status is None else "no such jobs"
        )
        return
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
    print_table(["", "NAME", "SCHEDULE", "NEXT", "LAST RUN"], rows, spare=["SCHEDULE", "LAST RUN"])
    if is_overdue:
        tell_nobody_runs()


def _is_overdue(job: JobLine, now_ms: int) -> bool:
    return job.next_run_at is not None and job.next_run_at <= now_ms - LATE_MS


def _print_json(status: JobStatus | None, group: str | None, text: str | None) -> None:
    """Print everything about the jobs, for which everything has to be read."""
    from halo_scheduler.cli.terminal.open_jobs import open_to_read  # noqa: PLC0415 - the table above comes without it

    with open_to_read() as scheduler:
        jobs = scheduler.list_jobs(status=status, group=group, text=text)
    print_json_list([job.to_dict() for job in jobs])


def _before(jobs: Sequence[JobLine]) -> dict[str, list[str]]:
    """Return the names of the jobs that others run after, by the id of the other."""
    found: dict[str, list[str]] = {}
    for job in jobs:
        for follower_id in job.follower_ids:
            found.setdefault(follower_id, []).append(job.name)
    return found


def _next(job: JobLine, now_ms: int, waiting: WaitingAfter | None, before: list[str], *, asks: bool) -> str:
    words = next_words(job, now_ms, asks=asks)
    if asks or job.status is not JobStatus.IDLE or job.waiting_for is not None:
        return words
    if waiting is not None:
        # What waits to start comes before what is planned for later.
        return f"waiting for {plain_line(waiting.reason) or 'a place'}, after {waiting.cause_name}"
    if job.next_run_at is None and before:
        return f"after {listed(before) if len(before) <= _MOST_NAMED else counted(len(before), 'other job')}"
    return words


def _last(job: JobLine, now_ms: int) -> str:
    if job.last_run_at is None or job.last_outcome is None:
        return "never" if job.last_run_at is None or is_starting(job) else "running"
    return (
        f"{outcome_mark(job.last_outcome)} {describe_when(job.last_run_at, now_ms).replace(' late', ' ago')}"
    )
