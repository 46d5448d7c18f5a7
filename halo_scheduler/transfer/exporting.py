"""Exporting: which jobs go into a file, and what of them cannot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import assert_never

from halo_scheduler.model import Job, JobSpec, Prompt
from halo_scheduler.model.agents import PRESETS, Agent
from halo_scheduler.model.settings import Settings
from halo_scheduler.transfer.crontab_writing import write_crontab
from halo_scheduler.transfer.document import Document, write_document, write_document_as_json


class FileFormat(StrEnum):
    """What a file of jobs is written in."""

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
    """Return all jobs, with what holds around them."""
    found = export_some(jobs, jobs, settings)
    return replace(
        found,
        document=replace(found.document, quiet_times=settings.quiet_times, group_limits=dict(group_limits)),
    )


def export_some(chosen: Sequence[Job], jobs: Sequence[Job], settings: Settings) -> Export:
    """Return some of all jobs, and nothing of what holds for others too."""
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
    """Return the text of a file."""
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
