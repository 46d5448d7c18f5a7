"""How a job is run, in words."""

from __future__ import annotations

from halo_scheduler.grammar.english import counted, listed
from halo_scheduler.grammar.interval import interval_in_words
from halo_scheduler.model import Backoff, BackoffKind, CatchUp, Job, Limits, Notify, Policy, Prompt, Retry
from halo_scheduler.wording.conditions import describe_condition
from halo_scheduler.wording.plans import duration_in_words

_USUAL = Policy()
_NOTIFY = {
    Notify.NONE: "tells you of no end",
    Notify.FAILURES: "tells you of failures",
    Notify.ALL: "tells you of every end",
    Notify.SETTINGS: "tells you what the settings say",
}


def policy_words(job: Job) -> str:
    """Return what everybody wants to know of a policy, then what is not as usual."""
    policy = job.policy
    limit_ms = policy.time_limit_ms
    parts = [
        "never stopped" if limit_ms is None else f"stops after {interval_in_words(limit_ms)}",
        _retry_words(policy.retry),
        f"gives up after {counted(policy.max_errors, 'error')}" if policy.max_errors else "never gives up",
        _catch_up_words(policy),
        *_backoff_words(policy.backoff),
        *_limit_words(policy.limits),
        *([f"spread by up to {policy.jitter_percent} %"] if policy.jitter_percent else []),
        *_line_words(policy, is_prompt=isinstance(job.action, Prompt)),
        *(["keeps the machine awake"] if policy.keep_awake else []),
        *([] if policy.assistants_may_run else ["assistants may not run it"]),
        *([] if policy.notify is _USUAL.notify else [_NOTIFY[policy.notify]]),
    ]
    return " · ".join(parts)


def condition_words(policy: Policy) -> str:
    """Return what must hold before a job starts: "only on AC power; skipped after waiting 1 hour"."""
    if not policy.conditions:
        return ""
    words = f"only {listed([describe_condition(condition) for condition in policy.conditions])}"
    if policy.condition_deadline_ms is None:
        return words
    return f"{words}; skipped after waiting {interval_in_words(policy.condition_deadline_ms)}"


def _retry_words(retry: Retry) -> str:
    if not retry.attempts:
        return "no retries"
    count = "1 retry" if retry.attempts == 1 else f"{retry.attempts} retries"
    return f"{count} after {duration_in_words(retry.delay_ms)}"


def _catch_up_words(policy: Policy) -> str:
    if policy.catch_up is CatchUp.SKIP:
        return "does not catch up"
    oldest_ms = policy.catch_up_max_age_ms
    return "catches up once" + ("" if oldest_ms is None else f" within {interval_in_words(oldest_ms)}")


def _backoff_words(backoff: Backoff) -> list[str]:
    if backoff == _USUAL.backoff:
        return []
    if backoff.kind is BackoffKind.NONE:
        return ["errors do not delay it"]
    if backoff.kind is BackoffKind.DOUBLE:
        return ["errors double its interval"]
    return [f"errors delay it by {', '.join(duration_in_words(delay_ms) for delay_ms in backoff.delays_ms)}"]


def _limit_words(limits: Limits) -> list[str]:
    least, most = limits.min_ms, limits.max_ms
    return [
        *([] if least is None else [f"never within {duration_in_words(least)}"]),
        *([] if most is None else [f"never later than in {duration_in_words(most)}"]),
    ]


def _line_words(policy: Policy, *, is_prompt: bool) -> list[str]:
    """Return whether lines of the output are read, where that is not as usual."""
    if policy.reads_lines is None or policy.reads_lines is is_prompt:
        return []
    return ["reads :: lines" if policy.reads_lines else "does not read :: lines"]
