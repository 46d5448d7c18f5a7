"""What the engine tells those who listen: that something changed, not what it is now."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum

_MOST_TOLD = 20


class ChangeKind(StrEnum):
    """What changed."""

    JOB = "job"
    RUN_STARTED = "run-started"
    RUN_PROGRESS = "run-progress"
    RUN_FINISHED = "run-finished"
    ENGINE = "engine"
    SETTINGS = "settings"
    QUESTION = "question"


@dataclass(frozen=True, slots=True)
class Change:
    """One change; read the job or the run to learn what it is now."""

    kind: ChangeKind
    job_id: str | None = None
    run_id: str | None = None


def changes_of(job_ids: Collection[str]) -> list[Change]:
    """Return that jobs changed; of many at once, only that some did."""
    if len(job_ids) > _MOST_TOLD:
        return [Change(ChangeKind.JOB)]
    return [Change(ChangeKind.JOB, job_id=job_id) for job_id in job_ids]


def gathered(changes: Iterable[Change]) -> list[Change]:
    """Return changes to tell of; of many at once, only the kinds: whoever listens reads everything again."""
    told = list(dict.fromkeys(changes))
    if len(told) <= _MOST_TOLD:
        return told
    return list(dict.fromkeys(Change(change.kind) for change in told))
