"""The grid points of a schedule: the next, the previous, those between two instants, and why some got no run.

A job stores the reasons since its last counted slot in order, each with its end: `downtime<30000,running<50000`.
A run stores the reason for everything it passed over (`running`), or each with its count (`30 downtime, 20 running`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Self, assert_never

from halo_scheduler.grammar.checks import MAX_INSTANT
from halo_scheduler.grammar.cron import next_cron_instant
from halo_scheduler.grammar.interval import SECOND_MS, YEAR_MS, parse_interval
from halo_scheduler.grammar.zone import find_zone
from halo_scheduler.model import After, Cron, Every, Manual, Once, PassedReason, Schedule, require_jitter

# No expression has a gap of more than 40 years.
_LOOK_BACK_MS = 41 * YEAR_MS
_FIRST_LOOK_BACK_MS = 60 * SECOND_MS
_MOST_COUNTED = 10_000
# Only attempts, pauses and restarts between two counted slots add spans; beyond this, the oldest are merged.
_MOST_SPANS = 40


def jitter_ms(key: str, point_at: int, distance_ms: int, percent: int) -> int:
    """Return the delay for a grid point: from 0 to `percent` of the distance to the following one."""
    spread_ms = distance_ms * percent // 100
    if spread_ms <= 0:
        return 0
    from hashlib import blake2b  # noqa: PLC0415 - 5 ms that jobs without jitter never pay

    digest = blake2b(f"{key}:{point_at}".encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) % (spread_ms + 1)


class DueCount(int):
    """A number of grid points; `capped` means that counting stopped there and more exist."""

    capped: bool

    def __new__(cls, count: int, *, capped: bool = False) -> Self:
        self = super().__new__(cls, count)
        self.capped = capped
        return self

    def __str__(self) -> str:
        return f"{int(self)}+" if self.capped else f"{int(self)}"


def next_run(
    schedule: Schedule, now_ms: int, *, anchor_at: int = 0, last_completed_at: int | None = None
) -> int | None:
    """Return the next time of a schedule, strictly after now; only `after` may be due at once."""
    match schedule:
        case Every():
            at = _next_on_grid(schedule.every_ms, anchor_at, now_ms)
            return at if at <= MAX_INSTANT else None
        case After():
            return now_ms if last_completed_at is None else max(now_ms, last_completed_at + schedule.after_ms)
        case Cron():
            return _next_of_cron(schedule, now_ms)
        case Once():
            return schedule.due_at if schedule.due_at > now_ms else None
        case Manual():
            return None
        case _:
            assert_never(schedule)


def previous_run(
    schedule: Schedule, now_ms: int, *, anchor_at: int = 0, last_completed_at: int | None = None
) -> int | None:
    """Return the last time of a schedule at or before now."""
    match schedule:
        case Every():
            return None if now_ms < anchor_at else now_ms - (now_ms - anchor_at) % schedule.every_ms
        case Cron():
            return _previous_of_cron(schedule, now_ms)
        case After() | Once() | Manual():
            point = _single_point(schedule, last_completed_at)
            return point if point is not None and point <= now_ms else None
        case _:
            assert_never(schedule)


def count_due(
    schedule: Schedule,
    after_at: int,
    until_at: int,
    *,
    anchor_at: int = 0,
    last_completed_at: int | None = None,
    most: int = _MOST_COUNTED,
) -> DueCount:
    """Return how many grid points lie in (after_at, until_at]; for cron, counting stops at `most`."""
    if until_at <= after_at:
        return DueCount(0)
    match schedule:
        case Every():
            every_ms = schedule.every_ms
            return DueCount(
                _points_up_to(every_ms, anchor_at, until_at) - _points_up_to(every_ms, anchor_at, after_at)
            )
        case Cron():
            return _count_cron(schedule, after_at, until_at, most)
        case After() | Once() | Manual():
            point = _single_point(schedule, last_completed_at)
            return DueCount(int(point is not None and after_at < point <= until_at))
        case _:
            assert_never(schedule)


def is_schedule_due(next_run_at: int | None, now_ms: int) -> bool:
    """Return whether a next run is due; None never is."""
    return next_run_at is not None and next_run_at <= now_ms


def calculate_next_trigger(
    last_completed_at: int | None, interval: str, *, now_ms: int, jitter_percent: int = 0, key: str = ""
) -> int:
    """Return when an `after` job is due: this long after its last completion, or now if it never ran."""
    interval_ms = parse_interval(interval)
    require_jitter(jitter_percent)
    if last_completed_at is None or last_completed_at + interval_ms <= now_ms:
        return now_ms
    point = last_completed_at + interval_ms
    return point + jitter_ms(key, point, interval_ms, jitter_percent)


def _next_on_grid(every_ms: int, anchor_at: int, now_ms: int) -> int:
    if now_ms < anchor_at:
        return anchor_at
    return now_ms + every_ms - (now_ms - anchor_at) % every_ms


def _points_up_to(every_ms: int, anchor_at: int, at: int) -> int:
    return 0 if at < anchor_at else (at - anchor_at) // every_ms + 1


def _single_point(schedule: After | Once | Manual, last_completed_at: int | None) -> int | None:
    """Return the one instant of schedules without a grid."""
    match schedule:
        case After():
            return None if last_completed_at is None else last_completed_at + schedule.after_ms
        case Once():
            return schedule.due_at
        case Manual():
            return None
        case _:
            assert_never(schedule)


def _next_of_cron(schedule: Cron, now_ms: int) -> int | None:
    found_s = next_cron_instant(schedule.expression, find_zone(schedule.timezone), now_ms // SECOND_MS)
    return None if found_s is None else found_s * SECOND_MS


def _previous_of_cron(schedule: Cron, now_ms: int) -> int | None:
    """Find the latest instant whose next run is still at or before now: the run before it is that instant.

    Searching with `next` alone keeps one implementation of the rules; it takes about forty calls.
    """

    def is_before_a_run(at: int) -> bool:
        following = _next_of_cron(schedule, at)
        return following is not None and following <= now_ms

    back_ms = _FIRST_LOOK_BACK_MS
    while not is_before_a_run(now_ms - back_ms):
        if back_ms > _LOOK_BACK_MS:
            return None
        back_ms *= 4
    low_s, high_s = (now_ms - back_ms) // SECOND_MS, now_ms // SECOND_MS
    while high_s - low_s > 1:
        middle_s = (low_s + high_s) // 2
        low_s, high_s = (middle_s, high_s) if is_before_a_run(middle_s * SECOND_MS) else (low_s, middle_s)
    return high_s * SECOND_MS


def _count_cron(schedule: Cron, after_at: int, until_at: int, most: int) -> DueCount:
    count = 0
    point = _next_of_cron(schedule, after_at)
    while point is not None and point <= until_at:
        if count >= most:
            return DueCount(count, capped=True)
        count += 1
        point = _next_of_cron(schedule, point)
    return DueCount(count)


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
