"""The options that say under which policy a job runs."""

from __future__ import annotations

from typing import Any

import click

from halo_scheduler.cli.schedule_options import AnyCommand, choice_of, with_options
from halo_scheduler.model import Backoff, BackoffKind, Caps, CatchUp, Limits, Notify, Policy, Retry
from halo_scheduler.schedule.interval import parse_interval

_TIME_LIMIT = "2h"
_HTTP_TIME_LIMIT = "5m"

_OPTIONS = (
    click.option("--timeout", metavar="2h", help='Stop a run after so long; "none" never. [2h; HTTP: 5m]'),
    click.option("--retries", type=int, default=0, metavar="N", help="Try a failed run again, N times."),
    click.option("--retry-delay", metavar="1m", default="1m", help="How long after the failure. [1m]"),
    click.option(
        "--max-errors", type=int, metavar="N", default=5, help="Disable after N errors; 0 never. [5]"
    ),
    click.option(
        "--backoff", type=choice_of(BackoffKind), default="ladder", help="How errors delay it. [ladder]"
    ),
    click.option(
        "--catch-up", type=choice_of(CatchUp), default="once", help="What was missed while off. [once]"
    ),
    click.option("--catch-up-max-age", metavar="1d", help="Catch up only what was missed by less."),
    click.option("--jitter", type=int, metavar="PERCENT", default=0, help="Spread the start by up to 10 %."),
    click.option(
        "--min-interval", metavar="1m", help="Never sooner than this after now, whatever advises it."
    ),
    click.option("--max-interval", metavar="1d", help="Never later than this after now."),
    click.option("--notify", type=choice_of(Notify), default="failures", help="[failures]"),
    click.option(
        "--max-runs-per-day", type=int, metavar="N", help="Do not start it by itself after N runs in a day."
    ),
    click.option(
        "--max-cost-per-day",
        type=float,
        metavar="AMOUNT",
        help='Nor after its runs have cost so much in a day, as they say in lines like "::cost 0.12".',
    ),
    click.option(
        "--read-lines/--no-read-lines",
        default=None,
        help='Read lines like "::cost 0.12" and "::needs-input …" of its output. [on for prompts]',
    ),
)


def policy_options(command: AnyCommand) -> AnyCommand:
    """Give a command the options that make a policy."""
    return with_options(command, _OPTIONS)


def policy_of(given: dict[str, Any]) -> Policy:
    """Return the policy that was asked for."""
    time_limit = given["timeout"] or (_HTTP_TIME_LIMIT if given["http"] else _TIME_LIMIT)
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
        caps=Caps(runs_per_day=given["max_runs_per_day"], cost_per_day=given["max_cost_per_day"]),
        reads_lines=given["read_lines"],
    )


def _interval(text: str | None) -> int | None:
    return None if text is None else parse_interval(text)
