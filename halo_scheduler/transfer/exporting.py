"""Exports jobs, and picks the reader for a job file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import PurePath
from typing import assert_never

from halo_scheduler.model import Job, JobSpec, Prompt
from halo_scheduler.model.settings import PRESETS, Agent, Settings
from halo_scheduler.transfer.crontab_reading import read_crontab
from halo_scheduler.transfer.crontab_writing import write_crontab
from halo_scheduler.transfer.document import (
    Document,
    drafts_of,
    read_document,
    write_document,
    write_document_as_json,
)
from halo_scheduler.transfer.drafts import Drafts
from halo_scheduler.transfer.text_file import FileError, text_of
from halo_scheduler.transfer.timer_reading import Machine, read_timer

_YAML = re.compile(r"^(?:version|jobs|name|schedules|agents):(?:\s|$)", re.MULTILINE)
_TIMER = re.compile(r"^\[Timer\]\s*$", re.MULTILINE)
_YAML_ENDINGS = {".yaml", ".yml"}
_SYSTEM_CRONTAB = re.compile(r"/etc/(?:crontab|cron\.d/[^/]+)")


def _nothing(_name: str) -> bytes | None:
    return None


def read_jobs(
    content: bytes,
    name: str = "",
    *,
    find_beside: Callable[[str], bytes | None] = _nothing,
    machine: Machine | None = None,
    is_system: bool = False,
    repository: str | None = None,
) -> Drafts:
    """Read what a file holds; its name, where it has one, and its first words say how.

    `find_beside` gives the content of other files of its folder. `is_system` says that it is a system crontab, like
    those in /etc, `repository` completes GitHub sources of agents that name none. FileError refuses it whole, the
    drafts' faults are single things in it.
    """
    if is_system or _SYSTEM_CRONTAB.fullmatch(name):
        return read_crontab(content, user=(machine or Machine()).user)
    ending = PurePath(name).suffix.lower()
    text = text_of(content)
    if not text.strip():
        raise FileError("the file is empty")
    if ending == ".json" or (ending not in _YAML_ENDINGS and text.lstrip().startswith("{")):
        return read_document(content, is_json=True)
    if ending == ".timer" or _TIMER.search(text):
        return read_timer(content, name, find_beside, machine)
    if ending == ".service":
        raise FileError("this is the service of a timer; import its .timer file instead")
    if ending in _YAML_ENDINGS or _YAML.search(text):
        return _read_yaml(content, name, repository)
    return read_crontab(content)


def _read_yaml(content: bytes, name: str, repository: str | None) -> Drafts:
    from halo_scheduler.transfer.agent_reading import looks_like_agent, read_agent  # noqa: PLC0415 - for YAML only
    from halo_scheduler.transfer.yaml_text import read_yaml  # noqa: PLC0415 - PyYAML

    file = read_yaml(content)
    if looks_like_agent(file.data):
        return read_agent(file, name, repository)
    if isinstance(file.data, dict) and "agents" in file.data and "jobs" not in file.data:
        raise FileError("this is a fleet file; import the files of its agents", line=file.line_of("agents"))
    return drafts_of(file)


class FileFormat(StrEnum):
    """The format of a job file."""

    YAML = "yaml"
    JSON = "json"
    CRONTAB = "crontab"


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """A document, and the names of jobs with followers that are gone, which no file could name.

    `agents` are those that its prompts name and no other machine is sure to have: they belong to the settings.
    """

    document: Document
    without_followers: tuple[str, ...] = ()
    agents: tuple[Agent, ...] = ()


def export_all(jobs: Sequence[Job], settings: Settings, group_limits: Mapping[str, int]) -> Export:
    """Return all jobs with quiet hours and group limits."""
    found = export_some(jobs, jobs, settings)
    return replace(
        found,
        document=replace(found.document, quiet_times=settings.quiet_times, group_limits=dict(group_limits)),
    )


def export_some(chosen: Sequence[Job], jobs: Sequence[Job], settings: Settings) -> Export:
    """Return the chosen jobs only, without settings that others share."""
    names = {job.id: job.name for job in jobs}
    cut = [job.name for job in chosen if any(follower.job_id not in names for follower in job.followers)]
    specs = {job.id: _without_gone(job.spec, names) for job in chosen}
    asked = {job.action.agent for job in chosen if isinstance(job.action, Prompt)}
    return Export(
        document=Document(jobs=specs, names=names),
        without_followers=tuple(sorted(cut)),
        agents=tuple(agent for agent in settings.agents if agent.name in asked and agent not in PRESETS),
    )


def written(document: Document, file_format: FileFormat) -> str:
    """Return the text of a job file."""
    match file_format:
        case FileFormat.YAML:
            return write_document(document)
        case FileFormat.JSON:
            return write_document_as_json(document)
        case FileFormat.CRONTAB:
            return write_crontab(list(document.jobs.values()))
        case _:
            assert_never(file_format)


def _without_gone(spec: JobSpec, names: Mapping[str, str]) -> JobSpec:
    if not spec.followers:
        return spec
    return replace(spec, followers=tuple(one for one in spec.followers if one.job_id in names))
