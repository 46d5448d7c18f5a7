"""`halo show`, `duplicate`, `remove` and `trash`."""

from __future__ import annotations

import json
from dataclasses import fields

import click

from halo_scheduler.cli.command_table import Subcommands
from halo_scheduler.cli.terminal.completions import complete_jobs, complete_removed
from halo_scheduler.cli.terminal.following import cause_words, causes_of, run_data, run_line
from halo_scheduler.cli.terminal.job_details import (
    JobContext,
    job_context,
    print_details,
    waiting_run_data,
)
from halo_scheduler.cli.terminal.terminal import (
    folded,
    job_data,
    moment,
    open_to_read,
    outcome_mark,
    print_table,
    require_yes,
    short_id,
    typed,
)
from halo_scheduler.clock import SystemClock
from halo_scheduler.grammar.english import listed, short_date
from halo_scheduler.grammar.zone import local_time
from halo_scheduler.model import JobSpec
from halo_scheduler.model.changes import TERMINAL
from halo_scheduler.model.codec import encode
from halo_scheduler.service.lookup import find_job, find_removed
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.wording.measures import took_words
from halo_scheduler.wording.schedules import describe
from halo_scheduler.wording.status import next_words

_RECENT = 5
_JSON = click.option("--json", "as_json", is_flag=True, help="Machine-readable; times in epoch milliseconds.")


@click.command()
@click.argument("name", shell_complete=complete_jobs)
@_JSON
def show(*, name: str, as_json: bool) -> None:
    """Show a job: its settings, its next run and its recent runs.

    \b
    Examples:
      halo show backup
      halo show 3f2a9c1b --json
    """
    now_ms = SystemClock().now_ms()
    with open_to_read() as scheduler:
        job = find_job(scheduler, name)
        runs = scheduler.get_run_log(job.id, limit=_RECENT)
        context = job_context(scheduler, job)
        causes = causes_of(scheduler, runs)
    if as_json:
        data = (
            job_data(job.to_dict(), context.situation, now_ms)
            | _context_data(context, now_ms)
            | {"runs": [run_data(run) for run in runs]}
        )
        click.echo(json.dumps(data, ensure_ascii=False, indent=2))
        return
    print_details(job, context, now_ms)
    for run in runs:
        at = run.started_at or run.finished_at or 0
        words = f"{moment(at)}  {took_words(run.duration_ms):<9} {run_line(run)}{cause_words(run, causes)}"
        click.echo(f"  {outcome_mark(run.outcome)} {folded(words, 4)}")


def _context_data(context: JobContext, now_ms: int) -> dict[str, object]:
    usage, waiting = context.usage, context.situation.waiting
    return {
        "today": {"day": usage.day, "runs": usage.runs, "cost": usage.cost, "resets_at": usage.resets_at},
        "questions": [question.to_dict() for question in context.questions],
        "chain": encode(context.chain),
        "waiting_runs": [waiting_run_data(run, now_ms) for run in context.waiting],
        "waits_until": None if waiting is None else waiting.deadline,
    }


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME…", shell_complete=complete_jobs)
@click.option("--yes", is_flag=True, help="Don't ask for confirmation.")
def remove(*, names: tuple[str, ...], yes: bool) -> None:
    """Move jobs to the trash, where they are kept for 30 days. Current runs finish.

    \b
    Examples:
      halo remove backup
      halo remove backup report --yes
      halo trash restore backup
    """
    with Scheduler.open(actor=TERMINAL) as scheduler:
        found = {job.id: job for job in (find_job(scheduler, name) for name in names)}
        if not yes:
            require_yes(f"Remove {listed([job.name for job in found.values()])}?")
        for job in found.values():
            scheduler.remove_job(job.id)
            click.echo(f"removed {job.name}; restore it with: halo trash restore {typed(job.name)}")


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


@click.group(cls=Subcommands, invoke_without_command=True)
@_JSON
@click.pass_context
def trash(context: click.Context, *, as_json: bool) -> None:
    """List removed jobs, the latest first, or restore one.

    \b
    Examples:
      halo trash
      halo trash restore backup

    Removed jobs are kept for 30 days, with their runs.
    """
    if context.invoked_subcommand is None:
        _list_removed(as_json=as_json)
    elif as_json:
        raise click.UsageError("put --json after the command")


def _list_removed(*, as_json: bool) -> None:
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
def list_removed(*, as_json: bool) -> None:
    """List removed jobs, the latest first.

    \b
    Examples:
      halo trash list
      halo trash list --json
    """
    _list_removed(as_json=as_json)


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
