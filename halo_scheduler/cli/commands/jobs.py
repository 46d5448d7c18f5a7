"""`halo show` and `halo remove`."""

from __future__ import annotations

import json

import click

from halo_scheduler.cli.terminal.completions import complete_jobs
from halo_scheduler.cli.terminal.confirm import require_yes
from halo_scheduler.cli.terminal.following import cause_words, causes_of, run_data, run_words
from halo_scheduler.cli.terminal.job_details import (
    JobContext,
    job_context,
    print_details,
    waiting_run_data,
)
from halo_scheduler.cli.terminal.terminal import folded, job_data, moment, open_to_read, outcome_mark, typed
from halo_scheduler.clock import SystemClock
from halo_scheduler.grammar.english import listed
from halo_scheduler.model.changes import TERMINAL
from halo_scheduler.model.codec import encode
from halo_scheduler.service.lookup import find_job
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.wording.measures import took_words

_RECENT = 5


@click.command()
@click.argument("name", shell_complete=complete_jobs)
@click.option("--json", "as_json", is_flag=True, help="Machine-readable; times in epoch milliseconds.")
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
        words = f"{moment(at)}  {took_words(run.duration_ms):<9} {run_words(run)}{cause_words(run, causes)}"
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
