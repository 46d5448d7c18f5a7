"""The options for a job's action: a command, an HTTP request or a prompt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import click

from halo_scheduler.cli.options.option_values import (
    SectionOption,
    as_it_is,
    choice_of,
    chosen,
    is_given,
    lasting_path,
    numbers,
    or_none,
    pairs,
    text_of_file,
    text_of_stdin,
    under,
    whole_or_none,
)
from halo_scheduler.cli.terminal.completions import complete_agents, complete_folders, complete_secrets
from halo_scheduler.model import (
    Action,
    BodyKind,
    Command,
    HttpRequest,
    ProcessAction,
    Prompt,
    Redirects,
    Reminder,
)
from halo_scheduler.model.actions import FolderSource, GithubSource, WorkSource

_option = partial(click.option, cls=SectionOption, section="Work queue")
WORK_OPTIONS = (
    _option(
        "--work-folder",
        metavar="DIR",
        shell_complete=complete_folders,
        help="Each run takes one file from DIR/ready; finished files go to DIR/done.",
    ),
    _option("--work-github", metavar="OWNER/REPO", help="Each run takes one issue of this repository."),
    _option(
        "--work-token",
        metavar="SECRET",
        shell_complete=complete_secrets,
        help="Secret with the access token.",
    ),
    _option("--work-ready", metavar="LABEL", help="Label of issues to take.", default_words="ready"),
    _option(
        "--work-in-progress",
        metavar="LABEL",
        help="Label of issues in progress.",
        default_words="in_progress",
    ),
    _option("--work-url", metavar="URL", help="API URL, if not GitHub's own."),
    _option("--work-close/--no-work-close", default=None, help="Close the issue after a success."),
    _option(
        "--work-comment/--no-work-comment",
        default=None,
        help="Comment on the issue with the result: outcome, error, last line, duration and run id.",
    ),
)
_OF_GITHUB = {
    "work_token": ("token", as_it_is),
    "work_ready": ("ready", as_it_is),
    "work_in_progress": ("in_progress", as_it_is),
    "work_url": ("base_url", as_it_is),
    "work_close": ("closes", as_it_is),
    "work_comment": ("comments", as_it_is),
}
WORK_NAMES = ("work_folder", "work_github", *_OF_GITHUB)

action_option = partial(click.option, cls=SectionOption, section="Action")

ACTION_OPTIONS = (
    action_option("--shell", metavar="/bin/sh", help="Run COMMAND, one quoted line, in this shell."),
    action_option(
        "--dir",
        "--directory",
        "directory",
        metavar="DIR",
        shell_complete=complete_folders,
        help="Working directory.",
        default_words="your home",
    ),
    action_option("--env", multiple=True, metavar="NAME=VALUE", help="Environment variable."),
    action_option("--stdin", metavar="TEXT", help="Standard input of the command."),
    action_option("--success-codes", metavar="0,1", help="Exit codes that mean success.", default_words="0"),
    action_option(
        "--no-work-code",
        type=whole_or_none,
        metavar="N",
        help='Exit code meaning "nothing to do".',
    ),
    action_option(
        "--needs-input-code", type=whole_or_none, metavar="N", help='Exit code meaning "needs input".'
    ),
    action_option("--grace", metavar="10s", help="Time to exit before it's killed.", default_words="10s"),
    action_option(
        "--http", nargs=2, metavar="METHOD URL", help="Send an HTTP request instead of running a command."
    ),
    action_option("--header", multiple=True, metavar="'NAME: VALUE'", help="Request header."),
    action_option("--body", metavar="TEXT", help="Request body."),
    action_option("--json-body", metavar="JSON", help="JSON request body."),
    action_option(
        "--expect", metavar="200,204", help="Status codes that mean success.", default_words="any 2xx"
    ),
    action_option(
        "--redirects", type=choice_of(Redirects), help="Which redirects to follow.", default_words="same-host"
    ),
    action_option(
        "--prompt",
        metavar="TEXT|@FILE|-",
        help="Run a prompt with an AI agent; @FILE reads a file, - standard input.",
    ),
    action_option(
        "--remind",
        metavar="TEXT",
        help="Show a desktop notification; of several lines, the first is the title.",
    ),
    action_option(
        "--agent",
        metavar="NAME",
        shell_complete=complete_agents,
        help='Agent for the prompt (see "halo agent list").',
        default_words="the default agent",
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
ACTION_FIELDS = {
    "action.argv": ("COMMAND",),
    "action.line": ("COMMAND",),
    "action.shell": ("--shell",),
    "action.stdin": ("--stdin",),
    "action.directory": ("--dir",),
    "action.environment": ("--env",),
    "action.success_codes": ("--success-codes",),
    "action.no_work_code": ("--no-work-code",),
    "action.needs_input_code": ("--needs-input-code",),
    "action.grace": ("--grace",),
    "action.method": ("--http",),
    "action.url": ("--http",),
    "action.headers": ("--header",),
    "action.body": ("--json-body", "--body"),
    "action.body_kind": ("--json-body", "--body"),
    "action.expected_statuses": ("--expect",),
    "action.redirects": ("--redirects",),
    "action.title": ("--remind",),
    "action.text": ("--prompt", "--remind"),
    "action.agent": ("--agent",),
    "action.work_source.path": ("--work-folder",),
    "action.work_source.repository": ("--work-github",),
    "action.work_source.token": ("--work-token",),
    "action.work_source.ready": ("--work-ready",),
    "action.work_source.in_progress": ("--work-in-progress",),
    "action.work_source.base_url": ("--work-url",),
    "action.work_source.closes": ("--work-close",),
    "action.work_source.comments": ("--work-comment",),
}
"""For each field of an action, the options that set it."""


@under("work_source")
def changed_work_source(before: WorkSource | None, given: Mapping[str, Any]) -> WorkSource | None:
    """Return the work queue with the given options applied; without one, that from before."""
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
    raise click.UsageError(f"--{name.replace('_', '-')} needs --work-github")


@under("action")
def changed_action(before: Action | None, given: Mapping[str, Any], command: tuple[str, ...]) -> Action:
    """Return the action with the given options applied; without one, that from before.

    A change between command and prompt keeps the fields that both have.
    """
    kind = _kind_given(given, command) or type(before)
    if issubclass(kind, HttpRequest):
        return _changed_request(before, given)
    if issubclass(kind, Prompt):
        return _changed_prompt(before, given)
    if issubclass(kind, Reminder):
        return _changed_reminder(before, given)
    if issubclass(kind, Command):
        return _changed_command(before, given, command)
    if before is None:
        raise click.UsageError(
            "give an action: -- COMMAND ARG…, --http GET URL, --prompt TEXT or --remind TEXT"
        )
    _refuse(given, _OF_ACTIONS, "a command, a request or a prompt")
    return before


def _kind_given(given: Mapping[str, Any], command: tuple[str, ...]) -> type[Action] | None:
    actions = [bool(command), bool(given["http"]), given["prompt"] is not None, given["remind"] is not None]
    if sum(actions) > 1:
        raise click.UsageError("give only one of a command, --http, --prompt and --remind")
    if given["remind"] is not None:
        return Reminder
    if given["http"]:
        return HttpRequest
    if given["prompt"] is not None:
        return Prompt
    return Command if command else None


def _changed_reminder(before: Action | None, given: Mapping[str, Any]) -> Reminder:
    _refuse(given, _OF_ACTIONS, "a command, a request or a prompt")
    if given["remind"] is None and isinstance(before, Reminder):
        return before
    title, _, text = str(given["remind"]).strip().partition("\n")
    return Reminder(title=title.strip(), text=text.strip())


def _changed_command(before: Action | None, given: Mapping[str, Any], command: tuple[str, ...]) -> Command:
    _refuse(given, _OF_REQUESTS, "--http")
    _refuse(given, _OF_PROMPTS, "--prompt")
    own = chosen(given, {"stdin": ("stdin", as_it_is)})
    own |= _program(before, given["shell"], command) | _process_fields(before, given)
    return replace(before, **own) if isinstance(before, Command) else Command(**own)


def _program(before: Action | None, shell: str | None, command: tuple[str, ...]) -> dict[str, Any]:
    """Return the fields of a program with arguments, or of a shell line."""
    if not command and shell is None:
        return {}
    line = before.line if isinstance(before, Command) and not command else ""
    if shell and not line and len(command) != 1:
        raise click.UsageError("with --shell, give the line as one quoted argument")
    if shell:
        return {"argv": (), "line": line or command[0], "shell": shell}
    return {"argv": command, "line": "", "shell": ""}


def _changed_prompt(before: Action | None, given: Mapping[str, Any]) -> Prompt:
    _refuse(given, _OF_REQUESTS, "--http")
    _refuse(given, _OF_COMMANDS, "a command")
    own = chosen(given, {"prompt": ("text", _text), "agent": ("agent", as_it_is)})
    own |= _process_fields(before, given)
    if not own.get("text", "x").strip() and own["work_source"] is None:
        raise click.UsageError("--prompt is empty; write what the agent should do, or add a work queue")
    return replace(before, **own) if isinstance(before, Prompt) else Prompt(**own)


def _process_fields(before: Action | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that commands and prompts share."""
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
            raise click.UsageError(f"--{option} needs {what}")


def _text(given: str) -> str:
    """Return the text of a prompt: as typed, from @FILE, or from standard input."""
    if given == "-":
        return text_of_stdin("the prompt")
    return text_of_file("the prompt", given[1:]) if given.startswith("@") else given
