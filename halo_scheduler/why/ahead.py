"""What is to be expected of a job at an instant that lies ahead."""

from __future__ import annotations

from halo_scheduler.model import After, InQuietTime, JobStatus, Manual
from halo_scheduler.rules.statistics import explanation
from halo_scheduler.schedule.next_run import next_run, previous_run
from halo_scheduler.schedule.quiet_times import quiet_at
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.store import Store
from halo_scheduler.why.answer import Answer, Span, Verdict
from halo_scheduler.why.inquiry import Inquiry
from halo_scheduler.why.no_point import not_a_point_sentence
from halo_scheduler.why.now import engine_sentences
from halo_scheduler.wording.schedules import describe
from halo_scheduler.wording.status import waiting_words


def answer_ahead(store: Store, record: JobRecord, span: Span, now_ms: int) -> Answer:
    """Return whether a span that lies ahead has a time of the schedule, and what is planned."""
    inquiry = Inquiry.make(store, record, span, now_ms)
    return _stopped(inquiry) or _planned(inquiry) or _not_a_point(inquiry) or _expected(inquiry)


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
    is_spread_to = point is not None and bool(inquiry.spec.policy.jitter_percent) and point <= at
    if is_spread_to:
        following = next_run(inquiry.schedule, point or 0, anchor_at=inquiry.spec.anchor_at)
        is_spread_to = following is None or at < following
    if not inquiry.span.has(at) and not is_spread_to:
        return None
    return inquiry.answer(
        Verdict.PLANNED, f"A run is planned for {inquiry.moment(at)}.", *_explained(inquiry)
    )


def _not_a_point(inquiry: Inquiry) -> Answer | None:
    if inquiry.point is not None:
        return None
    schedule, anchor_at = inquiry.schedule, inquiry.spec.anchor_at
    if isinstance(schedule, Manual):
        return inquiry.answer(Verdict.NOT_A_POINT, *_explained(inquiry))
    if isinstance(schedule, After):
        sentence = f"It runs {describe(schedule)}, so only its next run is known."
        return inquiry.answer(Verdict.NOT_A_POINT, sentence, *_next(inquiry))
    before = previous_run(schedule, inquiry.span.since - 1, anchor_at=anchor_at)
    after = next_run(schedule, inquiry.span.until - 1, anchor_at=anchor_at)
    return inquiry.answer(
        Verdict.NOT_A_POINT,
        not_a_point_sentence(inquiry, before, after),
        *_next(inquiry),
        point_before=before,
        point_after=after,
    )


def _next(inquiry: Inquiry) -> list[str]:
    record = inquiry.record
    at = record.next_run_at
    if at is not None and at <= inquiry.now_ms:
        waits = "" if record.waiting is None else f", {waiting_words(record.waiting, inquiry.now_ms)}"
        return [f"Before that, it has been due since {inquiry.moment(at)}{waits}."]
    if at is not None:
        return [f"Its next run is planned for {inquiry.moment(at)}."]
    if record.status is JobStatus.RUNNING:
        does = f"waits for {record.waiting_details.name}" if record.job.is_starting else "is running now"
        return [f"It {does}; its next run is planned when it ends."]
    return (
        [] if record.paused_until is None else [f"It is paused until {inquiry.moment(record.paused_until)}."]
    )


def _expected(inquiry: Inquiry) -> Answer:
    """Return the answer for a time of the schedule for which nothing is planned, or not yet."""
    at, point = inquiry.record.next_run_at, inquiry.point or 0
    if at is not None and at > point:
        sentence = f"That time will be passed over: the next run is planned for {inquiry.moment(at)}."
        return inquiry.answer(Verdict.PASSED_OVER, sentence, *_explained(inquiry))
    sentence = f"That is a time of its schedule: {describe(inquiry.schedule)}."
    asleep = engine_sentences(inquiry.store, inquiry.now_ms)
    return inquiry.answer(Verdict.EXPECTED, *asleep, sentence, *_next(inquiry), *_quiet(inquiry, point))


def _quiet(inquiry: Inquiry, at: int) -> list[str]:
    quiet = quiet_at(inquiry.store.settings.quiet_times(), inquiry.spec.group, at)
    if quiet is None:
        return []
    name = f"the quiet time {quiet.by.name}" if quiet.by.name else "a quiet time"
    if inquiry.spec.policy.in_quiet_time is InQuietTime.SKIP:
        return [f"It lies in {name}, so it will be skipped."]
    planned_at = inquiry.record.next_run_at
    if planned_at is not None and planned_at < at and _is_quiet_until(inquiry, planned_at, quiet.until):
        until = inquiry.moment(quiet.until)
        return [f"Both lie in {name}: one run, at its end at {until}, will stand for them."]
    return [f"It lies in {name}, so the run will start at {inquiry.moment(quiet.until)}."]


def _is_quiet_until(inquiry: Inquiry, at: int, until: int) -> bool:
    quiet = quiet_at(inquiry.store.settings.quiet_times(), inquiry.spec.group, max(at, inquiry.now_ms))
    return quiet is not None and quiet.until == until
