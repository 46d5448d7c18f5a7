"""`halo backup`: make, list and restore backups."""

from __future__ import annotations

import json
from pathlib import Path

import click

from halo_scheduler.cli.command_table import Subcommands
from halo_scheduler.cli.terminal.progress_bar import percentage
from halo_scheduler.cli.terminal.terminal import require_yes
from halo_scheduler.clock import SystemClock
from halo_scheduler.grammar.english import clock_time, short_date
from halo_scheduler.grammar.zone import local_time
from halo_scheduler.paths import database_path
from halo_scheduler.service.settings import find_backups, make_backup, restore_backup


@click.group(cls=Subcommands, invoke_without_command=True)
@click.pass_context
def backup(context: click.Context) -> None:
    """Make a backup now, or list and restore backups.

    \b
    Examples:
      halo backup
      halo backup list
      halo backup restore --latest
    """
    if context.invoked_subcommand is None:
        with percentage("Making a backup") as update:
            made = make_backup(database_path(), SystemClock().now_ms(), update)
        click.echo(made.path)


@backup.command("list")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable; times in epoch milliseconds.")
def list_(*, as_json: bool) -> None:
    """List backups, newest first.

    \b
    Examples:
      halo backup list
      halo backup list --json
    """
    found = find_backups(database_path())
    if as_json:
        click.echo(
            json.dumps([{"path": str(item.path), "made_at": item.made_at} for item in found], indent=2)
        )
        return
    if not found:
        click.echo("no backups yet; make one with: halo backup")
    for item in found:
        moment = local_time(item.made_at)
        click.echo(f"{short_date(moment):>11} {clock_time(moment)}  {item.path}")


@backup.command(short_help="Restore a backup.")
@click.option("--latest", is_flag=True, help="Restore the newest backup that is intact.")
@click.option("--yes", is_flag=True, help="Don't ask for confirmation.")
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
def restore(*, latest: bool, yes: bool, file: Path | None) -> None:
    """Restore a backup. The current database is set aside, not deleted.

    \b
    Examples:
      halo backup restore --latest
      halo backup restore ~/.local/share/halo-scheduler/backups/halo-….db
    """
    if latest == (file is not None):
        raise click.UsageError("give either --latest or a backup file")
    if not yes:
        require_yes("Replace all current jobs and runs with the backup?")
    with percentage("Restoring the backup") as update:
        restored, aside = restore_backup(database_path(), file, SystemClock().now_ms(), update)
    click.echo(f"restored {restored}")
    if aside is not None:
        click.echo(f"the previous database is now {aside}")
