"""`halo duplicate`: copy a job."""

from __future__ import annotations

from dataclasses import fields

import click

from halo_scheduler.cli.terminal.completions import complete_jobs
from halo_scheduler.cli.terminal.terminal import typed
from halo_scheduler.clock import SystemClock
from halo_scheduler.model import JobSpec
from halo_scheduler.model.changes import TERMINAL
from halo_scheduler.service.lookup import find_job
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.wording.status import next_words


@click.command()
@click.argument("name", shell_complete=complete_jobs)
@click.argument("new_name", required=False, metavar="[NEW NAME]")
@click.option("--enable", is_flag=True, help="Enable the copy.")
def duplicate(*, name: str, new_name: str | None, enable: bool) -> None:
    """Copy a job, without its runs.

    \b
    Examples:
      halo duplicate backup
      halo duplicate backup "backup of the photos"
      halo edit "backup of the photos" -- rsync -a ~/photos /mnt/backup
      halo resume "backup of the photos"

    The copy is disabled until you resume it, so that you can edit it first.
    """
    with Scheduler.open(actor=TERMINAL) as scheduler:
        job = find_job(scheduler, name)
        spec = job.spec
        given = {field.name: getattr(spec, field.name) for field in fields(JobSpec)}
        given |= {"name": new_name or scheduler.jobs.unused_name(job.name), "enabled": enable}
        # A job that awaits review still does under another name.
        paused_by = job.review
        copy = scheduler.get_job(scheduler.add_job(**given, paused_by=paused_by)) or job
        situation = scheduler.jobs.situation(copy.id)
    click.echo(f"copied {job.name} to {copy.name}")
    if copy.next_run_at is not None:
        click.echo(f"  next: {next_words(situation, SystemClock().now_ms())}")
    elif not enable or paused_by:
        click.echo(f"  enable it with: halo resume {typed(copy.name)}")
