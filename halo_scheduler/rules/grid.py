"""The grid of a stored job: the points of its schedules, which of them a slot comes from, and those passed over."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from halo_scheduler.model import After, Cron, Entry, Every, JobSpec, Once, Schedule, Several, Source
from halo_scheduler.model.schedules import Timing
from halo_scheduler.model.words import BY_SCHEDULE
from halo_scheduler.schedule.entries import previous_due
from halo_scheduler.schedule.next_run import count_due, next_run, previous_run
from halo_scheduler.schedule.passed_over import count_reasons
from halo_scheduler.schedule.single import NO_JITTER, DueCount, Jitter
from halo_scheduler.store.job_records import JobRecord

# More passed points than this are not counted, so that counting a cron's past does not delay a start.
MOST_COUNTED = 2_000


class Grid(NamedTuple):
    """The schedules in effect, and what an `every` without an anchor of its own counts from."""

    schedule: Schedule | Several
    anchor_at: int


class Point(NamedTuple):
    """An instant of the grid; `keys` name those of several schedules that are due then."""

    at: int
    keys: tuple[str, ...] = ()


def is_used_up(schedule: Schedule | Several, now_ms: int, anchor_at: int = 0) -> bool:
    """Return whether a schedule is finite and all its times have passed."""
    return is_finite(schedule) and next_run(schedule, now_ms, anchor_at=anchor_at) is None


def is_finite(schedule: Schedule | Several) -> bool:
    """Return whether a schedule is finite: each entry is a `once`, or has a last day or only single days."""
    if isinstance(schedule, Several):
        return all(_is_finite(entry) for entry in schedule.entries)
    return isinstance(schedule, Once)


def _is_finite(entry: Entry) -> bool:
    return isinstance(entry.schedule, Once) or entry.until_date is not None or entry.calendar.is_finite


def is_local(schedule: Schedule | Several) -> bool:
    """Return whether a schedule follows the computer's time zone."""
    if isinstance(schedule, Several):
        return any(entry.is_local for entry in schedule.entries)
    return isinstance(schedule, Cron) and schedule.timezone is None


def has_after(schedule: Schedule | Several) -> bool:
    """Return whether a schedule counts from the end of the last run."""
    # Called for thousands of jobs in a tick, of which few have several schedules.
    if isinstance(schedule, Several):
        return any(isinstance(entry.schedule, After) for entry in schedule.entries)
    return isinstance(schedule, After)


def is_only_after(record: JobRecord) -> bool:
    """Return whether the planned slot comes from nothing but an `after`."""
    schedule = record.spec.schedule
    if isinstance(schedule, Several):
        entries = schedule.find(read_keys(record.next_keys))
        return bool(entries) and all(isinstance(entry.schedule, After) for entry in entries)
    return isinstance(schedule, After)


def last_end(record: JobRecord) -> int | None:
    """Return the end that a schedule counts from: for `after`, that of any run, manual ones included."""
    return record.last_ended_at if has_after(record.spec.schedule) else record.last_completed_at


def read_keys(stored: str) -> tuple[str, ...]:
    """Return the stored keys of schedules."""
    return tuple(stored.split(",")) if stored else ()


def write_keys(keys: Iterable[str]) -> str:
    """Return keys of schedules as they are stored."""
    return ",".join(keys)


def grid_at(record: JobRecord, now_ms: int) -> Grid:
    """Return a job's grid; a grid in use continues even if the clock is set back before its anchor.

    An anchor that was chosen in the future stays: the job begins there.
    """
    schedule, anchor_at = record.spec.schedule, record.spec.anchor_at
    if anchor_at <= now_ms and not isinstance(schedule, Several):
        return Grid(schedule, anchor_at)
    begun_at = max(record.created_at, record.updated_at)
    if isinstance(schedule, Every):
        return Grid(schedule, _anchor_in_use(schedule, anchor_at, begun_at, now_ms))
    if isinstance(schedule, Several):
        entries = tuple(_entry_in_use(entry, anchor_at, begun_at, now_ms) for entry in schedule.entries)
        return Grid(schedule if entries == schedule.entries else Several(entries), anchor_at)
    return Grid(schedule, anchor_at)


