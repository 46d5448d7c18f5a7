"""Facts about agents beyond the settings: which jobs use them, which programs are missing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from halo_scheduler.model import Prompt
from halo_scheduler.model.agents import Agent
from halo_scheduler.service.scheduler import Scheduler


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentUsers:
    """The names of the jobs that name an agent, and of those that use the default."""

    by_agent: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    of_default: tuple[str, ...] = ()

    def naming(self, agent: str) -> tuple[str, ...]:
        """Return the jobs that name an agent."""
        return self.by_agent.get(agent, ())

    def of(self, agent: str, default: str) -> tuple[str, ...]:
        """Return the jobs that use an agent, by name or as the default."""
        return self.naming(agent) + (self.of_default if agent == default else ())


def read_users(scheduler: Scheduler) -> AgentUsers:
    """Return which jobs use which agents."""
    found: dict[str, list[str]] = {}
    for page in scheduler.jobs.in_pages():
        for job in page:
            if isinstance(job.action, Prompt):
                found.setdefault(job.action.agent, []).append(job.name)
    of_default = tuple(found.pop("", []))
    return AgentUsers(by_agent={name: tuple(jobs) for name, jobs in found.items()}, of_default=of_default)


def missing_programs(agents: Iterable[Agent], search_path: str) -> frozenset[str]:
    """Return the programs of agents that are not on the search path of jobs."""
    programs = {agent.argv[0] for agent in agents}
    return frozenset(program for program in programs if not _is_there(program, search_path))


def _is_there(program: str, search_path: str) -> bool:
    full = os.path.expanduser(program)  # noqa: PTH111 - a name without a folder stays one
    if os.path.dirname(full) and not os.path.isabs(full):  # noqa: PTH117, PTH120
        # Relative to the directory of the job, so it cannot be checked here.
        return True
    return shutil.which(full, path=search_path) is not None
