"""Why a job runs next when it does, or why it does not, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from halo_scheduler.grammar.english import clock_time, listed, short_date
from halo_scheduler.grammar.interval import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from halo_scheduler.grammar.zone import local_time
from halo_scheduler.model import (
    After,
    FollowOn,
    Hints,
    HintSource,
    InQuietTime,
    Job,
    JobStatus,
    Manual,
    Once,
    Rule,
    Source,
    StatusReason,
    Step,
    Waiting,
    WaitingFor,
)
from halo_scheduler.model.quiet_times import Quiet
from halo_scheduler.model.situation import waiting_of
from halo_scheduler.wording.conditions import describe_condition
from halo_scheduler.wording.schedules import describe
from halo_scheduler.wording.status import awaited_words, waiting_words

_SENTENCES = {
    Rule.JITTER: "It is spread by {took}, so {at}.",
    Rule.NEVER_PAST: "That is past, so it is due at once.",
    Rule.RETRY: "The last attempt failed: attempt {attempt} of {attempts} follows after {took}, {when}.",
    Rule.MIN_LIMIT: "At least {took} must lie between, so {at}.",
    Rule.MAX_LIMIT: "At most {took} may lie between, so {at}.",
    Rule.PAUSE: "It is paused until {at}.",
}
ADVISERS = {
    HintSource.USER: "you",
    HintSource.PROGRAM: "a program",
    HintSource.ASSISTANT: "an assistant",
    HintSource.JOB: "the job itself",
}
_ENDS = {FollowOn.SUCCESS: "succeeds", FollowOn.FAILURE: "fails", FollowOn.ALWAYS: "ends"}
_MOST_WAITS = 3
FEWEST_PILED_UP = 3
"""So many runs that wait for the last one to end did not come together by chance."""
_UNITS = ((DAY_MS, "d"), (HOUR_MS, "h"), (MINUTE_MS, "min"), (SECOND_MS, "s"))


@dataclass(frozen=True, slots=True)
class Explanation:
    """When a job runs next, if it does, and why, one step after the other.

    `asides` are those of the sentences that tell what it waits for, of its conditions, of advice that is not followed
    yet and of other jobs, for those who tell that in another place.
    """

    at: int | None
    sentences: tuple[str, ...]
    asides: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Predecessor:
    """A job whose ends start this one; `state` is a word for why it does not run, if it does not."""

    name: str
    on: FollowOn
    state: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanText:
    """What a job meets beside its plan.

    `quiet` is the quiet time its planned run falls into; `waits_until` when it stops waiting for its conditions.
    """

    quiet: Quiet | None = None
    waits_until: int | None = None
    predecessors: tuple[Predecessor, ...] = ()
    chain_waits: tuple[Waiting, ...] = ()
    """The runs after other jobs that wait, the longest first."""


_NOTHING_ELSE = PlanText()


def explain_plan(
    job: Job, trail: Sequence[Step], now_ms: int, *, attempt: int = 1, outlook: PlanText = _NOTHING_ELSE
) -> Explanation:
    """Explain a job's next run from the trail of its plan; `attempt` is that of the planned run."""
    start = [] if job.next_run_at is None else _start(job, job.next_run_at, now_ms, outlook)
    sentences = (
        _why_not(job, now_ms, outlook)
        if job.next_run_at is None
        else [
            *_running(job, "It is running now, outside its schedule."),
            *_steps(job, trail, now_ms, attempt),
            *start,
        ]
    )
    waits = [] if job.waiting_for is None else start
    advice, chain = _unused_advice(job, trail, now_ms), _chain(job, now_ms, outlook)
    return Explanation(
        job.next_run_at,
        (*sentences, *advice, *chain, *_at_the_limit(job)),
        (*waits, *_conditions(job), *_only_after_others(outlook), *advice, *chain),
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


def when_in_words(at: int, now_ms: int) -> str:
    """Return an instant as it stands in a sentence: "at 14:05", "on 24 Dec at 09:00"."""
    words = moment_in_words(at, now_ms)
    return f"on {words}" if " at " in words else f"at {words}"


def ends_in_words(predecessors: Sequence[Predecessor]) -> str:
    """Return which ends of other jobs start a job: "after backup fails and after report succeeds"."""
    words = [
        f"after {before.name}{f' ({before.state})' if before.state else ''} {_ENDS[before.on]}"
        for before in predecessors
    ]
    return listed(words)


def _running(job: Job, sentence: str) -> list[str]:
    """Return that a job runs, or what its run waits for before it can be started."""
    if job.is_starting:
        return [
            f"A run is claimed and waits for {job.waiting_details.name}; the start is tried again for a while."
        ]
    return [sentence] if job.status is JobStatus.RUNNING else []


def _why_not(job: Job, now_ms: int, outlook: PlanText) -> list[str]:
    """Return why a job has no next run."""
    running = _running(job, "It is running now.")
    if job.status_reason is StatusReason.USER and job.enabled:
        return [*running, *_paused(job, now_ms)]
    if job.status_reason is not None:
        return [*running, _disabled(job)]
    if isinstance(job.schedule, Manual) and outlook.predecessors:
        return [*running, *_only_after_others(outlook)]
    if isinstance(job.schedule, Manual):
        return [*running, "It only runs manually: it has no schedule."]
    if running:
        return _running(job, "It is running now; its next run is planned when it ends.")
    return ["The schedule gives no further time."]


def _only_after_others(outlook: PlanText) -> list[str]:
    return [f"It runs {ends_in_words(outlook.predecessors)}, or manually."] if outlook.predecessors else []


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
        Rule.HINT: lambda: _hint(job, step, now_ms, took),
        Rule.BACKOFF: lambda: _backoff(job, step, at, took),
    }.get(step.rule)
    if sentence is not None:
        return sentence()
    attempts = job.policy.retry.attempts + 1
    return _SENTENCES[step.rule].format(
        at=at, when=when_in_words(step.at or 0, now_ms), took=took, attempt=attempt, attempts=attempts
    )


