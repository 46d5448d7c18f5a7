"""Sentences about a run."""

from __future__ import annotations

from halo_scheduler.grammar.english import assistant_words, counted, listed
from halo_scheduler.grammar.interval import SECOND_MS
from halo_scheduler.grammar.text import plain_line
from halo_scheduler.model import Outcome, Run, Source, Trigger
from halo_scheduler.model.messages import MessageKind
from halo_scheduler.schedule.passed_over import read_summary
from halo_scheduler.store.events import Event, EventKind
from halo_scheduler.store.store import Store
from halo_scheduler.wording.measures import duration_in_words, when_in_words
from halo_scheduler.wording.messages import OUTCOMES, SKIP_REASONS
from halo_scheduler.wording.plans import ADVISERS
from halo_scheduler.wording.runs import passed_words
from halo_scheduler.wording.schedules import describe

_LONGEST = 300
_PLANNED_BY = {
    Source.BACKOFF: "it was backing off after a failure",
    Source.CLAMPED_MIN: "its limits allowed no earlier time",
    Source.CLAMPED_MAX: "its limits allowed no later time",
}


_STARTED = {
    Trigger.SCHEDULE: "started",
    Trigger.EVENT: "was started by an event",
    Trigger.MANUAL: "was started manually",
    Trigger.ANSWER: "was started with an answer",
    Trigger.TEST: "was started as a test",
}


def asked_for(store: Store, run: Run) -> str:
    """Return which hint planned a run's slot, as a clause; "" if none did."""
    if run.slot_at is None or run.source not in (Source.HINT_INTERVAL, Source.HINT_ONCE):
        return ""
    is_pace = run.source is Source.HINT_INTERVAL
    advice = _find_advice(store, run, is_pace=is_pace)
    if advice is None:
        return f"a hint asked for a run at that {'pace' if is_pace else 'time'}"
    told = advice.detail.get("source")
    who = next((words for source, words in ADVISERS.items() if source == told), "a program")
    who = who if advice.assistant is None else assistant_words(advice.assistant)
    what = f"every {duration_in_words(advice.detail['interval_ms'])}" if is_pace else "at that time"
    reason = plain_line(str(advice.detail.get("reason") or ""), _LONGEST)
    return f"{who} asked for a run {what}{f' ({reason})' if reason else ''}"


def _find_advice(store: Store, run: Run, *, is_pace: bool) -> Event | None:
    """Return the newest hint that yields the slot; hints after the plan was made do not count."""
    slot_at = run.slot_at or 0
    given = store.events.of_kinds(run.job_id, [EventKind.JOB_HINTED])
    if is_pace:
        fitting = [
            event for event in given if event.at <= slot_at - event.detail.get("interval_ms", slot_at + 1)
        ]
    else:
        fitting = [event for event in given if event.detail.get("next_at") == slot_at]
    return fitting[-1] if fitting else None


def start_words(store: Store, run: Run, now_ms: int) -> str:
    """Return what started a run, and when: "It was started manually at 09:00"."""
    when = when_in_words(_at(run), now_ms)
    if run.attempt > 1:
        return f"Attempt {run.attempt} started {when}"
    if run.trigger is Trigger.CHAIN:
        return f"It was started after {_cause(store, run)} {when}"
    return f"It {_STARTED[run.trigger]} {when}"


def run_sentences(store: Store, run: Run, now_ms: int) -> list[str]:
    """Return sentences about a run: when and why it started, how it ended, its notes."""
    if run.outcome in (Outcome.SKIPPED, Outcome.MISSED):
        return [_not_run(store, run, now_ms), *_note(run)]
    if run.started_at is None:
        when = when_in_words(_at(run), now_ms)
        words = f"It was triggered by {_cause(store, run)}, but was cancelled {when} before it started."
        return [words, *_note(run)]
    start = start_words(store, run, now_ms)
    if run.is_late:
        start += f", {duration_in_words(run.late_ms)} late,"
    if run.outcome is Outcome.RUNNING and run.error:
        return [f"A run was claimed {when_in_words(_at(run), now_ms)} and is {run.error}."]
    if run.outcome is Outcome.RUNNING:
        return [f"{start} and is still running.", *_origin(store, run), *_note(run)]
    return [f"{start} and {_end(run)}", *_origin(store, run), *_note(run)]


