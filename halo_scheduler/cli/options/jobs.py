"""The options that make a job, the same for a new one as for one that is there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import click

from halo_scheduler.cli.options.actions import ACTION_OPTIONS, changed_action
from halo_scheduler.cli.options.chains import CHAIN_OPTIONS, changed_followers
from halo_scheduler.cli.options.conditions import CONDITION_OPTIONS, changed_conditions
from halo_scheduler.cli.options.option_values import as_it_is, chosen
from halo_scheduler.cli.options.policies import POLICY_OPTIONS, changed_policy, usual_policy
from halo_scheduler.cli.options.schedules import SCHEDULE_OPTIONS, take_schedule_options
from halo_scheduler.cli.options.sections import AnyCommand, SectionOption, with_options
from halo_scheduler.cli.terminal.completions import complete_groups
from halo_scheduler.model import Job, JobSpec

said_option = partial(click.option, cls=SectionOption, section="What is said of it")

_OPTIONS = (
    *SCHEDULE_OPTIONS,
    *ACTION_OPTIONS,
    *CONDITION_OPTIONS,
    *CHAIN_OPTIONS,
    *POLICY_OPTIONS,
    said_option(
        "--group",
        metavar="GROUP",
        shell_complete=complete_groups,
        help="Jobs of a group can share a limit and quiet times.",
    ),
    said_option("--description", metavar="TEXT", help="What it is for."),
    said_option(
        "--enabled/--disabled", default=None, help="Whether it may run by itself at all.", usual="enabled"
    ),
)
_SAID = {
    "group": ("group", as_it_is),
    "description": ("description", as_it_is),
    "enabled": ("enabled", as_it_is),
}


def job_options(command: AnyCommand) -> AnyCommand:
    """Give a command the options that make a job."""
    return with_options(command, _OPTIONS)


def fields_of_new(
    given: dict[str, Any], command: tuple[str, ...], find: Callable[[str], Job], now_ms: int
) -> dict[str, Any]:
    """Return what was asked for of a new job; `find` returns the job that a name means."""
    options = take_schedule_options(given)
    return {
        **chosen(given, _SAID),
        "schedule": options.schedule(now_ms),
        "anchor_at": options.anchor_at(now_ms),
        "action": changed_action(None, given, command),
        "policy": changed_conditions(changed_policy(usual_policy(given), given), given),
        "followers": changed_followers((), given, find),
    }


def changed_fields(
    before: JobSpec,
    given: dict[str, Any],
    command: tuple[str, ...],
    find: Callable[[str], Job],
    now_ms: int,
) -> dict[str, Any]:
    """Return what was asked for of a job that is there, and only what is not so already."""
    options = take_schedule_options(given)
    fields = {
        **chosen(given, _SAID),
        **_called(given),
        "schedule": options.schedule(now_ms, before.schedule),
        "anchor_at": options.anchor_at(now_ms, before.anchor_at),
        "action": changed_action(before.action, given, command),
        "policy": changed_conditions(changed_policy(before.policy, given), given),
        "followers": changed_followers(before.followers, given, find),
    }
    return {name: value for name, value in fields.items() if value != getattr(before, name)}


def _called(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what only a job that is there can be given: another name, no group any more."""
    if given["group"] is not None and given["no_group"]:
        raise click.UsageError("give either --group or --no-group")
    return ({"group": None} if given["no_group"] else {}) | chosen(given, {"rename": ("name", as_it_is)})
