"""The options that say what a job does: run a command, send a request, ask an agent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import click

from halo_scheduler.cli.options.option_values import (
    as_it_is,
    chosen,
    is_given,
    lasting_path,
    numbers,
    or_none,
    pairs,
    under,
    whole_or_none,
)
from halo_scheduler.cli.options.sections import SectionOption, choice_of
from halo_scheduler.cli.terminal.completions import complete_agents, complete_folders, complete_secrets
from halo_scheduler.cli.terminal.typed_text import text_of_file, text_of_stdin
from halo_scheduler.model import Action, BodyKind, Command, HttpRequest, ProcessAction, Prompt, Redirects
from halo_scheduler.model.work_source import FolderSource, GithubSource, WorkSource

_option = partial(click.option, cls=SectionOption, section="Where its work comes from")
WORK_OPTIONS = (
    _option(
        "--work-folder",
        metavar="DIR",
        shell_complete=complete_folders,
        help="Give each run one file of DIR/ready, then move it to DIR/done.",
    ),
    _option("--work-github", metavar="OWNER/REPO", help="Give each run one issue of this repository."),
    _option(
        "--work-token",
        metavar="SECRET",
        shell_complete=complete_secrets,
        help="The secret that holds the token for it.",
    ),
    _option("--work-ready", metavar="LABEL", help="The label of what can be done.", usual="ready"),
    _option(
        "--work-in-progress", metavar="LABEL", help="The label of what is being done.", usual="in_progress"
    ),
    _option("--work-url", metavar="URL", help="The API, if it is not GitHub's own."),
    _option("--work-close/--no-work-close", default=None, help="Close the issue after a success."),
)
_OF_GITHUB = {
    "work_token": ("token", as_it_is),
    "work_ready": ("ready", as_it_is),
    "work_in_progress": ("in_progress", as_it_is),
    "work_url": ("base_url", as_it_is),
    "work_close": ("closes", as_it_is),
}
WORK_NAMES = ("work_folder", "work_github", *_OF_GITHUB)

action_option = partial(click.option, cls=SectionOption, section="What it does")

ACTION_OPTIONS = (
    action_option("--shell", metavar="/bin/sh", help="Give the one COMMAND as a line to this shell."),
    action_option(
        "--dir",
        "--directory",
        "directory",
        metavar="DIR",
        shell_complete=complete_folders,
        help="Where it runs.",
        usual="your home",
    ),
    action_option("--env", multiple=True, metavar="NAME=VALUE", help="Add to its environment."),
    action_option("--stdin", metavar="TEXT", help="What a command reads from standard input."),
    action_option("--success-codes", metavar="0,1", help="Exit codes that mean success.", usual="0"),
    action_option(
        "--no-work-code",
        type=whole_or_none,
        metavar="N",
        help='The exit code that means "nothing to do".',
    ),
    action_option(
        "--needs-input-code", type=whole_or_none, metavar="N", help="The exit code that asks for you."
    ),
    action_option("--grace", metavar="10s", help="From asking it to stop to force.", usual="10s"),
    action_option("--http", nargs=2, metavar="METHOD URL", help="An HTTP request instead of a command."),
    action_option("--header", multiple=True, metavar="'NAME: VALUE'", help="A header of the request."),
    action_option("--body", metavar="TEXT", help="The body of the request."),
    action_option("--json-body", metavar="JSON", help="The body of the request, as JSON."),
    action_option("--expect", metavar="200,204", help="Statuses that mean success.", usual="any 2xx"),
    action_option(
        "--redirects", type=choice_of(Redirects), help="Where it may be sent on to.", usual="same-host"
    ),
    action_option(
        "--prompt",
        metavar="TEXT|@FILE|-",
        help="A prompt for an AI agent instead of a command; from a file, or from standard input.",
    ),
    action_option(
        "--agent",
        metavar="NAME",
        shell_complete=complete_agents,
        help='Which agent, see "halo agent list".',
        usual="the default one",
    ),
    *WORK_OPTIONS,
)
_OF_COMMANDS = ("shell", "stdin")
_OF_PROMPTS = ("agent",)
_OF_PROCESSES = (
    *("directory", "env", "success_codes", "no_work_code", "needs_input_code", "grace"),
    *WORK_NAMES,
)
_OF_REQUESTS = ("header", "body", "json_body", "expect", "redirects")
_OF_ACTIONS = (*_OF_COMMANDS, *_OF_PROMPTS, *_OF_PROCESSES, *_OF_REQUESTS)
_OPTION_NAMES = {"directory": "dir"}

_PROCESS_FIELDS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "directory": ("directory", as_it_is),
    "success_codes": ("success_codes", partial(numbers, "--success-codes")),
    "no_work_code": ("no_work_code", or_none),
    "needs_input_code": ("needs_input_code", or_none),
    "grace": ("grace", as_it_is),
}
_KEPT_BY_PROCESSES = (
    *("directory", "environment", "success_codes", "no_work_code", "needs_input_code", "grace"),
    "work_source",
)


@under("work_source")
def changed_work_source(before: WorkSource | None, given: Mapping[str, Any]) -> WorkSource | None:
    """Return the source that was asked for, else the one from before, with what was given of it."""
    folder, repository = given["work_folder"], given["work_github"]
    if folder is not None and repository is not None:
        raise click.UsageError("give either --work-folder or --work-github")
    fields = chosen(given, _OF_GITHUB)
    if repository is not None:
        fields["repository"] = repository
        return replace(before, **fields) if isinstance(before, GithubSource) else GithubSource(**fields)
    found = before if folder is None else FolderSource(path=lasting_path(folder))
    if not fields:
        return found
    if isinstance(found, GithubSource):
        return replace(found, **fields)
    name = next(name for name, (field, _) in _OF_GITHUB.items() if field in fields)
    raise click.UsageError(f"--{name.replace('_', '-')} goes with --work-github only")


@under("action")
def changed_action(before: Action | None, given: Mapping[str, Any], command: tuple[str, ...]) -> Action:
    """Return the one action that was asked for, else the one from before, with what was given of it.

    Between a command and a prompt all that both can have is kept.
    """
    kind = _kind_given(given, command) or type(before)
    if issubclass(kind, HttpRequest):
        return _changed_request(before, given)
    if issubclass(kind, Prompt):
        return _changed_prompt(before, given)
    if issubclass(kind, Command):
        return _changed_command(before, given, command)
    if before is None:
        raise click.UsageError("say what to run: -- COMMAND ARG…, --http GET URL or --prompt TEXT")
    _refuse(given, _OF_ACTIONS, "a command, a request or a prompt")
    return before


def _kind_given(given: Mapping[str, Any], command: tuple[str, ...]) -> type[Action] | None:
    if sum([bool(command), bool(given["http"]), given["prompt"] is not None]) > 1:
        raise click.UsageError("give either a command, --http or --prompt, not both")
    if given["http"]:
        return HttpRequest
    if given["prompt"] is not None:
        return Prompt
    return Command if command else None


def _changed_command(before: Action | None, given: Mapping[str, Any], command: tuple[str, ...]) -> Command:
    _refuse(given, _OF_REQUESTS, "--http")
    _refuse(given, _OF_PROMPTS, "--prompt")
    own = chosen(given, {"stdin": ("stdin", as_it_is)})
    own |= _program(before, given["shell"], command) | _process_fields(before, given)
    return replace(before, **own) if isinstance(before, Command) else Command(**own)


def _program(before: Action | None, shell: str | None, command: tuple[str, ...]) -> dict[str, Any]:
    """Return a program with its arguments, or a line with its shell."""
    if not command and shell is None:
        return {}
    line = before.line if isinstance(before, Command) and not command else ""
    if shell and not line and len(command) != 1:
        raise click.UsageError("with --shell, give the line as one argument, in quotes")
    if shell:
        return {"argv": (), "line": line or command[0], "shell": shell}
    return {"argv": command, "line": "", "shell": ""}


def _changed_prompt(before: Action | None, given: Mapping[str, Any]) -> Prompt:
    _refuse(given, _OF_REQUESTS, "--http")
    _refuse(given, _OF_COMMANDS, "a command")
    own = chosen(given, {"prompt": ("text", _text), "agent": ("agent", as_it_is)})
    own |= _process_fields(before, given)
    return replace(before, **own) if isinstance(before, Prompt) else Prompt(**own)


def _process_fields(before: Action | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what commands and prompts have in common."""
    had = before if isinstance(before, ProcessAction) else None
    kept = {name: getattr(had, name) for name in _KEPT_BY_PROCESSES if had is not None}
    environment = {} if had is None or given.get("no_env") else had.environment
    source = None if had is None or given.get("no_work") else had.work_source
    return {
        **kept,
        **chosen(given, _PROCESS_FIELDS),
        "environment": {**environment, **pairs("--env", "=", given["env"])},
        "work_source": changed_work_source(source, given),
    }


