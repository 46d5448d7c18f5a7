"""The values everything else speaks of: frozen, validated when made, with strict JSON in and out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, ClassVar, Self, cast

from halo_scheduler.checks import (
    LONGEST_NAME,
    frozen_list,
    frozen_mapping,
    parse_instant,
    require_amount,
    require_choice,
    require_instant,
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
from halo_scheduler.errors import ScheduleError
from halo_scheduler.prompt_text import require_prompt
from halo_scheduler.schedule.cron import CronExpression, parse_cron
from halo_scheduler.schedule.interval import MAX_INTERVAL_MS, MINUTE_MS, SECOND_MS, parse_interval
from halo_scheduler.schedule.words import shortened
from halo_scheduler.schedule.zone import find_zone
from halo_scheduler.secret_refs import referenced_names, refuse_references, require_references
from halo_scheduler.strict_json import decode, encode
from halo_scheduler.values import Value, put
from halo_scheduler.work_sources import WorkSource

SCHEMA_VERSION = 1
SHORTEST_EVERY_MS = 10 * SECOND_MS
# The arguments of a process can be read by everyone on the machine.
_OUT_OF_PROMPT = "an agent repeats what it reads: put it into the environment"
_IN_ENVIRONMENT = "everybody can read a program's arguments: put it into the environment or standard input"


class Outcome(StrEnum):
    """How a run ended, or that it has not."""

    RUNNING = "running"
    SUCCESS = "success"
    FAILURE = "failure"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"
    MISSED = "missed"
    INTERRUPTED = "interrupted"


class Trigger(StrEnum):
    """Who started a run."""

    SCHEDULE = "schedule"
    MANUAL = "manual"
    CHAIN = "chain"
    ANSWER = "answer"
    TEST = "test"


class Source(StrEnum):
    """Why a run is planned for just this instant."""

    EVERY = "every"
    AFTER = "after"
    CRON = "cron"
    ONCE = "once"
    HINT_INTERVAL = "hint-interval"
    HINT_ONCE = "hint-once"
    CLAMPED_MIN = "clamped-min"
    CLAMPED_MAX = "clamped-max"
    BACKOFF = "backoff"
    RETRY = "retry"
    CATCH_UP = "catch-up"
    PAUSED = "paused"
    MANUAL = "manual"


class SkipReason(StrEnum):
    """Why a job did not run."""

    DISABLED = "disabled"
    PAUSED = "paused"
    ALREADY_RUNNING = "already_running"
    AT_CAPACITY = "at_capacity"
    NOT_DUE = "not_due"
    NO_WORK = "no_work"
    CONDITION = "condition"
    CAP = "cap"
    NEEDS_INPUT = "needs_input"
    SOURCE_UNAVAILABLE = "source_unavailable"
    MISSED = "missed"
    UNSUPPORTED_TYPE = "unsupported_type"


class JobStatus(StrEnum):
    """What a job is doing; running shows over paused."""

    IDLE = "idle"
    RUNNING = "running"
    PAUSED = "paused"
    DISABLED = "disabled"


class StatusReason(StrEnum):
    """Who or what brought a job into its status."""

    USER = "user"
    ERRORS = "errors"
    DONE = "done"
    IMPORTED = "imported"
    ASSISTANT = "assistant"


class WaitingFor(StrEnum):
    """What a due job waits for."""

    AT_CAPACITY = "at_capacity"
    CONDITION = "condition"


class CatchUp(StrEnum):
    """What happens to a slot missed while no engine was awake."""

    ONCE = "once"
    SKIP = "skip"


class Notify(StrEnum):
    """Which ends of a job's runs the user is told about; a job may leave that to the settings."""

    NONE = "none"
    FAILURES = "failures"
    ALL = "all"
    SETTINGS = "settings"


class Redirects(StrEnum):
    """Which redirects an HTTP request follows."""

    NONE = "none"
    SAME_HOST = "same-host"
    ANY = "any"


