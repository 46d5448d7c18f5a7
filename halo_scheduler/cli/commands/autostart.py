"""`halo autostart`: the desktop program at login."""

from __future__ import annotations

import json

import click

from halo_scheduler.cli.command_table import Subcommands
from halo_scheduler.host.autostart import login_command, system_autostart


@click.group(cls=Subcommands)
def autostart() -> None:
    """Have the desktop program started into the tray when you log in, or not.

    \b
    Examples:
      halo autostart status
      halo autostart on
      halo autostart off

    It is the switch of the settings window. For the jobs of a machine without a desktop, see: halo daemon --help
    """


@autostart.command()
def on() -> None:
    """Start Halo at each login.

    \b
    Examples:
      halo autostart on
    """
    entry = system_autostart()
    entry.turn_on(login_command())
    click.echo(f"Halo starts when you log in; the entry is {entry.where()}")


@autostart.command()
def off() -> None:
    """Do not start Halo at login any more; one that runs goes on.

    \b
    Examples:
      halo autostart off
    """
    entry = system_autostart()
    was_on = entry.is_on()
    entry.turn_off()
    click.echo(
        "Halo does not start any more when you log in" if was_on else "Halo does not start when you log in"
    )


@autostart.command()
@click.option("--json", "as_json", is_flag=True, help="Machine-readable.")
def status(*, as_json: bool) -> None:
    """Show whether Halo is started at login.

    \b
    Examples:
      halo autostart status
      halo autostart status --json
    """
    entry = system_autostart()
    is_on = entry.is_on()
    is_current = is_on and entry.is_current(login_command())
    if as_json:
        data = {"is_on": is_on, "is_current": is_current, "where": entry.where()}
        click.echo(json.dumps(data, ensure_ascii=False, indent=2))
    elif not is_on:
        click.echo("off: Halo does not start when you log in; to have it so, use: halo autostart on")
    elif is_current:
        click.echo(f"on: Halo starts when you log in; the entry is {entry.where()}")
    else:
        click.echo(f"on, but {entry.where()} starts another Halo, or one with other data")
        click.echo("to have this one started, use: halo autostart on")
