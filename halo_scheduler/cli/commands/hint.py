"""`halo hint`: run a job sooner or at another pace for a while."""

from __future__ import annotations

import click

from halo_scheduler.cli.options.option_values import naming_options, under
from halo_scheduler.cli.terminal.completions import complete_jobs
from halo_scheduler.cli.terminal.terminal import folded
from halo_scheduler.clock import SystemClock
from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.checks import require_interval
from halo_scheduler.grammar.interval import format_interval
from halo_scheduler.grammar.text import plain_line
from halo_scheduler.grammar.when import parse_when
from halo_scheduler.model import SHORTEST_EVERY_MS, HintSource, Job
from halo_scheduler.model.changes import TERMINAL
from halo_scheduler.rules.planning import usual_ttl, usual_ttl_of_pace
from halo_scheduler.service.lookup import find_job
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.wording.status import next_words

_LONGEST = 500
_OPTIONS_BY_FIELD = {"ttl": ("--ttl",), "reason": ("--reason",), "every": ("--every",), "at": ("--at",)}


@click.command()
@click.argument("name", shell_complete=complete_jobs)
@click.option("--every", metavar="5m", help="Run at this pace for a while instead of the schedule.")
@click.option(
    "--at", "when", metavar="WHEN", help='One run at this time: "in 10m", "18:30", "tomorrow 9:00".'
)
@click.option("--ttl", metavar="1h", help="How long the hint lasts. [an hour, two runs, or until WHEN]")
@click.option("--reason", metavar="TEXT", help="Shown with the next run.")
@click.option("--clear", is_flag=True, help="Remove all hints and return to the schedule.")
def hint(
    *, name: str, every: str | None, when: str | None, ttl: str | None, reason: str | None, clear: bool
) -> None:
    """Make a job run sooner or at another pace for a while. Its schedule isn't changed.

    \b
    Examples:
      halo hint poll --every 1m --ttl 2h --reason "release day"
      halo hint backup --at "in 10m"
      halo hint poll --clear

    A faster pace applies at once, a slower one after the next run. --at applies if it is earlier than the next run.
    Hints don't override the job's limits (--min-interval) or a pause, and the fastest pace is 10s.

    With --read-lines, a job can give hints itself by printing lines like these:

    \b
      ::halo every=5m ttl=1h reason="queue is long"
      ::halo next=10m
    """
    if sum((every is not None, when is not None, clear)) != 1:
        raise click.UsageError("give exactly one of --every, --at and --clear")
    if clear and (ttl is not None or reason is not None):
        raise click.UsageError("use --ttl and --reason with --every or --at")
    with Scheduler.open(actor=TERMINAL) as scheduler, naming_options(_OPTIONS_BY_FIELD, {}):
        job = find_job(scheduler, name)
        if every is not None:
            _hint_pace(scheduler, job.id, every, ttl, reason or "")
        elif when is not None:
            _hint_run(scheduler, job.id, when, ttl, reason or "")
        else:
            scheduler.clear_hints(job.id, source=HintSource.USER)
        _print_plan(scheduler, scheduler.get_job(job.id) or job)


def _hint_pace(scheduler: Scheduler, job_id: str, every: str, ttl: str | None, reason: str) -> None:
    every_ms = require_interval("--every", every)
    if every_ms < SHORTEST_EVERY_MS:
        click.echo(f"{every} is too short; using {format_interval(SHORTEST_EVERY_MS)}", err=True)
    lasting = ttl or usual_ttl_of_pace(every_ms)
    scheduler.propose_interval(job_id, every, lasting, reason, source=HintSource.USER)


def _hint_run(scheduler: Scheduler, job_id: str, when: str, ttl: str | None, reason: str) -> None:
    now_ms = SystemClock().now_ms()
    with under("--at"):
        at = parse_when(when, now_ms)
    if at <= now_ms:
        raise ScheduleError("this time is in the past", path="--at")
    lasting = ttl or usual_ttl(at - now_ms)
    scheduler.propose_next_run(job_id, at, lasting, reason, source=HintSource.USER)


def _print_plan(scheduler: Scheduler, job: Job) -> None:
    """Print the next run and why it is then."""
    situation = scheduler.jobs.situation(job.id)
    click.echo(f"{job.name}; next: {next_words(situation, SystemClock().now_ms())}")
    for sentence in scheduler.jobs.explain(job.id).sentences:
        click.echo(click.style(f"  {folded(plain_line(sentence, _LONGEST), 2)}", dim=True))
