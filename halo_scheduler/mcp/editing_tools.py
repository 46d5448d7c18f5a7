"""MCP tools that create and change jobs, for assistants with that permission."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.english import shown
from halo_scheduler.mcp.tools import Given, Schema, ToolSpec, object_schema, said, schema_of, tool_of
from halo_scheduler.mcp.views import HIDDEN, View, job_view
from halo_scheduler.model import (
    Command,
    Entry,
    Follower,
    JobSpec,
    Policy,
    Schedule,
    Several,
)
from halo_scheduler.model.actions import EditableAction
from halo_scheduler.model.codec import decode, decode_under
from halo_scheduler.model.schedules import shared_zone
from halo_scheduler.service.lookup import find_job
from halo_scheduler.service.scheduler import Scheduler

_WAITS = "The job is paused until a person reviews and resumes it; tell the user."
_KEPT = ("environment", "headers")
_SCHEDULES = (
    "several schedules instead of one; the job runs whenever one is due, and only once if they coincide"
)
_PARAMETERS = (
    "parameters with their defaults, which a run can override; commands get them as HALO_PARAM_<NAME>, "
    "prompts and requests as {{param.name}}"
)
_WHEN = "the schedule in plain English instead, such as: every weekday at 9; ambiguous phrases are refused"
_ONE_OF = "give either schedule, schedules or when"
_FOLLOWERS = "jobs to run when a run of this one ends with the given result"


@dataclass(frozen=True, slots=True, kw_only=True)
class _NewJob(Given):
    name: str = field(metadata=said("a unique name"))
    action: EditableAction = field(metadata=said("what it does; secrets can't be used"))
    schedule: Schedule | None = field(default=None, metadata=said("when it runs"))
    schedules: tuple[Entry, ...] = field(default=(), metadata=said(_SCHEDULES))
    when: str | None = field(default=None, metadata=said(_WHEN))
    description: str = field(default="", metadata=said("what it is for"))
    group: str | None = field(default=None, metadata=said("a group it belongs to"))
    policy: Policy = field(
        default_factory=Policy, metadata=said("how it is run; omitted fields have their defaults")
    )
    followers: tuple[Follower, ...] = field(default=(), metadata=said(_FOLLOWERS))
    parameters: Mapping[str, str] = field(default_factory=dict, metadata=said(_PARAMETERS))


def _create_job(scheduler: Scheduler, given: _NewJob) -> View:
    given_ways = [given.schedule is not None, bool(given.schedules), given.when is not None]
    if sum(given_ways) != 1:
        raise ScheduleError(_ONE_OF, path="schedule")
    schedule = given.schedules if given.when is None else _spoken(scheduler, given.when)
    job_id = scheduler.add_job(
        given.name,
        schedule if given.schedule is None else given.schedule,
        given.action,
        description=given.description,
        group=given.group,
        policy=given.policy,
        followers=_found(scheduler, given.followers),
        parameters=given.parameters,
    )
    return _seen(scheduler, job_id)


def _spoken(scheduler: Scheduler, words: str, timezone: str | None = None) -> Schedule | Several:
    from halo_scheduler.schedule.spoken import parse_schedule  # noqa: PLC0415 - only for words

    try:
        return parse_schedule(words, now_ms=scheduler.jobs.now_ms(), timezone=timezone)
    except ScheduleError as error:
        raise error.under("when") from None


def _edit_job(scheduler: Scheduler, given: dict[str, Any]) -> View:
    wanted = given.get("job")
    if not isinstance(wanted, str):
        raise ScheduleError(f"must be the name or id of a job, not {shown(wanted)}", path="job")
    changes = {key: value for key, value in given.items() if key != "job"}
    if len(changes.keys() & {"schedule", "schedules", "when"}) > 1:
        raise ScheduleError(_ONE_OF, path="schedule")
    if not changes:
        raise ScheduleError(f"give a field to change: {', '.join(_CHANGEABLE)}")
    for key in changes:
        if key not in _CHANGEABLE:
            raise ScheduleError(f"can't be changed; these can: {', '.join(_CHANGEABLE)}", path=shown(key))
    job = find_job(scheduler, wanted)
    scheduler.update_job(job.id, seen=job.spec, **_changed(scheduler, job.spec, changes))
    return _seen(scheduler, job.id)


def _changed(scheduler: Scheduler, spec: JobSpec, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the new values of the changed fields."""
    readers = {
        "schedule": Schedule,
        "description": str,
        "name": str,
        "group": str | None,
        "parameters": Mapping[str, str],
    }
    found: dict[str, Any] = {}
    for key, value in changes.items():
        if key == "when":
            words = decode_under("when", str, value)
            found["schedule"] = _spoken(scheduler, words, shared_zone(spec.schedule))
            continue
        try:
            if key == "action":
                found[key] = _changed_action(spec, value)
            elif key == "policy":
                found[key] = _changed_policy(spec, value)
            elif key == "schedules":
                found["schedule"] = decode(tuple[Entry, ...], value)
            elif key == "followers":
                found[key] = _found(scheduler, decode(tuple[Follower, ...], value), spec.followers)
            else:
                found[key] = decode(readers[key], value)
        except ScheduleError as error:
            raise error.under(key) from None
    return found


