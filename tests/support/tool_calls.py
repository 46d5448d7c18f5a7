"""Calling the tools of assistants without an assistant, on jobs that have something to keep back."""

from __future__ import annotations

from typing import Any

from halo_scheduler import Command, HttpRequest, Prompt
from halo_scheduler.mcp.server import _TOOLS, _answer
from halo_scheduler.model import Action, Job
from halo_scheduler.model.actions import FolderSource, GithubSource
from halo_scheduler.service.scheduler import Scheduler

SECRET_NAME = "GITHUB_TOKEN"  # noqa: S105 - a name
PRIVATE = "hunter2"
ACTIONS: tuple[Action, ...] = (
    Command(
        argv=("rsync", "-a"), environment={"A": PRIVATE, "T": "${secret:BACKUP_KEY}"}, success_codes=(0, 3)
    ),
    Command(line="a | b", shell="/bin/sh", stdin="in ${secret:BACKUP_KEY} out", directory="/"),  # noqa: S604
    Command(argv=("x",), work_source=GithubSource(repository="a/b", token=SECRET_NAME, closes=True)),
    HttpRequest(
        url="https://example.org/x",
        method="POST",
        headers={"Authorization": f"Bearer {PRIVATE}", "X-Key": "${secret:BACKUP_KEY}"},
        body="${secret:BACKUP_KEY}",
    ),
    Prompt(text="look at {{work.title}}", agent="claude", work_source=FolderSource(path="/tmp/x")),  # noqa: S108
)


def call(scheduler: Scheduler, tool: str, **arguments: Any) -> Any:
    """Return what a tool answers, as it is sent."""
    return _answer(_TOOLS[tool].call(scheduler, arguments, scheduler.actor.name)).structured_content


def job_named(scheduler: Scheduler, name: str) -> Job:
    (job,) = (job for job in scheduler.list_jobs() if job.name == name)
    return job
