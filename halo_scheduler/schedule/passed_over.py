"""Why grid points got no run of their own.

A job stores the reasons since its last counted slot in order, each with its end: `downtime<30000,running<50000`.
A run stores the reason for everything it passed over (`running`), or each with its count (`30 downtime, 20 running`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from halo_scheduler.model import PassedReason, Schedule, Several
from halo_scheduler.schedule.next_run import count_due
from halo_scheduler.schedule.single import NO_JITTER, Jitter

# Only attempts, pauses and restarts between two counted slots add spans; beyond this, the oldest are merged.
_MOST_SPANS = 40


class Span(NamedTuple):
    """The points after the previous span, up to and including `until`, were passed over for one reason."""

    reason: str
    until: int


def read_spans(text: str) -> list[Span]:
    """Return the stored spans of a job; those of older versions without an instant are left out."""
    items = (item.rpartition("<") for item in text.split(",") if "<" in item)
    return [Span(reason, int(until)) for reason, _, until in items]


def with_span(text: str, reason: PassedReason | None, until: int | None) -> str:
    """Add a reason for everything since the last span; no change if that is already covered."""
    if reason is None or until is None:
        return text
    if not text:
        return f"{reason}<{until}"
    spans = read_spans(text)
    if spans and spans[-1].until >= until:
        return text
    if spans and spans[-1].reason == reason:
        spans.pop()
    return _written([*spans, Span(reason, until)])


def cut_spans(text: str, at: int) -> str:
    """Remove the spans that extend beyond an instant: their plan is void."""
    if not text or _end(text) <= at:
        return text
    return _written(span for span in read_spans(text) if span.until <= at)


def spans_after(text: str, at: int) -> str:
    """Remove the spans up to an instant: their points are counted."""
    if not text or _end(text) <= at:
        return ""
    return _written(span for span in read_spans(text) if span.until > at)


def reason_at(text: str, at: int) -> str:
    """Return the reason stored for an instant; "" if there is none."""
    return next((span.reason for span in read_spans(text) if span.until >= at), "")


def count_reasons(
    schedule: Schedule | Several,
    text: str,
    since: int,
    until: int,
    *,
    anchor_at: int,
    total: int,
    jitter: Jitter = NO_JITTER,
) -> dict[str, int]:
    """Return how many of `total` points in (since, until] were passed over for each reason."""
    counts: dict[str, int] = {}
    left, begin = total, since
    for span in read_spans(text):
        end = min(span.until, until)
        if left > 0 and end > begin:
            due = count_due(schedule, begin, end, anchor_at=anchor_at, most=left, jitter=jitter)
            found = min(left, int(due))
            counts[span.reason] = counts.get(span.reason, 0) + found
            left, begin = left - found, end
    counts[""] = counts.get("", 0) + left
    return {reason: count for reason, count in counts.items() if count}


def summarize(counts: Mapping[str, int]) -> str:
    """Return the summary of passed-over points that a run stores; unknown reasons are left out."""
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{count} {reason}" for reason, count in counts.items() if reason)


def read_summary(text: str, passed_over: int) -> dict[str, int]:
    """Return the reasons stored with a run, each with the number of points passed over for it."""
    counts: dict[str, int] = {}
    for item in text.split(", "):
        count, _, reason = item.partition(" ")
        if not count.isdecimal() or not reason:
            return {text: passed_over} if passed_over else {}
        counts[reason] = int(count)
    return counts


def _end(text: str) -> int:
    """Return the instant up to which the spans cover points."""
    spans, _, end = text.rpartition("<")
    return int(end) if spans else 0


def _written(spans: Iterable[Span]) -> str:
    return ",".join(f"{reason}<{until}" for reason, until in list(spans)[-_MOST_SPANS:])