def _found(
    scheduler: Scheduler, given: Sequence[Follower], stored: Sequence[Follower] = ()
) -> tuple[Follower, ...]:
    """Return followers by id; stored ones may be in the trash."""
    known = {follower.job_id for follower in stored}
    return tuple(
        follower
        if follower.job_id in known
        else replace(follower, job_id=find_job(scheduler, follower.job_id).id)
        for follower in given
    )


def _changed_policy(spec: JobSpec, change: object) -> Policy:
    """Return a policy with the given fields changed, including nested ones; other limits stay."""
    given, stored = _object(change), spec.policy.to_dict()
    for name, part in given.items():
        before = stored.get(name)
        # A part of another kind has other fields.
        if isinstance(part, dict) and isinstance(before, dict) and "kind" not in part:
            given[name] = before | part
    policy: Policy = decode(Policy, stored | given)
    return policy


def _changed_action(spec: JobSpec, change: object) -> EditableAction:
    """Return an action with the given fields changed, or an action of another kind."""
    given, stored = _object(change), spec.action.to_dict()
    if given.get("kind", stored["kind"]) == stored["kind"]:
        for name in _KEPT:
            if name in given:
                given[name] = _with_kept(name, given[name], stored.get(name, {}))
        if isinstance(given.get("work_source"), dict):
            given["work_source"] = _with_kept_token(given["work_source"], stored.get("work_source"))
        given = stored | (_one_program(given) if isinstance(spec.action, Command) else given)
    _refuse_hidden(given)
    action: EditableAction = decode(EditableAction, given)
    return action


def _one_program(given: dict[str, Any]) -> dict[str, Any]:
    """Drop a command's shell line when a program is given, and vice versa."""
    if "argv" in given and "line" not in given:
        return {"line": "", "shell": "", **given}
    return {"argv": [], **given} if "line" in given else given


def _with_kept(name: str, given: object, stored: Mapping[str, str]) -> dict[str, Any]:
    """Return pairs in which null keeps the stored value."""
    found = {}
    for key, value in _object(given, name).items():
        if value is None and key not in stored:
            raise ScheduleError("has no stored value to keep; give a value", path=f"{name}.{shown(key)}")
        found[key] = stored[key] if value is None else value
    return found


def _with_kept_token(given: dict[str, Any], stored: Mapping[str, Any] | None) -> dict[str, Any]:
    if given.get("token") is not None or given.get("kind") != "github":
        return given
    return given | {"token": (stored or {}).get("token", "")}


def _refuse_hidden(action: Mapping[str, Any]) -> None:
    for name in ("text", "line", "stdin", "body"):
        if isinstance(action.get(name), str) and HIDDEN in action[name]:
            raise ScheduleError(
                f"{HIDDEN} stands for a secret that is hidden from you; omit this field to keep it",
                path=name,
            )


def _object(value: object, path: str = "") -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ScheduleError(f"must be an object, not {shown(value)}", path=path)
    return dict(value)


def _seen(scheduler: Scheduler, job_id: str) -> View:
    job = scheduler.get_job(job_id)
    if job is None:
        return {"said": _WAITS, "job": None}
    return {"said": _WAITS, "job": job_view(job, scheduler.jobs.situation(job_id), scheduler.jobs.now_ms())}


def _edit_schema() -> Schema:
    words = {
        "job": "the job's name, id or id prefix",
        "name": "a new name",
        "schedule": "the whole schedule",
        "schedules": f"{_SCHEDULES}; the whole list. Keep the keys of unchanged schedules: runs refer to them",
        "when": _WHEN,
        "action": "the fields to change; in environment and headers, null keeps a stored value "
        "and omitted names are removed. To change the kind of action, give all its fields",
        "description": "what it is for",
        "group": "a group it belongs to; null for none",
        "policy": "the fields to change; give conditions as a whole list, and a backoff of another kind in full",
        "followers": f"{_FOLLOWERS}; the whole list",
        "parameters": f"{_PARAMETERS}; all of them",
    }
    schemas: dict[str, Schema] = {
        "job": {"type": "string"},
        "name": {"type": "string"},
        "schedule": schema_of(Schedule),
        "schedules": schema_of(tuple[Entry, ...]),
        "when": {"type": "string"},
        "action": schema_of(EditableAction, is_change=True),
        "description": {"type": "string"},
        "group": {"type": ["string", "null"]},
        "policy": schema_of(Policy, is_change=True),
        "followers": schema_of(tuple[Follower, ...]),
        "parameters": schema_of(Mapping[str, str]),
    }
    return object_schema({key: schemas[key] | {"description": words[key]} for key in words}, ["job"])


_CHANGEABLE = (
    *("name", "schedule", "schedules", "when", "action", "description", "group", "policy", "followers"),
    "parameters",
)

EDITING_TOOLS: tuple[ToolSpec, ...] = (
    tool_of(
        _NewJob,
        _create_job,
        name="create_job",
        title="Create a job",
        description=(
            "Create a job. It is stored paused: nothing runs until a person reviews and resumes it. "
            "It can't use secrets; a person can add them afterwards."
        ),
        only_adds=True,
        edits=True,
    ),
    ToolSpec(
        name="edit_job",
        title="Change a job",
        description=(
            "Change the given fields of a job. It is then paused until a person reviews and "
            "resumes it. Refused while it runs: pause it and retry when the run has ended. "
            "Secrets it uses can be kept, but none can be added."
        ),
        schema=_edit_schema(),
        function=_edit_job,
        edits=True,
    ),
)
