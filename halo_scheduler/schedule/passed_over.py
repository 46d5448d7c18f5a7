"""Why grid points got no run of their own: the reasons along the time axis, and how many points each accounts for.

A job stores the reasons since its last counted slot in order, each with its end: `downtime<30000,running<50000`.
A run stores the reason for everything it passed over (`running`), or each with its count (`30 downtime, 20 running`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from halo_scheduler.model import PassedReason, Schedule
from halo_scheduler.schedule.next_run import count_due

# Only attempts, pauses and restarts between two counted slots add spans; beyond this, the oldest are merged.
_MOST_SPANS = 40


class Span(NamedTuple):
    """Points after the span before, up to and including `until`, were passed over for one reason."""

    reason: str
    until: int


def read_spans(text: str) -> list[Span]:
    """Return the stored spans of a job; what older versions stored without an instant is left out."""
    items = (item.rpartition("<") for item in text.split(",") if "<" in item)
    return [Span(reason, int(until)) for reason, _, until in items]


def with_span(text: str, reason: PassedReason | None, until: int | None) -> str:
    """Add a reason for everything since the last span; nothing changes if that is accounted for already."""
    if reason is None or until is None:
        return text
    spans = read_spans(text)
    if spans and spans[-1].until >= until:
        return text
    if spans and spans[-1].reason == reason:
        spans.pop()
    return _written([*spans, Span(reason, until)])


def cut_spans(text: str, at: int) -> str:
    """Remove the spans that reach beyond an instant: the plan they belong to is void."""
    return _written(span for span in read_spans(text) if span.until <= at) if text else ""


def spans_after(text: str, at: int) -> str:
    """Remove the spans up to an instant: their points are counted."""
    return _written(span for span in read_spans(text) if span.until > at) if text else ""


def reason_at(text: str, at: int) -> str:
    """Return the reason stored for an instant; nothing when there is none."""
    return next((span.reason for span in read_spans(text) if span.until >= at), "")


def count_reasons(
    schedule: Schedule, text: str, since: int, until: int, *, anchor_at: int, total: int
) -> dict[str, int]:
    """Return how many of `total` points in (since, until] were passed over for each reason."""
    counts: dict[str, int] = {}
    left, begin = total, since
    for span in read_spans(text):
        end = min(span.until, until)
        if left > 0 and end > begin:
            found = min(left, int(count_due(schedule, begin, end, anchor_at=anchor_at, most=left)))
            counts[span.reason] = counts.get(span.reason, 0) + found
            left, begin = left - found, end
    counts[""] = counts.get("", 0) + left
    return {reason: count for reason, count in counts.items() if count}


def summarize(counts: Mapping[str, int]) -> str:
    """Return what a run stores about the reasons of the points it passed over; unknown ones are not named."""
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


def _written(spans: Iterable[Span]) -> str:
    return ",".join(f"{reason}<{until}" for reason, until in list(spans)[-_MOST_SPANS:])
