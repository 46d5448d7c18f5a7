"""`halo chat`: the bots through which people start jobs."""

from __future__ import annotations

import json
import sys

import click

from halo_scheduler.cli.command_table import Subcommands
from halo_scheduler.cli.options.option_values import choice_of, naming_options
from halo_scheduler.cli.terminal.terminal import WAITS, moment, open_to_read, print_table, require_yes
from halo_scheduler.grammar.text import plain_line
from halo_scheduler.model.changes import TERMINAL
from halo_scheduler.model.chat import BotStatus, ChatServiceName, Stranger
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.wording.chat import bot_words

_JSON = click.option("--json", "as_json", is_flag=True, help="Machine-readable; times in epoch milliseconds.")
_NAME = click.argument("name")
_PERSON = click.argument("person", metavar="WHO")
_IN_FILE = click.option("--in-file", is_flag=True, help="Store the token in a private file, not the keyring.")
_OPTIONS_BY_FIELD = {"name": ("NAME",), "person": ("WHO",), "api": ("--api",), "value": ("the token",)}
_LONGEST = 500
_LONGEST_NAME = 60


@click.group(cls=Subcommands, invoke_without_command=True)
@_JSON
@click.pass_context
def chat(context: click.Context, *, as_json: bool) -> None:
    """Let people start jobs by chat: Telegram, Slack or Discord.

    \b
    Examples:
      halo chat
      halo chat add family --service telegram
      halo chat test family
      halo chat who family
      halo add answer --chat family/direct --chat-from 123456789 -- ./answer.sh
      halo chat allow family 123456789
      halo chat remove family

    Without a command, it lists the bots. Halo connects to the chat service while it runs and opens no port. Only people
    whom you permit, or whom a job names, can start jobs; others get no reply.
    """
    if context.invoked_subcommand is None:
        _list(as_json=as_json)


def _list(*, as_json: bool) -> None:
    with open_to_read() as scheduler:
        found = scheduler.chat.status()
    if as_json:
        click.echo(json.dumps([bot.to_data() for bot in found], ensure_ascii=False, indent=2))
        return
    if not found:
        click.echo("no bots yet; add one with: halo chat add family --service telegram")
        return
    print_table(["BOT", "SERVICE", "STATE", "PERMITTED"], [_cells(bot) for bot in found])


def _cells(status: BotStatus) -> list[str]:
    permitted = ", ".join(status.bot.permitted) or "only people listed in jobs"
    return [status.bot.name, status.bot.service, plain_line(bot_words(status), _LONGEST), permitted]


@chat.command(short_help="Add a bot.")
@_NAME
@click.option("--service", type=choice_of(ChatServiceName), required=True, help="The service of the bot.")
@click.option("--api", metavar="URL", default="", help="URL of your own server of this service.")
@_IN_FILE
def add(*, name: str, service: str, api: str, in_file: bool) -> None:
    """Add a bot; its token is typed without echo or read from standard input.

    \b
    Examples:
      halo chat add family --service telegram
      pass show telegram | halo chat add family --service telegram

    For Slack, give two tokens separated by a space: the bot token (xoxb-…) and the app-level token (xapp-…).
    """
    token = _ask_token(name)
    with naming_options(_OPTIONS_BY_FIELD, {}), Scheduler.open(actor=TERMINAL) as scheduler:
        scheduler.chat.add(name, ChatServiceName(service), token, api=api, in_file=in_file)
    click.echo(f"added {name}; test it with: halo chat test {name}")


@chat.command(short_help="Replace the token of a bot.")
@_NAME
@_IN_FILE
def token(*, name: str, in_file: bool) -> None:
    """Replace the token of a bot.

    \b
    Examples:
      halo chat token family
    """
    with naming_options(_OPTIONS_BY_FIELD, {}), Scheduler.open(actor=TERMINAL) as scheduler:
        scheduler.chat.strangers(name)  # Refuse a missing bot before asking for its token.
        scheduler.chat.renew(name, _ask_token(name), in_file=in_file)
    click.echo(f"{name} has a new token")


