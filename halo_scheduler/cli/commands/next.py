"""`halo next`: upcoming runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from operator import itemgetter

import click

from halo_scheduler.cli.options.option_values import count_up_to
from halo_scheduler.cli.terminal.completions import complete_jobs
from halo_scheduler.cli.terminal.terminal import (
    WAITS,
    moment,
    open_to_read,
    print_table,
    short_moment,
    warn_not_running,
)
from halo_scheduler.clock import SystemClock
from halo_scheduler.model import InQuietTime, Situation, SituationKind, SkipReason
from halo_scheduler.rules.chains import WaitingRun, alike
from halo_scheduler.rules.statistics import Upcoming
from halo_scheduler.service.lookup import find_job
from halo_scheduler.service.runs import LaterRun
from halo_scheduler.wording.measures import duration_in_words, moment_in_words
from halo_scheduler.wording.schedules import describe, describe_when, following_words
from halo_scheduler.wording.status import awaited_words, next_words, waiting_words

_MOST_RUNS = 1_000
_HELD = (SituationKind.NEEDS_INPUT, SituationKind.CAPPED, SituationKind.WAITING)


@click.command("next")
@click.argument("names", nargs=-1, metavar="[NAME…]", shell_complete=complete_jobs)
@click.option(
    "-n", "--limit", "count", metavar="N", type=count_up_to(_MOST_RUNS), default=5, help="How many runs. [5]"
)
@click.option("--json", "as_json", is_flag=True, help="Machine-readable; times in epoch milliseconds.")
def next_(*, names: tuple[str, ...], count: int, as_json: bool) -> None:
    """Show upcoming runs of all jobs, or of the named ones.

    \b
    Examples:
      halo next
      halo next backup report -n 20
      halo next --json

    Waiting runs come first, then the next run of each job and further runs of its schedule. For a job that runs
    often, "then every minute" stands for its further runs, so that other jobs stay visible. "halo why NAME" explains
    the time of a run.
    """
    now_ms = SystemClock().now_ms()
    with open_to_read() as scheduler:
        chosen = {find_job(scheduler, name).id for name in names} or None
        runs = scheduler.jobs.upcoming(count, chosen)
        waiting = [
            run for run in scheduler.runs.waiting_in_chains() if chosen is None or run.job_id in chosen
        ]
        called = {job.id: job.name for job in scheduler.jobs.names()}
        situations = scheduler.jobs.situations({run.job.id for run in runs if run.is_planned})
        later = [run for run in scheduler.runs.later() if chosen is None or run.job_id in chosen]
        is_looked_after = scheduler.status().state == "running"
    if as_json:
        data = [_as_data(run, called, now_ms) for run in waiting]
        planned = [_run_data(run, _planned(run, situations), now_ms) for run in runs]
        planned += [_later_data(run, called) for run in later]
        data += sorted(planned, key=itemgetter("at"))
        click.echo(json.dumps(data[:count], ensure_ascii=False, indent=2))
        return
    chained = alike(waiting)
    rows = [_waiting_row(group, called, now_ms) for group in chained]
    times = [min(group[0].at, now_ms) for group in chained]
    ahead = [(run.at, _row(run, _planned(run, situations), now_ms)) for run in runs]
    ahead += [(run.at, _later_row(run, called, now_ms)) for run in later]
    for at, row in sorted(ahead, key=itemgetter(0)):
        times.append(at)
        rows.append(row)
    if not rows:
        click.echo("no upcoming runs")
        return
    print_table(
        ["", "WHEN", "", "JOB", ""],
        rows[:count],
        firm=["WHEN", "JOB"],
        short={"WHEN": [short_moment(at, now_ms) for at in times[:count]]},
    )
    if not is_looked_after:
        warn_not_running()


def _planned(run: Upcoming, situations: Mapping[str, Situation]) -> Situation | None:
    """Return the situation of a job whose planned run this is; a later grid point has none."""
    return situations.get(run.job.id) if run.is_planned else None


def _row(run: Upcoming, situation: Situation | None, now_ms: int) -> list[str]:
    held = _held_words(run, situation, now_ms)
    when = describe_when(run.at, now_ms)
    words = "; ".join(part for part in (held, _then(run)) if part)
    return [WAITS if held else " ", moment(run.at), when, run.job.name, words]


def _then(run: Upcoming) -> str:
    """Return the pace of further runs that are not listed."""
    pace_ms = run.job.hints.pace_at(run.at)
    if not run.goes_on:
        return ""
    if pace_ms is not None:
        return f"then every {duration_in_words(pace_ms)}, by hint"
    return following_words(run.job.schedule) or f"then {describe(run.job.schedule)}"


def _held_words(run: Upcoming, situation: Situation | None, now_ms: int) -> str:
    """Return why a run will be skipped or will wait."""
    if situation is not None and situation.blocker is SkipReason.USER:
        return "will be skipped"
    if situation is not None and situation.kind in _HELD:
        return next_words(situation, now_ms)
    if run.quiet is None:
        return ""
    name = f"quiet hours {run.quiet.by.name}".rstrip()
    if run.job.policy.in_quiet_time is InQuietTime.SKIP:
        return f"will be skipped in {name}"
    return f"waits in {name} until {moment_in_words(run.quiet.until, now_ms)}"


def _waiting_row(runs: Sequence[WaitingRun], called: dict[str, str], now_ms: int) -> list[str]:
    run, count = runs[0], "" if len(runs) == 1 else f"{len(runs)} runs, "
    words = f"{count}{waiting_words(run.waiting, now_ms)}, after {run.cause_name}"
    return [WAITS, moment(min(run.at, now_ms)), "now", called.get(run.job_id, run.job_id), words]


def _later_row(run: LaterRun, called: dict[str, str], now_ms: int) -> list[str]:
    return [
        " ",
        moment(run.at),
        describe_when(run.at, now_ms),
        called.get(run.job_id, run.job_id),
        "manual run",
    ]


def _later_data(run: LaterRun, called: dict[str, str]) -> dict[str, object]:
    return {
        "job_id": run.job_id,
        "name": called.get(run.job_id),
        "at": run.at,
        "trigger": "manual",
        "is_planned": True,
        "source": "manual",
        "waiting_for": None,
        "waiting_reason": "",
        "caused_by": None,
        "hold": None,
        "quiet_until": None,
        "goes_on": False,
    }


def _as_data(run: WaitingRun, called: dict[str, str], now_ms: int) -> dict[str, object]:
    return {
        "job_id": run.job_id,
        "name": called.get(run.job_id),
        "at": run.at,
        "trigger": "chain" if run.caused_by else "event",
        "is_planned": True,
        "source": None,
        "waiting_for": run.waiting_for,
        "waiting_reason": awaited_words(run.waiting, now_ms),
        "caused_by": run.caused_by or None,
        "hold": None,
        "quiet_until": None,
        "goes_on": False,
    }


def _run_data(run: Upcoming, situation: Situation | None, now_ms: int) -> dict[str, object]:
    job = run.job
    waiting = None if situation is None else situation.waiting
    is_held = situation is not None and (situation.is_held or situation.blocker is SkipReason.USER)
    return {
        "job_id": job.id,
        "name": job.name,
        "at": run.at,
        "trigger": "schedule",
        "is_planned": run.is_planned,
        "source": job.next_source if run.is_planned else run.source,
        "waiting_for": None if waiting is None else waiting.kind,
        "waiting_reason": "" if waiting is None else awaited_words(waiting, now_ms),
        "caused_by": None,
        "hold": situation.blocker if situation is not None and is_held else None,
        "quiet_until": None if run.quiet is None else run.quiet.until,
        "goes_on": run.goes_on,
    }
