"""Words for runs: how one ended, what triggered it, which rule planned it, why times were coalesced into it."""

from __future__ import annotations

from halo_scheduler.grammar.english import counted
from halo_scheduler.grammar.text import plain_line
from halo_scheduler.model import Outcome, PassedReason, Run, Source, Trigger
from halo_scheduler.schedule.passed_over import read_summary
from halo_scheduler.wording.messages import OUTCOMES, SKIP_REASONS

_LONGEST = 300
_TRIGGERS = {
    Trigger.SCHEDULE: "by schedule",
    Trigger.EVENT: "by an event",
    Trigger.MANUAL: "manual",
    Trigger.CHAIN: "after another job",
    Trigger.ANSWER: "after an answer",
    Trigger.TEST: "test run",
}
_RULES = {
    Source.EVERY: "fixed interval",
    Source.AFTER: "fixed gap after the previous run",
    Source.CRON: "set times",
    Source.ONCE: "one-time",
    Source.HINT_INTERVAL: "interval of a hint",
    Source.HINT_ONCE: "time of a hint",
    Source.CLAMPED_MIN: "minimum time between runs",
    Source.CLAMPED_MAX: "maximum time between runs",
    Source.BACKOFF: "back-off after failures",
    Source.RETRY: "retry after a failure",
    Source.CATCH_UP: "catch-up of missed runs",
    Source.PAUSED: "end of a pause",
    Source.MANUAL: "manual run",
}
_PASSED_REASONS: dict[str, str] = {
    PassedReason.RUNNING: "the previous run was still active",
    PassedReason.BACKOFF: "the job was backing off after a failure",
    PassedReason.HINT: "a hint set another time",
    PassedReason.LIMITS: "its limits allowed no earlier time",
    PassedReason.EDITED: "the job was edited",
    PassedReason.PAUSED: "the job was paused",
    PassedReason.DISABLED: "the job was disabled",
    PassedReason.DOWNTIME: "Halo was not running",
    PassedReason.SLEEP: "the computer slept",
    PassedReason.DELAYED: "Halo was suspended or held up",
    PassedReason.AT_CAPACITY: "the limit of concurrent runs was reached",
    PassedReason.CONDITION: "the previous run was still waiting for its conditions",
    PassedReason.QUIET_TIME: "quiet hours applied",
    PassedReason.RESOURCES: "the computer had no resources to start the previous run",
    PassedReason.DISK_FULL: "the disk was too full to start the previous run",
    PassedReason.OUTAGE: "the database could not be written",
    PassedReason.CLOCK_WENT_BACK: "the clock was set back",
    PassedReason.ZONE_CHANGED: "the computer moved to another time zone",
}


def run_words(run: Run) -> str:
    """Return how a run ended and why, lower case first: "failed: exit code 3"."""
    words = OUTCOMES[run.outcome].title.lower()
    if run.outcome is Outcome.RUNNING and run.progress is not None:
        words += f" {run.progress:.0%} {run.progress_text}".rstrip()
    if run.outcome in (Outcome.CANCELLED, Outcome.RUNNING) and run.error:
        # For a current run, the text says what its start waits for.
        return run.error
    why = run.error or ("" if run.reason is None else SKIP_REASONS[run.reason])
    return f"{words}: {why}" if why else words


def trigger_words(trigger: Trigger) -> str:
    """Return what triggered a run."""
    return _TRIGGERS[trigger]


def rule_words(source: Source) -> str:
    """Return which rule determined the time of a run."""
    return _RULES.get(source, "on schedule")


def coalesced_words(run: Run) -> str:
    """Return how many times of the schedule were coalesced into a run, with the reasons; "" if none."""
    reasons = read_summary(run.passed_reason, run.passed_over)
    return ", ".join(
        f"{counted(count, 'time')} ({passed_words(reason) or plain_line(reason, _LONGEST)})"
        if reason
        else counted(count, "time")
        for reason, count in reasons.items()
    )


def passed_words(reason: str) -> str:
    """Return why a time of the schedule was coalesced, to follow "because" or a colon; "" if unknown."""
    return _PASSED_REASONS.get(reason, "")