@chat.command(short_help="Remove a bot and its token.")
@_NAME
@click.option("--yes", is_flag=True, help="Don't ask for confirmation.")
def remove(*, name: str, yes: bool) -> None:
    """Remove a bot and its token; messages to it no longer start jobs.

    \b
    Examples:
      halo chat remove family
    """
    with naming_options(_OPTIONS_BY_FIELD, {}), Scheduler.open(actor=TERMINAL) as scheduler:
        scheduler.chat.strangers(name)
        if not yes:
            require_yes(f"Remove the bot {name} and its token?")
        scheduler.chat.remove(name)
    click.echo(f"removed {name}")


@chat.command(short_help="Check the token of a bot.")
@_NAME
def test(*, name: str) -> None:
    """Check the token of a bot: ask the service for the bot's name.

    \b
    Examples:
      halo chat test family
    """
    with naming_options(_OPTIONS_BY_FIELD, {}), Scheduler.open(actor=TERMINAL) as scheduler:
        identity = scheduler.chat.test(name)
        (status,) = [one for one in scheduler.chat.status() if one.bot.name == name]
    click.echo(f"{name} is {plain_line(identity, _LONGEST_NAME)} on {status.bot.service.title()}")
    if not status.is_listening:
        click.echo(f"{WAITS} {plain_line(bot_words(status), _LONGEST)}")


@chat.command(short_help="List people who wrote without permission.")
@_NAME
@_JSON
def who(*, name: str, as_json: bool) -> None:
    """List people who wrote to a bot without permission, with the ids to permit them.

    \b
    Examples:
      halo chat who family

    Messages are received only while Halo runs. The newest 20 people are kept.
    """
    with naming_options(_OPTIONS_BY_FIELD, {}), open_to_read() as scheduler:
        found = scheduler.chat.strangers(name)
    if as_json:
        click.echo(json.dumps([_data_of(one) for one in found], ensure_ascii=False, indent=2))
        return
    if not found:
        click.echo(f"nobody has written to {name} without permission")
        return
    rows = [
        [one.sender, plain_line(one.sender_name, _LONGEST_NAME), f"{name}/{one.channel}", moment(one.at)]
        for one in found
    ]
    print_table(["ID", "NAME", "CONVERSATION", "WROTE"], rows)
    click.echo(f"Permit a person with: halo chat allow {name} ID")


@chat.command(short_help="Permit a person to start jobs.")
@_NAME
@_PERSON
def allow(*, name: str, person: str) -> None:
    """Permit a person to start the bot's jobs, except jobs with their own list of people.

    \b
    Examples:
      halo chat allow family 123456789
      halo chat allow family @anna

    Names work on Telegram only. An id is safer: somebody else can take over an abandoned name.
    """
    with naming_options(_OPTIONS_BY_FIELD, {}), Scheduler.open(actor=TERMINAL) as scheduler:
        scheduler.chat.permit(name, person)
    click.echo(f"{person} may start jobs through {name}")


@chat.command(short_help="Revoke a permission.")
@_NAME
@_PERSON
def deny(*, name: str, person: str) -> None:
    """Revoke the permission of a person. The jobs' own lists don't change.

    \b
    Examples:
      halo chat deny family 123456789
    """
    with naming_options(_OPTIONS_BY_FIELD, {}), Scheduler.open(actor=TERMINAL) as scheduler:
        scheduler.chat.forbid(name, person)
    click.echo(f"{person} is no longer permitted for {name}")


def _ask_token(name: str) -> str:
    if sys.stdin.isatty():
        return str(click.prompt(f"Token of {name}", hide_input=True))
    return sys.stdin.read().strip()


def _data_of(stranger: Stranger) -> dict[str, object]:
    return {
        "id": stranger.sender,
        "name": stranger.sender_name,
        "conversation": stranger.channel,
        "at": stranger.at,
    }
