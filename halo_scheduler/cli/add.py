"""`halo add`: a new job."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from halo_scheduler.cli.action_options import action_of, action_options
from halo_scheduler.cli.policy_options import policy_of, policy_options
from halo_scheduler.cli.schedule_options import schedule_options, take_schedule_options
from halo_scheduler.cli.shown import next_words, note_line
from halo_scheduler.clock import SystemClock
from halo_scheduler.model import Command, HttpRequest, Job, Prompt
from halo_scheduler.schedule.describe import describe
from halo_scheduler.schedule.lint import lint
from halo_scheduler.service import Scheduler


@click.command()
@click.argument("name")
@schedule_options
@click.option("--group", metavar="GROUP", help="Jobs of a group can share a limit.")
@click.option("--description", default="", metavar="TEXT", help="What it is for.")
@click.option("--disabled", is_flag=True, help="Store it without letting it run by itself.")
@policy_options
@action_options
@click.argument("command", nargs=-1, metavar="[-- COMMAND ARG…]")
def add(*, name: str, command: tuple[str, ...], **given: Any) -> None:
    """Add a job.

    \b
    Examples:
      halo add backup --every 6h -- rsync -a /home /mnt/backup
      halo add report --cron "0 9 * * 1-5" --dir ~/reports -- ./report.sh --weekly
      halo add tidy --after 30m --shell /bin/sh -- 'find /tmp/x -mtime +7 -delete'
      halo add ping --every 5m --http GET https://example.org/health
      halo add hook --once "tomorrow 9:00" --http POST https://example.org/hook \\
          --header 'Authorization: Bearer ${secret:HOOK}' --json-body '{"hello": 1}'
      halo add review --cron @daily --prompt "Review what changed today, {{date}}." --dir ~/code
      halo add fix --every 1h --prompt @fix.md --work-github me/shop --work-token GITHUB --max-runs-per-day 5

    Secrets are kept with "halo secret set"; ${secret:NAME} stands for them in --env, --stdin, --header and bodies.
    """
    now_ms = SystemClock().now_ms()
    options = take_schedule_options(given)
    schedule = options.schedule(now_ms)
    action = action_of(given, command)
    with Scheduler.open() as scheduler:
        job_id = scheduler.add_job(
            name,
            schedule,
            action,
            description=given["description"],
            group=given["group"],
            anchor_at=options.anchor_at(now_ms),
            enabled=not given["disabled"],
            policy=policy_of(given),
        )
        job = scheduler.get_job(job_id)
        missing = _secret_names(action) - {secret.name for secret in scheduler.list_secrets()}
    if job is not None:
        _show_added(job, missing, now_ms)


def _secret_names(action: Command | HttpRequest | Prompt) -> frozenset[str]:
    source = None if isinstance(action, HttpRequest) else action.work_source
    return action.secret_names | (frozenset() if source is None else source.secret_names)


def _show_added(job: Job, missing_secrets: Iterable[str], now_ms: int) -> None:
    click.echo(f"added {job.name}: {describe(job.schedule)}")
    click.echo(f"  next: {next_words(job, now_ms)}")
    for note in lint(job.schedule, now_ms, anchor_at=job.anchor_at):
        click.echo(note_line(note))
    for name in sorted(missing_secrets):
        click.echo(
            f"{click.style('▲', fg='yellow')} the secret {name} is not set yet: halo secret set {name}"
        )
