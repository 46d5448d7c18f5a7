"""Reads an AI agent's file with a map of `schedules`; schedules with the same prompt become one job."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import PurePath, PurePosixPath
from typing import Any, TypeVar

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.checks import require_label, require_whole
from halo_scheduler.grammar.english import shown
from halo_scheduler.model import After, Cron, Entry, JobSpec, Manual, Policy, Prompt, Schedule, Several
from halo_scheduler.model.actions import GithubSource
from halo_scheduler.model.schedules import combine, is_key
from halo_scheduler.transfer.drafts import Draft, Drafts, Fault, add_fault
from halo_scheduler.transfer.plain_values import resolved
from halo_scheduler.transfer.text_file import FileError, TextFile, refuse_copies, shown_key

_Made = TypeVar("_Made")
_TOKEN = "GITHUB_TOKEN"  # noqa: S105 - the name of a secret, not one
_PLACES = ("workspace", "working_directory")
_FOLDERS = ("path", "root")
_PROMPTS = ("prompt", "default_prompt")
_OF_AGENT = {*("name", "description", "schedules", "work_source", "instances", "repo"), *_PLACES, *_PROMPTS}
_OF_SCHEDULE = {
    *("type", "interval", "cron", "expression", "timezone", "prompt", "description", "enabled"),
    *("work_source", *_PLACES),
}
_OF_SOURCE = {"type", "repo", "labels", "auth", "claim_label", "complete_action"}
_SHARED = ("description", *_PROMPTS, *_PLACES, "work_source")
_MOST_NAMED = 20
_JITTER_PERCENT = 5  # as these files promise
_GITHUB = {"github", "github_issues"}
_ANY_NAME = "-"
_SAYS = frozenset({"schedule", "action", "description", "group", "enabled"})


def looks_like_agent(data: object) -> bool:
    """Return whether plain data is an agent's file rather than one of ours."""
    return isinstance(data, dict) and "schedules" in data and not data.keys() & {"jobs", "action"}


def read_agent(file: TextFile, path: str, repository: str | None = None) -> Drafts:
    """Read an agent's schedules.

    `path` is the base of relative paths and the source of the agent's name, if the file has none; "" if unknown.
    `repository` is the default of GitHub sources.
    """
    data = file.data
    if not isinstance(data, dict):
        raise FileError("this is not an agent file", line=1)
    try:
        name = require_label("name", _name(data, path))
        limit = _limit(data)
    except ScheduleError as error:
        raise FileError(error.message, line=file.line_of(error.path), path=error.path) from None
    schedules = resolved(data["schedules"])
    if not isinstance(schedules, dict):
        raise FileError("must map names to schedules", line=file.line_of("schedules"), path="schedules")
    refuse_copies(
        sum(len(str(data.get(key, ""))) for key in _SHARED), len(schedules), file.line_of("schedules")
    )
    reader = _AgentReader(data, name, str(PurePath(path).parent) if path else "", repository)
    jobs: list[Draft] = []
    faults: list[Fault] = []
    for key, schedule in schedules.items():
        path = f"schedules.{shown_key(key)}"
        try:
            draft = reader.draft(key, schedule)
        except ScheduleError as error:
            whole = error.under(path).path
            add_fault(faults, Fault(message=error.message, line=file.line_of(whole), path=whole))
        else:
            jobs.append(replace(draft, path=path, line_of=file.line_of))
    return Drafts(jobs=tuple(_merged(jobs)), group_limits={name: limit}, faults=tuple(faults))


