"""`halo add` and `halo edit`, and the options of a job that both take."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import click

from halo_scheduler.cli.options.actions import ACTION_FIELDS, ACTION_OPTIONS, action_option, changed_action
from halo_scheduler.cli.options.option_values import (
    AnyCommand,
    SectionCommand,
    SectionOption,
    as_it_is,
    chosen,
    is_given,
    naming_options,
    pairs,
    with_options,
)
from halo_scheduler.cli.options.policies import (
    CHAIN_OPTIONS,
    CONDITION_FIELDS,
    CONDITION_OPTIONS,
    POLICY_FIELDS,
    POLICY_OPTIONS,
    chain_option,
    changed_conditions,
    changed_followers,
    changed_policy,
    condition_option,
)
from halo_scheduler.cli.options.schedules import SCHEDULE_FIELDS, SCHEDULE_OPTIONS, take_schedule_options
from halo_scheduler.cli.terminal.completions import complete_files, complete_groups, complete_jobs
from halo_scheduler.cli.terminal.job_details import details, job_context, print_notes
from halo_scheduler.cli.terminal.terminal import warn_not_running
from halo_scheduler.clock import SystemClock
from halo_scheduler.grammar.text import plain_line
from halo_scheduler.model import Job, JobSpec
from halo_scheduler.model.changes import TERMINAL
from halo_scheduler.model.settings import Settings
from halo_scheduler.service.lookup import find_job
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.wording.schedules import describe
from halo_scheduler.wording.status import next_words

_LONGEST = 1_000
# The word that clears a field; "none" for all others.
_GONE = {"starts": "whenever due", "follows": "no job"}
_detail_option = partial(click.option, cls=SectionOption, section="Details")
_REMOVING = (
    action_option("--no-env", is_flag=True, default=None, help="Remove all environment variables."),
    action_option("--no-headers", is_flag=True, default=None, help="Remove all headers."),
    action_option("--no-work", is_flag=True, default=None, help="Remove the work queue."),
    condition_option("--no-conditions", is_flag=True, default=None, help="Remove all conditions."),
    chain_option("--no-followers", is_flag=True, default=None, help="Remove all follow-up jobs."),
    _detail_option("--no-params", is_flag=True, default=None, help="Remove all parameters."),
    _detail_option("--no-group", is_flag=True, default=None, help="Remove from its group."),
    _detail_option("--rename", metavar="NAME", help="New name."),
)

_OPTIONS = (
    *SCHEDULE_OPTIONS,
    *ACTION_OPTIONS,
    *CONDITION_OPTIONS,
    *CHAIN_OPTIONS,
    *POLICY_OPTIONS,
    _detail_option(
        "--group",
        metavar="GROUP",
        shell_complete=complete_groups,
        help="Groups can share quiet hours and a limit.",
    ),
    _detail_option("--description", metavar="TEXT", help="Description."),
    _detail_option(
        "--param",
        multiple=True,
        metavar="NAME=DEFAULT",
        help="Parameter that can be set for a run, as with: halo run --set NAME=VALUE",
    ),
    _detail_option(
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
    **ACTION_FIELDS,
    **POLICY_FIELDS,
    **CONDITION_FIELDS,
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


@click.command(cls=SectionCommand)
@click.argument("name")
@job_options
@click.argument("command", nargs=-1, metavar="[-- COMMAND ARG…]", shell_complete=complete_files)
def add(*, name: str, command: tuple[str, ...], **given: Any) -> None:
    """Add a job.

    \b
    Examples:
      halo add backup --every 6h -- rsync -a /home /mnt/backup
      halo add standup --when "every weekday at 9:30" -- notify-send Standup
      halo add report --cron "0 9 * * 1-5" --dir ~/reports -- ./report.sh --weekly
      halo add tea --cron "0 9 * * *" --cron "30 14 * * *" -- notify-send Tea
      halo add tidy --after 30m --shell /bin/sh -- 'find /tmp/x -mtime +7 -delete'
      halo add ping --every 5m --http GET https://example.org/health
      halo add hook --once "tomorrow 9:00" --http POST https://example.org/hook \\
          --header 'Authorization: Bearer ${secret:HOOK}' \\
          --json-body '{"hello": 1}'
      halo add review --cron @daily --dir ~/code \\
          --prompt "Review what changed today, {{date}}."
      halo add fix --every 1h --prompt @fix.md --max-runs-per-day 5 \\
          --work-github me/shop --work-token GITHUB
      halo add photos --every 1d --if-mains --if-reachable nas.local:22 \\
          --if-deadline 6h --keep-awake -- ./copy.sh
      halo add mirror --cron @daily --on-success report -- ./mirror.sh
      halo add build --manual --param branch=main -- ./build.sh
      halo add sort --on-file ~/Inbox --match "*.pdf" -- ./sort.sh

    Store secrets with "halo secret set" and use them as ${secret:NAME} in --env, --stdin, --header and bodies.
    """
    now_ms = SystemClock().now_ms()
    with Scheduler.open(actor=TERMINAL) as scheduler, naming_options(OPTIONS_BY_FIELD, given):
        fields = fields_of_new(
            given, command, partial(find_job, scheduler), now_ms, scheduler.settings.read()
        )
        job = scheduler.get_job(scheduler.add_job(name, **fields))
        if job is not None:
            when, upcoming = describe(job.schedule), next_words(scheduler.jobs.situation(job.id), now_ms)
            click.echo(f"added {job.name}: {when}")
            if upcoming != when:  # "manual only" is both.
                click.echo(f"  next: {upcoming}")
            print_notes(scheduler, job, now_ms)
        starts_itself = job is not None and (job.next_run_at is not None or bool(job.spec.events))
        if starts_itself and scheduler.status().state != "running":
            warn_not_running()


@click.command(cls=SectionCommand, creates_job=False)
@click.argument("name", shell_complete=complete_jobs)
@job_options
@partial(with_options, options=_REMOVING)
@click.argument("command", nargs=-1, metavar="[-- COMMAND ARG…]", shell_complete=complete_files)
def edit(*, name: str, command: tuple[str, ...], **given: Any) -> None:
    """Change the given options of a job; the others stay.

    \b
    Examples:
      halo edit backup                           open it in your editor
      halo edit backup --every 12h --keep-awake
      halo edit backup --if-mains --if-path /mnt/backup --if-deadline 2h
      halo edit backup --on-success report --on-failure alarm
      halo edit backup --no-conditions --group night --rename "nightly backup"
      halo edit report -- ./report.sh --monthly

    Without options, the job opens as a file in $VISUAL or $EDITOR. Lists such as --env, --if-path and --on-success
    are extended; start over with --no-env, --no-conditions or --no-followers. "none" removes a limit.
    """
    now_ms = SystemClock().now_ms()
    is_empty = not command and not any(is_given(value) for value in given.values())
    if is_empty and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError(
            "give at least one option, like --every 1h; the editor opens only on a terminal"
        )
    with Scheduler.open(actor=TERMINAL) as scheduler:
        job = find_job(scheduler, name)
        before = _lines(scheduler, job, now_ms)
        if is_empty:
            _edit_as_file(scheduler, job)
        else:
            with naming_options(OPTIONS_BY_FIELD, given):
                changes = changed_fields(job.spec, given, command, partial(find_job, scheduler), now_ms)
                if given["enabled"] and not job.enabled:
                    changes["enabled"] = True  # That resumes a job that was disabled by errors.
                if changes:
                    scheduler.update_job(job.id, seen=job.spec, **changes)
        changed = scheduler.get_job(job.id) or job
        if (changed.spec, changed.enabled) == (job.spec, job.enabled):
            click.echo(f"no changes to {job.name}")
            return
        click.echo(f"changed {changed.name}")
        _print_changes(before, _lines(scheduler, changed, now_ms))
        if (changed.schedule, changed.action) != (job.schedule, job.action):
            print_notes(scheduler, changed, now_ms)


def _edit_as_file(scheduler: Scheduler, job: Job) -> None:
    from halo_scheduler.cli.terminal.editor_file import edit_as_file  # noqa: PLC0415 - loads PyYAML

    edit_as_file(scheduler, job)


def _lines(scheduler: Scheduler, job: Job, now_ms: int) -> dict[str, str]:
    """Return the details of a job by label; several texts with one label are joined."""
    found: dict[str, str] = {}
    for label, text in details(job, job_context(scheduler, job), now_ms):
        found[label] = f"{found[label]}; {text}" if label in found else text
    return found


def _print_changes(before: dict[str, str], after: dict[str, str]) -> None:
    for label in dict.fromkeys((*after, *before)):
        if before.get(label) != after.get(label):
            text = plain_line(after.get(label, _GONE.get(label, "none")), _LONGEST)
            click.echo(f"  {click.style(f'{label:<9}', dim=True)} {text}")
