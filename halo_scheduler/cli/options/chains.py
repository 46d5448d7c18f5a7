"""The options for follow-up jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import click

from halo_scheduler.cli.options.sections import SectionOption
from halo_scheduler.cli.terminal.completions import complete_jobs
from halo_scheduler.model import Follower, FollowOn, Job

chain_option = partial(click.option, cls=SectionOption, section="Follow-up jobs")
_option = partial(chain_option, multiple=True, metavar="NAME", shell_complete=complete_jobs)

CHAIN_OPTIONS = (
    _option("--on-success", help="Job to run after a success."),
    _option("--on-failure", help="Job to run after a failure or timeout."),
    _option("--then", help="Job to run after every run."),
)
_ENDS = {"on_success": FollowOn.SUCCESS, "on_failure": FollowOn.FAILURE, "then": FollowOn.ALWAYS}


def changed_followers(
    before: tuple[Follower, ...], given: Mapping[str, Any], find: Callable[[str], Job]
) -> tuple[Follower, ...]:
    """Return the follow-up jobs: the given ones and, unless they are cleared, those from before."""
    chosen: dict[str, Follower] = {}
    for option, end in _ENDS.items():
        for name in given[option]:
            job = find(name)
            if job.id in chosen:
                raise click.UsageError(f"{job.name} is given twice; use --then to run it after every run")
            chosen[job.id] = Follower(job_id=job.id, on=end)
    kept = () if given.get("no_followers") else before
    return (*(chosen.pop(follower.job_id, follower) for follower in kept), *chosen.values())
