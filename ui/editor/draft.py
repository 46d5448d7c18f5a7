"""The input of the job editor."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from halo_scheduler.model import Command, Cron, JobSpec, StatusReason
from halo_scheduler.model.settings import Settings

NEW_JOB_CRON = "0 9 * * *"
_NO_COMMAND = Command(argv=("true",))


class PageNumber(IntEnum):
    """The position of each page in the editor, counted from 0."""

    WHAT = 0
    WHEN = 1
    CONDITIONS = 2
    FAILURE = 3
    NEXT_JOBS = 4
    OPTIONS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A job to edit: a stored one, a filled-in new one, or, without a spec, an empty new one."""

    spec: JobSpec | None = None
    job_id: str | None = None
    is_new: bool = True
    is_begun: bool = False
    """Whether the spec is not stored anywhere, so that closing the editor loses it."""
    review: StatusReason | None = None
    """Why the job, or the one it was copied from, needs a review before it may run."""
    settings: Settings = field(default_factory=Settings)
    """The defaults of new jobs, and the agents."""
    groups: tuple[str, ...] = ()
    taken_names: frozenset[str] = frozenset()

    def start_spec(self) -> JobSpec:
        """Return the initial spec of the form; name and command of an empty new job are placeholders."""
        if self.spec is not None:
            return self.spec
        policy = self.settings.policy_of_new()
        return JobSpec(name="?", schedule=Cron(NEW_JOB_CRON), action=_NO_COMMAND, policy=policy)

    def suggested_limit(self, *, is_http: bool) -> str | None:
        """Return the time limit of an empty new job of this kind."""
        return self.settings.policy_of_new(is_http=is_http).time_limit

    def is_taken(self, name: str) -> bool:
        """Return whether another job has this name."""
        is_own = self.spec is not None and not self.is_new and name == self.spec.name
        return name in self.taken_names and not is_own
