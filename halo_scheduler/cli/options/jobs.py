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
from halo_scheduler.cli.options.schedules import SCHEDULE_FIELDS, SCHEDULE_OPTIONS, take_schedule_options
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


OPTIONS_BY_FIELD = {
    "name": ("--rename", "NAME"),
    "description": ("--description",),
    "group": ("--group",),
    "enabled": ("--enabled",),
    **SCHEDULE_FIELDS,
    "action.argv": ("COMMAND",),
    "action.line": ("COMMAND",),
    "action.shell": ("--shell",),
    "action.stdin": ("--stdin",),
    "action.directory": ("--dir",),
    "action.environment": ("--env",),
    "action.success_codes": ("--success-codes",),
    "action.no_work_code": ("--no-work-code",),
    "action.needs_input_code": ("--needs-input-code",),
    "action.grace": ("--grace",),
    "action.method": ("--http",),
    "action.url": ("--http",),
    "action.headers": ("--header",),
    "action.body": ("--json-body", "--body"),
    "action.body_kind": ("--json-body", "--body"),
    "action.expected_statuses": ("--expect",),
    "action.redirects": ("--redirects",),
    "action.text": ("--prompt",),
    "action.agent": ("--agent",),
    "action.work_source.path": ("--work-folder",),
    "action.work_source.repository": ("--work-github",),
    "action.work_source.token": ("--work-token",),
    "action.work_source.ready": ("--work-ready",),
    "action.work_source.in_progress": ("--work-in-progress",),
    "action.work_source.base_url": ("--work-url",),
    "action.work_source.closes": ("--work-close",),
    "policy.time_limit": ("--timeout",),
    "policy.retry.attempts": ("--retries",),
    "policy.retry.delay_ms": ("--retry-delay",),
    "policy.max_errors": ("--max-errors",),
    "policy.backoff": ("--backoff",),
    "policy.catch_up": ("--catch-up",),
    "policy.catch_up_max_age": ("--catch-up-max-age",),
    "policy.jitter_percent": ("--jitter",),
    "policy.limits.min_ms": ("--min-interval",),
    "policy.limits.max_ms": ("--max-interval",),
    "policy.notify": ("--notify",),
    "policy.caps.runs_per_day": ("--max-runs-per-day",),
    "policy.caps.cost_per_day": ("--max-cost-per-day",),
    "policy.reads_lines": ("--read-lines",),
    "policy.keep_awake": ("--keep-awake",),
    "policy.assistants_may_run": ("--assistants-may-run",),
    "policy.in_quiet_time": ("--in-quiet-time",),
    "policy.conditions": ("--if-mains", "--if-network", "--if-reachable", "--if-path"),
    "policy.conditions.host": ("--if-reachable",),
    "policy.conditions.port": ("--if-reachable",),
    "policy.conditions.idle": ("--if-idle",),
    "policy.conditions.below": ("--if-load-below",),
    "policy.conditions.path": ("--if-path",),
    "policy.condition_deadline": ("--if-deadline",),
    "followers": ("--on-success", "--on-failure", "--then"),
}
"""For each field of a job, the options that set it; refusals name the option (see `naming_options`)."""


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
