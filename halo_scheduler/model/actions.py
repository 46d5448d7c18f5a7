"""Actions: what a job does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, cast

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
from halo_scheduler.grammar.interval import parse_interval
from halo_scheduler.grammar.templates import (
    parameters_in,
    parameters_in_request,
    referenced_names,
    refuse_references,
    require_prompt,
    require_references,
    variables_in_request,
)
from halo_scheduler.model.codec import Value, decode, put
from halo_scheduler.model.work_source import WorkSource

# Every user of the computer can read a process's arguments.
_IN_ENVIRONMENT = "everybody can read a program's arguments: put it into the environment or standard input"
_OUT_OF_PROMPT = "an agent repeats what it reads: put it into the environment"

_OUT_OF_REMINDER = "everybody who sees the screen can read a notification"
_LONGEST_REMINDER = 1_000


class Redirects(StrEnum):
    """Which redirects an HTTP request follows."""

    NONE = "none"
    SAME_HOST = "same-host"
    ANY = "any"


class BodyKind(StrEnum):
    """The type of an HTTP request's body."""

    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Command(Value):
    """Run a program with arguments (`argv`), or a `line` in a `shell`."""

    kind: ClassVar = "command"
    argv: tuple[str, ...] = ()
    line: str = ""
    shell: str = ""
    directory: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict, hash=False)
    stdin: str = ""
    success_codes: tuple[int, ...] = (0,)
    no_work_code: int | None = None
    needs_input_code: int | None = None
    grace: str = "10s"
    work_source: WorkSource | None = None

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
    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict, hash=False)
    body: str = ""
    body_kind: BodyKind = BodyKind.TEXT
    expected_statuses: tuple[int, ...] = ()
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
    text: str = ""
    agent: str = ""
    directory: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict, hash=False)
    success_codes: tuple[int, ...] = (0,)
    no_work_code: int | None = None
    needs_input_code: int | None = None
    grace: str = "10s"
    work_source: WorkSource | None = None

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
    title: str
    text: str = ""

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
Action = Command | HttpRequest | Prompt | Reminder | Callback


def action_from_dict(data: object) -> Action:
    """Return the action of a JSON form; ScheduleError has the path of what is wrong."""
    return cast("Action", decode(Action, data))
