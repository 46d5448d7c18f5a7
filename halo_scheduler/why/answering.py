"""Answers about now and the future; `answer` also chooses between these and the past."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from halo_scheduler.grammar.english import clock_time, short_date
from halo_scheduler.grammar.interval import SECOND_MS
from halo_scheduler.grammar.text import plain_line
from halo_scheduler.grammar.zone import ClockChange, clock_changes, find_zone, wall_time
from halo_scheduler.model import (
    After,
    Condition,
    Cron,
    FollowOn,
    InQuietTime,
    JobStatus,
    OnChat,
    Outcome,
    Schedule,
    Several,
)
from halo_scheduler.model.plans import Topic
from halo_scheduler.model.schedules import gives_times, schedules_of
from halo_scheduler.rules.chains import ChainLink, LinkState, chain_of
from halo_scheduler.rules.chat import why_unusable
from halo_scheduler.rules.situation import due_waiting, read_situations
from halo_scheduler.rules.statistics import explanation
from halo_scheduler.schedule.calendar import quiet_at
from halo_scheduler.schedule.next_run import next_run
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.store import Store
from halo_scheduler.why.calendar_days import left_out_sentences, moved_sentences, trouble_with_days
from halo_scheduler.why.inquiry import Answer, Inquiry, Span, Verdict, points_beside
from halo_scheduler.why.journal import assistant_sentences, is_awake
from halo_scheduler.why.no_run import not_a_point_sentence
from halo_scheduler.why.past import answer_past
from halo_scheduler.why.runs import run_sentences
from halo_scheduler.wording.conditions import describe_condition
from halo_scheduler.wording.measures import when_in_words
from halo_scheduler.wording.schedules import describe
from halo_scheduler.wording.status import shortage_words, waiting_words

if TYPE_CHECKING:
    from halo_scheduler.conditions.probes import ConditionState

# Clock changes shift by an hour or two, so only times near one are affected.
_NEAR_S = 6 * 3_600
_SEVERAL = 2
# The time limit of a probe: a path on a lost network drive may never answer.
_LONGEST_LOOK_S = 6.0
_ENDS = {FollowOn.SUCCESS: "succeeds", FollowOn.FAILURE: "fails", FollowOn.ALWAYS: "ends"}
_HOLDS = {True: "yes", False: "not now", None: "unknown"}
_BROKEN = {
    LinkState.PAUSED: "is paused",
    LinkState.DISABLED: "is disabled",
    LinkState.REMOVED: "was deleted",
}
Look = Callable[[Condition], "ConditionState"]
NOW = frozenset(Topic) - {Topic.QUESTIONS, Topic.RUNS}
"""The topics of an answer about now; questions and last runs are shown separately."""
_LONGEST_QUESTION = 500
_LONGEST_TROUBLE = 500
_MOST_RUNS = 10
_NOT_THERE = {Verdict.BEFORE_IT_EXISTED, Verdict.REMOVED}


def clock_change_sentences(schedule: Schedule | Several, span: Span, now_ms: int) -> list[str]:
    """Return why a cron job runs at a shifted time, or in one of two passes, because of a clock change in a span."""
    crons = [item for item in schedules_of(schedule) if isinstance(item, Cron)]
    return list(dict.fromkeys(words for cron in crons for words in _of_cron(cron, span, now_ms)))


def _of_cron(schedule: Cron, span: Span, now_ms: int) -> list[str]:
    since_s, until_s = span.since // SECOND_MS, -(-span.until // SECOND_MS)
    zone = find_zone(schedule.timezone)
    changes = clock_changes(zone, since_s - _NEAR_S, until_s + _NEAR_S)
    return [
        _sentence(schedule, change, times, now_ms)
        for change in changes
        if _touches(change, since_s, until_s) and (times := _times_within(schedule, change))
    ]


def _touches(change: ClockChange, since_s: int, until_s: int) -> bool:
    """Return whether a span contains the instant at which times are skipped, or lies in a repeated hour."""
    if change.is_forward:
        return since_s <= change.at_s < until_s
    length_s = change.wall_end_s - change.wall_start_s
    return since_s < change.at_s + length_s and until_s > change.at_s - length_s


def _times_within(schedule: Cron, change: ClockChange) -> list[int]:
    """Return the first times of a schedule that a change skips or repeats; two count as several."""
    times: list[int] = []
    time_s = schedule.expression.first_wall_from(change.wall_start_s)
    while time_s is not None and time_s < change.wall_end_s and len(times) < _SEVERAL:
        times.append(time_s)
        time_s = schedule.expression.first_wall_from(time_s + 1)
    return times


def _sentence(schedule: Cron, change: ClockChange, times: list[int], now_ms: int) -> str:
    start, end = clock_time(wall_time(change.wall_start_s)), clock_time(wall_time(change.wall_end_s))
    is_past = change.at_s * SECOND_MS <= now_ms
    day = short_date(wall_time(change.wall_start_s))
    where = "" if schedule.timezone is None else f" in {schedule.timezone}"
    clocks = f"On {day} the clocks {'went' if is_past else 'go'}"
    is_wildcard = schedule.expression.fields.is_wildcard
    if not change.is_forward:
        passes = "it runs in both passes of that time" if is_wildcard else "it runs in the first pass only"
        return f"{clocks} back from {end} to {start}{where}: {passes}."
    if is_wildcard:
        return f"{clocks} forward from {start} to {end}{where}: its times in between do not exist."
    takes = "took" if is_past else "takes"
    skipped = clock_time(wall_time(times[0])) if len(times) == 1 else "its times in between"
    return f"{clocks} forward from {start} to {end}{where}: {end} {takes} the place of {skipped}."


def answer_now(store: Store, record: JobRecord, now_ms: int, look: Look, topics: Collection[Topic]) -> Answer:
    """Return the answer about a job now, limited to the topics."""
    told: dict[Topic, Callable[[], Iterable[str]]] = {
        Topic.ASSISTANTS: lambda: assistant_sentences(store, record, now_ms),
        Topic.CLOCK: lambda: (
            *moved_sentences(record.spec.schedule, record.next_run_at, now_ms),
            *_clock_change(record, now_ms),
        ),
        Topic.CHECKS: lambda: (
            *_trouble_with_events(store, record, now_ms),
            *trouble_with_days(store, record, now_ms),
            *_condition_sentences(record.spec.policy.conditions, look),
        ),
        Topic.CHAIN: lambda: (_follower(link) for link in chain_of(store, record).after),
        Topic.QUESTIONS: lambda: _question_sentences(store, record, now_ms),
        Topic.RUNS: lambda: _last_runs(store, record, now_ms),
    }
    engine = engine_sentences(store, now_ms) if Topic.ENGINE in topics else []
    planned = [part.text for part in explanation(store, record, now_ms).parts if part.topic in topics]
    rest = [sentence for topic, tell in told.items() if topic in topics for sentence in tell()]
    return Answer(
        job_id=record.id,
        name=record.spec.name,
        verdict=_verdict(store, record, now_ms),
        sentences=(*engine, *planned, *rest),
        run_id=record.run_id,
        next_run_at=record.next_run_at,
    )


def _question_sentences(store: Store, record: JobRecord, now_ms: int) -> list[str]:
    """Return the open questions of a job, oldest first."""
    return [
        f"It asked this {when_in_words(question.asked_at, now_ms)} and waits for an answer: "
        f"{plain_line(question.text, _LONGEST_QUESTION)}"
        for question in store.questions.open_ones()
        if question.job_id == record.id
    ]


def _last_runs(store: Store, record: JobRecord, now_ms: int) -> Iterator[str]:
    """Return how a job's last runs ended, except successes."""
    for run in store.history.last_ended([record.id], _MOST_RUNS):
        if run.outcome is not Outcome.SUCCESS:
            yield " ".join(run_sentences(store, run, now_ms))


