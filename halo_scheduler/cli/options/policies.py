"""The options for the policy of a job: conditions, limits, retries, back-off, catch-up, follow-up jobs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import click

from halo_scheduler.cli.options.option_values import (
    Fields,
    SectionOption,
    as_it_is,
    changed,
    choice_of,
    chosen,
    interval_or_none,
    is_given,
    lasting_path,
    number_or_none,
    or_none,
    size_or_none,
    under,
    whole_or_none,
)
from halo_scheduler.cli.terminal.completions import complete_jobs
from halo_scheduler.grammar.english import shown
from halo_scheduler.grammar.interval import parse_interval
from halo_scheduler.model import (
    Backoff,
    BackoffKind,
    CatchUp,
    Condition,
    Follower,
    FollowOn,
    Idle,
    InQuietTime,
    Job,
    Load,
    MainsPower,
    Network,
    Notify,
    PathExists,
    Policy,
)

condition_option = partial(
    click.option, cls=SectionOption, section="Conditions (a due run waits until all are met)"
)
CONDITION_OPTIONS = (
    condition_option("--if-mains", is_flag=True, default=None, help="The computer is on AC power."),
    condition_option("--if-network", is_flag=True, default=None, help="There is a network connection."),
    condition_option(
        "--if-reachable",
        multiple=True,
        metavar="HOST:PORT",
        help="A TCP connection succeeds; put IPv6 addresses in brackets: [fd00::1]:22.",
    ),
    condition_option("--if-idle", metavar="10m", help="Keyboard and mouse have been idle this long."),
    condition_option("--if-load-below", type=float, metavar="N", help="1-minute load average is below N."),
    condition_option("--if-path", multiple=True, metavar="PATH", help="The path exists."),
    condition_option(
        "--if-deadline", metavar="1h", help='Skip the run after waiting this long; "none" for no deadline.'
    ),
)
_ADDRESS = re.compile(r"(?:\[(?P<address>[^\[\]]+)\]|(?P<name>[^:\[\]]+)):(?P<port>[0-9]{1,5})", re.ASCII)
_KINDS: dict[str, Callable[[Any], Condition]] = {
    "if_mains": lambda _: MainsPower(),
    "if_network": lambda _: Network(),
    "if_idle": lambda idle: Idle(idle=idle),
    "if_load_below": lambda below: Load(below=below),
}
CONDITION_FIELDS = {
    "policy.conditions": ("--if-mains", "--if-network", "--if-reachable", "--if-path"),
    "policy.conditions.host": ("--if-reachable",),
    "policy.conditions.port": ("--if-reachable",),
    "policy.conditions.idle": ("--if-idle",),
    "policy.conditions.below": ("--if-load-below",),
    "policy.conditions.path": ("--if-path",),
    "policy.condition_deadline": ("--if-deadline",),
}
"""For each field of a condition, the options that set it."""
# A job has at most one of each of these; a new one replaces it.
_SINGLE = (Idle, Load)
chain_option = partial(click.option, cls=SectionOption, section="Follow-up jobs")
_follower_option = partial(chain_option, multiple=True, metavar="NAME", shell_complete=complete_jobs)
CHAIN_OPTIONS = (
    _follower_option("--on-success", help="Job to run after a success."),
    _follower_option("--on-failure", help="Job to run after a failure or timeout."),
    _follower_option("--then", help="Job to run after every run."),
)


def _jitter(text: str) -> dict[str, int | str | None]:
    """Return the fields that a random delay sets: a duration, or a percentage with or without its sign."""
    number = text.removesuffix("%").strip()
    if number.isdecimal():
        return {"jitter_percent": int(number), "jitter": None}
    return {"jitter_percent": 0, "jitter": or_none(text)}


_ENDS = {"on_success": FollowOn.SUCCESS, "on_failure": FollowOn.FAILURE, "then": FollowOn.ALWAYS}
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
    _option(
        "--catch-up-limit",
        type=int,
        metavar="N",
        help="With --catch-up all, catch up only the newest N missed runs.",
        default_words="10",
    ),
    _option("--catch-up-max-age", metavar="1d", help="Don't catch up runs missed longer ago than this."),
    _option(
        "--jitter",
        type=_jitter,
        metavar="1h|5%",
        help='Random start delay, up to this duration or percentage of the interval (max 10 %), or "none".',
        default_words="none",
    ),
    _option(
        "--fixed-jitter/--no-fixed-jitter",
        default=None,
        help="Delay every run of the job by the same time.",
        default_words="off",
    ),
    _option("--min-interval", metavar="1m", help="Minimum time until the next run, even with hints."),
    _option("--max-interval", metavar="1d", help="Maximum time until the next run."),
    _option(
        "--notify", type=choice_of(Notify), help="Which results to notify about.", default_words="settings"
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
        help='Read output commands such as "::cost 0.12", "::needs-input …", "::halo every=5m".',
        default_words="on for prompts",
    ),
    _option(
        "--output-limit",
        type=size_or_none,
        metavar="1M",
        help='How much of each run\'s output to keep, up to 64M; "none" for the setting.',
        default_words="setting: 256K",
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
_FIELDS: Fields = {
    "timeout": ("time_limit", or_none),
    "max_errors": ("max_errors", as_it_is),
    "backoff": ("backoff", lambda word: Backoff(kind=BackoffKind(word))),
    "catch_up": ("catch_up", CatchUp),
    "catch_up_limit": ("catch_up_limit", int),
    "catch_up_max_age": ("catch_up_max_age", or_none),
    "fixed_jitter": ("is_jitter_fixed", as_it_is),
    "notify": ("notify", Notify),
    "read_lines": ("reads_lines", as_it_is),
    "keep_awake": ("keep_awake", as_it_is),
    "output_limit": ("output_limit_bytes", or_none),
    "assistants_may_run": ("assistants_may_run", as_it_is),
    "in_quiet_time": ("in_quiet_time", InQuietTime),
}
_PARTS: Mapping[str, Fields] = {
    "retry": {"retries": ("attempts", as_it_is), "retry_delay": ("delay_ms", parse_interval)},
    "limits": {"min_interval": ("min_ms", interval_or_none), "max_interval": ("max_ms", interval_or_none)},
    "caps": {"max_runs_per_day": ("runs_per_day", or_none), "max_cost_per_day": ("cost_per_day", or_none)},
}
POLICY_FIELDS = {
    "policy.jitter": ("--jitter",),
    "policy.jitter_percent": ("--jitter",),
} | {
    f"policy.{part}{field}": (f"--{option.replace('_', '-')}",)
    for part, fields in (("", _FIELDS), *((f"{name}.", fields) for name, fields in _PARTS.items()))
    for option, (field, _) in fields.items()
}
"""For each field of a policy, the option that sets it."""


@under("policy")
def changed_conditions(before: Policy, given: Mapping[str, Any]) -> Policy:
    """Return a policy with the given conditions and, unless they are cleared, those from before."""
    conditions = () if given.get("no_conditions") else before.conditions
    for condition in _given(given):
        others = (found for found in conditions if not _is_replaced(found, condition))
        conditions = (*others, condition)
    deadline = None if given.get("no_conditions") else before.condition_deadline
    fields = {"condition_deadline": deadline} | chosen(
        given, {"if_deadline": ("condition_deadline", or_none)}
    )
    if is_given(given["if_deadline"]) and fields["condition_deadline"] and not conditions:
        raise click.UsageError("--if-deadline needs a condition, like --if-mains")
    return replace(before, conditions=conditions, **fields)


@under("conditions")
def _given(given: Mapping[str, Any]) -> list[Condition]:
    single = [make(given[name]) for name, make in _KINDS.items() if is_given(given[name])]
    hosts = [_reachable(typed) for typed in given["if_reachable"]]
    return [*single, *hosts, *(PathExists(path=lasting_path(path)) for path in given["if_path"])]


def _is_replaced(found: Condition, by: Condition) -> bool:
    return found == by or (isinstance(by, _SINGLE) and type(found) is type(by))


def _reachable(typed: str) -> Network:
    match = _ADDRESS.fullmatch(typed)
    if match is None:
        raise click.UsageError(
            f"--if-reachable: write HOST:PORT, like nas.local:22 or [fd00::1]:22, not {shown(typed)}"
        )
    return Network(host=match["address"] or match["name"], port=int(match["port"]))


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


@under("policy")
def changed_policy(before: Policy, given: Mapping[str, Any]) -> Policy:
    """Return a policy with the given options applied; conditions have their own module."""
    return replace(
        before,
        **chosen(given, _FIELDS),
        **(given["jitter"] or {}),
        **{
            name: _changed_part(name, getattr(before, name), given, fields) for name, fields in _PARTS.items()
        },
    )


def _changed_part(name: str, before: Any, given: Mapping[str, Any], fields: Fields) -> Any:
    with under(name):
        return changed(before, given, fields)
