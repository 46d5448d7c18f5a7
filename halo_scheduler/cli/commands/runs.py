"""`halo run`, `cancel`, `history` and `logs`: runs of jobs."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Mapping, Sequence

import click

from halo_scheduler.cli.options.option_values import (
    choice_of,
    count_up_to,
    input_bytes,
    naming_options,
    pairs,
    under,
)
from halo_scheduler.cli.terminal.completions import complete_any_jobs, complete_jobs, complete_runs
from halo_scheduler.cli.terminal.following import (
    Printer,
    begins,
    cause_words,
    causes_of,
    exit_code_of,
    follow_run,
    interruptible,
    print_details_of_run,
    print_end,
    print_question,
    run_data,
    run_line,
)
from halo_scheduler.cli.terminal.terminal import (
    WAITS,
    moment,
    open_to_read,
    outcome_mark,
    print_json_list,
    print_table,
    short_id,
    short_moment,
    typed,
    warn_not_running,
)
from halo_scheduler.clock import SystemClock
from halo_scheduler.errors import SchedulerError
from halo_scheduler.grammar.english import counted, listed
from halo_scheduler.grammar.interval import SECOND_MS, interval_in_words
from halo_scheduler.grammar.text import plain_line
from halo_scheduler.grammar.when import parse_when
from halo_scheduler.model import Job, Outcome, Run, Trigger
from halo_scheduler.model.changes import TERMINAL
from halo_scheduler.rules.chains import WaitingRun
from halo_scheduler.schedule.calendar import quiet_at
from halo_scheduler.service.lookup import find_job, find_job_to_run, require_engine
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.wording import status
from halo_scheduler.wording.conditions import waiting_words
from halo_scheduler.wording.measures import took_words
from halo_scheduler.wording.runs import coalesced_words, trigger_words
from halo_scheduler.wording.schedules import describe_when

_MOST_RUNS = 1_000_000
_LONGEST = 500
_MOST_NAMED = 5
_STARTED = set(Outcome) - {Outcome.SKIPPED, Outcome.MISSED}
_OPTIONS_BY_FIELD = {"parameters": ("--set",), "input": ("--input",), "at": ("--at",)}


@click.command()
@click.argument("name", shell_complete=complete_jobs)
@click.option("--wait", is_flag=True, help="Show its output, and exit with 1 unless it succeeds.")
@click.option("--now", is_flag=True, help="Start even if the limit of its group is reached.")
@click.option("--set", "values", multiple=True, metavar="NAME=VALUE", help="Set a parameter of the job.")
@click.option(
    "--input", "given", metavar="TEXT|@FILE|-", help="Text or a file for the run; - reads standard input."
)
@click.option("--at", "when", metavar="WHEN", help='Run it later instead: "18:30", "tomorrow 9:00", "in 2h".')
@click.option("--json", "as_json", is_flag=True, help="Show the run as JSON instead of its output.")
def run(
    *,
    name: str,
    wait: bool,
    now: bool,
    values: Sequence[str],
    given: str | None,
    when: str | None,
    as_json: bool,
) -> None:
    """Run a job now, or the first job of a group. Its schedule isn't changed; conditions and quiet hours are ignored.

    \b
    Examples:
      halo run backup
      halo run backup --wait
      halo run backup --wait --json
      halo run build --set branch=next
      halo run summary --input @report.txt
      halo run backup --at "tomorrow 18:00"

    It waits while the limit of its group, or of all jobs, is reached; --now ignores the group's limit. With --wait,
    Ctrl-C stops waiting and leaves the job running. Parameters and input are stored with the run and shown, so they
    must not contain secrets. With --at, the run is stored until that time, even across restarts, and starts once the
    job isn't running; "halo cancel" cancels it.
    """
    if wait and when is not None:
        raise click.UsageError("give either --wait or --at")
    parameters = pairs("--set", "=", values)
    content = None if given is None else input_bytes(given)
    with Scheduler.open(actor=TERMINAL) as scheduler:
        job = find_job_to_run(scheduler, name)
        at = None if when is None else _instant(when)
        if at is None:
            require_engine(scheduler, starts=True)
        with naming_options(_OPTIONS_BY_FIELD, {}):
            run_id = scheduler.trigger(job.id, parameters=parameters, input=content, now=now, at=at)
        if at is not None:
            words = f"{job.name} will run {describe_when(at, SystemClock().now_ms())}"
            click.echo(json.dumps({"run_id": run_id}) if as_json else words)
            if scheduler.status().state != "running":
                warn_not_running()
            return
        _print_ignored(scheduler, job)
        if not wait:
            words = f"started {job.name}" if begins(scheduler, run_id) else _waits(scheduler, job)
            click.echo(json.dumps({"run_id": run_id}) if as_json else words)
            return
        with interruptible(f"{job.name} is still running; stop it with: halo cancel {typed(job.name)}"):
            done = follow_run(scheduler, run_id, quiet=as_json)
        if as_json:
            click.echo(json.dumps(run_data(done), ensure_ascii=False, indent=2))
        else:
            print_end(scheduler, done)
    sys.exit(exit_code_of(done))


def _instant(when: str) -> int:
    with under("--at"):
        return parse_when(when, SystemClock().now_ms())


def _waits(scheduler: Scheduler, job: Job) -> str:
    """Return what a manual run waits for that has not started."""
    waiting = scheduler.jobs.situation(job.id).waiting
    words = "about to start" if waiting is None else status.waiting_words(waiting, SystemClock().now_ms())
    is_group = waiting is not None and waiting.capacity is not None and waiting.capacity.group is not None
    anyway = f"; start it anyway with: halo run --now {typed(job.name)}" if is_group else ""
    return f"{job.name} is {plain_line(words, _LONGEST)}{anyway}"


def _print_ignored(scheduler: Scheduler, job: Job) -> None:
    """Print the conditions and quiet hours that a manual run ignores."""
    conditions = job.policy.conditions
    ignored = [f"conditions ignored ({waiting_words(conditions)})"] if conditions else []
    quiet = quiet_at(scheduler.settings.read().quiet_times, job.group, SystemClock().now_ms())
    if quiet is not None:
        ignored.append(f"quiet hours ignored{f' ({quiet.by.name})' if quiet.by.name else ''}")
    if ignored:
        click.echo(f"{WAITS} manual run: {plain_line(', '.join(ignored), _LONGEST)}", err=True)


@click.command()
@click.argument("name", shell_complete=complete_any_jobs)
def cancel(*, name: str) -> None:
    """Stop a running job and all its processes; those that don't exit in the grace period are killed.

    \b
    Examples:
      halo cancel backup

    If the job isn't running, its waiting runs are cancelled: a manual one, those triggered by another job, or those
    planned with "halo run --at".
    """
    with Scheduler.open(actor=TERMINAL) as scheduler:
        job = find_job(scheduler, name, also_removed=True)
        if not scheduler.runs.later(job.id):
            require_engine(scheduler)
        waiting = scheduler.runs.waiting_of(job.id)
        if waiting is not None:
            scheduler.cancel_run(waiting)
            click.echo(f"cancelled the waiting run of {job.name}")
            return
        running = scheduler.get_run_log(job.id, limit=1, outcome=Outcome.RUNNING)
        chained = [found for found in scheduler.runs.waiting_in_chains() if found.job_id == job.id]
        if not running:
            _cancel_waiting(scheduler, job, chained)
            return
        scheduler.cancel_run(running[0].id)
    click.echo(f"asked {job.name} to stop{_grace_words(job)}")
    if chained:
        click.echo(f"{counted(len(chained), 'more run')} will follow; cancel again to stop those")


def _cancel_waiting(scheduler: Scheduler, job: Job, chained: Sequence[WaitingRun]) -> None:
    if not chained:
        _cancel_later(scheduler, job)
        return
    for waiting in chained:
        scheduler.cancel_run(waiting.run_id)
    causes = listed(list(dict.fromkeys(waiting.cause_name for waiting in chained)))
    click.echo(f"cancelled the waiting runs of {job.name} after {causes}")


def _cancel_later(scheduler: Scheduler, job: Job) -> None:
    """Cancel the manual runs that are planned for later."""
    later = scheduler.runs.later(job.id)
    if not later:
        raise SchedulerError(f"{job.name} isn't running")
    for one in later:
        scheduler.cancel_run(one.run_id)
    click.echo(f"cancelled {counted(len(later), 'planned run')} of {job.name}")


@click.command()
@click.argument("name", required=False, shell_complete=complete_any_jobs)
@click.option(
    "-n", "--limit", metavar="N", type=count_up_to(_MOST_RUNS), default=20, help="How many runs. [20]"
)
@click.option(
    "--outcome",
    metavar="OUTCOME",
    type=choice_of(Outcome),
    help=f"Only runs with this outcome: {listed(list(Outcome), last='or')}.",
)
@click.option("--json", "as_json", is_flag=True, help="Machine-readable; times in epoch milliseconds.")
def history(*, name: str | None, limit: int, outcome: str | None, as_json: bool) -> None:
    """Show runs of a job or of all jobs, newest first, including skipped and missed ones.

    \b
    Examples:
      halo history
      halo history backup --limit 100
      halo history --outcome failure --json
    """
    with open_to_read() as scheduler:
        job = None if name is None else find_job(scheduler, name, also_removed=True)
        chosen = Outcome(outcome) if outcome else None
        runs = scheduler.get_run_log(job.id if job else None, limit=limit, outcome=chosen)
        causes = causes_of(scheduler, runs)
        names = {
            found.id: found.name for found in (*scheduler.jobs.names(removed=True), *scheduler.jobs.names())
        }
    if as_json:
        print_json_list([run_data(run) for run in runs])
        return
    if not runs:
        click.echo("no runs yet")
        return
    now_ms = SystemClock().now_ms()
    print_table(
        ["", "WHEN", "JOB", "TOOK", "OUTCOME"],
        [
            [
                outcome_mark(run.outcome),
                moment(_time_of(run)),
                names.get(run.job_id, run.job_id),
                took_words(run.duration_ms),
                _history_words(run, causes),
            ]
            for run in runs
        ],
        spare=["TOOK"],
        firm=["WHEN", "JOB"],
        short={"WHEN": [short_moment(_time_of(run), now_ms) for run in runs]},
    )


@click.command()
@click.argument("name", shell_complete=complete_any_jobs)
@click.option(
    "-f", "--follow", is_flag=True, help="Show output while the job runs; Ctrl-C leaves the job running."
)
@click.option(
    "--run",
    "run_id",
    metavar="ID",
    shell_complete=complete_runs,
    help="This run instead of the newest.",
)
@click.option("--raw", is_flag=True, help="The original bytes, including colours.")
def logs(*, name: str, follow: bool, run_id: str | None, raw: bool) -> None:
    """Show the output of a job's newest run, as plain text.

    \b
    Examples:
      halo logs backup
      halo logs backup -f
      halo logs backup --run 3f2a9c1b
      halo logs backup --raw | less -R
    """
    with open_to_read() as scheduler:
        job = find_job(scheduler, name, also_removed=True)
        found = _find_run(scheduler, job, run_id)
        if follow and found.outcome is Outcome.RUNNING:
            require_engine(scheduler)
            with interruptible(""):
                found = follow_run(scheduler, found.id, raw=raw)
        else:
            Printer(raw=raw).end(scheduler.get_output(found.id))
        print_details_of_run(scheduler, found)
        print_question(scheduler, found.id)
        if follow:
            # The output so far is shown; without an engine no more will come.
            require_engine(scheduler)


def _find_run(scheduler: Scheduler, job: Job, run_id: str | None) -> Run:
    # A job on hold may have a thousand skipped runs since.
    runs = _started(scheduler, job, None) or _started(scheduler, job, _STARTED)
    if run_id is not None:
        begun = [run for run in runs if run.id.startswith(run_id)]
        runs = [run for run in begun if run.id == run_id] or begun
        if len(runs) > 1:
            some = ", ".join(short_id(run.id) for run in runs[:_MOST_NAMED])
            raise SchedulerError(f"{len(runs)} runs of {job.name} start with {run_id!r}: {some}")
    if not runs:
        raise SchedulerError(f"{job.name} has no run {run_id!r}" if run_id else f"{job.name} has not run yet")
    return runs[0]


def _started(scheduler: Scheduler, job: Job, outcomes: Collection[Outcome] | None) -> list[Run]:
    """Return the newest runs of a job that were started."""
    log = scheduler.get_run_log(job.id, limit=1_000, outcomes=outcomes)
    return [run for run in log if run.started_at is not None]


def _time_of(run: Run) -> int:
    return run.started_at or run.finished_at or 0


def _history_words(run: Run, causes: Mapping[str, str]) -> str:
    words = run_line(run) + cause_words(run, causes)
    if run.trigger not in (Trigger.SCHEDULE, Trigger.CHAIN):
        words += f", {trigger_words(run.trigger)}"
    if run.attempt > 1:
        words += f", attempt {run.attempt}"
    if run.late_ms >= SECOND_MS and run.trigger is Trigger.SCHEDULE:
        words += f", {took_words(run.late_ms)} late"
    if run.passed_over:
        words += f", coalesced {coalesced_words(run)}"
    return words


def _grace_words(job: Job) -> str:
    grace_ms = getattr(job.action, "grace_ms", 0)
    return f"; it will be killed in {interval_in_words(grace_ms)}" if grace_ms else ""
