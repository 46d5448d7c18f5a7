"""`halo agent`: the programs that run prompts."""

from __future__ import annotations

import json
import shlex

import click

from halo_scheduler.cli.command_table import Subcommands
from halo_scheduler.cli.options.option_values import naming_options
from halo_scheduler.cli.terminal.completions import complete_agents
from halo_scheduler.cli.terminal.terminal import WAITS, open_to_read, print_table, require_yes
from halo_scheduler.errors import ScheduleError, SchedulerError
from halo_scheduler.grammar.english import counted
from halo_scheduler.grammar.text import plain_line
from halo_scheduler.model import Prompt
from halo_scheduler.model.changes import TERMINAL
from halo_scheduler.model.settings import Agent, Delivery
from halo_scheduler.service.scheduler import Scheduler

_WAYS = {
    Delivery.STDIN: "via standard input",
    Delivery.ARGUMENT: "as an argument",
    Delivery.FILE: "in a file",
}
_LONGEST = 500


@click.group(cls=Subcommands)
def agent() -> None:
    """Set up the programs that run prompts.

    \b
    Examples:
      halo agent list
      halo agent set claude --default -- claude -p
      halo agent set mine -- my-agent --quiet --file {prompt_file}
      halo agent default claude
    """


@agent.command("list", short_help="List agents.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable.")
def list_(*, as_json: bool) -> None:
    """List agents and how each receives the prompt; ● marks the default.

    \b
    Examples:
      halo agent list
      halo agent list --json
    """
    with open_to_read() as scheduler:
        settings = scheduler.settings.read()
    if as_json:
        data = [
            found.to_dict() | {"delivery": found.delivery, "is_default": found.name == settings.default_agent}
            for found in settings.agents
        ]
        click.echo(json.dumps(data, ensure_ascii=False, indent=2))
        return
    if not settings.agents:
        click.echo("no agents; add one with: halo agent set NAME -- PROGRAM ARG…")
        return
    print_table(
        ["", "NAME", "PROMPT", "PROGRAM"],
        [
            [
                "●" if found.name == settings.default_agent else " ",
                found.name,
                _WAYS[found.delivery],
                plain_line(shlex.join(found.argv), _LONGEST),
            ]
            for found in settings.agents
        ],
    )


@agent.command("set")
@click.argument("name", shell_complete=complete_agents)
@click.option("--default", "as_default", is_flag=True, help="Make it the default agent.")
@click.argument("argv", nargs=-1, required=True, metavar="-- PROGRAM [ARG…]")
def set_(*, name: str, as_default: bool, argv: tuple[str, ...]) -> None:
    """Add or change an agent.

    \b
    Examples:
      halo agent set claude --default -- claude -p
      halo agent set mine -- my-agent --quiet --file {prompt_file}

    The program reads the prompt from standard input. To pass it otherwise, put {prompt} (the text, up to 100 KiB) or
    {prompt_file} (a private file with it) into an argument.
    """
    with naming_options({"name": ("NAME",), "argv": ("PROGRAM",)}, {}):
        chosen = Agent(name=name, argv=argv)
    with Scheduler.open(actor=TERMINAL) as scheduler:
        agents = scheduler.settings.read().agents
        is_new = all(found.name != name for found in agents)
        changed = tuple(chosen if found.name == name else found for found in agents)
        default = {"default_agent": name} if as_default else {}
        scheduler.settings.change(agents=(*changed, chosen) if is_new else changed, **default)
    words = "added" if is_new else "changed"
    click.echo(f"{words} {name}; prompt {_WAYS[chosen.delivery]}")


@agent.command()
@click.argument("name", shell_complete=complete_agents)
@click.option("--yes", is_flag=True, help="Don't ask for confirmation.")
def remove(*, name: str, yes: bool) -> None:
    """Remove an agent. Jobs using it will fail.

    \b
    Examples:
      halo agent remove mine
    """
    with Scheduler.open(actor=TERMINAL) as scheduler:
        settings = scheduler.settings.read()
        _require(scheduler, name)
        if name == settings.default_agent and len(settings.agents) > 1:
            raise SchedulerError(
                f"{name} is the default agent; first choose another: halo agent default NAME"
            )
        if not yes:
            require_yes(f"Remove {name}?")
        scheduler.settings.change(agents=tuple(found for found in settings.agents if found.name != name))
        users = [
            job.name
            for job in scheduler.list_jobs()
            if isinstance(job.action, Prompt) and job.action.agent == name
        ]
    click.echo(f"removed {name}")
    if users:
        click.echo(
            f"{WAITS} {counted(len(users), 'job')} still {'uses' if len(users) == 1 else 'use'} it: {', '.join(users)}",
            err=True,
        )


@agent.command()
@click.argument("name", shell_complete=complete_agents)
def default(*, name: str) -> None:
    """Set the default agent, for prompts that name none.

    \b
    Examples:
      halo agent default codex
    """
    with Scheduler.open(actor=TERMINAL) as scheduler:
        _require(scheduler, name)
        scheduler.settings.change(default_agent=name)
    click.echo(f"{name} is the default agent")


def _require(scheduler: Scheduler, name: str) -> None:
    """Refuse a name that no agent has; an empty name does not mean the default agent here."""
    if not name:
        raise ScheduleError("is empty", path="NAME")
    scheduler.settings.read().find_agent(name)
