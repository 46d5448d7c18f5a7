"""`halo secret`: what jobs need and nobody may read."""

from __future__ import annotations

import json
import sys

import click

from halo_scheduler.cli.command_table import Subcommands
from halo_scheduler.cli.terminal.completions import complete_secrets
from halo_scheduler.cli.terminal.confirm import ask_first
from halo_scheduler.cli.terminal.open_jobs import open_to_read
from halo_scheduler.cli.terminal.terminal import moment, print_table
from halo_scheduler.errors import SchedulerError
from halo_scheduler.model.changes import TERMINAL
from halo_scheduler.service.lookup import near_name
from halo_scheduler.service.scheduler import Scheduler


@click.group(cls=Subcommands)
def secret() -> None:
    """Keep secrets for jobs, which use them as ${secret:NAME}.

    \b
    Examples:
      halo secret set BACKUP_TOKEN
      pass show backup | halo secret set BACKUP_TOKEN
      halo secret list
      halo secret remove BACKUP_TOKEN
    """


@secret.command("set", short_help="Keep a secret.")
@click.argument("name", shell_complete=complete_secrets)
@click.option("--in-file", is_flag=True, help="In a file that only you can read, instead of the keyring.")
def set_(*, name: str, in_file: bool) -> None:
    """Keep a secret: typed without being shown, or read from standard input.

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
    click.echo(f"kept {name} in {'a private file' if in_file else 'the keyring'}")


@secret.command("list")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable; times in epoch milliseconds.")
def list_(*, as_json: bool) -> None:
    """List the names of the secrets, never the secrets.

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
        click.echo("no secrets")
        return
    print_table(
        ["NAME", "KEPT IN", "SINCE"], [[item.name, item.place, moment(item.changed_at)] for item in found]
    )


@secret.command()
@click.argument("name", shell_complete=complete_secrets)
@click.option("--yes", is_flag=True, help="Do not ask.")
def remove(*, name: str, yes: bool) -> None:
    """Forget a secret; jobs that use it fail from then on, and say so.

    \b
    Examples:
      halo secret remove BACKUP_TOKEN
    """
    with Scheduler.open(actor=TERMINAL) as scheduler:
        names = [known.name for known in scheduler.secrets.list()]
        if name not in names:
            raise SchedulerError(f"there is no secret named {name!r}{near_name(name, names)}")
        ask_first(f"Forget {name}?", yes=yes)
        scheduler.secrets.remove(name)
    click.echo(f"forgot {name}")
