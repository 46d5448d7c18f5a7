"""`halo environment`: the environment of commands."""

from __future__ import annotations

import json

import click

from halo_scheduler.grammar.text import plain_line
from halo_scheduler.host.login_environment import LoginEnvironment
from halo_scheduler.model.changes import TERMINAL
from halo_scheduler.service.scheduler import Scheduler


@click.command()
@click.option("--refresh", is_flag=True, help="Make the running Halo read it from your login shell again.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable.")
def environment(*, refresh: bool, as_json: bool) -> None:
    """Show the environment that commands run with: that of your login shell.

    \b
    Examples:
      halo environment
      halo environment --refresh

    Halo reads it once at the start. Use --refresh after changing your profile.
    """
    if refresh:
        with Scheduler.open(actor=TERMINAL) as scheduler:
            scheduler.engine.refresh_environment()
        click.echo("the next command runs with a fresh environment")
        return
    found = LoginEnvironment().get()
    if as_json:
        click.echo(json.dumps(dict(sorted(found.items())), ensure_ascii=False, indent=2))
        return
    for name, value in sorted(found.items()):
        click.echo(f"{plain_line(name)}={plain_line(value, 1_000)}")