class BodyKind(StrEnum):
    """What the body of an HTTP request is."""

    TEXT = "text"
    JSON = "json"


# --- When -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Every(Value):
    """The grid of instants an interval apart, counted from the job's anchor."""

    kind: ClassVar = "every"
    every: str

    def __post_init__(self) -> None:
        require_interval("every", self.every)

    @property
    def every_ms(self) -> int:
        """The interval in force: never below 10 s."""
        return max(parse_interval(self.every), SHORTEST_EVERY_MS)

    @property
    def is_raised(self) -> bool:
        """Whether a shorter interval was asked for than is in force."""
        return parse_interval(self.every) < SHORTEST_EVERY_MS


@dataclass(frozen=True, slots=True)
class After(Value):
    """A pause after the end of the previous run."""

    kind: ClassVar = "after"
    after: str

    def __post_init__(self) -> None:
        require_interval("after", self.after)

    @property
    def after_ms(self) -> int:
        return parse_interval(self.after)


@dataclass(frozen=True, slots=True)
class Cron(Value):
    """A cron expression in a time zone; None is the machine's."""

    kind: ClassVar = "cron"
    cron: str
    timezone: str | None = None

    def __post_init__(self) -> None:
        require_text("cron", self.cron)
        try:
            parse_cron(self.cron)
        except ScheduleError as error:
            raise error.under("cron") from None
        if self.timezone is not None:
            require_text("timezone", self.timezone)
            try:
                find_zone(self.timezone)
            except ScheduleError as error:
                raise error.under("timezone") from None

    @property
    def expression(self) -> CronExpression:
        return parse_cron(self.cron)


@dataclass(frozen=True, slots=True)
class Once(Value):
    """One instant: epoch milliseconds, or ISO 8601 text with an offset."""

    kind: ClassVar = "once"
    at: int | str

    def __post_init__(self) -> None:
        require_instant("at", self.due_at)

    @property
    def due_at(self) -> int:
        return parse_instant("at", self.at) if isinstance(self.at, str) else self.at


@dataclass(frozen=True, slots=True)
class Manual(Value):
    """Never due by itself: run by hand or by a chain."""

    kind: ClassVar = "manual"


Schedule = Every | After | Cron | Once | Manual


def schedule_from_dict(data: object) -> Schedule:
    """Read a schedule from its JSON form, or raise ScheduleError with the path of what is wrong."""
    return cast("Schedule", decode(Schedule, data))


# --- What -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Command(Value):
    """A program with its arguments or, chosen explicitly, a line for a shell."""

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
    """An HTTP request; no expected statuses means that any 2xx is a success."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt(Value):
    """A text for an AI agent's command line; an empty agent is the default one of the settings."""

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


@dataclass(frozen=True, slots=True)
class Callback(Value):
    """A function of the embedding program, registered under this name."""

    kind: ClassVar = "callback"
    name: str = ""

    def __post_init__(self) -> None:
        require_text("name", self.name, longest=LONGEST_NAME)


def _check_place(action: Command | Prompt) -> None:
    """Refuse a working directory or environment that no process could be given."""
    if action.directory is not None and not require_text("directory", action.directory).strip():
        raise ScheduleError("is empty; leave it out for the home directory", path="directory")
    put(action, environment=frozen_mapping("environment", action.environment))
    for name, value in action.environment.items():
        if not name or "=" in name:
            raise ScheduleError(f"{name!r} is not a name for a variable", path="environment")
        refuse_references("environment", name, "only the value of a variable can be one")
        require_references(f"environment.{shortened(name)}", value)


def _check_codes(action: Command | Prompt) -> None:
    """Refuse exit codes that no process could end with, or that would mean two things."""
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
Action = Command | HttpRequest | Prompt | Callback


def action_from_dict(data: object) -> Action:
    """Read an action from its JSON form, or raise ScheduleError with the path of what is wrong."""
    return cast("Action", decode(Action, data))


# --- Under which policy ---------------------------------------------------------------------------


