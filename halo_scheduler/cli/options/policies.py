"""The options for the policy of a job: limits, retries, back-off, catch-up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import click

from halo_scheduler.cli.options.option_values import (
    Fields,
    as_it_is,
    changed,
    chosen,
    interval_or_none,
    number_or_none,
    or_none,
    under,
    whole_or_none,
)
from halo_scheduler.cli.options.sections import SectionOption, choice_of
from halo_scheduler.grammar.interval import parse_interval
from halo_scheduler.model import Backoff, BackoffKind, CatchUp, InQuietTime, Notify, Policy

_HTTP_TIME_LIMIT = "5m"

_option = partial(click.option, cls=SectionOption, section="Policy")

POLICY_OPTIONS = (
    _option(
        "--timeout",
        metavar="2h",
        help='Stop runs that take longer; "none" for no limit.',
        default_words="2h; HTTP: 5m",
    ),
    _option("--retries", type=int, metavar="N", help="Retry a failed run up to N times.", default_words="0"),
    _option("--retry-delay", metavar="1m", help="Delay before a retry.", default_words="1m"),
    _option(
        "--max-errors",
        type=int,
        metavar="N",
        help="Disable after N consecutive failures; 0 for never.",
        default_words="5",
    ),
    _option(
        "--backoff",
        type=choice_of(BackoffKind),
        help="How failures delay the next run.",
        default_words="ladder",
    ),
    _option(
        "--catch-up",
        type=choice_of(CatchUp),
        help="What to do about runs missed while Halo was off.",
        default_words="once",
    ),
    _option("--catch-up-max-age", metavar="1d", help="Don't catch up runs missed longer ago than this."),
    _option(
        "--jitter",
        type=int,
        metavar="PERCENT",
        help="Random start delay, up to this percentage of the interval (max 10).",
        default_words="0",
    ),
    _option("--min-interval", metavar="1m", help="Minimum time until the next run, even with hints."),
    _option("--max-interval", metavar="1d", help="Maximum time until the next run."),
    _option(
        "--notify", type=choice_of(Notify), help="Which results to notify about.", default_words="failures"
    ),
    _option(
        "--max-runs-per-day",
        type=whole_or_none,
        metavar="N",
        help="Don't start it after N runs in a day.",
    ),
    _option(
        "--max-cost-per-day",
        type=number_or_none,
        metavar="AMOUNT",
        help="Don't start it once today's runs have cost this much (from \"::cost\" lines).",
    ),
    _option(
        "--read-lines/--no-read-lines",
        default=None,
        help='Read directives in the output: "::cost 0.12", "::needs-input …", "::halo every=5m".',
        default_words="on for prompts",
    ),
    _option(
        "--keep-awake/--no-keep-awake",
        default=None,
        help="Prevent sleep while it runs.",
        default_words="off",
    ),
    _option(
        "--assistants-may-run/--no-assistants-may-run",
        default=None,
        help='Whether AI assistants may run and resume it ("halo mcp").',
        default_words="on",
    ),
    _option(
        "--in-quiet-time",
        type=choice_of(InQuietTime),
        help='If due during quiet hours (see "halo quiet"): wait for the end, or skip.',
        default_words="wait",
    ),
)
_FIELDS = {
    "timeout": ("time_limit", or_none),
    "max_errors": ("max_errors", as_it_is),
    "backoff": ("backoff", lambda word: Backoff(kind=BackoffKind(word))),
    "catch_up": ("catch_up", CatchUp),
    "catch_up_max_age": ("catch_up_max_age", or_none),
    "jitter": ("jitter_percent", as_it_is),
    "notify": ("notify", Notify),
    "read_lines": ("reads_lines", as_it_is),
    "keep_awake": ("keep_awake", as_it_is),
    "assistants_may_run": ("assistants_may_run", as_it_is),
    "in_quiet_time": ("in_quiet_time", InQuietTime),
}
_PARTS: Mapping[str, Fields] = {
    "retry": {"retries": ("attempts", as_it_is), "retry_delay": ("delay_ms", parse_interval)},
    "limits": {"min_interval": ("min_ms", interval_or_none), "max_interval": ("max_ms", interval_or_none)},
    "caps": {"max_runs_per_day": ("runs_per_day", or_none), "max_cost_per_day": ("cost_per_day", or_none)},
}


def default_policy(given: Mapping[str, Any]) -> Policy:
    """Return the default policy of a new job."""
    return Policy(time_limit=_HTTP_TIME_LIMIT) if given["http"] else Policy()


@under("policy")
def changed_policy(before: Policy, given: Mapping[str, Any]) -> Policy:
    """Return a policy with the given options applied; conditions have their own module."""
    return replace(
        before,
        **chosen(given, _FIELDS),
        **{
            name: _changed_part(name, getattr(before, name), given, fields) for name, fields in _PARTS.items()
        },
    )


def _changed_part(name: str, before: Any, given: Mapping[str, Any], fields: Fields) -> Any:
    with under(name):
        return changed(before, given, fields)
