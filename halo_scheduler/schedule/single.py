"""The grid points of a single schedule: the next, the previous, how many; and the jitter that delays them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo
from typing import NamedTuple, Self, assert_never

from halo_scheduler.grammar.checks import MAX_INSTANT
from halo_scheduler.grammar.cron import next_cron_instant
from halo_scheduler.grammar.interval import SECOND_MS, YEAR_MS
from halo_scheduler.grammar.zone import find_zone
from halo_scheduler.model import After, Cron, Event, Every, Manual, Once, Schedule

# No expression has a gap of more than 40 years.
_LOOK_BACK_MS = 41 * YEAR_MS
_FIRST_LOOK_BACK_MS = 60 * SECOND_MS
_MOST_ANSWERS = 4_096
_NO_ANSWER = (0, 0)
# The next instant of an expression in a zone, and the instant since which it is the next.
_last_answers: dict[tuple[str, tzinfo], tuple[int, int]] = {}


def jitter_ms(key: str, point_at: int, distance_ms: int, percent: int) -> int:
    """Return the delay for a grid point: from 0 to `percent` of the distance to the following one."""
    spread_ms = distance_ms * percent // 100
    return _drawn(f"{key}:{point_at}") % (spread_ms + 1) if spread_ms > 0 else 0


def _drawn(seed: str) -> int:
    """Return a 64-bit number that depends only on the seed."""
    from hashlib import blake2b  # noqa: PLC0415 - takes 5 ms, needed only for jitter

    return int.from_bytes(blake2b(seed.encode(errors="surrogatepass"), digest_size=8).digest())


class DueCount(int):
    """A number of grid points; `capped` means that counting stopped there and more exist."""

    capped: bool

    def __new__(cls, count: int, *, capped: bool = False) -> Self:
        self = super().__new__(cls, count)
        self.capped = capped
        return self

    def __str__(self) -> str:
        return f"{int(self)}+" if self.capped else f"{int(self)}"


class Jitter(NamedTuple):
    """The random delay of a job's grid points, by the job's key.

    It is up to `percent` of the distance to the following point, or up to `most_ms`. If fixed, each point has the same
    share of it.
    """

    percent: int = 0
    key: str = ""
    most_ms: int = 0
    is_fixed: bool = False

    @property
    def is_on(self) -> bool:
        return self.percent > 0 or self.most_ms > 0

    def delay_ms(self, schedule: Schedule, point_at: int, following_at: int | None = None) -> int:
        """Return the delay of a schedule's grid point; it ends before the next point.

        `following_at` is the next point of a cron schedule whose points move to other days.
        """
        spread_ms = self._spread_ms(schedule, point_at, following_at)
        if spread_ms <= 0:
            return 0
        if self.is_fixed:
            return _drawn(self.key) * (spread_ms + 1) >> 64
        return _drawn(f"{self.key}:{point_at}") % (spread_ms + 1)

    def _spread_ms(self, schedule: Schedule, point_at: int, following_at: int | None) -> int:
        match schedule:
            case Every(every_ms=distance_ms):
                pass
            case After(after_ms=distance_ms):
                if self.most_ms:  # The next point depends on when this run ends.
                    return self.most_ms
            case Cron():
                following = following_at or next_of_cron(schedule, point_at)
                distance_ms = 0 if following is None else following - point_at
            case _:
                return 0
        return min(self.most_ms, distance_ms - 1) if self.most_ms else distance_ms * self.percent // 100

    def reach_ms(self, rest_ms: int) -> int:
        """Return the maximum age of a point whose delay has not passed; the next point is in `rest_ms`."""
        return self.most_ms or rest_ms * self.percent // (100 - self.percent)


NO_JITTER = Jitter()


def next_point(
    schedule: Schedule, now_ms: int, anchor_at: int = 0, last_completed_at: int | None = None
) -> int | None:
    """Return the next grid point of a schedule, strictly after now; only `after` may be due at once."""
    match schedule:
        case Every():
            at = _next_on_grid(schedule.every_ms, anchor_at, now_ms)
            return at if at <= MAX_INSTANT else None
        case After():
            return now_ms if last_completed_at is None else max(now_ms, last_completed_at + schedule.after_ms)
        case Cron():
            return next_of_cron(schedule, now_ms)
        case Once():
            return schedule.due_at if schedule.due_at > now_ms else None
        case Manual() | Event():
            return None
        case _:
            assert_never(schedule)


def previous_point(
    schedule: Schedule, now_ms: int, anchor_at: int = 0, last_completed_at: int | None = None
) -> int | None:
    """Return the last grid point of a schedule at or before now."""
    match schedule:
        case Every():
            return None if now_ms < anchor_at else now_ms - (now_ms - anchor_at) % schedule.every_ms
        case Cron():
            return _previous_of_cron(schedule, now_ms)
        case After() | Once() | Manual() | Event():
            point = _only_point(schedule, last_completed_at)
            return point if point is not None and point <= now_ms else None
        case _:
            assert_never(schedule)


def _next_on_grid(every_ms: int, anchor_at: int, now_ms: int) -> int:
    if now_ms < anchor_at:
        return anchor_at
    return now_ms + every_ms - (now_ms - anchor_at) % every_ms


def count_of_one(
    schedule: Schedule,
    after_at: int,
    until_at: int,
    *,
    anchor_at: int,
    last_completed_at: int | None,
    most: int,
) -> DueCount:
    """Return how many grid points of a schedule lie in (after_at, until_at]; except for `every`, at most `most`."""
    match schedule:
        case Every(every_ms=every_ms):
            return DueCount(
                _count_up_to(every_ms, anchor_at, until_at) - _count_up_to(every_ms, anchor_at, after_at)
            )
        case Cron():
            return count_points(points_after(schedule, after_at, 0), until_at, most)
        case After() | Once() | Manual() | Event():
            point = _only_point(schedule, last_completed_at)
            return DueCount(int(point is not None and after_at < point <= until_at))
        case _:
            assert_never(schedule)


def count_points(points: Iterator[int], until_at: int, most: int) -> DueCount:
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


def _count_up_to(every_ms: int, anchor_at: int, at: int) -> int:
    """Return the number of an interval's points up to an instant."""
    return 0 if at < anchor_at else (at - anchor_at) // every_ms + 1


def _only_point(schedule: After | Once | Manual | Event, last_completed_at: int | None) -> int | None:
    """Return the one instant of schedules without a grid."""
    match schedule:
        case After():
            return None if last_completed_at is None else last_completed_at + schedule.after_ms
        case Once():
            return schedule.due_at
        case Manual() | Event():
            return None
        case _:
            assert_never(schedule)


def next_of_cron(schedule: Cron, now_ms: int) -> int | None:
    """Return the next instant of a cron expression; recent results are cached."""
    zone = find_zone(schedule.timezone)
    # With several schedules, most calls ask for a time before the last result.
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
    """Search for the latest instant whose next run is at or before now.

    Searching with `next` needs no second implementation of the rules; it takes about forty calls.
    """

    def is_before_a_run(at: int) -> bool:
        following = next_of_cron(schedule, at)
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


def points_after(schedule: Every | Cron, at: int, anchor_at: int) -> Iterator[int]:
    """Return the grid points after an instant, in order."""
    point = next_point(schedule, at, anchor_at)
    while point is not None:
        yield point
        point = next_point(schedule, point, anchor_at)
