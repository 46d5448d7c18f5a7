"""The options that say what a job does: run a command, send a request, ask an agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from halo_scheduler.cli.schedule_options import AnyCommand, choice_of, with_options
from halo_scheduler.cli.typed_text import text_of_file, text_of_stdin
from halo_scheduler.cli.work_options import WORK_NAMES, WORK_OPTIONS, work_source_of
from halo_scheduler.model import BodyKind, Command, HttpRequest, Prompt, Redirects

_OPTIONS = (
    click.option("--shell", metavar="/bin/sh", help="Give the one COMMAND as a line to this shell."),
    click.option("--dir", "--directory", "directory", metavar="DIR", help="Where it runs. [your home]"),
    click.option("--env", multiple=True, metavar="NAME=VALUE", help="Add to its environment."),
    click.option("--stdin", default="", metavar="TEXT", help="What a command reads from standard input."),
    click.option("--success-codes", metavar="0,1", help="Exit codes that mean success. [0]"),
    click.option("--no-work-code", type=int, metavar="N", help='The exit code that means "nothing to do".'),
    click.option("--needs-input-code", type=int, metavar="N", help="The exit code that asks for you."),
    click.option("--grace", metavar="10s", help="From asking it to stop to force. [10s]"),
    click.option("--http", nargs=2, metavar="METHOD URL", help="An HTTP request instead of a command."),
    click.option("--header", multiple=True, metavar="'NAME: VALUE'", help="A header of the request."),
    click.option("--body", metavar="TEXT", help="The body of the request."),
    click.option("--json-body", metavar="JSON", help="The body of the request, as JSON."),
    click.option("--expect", metavar="200,204", help="Statuses that mean success. [any 2xx]"),
    click.option("--redirects", type=choice_of(Redirects), help="[same-host]"),
    click.option(
        "--prompt",
        metavar="TEXT|@FILE|-",
        help="A prompt for an AI agent instead of a command; from a file, or from standard input.",
    ),
    click.option("--agent", metavar="NAME", help='Which agent, see "halo agent list". [the default one]'),
    *WORK_OPTIONS,
)
_OF_COMMANDS = ("shell", "stdin")
_OF_PROCESSES = (
    *("directory", "env", "success_codes", "no_work_code", "needs_input_code", "grace"),
    *WORK_NAMES,
)
_OF_REQUESTS = ("header", "body", "json_body", "expect", "redirects")


def action_options(command: AnyCommand) -> AnyCommand:
    """Give a command the options that make an action."""
    return with_options(command, _OPTIONS)


def action_of(given: dict[str, Any], command: tuple[str, ...]) -> Command | HttpRequest | Prompt:
    """Return the one action that was asked for."""
    if sum([bool(command), bool(given["http"]), given["prompt"] is not None]) > 1:
        raise click.UsageError("give either a command, --http or --prompt, not both")
    if given["http"]:
        _refuse(given, ("agent",), "--prompt")
        _refuse(given, _OF_COMMANDS, "a command")
        _refuse(given, _OF_PROCESSES, "a command or a prompt")
        return _request(given)
    _refuse(given, _OF_REQUESTS, "--http")
    if given["prompt"] is not None:
        _refuse(given, _OF_COMMANDS, "a command")
        return Prompt(text=_text(given["prompt"]), agent=given["agent"] or "", **_process_fields(given))
    _refuse(given, ("agent",), "--prompt")
    return _command(given, command)


def _refuse(given: dict[str, Any], names: Sequence[str], what: str) -> None:
    for name in names:
        if given[name] is not None and given[name] is not False and given[name] not in ("", ()):
            option = name.replace("directory", "dir").replace("_", "-")
            raise click.UsageError(f"--{option} goes with {what} only")


def _command(given: dict[str, Any], command: tuple[str, ...]) -> Command:
    if not command:
        raise click.UsageError("say what to run: -- COMMAND ARG…, --http GET URL or --prompt TEXT")
    shell = given["shell"] or ""
    if shell and len(command) != 1:
        raise click.UsageError("with --shell, give the line as one argument, in quotes")
    return Command(
        argv=() if shell else command,
        line=command[0] if shell else "",
        shell=shell,
        stdin=given["stdin"],
        **_process_fields(given),
    )


def _process_fields(given: dict[str, Any]) -> dict[str, Any]:
    """Return what commands and prompts have in common."""
    return {
        "directory": given["directory"],
        "environment": _pairs("--env", "=", given["env"]),
        "success_codes": _numbers("--success-codes", given["success_codes"] or "0"),
        "no_work_code": given["no_work_code"],
        "needs_input_code": given["needs_input_code"],
        "grace": given["grace"] or "10s",
        "work_source": work_source_of(given),
    }


def _request(given: dict[str, Any]) -> HttpRequest:
    if given["body"] is not None and given["json_body"] is not None:
        raise click.UsageError("give either --body or --json-body")
    method, url = given["http"]
    is_json = given["json_body"] is not None
    return HttpRequest(
        url=url,
        method=method,
        headers=_pairs("--header", ":", given["header"]),
        body=(given["json_body"] if is_json else given["body"]) or "",
        body_kind=BodyKind.JSON if is_json else BodyKind.TEXT,
        expected_statuses=_numbers("--expect", given["expect"]) if given["expect"] else (),
        redirects=Redirects(given["redirects"] or Redirects.SAME_HOST),
    )


def _text(given: str) -> str:
    """Return a prompt as it was typed, or from where it was said to be."""
    if given == "-":
        return text_of_stdin("the prompt")
    return text_of_file("the prompt", given[1:]) if given.startswith("@") else given


def _pairs(option: str, separator: str, texts: Sequence[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        name, found, value = text.partition(separator)
        if not found:
            raise click.UsageError(f"{option} {text!r} has no {separator!r}")
        pairs[name.strip()] = value.strip() if separator == ":" else value
    return pairs


def _numbers(option: str, text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise click.UsageError(
            f"{option} takes whole numbers with commas between them, not {text!r}"
        ) from None
