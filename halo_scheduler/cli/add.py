"""`halo add`: a new job."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import click

from halo_scheduler.cli.schedule_options import choice_of, schedule_options, take_schedule_options
from halo_scheduler.cli.shown import next_words, note_line
from halo_scheduler.clock import SystemClock
from halo_scheduler.model import (
    Backoff,
    BackoffKind,
    BodyKind,
    CatchUp,
    Command,
    HttpRequest,
    Job,
    Limits,
    Notify,
    Policy,
    Redirects,
    Retry,
)
from halo_scheduler.schedule.describe import describe
from halo_scheduler.schedule.interval import parse_interval
from halo_scheduler.schedule.lint import lint
from halo_scheduler.service import Scheduler

_HTTP_TIME_LIMIT = "5m"


def _policy_options(command: Callable[..., Any]) -> Callable[..., Any]:
    options = (
        click.option(
            "--timeout", metavar="2h", help='Stop a run after so long; "none" never. [2h; HTTP: 5m]'
        ),
        click.option("--retries", type=int, default=0, metavar="N", help="Try a failed run again, N times."),
        click.option("--retry-delay", metavar="1m", default="1m", help="How long after the failure. [1m]"),
        click.option(
            "--max-errors", type=int, metavar="N", default=5, help="Disable after N errors; 0 never. [5]"
        ),
        click.option(
            "--backoff",
            type=choice_of(BackoffKind),
            default="ladder",
            help="How errors delay it. [ladder]",
        ),
        click.option(
            "--catch-up",
            type=choice_of(CatchUp),
            default="once",
            help="What was missed while off. [once]",
        ),
        click.option("--catch-up-max-age", metavar="1d", help="Catch up only what was missed by less."),
        click.option(
            "--jitter", type=int, metavar="PERCENT", default=0, help="Spread the start by up to 10 %."
        ),
        click.option(
            "--min-interval", metavar="1m", help="Never sooner than this after now, whatever advises it."
        ),
        click.option("--max-interval", metavar="1d", help="Never later than this after now."),
        click.option("--notify", type=choice_of(Notify), default="failures", help="[failures]"),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _action_options(command: Callable[..., Any]) -> Callable[..., Any]:
    options = (
        click.option("--shell", metavar="/bin/sh", help="Give the one COMMAND as a line to this shell."),
        click.option("--dir", "directory", metavar="DIR", help="Where the command runs. [your home]"),
        click.option("--env", multiple=True, metavar="NAME=VALUE", help="Add to its environment."),
        click.option("--stdin", default="", metavar="TEXT", help="What it reads from standard input."),
        click.option("--success-codes", metavar="0,1", help="Exit codes that mean success. [0]"),
        click.option(
            "--no-work-code", type=int, metavar="N", help='The exit code that means "nothing to do".'
        ),
        click.option("--grace", metavar="10s", help="From asking it to stop to force. [10s]"),
        click.option("--http", nargs=2, metavar="METHOD URL", help="An HTTP request instead of a command."),
        click.option("--header", multiple=True, metavar="'NAME: VALUE'", help="A header of the request."),
        click.option("--body", metavar="TEXT", help="The body of the request."),
        click.option("--json-body", metavar="JSON", help="The body of the request, as JSON."),
        click.option("--expect", metavar="200,204", help="Statuses that mean success. [any 2xx]"),
        click.option("--redirects", type=choice_of(Redirects), help="[same-host]"),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@click.argument("name")
@schedule_options
@click.option("--group", metavar="GROUP", help="Jobs of a group can share a limit.")
@click.option("--description", default="", metavar="TEXT", help="What it is for.")
@click.option("--disabled", is_flag=True, help="Store it without letting it run by itself.")
@_policy_options
@_action_options
@click.argument("command", nargs=-1, metavar="[-- COMMAND ARG…]")
def add(*, name: str, command: tuple[str, ...], **given: Any) -> None:
    """Add a job.

    \b
    Examples:
      halo add backup --every 6h -- rsync -a /home /mnt/backup
      halo add report --cron "0 9 * * 1-5" --dir ~/reports -- ./report.sh --weekly
      halo add tidy --after 30m --shell /bin/sh -- 'find /tmp/x -mtime +7 -delete'
      halo add ping --every 5m --http GET https://example.org/health
      halo add hook --once "tomorrow 9:00" --http POST https://example.org/hook \\
          --header 'Authorization: Bearer ${secret:HOOK}' --json-body '{"hello": 1}'

    Secrets are kept with "halo secret set"; ${secret:NAME} stands for them in --env, --stdin, --header and bodies.
    """
    now_ms = SystemClock().now_ms()
    options = take_schedule_options(given)
    schedule = options.schedule(now_ms)
    action = _http_action(given, command) if given["http"] else _command_action(given, command)
    with Scheduler.open() as scheduler:
        job_id = scheduler.add_job(
            name,
            schedule,
            action,
            description=given["description"],
            group=given["group"],
            anchor_at=options.anchor_at(now_ms),
            enabled=not given["disabled"],
            policy=_policy(given),
        )
        job = scheduler.get_job(job_id)
        missing = action.secret_names - {secret.name for secret in scheduler.list_secrets()}
    if job is not None:
        _show_added(job, missing, now_ms)


def _show_added(job: Job, missing_secrets: Iterable[str], now_ms: int) -> None:
    click.echo(f"added {job.name}: {describe(job.schedule)}")
    click.echo(f"  next: {next_words(job, now_ms)}")
    for note in lint(job.schedule, now_ms, anchor_at=job.anchor_at):
        click.echo(note_line(note))
    for name in sorted(missing_secrets):
        click.echo(
            f"{click.style('▲', fg='yellow')} the secret {name} is not set yet: halo secret set {name}"
        )


def _command_action(given: dict[str, Any], command: tuple[str, ...]) -> Command:
    for option in ("header", "body", "json_body", "expect", "redirects"):
        if given[option]:
            raise click.UsageError(f"--{option.replace('_', '-')} goes with --http only")
    if not command:
        raise click.UsageError("say what to run: -- COMMAND ARG…, or --http GET URL")
    shell = given["shell"] or ""
    if shell and len(command) != 1:
        raise click.UsageError("with --shell, give the line as one argument, in quotes")
    return Command(
        argv=() if shell else command,
        line=command[0] if shell else "",
        shell=shell,
        directory=given["directory"],
        environment=_pairs("--env", "=", given["env"]),
        stdin=given["stdin"],
        success_codes=_numbers("--success-codes", given["success_codes"] or "0"),
        no_work_code=given["no_work_code"],
        grace=given["grace"] or "10s",
    )


def _http_action(given: dict[str, Any], command: tuple[str, ...]) -> HttpRequest:
    if command:
        raise click.UsageError("give either a command or --http, not both")
    for option in ("shell", "directory", "env", "stdin", "success_codes", "no_work_code", "grace"):
        if given[option] not in {None, "", ()}:
            raise click.UsageError(
                f"--{option.replace('directory', 'dir').replace('_', '-')} goes with a command only"
            )
    if given["body"] is not None and given["json_body"] is not None:
        raise click.UsageError("give either --body or --json-body")
    method, url = given["http"]
    is_json = given["json_body"] is not None
    return HttpRequest(
        url=url,
        method=method,
        headers=_pairs("--header", ":", given["header"]),
        body=(given["json_body"] if is_json else given["body"]) or "",
        body_kind=BodyKind.JSON if is_json else BodyKind.TEXT,
        expected_statuses=_numbers("--expect", given["expect"]) if given["expect"] else (),
        redirects=Redirects(given["redirects"] or Redirects.SAME_HOST),
    )


def _policy(given: dict[str, Any]) -> Policy:
    usual = _HTTP_TIME_LIMIT if given["http"] else "2h"
    time_limit = given["timeout"] or usual
    return Policy(
        time_limit=None if time_limit == "none" else time_limit,
        catch_up=CatchUp(given["catch_up"]),
        catch_up_max_age=given["catch_up_max_age"],
        max_errors=given["max_errors"],
        backoff=Backoff(kind=BackoffKind(given["backoff"])),
        retry=Retry(attempts=given["retries"], delay_ms=parse_interval(given["retry_delay"])),
        limits=Limits(min_ms=_interval(given["min_interval"]), max_ms=_interval(given["max_interval"])),
        jitter_percent=given["jitter"],
        notify=Notify(given["notify"]),
    )


def _interval(text: str | None) -> int | None:
    return None if text is None else parse_interval(text)


def _pairs(option: str, separator: str, texts: Sequence[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        name, found, value = text.partition(separator)
        if not found:
            raise click.UsageError(f"{option} {text!r} has no {separator!r}")
        pairs[name.strip()] = value.strip() if separator == ":" else value
    return pairs


def _numbers(option: str, text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise click.UsageError(
            f"{option} takes whole numbers with commas between them, not {text!r}"
        ) from None
