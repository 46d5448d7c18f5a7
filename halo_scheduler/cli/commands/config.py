"""`halo config` and `halo environment`: settings, and the environment of commands."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import click

from halo_scheduler.cli.command_table import Subcommands
from halo_scheduler.cli.terminal.completions import complete_settings
from halo_scheduler.cli.terminal.terminal import open_to_read
from halo_scheduler.grammar.text import plain_line
from halo_scheduler.host.login_environment import LoginEnvironment
from halo_scheduler.model.changes import TERMINAL
from halo_scheduler.model.settings import Settings
from halo_scheduler.service.lookup import near_name
from halo_scheduler.service.scheduler import Scheduler

_WORDS = {"on": True, "true": True, "yes": True, "off": False, "false": False, "no": False}
ELSEWHERE = {
    "agents": "halo agent set",
    "default_agent": "halo agent default",
    "quiet_times": "halo quiet add",
    "webhooks": "halo webhook on",
    "webhook_port": "halo webhook on --port",
    "webhook_address": "halo webhook on --address",
    "chat_bots": "halo chat add",
}
NAMES = [field.name for field in fields(Settings) if field.name not in ELSEWHERE]
# Scripts may still use these names; they are not listed.
_FORMER_NAMES = ["assistants_may_edit"]


@click.group(cls=Subcommands)
def config() -> None:
    """Show and change settings.

    \b
    Examples:
      halo config get
      halo config get max_concurrent
      halo config set max_concurrent 10
    """


@config.command()
@click.argument("name", required=False, shell_complete=complete_settings)
@click.option("--json", "as_json", is_flag=True, help="Machine-readable.")
def get(*, name: str | None, as_json: bool) -> None:
    """Show one setting, or all of them.

    \b
    Examples:
      halo config get
      halo config get max_concurrent
    """
    names = NAMES if name is None else [_known(name)]
    with open_to_read() as scheduler:
        settings = scheduler.settings.read()
    if as_json and name is None:
        names = [*names, *_FORMER_NAMES]
    found = {item: getattr(settings, item) for item in names}
    if as_json:
        click.echo(json.dumps(found if name is None else found[names[0]], indent=2))
        return
    for item, value in found.items():
        click.echo(shown(value) if name is not None else f"{item} = {shown(value)}")


@config.command("set", short_help="Change a setting.")
@click.argument("name", shell_complete=complete_settings)
@click.argument("value")
def set_(*, name: str, value: str) -> None:
    """Change a setting; it takes effect at once. "halo config get" lists them.

    \b
    Examples:
      halo config set max_concurrent 10
      halo config set default_time_limit none
      halo config set assistants read
    """
    known = _known(name)
    with Scheduler.open(actor=TERMINAL) as scheduler:
        before = getattr(scheduler.settings.read(), known)
        after = getattr(scheduler.settings.change(**{known: _read(known, value, before)}), known)
    click.echo(f"{known} = {shown(after)}")


def _known(name: str) -> str:
    if name in ELSEWHERE:
        raise click.UsageError(f"change {name} with: {ELSEWHERE[name]}")
    if name not in (*NAMES, *_FORMER_NAMES):
        raise click.UsageError(f"no such setting: {name!r}{near_name(name, NAMES)}")
    return name


def _read(name: str, text: str, before: object) -> Any:
    """Convert a text to the type of the current value."""
    if isinstance(before, bool):
        if text.lower() not in _WORDS:
            raise click.UsageError(f"{name} must be on or off, not {text!r}")
        return _WORDS[text.lower()]
    if isinstance(before, int):
        try:
            return int(text)
        except ValueError:
            raise click.UsageError(f"{name} must be a whole number, not {text!r}") from None
    return None if text == "none" and name == "default_time_limit" else text


def shown(value: object) -> str:
    """Return the value of a setting as it is printed and typed."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return "none" if value is None else str(value)


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
