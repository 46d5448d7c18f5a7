"""What is asked about a job, and what it was at the time that is asked about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from halo_scheduler.model import After, JobSpec, Manual, Schedule
from halo_scheduler.schedule.next_run import next_run
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.store import Store
from halo_scheduler.why.answer import Answer, Span, Verdict
from halo_scheduler.why.timeline import Timeline
from halo_scheduler.wording.plans import moment_in_words


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry:
    """A job, the span that is asked about, and the spec and the schedule that were in force at its beginning.

    `point` is the first time of that schedule in the span; `is_readable` tells whether the spec of then still is.
    """

    store: Store
    record: JobRecord
    span: Span
    now_ms: int
    timeline: Timeline
    spec: JobSpec
    schedule: Schedule
    point: int | None
    is_readable: bool

    @classmethod
    def make(cls, store: Store, record: JobRecord, span: Span, now_ms: int) -> Self:
        timeline = Timeline(store, record)
        then = timeline.spec_at(span.since)
        spec = record.spec if then is None else then
        schedule = timeline.schedule_at(span.since, spec.schedule)
        return cls(
            store=store,
            record=record,
            span=span,
            now_ms=now_ms,
            timeline=timeline,
            spec=spec,
            schedule=schedule,
            # What was over when the job was made was never its own.
            point=point_in(
                schedule, spec.anchor_at, Span(max(span.since, record.created_at + 1), span.until)
            ),
            is_readable=then is not None,
        )

    def moment(self, at: int) -> str:
        return moment_in_words(at, self.now_ms)

    def answer(self, verdict: Verdict, *sentences: str, **rest: Any) -> Answer:
        return Answer(
            job_id=self.record.id,
            name=self.record.spec.name,
            verdict=verdict,
            sentences=sentences,
            at=self.span.since,
            next_run_at=self.record.next_run_at,
            **rest,
        )


def point_in(schedule: Schedule, anchor_at: int, span: Span) -> int | None:
    """Return the first time of a schedule in a span; `after` has none of its own, and `manual` none at all."""
    if isinstance(schedule, After | Manual):
        return None
    point = next_run(schedule, span.since - 1, anchor_at=anchor_at)
    return point if span.has(point) else None