def _merged(drafts: list[Draft]) -> Iterator[Draft]:
    """Yield the jobs; schedules of the same prompt become one job, named after the first of them."""
    alike: dict[JobSpec, list[Draft]] = {}
    for draft in drafts:
        is_timed = not isinstance(draft.spec.schedule, Manual)
        like = replace(draft.spec, name=_ANY_NAME, schedule=Manual()) if is_timed else draft.spec
        alike.setdefault(like, []).append(draft)
    for first, *others in alike.values():
        # The keys of the file become the keys of schedules, if valid.
        timed = {draft.spec.schedule: _key_of(draft) for draft in (first, *others)}
        entries = [Entry(one, key) for one, key in timed.items() if not isinstance(one, Manual | Several)]
        notes = tuple(dict.fromkeys(note for draft in (first, *others) for note in draft.notes))
        schedule = combine(entries) if len(entries) > 1 else first.spec.schedule
        yield replace(first, spec=replace(first.spec, schedule=schedule), notes=notes)


def _key_of(draft: Draft) -> str:
    key = draft.spec.name.rpartition("/")[2]
    return key if is_key(key) else ""


def _name(data: Mapping[str, Any], path: str) -> object:
    name = resolved(data.get("name"))
    if name is None and not path:
        raise ScheduleError("is missing; add the agent's name, like name: reviewer", path="name")
    return PurePath(path).stem if name is None else name


def _limit(data: Mapping[str, Any]) -> int:
    """Return how many runs an agent may have at once (default: one)."""
    instances = resolved(data.get("instances"))
    if instances is None:
        return 1
    most = resolved(instances.get("max_concurrent")) if isinstance(instances, dict) else instances
    return 1 if most is None else require_whole("instances.max_concurrent", most, 1)


class _AgentReader:
    """Reads the schedules of one agent."""

    def __init__(self, agent: Mapping[str, Any], name: str, folder: str, repository: str | None) -> None:
        self._agent = agent
        self._name = name
        self._folder = folder
        self._repository = repository
        self._lost = [shown_key(key) for key in agent if key not in _OF_AGENT]
        """The settings of the agent that are not kept."""

    def draft(self, key: str, data: object) -> Draft:
        """Return the job of one schedule."""
        if not isinstance(data, dict):
            raise ScheduleError(f"must be an object with a type, not {shown(resolved(data))}")
        schedule = _schedule(data)
        spec = JobSpec(
            name=f"{self._name}/{key}",
            description=self._text("description", data, self._agent),
            group=self._name,
            schedule=schedule,
            action=_named("prompt", lambda: self._prompt(data)),
            policy=Policy() if isinstance(schedule, Manual) else Policy(jitter_percent=_JITTER_PERCENT),
            enabled=_truth("enabled", data),
        )
        return Draft(spec=spec, says=_SAYS, notes=tuple(self._notes(data)))

    def _prompt(self, data: Mapping[str, Any]) -> Prompt:
        return Prompt(
            text=self._first_text(_PROMPTS, data),
            directory=self._directory(data),
            work_source=self._source(data),
        )

    def _text(self, name: str, *places: Mapping[str, Any]) -> str:
        """Return the text of the first key that is present."""
        for place in places:
            value = place.get(name)
            if resolved(value) is not None:
                if not isinstance(value, str):
                    raise ScheduleError(f"must be text, not {shown(value)}", path=name)
                return str(value)
        return ""

    def _first_text(self, names: tuple[str, ...], data: Mapping[str, Any]) -> str:
        return next((text for name in names if (text := self._text(name, data, self._agent))), "")

    def _directory(self, data: Mapping[str, Any]) -> str | None:
        for place in (data, self._agent):
            for name in _PLACES:
                found = resolved(place.get(name))
                if isinstance(found, dict):
                    found = next((found[key] for key in _FOLDERS if key in found), None)
                if isinstance(found, str) and found:
                    return self._whole_path(found)
        return None

    def _whole_path(self, path: str) -> str:
        """Return an absolute path."""
        if path.startswith("~") or PurePosixPath(path).is_absolute() or not self._folder:
            return path
        return os.path.normpath(f"{self._folder}/{path}")

    def _source(self, data: Mapping[str, Any]) -> GithubSource | None:
        source = resolved(data.get("work_source", self._agent.get("work_source")))
        if source is None:
            return None
        try:
            return _github(source, resolved(self._agent.get("repo")) or self._repository)
        except ScheduleError as error:
            raise error.under("work_source") from None

    def _notes(self, data: Mapping[str, Any]) -> Iterator[str]:
        """Yield the differences between a schedule and its job."""
        kind = resolved(data.get("type"))
        if kind in {"webhook", "chat"}:
            yield f"a {kind} started it; here it runs manually or after another job"
        lost = self._lost + [shown_key(key) for key in data if key not in _OF_SCHEDULE]
        source = resolved(data.get("work_source", self._agent.get("work_source")))
        if isinstance(source, dict):
            lost += [f"work_source.{shown_key(key)}" for key in source if key not in _OF_SOURCE]
        if lost:
            more = f" and {len(lost) - _MOST_NAMED} more" if len(lost) > _MOST_NAMED else ""
            yield f"not kept: {', '.join(lost[:_MOST_NAMED])}{more}"


