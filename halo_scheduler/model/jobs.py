"""Jobs: the user's definition and the engine's state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self, cast

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
from halo_scheduler.model.actions import Action, Callback, HttpRequest, Prompt
from halo_scheduler.model.codec import Value, decode, encode, put
from halo_scheduler.model.parameters import require_declared, require_parameters
from halo_scheduler.model.plans import Hints
from halo_scheduler.model.policies import Policy
from halo_scheduler.model.schedules import (
    Entry,
    Manual,
    Schedule,
    Several,
    combine_with_anchor,
    schedules_from_list,
)
from halo_scheduler.model.situation import NO_DETAILS, WaitingDetails
from halo_scheduler.model.words import FollowOn, JobStatus, Outcome, Source, StatusReason, WaitingFor

SCHEMA_VERSION = 2
"""The newest version of files; they carry it only if they use what the first has not."""
# Defaults of a job; shared, because they are immutable.
_ANY_FUNCTION = Callback()
_USUAL_POLICY = Policy()
_NO_HINTS = Hints()


MOST_FOLLOWERS = 20


def schedule_fields(schedule: Schedule | Several) -> dict[str, Any]:
    """Return the fields of JSON that say when a job runs: `schedule`, or `schedules` if it has several."""
    if isinstance(schedule, Several):
        return {"schedule": None, "schedules": schedule.to_dict()["schedules"]}
    return {"schedule": schedule.to_dict()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Follower(Value):
    """Another job to run when this one finishes."""

    job_id: str
    on: FollowOn = FollowOn.SUCCESS

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
        put(self, metadata=frozen_mapping("metadata", self.metadata))
        if self.followers != ():  # Thousands of jobs are read in a tick, and few have some.
            self._check_followers()
        self._check_parameters()

    def _check_parameters(self) -> None:
        put(self, parameters=require_parameters("parameters", self.parameters))
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
    return 2 if spec.parameters or isinstance(spec.schedule, Several) else 1


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
    def state(self) -> JobState:
        return JobState(**{item.name: getattr(self, item.name) for item in fields(JobState)})