class BackoffKind(StrEnum):
    """How errors delay a job."""

    LADDER = "ladder"
    DOUBLE = "double"
    NONE = "none"


_DEFAULT_LADDER_MS = (30 * SECOND_MS, MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS, 60 * MINUTE_MS)
_MOST_RUNGS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff(Value):
    """How long a job rests after errors: by rungs, by doubling its interval, or not at all."""

    MAX_DOUBLINGS: ClassVar = 5

    kind: BackoffKind = BackoffKind.LADDER
    delays_ms: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        put(self, kind=require_choice(BackoffKind, self.kind, path="kind"))
        put(self, delays_ms=frozen_list("delays_ms", self.delays_ms))
        if self.kind is BackoffKind.LADDER and not self.delays_ms:
            put(self, delays_ms=_DEFAULT_LADDER_MS)
        if self.kind is not BackoffKind.LADDER and self.delays_ms:
            raise ScheduleError("only a ladder has delays", path="delays_ms")
        if len(self.delays_ms) > _MOST_RUNGS:
            raise ScheduleError(f"a ladder has at most {_MOST_RUNGS} delays", path="delays_ms")
        for index, delay_ms in enumerate(self.delays_ms):
            require_whole(f"delays_ms[{index}]", delay_ms, 0, MAX_INTERVAL_MS)

    @classmethod
    def ladder(cls, *delays_ms: int) -> Self:
        """Rest for the n-th delay after n errors in a row; the last one repeats."""
        return cls(kind=BackoffKind.LADDER, delays_ms=delays_ms)

    @classmethod
    def double(cls) -> Self:
        """Double the schedule's interval with every error, five times at most."""
        return cls(kind=BackoffKind.DOUBLE)

    @classmethod
    def none(cls) -> Self:
        """Never rest."""
        return cls(kind=BackoffKind.NONE)

    def delay_ms(self, errors: int) -> int:
        """Return the rung for so many errors; 0 for the other kinds."""
        return self.delays_ms[min(errors, len(self.delays_ms)) - 1] if errors and self.delays_ms else 0

    def factor(self, errors: int) -> int:
        """Return what a doubling backoff multiplies the interval by; 1 for the other kinds."""
        return 2 ** min(errors, self.MAX_DOUBLINGS) if self.kind is BackoffKind.DOUBLE else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry(Value):
    """How often a failed slot is tried again, and how long after the failure."""

    attempts: int = 0
    delay_ms: int = MINUTE_MS

    def __post_init__(self) -> None:
        require_whole("attempts", self.attempts, 0, 1_000)
        require_whole("delay_ms", self.delay_ms, 0, MAX_INTERVAL_MS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits(Value):
    """The least and the most time from now to the next run."""

    min_ms: int | None = None
    max_ms: int | None = None

    def __post_init__(self) -> None:
        for name in ("min_ms", "max_ms"):
            if getattr(self, name) is not None:
                require_whole(name, getattr(self, name), 1, MAX_INTERVAL_MS)
        if self.min_ms is not None and self.max_ms is not None and self.min_ms > self.max_ms:
            raise ScheduleError("must not be above max_ms", path="min_ms")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps(Value):
    """How often a job may run in a day, and what its runs may cost together; a day ends at local midnight."""

    runs_per_day: int | None = None
    cost_per_day: float | None = None

    def __post_init__(self) -> None:
        if self.runs_per_day is not None:
            require_whole("runs_per_day", self.runs_per_day, 1, 1_000_000)
        if self.cost_per_day is not None:
            put(self, cost_per_day=require_amount("cost_per_day", self.cost_per_day))


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy(Value):
    """How a job is run; a time limit of None lets a run last for ever.

    `reads_lines` tells whether lines like `::cost 0.12` in its output are read; None leaves it to the action:
    those of a prompt are, others are not.
    """

    time_limit: str | None = "2h"
    catch_up: CatchUp = CatchUp.ONCE
    catch_up_max_age: str | None = None
    max_errors: int = 5
    backoff: Backoff = field(default_factory=Backoff.ladder)
    retry: Retry = field(default_factory=Retry)
    limits: Limits = field(default_factory=Limits)
    jitter_percent: int = 0
    notify: Notify = Notify.FAILURES
    caps: Caps = field(default_factory=Caps)
    reads_lines: bool | None = None

    def __post_init__(self) -> None:
        for name in ("time_limit", "catch_up_max_age"):
            if getattr(self, name) is not None:
                require_interval(name, getattr(self, name))
        put(self, catch_up=require_choice(CatchUp, self.catch_up, path="catch_up"))
        require_whole("max_errors", self.max_errors, 0, 1_000_000)
        require_kind("backoff", self.backoff, Backoff, "a Backoff")
        require_kind("retry", self.retry, Retry, "a Retry")
        require_kind("limits", self.limits, Limits, "Limits")
        require_jitter(self.jitter_percent)
        put(self, notify=require_choice(Notify, self.notify, path="notify"))
        require_kind("caps", self.caps, Caps, "Caps")
        if self.reads_lines is not None:
            require_kind("reads_lines", self.reads_lines, bool, "true, false or null")

    @property
    def time_limit_ms(self) -> int | None:
        return None if self.time_limit is None else parse_interval(self.time_limit)

    @property
    def catch_up_max_age_ms(self) -> int | None:
        return None if self.catch_up_max_age is None else parse_interval(self.catch_up_max_age)

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Read a policy from its JSON form; what is left out has its default."""
        return cast("Self", decode(cls, data))


def require_jitter(percent: object) -> None:
    """Refuse a spread that is not from 0 to 10 percent."""
    require_whole("jitter_percent", percent, 0, 10)


# --- What the governor takes and gives ------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints(Value):
    """A program's advice on when to run next; it counts only until `expires_at`, and without that never."""

    interval_ms: int | None = None
    next_at: int | None = None
    expires_at: int | None = None
    reason: str = ""

    def __post_init__(self) -> None:
        if self.interval_ms is not None:
            require_whole("interval_ms", self.interval_ms, 1, MAX_INTERVAL_MS)
        for name in ("next_at", "expires_at"):
            if getattr(self, name) is not None:
                require_instant(name, getattr(self, name))
        require_text("reason", self.reason)

    def count_at(self, now_ms: int) -> bool:
        """Tell whether the advice still counts."""
        return self.expires_at is not None and self.expires_at > now_ms


class Rule(StrEnum):
    """The step of the governor that changed the answer."""

    BASELINE = "baseline"
    JITTER = "jitter"
    HINT = "hint"
    NEVER_PAST = "never-past"
    BACKOFF = "backoff"
    RETRY = "retry"
    MIN_LIMIT = "min-limit"
    MAX_LIMIT = "max-limit"
    PAUSE = "pause"


@dataclass(frozen=True, slots=True)
class Step(Value):
    """One step of a plan: the rule that spoke, the answer after it, and the duration it used, if any."""

    rule: Rule
    at: int | None
    source: Source
    duration_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Plan(Value):
    """The next run and why: `at` is None when there is none; `attempt` is above 1 for a retry."""

    at: int | None
    source: Source
    attempt: int = 1
    trail: tuple[Step, ...] = ()


# --- Jobs and runs --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _SpecFields(Value):
    """What the user owns of a job: fields only, so that JobSpec and Job can both have them in slots."""

    __slots__ = ()

    name: str
    schedule: Schedule
    action: Action = Callback()
    description: str = ""
    group: str | None = None
    policy: Policy = Policy()
    anchor_at: int = 0
    enabled: bool = True
    metadata: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def reads_lines(self) -> bool:
        """Whether what a run says in lines like `::cost 0.12` is taken in."""
        chosen = self.policy.reads_lines
        return isinstance(self.action, Prompt) if chosen is None else chosen


@dataclass(frozen=True, kw_only=True)
class _StateFields(Value):
    """What the engine owns of a job: fields only, so that JobState and Job can both have them in slots."""

    __slots__ = ()

    status: JobStatus = JobStatus.IDLE
    status_reason: StatusReason | None = None
    waiting_for: WaitingFor | None = None
    next_run_at: int | None = None
    next_source: Source | None = None
    paused_until: int | None = None
    hints: Hints = Hints()
    errors: int = 0
    last_run_at: int | None = None
    last_completed_at: int | None = None
    last_outcome: Outcome | None = None
    last_error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec(_SpecFields):
    """A job as the user defined it."""

    def __post_init__(self) -> None:
        require_label("name", self.name)
        if self.group is not None:
            require_label("group", self.group)
        require_text("description", self.description, longest=10_000)
        require_kind("schedule", self.schedule, Schedule, "a schedule, like Every('15m')")
        require_kind("action", self.action, Action, "an action, like Command(argv=['true'])")
        require_kind("policy", self.policy, Policy, "a Policy")
        require_kind("enabled", self.enabled, bool, "true or false")
        require_instant("anchor_at", self.anchor_at)
        put(self, metadata=frozen_mapping("metadata", self.metadata))

    def to_dict(self) -> dict[str, Any]:
        return {"version": SCHEMA_VERSION, **cast("dict[str, Any]", encode(self))}

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Read a spec from its JSON form, which carries the version of its schema."""
        if not isinstance(data, dict):
            raise ScheduleError("a job must be an object")
        if "version" not in data:
            raise ScheduleError(f"is missing; this Halo writes {SCHEMA_VERSION}", path="version")
        version = data["version"]
        if type(version) is not int or not 1 <= version <= SCHEMA_VERSION:
            raise ScheduleError(f"must be {SCHEMA_VERSION}; a newer one needs a newer Halo", path="version")
        return cast("Self", decode(cls, {key: value for key, value in data.items() if key != "version"}))


@dataclass(frozen=True, slots=True, kw_only=True)
class JobState(_StateFields):
    """A job as the engine left it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(_SpecFields, _StateFields):
    """A stored job: the user's spec and the engine's state side by side."""

    id: str

    @property
    def spec(self) -> JobSpec:
        return JobSpec(**{item.name: getattr(self, item.name) for item in fields(JobSpec)})

    @property
    def state(self) -> JobState:
        return JobState(**{item.name: getattr(self, item.name) for item in fields(JobState)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Run(Value):
    """One attempt to run a job; runs by hand, chain, answer and test have no slot."""

    id: str
    job_id: str
    trigger: Trigger
    source: Source
    slot_at: int | None = None
    attempt: int = 1
    outcome: Outcome = Outcome.RUNNING
    reason: SkipReason | None = None
    error: str = ""
    started_at: int | None = None
    finished_at: int | None = None
    late_ms: int = 0
    passed_over: int = 0
    passed_reason: str = ""
    exit_code: int | None = None
    http_status: int | None = None
    note: str = ""
    progress: float | None = None
    progress_text: str = ""
    cost: float | None = None
    work_id: str = ""
    work_title: str = ""
    work_url: str = ""

    @property
    def duration_ms(self) -> int | None:
        if self.started_at is None or self.finished_at is None:
            return None
        return self.finished_at - self.started_at


# --- Questions ------------------------------------------------------------------------------------


class QuestionState(StrEnum):
    """Whether a question still waits for somebody."""

    OPEN = "open"
    ANSWERED = "answered"
    DISMISSED = "dismissed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question(Value):
    """What a run left for a person to decide; while it is open, its job does not start by itself.

    `work_id` is the item the run worked on; `answer_run_id` the run that was given the answer.
    """

    id: str
    job_id: str
    run_id: str
    asked_at: int
    text: str
    state: QuestionState = QuestionState.OPEN
    answer: str = ""
    settled_at: int | None = None
    answer_run_id: str | None = None
    work_id: str = ""