def _schedule(data: Mapping[str, Any]) -> Schedule:
    kind = resolved(data.get("type"))
    match kind:
        case "interval":
            # It counts from the end of the previous run.
            return _named("interval", lambda: After(_required("interval", data)))
        case "cron":
            name = "cron" if "cron" in data else "expression"
            zone = resolved(data.get("timezone"))
            return _named(name, lambda: Cron(_required(name, data), None if zone is None else str(zone)))
        case "webhook" | "chat":
            return Manual()
        case _:
            raise ScheduleError(
                f"must be one of interval, cron, webhook, chat, not {shown(kind)}", path="type"
            )


def _named(name: str, make: Callable[[], _Made]) -> _Made:
    """Return a converted field; errors name it as the file does."""
    try:
        return make()
    except ScheduleError as error:
        error.path = name if error.path in {"after", "cron", "text"} else error.path
        raise


def _required(name: str, data: Mapping[str, Any]) -> str:
    value = data.get(name)
    if not isinstance(value, str):
        raise ScheduleError("is missing" if value is None else f"must be text, not {shown(value)}", path=name)
    return str(value)


def _truth(name: str, data: Mapping[str, Any]) -> bool:
    value = resolved(data.get(name, True))
    if not isinstance(value, bool):
        raise ScheduleError(f"must be true or false, not {shown(value)}", path=name)
    return value


def _github(source: object, usual_repository: object) -> GithubSource:
    if not isinstance(source, dict):
        raise ScheduleError(f"must be an object with a type, not {shown(source)}")
    kind = resolved(source.get("type"))
    if kind not in _GITHUB:
        raise ScheduleError(f"only github is known, not {shown(kind)}", path="type")
    repository = resolved(source.get("repo")) or usual_repository
    if not isinstance(repository, str):
        raise ScheduleError(
            "is missing; write the repository like owner/name, or add --repo owner/name", path="repo"
        )
    try:
        return GithubSource(repository=repository, token=_token(source), **_labels(source))
    except ScheduleError as error:
        error.path = {"repository": "repo"}.get(error.path, error.path)
        raise


def _token(source: Mapping[str, Any]) -> str:
    """Return the name of the secret, from the variable that held it."""
    auth = resolved(source.get("auth"))
    named = resolved(auth.get("token_env")) if isinstance(auth, dict) else None
    return named if isinstance(named, str) else _TOKEN


def _labels(source: Mapping[str, Any]) -> dict[str, Any]:
    labels = resolved(source.get("labels"))
    labels = labels if isinstance(labels, dict) else {}
    include = resolved(labels.get("include"))
    found = {
        "ready": resolved(labels.get("ready"))
        or (include[0] if isinstance(include, list) and include else None),
        "in_progress": resolved(labels.get("in_progress")) or resolved(source.get("claim_label")),
        "closes": resolved(source.get("complete_action")) == "close" or None,
    }
    return {
        name: value if name == "closes" else str(value) for name, value in found.items() if value is not None
    }