def _clock_change(record: JobRecord, now_ms: int) -> list[str]:
    at = record.next_run_at
    return [] if at is None else clock_change_sentences(record.spec.schedule, Span(at, at + 1), now_ms)


def engine_sentences(store: Store, now_ms: int) -> list[str]:
    """Return a sentence if no engine starts scheduled runs."""
    if not is_awake(store, now_ms):
        return ["Halo isn't running, so no jobs run."]
    row = store.lease.read()
    is_stopping = row is not None and row.stopping_at is not None
    return ["Halo is stopping: current runs finish, and no new ones start."] if is_stopping else []


_BY_STATUS = {
    JobStatus.RUNNING: Verdict.RUNNING,
    JobStatus.DISABLED: Verdict.DISABLED,
    JobStatus.PAUSED: Verdict.PAUSED,
}


def _verdict(store: Store, record: JobRecord, now_ms: int) -> Verdict:
    found = read_situations(store.database, now_ms, [record.id])
    if any(situation.waiting is not None for _, situation in found):
        return Verdict.WAITING
    planned = Verdict.NOT_PLANNED if record.next_run_at is None else Verdict.PLANNED
    return _BY_STATUS.get(record.status, planned)


def _trouble_with_events(store: Store, record: JobRecord, now_ms: int) -> Iterator[str]:
    """Yield the current or last trouble with watching an event."""
    for entry in record.spec.events:
        if isinstance(entry.schedule, OnChat) and (why_not := why_unusable(store, entry.schedule)):
            yield f"No message can start it: {why_not}."
    standing = store.watch_troubles.of_job(record.id)
    if standing:
        yield f"Trouble with its event: {plain_line(standing, _LONGEST_TROUBLE)}."
        return
    told = store.events.last(record.id, EventKind.WATCH_TROUBLE) if record.spec.events else None
    if told is not None:
        text = plain_line(str(told.detail.get("text", "")), _LONGEST_TROUBLE)
        yield f"Watching its event last failed {when_in_words(told.at, now_ms)}: {text}."


