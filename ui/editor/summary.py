"""One-line summaries of pages and collapsed parts of the form."""

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
from halo_scheduler.wording.measures import amount_words
from ui.style.wording import one_line
from ui.widgets.job_text import action_words, work_words

_SEPARATOR = " · "
_UNITS = {"s": "s", "m": "min", "h": "h", "d": "d"}
# Leaves room for the work queue.
_LONGEST_WITH_WORK = 40
_LONGEST_FOLLOWER = 40
_INTERVAL = re.compile(r"([0-9]+)([smhd])")


def tr(text: str) -> str:
    """Return a text in the user's language."""
    return QCoreApplication.translate("Summary", text)


def joined(*parts: str) -> str:
    """Join the non-empty parts on one line."""
    return _SEPARATOR.join(part for part in parts if part)


def short_interval(interval: str | int) -> str:
    """Return an interval in short units: "2 h", "30 s"; milliseconds are rounded up."""
    milliseconds = parse_interval(interval) if isinstance(interval, str) else interval
    if milliseconds == 0:
        return tr("0 s")
    whole = format_interval(-(-milliseconds // SECOND_MS) * SECOND_MS)
    return _INTERVAL.sub(lambda match: f"{match[1]} {_UNITS[match[2]]}", whole)


def action_summary(action: Action) -> str:
    """Return the action of a job and its work queue on one line."""
    work = work_words(action)
    return joined(one_line(action_words(action), _LONGEST_WITH_WORK), work) if work else action_words(action)


def failure_summary(limit: str | None, retry: Retry) -> str:
    """Return how failures are handled: "stops after 2 h · no retries"."""
    stops = (
        tr("no time limit")
        if limit is None
        else tr("stops after {limit}").format(limit=short_interval(limit))
    )
    attempts = retry.attempts
    if attempts == 0:
        retries = tr("no retries")
    elif attempts == 1:
        retries = tr("1 retry")
    else:
        retries = tr("{count} retries").format(count=attempts)
    return joined(stops, retries)


def conditions_summary(
    conditions: tuple[Condition, ...], deadline: str | None, in_quiet_time: InQuietTime
) -> str:
    """Return the conditions of a job: "network · waits up to 2 h"."""
    waits = waiting_words(conditions) if conditions else tr("none")
    gives_up = ""
    if conditions and deadline is not None:
        gives_up = tr("waits up to {time}").format(time=short_interval(deadline))
    skips = tr("skipped in quiet hours") if in_quiet_time is InQuietTime.SKIP else ""
    return joined(waits, gives_up, skips)


def next_jobs_summary(followers: tuple[Follower, ...], names: tuple[str, ...]) -> str:
    """Return the next jobs: "Report on success · Alert me on failure"."""
    if not followers:
        return tr("none")
    words = {
        FollowOn.SUCCESS: tr("{name} on success"),
        FollowOn.FAILURE: tr("{name} on failure"),
        FollowOn.ALWAYS: tr("{name} always"),
    }
    return joined(
        *(
            words[follower.on].format(name=one_line(name, _LONGEST_FOLLOWER) or tr("a job"))
            for follower, name in zip(followers, names, strict=True)
        )
    )


def options_summary(policy: Policy, group: str | None, *, enabled: bool) -> str:
    """Return the options of a policy: "at most 5 runs a day · catches up once · notifies about failures"."""
    catch_up = {
        CatchUp.ONCE: tr("catches up once"),
        CatchUp.ALL: tr("catches up each missed run"),
        CatchUp.SKIP: tr("no catch-up"),
    }[policy.catch_up]
    tells = {
        Notify.NONE: tr("no notifications"),
        Notify.FAILURES: tr("notifies about failures"),
        Notify.ALL: tr("notifies about every run"),
        Notify.SETTINGS: "",
    }[policy.notify]
    switch = "" if enabled else tr("disabled")
    awake = tr("prevents sleep") if policy.keep_awake else ""
    assistants = "" if policy.assistants_may_run else tr("assistants can't run it")
    return joined(
        switch, daily_limit_words(policy.caps), awake, assistants, catch_up, tells, one_line(group or "", 40)
    )


def daily_limit_words(caps: Caps) -> str:
    """Return the daily limits: "at most 5 runs and a cost of 2.00 a day"; empty for none."""
    runs = "" if caps.runs_per_day is None else counted(caps.runs_per_day, "run")
    cost = (
        ""
        if caps.cost_per_day is None
        else tr("a cost of {cost}").format(cost=amount_words(caps.cost_per_day))
    )
    parts = [part for part in (runs, cost) if part]
    return tr("at most {what} a day").format(what=tr(" and ").join(parts)) if parts else ""


def ladder_words(backoff: Backoff) -> str:
    """Return the back-off delays as a sentence."""
    if backoff.kind is not BackoffKind.LADDER:
        return ""
    *firsts, last = [short_interval(delay_ms) for delay_ms in backoff.delays_ms]
    if not firsts:
        return tr("Waits {last} after each failure.").format(last=last)
    return tr("Waits {firsts}, then {last} after each further failure.").format(
        firsts=", ".join(firsts), last=last
    )
