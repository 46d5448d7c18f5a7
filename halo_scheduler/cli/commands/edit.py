"""`halo edit`: change a job."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import click

from halo_scheduler.cli.options.actions import action_option
from halo_scheduler.cli.options.jobs import OPTIONS_BY_FIELD, changed_fields, detail_option, job_options
from halo_scheduler.cli.options.option_values import SectionCommand, is_given, naming_options, with_options
from halo_scheduler.cli.options.policies import chain_option, condition_option
from halo_scheduler.cli.terminal.completions import complete_files, complete_jobs
from halo_scheduler.cli.terminal.job_details import details, job_context, print_notes
from halo_scheduler.clock import SystemClock
from halo_scheduler.grammar.text import plain_line
from halo_scheduler.model import Job
from halo_scheduler.model.changes import TERMINAL
from halo_scheduler.service.lookup import find_job
from halo_scheduler.service.scheduler import Scheduler

_LONGEST = 1_000
# What a cleared field is called; "none" for all others.
_GONE = {"starts": "whenever due", "follows": "no job"}

_REMOVING = (
    action_option("--no-env", is_flag=True, default=None, help="Remove all environment variables."),
    action_option("--no-headers", is_flag=True, default=None, help="Remove all headers."),
    action_option("--no-work", is_flag=True, default=None, help="Remove the work queue."),
    condition_option("--no-conditions", is_flag=True, default=None, help="Remove all conditions."),
    chain_option("--no-followers", is_flag=True, default=None, help="Remove all follow-up jobs."),
    detail_option("--no-params", is_flag=True, default=None, help="Remove all parameters."),
    detail_option("--no-group", is_flag=True, default=None, help="Remove from its group."),
    detail_option("--rename", metavar="NAME", help="New name."),
)


@click.command(cls=SectionCommand, creates_job=False)
@click.argument("name", shell_complete=complete_jobs)
@job_options
@partial(with_options, options=_REMOVING)
@click.argument("command", nargs=-1, metavar="[-- COMMAND ARG…]", shell_complete=complete_files)
def edit(*, name: str, command: tuple[str, ...], **given: Any) -> None:
    """Change the given options of a job; the others stay.

    \b
    Examples:
      halo edit backup                           open it in your editor
      halo edit backup --every 12h --keep-awake
      halo edit backup --if-mains --if-path /mnt/backup --if-deadline 2h
      halo edit backup --on-success report --on-failure alarm
      halo edit backup --no-conditions --group night --rename "nightly backup"
      halo edit report -- ./report.sh --monthly

    Without options, the job opens as a file in $VISUAL or $EDITOR. Lists such as --env, --if-path and --on-success
    are extended; start over with --no-env, --no-conditions or --no-followers. "none" removes a limit.
    """
    now_ms = SystemClock().now_ms()
    is_empty = not command and not any(is_given(value) for value in given.values())
    if is_empty and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError(
            "give at least one option, like --every 1h; the editor opens only on a terminal"
        )
    with Scheduler.open(actor=TERMINAL) as scheduler:
        job = find_job(scheduler, name)
        before = _lines(scheduler, job, now_ms)
        if is_empty:
            _edit_as_file(scheduler, job)
        else:
            with naming_options(OPTIONS_BY_FIELD, given):
                changes = changed_fields(job.spec, given, command, partial(find_job, scheduler), now_ms)
                if given["enabled"] and not job.enabled:
                    changes["enabled"] = True  # That resumes a job that was disabled by errors.
                if changes:
                    scheduler.update_job(job.id, seen=job.spec, **changes)
        changed = scheduler.get_job(job.id) or job
        if (changed.spec, changed.enabled) == (job.spec, job.enabled):
            click.echo(f"no changes to {job.name}")
            return
        click.echo(f"changed {changed.name}")
        _print_changes(before, _lines(scheduler, changed, now_ms))
        if (changed.schedule, changed.action) != (job.schedule, job.action):
            print_notes(scheduler, changed, now_ms)


def _edit_as_file(scheduler: Scheduler, job: Job) -> None:
    from halo_scheduler.cli.terminal.editor_file import edit_as_file  # noqa: PLC0415 - loads PyYAML

    edit_as_file(scheduler, job)


def _lines(scheduler: Scheduler, job: Job, now_ms: int) -> dict[str, str]:
    """Return the details of a job by label; several texts with one label are joined."""
    found: dict[str, str] = {}
    for label, text in details(job, job_context(scheduler, job), now_ms):
        found[label] = f"{found[label]}; {text}" if label in found else text
    return found


def _print_changes(before: dict[str, str], after: dict[str, str]) -> None:
    for label in dict.fromkeys((*after, *before)):
        if before.get(label) != after.get(label):
            text = plain_line(after.get(label, _GONE.get(label, "none")), _LONGEST)
            click.echo(f"  {click.style(f'{label:<9}', dim=True)} {text}")
