"""The options that say under which policy a job runs."""

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

_option = partial(click.option, cls=SectionOption, section="How it runs")

POLICY_OPTIONS = (
    _option("--timeout", metavar="2h", help='Stop a run after so long; "none" never.', usual="2h; HTTP: 5m"),
    _option("--retries", type=int, metavar="N", help="Try a failed run again, N times.", usual="0"),
    _option("--retry-delay", metavar="1m", help="How long after the failure.", usual="1m"),
    _option("--max-errors", type=int, metavar="N", help="Disable after N errors; 0 never.", usual="5"),
    _option("--backoff", type=choice_of(BackoffKind), help="How errors delay it.", usual="ladder"),
    _option("--catch-up", type=choice_of(CatchUp), help="What was missed while off.", usual="once"),
    _option("--catch-up-max-age", metavar="1d", help="Catch up only what was missed by less."),
    _option("--jitter", type=int, metavar="PERCENT", help="Spread the start by up to 10 %.", usual="0"),
    _option("--min-interval", metavar="1m", help="Never sooner than this after now, whatever advises it."),
    _option("--max-interval", metavar="1d", help="Never later than this after now."),
    _option("--notify", type=choice_of(Notify), help="Which ends you are told of.", usual="failures"),
    _option(
        "--max-runs-per-day",
        type=whole_or_none,
        metavar="N",
        help="Do not start it by itself after N runs in a day.",
    ),
    _option(
        "--max-cost-per-day",
        type=number_or_none,
        metavar="AMOUNT",
        help='Nor after its runs have cost so much in a day, as they say in lines like "::cost 0.12".',
    ),
    _option(
        "--read-lines/--no-read-lines",
        default=None,
        help='Read lines of its output like "::cost 0.12", "::needs-input …" and "::halo every=5m".',
        usual="on for prompts",
    ),
    _option(
        "--keep-awake/--no-keep-awake",
        default=None,
        help="Do not let the machine go to sleep while it runs.",
        usual="off",
    ),
    _option(
        "--assistants-may-run/--no-assistants-may-run",
        default=None,
        help='Let AI assistants run and resume it through "halo mcp".',
        usual="on",
    ),
    _option(
        "--in-quiet-time",
        type=choice_of(InQuietTime),
        help='When it is due in a quiet time (see "halo quiet"): wait for the end, or skip.',
        usual="wait",
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


def usual_policy(given: Mapping[str, Any]) -> Policy:
    """Return the policy of a new job that says nothing about it."""
    return Policy(time_limit=_HTTP_TIME_LIMIT) if given["http"] else Policy()


@under("policy")
def changed_policy(before: Policy, given: Mapping[str, Any]) -> Policy:
    """Return a policy with what was given of it; the conditions are left to themselves."""
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
