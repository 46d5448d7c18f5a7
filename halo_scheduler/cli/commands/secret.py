"""`halo secret`: secrets for jobs."""

from __future__ import annotations

import json
import sys

import click

from halo_scheduler.cli.command_table import Subcommands
from halo_scheduler.cli.terminal.completions import complete_secrets
from halo_scheduler.cli.terminal.terminal import moment, open_to_read, print_table, require_yes
from halo_scheduler.errors import SchedulerError
from halo_scheduler.model.changes import TERMINAL
from halo_scheduler.service.lookup import near_name
from halo_scheduler.service.scheduler import Scheduler


@click.group(cls=Subcommands)
def secret() -> None:
    """Store secrets for jobs, which use them as ${secret:NAME}.

    \b
    Examples:
      halo secret set BACKUP_TOKEN
      pass show backup | halo secret set BACKUP_TOKEN
      halo secret list
      halo secret remove BACKUP_TOKEN
    """


@secret.command("set", short_help="Store a secret.")
@click.argument("name", shell_complete=complete_secrets)
@click.option("--in-file", is_flag=True, help="Store it in a private file instead of the keyring.")
def set_(*, name: str, in_file: bool) -> None:
    """Store a secret, typed without echo or read from standard input.

    \b
    Examples:
      halo secret set BACKUP_TOKEN
      pass show backup | halo secret set BACKUP_TOKEN
    """
    if sys.stdin.isatty():
        value = click.prompt(f"Value of {name}", hide_input=True, confirmation_prompt=True)
    else:
        value = sys.stdin.read().removesuffix("\n")
    with Scheduler.open(actor=TERMINAL) as scheduler:
        scheduler.secrets.set(name, value, in_file=in_file)
    click.echo(f"saved {name} to {'a private file' if in_file else 'the keyring'}")


@secret.command("list")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable; times in epoch milliseconds.")
def list_(*, as_json: bool) -> None:
    """List the names of secrets, never their values.

    \b
    Examples:
      halo secret list
      halo secret list --json
    """
    with open_to_read() as scheduler:
        found = scheduler.secrets.list()
    if as_json:
        data = [{"name": item.name, "place": item.place, "changed_at": item.changed_at} for item in found]
        click.echo(json.dumps(data, indent=2))
        return
    if not found:
        click.echo("no secrets yet; store one with: halo secret set NAME")
        return
    print_table(
        ["NAME", "STORED IN", "CHANGED"], [[item.name, item.place, moment(item.changed_at)] for item in found]
    )


@secret.command()
@click.argument("name", shell_complete=complete_secrets)
@click.option("--yes", is_flag=True, help="Don't ask for confirmation.")
def remove(*, name: str, yes: bool) -> None:
    """Delete a secret. Jobs using it will fail.

    \b
    Examples:
      halo secret remove BACKUP_TOKEN
    """
    with Scheduler.open(actor=TERMINAL) as scheduler:
        names = [known.name for known in scheduler.secrets.list()]
        if name not in names:
            raise SchedulerError(f"no such secret: {name!r}{near_name(name, names)}")
        if not yes:
            require_yes(f"Delete {name}? Its value cannot be restored.")
        scheduler.secrets.remove(name)
    click.echo(f"deleted {name}")
