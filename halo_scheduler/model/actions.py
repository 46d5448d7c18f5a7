"""Actions: what a job does, and the work queues that its runs take items from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import PurePosixPath, PureWindowsPath
from typing import Annotated, ClassVar, cast

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.checks import (
    LONGEST_NAME,
    frozen_list,
    frozen_mapping,
    require_choice,
    require_interval,
    require_json,
    require_kind,
    require_label,
    require_line,
    require_text,
    require_token,
    require_url,
    require_whole,
)
from halo_scheduler.grammar.english import shortened
from halo_scheduler.grammar.interval import INTERVAL_FORM, parse_interval
from halo_scheduler.grammar.templates import (
    VARIABLES,
    parameters_in,
    parameters_in_request,
    referenced_names,
    refuse_references,
    require_prompt,
    require_references,
    require_secret_name,
    variables_in_request,
)
from halo_scheduler.model.codec import Value, decode, put

# Every user of the computer can read a process's arguments.
_IN_ENVIRONMENT = "everybody can read a program's arguments: put it into the environment or standard input"
_OUT_OF_PROMPT = "an agent repeats what it reads: put it into the environment"

_OUT_OF_REMINDER = "everybody who sees the screen can read a notification"
_LONGEST_REMINDER = 1_000
_REPOSITORY = re.compile(r"[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}", re.ASCII)
_LONGEST_LABEL = 50
_THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderSource(Value):
    """Files in a folder: `ready/`, then `in-progress/`, then `done/` or `failed/`."""

    kind: ClassVar = "folder"
    path: Annotated[str, "the folder with ready/, in-progress/, done/ and failed/"]

    def __post_init__(self) -> None:
        if not require_line("path", self.path, longest=4_096).strip():
            raise ScheduleError("is empty; choose the folder that holds ready/", path="path")
        # A relative path would depend on the process: the editor, a terminal or the engine.
        if not (self.path.startswith("~") or _is_absolute(self.path)):
            raise ScheduleError("must be an absolute path, like /home/me/tasks or ~/tasks", path="path")

    @property
    def secret_names(self) -> frozenset[str]:
        return frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class GithubSource(Value):
    """Issues of a repository with a label; `token` names a secret, empty for a public repository."""

    kind: ClassVar = "github"
    repository: Annotated[str, "owner/name"]
    token: Annotated[
        str, "the name of a secret, which only a person can set; omitted in a change, it stays"
    ] = ""
    ready: Annotated[str, "label of issues that are ready to work on"] = "ready"
    in_progress: Annotated[str, "label of issues in progress"] = "in_progress"
    base_url: str = "https://api.github.com"
    closes: Annotated[bool, "whether a success closes the issue"] = False
    comments: Annotated[bool, "whether a success or a failure leaves a comment on the issue"] = False
    """Whether a success or a failure leaves a comment on the issue."""

    def __post_init__(self) -> None:
        if not _REPOSITORY.fullmatch(require_text("repository", self.repository)):
            raise ScheduleError("must be like owner/name", path="repository")
        if not {".", ".."}.isdisjoint(self.repository.split("/")):
            raise ScheduleError("must be like owner/name", path="repository")
        if require_text("token", self.token):
            require_secret_name("token", self.token)
        for name in ("ready", "in_progress"):
            label = require_line(name, getattr(self, name), longest=_LONGEST_LABEL)
            if not label.strip() or "," in label:
                raise ScheduleError("must be one label, without a comma", path=name)
            put(self, **{name: label.strip()})
        if self.ready.casefold() == self.in_progress.casefold():
            raise ScheduleError("must differ from the ready label", path="in_progress")
        require_url("base_url", self.base_url)
        if "?" in self.base_url or "#" in self.base_url:
            raise ScheduleError("must be a base URL, without ? and #", path="base_url")
        if self.token and not _is_private(self.base_url):
            raise ScheduleError("must begin with https://, or others could read the token", path="base_url")
        for name in ("closes", "comments"):
            require_kind(name, getattr(self, name), bool, "true or false")

    @property
    def secret_names(self) -> frozenset[str]:
        return frozenset([self.token]) if self.token else frozenset()


WorkSource = FolderSource | GithubSource


def _is_absolute(path: str) -> bool:
    return PurePosixPath(path).is_absolute() or PureWindowsPath(path).is_absolute()


def _is_private(url: str) -> bool:
    """Return whether the connection is encrypted or stays on this computer."""
    from urllib.parse import urlsplit  # noqa: PLC0415 - only for jobs with such a source

    parts = urlsplit(url)
    return parts.scheme == "https" or parts.hostname in _THIS_MACHINE


class Redirects(StrEnum):
    """Which redirects an HTTP request follows."""

    NONE = "none"
    SAME_HOST = "same-host"
    ANY = "any"


class BodyKind(StrEnum):
    """The type of an HTTP request's body."""

    TEXT = "text"
    JSON = "json"


