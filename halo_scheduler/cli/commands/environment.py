"""`halo environment`: what commands find when they run."""

from __future__ import annotations

import json

import click

from halo_scheduler.grammar.text import plain_line
from halo_scheduler.host.login_environment import LoginEnvironment
from halo_scheduler.model.changes import TERMINAL
from halo_scheduler.service.scheduler import Scheduler


@click.command()
@click.option("--refresh", is_flag=True, help="Let the running engine ask your login shell again.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable.")
def environment(*, refresh: bool, as_json: bool) -> None:
    """Show the environment that commands get: the one of your login shell.

    \b
    Examples:
      halo environment
      halo environment --refresh

    The engine asks the shell once; after a change of your profile, use --refresh.
    """
    if refresh:
        with Scheduler.open(actor=TERMINAL) as scheduler:
            scheduler.engine.refresh_environment()
        click.echo("the next command gets a fresh environment")
        return
    found = LoginEnvironment().get()
    if as_json:
        click.echo(json.dumps(dict(sorted(found.items())), ensure_ascii=False, indent=2))
        return
    for name, value in sorted(found.items()):
        click.echo(f"{plain_line(name)}={plain_line(value, 1_000)}")
