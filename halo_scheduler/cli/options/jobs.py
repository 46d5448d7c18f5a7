"""The options of a job, shared by `halo add` and `halo edit`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import click

from halo_scheduler.cli.options.actions import ACTION_OPTIONS, changed_action
from halo_scheduler.cli.options.option_values import (
    AnyCommand,
    SectionOption,
    as_it_is,
    chosen,
    pairs,
    with_options,
)
from halo_scheduler.cli.options.policies import (
    CHAIN_OPTIONS,
    CONDITION_OPTIONS,
    POLICY_OPTIONS,
    changed_conditions,
    changed_followers,
    changed_policy,
)
from halo_scheduler.cli.options.schedules import SCHEDULE_FIELDS, SCHEDULE_OPTIONS, take_schedule_options
from halo_scheduler.cli.terminal.completions import complete_groups
from halo_scheduler.model import Job, JobSpec
from halo_scheduler.model.settings import Settings

detail_option = partial(click.option, cls=SectionOption, section="Details")

_OPTIONS = (
    *SCHEDULE_OPTIONS,
    *ACTION_OPTIONS,
    *CONDITION_OPTIONS,
    *CHAIN_OPTIONS,
    *POLICY_OPTIONS,
    detail_option(
        "--group",
        metavar="GROUP",
        shell_complete=complete_groups,
        help="Groups can share quiet hours and a limit.",
    ),
    detail_option("--description", metavar="TEXT", help="Description."),
    detail_option(
        "--param",
        multiple=True,
        metavar="NAME=DEFAULT",
        help="Parameter that can be set for a run, as with: halo run --set NAME=VALUE",
    ),
    detail_option(
        "--enabled/--disabled", default=None, help="Disabled jobs only run manually.", default_words="enabled"
    ),
)
_DETAILS = {
    "group": ("group", as_it_is),
    "description": ("description", as_it_is),
    "enabled": ("enabled", as_it_is),
}


OPTIONS_BY_FIELD = {
    "name": ("--rename", "NAME"),
    "description": ("--description",),
    "group": ("--group",),
    "parameters": ("--param",),
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
    "action.title": ("--remind",),
    "action.text": ("--prompt", "--remind"),
    "action.agent": ("--agent",),
    "action.work_source.path": ("--work-folder",),
    "action.work_source.repository": ("--work-github",),
    "action.work_source.token": ("--work-token",),
    "action.work_source.ready": ("--work-ready",),
    "action.work_source.in_progress": ("--work-in-progress",),
    "action.work_source.base_url": ("--work-url",),
    "action.work_source.closes": ("--work-close",),
    "action.work_source.comments": ("--work-comment",),
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
    "policy.output_limit_bytes": ("--output-limit",),
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
    """Add the options of a job to a command."""
    return with_options(command, _OPTIONS)


def fields_of_new(
    given: dict[str, Any],
    command: tuple[str, ...],
    find: Callable[[str], Job],
    now_ms: int,
    settings: Settings,
) -> dict[str, Any]:
    """Return the fields of a new job; `find` returns the job for a name."""
    options = take_schedule_options(given)
    policy = settings.policy_of_new(is_http=bool(given["http"]))
    return {
        **chosen(given, _DETAILS),
        "schedule": options.schedule(now_ms),
        "anchor_at": options.anchor_at(now_ms),
        "action": changed_action(None, given, command),
        "policy": changed_conditions(changed_policy(policy, given), given),
        "followers": changed_followers((), given, find),
        "parameters": pairs("--param", "=", given["param"]),
    }


def changed_fields(
    before: JobSpec,
    given: dict[str, Any],
    command: tuple[str, ...],
    find: Callable[[str], Job],
    now_ms: int,
) -> dict[str, Any]:
    """Return the fields of a job that the options change."""
    options = take_schedule_options(given)
    fields = {
        **chosen(given, _DETAILS),
        **_renamed(given),
        "schedule": options.schedule(now_ms, before.schedule),
        "anchor_at": options.anchor_at(now_ms, before.anchor_at),
        "action": changed_action(before.action, given, command),
        "policy": changed_conditions(changed_policy(before.policy, given), given),
        "followers": changed_followers(before.followers, given, find),
        "parameters": {
            **({} if given["no_params"] else before.parameters),
            **pairs("--param", "=", given["param"]),
        },
    }
    return {name: value for name, value in fields.items() if value != getattr(before, name)}


def _renamed(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the changes that only `halo edit` offers: a new name, no group."""
    if given["group"] is not None and given["no_group"]:
        raise click.UsageError("give either --group or --no-group")
    return ({"group": None} if given["no_group"] else {}) | chosen(given, {"rename": ("name", as_it_is)})
