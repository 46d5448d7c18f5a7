"""Jobs: the user's definition with its parameters, and the engine's state."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Annotated, Any, Self, cast

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.checks import (
    frozen_list,
    frozen_mapping,
    require_choice,
    require_instant,
    require_kind,
    require_label,
    require_text,
)
from halo_scheduler.grammar.english import shortened, shown
from halo_scheduler.grammar.templates import refuse_references
from halo_scheduler.model.actions import Action, Callback, HttpRequest, Prompt
from halo_scheduler.model.codec import Value, decode, encode, put
from halo_scheduler.model.events import Event
from halo_scheduler.model.plans import Hints
from halo_scheduler.model.policies import Policy
from halo_scheduler.model.schedules import (
    Entry,
    Schedule,
    Several,
    combine_with_anchor,
    events_of,
    schedule_fields,
    schedules_from_list,
)
from halo_scheduler.model.situation import NO_DETAILS, WaitingDetails
from halo_scheduler.model.time_rules import Manual
from halo_scheduler.model.words import FollowOn, JobStatus, Outcome, Source, StatusReason, WaitingFor

SCHEMA_VERSION = 2
"""The newest version of files; they carry it only if they use what the first has not."""
# Defaults of a job; shared, because they are immutable.
_ANY_FUNCTION = Callback()
_USUAL_POLICY = Policy()
_NO_HINTS = Hints()


MOST_FOLLOWERS = 20
MOST_PARAMETERS = 50
LONGEST_PARAMETER_NAME = 50
MOST_VALUE_BYTES = 8 << 10
"""The limit for an environment variable of a run."""
MOST_INPUT_BYTES = 1_000_000

_PARAMETER_NAME = re.compile(rf"[a-z][a-z0-9_]{{0,{LONGEST_PARAMETER_NAME - 1}}}", re.ASCII)
_OUT_OF_PARAMETER = (
    "the value is stored with each run and shown: put the secret into the environment or a header"
)


def require_parameter_name(path: str, name: object) -> str:
    """Refuse text that cannot name a parameter."""
    if not isinstance(name, str) or not _PARAMETER_NAME.fullmatch(name):
        raise ScheduleError(
            f"{shown(name)} cannot name a parameter; use a-z, 0-9 and _, beginning with a letter, like mode "
            f"(at most {LONGEST_PARAMETER_NAME})",
            path=path,
        )
    return name


def require_parameters(path: str, values: object) -> Mapping[str, str]:
    """Return a read-only copy of parameters with their values."""
    given = frozen_mapping(path, values)
    if not given:
        return given
    if len(given) > MOST_PARAMETERS:
        raise ScheduleError(f"a job has at most {MOST_PARAMETERS} parameters", path=path)
    for name, value in given.items():
        require_parameter_name(path, name)
        _require_value(f"{path}.{name}", value)
    return given


def _require_value(path: str, value: str) -> None:
    refuse_references(path, value, _OUT_OF_PARAMETER)
    if len(value.encode()) > MOST_VALUE_BYTES:
        raise ScheduleError(f"is longer than {MOST_VALUE_BYTES} bytes; give long text as input", path=path)


def given_parameters(
    declared: Mapping[str, str], given: object, path: str = "parameters"
) -> Mapping[str, str]:
    """Return the values given for a run; ScheduleError if one is not declared."""
    values = require_parameters(path, {} if given is None else given)
    for name in values:
        if name not in declared:
            raise ScheduleError(f"there is no parameter {shown(name)}; {_known(declared)}", path=path)
    return values


def still_declared(declared: Mapping[str, str], given: Mapping[str, str]) -> Mapping[str, str]:
    """Return the value of each declared parameter; given ones that are no longer declared are ignored."""
    if not declared or not given:
        return declared
    return MappingProxyType({name: given.get(name, value) for name, value in declared.items()})


def require_declared(path: str, used: frozenset[str], declared: Mapping[str, str]) -> None:
    """Refuse a text that uses a parameter the job does not have."""
    for name in sorted(used - declared.keys()):
        raise ScheduleError(
            f"{{{{param.{shortened(name)}}}}} is not a parameter of this job; {_known(declared)}", path=path
        )


def require_input(value: object) -> bytes:
    """Return the input of a run as bytes; text is encoded as UTF-8."""
    if value is None:
        return b""
    if isinstance(value, bytes):
        content = value
    else:
        # A NUL is fine in a file; only the environment variable must be without.
        text = value.replace("\0", "") if isinstance(value, str) else value
        require_text("input", text, longest=MOST_INPUT_BYTES)
        content = str(value).encode()
    if len(content) > MOST_INPUT_BYTES:
        raise ScheduleError(f"is longer than {MOST_INPUT_BYTES} bytes", path="input")
    return content


def _known(declared: Mapping[str, str]) -> str:
    if not declared:
        return "this job has none"
    return f"known are {', '.join(declared)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Follower(Value):
    """Another job to run when this one finishes."""

    job_id: Annotated[str, "the job that runs after this one: its id or name"]
    on: Annotated[FollowOn, "which results start it; failure includes timed-out and interrupted runs"] = (
        FollowOn.SUCCESS
    )

    def __post_init__(self) -> None:
        require_label("job_id", self.job_id)
        put(self, on=require_choice(FollowOn, self.on, path="on"))


@dataclass(frozen=True, kw_only=True)
class _SpecFields(Value):
    """The fields that the user owns; a base without slots, so that JobSpec and Job can both have them in slots."""

    __slots__ = ()

    name: str
    schedule: Schedule | Several
    action: Action = _ANY_FUNCTION
    description: str = ""
    group: str | None = None
    policy: Policy = _USUAL_POLICY
    anchor_at: int = 0
    enabled: bool = True
    metadata: Mapping[str, str] = field(default_factory=dict, hash=False)
    followers: tuple[Follower, ...] = ()
    parameters: Mapping[str, str] = field(default_factory=dict, hash=False)
    """The names and defaults of what can be set for a run."""

    @property
    def schedules(self) -> tuple[Entry, ...]:
        """The schedules one by one; an only one has no key."""
        schedule = self.schedule
        if isinstance(schedule, Several):
            return schedule.entries
        return () if isinstance(schedule, Manual) else (Entry(schedule),)

    @property
    def events(self) -> tuple[Entry, ...]:
        """The events among its schedules."""
        return events_of(self.schedule)

    def parameters_for(self, keys: Iterable[str]) -> Mapping[str, str]:
        """Return the values for a run of the schedules with these keys; if several set a value, the last wins."""
        if not isinstance(self.schedule, Several):
            return self.parameters
        given: dict[str, str] = {}
        for entry in self.schedule.find(keys):
            given |= entry.parameters
        return still_declared(self.parameters, given)

    @property
    def reads_lines(self) -> bool:
        """Whether directives such as `::cost 0.12` in its output are read."""
        chosen = self.policy.reads_lines
        return isinstance(self.action, Prompt) if chosen is None else chosen


@dataclass(frozen=True, kw_only=True)
class _StateFields(Value):
    """The fields that the engine owns; a base without slots, so that JobState and Job can both have them in slots."""

    __slots__ = ()

    status: JobStatus = JobStatus.IDLE
    status_reason: StatusReason | None = None
    waiting_for: WaitingFor | None = None
    waiting_details: WaitingDetails = NO_DETAILS
    next_run_at: int | None = None
    next_source: Source | None = None
    next_keys: tuple[str, ...] = ()
    paused_until: int | None = None
    skips_next: bool = False
    """Whether its next slot is skipped on request."""
    hints: Hints = _NO_HINTS
    errors: int = 0
    last_run_at: int | None = None
    last_completed_at: int | None = None
    last_ended_at: int | None = None
    last_outcome: Outcome | None = None
    last_error: str = ""

    @property
    def is_starting(self) -> bool:
        """Whether a run is claimed, but the computer cannot start it yet."""
        return self.waiting_for is not None and self.waiting_for.is_for_start


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec(_SpecFields):
    """A job as the user defined it."""

    def __post_init__(self) -> None:
        require_label("name", self.name)
        if self.group is not None:
            require_label("group", self.group)
        require_text("description", self.description, longest=10_000)
        if isinstance(self.schedule, list | tuple):
            schedule, anchor_at = combine_with_anchor(self.schedule, self.anchor_at)
            put(self, schedule=schedule, anchor_at=anchor_at)
        require_kind("schedule", self.schedule, Schedule | Several, "a schedule, like Every('15m')")
        require_kind("action", self.action, Action, "an action, like Command(argv=['true'])")
        require_kind("policy", self.policy, Policy, "a Policy")
        require_kind("enabled", self.enabled, bool, "true or false")
        require_instant("anchor_at", self.anchor_at)
        put(
            self,
            metadata=frozen_mapping("metadata", self.metadata),
            parameters=require_parameters("parameters", self.parameters),
        )
        if self.followers != ():  # Thousands of jobs are read in a tick, and few have some.
            self._check_followers()
        self._check_parameters()

    def _check_parameters(self) -> None:
        """Refuse an action or a schedule that uses parameters the job does not declare."""
        if isinstance(self.schedule, Several):
            for index, entry in enumerate(self.schedule.entries):
                if entry.parameters:
                    given_parameters(self.parameters, entry.parameters, f"schedules[{index}].parameters")
        if isinstance(self.action, Prompt | HttpRequest):
            for name, used in self.action.used_parameters.items():
                require_declared(f"action.{name}", used, self.parameters)

    def _check_followers(self) -> None:
        put(self, followers=frozen_list("followers", self.followers))
        if len(self.followers) > MOST_FOLLOWERS:
            raise ScheduleError(f"at most {MOST_FOLLOWERS} jobs can follow one", path="followers")
        seen: set[str] = set()
        for index, follower in enumerate(self.followers):
            path = f"followers[{index}]"
            require_kind(path, follower, Follower, "a Follower")
            if follower.job_id in seen:
                raise ScheduleError("the same job is listed twice; choose `always` instead", path=path)
            seen.add(follower.job_id)

    def to_dict(self) -> dict[str, Any]:
        data = cast("dict[str, Any]", encode(self)) | schedule_fields(self.schedule)
        # Older versions do not know the last two.
        optional = ("schedule", "schedules", "parameters")
        return {
            "version": version_of(self),
            **{key: data[key] for key in data if data[key] or key not in optional},
        }

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Return the spec of a JSON form, which has the version of its schema."""
        if not isinstance(data, dict):
            raise ScheduleError("a job must be an object")
        if "version" not in data:
            raise ScheduleError(f"is missing; this Halo writes {SCHEMA_VERSION}", path="version")
        version = data["version"]
        if type(version) is not int or not 1 <= version <= SCHEMA_VERSION:
            raise ScheduleError(
                f"must be 1 or {SCHEMA_VERSION}; a newer one needs a newer Halo", path="version"
            )
        rest = {key: value for key, value in data.items() if key not in ("version", "schedules")}
        if "schedules" not in data:
            return cast("Self", decode(cls, rest))
        if rest.get("schedule") is not None:
            raise ScheduleError("give either `schedule` or `schedules`", path="schedules")
        schedule = schedules_from_list(data["schedules"])
        return cast("Self", decode(cls, rest | {"schedule": schedule.to_dict()}))


