"""`halo preview`: the runs of a schedule."""

from __future__ import annotations

import json
from typing import Any

import click

from halo_scheduler.cli.options.option_values import count_up_to, naming_options, under
from halo_scheduler.cli.options.schedules import SCHEDULE_FIELDS, schedule_options, take_schedule_options
from halo_scheduler.cli.terminal.job_details import note_line
from halo_scheduler.clock import SystemClock
from halo_scheduler.day_sources.looking_up import look_up_days
from halo_scheduler.grammar.english import clock_time, short_date, weekday_name
from halo_scheduler.grammar.when import parse_when
from halo_scheduler.grammar.zone import local_time
from halo_scheduler.model import Cron, Schedule, Several
from halo_scheduler.model.schedules import schedule_fields, schedules_of
from halo_scheduler.schedule.entries import without_after
from halo_scheduler.schedule.next_run import next_run
from halo_scheduler.wording.lint import Note, lint
from halo_scheduler.wording.schedules import (
    describe,
    describe_when,
    distance_in_words,
    following_words,
    local_words,
)

_MOST_RUNS = 1_000


@click.command()
@schedule_options
@click.option("--from", "start", metavar="WHEN", help="Start at this time instead of now.")
@click.option(
    "-n", "--limit", "count", metavar="N", type=count_up_to(_MOST_RUNS), default=5, help="How many runs. [5]"
)
@click.option("--json", "as_json", is_flag=True, help="Machine-readable; times in epoch milliseconds.")
def preview(*, start: str | None, count: int, as_json: bool, **given: Any) -> None:
    """Show a schedule in words and its next runs, without saving anything.

    \b
    Examples:
      halo preview --when "first Monday of the month at 7:30"
      halo preview --every 15m
      halo preview --cron "0 9 * * 1-5" --tz Europe/Berlin
      halo preview --cron "30 2 * * *" --tz Europe/Berlin --from 2027-03-27
      halo preview --once "tomorrow 9:00"
    """
    real_now_ms = SystemClock().now_ms()
    options = take_schedule_options(given)
    with under("--from"):
        now_ms = real_now_ms if start is None else parse_when(start, real_now_ms, timezone=options.tz)
    with naming_options(SCHEDULE_FIELDS, given):
        schedule = options.schedule(now_ms)
        schedule = look_up_days(schedule, now_ms=now_ms)
        anchor_at = options.anchor_at(now_ms)
    runs = _next_runs(schedule, now_ms, anchor_at, count)
    notes = lint(schedule, now_ms, anchor_at=anchor_at)
    if as_json:
        click.echo(json.dumps(_as_data(schedule, runs, notes), ensure_ascii=False, indent=2))
    else:
        _show(schedule, runs, notes, now_ms if start is None else None)


def _next_runs(schedule: Schedule | Several, now_ms: int, anchor_at: int, count: int) -> list[int]:
    """Return the next runs; only the first of `after`, because later ones depend on when each run ends."""
    runs: list[int] = []
    point = next_run(schedule, now_ms, anchor_at=anchor_at)
    while point is not None and len(runs) < count:
        runs.append(point)
        point = next_run(without_after(schedule), point, anchor_at=anchor_at)
    return runs


def _as_data(schedule: Schedule | Several, runs: list[int], notes: list[Note]) -> dict[str, object]:
    return {
        **schedule_fields(schedule),
        "description": describe(schedule),
        "runs": runs,
        "notes": [{"code": note.code, "severity": note.severity, "message": note.message} for note in notes],
    }


def _show(schedule: Schedule | Several, runs: list[int], notes: list[Note], now_ms: int | None) -> None:
    """Print a schedule and its runs; given the current instant, also how far away they are."""
    zones = {item.timezone for item in schedules_of(schedule) if isinstance(item, Cron)}
    # Times in different zones are shown in the local one.
    timezone = zones.pop() if len(zones) == 1 else None
    click.secho(describe(schedule), bold=True)
    if runs:
        click.echo()
    has_both_times = any(local_words(at, timezone) for at in runs)
    if has_both_times:
        click.echo(f"  {timezone or '':<25}local time")
    for at in runs:
        line = f"  {_absolute(at, timezone):<25}"
        if has_both_times:
            line += f"{local_words(at, timezone) or clock_time(local_time(at)):<14}"
        if now_ms is not None:
            line += click.style(_distance(at, now_ms, timezone, is_short=has_both_times), dim=True)
        click.echo(line.rstrip())
    if following := following_words(schedule):
        click.echo(f"  {following}")
    if notes:
        click.echo()
    for note in notes:
        click.echo(note_line(note))


def _distance(at: int, now_ms: int, timezone: str | None, *, is_short: bool) -> str:
    return distance_in_words(at, now_ms) if is_short else describe_when(at, now_ms, timezone=timezone)


def _absolute(at: int, timezone: str | None) -> str:
    moment = local_time(at, timezone)
    return f"{weekday_name(moment)[:3]} {short_date(moment):>11} {clock_time(moment)}"