def _baseline(job: Job, at: str) -> str:
    if isinstance(job.schedule, After) and job.last_completed_at is None:
        return "It has never run, so it is due at once."
    return f"The schedule gives {at}: {describe(job.schedule)}."


def _hint(job: Job, step: Step, now_ms: int, took: str) -> str:
    is_pace = step.source is Source.HINT_INTERVAL
    # What was advised since then is not what made this plan.
    given = (step.duration_ms == job.hints.interval_ms) if is_pace else (step.at == job.hints.next_at)
    who = _asker(job.hints) if given else "Earlier advice"
    because = f" ({job.hints.reason})" if given and job.hints.reason else ""
    if is_pace:
        return f"{who} asked for a run every {took}{because}, so {moment_in_words(step.at or 0, now_ms)}."
    return f"{who} asked for a run {when_in_words(step.at or 0, now_ms)}{because}."


def _unused_advice(job: Job, trail: Sequence[Step], now_ms: int) -> list[str]:
    """Return what was advised and is not, or not yet, followed; and until when all of it counts."""
    hints = job.hints
    if not hints.count_at(now_ms) or (hints.interval_ms is None and hints.next_at is None):
        return []
    used = {(step.source, step.duration_ms, step.at) for step in trail if step.rule is Rule.HINT}
    paces = {took for source, took, _ in used if source is Source.HINT_INTERVAL}
    because = f" ({hints.reason})" if hints.reason else ""
    sentences = []
    if hints.interval_ms is not None and hints.interval_ms not in paces:
        took = duration_in_words(hints.interval_ms)
        sentences.append(
            f"{_asker(hints)} asked for a run every {took}{because}, {_why_unused(job, 'counts after that run')}."
        )
    if hints.next_at is not None and (Source.HINT_ONCE, None, hints.next_at) not in used:
        when = when_in_words(hints.next_at, now_ms)
        why = _why_unused(job, "comes after that run", hints.next_at)
        sentences.append(f"{_asker(hints)} asked for a run {when}{because}, {why}.")
    until = moment_in_words(hints.expires_at or 0, now_ms)
    return [*sentences, f"What was asked for counts until {until}."]


def _why_unused(job: Job, usual: str, next_at: int | None = None) -> str:
    if job.next_run_at is not None:
        if next_at is not None and next_at < job.next_run_at:
            return "but it may not run that early"
        return "but it runs only once" if isinstance(job.schedule, Once) else f"which {usual}"
    if isinstance(job.schedule, Manual):
        return "but it is never due by itself"
    return {
        JobStatus.RUNNING: "which is looked at when this run ends",
        JobStatus.PAUSED: "but it is paused",
    }.get(job.status, "but it is disabled")