def _condition_sentences(conditions: Sequence[Condition], look: Look) -> list[str]:
    """Return the state of each condition; all are probed in parallel, because each may take seconds."""
    news: queue.SimpleQueue[tuple[Condition, ConditionState]] = queue.SimpleQueue()
    threads = [
        threading.Thread(target=lambda one=condition: news.put((one, look(one))), daemon=True)
        for condition in conditions
    ]
    for thread in threads:
        thread.start()
    found: dict[Condition, ConditionState] = {}
    for _ in threads:
        try:
            condition, state = news.get(timeout=_LONGEST_LOOK_S)
        except queue.Empty:
            break
        found[condition] = state
    return [_condition(condition, found.get(condition)) for condition in conditions]


def _condition(condition: Condition, state: ConditionState | None) -> str:
    words = describe_condition(condition)
    words = f"{words[:1].upper()}{words[1:]}"
    if state is None:
        return f"{words}: unknown. The check timed out."
    return f"{words}: {_HOLDS[state.holds]}. {state.sentence}"


def _follower(link: ChainLink) -> str:
    after = f"After it {_ENDS[link.on]}, {link.name}"
    if link.state is LinkState.OK:
        return f"{after} runs."
    return f"{after} should run, but {_BROKEN[link.state]}."


def answer_ahead(store: Store, record: JobRecord, span: Span, now_ms: int) -> Answer:
    """Return the answer for a future span: whether it has a time of the schedule, and the planned runs."""
    inquiry = Inquiry.make(store, record, span, now_ms)
    found = _stopped(inquiry) or _planned(inquiry) or _not_a_point(inquiry) or _expected(inquiry)
    moved = moved_sentences(inquiry.schedule, inquiry.point, now_ms)
    return replace(found, sentences=(*found.sentences, *moved))


def _explained(inquiry: Inquiry) -> tuple[str, ...]:
    found = explanation(inquiry.store, inquiry.record, inquiry.now_ms).sentences
    return (*engine_sentences(inquiry.store, inquiry.now_ms), *found)


def _stopped(inquiry: Inquiry) -> Answer | None:
    record = inquiry.record
    if record.disabled_reason is not None:
        return inquiry.answer(Verdict.DISABLED, *_explained(inquiry))
    is_paused_then = record.paused_until is None or record.paused_until > inquiry.span.since
    if record.paused and is_paused_then:
        return inquiry.answer(Verdict.PAUSED, *_explained(inquiry))
    return None


def _planned(inquiry: Inquiry) -> Answer | None:
    record, point = inquiry.record, inquiry.point
    at = record.next_run_at
    if at is None:
        return None
    is_spread_to = point is not None and inquiry.spec.policy.has_jitter and point <= at
    if is_spread_to:
        following = next_run(inquiry.schedule, point or 0, anchor_at=inquiry.spec.anchor_at)
        is_spread_to = following is None or at < following
    if not inquiry.span.has(at) and not is_spread_to:
        return None
    return inquiry.answer(
        Verdict.PLANNED, f"A run is scheduled for {inquiry.moment(at)}.", *_explained(inquiry)
    )


def _not_a_point(inquiry: Inquiry) -> Answer | None:
    if inquiry.point is not None:
        return None
    schedule, anchor_at = inquiry.schedule, inquiry.spec.anchor_at
    if not gives_times(schedule):
        return inquiry.answer(Verdict.NOT_A_POINT, *_explained(inquiry))
    if isinstance(schedule, After):
        sentence = f"It runs {describe(schedule)}, so only its next run is known."
        return inquiry.answer(Verdict.NOT_A_POINT, sentence, *_next(inquiry))
    before, after = points_beside(schedule, anchor_at, inquiry.span)
    return inquiry.answer(
        Verdict.NOT_A_POINT,
        *left_out_sentences(inquiry),
        not_a_point_sentence(inquiry, before, after),
        *_next(inquiry),
        point_before=before,
        point_after=after,
    )


