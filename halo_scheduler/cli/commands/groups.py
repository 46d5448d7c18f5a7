"""`halo group`: groups of jobs and their limits."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

import click

from halo_scheduler.cli.options.option_values import NONE, count_up_to
from halo_scheduler.cli.terminal.completions import complete_groups
from halo_scheduler.cli.terminal.terminal import (
    WAITS,
    job_data,
    open_to_read,
    outcome_mark,
    print_table,
    status_mark,
)
from halo_scheduler.clock import SystemClock
from halo_scheduler.errors import SchedulerError
from halo_scheduler.grammar.checks import require_label
from halo_scheduler.grammar.english import counted
from halo_scheduler.grammar.text import plain_line
from halo_scheduler.model import Job
from halo_scheduler.model.changes import TERMINAL
from halo_scheduler.service.lookup import near_name
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.wording.schedules import elapsed_in_words
from halo_scheduler.wording.status import next_words

_MOST_AT_ONCE = 1_000_000


@dataclass(frozen=True, slots=True)
class _Group:
    """A row of the table."""

    name: str
    max_concurrent: int | None
    running: int
    jobs: list[str]


def _limit_or_none(text: str) -> int | str:
    return text if text == NONE else count_up_to(_MOST_AT_ONCE)(text)


@click.command()
@click.argument("name", required=False, shell_complete=complete_groups)
@click.option(
    "--max-concurrent",
    type=_limit_or_none,
    metavar="N|none",
    help="How many jobs of the group may run at once.",
)
@click.option("--json", "as_json", is_flag=True, help="Machine-readable.")
def group(*, name: str | None, max_concurrent: int | str | None, as_json: bool) -> None:
    """List groups, or limit how many jobs of a group run at once.

    \b
    Examples:
      halo group
      halo group night --max-concurrent 1
      halo group night --max-concurrent none

    Put a job into a group with "halo add … --group NAME" or "halo edit … --group NAME".
    """
    if max_concurrent is not None:
        if name is None:
            raise click.UsageError("give the name of a group: halo group NAME --max-concurrent N")
        _limit(name, None if isinstance(max_concurrent, str) else max_concurrent)
        return
    with open_to_read() as scheduler:
        groups = _groups(scheduler)
    if name is not None and name not in groups:
        raise SchedulerError(f"no such group: {name!r}{near_name(name, list(groups))}")
    found = list(groups.values()) if name is None else [groups[name]]
    if as_json:
        data = [asdict(one) for one in found]
        click.echo(json.dumps(data if name is None else data[0], ensure_ascii=False, indent=2))
    elif not found:
        click.echo("no groups yet; put a job into one with: halo edit NAME --group GROUP")
    else:
        _print(found)


def _limit(name: str, most: int | None) -> None:
    with Scheduler.open(actor=TERMINAL) as scheduler:
        scheduler.set_group_limit(require_label("name", name), most)
        is_empty = name not in {job.group for job in scheduler.jobs.names()}
    click.echo(f"{name}: no limit" if most is None else f"{name}: at most {counted(most, 'job')} at once")
    if is_empty:
        click.echo(f"{WAITS} the group {name!r} has no jobs yet")


def _groups(scheduler: Scheduler) -> dict[str, _Group]:
    """Return the groups that have jobs or a limit, sorted by name."""
    limits, running = scheduler.jobs.group_limits(), scheduler.status().running_by_group
    jobs: dict[str, list[str]] = {name: [] for name in limits}
    for job in scheduler.jobs.names():
        if job.group is not None:
            jobs.setdefault(job.group, []).append(job.name)
    return {
        name: _Group(name, limits.get(name), running.get(name, 0), jobs[name])
        for name in sorted(jobs, key=str.casefold)
    }


def jobs_of_group(scheduler: Scheduler, name: str) -> list[Job]:
    """Return the jobs of a group, the next to run first; SchedulerError suggests a group of a similar name."""
    jobs = scheduler.list_jobs(group=name)
    if not jobs:
        near = near_name(name, sorted({job.group for job in scheduler.jobs.names() if job.group}))
        raise SchedulerError(f"no jobs in the group {name!r}{near}")
    return jobs


def show_group(scheduler: Scheduler, name: str, *, as_json: bool) -> None:
    """Show the limit of a group, what runs of it, and the last run, next run and errors of each of its jobs."""
    now_ms = SystemClock().now_ms()
    jobs = jobs_of_group(scheduler, name)
    group = _groups(scheduler)[name]
    situations = scheduler.jobs.situations([job.id for job in jobs])
    if as_json:
        found = [job_data(job.to_dict(), situations[job.id], now_ms) for job in jobs]
        click.echo(json.dumps(asdict(group) | {"jobs": found}, ensure_ascii=False, indent=2))
        return
    most = "no limit" if group.max_concurrent is None else f"limit {group.max_concurrent}"
    click.echo(f"{click.style(plain_line(name), bold=True)}: {group.running} running, {most}")
    rows = [
        [
            status_mark(situations[job.id]),
            job.name,
            next_words(situations[job.id], now_ms),
            _last_words(job, now_ms),
            f"{job.errors} ({plain_line(job.last_error)})" if job.errors else "0",
        ]
        for job in jobs
    ]
    print_table(["", "NAME", "NEXT", "LAST RUN", "ERRORS"], rows, firm=["NAME", "NEXT"])


def _last_words(job: Job, now_ms: int) -> str:
    if job.last_run_at is None:
        return "never"
    return f"{outcome_mark(job.last_outcome)} {elapsed_in_words(max(0, now_ms - job.last_run_at))} ago"


def _print(groups: list[_Group]) -> None:
    rows = [
        [
            one.name,
            "no limit" if one.max_concurrent is None else str(one.max_concurrent),
            str(one.running),
            ", ".join(one.jobs) or "no jobs",
        ]
        for one in groups
    ]
    print_table(["GROUP", "LIMIT", "RUNNING", "JOBS"], rows)
