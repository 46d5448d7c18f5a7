"""The options for the conditions of a job."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import click

from halo_scheduler.cli.options.option_values import chosen, is_given, lasting_path, or_none, under
from halo_scheduler.cli.options.sections import SectionOption
from halo_scheduler.grammar.english import shown
from halo_scheduler.model import Condition, Idle, Load, MainsPower, Network, PathExists, Policy

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
# A job has at most one of each of these; a new one replaces it.
_SINGLE = (Idle, Load)


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