def version_of(spec: JobSpec) -> int:
    """Return the oldest version of files that can carry a job."""
    is_newer = isinstance(spec.schedule, Several | Event) or spec.policy.is_newer
    return 2 if spec.parameters or is_newer else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class JobState(_StateFields):
    """The engine's state of a job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(_SpecFields, _StateFields):
    """A stored job: its definition and the engine's state."""

    id: str
    stored_enabled: bool | None = None
    """What the user chose; `enabled` also reads false for a job that is done, or that errors disabled."""

    def to_dict(self) -> dict[str, Any]:
        return cast("dict[str, Any]", encode(self)) | schedule_fields(self.schedule)

    @property
    def spec(self) -> JobSpec:
        """The job as the user defined it."""
        values = {item.name: getattr(self, item.name) for item in fields(JobSpec)}
        return JobSpec(**values | ({} if self.stored_enabled is None else {"enabled": self.stored_enabled}))

    @property
    def review(self) -> StatusReason | None:
        """Why a person has to review the job before it may run: it was imported, or an assistant wrote it."""
        awaited = (StatusReason.IMPORTED, StatusReason.ASSISTANT)
        return self.status_reason if self.status_reason in awaited else None

    @property
    def is_paused(self) -> bool:
        """Whether the job is paused, also while a run that started before continues."""
        return self.enabled and self.status_reason is not None

    @property
    def state(self) -> JobState:
        return JobState(**{item.name: getattr(self, item.name) for item in fields(JobState)})


def new_job_ids(count: int) -> list[str]:
    """Return new unique job ids, in ascending order.

    Jobs added together are then adjacent in the database, which makes a tick with many of them cheaper; and those due
    at the same time start in the order in which they were given.
    """
    return sorted(new_job_id() for _ in range(count))


def new_job_id() -> str:
    """Return a new unique job id: a random UUID."""
    # Not by the uuid module: it inspects the platform when it is loaded, and is slow per id.
    digits = os.urandom(16).hex()
    variant = "89ab"[int(digits[16], 16) % 4]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"
