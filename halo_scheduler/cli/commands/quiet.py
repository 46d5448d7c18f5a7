"""`halo quiet`: quiet hours, in which no scheduled run starts."""

from __future__ import annotations

import json
from collections.abc import Sequence

import click

from halo_scheduler.cli.command_table import Subcommands
from halo_scheduler.cli.options.option_values import naming_options
from halo_scheduler.cli.terminal.completions import complete_groups, complete_quiet_times, complete_zones
from halo_scheduler.cli.terminal.terminal import WAITS, open_to_read, print_table, require_yes
from halo_scheduler.clock import SystemClock
from halo_scheduler.errors import SchedulerError
from halo_scheduler.grammar.english import spans
from halo_scheduler.model.changes import TERMINAL
from halo_scheduler.model.settings import Quiet, QuietTime, Weekday
from halo_scheduler.schedule.calendar import quiet_at
from halo_scheduler.service.lookup import near_name
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.wording.measures import moment_in_words

_DAYS = tuple(Weekday)
_NAMES = [day.capitalize() for day in _DAYS]
_OPTIONS_BY_FIELD = {
    "name": ("NAME",),
    "group": ("--group",),
    "days": ("--days",),
    "start": ("--from",),
    "end": ("--to",),
    "timezone": ("--tz",),
}
_JSON = click.option("--json", "as_json", is_flag=True, help="Machine-readable; times in epoch milliseconds.")


@click.group(cls=Subcommands, invoke_without_command=True)
@_JSON
@click.pass_context
def quiet(context: click.Context, *, as_json: bool) -> None:
    """Set quiet hours, in which no scheduled run starts.

    \b
    Examples:
      halo quiet
      halo quiet add Nights --from 22:00 --to 06:00
      halo quiet add Meetings --from 9:00 --to 12:00 --days mon-fri \\
          --group heavy --tz Europe/Berlin
      halo quiet remove Nights

    Runs due in quiet hours wait for the end. With --in-quiet-time skip, a job skips them instead. Manual runs aren't
    affected. Without a command, quiet hours are listed.
    """
    if context.invoked_subcommand is None:
        _list(as_json=as_json)
    elif as_json:
        raise click.UsageError("put --json after the command")


@quiet.command("list")
@_JSON
def list_(*, as_json: bool) -> None:
    """List quiet hours; ▲ marks those that apply now.

    \b
    Examples:
      halo quiet list
      halo quiet list --json
    """
    _list(as_json=as_json)


@quiet.command()
@click.argument("name", default="")
@click.option("--from", "start", required=True, metavar="22:00", help="Start time.")
@click.option(
    "--to", "end", required=True, metavar="06:00", help="End time; on the next day if not later than --from."
)
@click.option("--days", metavar="mon-fri,sun", help="Days on which they start. [every day]")
@click.option(
    "--group",
    metavar="GROUP",
    shell_complete=complete_groups,
    help="Only for jobs of this group. [all jobs]",
)
@click.option(
    "--tz",
    metavar="ZONE",
    shell_complete=complete_zones,
    help="Time zone, like Europe/Berlin. [system time zone]",
)
def add(*, name: str, start: str, end: str, days: str | None, group: str | None, tz: str | None) -> None:
    """Add quiet hours.

    \b
    Examples:
      halo quiet add Nights --from 22:00 --to 06:00
      halo quiet add --from 00:00 --to 24:00 --days sat,sun --group work
    """
    with naming_options(_OPTIONS_BY_FIELD, {}):
        added = QuietTime(
            name=name,
            group=group,
            days=_DAYS if days is None else _read_days(days),
            start=_padded(start),
            end=_padded(end),
            timezone=tz,
        )
    with Scheduler.open(actor=TERMINAL) as scheduler:
        times = scheduler.settings.read().quiet_times
        if name and any(time.name == name for time in times):
            raise SchedulerError(f"quiet hours named {name!r} exist already; choose another name")
        scheduler.settings.change(quiet_times=(*times, added))
        groups = {job.group for job in scheduler.list_jobs()}
    click.echo(f"added {_called(added)}: {_in_words(added)}")
    if group is not None and group not in groups:
        click.echo(f"{WAITS} the group {group!r} has no jobs yet")
    now_ms = SystemClock().now_ms()
    holds = quiet_at([added], group, now_ms)
    if holds is not None:
        click.echo(f"  they apply now, until {moment_in_words(holds.until, now_ms)}")