def passed_sentence(run: Run) -> str:
    """Return how many further times of its schedule a run covers, and why."""
    others = f"It also covers {counted(run.passed_over, 'other time')} of its schedule"
    reasons = {
        words: count for reason, count in passed_reasons(run).items() if (words := passed_words(reason))
    }
    if len(reasons) <= 1:
        return f"{others}{''.join(f', because {words}' for words in reasons)}."
    return f"{others}: {listed([f'{count} because {words}' for words, count in reasons.items()])}."


def passed_reasons(run: Run) -> dict[str, int]:
    """Return why a run covers further times of its schedule, with the count for each reason."""
    return read_summary(run.passed_reason, run.passed_over)


def ended_sentence(text: str) -> str:
    """Return a text with a full stop, unless it already ends like a sentence."""
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def _not_run(store: Store, run: Run, now_ms: int) -> str:
    when = when_in_words(_at(run), now_ms)
    why = plain_line(run.error, _LONGEST) or (
        SKIP_REASONS[run.reason] if run.reason is not None else "no reason is recorded"
    )
    if run.outcome is Outcome.MISSED:
        return ended_sentence(f"It was missed (noticed {when}): {why}")
    what = "It was skipped"
    says_after_whom = run.message is not None and run.message.kind is MessageKind.NOT_AFTER
    if run.trigger is Trigger.CHAIN and not says_after_whom:
        what = f"It was triggered by {_cause(store, run)}, and was skipped"
    elif run.trigger not in (Trigger.SCHEDULE, Trigger.CHAIN):
        what = "A run was requested, and was skipped"
    return ended_sentence(f"{what} {when}: {why}")


def _end(run: Run) -> str:
    took = "" if run.duration_ms is None else _took(run.duration_ms)
    error = plain_line(run.error, _LONGEST)
    if not error and run.outcome is Outcome.TIMEOUT:
        error = "it took too long"
    if not error and run.outcome is not Outcome.SUCCESS and run.exit_code is not None:
        error = f"exit code {run.exit_code}"
    return ended_sentence(f"{OUTCOMES[run.outcome].clause}{took}{f': {error}' if error else ''}")


def _took(duration_ms: int) -> str:
    return " within a second" if duration_ms < SECOND_MS else f" after {duration_in_words(duration_ms)}"


def _origin(store: Store, run: Run) -> list[str]:
    """Return which of several schedules a run came from, and what else determined its time."""
    is_told = run.schedule_keys or run.trigger is Trigger.EVENT
    job = store.jobs.get(run.job_id) if is_told else None
    if job is None:
        return _why_planned(store, run)
    found = {entry.key: entry for entry in job.spec.schedules}
    words = [
        describe(found[key].schedule)
        if key in found
        else f"one that no longer exists{f' ({key})' if key else ''}"
        for key in run.schedule_keys or ("",)
    ]
    noun = "event" if run.trigger is Trigger.EVENT else "schedule"
    return [f"Its {noun}: {'; '.join(words)}.", *_why_planned(store, run)]


def _why_planned(store: Store, run: Run) -> list[str]:
    if run.trigger is not Trigger.SCHEDULE:
        return []
    because = _PLANNED_BY.get(run.source) or asked_for(store, run)
    return [f"It was scheduled for that time because {because}."] if because else []


def _note(run: Run) -> list[str]:
    note = plain_line(run.note, _LONGEST)
    return [ended_sentence(f"Note: {note}")] if note else []


def _cause(store: Store, run: Run) -> str:
    cause = None if run.caused_by is None else store.runs.get(run.caused_by)
    job = None if cause is None else store.jobs.get(cause.job_id)
    return "another job" if job is None else f"a run of {job.spec.name}"


def _at(run: Run) -> int:
    return next((at for at in (run.started_at, run.finished_at, run.slot_at) if at is not None), 0)