def _next(inquiry: Inquiry) -> list[str]:
    record = inquiry.record
    at = record.next_run_at
    if at is not None and at <= inquiry.now_ms:
        waiting = due_waiting(inquiry.store.database, record)
        waits = "" if waiting is None else f", {waiting_words(waiting, inquiry.now_ms)}"
        return [f"Before that, it has been due since {inquiry.moment(at)}{waits}."]
    if at is not None:
        return [f"Its next run is scheduled for {inquiry.moment(at)}."]
    if record.status is JobStatus.RUNNING:
        does = (
            f"waits for {shortage_words(record.waiting_details)}"
            if record.job.is_starting
            else "is running now"
        )
        return [f"It {does}; its next run is scheduled when it ends."]
    return (
        [] if record.paused_until is None else [f"It is paused until {inquiry.moment(record.paused_until)}."]
    )


def _expected(inquiry: Inquiry) -> Answer:
    """Return the answer for a time of the schedule without a planned run."""
    at, point = inquiry.record.next_run_at, inquiry.point or 0
    if at is not None and at > point:
        sentence = f"That time will be coalesced into the next run, scheduled for {inquiry.moment(at)}."
        return inquiry.answer(Verdict.PASSED_OVER, sentence, *_explained(inquiry))
    sentence = f"That time is on its schedule: {describe(inquiry.schedule)}."
    asleep = engine_sentences(inquiry.store, inquiry.now_ms)
    return inquiry.answer(Verdict.EXPECTED, *asleep, sentence, *_next(inquiry), *_quiet(inquiry, point))


def _quiet(inquiry: Inquiry, at: int) -> list[str]:
    quiet = quiet_at(inquiry.store.settings.quiet_times(), inquiry.spec.group, at)
    if quiet is None:
        return []
    name = f"the quiet hours {quiet.by.name}" if quiet.by.name else "quiet hours"
    if inquiry.spec.policy.in_quiet_time is InQuietTime.SKIP:
        return [f"It falls in {name}, so it will be skipped."]
    planned_at = inquiry.record.next_run_at
    if planned_at is not None and planned_at < at and _is_quiet_until(inquiry, planned_at, quiet.until):
        until = inquiry.moment(quiet.until)
        return [f"Both fall in {name}: one run, when they end at {until}, covers both."]
    return [f"It falls in {name}, so the run will start {inquiry.when(quiet.until)}."]


def _is_quiet_until(inquiry: Inquiry, at: int, until: int) -> bool:
    quiet = quiet_at(inquiry.store.settings.quiet_times(), inquiry.spec.group, max(at, inquiry.now_ms))
    return quiet is not None and quiet.until == until


def answer(
    store: Store,
    record: JobRecord,
    now_ms: int,
    *,
    span: tuple[int, int] | None,
    look: Look,
    topics: Collection[Topic] = NOW,
) -> Answer:
    """Explain the next run of a job, or what it did or will do in a span of time.

    Every surface uses this: the window, `halo why`, the library and assistants. `topics` limit an answer about the
    present; `look` probes a condition, which may take seconds.
    """
    if span is None:
        return answer_now(store, record, now_ms, look, topics)
    asked = Span(*span)
    found = _answer(store, record, asked, now_ms)
    if found.verdict in _NOT_THERE:
        return found
    schedule = Inquiry.make(store, record, asked, now_ms).schedule
    return replace(found, sentences=(*found.sentences, *clock_change_sentences(schedule, asked, now_ms)))


def _answer(store: Store, record: JobRecord, asked: Span, now_ms: int) -> Answer:
    if asked.since <= now_ms < asked.until and _is_still_to_come(store, record, asked, now_ms):
        # Only the rest of the current minute counts.
        rest = Span(now_ms + 1, asked.until)
        return replace(answer_ahead(store, record, rest, now_ms), at=asked.since)
    if asked.since > now_ms:
        return answer_ahead(store, record, asked, now_ms)
    return answer_past(store, record, asked, now_ms)


def _is_still_to_come(store: Store, record: JobRecord, span: Span, now_ms: int) -> bool:
    """Return whether the schedule's time in a span that has begun is still ahead."""
    point = Inquiry.make(store, record, span, now_ms).point
    planned = record.next_run_at
    is_planned = planned is not None and now_ms < planned < span.until
    return is_planned or (point is not None and point > now_ms)
