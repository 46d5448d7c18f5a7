"""`halo autostart`: start the desktop program at login."""

from __future__ import annotations

import json

import click

from halo_scheduler.cli.command_table import Subcommands
from halo_scheduler.host.autostart import login_command, system_autostart


@click.group(cls=Subcommands)
def autostart() -> None:
    """Set whether the desktop program starts in the tray when you log in.

    \b
    Examples:
      halo autostart status
      halo autostart on
      halo autostart off

    The settings window has the same option. On a computer without a desktop, see: halo daemon --help
    """


@autostart.command()
def on() -> None:
    """Start Halo at login.

    \b
    Examples:
      halo autostart on
    """
    entry = system_autostart()
    entry.turn_on(login_command())
    click.echo(f"Halo starts at login ({entry.where()})")


@autostart.command()
def off() -> None:
    """Don't start Halo at login. A running Halo isn't affected.

    \b
    Examples:
      halo autostart off
    """
    entry = system_autostart()
    was_on = entry.is_on()
    entry.turn_off()
    click.echo("Halo no longer starts at login" if was_on else "Halo doesn't start at login")


@autostart.command()
@click.option("--json", "as_json", is_flag=True, help="Machine-readable.")
def status(*, as_json: bool) -> None:
    """Show whether Halo starts at login.

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
        click.echo("off: Halo doesn't start at login; turn it on with: halo autostart on")
    elif is_current:
        click.echo(f"on: Halo starts at login ({entry.where()})")
    else:
        click.echo(f"on, but {entry.where()} starts another installation, or one with other data")
        click.echo("to start this one instead: halo autostart on")
