"""`halo pause`, `halo resume`, `halo skip` and `halo hint`: change when a job runs next without editing it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence

import click

from halo_scheduler.cli.commands.groups import jobs_of_group
from halo_scheduler.cli.options.option_values import naming_options, under
from halo_scheduler.cli.terminal.completions import complete_groups, complete_jobs
from halo_scheduler.cli.terminal.job_details import job_context, print_details
from halo_scheduler.cli.terminal.terminal import WAITS, folded, moment
from halo_scheduler.clock import SystemClock
from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.checks import require_interval
from halo_scheduler.grammar.english import counted, listed
from halo_scheduler.grammar.interval import format_interval
from halo_scheduler.grammar.text import plain_line
from halo_scheduler.grammar.when import parse_when
from halo_scheduler.model import SHORTEST_EVERY_MS, HintSource, Job, JobStatus, StatusReason
from halo_scheduler.model.changes import TERMINAL
from halo_scheduler.rules.hints import usual_ttl, usual_ttl_of_pace
from halo_scheduler.service.lookup import find_job
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.wording.lint import Reviewer
from halo_scheduler.wording.status import next_words, status_words

_AWAIT_REVIEW = (StatusReason.ASSISTANT, StatusReason.IMPORTED)
_MOST_NAMED = 5
_LONGEST_REASON = 500
_OPTIONS_BY_FIELD = {"ttl": ("--ttl",), "reason": ("--reason",), "every": ("--every",), "at": ("--at",)}


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME…]", shell_complete=complete_jobs)
@click.option("--all", "everything", is_flag=True, help="All jobs that are not disabled.")
@click.option("--group", metavar="GROUP", shell_complete=complete_groups, help="All jobs of this group.")
@click.option("--for", "lasting", metavar="2h", help="Resume automatically after this time.")
@click.option("--until", metavar="WHEN", help='Resume automatically at this time, like "tomorrow 9:00".')
def pause(
    *, names: tuple[str, ...], everything: bool, group: str | None, lasting: str | None, until: str | None
) -> None:
    """Pause jobs: no scheduled runs start until you resume them. Current runs finish.

    \b
    Examples:
      halo pause backup
      halo pause backup report --for 2h
      halo pause --group backups
      halo pause --all --until "tomorrow 9:00"

    Runs missed during a pause aren't caught up.
    """
    if sum((bool(names), everything, group is not None)) != 1:
        raise click.UsageError("give either names of jobs, --group or --all")
    until_at = _end_of_pause(lasting, until)
    with Scheduler.open(actor=TERMINAL) as scheduler:
        if everything:
            before = _by_id(scheduler)
            scheduler.pause_all(until_at)
            found = [job for job in scheduler.list_jobs() if _is_changed(job, before)]
        else:
            found = _find(scheduler, names) if group is None else jobs_of_group(scheduler, group)
            for job in found:
                scheduler.pause_job(job.id, until_at)
        _print_paused(scheduler, found, until_at, everything=everything)


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


def _print_paused(
    scheduler: Scheduler, asked: Sequence[Job], until_at: int | None, *, everything: bool
) -> None:
    end = "" if until_at is None else f" until {moment(until_at)}"
    if everything:
        click.echo(f"paused {counted(len(asked), 'job')}{end}" if asked else "no jobs to pause")
        return
    now = scheduler.jobs.get_many(job.id for job in asked)
    for job in asked:
        after = now.get(job.id, job)
        if after.status_reason in _AWAIT_REVIEW:
            words = status_words(scheduler.jobs.situation(job.id), SystemClock().now_ms())
            click.echo(f"{job.name} is already paused: {words}")
        elif after.status is JobStatus.RUNNING:
            click.echo(f"paused {job.name}{end}; the current run will finish")
        elif after.status is JobStatus.DISABLED:
            click.echo(f"paused {job.name}{end}; the job is also disabled")
        else:
            click.echo(f"paused {job.name}{end}")


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME…]", shell_complete=complete_jobs)
@click.option("--all", "everything", is_flag=True, help="All jobs that you paused.")
@click.option(
    "--group", metavar="GROUP", shell_complete=complete_groups, help="All paused jobs of this group."
)
@click.option("--imported", is_flag=True, help="All imported jobs that are still paused.")
@click.option("--yes", is_flag=True, help="Don't show jobs for review, and don't ask.")
def resume(*, names: tuple[str, ...], everything: bool, group: str | None, imported: bool, yes: bool) -> None:
    """Resume paused or disabled jobs. Resets their error count; missed runs aren't caught up.

    \b
    Examples:
      halo resume backup
      halo resume backup report
      halo resume --all
      halo resume --group backups
      halo resume --imported

    Jobs that an assistant created or changed are shown for review first. --all leaves out disabled jobs, imported
    jobs and those of assistants: review them and resume them by name. --group leaves out disabled jobs and those of
    assistants; like --imported, it leaves out imported jobs with invisible characters, or with a name that
    looks like another job's.
    """
    if sum((bool(names), everything, group is not None, imported)) != 1:
        raise click.UsageError("give either names of jobs, --group, --all or --imported")
    with Scheduler.open(actor=TERMINAL) as scheduler:
        if everything or imported or group is not None:
            _resume_many(scheduler, group, imported=imported)
            return
        for job in _find(scheduler, names):
            _review(scheduler, job, yes=yes)
            _resume_one(scheduler, job)
            situation = scheduler.jobs.situation(job.id)
            click.echo(f"resumed {job.name}; next: {next_words(situation, SystemClock().now_ms())}")


def _resume_one(scheduler: Scheduler, job: Job) -> None:
    try:
        scheduler.resume_job(job.id, seen=job.spec)
    except ScheduleError as error:
        if error.path != "schedule.at":
            raise
        command = f"halo edit {shlex.quote(job.name)} --once WHEN"
        raise click.ClickException(
            f"the only time of {job.name} is in the past; set a new one with: {command}"
        ) from error


def _review(scheduler: Scheduler, job: Job, *, yes: bool) -> None:
    """Show a job that awaits review and ask, if there is a terminal; else only print the warnings."""
    context = job_context(scheduler, job)
    is_unseen = job.status_reason is StatusReason.ASSISTANT or (
        job.status_reason is StatusReason.IMPORTED and context.notes
    )
    if is_unseen and not yes and sys.stdin.isatty():
        print_details(job, context, SystemClock().now_ms())
        if not click.confirm("Resume it?", err=True):
            raise click.ClickException(f"{job.name} stays paused")
        return
    _print_notes(job, context.notes)


def _resume_many(scheduler: Scheduler, group: str | None, *, imported: bool) -> None:
    before = _by_id(scheduler)
    if group is not None:
        _resume_group(scheduler, jobs_of_group(scheduler, group), list(before.values()))
    elif imported:
        _resume_imported(scheduler, list(before.values()), list(before.values()))
    else:
        scheduler.resume_all()
    after = scheduler.list_jobs(group=group)
    count = sum(_is_changed(job, before) for job in after)
    click.echo(f"resumed {counted(count, 'job')}" if count else "no jobs to resume")
    left = [job.name for job in after if job.status_reason in _AWAIT_REVIEW]
    if left:
        more = [f"{len(left) - _MOST_NAMED} more"] if len(left) > _MOST_NAMED else []
        words = listed([*left[:_MOST_NAMED], *more])
        click.echo(f"{WAITS} still paused, review and resume by name: {words}", err=True)


def _resume_group(scheduler: Scheduler, jobs: Sequence[Job], everyone: Sequence[Job]) -> None:
    """Resume the paused jobs of a group, except those that await a review."""
    for job in jobs:
        if job.is_paused and job.status_reason not in _AWAIT_REVIEW:
            scheduler.resume_job(job.id, seen=job.spec)
    _resume_imported(scheduler, jobs, everyone)


def _resume_imported(scheduler: Scheduler, jobs: Sequence[Job], everyone: Sequence[Job]) -> None:
    """Resume imported jobs, except those with warnings."""
    reviewer = Reviewer(job.name for job in everyone)
    for job in jobs:
        if job.status_reason is not StatusReason.IMPORTED:
            continue
        if notes := reviewer.notes(job.spec):
            _print_notes(job, notes)
        else:
            scheduler.resume_job(job.id, seen=job.spec)


def _print_notes(job: Job, notes: Sequence[str]) -> None:
    for note in notes:
        click.echo(f"{WAITS} {job.name}: {note}", err=True)


def _find(scheduler: Scheduler, names: Sequence[str]) -> list[Job]:
    """Return the named jobs, each once; an unknown name is refused before anything changes."""
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


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME…", shell_complete=complete_jobs)
@click.option("--undo", is_flag=True, help="Cancel the skip.")
def skip(*, names: tuple[str, ...], undo: bool) -> None:
    """Skip the next scheduled run of jobs, once; the history shows it as skipped.

    \b
    Examples:
      halo skip backup
      halo skip backup --undo

    Pausing a job or changing its schedule also cancels the skip. Manual runs are never skipped.
    """
    with Scheduler.open(actor=TERMINAL) as scheduler:
        for job in _find(scheduler, names):
            scheduler.skip_next(job.id, skip=not undo)
            situation = scheduler.jobs.situation(job.id)
            click.echo(f"{job.name}; next: {next_words(situation, SystemClock().now_ms())}")


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
        click.echo(click.style(f"  {folded(plain_line(sentence, _LONGEST_REASON), 2)}", dim=True))
