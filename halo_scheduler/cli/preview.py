"""`halo preview`: what a schedule would do, before it is used."""

from __future__ import annotations

import json

import click

from halo_scheduler.clock import SystemClock
from halo_scheduler.model import After, Cron, Every, Manual, Once, Schedule
from halo_scheduler.schedule.describe import describe, describe_when, local_time
from halo_scheduler.schedule.lint import Note, Severity, lint
from halo_scheduler.schedule.next_run import next_run
from halo_scheduler.schedule.when import parse_when
from halo_scheduler.schedule.words import clock_time, short_date, weekday_name

_MOST_RUNS = 1_000
_MARKS = {Severity.INFO: "●", Severity.WARNING: "▲", Severity.ERROR: "■"}
_COLOURS = {Severity.INFO: "blue", Severity.WARNING: "yellow", Severity.ERROR: "red"}


@click.command()
@click.option("--every", metavar="15m", help="A fixed pace, counted from --anchor.")
@click.option("--anchor", metavar="WHEN", help="Where --every counts from; now, if not given.")
@click.option("--after", metavar="5m", help="So long after the last run ended.")
@click.option(
    "--cron", metavar='"0 9 * * 1-5"', help="Five fields, six with seconds first, or @daily and the like."
)
@click.option(
    "--tz", metavar="ZONE", help="The time zone of --cron, like Europe/Berlin; this machine's, if not given."
)
@click.option("--once", metavar="WHEN", help='One time: "2026-12-24 18:00", "tomorrow 9:00", "in 2h".')
@click.option("--manual", is_flag=True, help="Only by hand.")
@click.option("--from", "start", metavar="WHEN", help="Look from this time on instead of from now.")
@click.option(
    "-n", "count", type=click.IntRange(1, _MOST_RUNS), default=5, show_default=True, help="How many runs."
)
@click.option("--json", "as_json", is_flag=True, help="Machine-readable; times in epoch milliseconds.")
def preview(
    *,
    every: str | None,
    anchor: str | None,
    after: str | None,
    cron: str | None,
    tz: str | None,
    once: str | None,
    manual: bool,
    start: str | None,
    count: int,
    as_json: bool,
) -> None:
    """Show in words and times what a schedule means, without storing anything.

    \b
    Examples:
      halo preview --every 15m
      halo preview --cron "0 9 * * 1-5" --tz Europe/Berlin
      halo preview --cron "30 2 * * *" --tz Europe/Berlin --from 2027-03-27
      halo preview --once "tomorrow 9:00"
    """
    real_now_ms = SystemClock().now_ms()
    now_ms = real_now_ms if start is None else parse_when(start, real_now_ms, timezone=tz)
    schedule = _the_one_schedule(
        Every(every) if every is not None else None,
        After(after) if after is not None else None,
        Cron(cron, timezone=tz) if cron is not None else None,
        Once(parse_when(once, now_ms)) if once is not None else None,
        Manual() if manual else None,
    )
    _refuse_strays(schedule, tz=tz, anchor=anchor)
    anchor_at = now_ms if anchor is None else parse_when(anchor, now_ms)
    runs = _next_runs(schedule, now_ms, anchor_at, count)
    notes = lint(schedule, now_ms, anchor_at=anchor_at)
    if as_json:
        click.echo(json.dumps(_as_data(schedule, runs, notes), ensure_ascii=False, indent=2))
    else:
        _show(schedule, runs, notes, now_ms)


def _the_one_schedule(*given: Schedule | None) -> Schedule:
    schedules = [schedule for schedule in given if schedule is not None]
    if len(schedules) != 1:
        raise click.UsageError("give exactly one of --every, --after, --cron, --once and --manual")
    return schedules[0]


def _refuse_strays(schedule: Schedule, *, tz: str | None, anchor: str | None) -> None:
    if tz is not None and not isinstance(schedule, Cron):
        raise click.UsageError("--tz goes with --cron only")
    if anchor is not None and not isinstance(schedule, Every):
        raise click.UsageError("--anchor goes with --every only")


def _next_runs(schedule: Schedule, now_ms: int, anchor_at: int, count: int) -> list[int]:
    """Return the next runs; of `after` only the first is known, since the others wait for its end."""
    runs: list[int] = []
    point = next_run(schedule, now_ms, anchor_at=anchor_at)
    while point is not None and len(runs) < count:
        runs.append(point)
        point = None if isinstance(schedule, After) else next_run(schedule, point, anchor_at=anchor_at)
    return runs


def _as_data(schedule: Schedule, runs: list[int], notes: list[Note]) -> dict[str, object]:
    return {
        "schedule": schedule.to_dict(),
        "description": describe(schedule),
        "runs": runs,
        "notes": [{"code": note.code, "severity": note.severity, "message": note.message} for note in notes],
    }


def _show(schedule: Schedule, runs: list[int], notes: list[Note], now_ms: int) -> None:
    timezone = schedule.timezone if isinstance(schedule, Cron) else None
    click.secho(describe(schedule), bold=True)
    if runs:
        click.echo()
    for at in runs:
        moment = local_time(at, timezone)
        absolute = f"{weekday_name(moment)[:3]} {short_date(moment):>11} {clock_time(moment)}"
        click.echo(f"  {absolute:<25}{click.style(describe_when(at, now_ms, timezone=timezone), dim=True)}")
    if notes:
        click.echo()
    for note in notes:
        click.echo(f"{click.style(_MARKS[note.severity], fg=_COLOURS[note.severity])} {note.message}")
