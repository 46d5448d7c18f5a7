"""The options that say which jobs run after a job."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import click

from halo_scheduler.cli.options.sections import SectionOption
from halo_scheduler.cli.terminal.completions import complete_jobs
from halo_scheduler.model import Follower, FollowOn, Job

chain_option = partial(click.option, cls=SectionOption, section="What runs after it")
_option = partial(chain_option, multiple=True, metavar="NAME", shell_complete=complete_jobs)

CHAIN_OPTIONS = (
    _option("--on-success", help="Run this job after each success."),
    _option("--on-failure", help="Run this job after each failure, also a time-out."),
    _option("--then", help="Run this job after each run, however it ended."),
)
_ENDS = {"on_success": FollowOn.SUCCESS, "on_failure": FollowOn.FAILURE, "then": FollowOn.ALWAYS}


def changed_followers(
    before: tuple[Follower, ...], given: Mapping[str, Any], find: Callable[[str], Job]
) -> tuple[Follower, ...]:
    """Return the jobs that follow: those that were given beside those from before, unless they were to go."""
    chosen: dict[str, Follower] = {}
    for option, end in _ENDS.items():
        for name in given[option]:
            job = find(name)
            if job.id in chosen:
                raise click.UsageError(f"{job.name} is to run after it twice; --then is for all ends")
            chosen[job.id] = Follower(job_id=job.id, on=end)
    kept = () if given.get("no_followers") else before
    return (*(chosen.pop(follower.job_id, follower) for follower in kept), *chosen.values())