def _changed_request(before: Action | None, given: Mapping[str, Any]) -> HttpRequest:
    _refuse(given, _OF_PROMPTS, "--prompt")
    _refuse(given, _OF_COMMANDS, "a command")
    _refuse(given, _OF_PROCESSES, "a command or a prompt")
    had = before if isinstance(before, HttpRequest) else None
    headers = {} if had is None or given.get("no_headers") else had.headers
    own = {
        **chosen(given, {"redirects": ("redirects", Redirects), "expect": ("expected_statuses", _statuses)}),
        **_body(given),
        "headers": {**headers, **pairs("--header", ":", given["header"])},
    }
    if given["http"]:
        own["method"], own["url"] = given["http"]
    return HttpRequest(**own) if had is None else replace(had, **own)


def _body(given: Mapping[str, Any]) -> dict[str, Any]:
    if given["body"] is not None and given["json_body"] is not None:
        raise click.UsageError("give either --body or --json-body")
    if given["json_body"] is not None:
        return {"body": given["json_body"], "body_kind": BodyKind.JSON}
    return {} if given["body"] is None else {"body": given["body"], "body_kind": BodyKind.TEXT}


def _statuses(text: str) -> tuple[int, ...]:
    return () if text == "any" else numbers("--expect", text)


def _refuse(given: Mapping[str, Any], names: Sequence[str], what: str) -> None:
    for name in names:
        if is_given(given[name]):
            option = _OPTION_NAMES.get(name, name).replace("_", "-")
            raise click.UsageError(f"--{option} goes with {what} only")


def _text(given: str) -> str:
    """Return a prompt as it was typed, or from where it was said to be."""
    if given == "-":
        return text_of_stdin("the prompt")
    return text_of_file("the prompt", given[1:]) if given.startswith("@") else given
