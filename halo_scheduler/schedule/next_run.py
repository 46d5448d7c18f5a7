"""The grid points of a schedule or of several: the next, the previous, and those between two instants."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo
from heapq import merge
from typing import NamedTuple, Self, assert_never

from halo_scheduler.grammar.checks import MAX_INSTANT
from halo_scheduler.grammar.cron import next_cron_instant
from halo_scheduler.grammar.interval import SECOND_MS, YEAR_MS, parse_interval
from halo_scheduler.grammar.zone import find_zone
from halo_scheduler.model import (
    After,
    Cron,
    Entry,
    Every,
    Manual,
    Once,
    Schedule,
    Several,
    require_jitter,
)

# No expression has a gap of more than 40 years.
_LOOK_BACK_MS = 41 * YEAR_MS
_FIRST_LOOK_BACK_MS = 60 * SECOND_MS
_MOST_COUNTED = 10_000
_MOST_ANSWERS = 4_096
_NO_ANSWER = (0, 0)
# The next instant of an expression in a zone, and since when it is the next.
_last_answers: dict[tuple[str, tzinfo], tuple[int, int]] = {}


def jitter_ms(key: str, point_at: int, distance_ms: int, percent: int) -> int:
    """Return the delay for a grid point: from 0 to `percent` of the distance to the following one."""
    spread_ms = distance_ms * percent // 100
    if spread_ms <= 0:
        return 0
    from hashlib import blake2b  # noqa: PLC0415 - 5 ms that jobs without jitter never pay

    digest = blake2b(f"{key}:{point_at}".encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) % (spread_ms + 1)


class Jitter(NamedTuple):
    """The spread of a job's grid points: up to `percent` of the distance to the following one, by the job's key."""

    percent: int = 0
    key: str = ""

    def delay_ms(self, schedule: Schedule, point_at: int) -> int:
        """Return the delay of a schedule's grid point, which never reaches the following one."""
        match schedule:
            case Every(every_ms=distance_ms) | After(after_ms=distance_ms):
                pass
            case Cron():
                following = _next_of_cron(schedule, point_at)
                distance_ms = 0 if following is None else following - point_at
            case _:
                return 0
        return jitter_ms(self.key, point_at, distance_ms, self.percent)


NO_JITTER = Jitter()


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
    schedule: Schedule | Several, now_ms: int, *, anchor_at: int = 0, last_completed_at: int | None = None
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
        case Several():
            candidates = (
                next_run(
                    entry.schedule,
                    now_ms,
                    anchor_at=entry.anchor(anchor_at),
                    last_completed_at=last_completed_at,
                )
                for entry in schedule.entries
            )
            return min((at for at in candidates if at is not None), default=None)
        case _:
            assert_never(schedule)


def previous_run(
    schedule: Schedule | Several,
    now_ms: int,
    *,
    anchor_at: int = 0,
    last_completed_at: int | None = None,
    jitter: Jitter = NO_JITTER,
) -> int | None:
    """Return the last time of a schedule at or before now; `jitter` moves the points of several schedules only."""
    match schedule:
        case Every():
            return None if now_ms < anchor_at else now_ms - (now_ms - anchor_at) % schedule.every_ms
        case Cron():
            return _previous_of_cron(schedule, now_ms)
        case After() | Once() | Manual():
            point = _single_point(schedule, last_completed_at)
            return point if point is not None and point <= now_ms else None
        case Several():
            last = (
                previous_due(entry, now_ms, entry.anchor(anchor_at), last_completed_at, jitter)
                for entry in schedule.entries
            )
            return max((at for at in last if at is not None), default=None)
        case _:
            assert_never(schedule)


