"""`halo add`: a new job."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from halo_scheduler.cli.options.jobs import OPTIONS_BY_FIELD, fields_of_new, job_options
from halo_scheduler.cli.options.option_values import SectionCommand, naming_options
from halo_scheduler.cli.terminal.completions import complete_files
from halo_scheduler.cli.terminal.job_details import print_notes
from halo_scheduler.cli.terminal.terminal import warn_not_running
from halo_scheduler.clock import SystemClock
from halo_scheduler.model.changes import TERMINAL
from halo_scheduler.service.lookup import find_job
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.wording.schedules import describe
from halo_scheduler.wording.status import next_words


@click.command(cls=SectionCommand)
@click.argument("name")
@job_options
@click.argument("command", nargs=-1, metavar="[-- COMMAND ARG…]", shell_complete=complete_files)
def add(*, name: str, command: tuple[str, ...], **given: Any) -> None:
    """Add a job.

    \b
    Examples:
      halo add backup --every 6h -- rsync -a /home /mnt/backup
      halo add standup --when "every weekday at 9:30" -- notify-send Standup
      halo add report --cron "0 9 * * 1-5" --dir ~/reports -- ./report.sh --weekly
      halo add tea --cron "0 9 * * *" --cron "30 14 * * *" -- notify-send Tea
      halo add tidy --after 30m --shell /bin/sh -- 'find /tmp/x -mtime +7 -delete'
      halo add ping --every 5m --http GET https://example.org/health
      halo add hook --once "tomorrow 9:00" --http POST https://example.org/hook \\
          --header 'Authorization: Bearer ${secret:HOOK}' \\
          --json-body '{"hello": 1}'
      halo add review --cron @daily --dir ~/code \\
          --prompt "Review what changed today, {{date}}."
      halo add fix --every 1h --prompt @fix.md --max-runs-per-day 5 \\
          --work-github me/shop --work-token GITHUB
      halo add photos --every 1d --if-mains --if-reachable nas.local:22 \\
          --if-deadline 6h --keep-awake -- ./copy.sh
      halo add mirror --cron @daily --on-success report -- ./mirror.sh
      halo add build --manual --param branch=main -- ./build.sh

    Store secrets with "halo secret set" and use them as ${secret:NAME} in --env, --stdin, --header and bodies.
    """
    now_ms = SystemClock().now_ms()
    with Scheduler.open(actor=TERMINAL) as scheduler, naming_options(OPTIONS_BY_FIELD, given):
        fields = fields_of_new(
            given, command, partial(find_job, scheduler), now_ms, scheduler.settings.read()
        )
        job = scheduler.get_job(scheduler.add_job(name, **fields))
        if job is not None:
            click.echo(f"added {job.name}: {describe(job.schedule)}")
            click.echo(f"  next: {next_words(scheduler.jobs.situation(job.id), now_ms)}")
            print_notes(scheduler, job, now_ms)
        if job is not None and job.next_run_at is not None and scheduler.status().state != "running":
            warn_not_running()
