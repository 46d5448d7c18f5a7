"""The grid of a stored job: the points of its schedules, which of them a slot comes from, and those passed over."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from halo_scheduler.model import After, Cron, Entry, Every, JobSpec, Once, Schedule, Several, Source
from halo_scheduler.model.schedules import schedules_of
from halo_scheduler.schedule.next_run import DueCount, Jitter, count_due, next_run, previous_due, previous_run
from halo_scheduler.schedule.passed_over import count_reasons
from halo_scheduler.store.job_records import JobRecord

# More passed points than this are not counted, so that counting a cron's past does not delay a start.
MOST_COUNTED = 2_000
_ON_GRID = (Source.EVERY, Source.CRON, Source.AFTER, Source.ONCE)


class Grid(NamedTuple):
    """The schedules in effect, and what an `every` without an anchor of its own counts from."""

    schedule: Schedule | Several
    anchor_at: int


class Point(NamedTuple):
    """An instant of the grid; `keys` name those of several schedules that are due then."""

    at: int
    keys: tuple[str, ...] = ()


def is_used_up(schedule: Schedule | Several, now_ms: int) -> bool:
    """Return whether a schedule has nothing but times of a `once`, and all have passed."""
    return all(isinstance(item, Once) and item.due_at <= now_ms for item in schedules_of(schedule))


def is_finite(schedule: Schedule | Several) -> bool:
    """Return whether a schedule has nothing but times of a `once`."""
    return all(isinstance(item, Once) for item in schedules_of(schedule))


def is_local(schedule: Schedule | Several) -> bool:
    """Return whether a schedule follows the computer's time zone."""
    return any(isinstance(item, Cron) and item.timezone is None for item in schedules_of(schedule))


def has_after(schedule: Schedule | Several) -> bool:
    """Return whether a schedule counts from the end of the last run."""
    return any(isinstance(item, After) for item in schedules_of(schedule))


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


def newest_point(record: JobRecord, now_ms: int) -> Point | None:
    """Return the last grid point at or before now."""
    schedule, anchor_at = record.spec.schedule, record.spec.anchor_at
    ended_at = last_end(record)
    at = previous_run(
        schedule, now_ms, anchor_at=anchor_at, last_completed_at=ended_at, jitter=jitter_of(record)
    )
    return None if at is None else Point(at, _keys_at(record, at, ended_at))


def _keys_at(record: JobRecord, at: int, ended_at: int | None) -> tuple[str, ...]:
    schedule, anchor_at = record.spec.schedule, record.spec.anchor_at
    if not isinstance(schedule, Several):
        return ()
    jitter = jitter_of(record)
    return tuple(
        entry.key
        for entry in schedule.entries
        if previous_due(entry, at, entry.anchor(anchor_at), ended_at, jitter) == at
    )


def jitter_of(record: JobRecord) -> Jitter:
    """Return the spread of a job's points."""
    return Jitter(record.spec.policy.jitter_percent, record.id)


def kept_keys(before: JobRecord, spec: JobSpec) -> tuple[str, ...] | None:
    """Return the keys of a planned slot in a changed spec; None if one of its schedules is gone or another."""
    old = _keyed(before.spec)
    keys = read_keys(before.next_keys) or tuple(old)[:1]
    new = {meaning: key for key, meaning in _keyed(spec).items()}
    if not all(old.get(key) in new for key in keys):
        return None
    return tuple(new[old[key]] for key in keys) if isinstance(spec.schedule, Several) else ()


def _keyed(spec: JobSpec) -> dict[str, tuple[Schedule, int | None]]:
    """Return what each schedule means, by its key; the anchor matters to `every` alone."""
    return {
        entry.key: (
            entry.schedule,
            entry.anchor(spec.anchor_at) if isinstance(entry.schedule, Every) else None,
        )
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
        record.next_source in _ON_GRID
        # A caught-up slot with jitter lies a little after its own point.
        or (record.next_source is Source.CATCH_UP and record.spec.policy.jitter_percent > 0)
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
