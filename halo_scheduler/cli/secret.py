"""`halo secret`: what jobs need and nobody may read."""

from __future__ import annotations

import json
import sys

import click

from halo_scheduler.cli.shown import moment, print_table
from halo_scheduler.service import Scheduler


@click.group()
def secret() -> None:
    """Keep secrets for jobs, which use them as ${secret:NAME}.

    \b
    Examples:
      halo secret set BACKUP_TOKEN
      pass show backup | halo secret set BACKUP_TOKEN
      halo secret list
      halo secret remove BACKUP_TOKEN
    """


@secret.command("set")
@click.argument("name")
@click.option("--in-file", is_flag=True, help="In a file that only you can read, instead of the keyring.")
def set_(*, name: str, in_file: bool) -> None:
    """Keep a secret: typed without being shown, or read from standard input."""
    if sys.stdin.isatty():
        value = click.prompt(f"Value of {name}", hide_input=True, confirmation_prompt=True)
    else:
        value = sys.stdin.read().removesuffix("\n")
    with Scheduler.open() as scheduler:
        scheduler.set_secret(name, value, in_file=in_file)
    click.echo(f"kept {name} in {'a private file' if in_file else 'the keyring'}")


@secret.command("list")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable; times in epoch milliseconds.")
def list_(*, as_json: bool) -> None:
    """List the names of the secrets, never the secrets."""
    with Scheduler.open() as scheduler:
        found = scheduler.list_secrets()
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
@click.argument("name")
def remove(*, name: str) -> None:
    """Forget a secret."""
    with Scheduler.open() as scheduler:
        scheduler.remove_secret(name)
    click.echo(f"forgot {name}")
