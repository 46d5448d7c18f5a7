"""`halo pause` and `resume`: jobs that stop for a while."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from halo_scheduler.cli.options.option_values import under
from halo_scheduler.cli.terminal.completions import complete_jobs
from halo_scheduler.cli.terminal.job_details import print_details, standing_of
from halo_scheduler.cli.terminal.terminal import WAITS, moment
from halo_scheduler.clock import SystemClock
from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.checks import require_interval
from halo_scheduler.grammar.english import counted, listed
from halo_scheduler.grammar.when import parse_when
from halo_scheduler.model import Job, JobStatus, StatusReason
from halo_scheduler.model.changes import TERMINAL
from halo_scheduler.service.lookup import find_job
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.transfer.review import Reviewer
from halo_scheduler.wording.status import next_words, status_words

_NEED_A_LOOK = (StatusReason.ASSISTANT, StatusReason.IMPORTED)
_MOST_NAMED = 5


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME…]", shell_complete=complete_jobs)
@click.option("--all", "everything", is_flag=True, help="All jobs that are not disabled.")
@click.option("--for", "lasting", metavar="2h", help="They go on by themselves after this time.")
@click.option("--until", metavar="WHEN", help='They go on by themselves at this time, like "tomorrow 9:00".')
def pause(*, names: tuple[str, ...], everything: bool, lasting: str | None, until: str | None) -> None:
    """Pause jobs: they do not start by themselves until they are resumed. What runs goes on to its end.

    \b
    Examples:
      halo pause backup
      halo pause backup report --for 2h
      halo pause --all --until "tomorrow 9:00"

    Nothing is made up for when a pause ends: the next run is the next one of the schedule.
    """
    if everything == bool(names):
        raise click.UsageError("give either the names of jobs or --all")
    until_at = _end_of_pause(lasting, until)
    with Scheduler.open(actor=TERMINAL) as scheduler:
        if everything:
            before = _by_id(scheduler)
            scheduler.pause_all(until_at)
            found = [job for job in scheduler.list_jobs() if _is_changed(job, before)]
        else:
            found = _find(scheduler, names)
            for job in found:
                scheduler.pause_job(job.id, until_at)
        _tell_paused(scheduler, found, until_at, everything=everything)


def _end_of_pause(lasting: str | None, until: str | None) -> int | None:
    if lasting is not None and until is not None:
        raise click.UsageError("give either --for or --until")
    now_ms = SystemClock().now_ms()
    if lasting is not None:
        return now_ms + require_interval("--for", lasting)
    if until is None:
        return None
    with under("--until"):
        until_at = parse_when(until, now_ms)
    if until_at <= now_ms:
        raise ScheduleError("this time is in the past", path="--until")
    return until_at


def _tell_paused(
    scheduler: Scheduler, asked: Sequence[Job], until_at: int | None, *, everything: bool
) -> None:
    end = "" if until_at is None else f" until {moment(until_at)}"
    if everything:
        click.echo(f"paused {counted(len(asked), 'job')}{end}" if asked else "there was nothing to pause")
        return
    now = scheduler.jobs.get_many(job.id for job in asked)
    for job in asked:
        after = now.get(job.id, job)
        if after.status_reason in _NEED_A_LOOK:
            words = status_words(scheduler.jobs.situation(job.id), SystemClock().now_ms())
            click.echo(f"{job.name} is paused already: {words}")
        elif after.status is JobStatus.RUNNING:
            click.echo(f"paused {job.name}{end}; it runs just now, to its end")
        elif after.status is JobStatus.DISABLED:
            click.echo(f"paused {job.name}{end}; it is disabled as well")
        else:
            click.echo(f"paused {job.name}{end}")


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME…]", shell_complete=complete_jobs)
@click.option("--all", "everything", is_flag=True, help="All jobs that you paused.")
@click.option("--imported", is_flag=True, help="All jobs that were imported and have not run since.")
@click.option("--yes", is_flag=True, help="Do not show what an assistant made or changed, and do not ask.")
def resume(*, names: tuple[str, ...], everything: bool, imported: bool, yes: bool) -> None:
    """Let paused or disabled jobs go on from now; their error count begins anew, and nothing is made up for.

    \b
    Examples:
      halo resume backup
      halo resume backup report
      halo resume --all
      halo resume --imported

    What an assistant made or changed is shown to you first. With --all, disabled jobs stay so, and so does what was
    imported or an assistant made: look at those and name them. So does with --imported what has invisible characters
    or a name that looks like another one.
    """
    if sum((bool(names), everything, imported)) != 1:
        raise click.UsageError("give either the names of jobs, --all or --imported")
    with Scheduler.open(actor=TERMINAL) as scheduler:
        if everything or imported:
            _resume_many(scheduler, imported=imported)
            return
        for job in _find(scheduler, names):
            _show_first(scheduler, job, yes=yes)
            scheduler.resume_job(job.id, seen=job.spec)
            situation = scheduler.jobs.situation(job.id)
            click.echo(f"{job.name} goes on; next: {next_words(situation, SystemClock().now_ms())}")


def _show_first(scheduler: Scheduler, job: Job, *, yes: bool) -> None:
    """Show what nobody has looked at, and ask, where somebody can answer; else say what is odd about it."""
    standing = standing_of(scheduler, job)
    is_unseen = job.status_reason is StatusReason.ASSISTANT or (
        job.status_reason is StatusReason.IMPORTED and standing.notes
    )
    if is_unseen and not yes and sys.stdin.isatty():
        print_details(job, standing, SystemClock().now_ms())
        if not click.confirm("Let it run?", err=True):
            raise click.ClickException(f"{job.name} stays as it is")
        return
    _tell_notes(job, standing.notes)


def _resume_many(scheduler: Scheduler, *, imported: bool) -> None:
    before = _by_id(scheduler)
    if imported:
        _resume_imported(scheduler, list(before.values()))
    else:
        scheduler.resume_all()
    after = scheduler.list_jobs()
    count = sum(_is_changed(job, before) for job in after)
    click.echo(f"resumed {counted(count, 'job')}" if count else "there was nothing to resume")
    left = [job.name for job in after if job.status_reason in _NEED_A_LOOK]
    if left:
        more = [f"{len(left) - _MOST_NAMED} more"] if len(left) > _MOST_NAMED else []
        words = listed([*left[:_MOST_NAMED], *more])
        click.echo(f"{WAITS} still paused until you have looked at it: {words}", err=True)


def _resume_imported(scheduler: Scheduler, jobs: Sequence[Job]) -> None:
    """Resume what was imported, but for jobs that have something odd about them."""
    reviewer = Reviewer(job.name for job in jobs)
    for job in jobs:
        if job.status_reason is not StatusReason.IMPORTED:
            continue
        if notes := reviewer.notes(job.spec):
            _tell_notes(job, notes)
        else:
            scheduler.resume_job(job.id, seen=job.spec)


def _tell_notes(job: Job, notes: Sequence[str]) -> None:
    for note in notes:
        click.echo(f"{WAITS} {job.name}: {note}", err=True)


def _find(scheduler: Scheduler, names: Sequence[str]) -> list[Job]:
    """Return the jobs that are meant, each once; one that is not there keeps the others as they are."""
    found = {job.id: job for job in (find_job(scheduler, name) for name in names)}
    return list(found.values())


def _by_id(scheduler: Scheduler) -> dict[str, Job]:
    return {job.id: job for job in scheduler.list_jobs()}


def _is_changed(job: Job, before: dict[str, Job]) -> bool:
    was = before.get(job.id, job)
    return (job.status, job.status_reason, job.paused_until) != (
        was.status,
        was.status_reason,
        was.paused_until,
    )
