"""`halo trash`: removed jobs."""

from __future__ import annotations

import json

import click

from halo_scheduler.cli.command_table import Subcommands
from halo_scheduler.cli.terminal.completions import complete_removed
from halo_scheduler.cli.terminal.terminal import open_to_read, print_table, short_id
from halo_scheduler.clock import SystemClock
from halo_scheduler.grammar.english import short_date
from halo_scheduler.grammar.zone import local_time
from halo_scheduler.model.changes import TERMINAL
from halo_scheduler.service.lookup import find_removed
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.wording.schedules import describe
from halo_scheduler.wording.status import next_words

_JSON = click.option("--json", "as_json", is_flag=True, help="Machine-readable; times in epoch milliseconds.")


@click.group(cls=Subcommands, invoke_without_command=True)
@_JSON
@click.pass_context
def trash(context: click.Context, *, as_json: bool) -> None:
    """List removed jobs, the latest first, or restore one.

    \b
    Examples:
      halo trash
      halo trash restore backup

    A deleted job is kept for 30 days, with its runs.
    """
    if context.invoked_subcommand is None:
        _list(as_json=as_json)
    elif as_json:
        raise click.UsageError("put --json after the command")


def _list(*, as_json: bool) -> None:
    with open_to_read() as scheduler:
        jobs = scheduler.list_removed()
        times = scheduler.jobs.trash_times()
    jobs = [job for job in jobs if job.id in times]
    if as_json:
        data = [
            job.to_dict() | {"removed_at": times[job.id][0], "kept_until": times[job.id][1]} for job in jobs
        ]
        click.echo(json.dumps(data, ensure_ascii=False, indent=2))
        return
    if not jobs:
        click.echo("the trash is empty")
        return
    rows = [[job.name, describe(job.schedule), *map(_date, times[job.id]), short_id(job.id)] for job in jobs]
    print_table(["NAME", "SCHEDULE", "REMOVED", "KEPT UNTIL", "ID"], rows)


def _date(at: int) -> str:
    return short_date(local_time(at))


@trash.command("list")
@_JSON
def list_(*, as_json: bool) -> None:
    """List removed jobs, the latest first.

    \b
    Examples:
      halo trash list
      halo trash list --json
    """
    _list(as_json=as_json)


@trash.command()
@click.argument("name", shell_complete=complete_removed)
def restore(*, name: str) -> None:
    """Restore a removed job; missed runs aren't caught up.

    \b
    Examples:
      halo trash restore backup
      halo trash restore 3f2a9c1b

    If several share the name, the latest is restored; use the id for others.
    """
    with Scheduler.open(actor=TERMINAL) as scheduler:
        removed = find_removed(scheduler, name)
        scheduler.restore_job(removed.id)
        job = scheduler.get_job(removed.id) or removed
        situation = scheduler.jobs.situation(removed.id)
    click.echo(f"restored {job.name}; next: {next_words(situation, SystemClock().now_ms())}")
