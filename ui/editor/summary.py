"""The short lines that tell what folded or hidden parts of the form say."""

from __future__ import annotations

import re

from PySide6.QtCore import QCoreApplication

from halo_scheduler.grammar.english import counted
from halo_scheduler.grammar.interval import SECOND_MS, format_interval, parse_interval
from halo_scheduler.model import (
    Action,
    Backoff,
    BackoffKind,
    Caps,
    CatchUp,
    Condition,
    Follower,
    FollowOn,
    InQuietTime,
    Notify,
    Policy,
    Retry,
)
from halo_scheduler.wording.conditions import waiting_words
from ui.style.wording import cost_words, one_line
from ui.widgets.action_text import action_words, work_words

_SEPARATOR = " · "
_UNITS = {"s": "s", "m": "min", "h": "h", "d": "d"}
# So that where its work comes from is seen too.
_LONGEST_WITH_WORK = 40
_LONGEST_FOLLOWER = 40
_INTERVAL = re.compile(r"([0-9]+)([smhd])")


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
    """Return what a job does, and where its work comes from, on one line."""
    work = work_words(action)
    return joined(one_line(action_words(action), _LONGEST_WITH_WORK), work) if work else action_words(action)


def failure_summary(limit: str | None, retry: Retry) -> str:
    """Return what happens when a run goes wrong: "stops after 2 h · retries never"."""
    stops = (
        tr("no time limit")
        if limit is None
        else tr("stops after {limit}").format(limit=short_interval(limit))
    )
    attempts = retry.attempts
    if attempts == 0:
        retries = tr("retries never")
    elif attempts == 1:
        retries = tr("retries once")
    else:
        retries = tr("retries {count} times").format(count=attempts)
    return joined(stops, retries)


def conditions_summary(
    conditions: tuple[Condition, ...], deadline: str | None, in_quiet_time: InQuietTime
) -> str:
    """Return what a due job waits for: "mains power and network · for 2 h at most"."""
    waits = waiting_words(conditions) if conditions else tr("nothing")
    gives_up = ""
    if conditions and deadline is not None:
        gives_up = tr("for {time} at most").format(time=short_interval(deadline))
    skips = tr("left out in quiet times") if in_quiet_time is InQuietTime.SKIP else ""
    return joined(waits, gives_up, skips)


def next_jobs_summary(followers: tuple[Follower, ...], names: tuple[str, ...]) -> str:
    """Return what runs when a job has ended: "Report after success · Alert me after failure"."""
    if not followers:
        return tr("nothing follows")
    words = {
        FollowOn.SUCCESS: tr("{name} after success"),
        FollowOn.FAILURE: tr("{name} after failure"),
        FollowOn.ALWAYS: tr("{name} in any case"),
    }
    return joined(
        *(
            words[follower.on].format(name=one_line(name, _LONGEST_FOLLOWER) or tr("a job"))
            for follower, name in zip(followers, names, strict=True)
        )
    )


def options_summary(policy: Policy, group: str | None, *, enabled: bool) -> str:
    """Return the rest of a policy: "catches up once · tells of failures · at most 5 runs a day"."""
    catch_up = tr("catches up once") if policy.catch_up is CatchUp.ONCE else tr("no catching up")
    tells = {
        Notify.NONE: tr("tells of nothing"),
        Notify.FAILURES: tr("tells of failures"),
        Notify.ALL: tr("tells of all"),
        Notify.SETTINGS: "",
    }[policy.notify]
    switch = "" if enabled else tr("switched off")
    awake = tr("keeps the machine awake") if policy.keep_awake else ""
    assistants = "" if policy.assistants_may_run else tr("not for assistants")
    return joined(
        switch, daily_limit_words(policy.caps), awake, assistants, catch_up, tells, one_line(group or "", 40)
    )


def daily_limit_words(caps: Caps) -> str:
    """Return what a job may do in a day: "at most 5 runs and a cost of 2.00 a day"; nothing when it may do anything."""
    runs = "" if caps.runs_per_day is None else counted(caps.runs_per_day, "run")
    cost = (
        "" if caps.cost_per_day is None else tr("a cost of {cost}").format(cost=cost_words(caps.cost_per_day))
    )
    parts = [part for part in (runs, cost) if part]
    return tr("at most {what} a day").format(what=tr(" and ").join(parts)) if parts else ""


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