def count_due(
    schedule: Schedule | Several,
    after_at: int,
    until_at: int,
    *,
    anchor_at: int = 0,
    last_completed_at: int | None = None,
    most: int = _MOST_COUNTED,
    jitter: Jitter = NO_JITTER,
) -> DueCount:
    """Return how many grid points lie in (after_at, until_at]; except for `every`, counting stops at `most`.

    Points of several schedules that coincide count once; `jitter` moves only these, as each has its own.
    """
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
        case Several():
            points = due_points(schedule, after_at, anchor_at, last_completed_at, jitter)
            return _count_points(points, until_at, most)
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
    zone = find_zone(schedule.timezone)
    # Of several schedules, all but one are asked again about a time before the answer that they gave last.
    since, known = _last_answers.get((schedule.cron, zone), _NO_ANSWER)
    if since <= now_ms < known:
        return known
    found_s = next_cron_instant(schedule.expression, zone, now_ms // SECOND_MS)
    if found_s is None:
        return None
    if len(_last_answers) >= _MOST_ANSWERS:
        _last_answers.clear()
    _last_answers[schedule.cron, zone] = (now_ms, found_s * SECOND_MS)
    return found_s * SECOND_MS


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
    return _count_points(_points_after(schedule, after_at, 0), until_at, most)


def _count_points(points: Iterator[int], until_at: int, most: int) -> DueCount:
    """Count different instants up to `until_at`, which come in order."""
    count, last = 0, None
    for point in points:
        if point > until_at:
            break
        if point == last:
            continue
        if count >= most:
            return DueCount(count, capped=True)
        count, last = count + 1, point
    return DueCount(count)


def _points_after(schedule: Every | Cron, at: int, anchor_at: int) -> Iterator[int]:
    point = next_run(schedule, at, anchor_at=anchor_at)
    while point is not None:
        yield point
        point = next_run(schedule, point, anchor_at=anchor_at)


# --- Several schedules ---------------------------------------------------------------------------------


def due_points(
    schedule: Several, after_at: int, anchor_at: int, last_completed_at: int | None, jitter: Jitter
) -> Iterator[int]:
    """Return the instants after another at which one of several schedules is due, in order."""
    return merge(
        *(
            _due_points(entry, after_at, entry.anchor(anchor_at), last_completed_at, jitter)
            for entry in schedule.entries
        )
    )


def _due_points(
    entry: Entry, after_at: int, anchor_at: int, last_completed_at: int | None, jitter: Jitter
) -> Iterator[int]:
    pending = pending_point(entry.schedule, after_at, anchor_at, last_completed_at, jitter)
    if pending is not None:
        yield pending + jitter.delay_ms(entry.schedule, pending)
    match entry.schedule:
        case Every() | Cron():
            for point in _points_after(entry.schedule, after_at, anchor_at):
                yield point + (jitter.delay_ms(entry.schedule, point) if jitter.percent else 0)
        case _:
            single = _single_point(entry.schedule, last_completed_at)
            if single is not None and single > after_at:
                yield single + jitter.delay_ms(entry.schedule, single)


def pending_point(
    schedule: Schedule, now_ms: int, anchor_at: int, last_completed_at: int | None, jitter: Jitter
) -> int | None:
    """Return the grid point at or before now whose jitter still lies ahead; None if there is none."""
    if not jitter.percent or (isinstance(schedule, Cron) and not _may_be_pending(schedule, now_ms, jitter)):
        return None
    point = previous_run(schedule, now_ms, anchor_at=anchor_at, last_completed_at=last_completed_at)
    is_ahead = point is not None and point + jitter.delay_ms(schedule, point) > now_ms
    return point if is_ahead else None


def _may_be_pending(schedule: Cron, now_ms: int, jitter: Jitter) -> bool:
    """Return whether a point lies so shortly before now that its jitter can lie ahead; it is cheap to tell.

    The delay is at most `percent` of the distance from the point to the next one.
    """
    following = _next_of_cron(schedule, now_ms)
    if following is None:
        return False
    reach_ms = (following - now_ms) * jitter.percent // (100 - jitter.percent)
    first = _next_of_cron(schedule, now_ms - reach_ms - SECOND_MS)
    return first is not None and first <= now_ms


def previous_due(
    entry: Entry, now_ms: int, anchor_at: int, last_completed_at: int | None, jitter: Jitter
) -> int | None:
    """Return the last instant at or before now at which one of several schedules was due."""
    point = previous_run(entry.schedule, now_ms, anchor_at=anchor_at, last_completed_at=last_completed_at)
    if point is None or not jitter.percent:
        return point
    due_at = point + jitter.delay_ms(entry.schedule, point)
    if due_at <= now_ms:
        return due_at
    before = previous_run(entry.schedule, point - 1, anchor_at=anchor_at, last_completed_at=last_completed_at)
    return None if before is None else before + jitter.delay_ms(entry.schedule, before)
