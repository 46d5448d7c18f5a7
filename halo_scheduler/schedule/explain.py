"""Why a job runs next when it does, or why it does not, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from halo_scheduler.model import (
    After,
    Job,
    JobStatus,
    Manual,
    Rule,
    Source,
    StatusReason,
    Step,
)
from halo_scheduler.schedule.describe import describe, local_time
from halo_scheduler.schedule.interval import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from halo_scheduler.schedule.words import clock_time, short_date

_SENTENCES = {
    Rule.JITTER: "It is spread by {took}, so {at}.",
    Rule.NEVER_PAST: "That is past, so it is due at once.",
    Rule.RETRY: "The last attempt failed: attempt {attempt} of {attempts} follows after {took}, at {at}.",
    Rule.MIN_LIMIT: "At least {took} must lie between, so {at}.",
    Rule.MAX_LIMIT: "At most {took} may lie between, so {at}.",
    Rule.PAUSE: "It is paused until {at}.",
}
_UNITS = ((DAY_MS, "d"), (HOUR_MS, "h"), (MINUTE_MS, "min"), (SECOND_MS, "s"))


@dataclass(frozen=True, slots=True)
class Explanation:
    """When a job runs next, if it does, and why, one step after the other."""

    at: int | None
    sentences: tuple[str, ...]


def explain_plan(job: Job, trail: Sequence[Step], now_ms: int, *, attempt: int = 1) -> Explanation:
    """Explain a job's next run from the trail of its plan; `attempt` is that of the planned run."""
    if job.next_run_at is None:
        return Explanation(None, (*_why_not(job, now_ms), *_at_the_limit(job)))
    return Explanation(
        job.next_run_at,
        (
            *(["It is running now, outside its schedule."] if job.status is JobStatus.RUNNING else []),
            *_steps(job, trail, now_ms, attempt),
            *_waiting(job, now_ms),
            *_at_the_limit(job),
        ),
    )


def error_sentences(job: Job) -> list[str]:
    """Return what an explanation says of the limit of errors, for those who tell it in another place."""
    if job.status_reason is StatusReason.ERRORS and job.errors:
        return [_disabled(job)]
    return _at_the_limit(job)


def duration_in_words(milliseconds: int) -> str:
    """Return a duration by its two largest units: "45 s", "1 min 30 s", "2 h"."""
    if milliseconds < SECOND_MS:
        return "under a second"
    index = next(index for index, (unit_ms, _) in enumerate(_UNITS) if milliseconds >= unit_ms)
    unit_ms, name = _UNITS[index]
    words = f"{milliseconds // unit_ms} {name}"
    if index + 1 < len(_UNITS):
        smaller_ms, smaller = _UNITS[index + 1]
        rest = milliseconds % unit_ms // smaller_ms
        words += f" {rest} {smaller}" if rest else ""
    return words


def moment_in_words(at: int, now_ms: int) -> str:
    """Return the local time of an instant, with the day unless it is today: "14:05", "24 Dec at 09:00"."""
    moment, today = local_time(at), local_time(now_ms)
    if moment.date() == today.date():
        return clock_time(moment)
    return f"{short_date(moment, year=moment.year != today.year)} at {clock_time(moment)}"


def _why_not(job: Job, now_ms: int) -> list[str]:
    """Return why a job has no next run."""
    running = ["It is running now."] if job.status is JobStatus.RUNNING else []
    if job.status_reason is StatusReason.USER and job.enabled:
        return [*running, *_paused(job, now_ms)]
    if job.status_reason is not None:
        return [*running, _disabled(job)]
    if isinstance(job.schedule, Manual):
        return [*running, "It runs only by hand: it is never due by itself."]
    if running:
        return ["It is running now; its next run is planned when it ends."]
    return ["The schedule gives no further time."]


def _paused(job: Job, now_ms: int) -> list[str]:
    if job.paused_until is None:
        return ["It is paused until you resume it."]
    until = moment_in_words(job.paused_until, now_ms)
    return [f"It is paused until {until}.", f"Then it goes on: {describe(job.schedule)}."]


def _disabled(job: Job) -> str:
    match job.status_reason:
        case StatusReason.DONE:
            return "Its one time is past: it is done."
        case StatusReason.IMPORTED:
            return "It was imported and waits for you to enable it."
        case StatusReason.ASSISTANT:
            return "An assistant made or changed it: it waits for a person to look at it and resume it."
        case StatusReason.ERRORS if job.errors:
            return f"It was disabled after it {_failed(job.errors)}; resume it to try again."
        case StatusReason.ERRORS:
            return f"It was disabled: {job.last_error or 'it cannot be run'}."
        case _:
            return "It is disabled until you enable it."


def _steps(job: Job, trail: Sequence[Step], now_ms: int, attempt: int) -> list[str]:
    """Return a sentence for each rule that had a say, and for what came after the plan was made."""
    sentences = [_sentence(job, step, now_ms, attempt) for step in trail]
    at = moment_in_words(job.next_run_at or 0, now_ms)
    if job.next_source is Source.CATCH_UP:
        return [f"Its time, {at}, passed while Halo was off or asleep: this run catches up on it."]
    if trail and trail[-1].at != job.next_run_at:
        sentences.append(f"The clock was set back since then, so {at}.")
    return sentences or [f"It is planned for {at}."]


def _sentence(job: Job, step: Step, now_ms: int, attempt: int) -> str:
    at = moment_in_words(step.at or 0, now_ms)
    took = duration_in_words(step.duration_ms or 0)
    sentence = {
        Rule.BASELINE: lambda: _baseline(job, at),
        Rule.HINT: lambda: _hint(job, step, at, took),
        Rule.BACKOFF: lambda: _backoff(job, step, at, took),
    }.get(step.rule)
    if sentence is not None:
        return sentence()
    attempts = job.policy.retry.attempts + 1
    return _SENTENCES[step.rule].format(at=at, took=took, attempt=attempt, attempts=attempts)


def _baseline(job: Job, at: str) -> str:
    if isinstance(job.schedule, After) and job.last_completed_at is None:
        return "It has never run, so it is due at once."
    return f"The schedule gives {at}: {describe(job.schedule)}."


def _hint(job: Job, step: Step, at: str, took: str) -> str:
    because = f" ({job.hints.reason})" if job.hints.reason else ""
    if step.source is Source.HINT_INTERVAL:
        return f"A program asked for a run every {took}{because}, so {at}."
    return f"A program asked for a run at {at}{because}."


def _backoff(job: Job, step: Step, at: str, took: str) -> str:
    failed = _failed(job.errors)
    if step.source is Source.BACKOFF:
        return f"It {failed}: it waits {took} after the last end, so {at}."
    return f"It {failed}: its interval is longer by {took}, so {at}."


def _waiting(job: Job, now_ms: int) -> list[str]:
    if job.waiting_for is None or job.next_run_at is None or job.next_run_at > now_ms:
        return []
    return ["It is due and waits for a place: as many runs as allowed are under way."]


def _at_the_limit(job: Job) -> list[str]:
    """Return what the next failures lead to, for a job that is failing."""
    most = job.policy.max_errors
    if not job.errors or not most or job.status_reason is StatusReason.ERRORS:
        return []
    left = max(1, most - job.errors)
    more = "one more failure" if left == 1 else f"{left} more failures"
    return [f"After {more} in a row it will be disabled."]


def _failed(errors: int) -> str:
    in_a_row = {0: "failed", 1: "failed once", 2: "failed twice in a row"}
    return in_a_row.get(errors) or f"failed {errors} times in a row"