# The fields that commands and prompts share.
_Directory = Annotated[str | None, "working directory; null for the home directory"]
_Environment = Annotated[Mapping[str, str], "environment variables to add"]
_SuccessCodes = Annotated[tuple[int, ...], "the exit codes that mean success"]
_NoWorkCode = Annotated[int | None, 'the exit code that means "nothing to do"']
_NeedsInputCode = Annotated[int | None, "the exit code that leaves a question for a person"]
_Grace = Annotated[str, f"time to exit before it's killed: {INTERVAL_FORM}"]
_Queue = Annotated[WorkSource | None, "the work queue each run takes an item from; null for none"]
_VARIABLES = ", ".join(f"{{{{{name}}}}}" for name in VARIABLES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Command(Value):
    """Run a program with arguments (`argv`), or a `line` in a `shell`."""

    kind: ClassVar = "command"
    argv: Annotated[tuple[str, ...], "the program and its arguments, run without a shell"] = ()
    line: Annotated[str, "a shell command line, instead of argv"] = ""
    shell: Annotated[str, "the shell that runs the line, such as /bin/sh"] = ""
    directory: _Directory = None
    environment: _Environment = field(default_factory=dict, hash=False)
    stdin: Annotated[str, "standard input"] = ""
    success_codes: _SuccessCodes = (0,)
    no_work_code: _NoWorkCode = None
    needs_input_code: _NeedsInputCode = None
    grace: _Grace = "10s"
    work_source: _Queue = None

    def __post_init__(self) -> None:
        put(self, argv=frozen_list("argv", self.argv))
        for index, argument in enumerate(self.argv):
            refuse_references(f"argv[{index}]", require_text(f"argv[{index}]", argument), _IN_ENVIRONMENT)
        for name in ("line", "shell", "stdin"):
            require_text(name, getattr(self, name))
        refuse_references("line", self.line, _IN_ENVIRONMENT)
        require_references("stdin", self.stdin)
        self._require_one_program()
        _check_place(self)
        _check_codes(self)
        _check_work_source(self.work_source)

    @property
    def grace_ms(self) -> int:
        return parse_interval(self.grace)

    @property
    def secret_names(self) -> frozenset[str]:
        """The secrets a run is given."""
        return referenced_names([self.stdin, *self.environment.values()])

    def _require_one_program(self) -> None:
        if bool(self.argv) == bool(self.line.strip()):
            raise ScheduleError("give either a program with arguments or a shell line", path="argv")
        if self.argv and not self.argv[0].strip():
            raise ScheduleError("the program is empty", path="argv[0]")
        if bool(self.line.strip()) != bool(self.shell.strip()):
            raise ScheduleError("a shell line and its shell go together, like /bin/sh", path="shell")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest(Value):
    """Send an HTTP request; without `expected_statuses`, any 2xx is a success."""

    kind: ClassVar = "http"
    url: Annotated[str, "http or https, without user name and password"]
    method: str = "GET"
    headers: Annotated[Mapping[str, str], "by name"] = field(default_factory=dict, hash=False)
    body: str = ""
    body_kind: Annotated[BodyKind, "json is validated and sent with its content type"] = BodyKind.TEXT
    expected_statuses: Annotated[tuple[int, ...], "status codes that mean success; empty for any 2xx"] = ()
    redirects: Redirects = Redirects.SAME_HOST

    def __post_init__(self) -> None:
        refuse_references("url", require_url("url", self.url), "put it into a header or the body")
        self._require_variables_in_query()
        require_token("method", self.method)
        put(self, headers=frozen_mapping("headers", self.headers))
        for name, value in self.headers.items():
            require_token("headers", name)
            require_references(f"headers.{name}", require_line(f"headers.{name}", value))
        require_references("body", require_text("body", self.body))
        put(self, body_kind=require_choice(BodyKind, self.body_kind, path="body_kind"))
        if self.body_kind is BodyKind.JSON:
            require_json("body", self.body)
        put(self, expected_statuses=frozen_list("expected_statuses", self.expected_statuses))
        for index, status in enumerate(self.expected_statuses):
            require_whole(f"expected_statuses[{index}]", status, 100, 599)
        put(self, redirects=require_choice(Redirects, self.redirects, path="redirects"))

    @property
    def secret_names(self) -> frozenset[str]:
        """The secrets a run is given."""
        return referenced_names([self.body, *self.headers.values()])

    @property
    def used_parameters(self) -> dict[str, frozenset[str]]:
        """The parameters in each field."""
        headers = {f"headers.{name}": parameters_in_request(value) for name, value in self.headers.items()}
        return {
            "url": parameters_in_request(self.url),
            "body": parameters_in_request(self.body),
            **headers,
        }

    def _require_variables_in_query(self) -> None:
        before, _, query = self.url.partition("?")
        if variables_in_request(before + query.partition("#")[1] + query.partition("#")[2]):
            raise ScheduleError(
                "a variable can only stand after the ? of the URL, where its value is encoded", path="url"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt(Value):
    """Run a prompt with an AI agent; without `agent`, with the default one."""

    kind: ClassVar = "prompt"
    text: Annotated[str, f"the prompt; variables: {_VARIABLES}"] = ""
    agent: Annotated[str, "the name of a configured agent; empty for the default"] = ""
    directory: _Directory = None
    environment: _Environment = field(default_factory=dict, hash=False)
    success_codes: _SuccessCodes = (0,)
    no_work_code: _NoWorkCode = None
    needs_input_code: _NeedsInputCode = None
    grace: _Grace = "10s"
    work_source: _Queue = None

    def __post_init__(self) -> None:
        refuse_references("text", require_text("text", self.text), _OUT_OF_PROMPT)
        require_text("agent", self.agent, longest=LONGEST_NAME)
        _check_place(self)
        _check_codes(self)
        _check_work_source(self.work_source)
        require_prompt("text", self.text, has_work=self.work_source is not None)

    @property
    def grace_ms(self) -> int:
        return parse_interval(self.grace)

    @property
    def secret_names(self) -> frozenset[str]:
        """The secrets a run is given."""
        return referenced_names(self.environment.values())

    @property
    def used_parameters(self) -> dict[str, frozenset[str]]:
        """The parameters in each field."""
        return {"text": parameters_in(self.text)}


@dataclass(frozen=True, slots=True)
class Callback(Value):
    """Call the handler that `Scheduler.on_job_due` registered under this name."""

    kind: ClassVar = "callback"
    name: str = ""

    def __post_init__(self) -> None:
        require_text("name", self.name, longest=LONGEST_NAME)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reminder(Value):
    """Show a desktop notification; succeeds once the desktop's notification service has accepted it."""

    kind: ClassVar = "reminder"
    title: Annotated[str, "title of the desktop notification"]
    text: Annotated[str, "text below the title; empty for none"] = ""

    def __post_init__(self) -> None:
        refuse_references("title", require_label("title", self.title), _OUT_OF_REMINDER)
        refuse_references(
            "text", require_text("text", self.text, longest=_LONGEST_REMINDER), _OUT_OF_REMINDER
        )


def _check_place(action: Command | Prompt) -> None:
    """Refuse a working directory or environment that no process can have."""
    if action.directory is not None and not require_text("directory", action.directory).strip():
        raise ScheduleError("is empty; leave it out for the home directory", path="directory")
    put(action, environment=frozen_mapping("environment", action.environment))
    for name, value in action.environment.items():
        if not name or "=" in name:
            raise ScheduleError(f"{name!r} is not a name for a variable", path="environment")
        refuse_references("environment", name, "only the value of a variable can be one")
        require_references(f"environment.{shortened(name)}", value)


def _check_codes(action: Command | Prompt) -> None:
    """Refuse exit codes that no process can return, or that would have two meanings."""
    put(action, success_codes=frozen_list("success_codes", action.success_codes))
    if not action.success_codes:
        raise ScheduleError("is empty: no run could ever succeed", path="success_codes")
    for index, code in enumerate(action.success_codes):
        require_whole(f"success_codes[{index}]", code, 0, 255)
    for name in ("no_work_code", "needs_input_code"):
        if getattr(action, name) is not None:
            require_whole(name, getattr(action, name), 0, 255)
    if action.no_work_code in action.success_codes:
        raise ScheduleError("must not also be a success code", path="no_work_code")
    if action.needs_input_code is not None and action.needs_input_code == action.no_work_code:
        raise ScheduleError("must not also be the code for no work", path="needs_input_code")
    require_interval("grace", action.grace)


def _check_work_source(source: object) -> None:
    if source is not None:
        require_kind("work_source", source, WorkSource, "a FolderSource or a GithubSource")


ProcessAction = Command | Prompt
"""What is done by a process of its own."""
EditableAction = Command | HttpRequest | Prompt | Reminder
"""Kinds that a person or an assistant can define; a callback needs a program that embeds Halo."""
Action = EditableAction | Callback


def action_from_dict(data: object) -> Action:
    """Return the action of a JSON form; ScheduleError has the path of what is wrong."""
    return cast("Action", decode(Action, data))
