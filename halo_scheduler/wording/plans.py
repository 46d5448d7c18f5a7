"""Sentences on why a job runs next when it does, or why it does not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from halo_scheduler.grammar.english import listed
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
    Schedule,
    Several,
    Source,
    StatusReason,
    Step,
    Waiting,
    WaitingFor,
)
from halo_scheduler.model.plans import Topic
from halo_scheduler.model.schedules import events_of, gives_times
from halo_scheduler.model.settings import Quiet
from halo_scheduler.model.situation import waiting_of
from halo_scheduler.wording.conditions import describe_condition
from halo_scheduler.wording.measures import duration_in_words, moment_in_words, when_in_words
from halo_scheduler.wording.schedules import describe, describe_entries
from halo_scheduler.wording.status import awaited_words, shortage_words, waiting_words

_SENTENCES = {
    Rule.JITTER: "Random delay of {took}, so it moves to {at}.",
    Rule.NEVER_PAST: "That time has passed, so it is due now.",
    Rule.RETRY: "The last attempt failed. Attempt {attempt} of {attempts} starts {took} later, {when}.",
    Rule.MIN_LIMIT: "Runs must be at least {took} apart, so it moves to {at}.",
    Rule.MAX_LIMIT: "Runs may be at most {took} apart, so it moves to {at}.",
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
"""From this many waiting runs on, the job is probably triggered faster than it finishes."""


class Part(NamedTuple):
    """A sentence of an explanation, and its topic."""

    topic: Topic
    text: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """When a job runs next, if it does, and why, step by step."""

    at: int | None
    parts: tuple[Part, ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        return tuple(part.text for part in self.parts)


@dataclass(frozen=True, slots=True)
class Predecessor:
    """A job whose end starts this one; `state` is a word for why it does not run, if it does not."""

    name: str
    on: FollowOn
    state: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanText:
    """The circumstances of a plan.

    `waiting` is what the due run waits for; `quiet` the quiet hours the planned run falls into; `waits_until` its
    condition deadline.
    """

    waiting: Waiting | None = None
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
    planned = (
        _why_not(job, now_ms, outlook)
        if job.next_run_at is None
        else [
            *about(Topic.PLAN, _running(job, "It is running now, outside its schedule.")),
            *about(Topic.PLAN, _steps(job, trail, now_ms, attempt)),
            *_start(job, job.next_run_at, now_ms, outlook),
            *about(Topic.PLAN, filter(None, [events_sentence(job.schedule)])),
        ]
    )
    return Explanation(
        job.next_run_at,
        (
            *planned,
            *about(Topic.ADVICE, _unused_advice(job, trail, now_ms)),
            *about(Topic.CHAIN, _chain(job, now_ms, outlook)),
            *about(Topic.ERRORS, _at_the_limit(job)),
        ),
    )


def about(topic: Topic, sentences: Iterable[str]) -> list[Part]:
    """Return sentences with their topic."""
    return [Part(topic, sentence) for sentence in sentences]


def ends_in_words(predecessors: Sequence[Predecessor]) -> str:
    """Return which outcomes of other jobs start a job: "after backup fails and after report succeeds"."""
    words = [
        f"after {before.name}{f' ({before.state})' if before.state else ''} {_ENDS[before.on]}"
        for before in predecessors
    ]
    return listed(words)


def _running(job: Job, sentence: str) -> list[str]:
    """Return that a job runs, or what its claimed run waits for."""
    if job.is_starting:
        lacking = shortage_words(job.waiting_details)
        return [f"A run is claimed and waits for {lacking}; the start is tried again for a while."]
    return [sentence] if job.status is JobStatus.RUNNING else []


def _why_not(job: Job, now_ms: int, outlook: PlanText) -> list[Part]:
    """Return why a job has no next run."""
    running = about(Topic.PLAN, _running(job, "It is running now."))
    is_failing = job.status_reason is StatusReason.ERRORS and job.errors
    if job.status_reason in (StatusReason.USER, StatusReason.PAUSED_BY_ASSISTANT) and job.enabled:
        return [*running, *about(Topic.PLAN, _paused(job, now_ms))]
    if job.status_reason is not None:
        return [*running, Part(Topic.ERRORS if is_failing else Topic.PLAN, _disabled(job))]
    if isinstance(job.schedule, Manual) and outlook.predecessors:
        return [*running, Part(Topic.CHAIN, f"It runs {ends_in_words(outlook.predecessors)}, or manually.")]
    if not gives_times(job.schedule):
        words = events_sentence(job.schedule) or "It only runs manually: it has no schedule."
        return [*running, Part(Topic.PLAN, words)]
    if running:
        planned = "It is running now; its next run is scheduled when it ends."
        return about(Topic.PLAN, _running(job, planned))
    return [Part(Topic.PLAN, "The schedule has no more runs.")]


def events_sentence(schedule: Schedule | Several) -> str:
    """Return the events that start a job: "It runs at login."; "" if none does."""
    words = [describe(entry.schedule) for entry in events_of(schedule)]
    if not words:
        return ""
    return f"It {'also ' if gives_times(schedule) else ''}runs {listed(words, last='or')}."


def _paused(job: Job, now_ms: int) -> list[str]:
    if job.paused_until is None:
        return ["It is paused until you resume it."]
    until = moment_in_words(job.paused_until, now_ms)
    return [f"It is paused until {until}.", f"After that: {describe(job.schedule)}."]


def _disabled(job: Job) -> str:
    match job.status_reason:
        case StatusReason.DONE:
            return "This one-time job is finished."
        case StatusReason.IMPORTED:
            return "It was imported and waits for you to enable it."
        case StatusReason.ASSISTANT:
            return "An assistant created or changed it. It is on hold until a person reviews and resumes it."
        case StatusReason.ERRORS if job.errors:
            return f"It was disabled after it {_failed(job.errors)}; resume it to try again."
        case StatusReason.ERRORS:
            return f"It was disabled: {job.last_error or 'it cannot be run'}."
        case _:
            return "It is disabled until you enable it."


def _steps(job: Job, trail: Sequence[Step], now_ms: int, attempt: int) -> list[str]:
    """Return a sentence for each rule that changed the plan, and for what came after the plan was made."""
    sentences = [_sentence(job, step, now_ms, attempt) for step in trail]
    at = moment_in_words(job.next_run_at or 0, now_ms)
    if job.next_source is Source.CATCH_UP:
        when = when_in_words(job.next_run_at or 0, now_ms)
        return [f"Its run {when} was missed while Halo was off or asleep; this run catches up."]
    if trail and trail[-1].at != job.next_run_at:
        sentences.append(f"The clock was set back, so it moves to {at}.")
    return sentences or [f"It is scheduled for {at}."]


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
    if isinstance(job.schedule, After) and job.last_ended_at is None:
        return "It has never run, so it is due at once."
    return f"Next: {at} ({describe_entries(job.schedule, job.next_keys)})."


def _hint(job: Job, step: Step, now_ms: int, took: str) -> str:
    is_pace = step.source is Source.HINT_INTERVAL
    # Hints given since then did not make this plan.
    part = job.hints.parts(pace=is_pace, run=not is_pace)
    given = (step.duration_ms == part.interval_ms) if is_pace else (step.at == part.next_at)
    who = _asker(part) if given else "An earlier hint"
    because = _because(part) if given else ""
    if is_pace:
        return f"{who} asked for a run every {took}{because}, so {moment_in_words(step.at or 0, now_ms)}."
    return f"{who} asked for a run {when_in_words(step.at or 0, now_ms)}{because}."


def _unused_advice(job: Job, trail: Sequence[Step], now_ms: int) -> list[str]:
    """Return the hints that are not applied, or not yet, and when they expire."""
    used = {(step.source, step.duration_ms, step.at) for step in trail if step.rule is Rule.HINT}
    paces = {took for source, took, _ in used if source is Source.HINT_INTERVAL}
    hints = job.hints.counting(now_ms)
    pace, run = hints.parts(pace=True, run=False), hints.parts(pace=False, run=True)
    sentences = []
    if pace.interval_ms is not None and pace.interval_ms not in paces:
        what = f"every {duration_in_words(pace.interval_ms)}{_because(pace)}"
        sentences.append(
            f"{_asker(pace)} asked for a run {what}, {_why_unused(job, 'counts after that run')}."
        )
    if run.next_at is not None and (Source.HINT_ONCE, None, run.next_at) not in used:
        when = when_in_words(run.next_at, now_ms)
        why = _why_unused(job, "comes after that run", run.next_at)
        sentences.append(f"{_asker(run)} asked for a run {when}{_because(run)}, {why}.")
    ends = {moment_in_words(one.expires_at, now_ms): None for one in (pace, run) if one.expires_at}
    until = " (pace) and ".join(ends) + (" (single run)" if len(ends) > 1 else "")
    return [*sentences, f"Hint active until {until}."] if ends else []


def _why_unused(job: Job, usual: str, next_at: int | None = None) -> str:
    if job.next_run_at is not None:
        if next_at is not None and next_at < job.next_run_at:
            return "but it can't run that early"
        return "but it runs only once" if isinstance(job.schedule, Once) else f"which {usual}"
    if not gives_times(job.schedule):
        return "but it has no schedule" if isinstance(job.schedule, Manual) else "but it has no times"
    return {
        JobStatus.RUNNING: "which is considered when this run ends",
        JobStatus.PAUSED: "but it is paused",
    }.get(job.status, "but it is disabled")


def _because(hints: Hints) -> str:
    return f" ({hints.reason})" if hints.reason else ""


def _asker(hints: Hints) -> str:
    return ADVISERS[hints.source or HintSource.PROGRAM].capitalize()


def _backoff(job: Job, step: Step, at: str, took: str) -> str:
    failures = "a failure" if job.errors <= 1 else f"{job.errors} failures in a row"
    if step.source is Source.BACKOFF:
        return f"Delayed to {at}: {took} back-off after {failures}."
    return f"Delayed to {at}: the interval is {took} longer after {failures}."


def _start(job: Job, at: int, now_ms: int, outlook: PlanText) -> list[Part]:
    """Return what a due job waits for, or what will block its planned run."""
    waiting = outlook.waiting or waiting_of(job)
    conditions = about(Topic.CONDITIONS, _conditions(job))
    if waiting is None or at > now_ms:
        topic = Topic.PLAN if job.waiting_for is None else Topic.WAITING
        return [*about(topic, _quiet(job, at, now_ms, outlook.quiet)), *conditions]
    since = f"Due since {moment_in_words(at, now_ms)}, {waiting_words(waiting, now_ms)}."
    match waiting.kind:
        case WaitingFor.QUIET_TIME:
            name = waiting.details.name
            named = [f"The quiet hours are “{name}”."] if name else []
            return [*about(Topic.WAITING, [since, *named]), *conditions]
        case WaitingFor.CONDITION:
            return about(Topic.WAITING, [since, *_then_skipped(outlook.waits_until, now_ms)])
        case _:
            return [Part(Topic.WAITING, since)]


def _quiet(job: Job, at: int, now_ms: int, quiet: Quiet | None) -> list[str]:
    if quiet is None:
        return []
    which = f"the quiet hours {quiet.by.name}" if quiet.by.name else "quiet hours"
    then = f"it starts when they end, {when_in_words(quiet.until, now_ms)}"
    if job.policy.in_quiet_time is InQuietTime.SKIP:
        then = "it will be skipped"
    return [f"{'It is due in' if at <= now_ms else 'That falls in'} {which}: {then}."]


def _conditions(job: Job) -> list[str]:
    if not job.policy.conditions:
        return []
    words = listed([describe_condition(condition) for condition in job.policy.conditions])
    limit_ms = job.policy.condition_deadline_ms
    waits = "" if limit_ms is None else f", waiting up to {duration_in_words(limit_ms)}"
    return [f"It starts only {words}{waits}."]


def _then_skipped(waits_until: int | None, now_ms: int) -> list[str]:
    if waits_until is None:
        return []
    return [f"If it still waits {when_in_words(waits_until, now_ms)}, this run is skipped."]


def _chain(job: Job, now_ms: int, outlook: PlanText) -> list[str]:
    """Return the jobs that start this one, and its waiting chain runs."""
    is_told = job.next_run_at is None and job.status_reason is None and isinstance(job.schedule, Manual)
    also = "" if is_told or not outlook.predecessors else ends_in_words(outlook.predecessors)
    # Chain runs of a paused or disabled job are skipped.
    verb = "also runs" if job.status_reason is None else "would also run"
    sentences = [f"It {verb} {also}."] if also else []
    # There may be hundreds.
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
    """Return the sentences about chain runs that wait after the same job for the same blocker, longest wait first."""
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
        sentences.append("They are triggered faster than they finish.")
    return sentences


def _at_the_limit(job: Job) -> list[str]:
    """Return what further failures of a failing job lead to."""
    most = job.policy.max_errors
    if not job.errors or not most or job.status_reason is StatusReason.ERRORS:
        return []
    left = max(1, most - job.errors)
    more = "one more failure" if left == 1 else f"{left} more failures"
    return [f"After {more} in a row it will be disabled."]


def _failed(errors: int) -> str:
    in_a_row = {0: "failed", 1: "failed once", 2: "failed twice in a row"}
    return in_a_row.get(errors) or f"failed {errors} times in a row"
