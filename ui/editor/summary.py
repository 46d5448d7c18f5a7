"""The short lines that tell what folded or hidden parts of the form say."""

from __future__ import annotations

import re

from PySide6.QtCore import QCoreApplication

from halo_scheduler.model import (
    Action,
    Backoff,
    BackoffKind,
    Callback,
    CatchUp,
    Command,
    HttpRequest,
    Notify,
    Policy,
    Prompt,
)
from halo_scheduler.schedule.interval import SECOND_MS, format_interval, parse_interval
from ui.wording import one_line

from .argument_line import join_line

_SEPARATOR = " · "
_UNITS = {"s": "s", "m": "min", "h": "h", "d": "d"}
_INTERVAL = re.compile(r"([0-9]+)([smhd])")
_LONGEST = 80


def tr(text: str) -> str:
    """Return a text in the user's language."""
    return QCoreApplication.translate("Summary", text)


def joined(*parts: str) -> str:
    """Return what there is to say, on one line."""
    return _SEPARATOR.join(part for part in parts if part)


def short_interval(interval: str | int) -> str:
    """Return an interval as short as it stays clear: "2 h", "30 s"; milliseconds are rounded up."""
    milliseconds = parse_interval(interval) if isinstance(interval, str) else interval
    if milliseconds == 0:
        return tr("at once")
    whole = format_interval(-(-milliseconds // SECOND_MS) * SECOND_MS)
    return _INTERVAL.sub(lambda match: f"{match[1]} {_UNITS[match[2]]}", whole)


def action_summary(action: Action) -> str:
    """Return what a job does, on one line."""
    match action:
        case Command():
            return one_line(action.line or join_line(action.argv), _LONGEST)
        case HttpRequest():
            return one_line(f"{action.method} {action.url}", _LONGEST)
        case Prompt():
            return one_line(tr("prompt: {text}").format(text=action.text), _LONGEST)
        case Callback():
            return one_line(tr("function {name}").format(name=action.name), _LONGEST)


def trouble_summary(policy: Policy) -> str:
    """Return what happens when a run goes wrong: "stops after 2 h · retries never"."""
    limit = policy.time_limit
    stops = (
        tr("no time limit")
        if limit is None
        else tr("stops after {limit}").format(limit=short_interval(limit))
    )
    attempts = policy.retry.attempts
    if attempts == 0:
        retries = tr("retries never")
    elif attempts == 1:
        retries = tr("retries once")
    else:
        retries = tr("retries {count} times").format(count=attempts)
    return joined(stops, retries)


def also_summary(policy: Policy, group: str | None, *, enabled: bool) -> str:
    """Return the rest of a policy: "catches up once · tells of failures"."""
    catch_up = tr("catches up once") if policy.catch_up is CatchUp.ONCE else tr("no catching up")
    tells = {
        Notify.NONE: tr("tells of nothing"),
        Notify.FAILURES: tr("tells of failures"),
        Notify.ALL: tr("tells of all"),
        Notify.SETTINGS: "",
    }[policy.notify]
    return joined("" if enabled else tr("switched off"), catch_up, tells, one_line(group or "", 40))


def ladder_words(backoff: Backoff) -> str:
    """Return how long a job rests after errors, in a sentence."""
    if backoff.kind is not BackoffKind.LADDER:
        return ""
    *firsts, last = [short_interval(delay_ms) for delay_ms in backoff.delays_ms]
    if not firsts:
        return tr("Rests {last} after each error.").format(last=last)
    return tr("Rests {firsts}, then {last} after each further error.").format(
        firsts=", ".join(firsts), last=last
    )
