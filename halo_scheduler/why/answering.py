"""Choosing who answers: the past, the present or what lies ahead."""

from __future__ import annotations

from dataclasses import replace

from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.store import Store
from halo_scheduler.why.ahead import answer_ahead
from halo_scheduler.why.answer import Answer, Span, Verdict
from halo_scheduler.why.clock_change import clock_change_sentences
from halo_scheduler.why.inquiry import Inquiry
from halo_scheduler.why.now import answer_now
from halo_scheduler.why.past import answer_past

__all__ = ["answer", "answer_now"]

_NOT_THERE = {Verdict.BEFORE_IT_EXISTED, Verdict.REMOVED}


def answer(store: Store, record: JobRecord, span: tuple[int, int], now_ms: int) -> Answer:
    """Return what became, or becomes, of a job in a span of time."""
    asked = Span(*span)
    found = _answer(store, record, asked, now_ms)
    if found.verdict in _NOT_THERE:
        return found
    schedule = Inquiry.make(store, record, asked, now_ms).schedule
    return replace(found, sentences=(*found.sentences, *clock_change_sentences(schedule, asked, now_ms)))


def _answer(store: Store, record: JobRecord, asked: Span, now_ms: int) -> Answer:
    if asked.since <= now_ms < asked.until and _is_still_to_come(store, record, asked, now_ms):
        # Of the minute that is now, the rest is asked about.
        rest = Span(now_ms + 1, asked.until)
        return replace(answer_ahead(store, record, rest, now_ms), at=asked.since)
    if asked.since > now_ms:
        return answer_ahead(store, record, asked, now_ms)
    return answer_past(store, record, asked, now_ms)


def _is_still_to_come(store: Store, record: JobRecord, span: Span, now_ms: int) -> bool:
    """Whether the time of the schedule in a span that has begun lies ahead."""
    point = Inquiry.make(store, record, span, now_ms).point
    planned = record.next_run_at
    is_planned = planned is not None and now_ms < planned < span.until
    return is_planned or (point is not None and point > now_ms)
