"""`halo status`: what the engine is doing."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

import click

from halo_scheduler.cli.terminal.open_jobs import open_to_read
from halo_scheduler.cli.terminal.terminal import WAITS, waiting_status
from halo_scheduler.clock import SystemClock
from halo_scheduler.grammar.text import plain_line
from halo_scheduler.host.disk_space import disk_space
from halo_scheduler.model import Job
from halo_scheduler.model.codec import encode
from halo_scheduler.rules.chains import WaitingRun, alike
from halo_scheduler.service.engine_control import Status
from halo_scheduler.wording.schedules import describe_when

_LONGEST = 500
_WAITING_FIELDS = ("id", "name", "waiting_for", "waiting_reason", "next_run_at")


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Machine-readable; times in epoch milliseconds.")
def status(*, as_json: bool) -> None:
    """Show whether jobs are being run, by whom, what waits and for what, and what comes next.

    \b
    Examples:
      halo status
      halo status --json
    """
    with open_to_read() as scheduler:
        found = scheduler.status()
        jobs = scheduler.list_jobs()
        runs = scheduler.runs.waiting_in_chains()
    waiting = [job for job in jobs if job.waiting_for is not None]
    if as_json:
        data = dataclasses.asdict(found) | {
            "waiting": [{name: getattr(job, name) for name in _WAITING_FIELDS} for job in waiting],
            "waiting_runs": [encode(run) for run in runs],
        }
        click.echo(json.dumps(data, ensure_ascii=False, indent=2))
        return
    # What waits is due already, and told of below.
    ahead = [job.next_run_at for job in jobs if job.next_run_at is not None and job.waiting_for is None]
    _show(found, min(ahead, default=None), SystemClock().now_ms())
    _show_waiting(waiting, runs, {job.id: job.name for job in jobs})
    _show_disk(scheduler.path)


def _show(found: Status, next_due_at: int | None, now_ms: int) -> None:
    if found.state == "running":
        click.echo(f"{click.style('●', fg='green')} running: {found.owner}")
    else:
        click.echo(f"{click.style('◌', dim=True)} not running; start it with: halo daemon")
    click.echo(f"  runs under way: {found.running}")
    if next_due_at is not None:
        click.echo(f"  next due: {describe_when(next_due_at, now_ms)}")


def _show_waiting(jobs: Sequence[Job], runs: Sequence[WaitingRun], names: dict[str, str]) -> None:
    lines = [f"{job.name}: {waiting_status(job)}" for job in jobs]
    lines += [
        f"{names.get(run.job_id, run.job_id)}: {_runs_words(count)} after {run.cause_name}, "
        f"waiting for {run.reason or 'a place'}"
        for run, count in ((group[0], len(group)) for group in alike(runs))
    ]
    for line in lines:
        click.echo(f"{WAITS} {plain_line(line, _LONGEST)}")


def _show_disk(database: Path) -> None:
    space = disk_space(str(database.parent))
    if space is not None and space.is_full:
        left = f"{space.free >> 10} KB are free"
        click.echo(
            f"{WAITS} the disk of {database} is full ({left}); make some room, or runs cannot be recorded"
        )


def _runs_words(count: int) -> str:
    return "a run" if count == 1 else f"{count} runs"