def _entry_in_use(entry: Entry, job_anchor_at: int, begun_at: int, now_ms: int) -> Entry:
    anchor_at = entry.anchor(job_anchor_at)
    if not isinstance(entry.schedule, Every) or anchor_at <= now_ms:
        return entry
    return replace(entry, anchor_at=_anchor_in_use(entry.schedule, anchor_at, begun_at, now_ms))


def _anchor_in_use(every: Every, anchor_at: int, begun_at: int, now_ms: int) -> int:
    was_ahead = anchor_at > begun_at
    if anchor_at <= now_ms or was_ahead:
        return anchor_at
    return now_ms - (now_ms - anchor_at) % every.every_ms


def next_point(record: JobRecord, at: int) -> Point | None:
    """Return the grid point after an instant at which a run ends."""
    grid = grid_at(record, at)
    found = next_run(grid.schedule, at, anchor_at=grid.anchor_at, last_completed_at=at)
    return None if found is None else Point(found, _keys_at(record, found, at))


def _keys_at(record: JobRecord, at: int, ended_at: int | None) -> tuple[str, ...]:
    schedule, anchor_at = record.spec.schedule, record.spec.anchor_at
    if not isinstance(schedule, Several):
        return ()
    jitter = jitter_of(record)
    return tuple(
        entry.key for entry in schedule.entries if previous_due(entry, at, anchor_at, ended_at, jitter) == at
    )


def jitter_of(record: JobRecord) -> Jitter:
    """Return the spread of a job's points."""
    policy = record.spec.policy
    if not policy.has_jitter:
        return NO_JITTER
    return Jitter(policy.jitter_percent, record.id, policy.jitter_ms, policy.is_jitter_fixed)


def kept_keys(before: JobRecord, spec: JobSpec) -> tuple[str, ...] | None:
    """Return the keys of a planned slot in a changed spec; None if one of its schedules is gone or another."""
    old = _keyed(before.spec)
    # A single schedule has no key; a run by a hint comes from none of several.
    is_single = not isinstance(before.spec.schedule, Several)
    keys = tuple(old) if is_single else read_keys(before.next_keys)
    new = {meaning: key for key, meaning in _keyed(spec).items()}
    if not all(old.get(key) in new for key in keys):
        return None
    return tuple(new[old[key]] for key in keys) if isinstance(spec.schedule, Several) else ()


def _keyed(spec: JobSpec) -> dict[str, Timing]:
    """Return what determines the times of each schedule, by its key; only `every` depends on the anchor."""
    return {
        entry.key: entry.timing._replace(anchor_at=entry.anchor(spec.anchor_at))
        if isinstance(entry.schedule, Every)
        else entry.timing
        for entry in spec.schedules
    }


# --- Points without a run of their own -----------------------------------------------------------------


def passed_over(record: JobRecord) -> int:
    """Return how many grid points lie between the last accounted one and the planned slot."""
    slot_at = record.slot_at
    if slot_at is None or slot_at <= record.counted_until:
        return 0
    found = count_between(record, record.counted_until, slot_at)
    return max(0, found - int(_has_own_point(record, slot_at)))


def _has_own_point(record: JobRecord, slot_at: int) -> bool:
    """Return whether the planned slot is itself one of the counted points."""
    schedule, anchor_at = record.spec.schedule, record.spec.anchor_at
    if isinstance(schedule, Several):
        return previous_run(schedule, slot_at, anchor_at=anchor_at, jitter=jitter_of(record)) == slot_at
    return (
        record.next_source in BY_SCHEDULE
        # A caught-up slot with jitter lies a little after its own point.
        or (record.next_source is Source.CATCH_UP and record.spec.policy.has_jitter)
        or previous_run(schedule, slot_at, anchor_at=anchor_at) == slot_at
    )


def count_between(record: JobRecord, since: int, until: int) -> DueCount:
    """Return how many grid points lie in (since, until]."""
    return count_due(
        record.spec.schedule,
        since,
        until,
        anchor_at=record.spec.anchor_at,
        most=MOST_COUNTED,
        jitter=jitter_of(record),
    )


def passed_reasons(record: JobRecord, count: int) -> dict[str, int]:
    """Return how many passed grid points before a planned slot have which reason."""
    return count_reasons(
        record.spec.schedule,
        record.passed_reason,
        record.counted_until,
        record.slot_at or 0,
        anchor_at=record.spec.anchor_at,
        total=count,
        jitter=jitter_of(record),
    )