@quiet.command()
@click.argument("which", metavar="NAME|NUMBER", shell_complete=complete_quiet_times)
@click.option("--yes", is_flag=True, help="Don't ask for confirmation.")
def remove(*, which: str, yes: bool) -> None:
    """Remove quiet hours by name or by number in the list.

    \b
    Examples:
      halo quiet remove Nights
      halo quiet remove 2 --yes
    """
    with Scheduler.open(actor=TERMINAL) as scheduler:
        times = scheduler.settings.read().quiet_times
        index = _find(times, which)
        found = times[index]
        if not yes:
            require_yes(f"Remove {_called(found)}, {_in_words(found)}?")
        _remove(scheduler, found)
    click.echo(f"removed {_called(found)}")


def _remove(scheduler: Scheduler, gone: QuietTime) -> None:
    """Remove quiet hours from the current settings, which may have changed while we asked."""
    times = list(scheduler.settings.read().quiet_times)
    if gone in times:
        times.remove(gone)
        scheduler.settings.change(quiet_times=tuple(times))


def _list(*, as_json: bool) -> None:
    now_ms = SystemClock().now_ms()
    with open_to_read() as scheduler:
        times = scheduler.settings.read().quiet_times
    held = [quiet_at([time], time.group, now_ms) for time in times]
    if as_json:
        data = [
            {**time.to_dict(), "until": None if holds is None else holds.until}
            for time, holds in zip(times, held, strict=True)
        ]
        click.echo(json.dumps(data, ensure_ascii=False, indent=2))
        return
    if not times:
        click.echo("no quiet hours; add some with: halo quiet add Nights --from 22:00 --to 06:00")
        return
    print_table(
        ["", "#", "NAME", "DAYS", "TIME", "FOR", "NOW"],
        [
            _row(number, time, holds, now_ms)
            for number, (time, holds) in enumerate(zip(times, held, strict=True), 1)
        ],
    )


def _row(number: int, time: QuietTime, holds: Quiet | None, now_ms: int) -> list[str]:
    return [
        " " if holds is None else WAITS,
        str(number),
        time.name,
        _day_words(time),
        f"{time.start}–{time.end}{_zone_words(time)}",
        "all jobs" if time.group is None else time.group,
        "" if holds is None else f"until {moment_in_words(holds.until, now_ms)}",
    ]


def _find(times: Sequence[QuietTime], which: str) -> int:
    """Return the index for a name or a number; a name wins."""
    named = [index for index, time in enumerate(times) if which and time.name == which]
    if len(named) == 1:
        return named[0]
    if named:
        numbers = ", ".join(str(index + 1) for index in named)
        raise click.UsageError(f"{len(named)} quiet hours are named {which!r}; give the number: {numbers}")
    if which.isascii() and which.isdigit() and which.lstrip("0") in map(str, range(1, len(times) + 1)):
        return int(which) - 1
    near = near_name(which, [time.name for time in times if time.name])
    raise SchedulerError(f"no such quiet hours: {which!r}{near}")


def _read_days(typed: str) -> tuple[Weekday, ...]:
    """Return the days of "mon-fri,sun"; a range may wrap around the week."""
    found: list[Weekday] = []
    for part in typed.split(","):
        first, dash, last = part.partition("-")
        begin, end = _day(first, typed), _day(last if dash else first, typed)
        found += [_DAYS[(begin + step) % len(_DAYS)] for step in range((end - begin) % len(_DAYS) + 1)]
    return tuple(found)


def _day(typed: str, all_typed: str) -> int:
    word = typed.strip().lower()
    for index, day in enumerate(_DAYS):
        if word in (day.value, day.name.lower()):
            return index
    raise click.UsageError(f"--days: write days like mon-fri,sun, not {all_typed!r}")


def _padded(time: str) -> str:
    """Return a time of day with two digits for the hour."""
    return f"0{time}" if len(time) == len("9:00") else time


def _called(time: QuietTime) -> str:
    return f"quiet hours {time.name}" if time.name else "quiet hours"


def _in_words(time: QuietTime) -> str:
    whom = "" if time.group is None else f" for group {time.group}"
    return f"{_day_words(time)}, {time.start}–{time.end}{_zone_words(time)}{whom}"


def _day_words(time: QuietTime) -> str:
    if time.days == _DAYS:
        return "every day"
    return ", ".join(spans([_DAYS.index(day) for day in time.days], _indexed(time), "–"))


def _indexed(time: QuietTime) -> list[str]:
    return [_NAMES[_DAYS.index(day)] for day in time.days]


def _zone_words(time: QuietTime) -> str:
    return "" if time.timezone is None else f" ({time.timezone})"