def _asker(hints: Hints) -> str:
    return ADVISERS[hints.source or HintSource.PROGRAM].capitalize()


def _backoff(job: Job, step: Step, at: str, took: str) -> str:
    failed = _failed(job.errors)
    if step.source is Source.BACKOFF:
        return f"It {failed}: it waits {took} after the last end, so {at}."
    return f"It {failed}: its interval is longer by {took}, so {at}."


def _start(job: Job, at: int, now_ms: int, outlook: PlanText) -> list[str]:
    """Return what a due job waits for, or what a planned run will meet."""
    waiting = waiting_of(job)
    if waiting is None or at > now_ms:
        return [*_quiet(job, at, now_ms, outlook.quiet), *_conditions(job)]
    since = f"Due since {moment_in_words(at, now_ms)}, {waiting_words(waiting, now_ms)}."
    match waiting.kind:
        case WaitingFor.QUIET_TIME:
            name = waiting.details.name
            return [since, *([f"The quiet hours are “{name}”."] if name else []), *_conditions(job)]
        case WaitingFor.CONDITION:
            return [since, *_then_skipped(outlook.waits_until, now_ms)]
        case _:
            return [since]


def _quiet(job: Job, at: int, now_ms: int, quiet: Quiet | None) -> list[str]:
    if quiet is None:
        return []
    which = f"the quiet time {quiet.by.name}" if quiet.by.name else "a quiet time"
    then = f"it starts when that ends, {when_in_words(quiet.until, now_ms)}"
    if job.policy.in_quiet_time is InQuietTime.SKIP:
        then = "it will be skipped"
    return [f"{'Now it is' if at <= now_ms else 'That is in'} {which}: {then}."]


def _conditions(job: Job) -> list[str]:
    if not job.policy.conditions:
        return []
    words = listed([describe_condition(condition) for condition in job.policy.conditions])
    limit_ms = job.policy.condition_deadline_ms
    waits = "" if limit_ms is None else f", and waits for that {duration_in_words(limit_ms)} at most"
    return [f"It starts only {words}{waits}."]


def _then_skipped(waits_until: int | None, now_ms: int) -> list[str]:
    if waits_until is None:
        return []
    return [f"If it still waits {when_in_words(waits_until, now_ms)}, this run is skipped."]


def _chain(job: Job, now_ms: int, outlook: PlanText) -> list[str]:
    """Return what a job runs after beside its schedule, and which such runs wait."""
    is_told = job.next_run_at is None and job.status_reason is None and isinstance(job.schedule, Manual)
    also = "" if is_told or not outlook.predecessors else ends_in_words(outlook.predecessors)
    # What would be started while the job is paused or disabled is skipped.
    verb = "also runs" if job.status_reason is None else "would also run"
    sentences = [f"It {verb} {also}."] if also else []
    # There may be one for each minute of a day.
    alike: dict[tuple[object, ...], list[Waiting]] = {}
    for wait in outlook.chain_waits:
        alike.setdefault((wait.cause_name, wait.kind, wait.details), []).append(wait)
    groups = list(alike.values())
    for waits in groups[:_MOST_WAITS]:
        sentences += _chain_waits(waits, now_ms)
    more = sum(map(len, groups[_MOST_WAITS:]))
    if more > 0:
        sentences.append("One more such run waits." if more == 1 else f"{more} more such runs wait.")
    return sentences


def _chain_waits(waits: Sequence[Waiting], now_ms: int) -> list[str]:
    """Return what is to be said of runs after the same job that wait for the same, the longest first."""
    first, count = waits[0], len(waits)
    since = moment_in_words(first.since or now_ms, now_ms)
    if count == 1:
        words = f"A run after {first.cause_name} has waited since {since}: {awaited_words(first, now_ms)}."
        return [words, *_then_skipped(first.deadline, now_ms)]
    is_behind = first.kind is WaitingFor.PREVIOUS_RUN
    why = "one runs at a time" if is_behind else awaited_words(first, now_ms)
    sentences = [f"{count} runs after {first.cause_name} wait, the first since {since}: {why}."]
    if first.deadline is not None:
        when = when_in_words(first.deadline, now_ms)
        sentences.append(f"If the first still waits {when}, it is skipped.")
    if is_behind and count >= FEWEST_PILED_UP:
        sentences.append("They come faster than they end.")
    return sentences


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
