"""Pending points: points that passed without a run and get their own run later, oldest first.

A job stores them in order, each with the keys of its schedules: `1735689600000:1+2,1735689660000`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, takewhile

from halo_scheduler.model import (
    CatchUp,
    Entry,
    Outcome,
    PassedReason,
    Run,
    Several,
    SkipReason,
    Source,
    Trigger,
)
from halo_scheduler.model.messages import Message
from halo_scheduler.model.runs import new_run_id
from halo_scheduler.model.schedules import Overlap
from halo_scheduler.rules.grid import (
    Point,
    count_between,
    is_used_up,
    jitter_of,
    last_end,
    read_keys,
    write_keys,
)
from halo_scheduler.schedule.entries import due_points, previous_due
from halo_scheduler.schedule.passed_over import read_spans, reason_at
from halo_scheduler.schedule.single import NO_JITTER
from halo_scheduler.store.job_records import JobRecord

MOST_PENDING = 100
_AFTERWARDS = (Overlap.LATEST, Overlap.RESTART)


def read_pending(stored: str) -> list[Point]:
    """Return the stored pending points."""
    items = (item.partition(":") for item in stored.split(",") if item)
    return [Point(int(at), tuple(keys.split("+")) if keys else ()) for at, _, keys in items]


def write_pending(points: Iterable[Point]) -> str:
    """Return pending points in their stored form; the oldest above the limit are only counted."""
    kept = list(points)[-MOST_PENDING:]
    return ",".join(f"{point.at}:{'+'.join(point.keys)}" if point.keys else f"{point.at}" for point in kept)


def pending_source(record: JobRecord, point: Point) -> Source:
    """Return the trigger of a pending point's run: its schedule after an overlap, else catch-up."""
    entries = [entry for entry in record.spec.schedules if entry.key in point.keys]
    if entries and reason_at(record.passed_reason, point.at) == PassedReason.RUNNING:
        return Source(entries[0].schedule.kind)
    return Source.CATCH_UP


# --- Overlap -------------------------------------------------------------------------------------------


def with_restart(record: JobRecord, now_ms: int) -> JobRecord:
    """Return the job with the time at which its active run, if any, is stopped for the next one."""
    at = None if record.run_id is None else _restart_at(record, now_ms)
    return record if at == record.restarts_at else record._replace(restarts_at=at)


def _restart_at(record: JobRecord, now_ms: int) -> int | None:
    """Return when a schedule that restarts the job is due; None if it has no such schedule."""
    schedule = record.spec.schedule
    if not isinstance(schedule, Several):
        return None
    entries = tuple(entry for entry in schedule.entries if entry.on_overlap is Overlap.RESTART)
    if not entries:
        return None
    return next(due_points(Several(entries), now_ms, record.spec.anchor_at, None, jitter_of(record)), None)


def with_overlapped(record: JobRecord, since: int, until: int) -> JobRecord:
    """Return a job whose run ended at `until`; points that passed while it ran become pending.

    Points that passed for another reason, such as a pause, do not. A slot that became due meanwhile stays the next one,
    unless a newer point replaces it.
    """
    schedule = record.spec.schedule
    if not isinstance(schedule, Several) or not any(entry.on_overlap for entry in schedule.entries):
        return record
    began_at, ended_at = _last_running(record)
    points = _overlapped(record, max(since, began_at), min(until, ended_at))
    if record.next_run_at is not None and record.next_run_at <= until:
        due = Point(record.next_run_at, read_keys(record.next_keys))
        points = [point for point in points if point.at > due.at]
        if points and record.attempt == 1 and _runs_afterwards(record, due):
            due = points.pop(0)
            record = record.evolve(next_run_at=due.at, slot_at=due.at, next_keys=write_keys(due.keys))
    before = (point for point in read_pending(record.pending) if not _is_replaced(record, point, points))
    return record._replace(pending=write_pending(_merged(record, [*before, *points])))


def _last_running(record: JobRecord) -> tuple[int, int]:
    """Return the last span in which all points passed because the job was running."""
    begin, found = 0, (0, 0)
    for span in read_spans(record.passed_reason):
        found = (begin, span.until) if span.reason == PassedReason.RUNNING else found
        begin = span.until
    return found


def _runs_afterwards(record: JobRecord, point: Point) -> bool:
    """Return whether the overlap policy of a point runs only the latest one."""
    return all(one.on_overlap in _AFTERWARDS for one in record.spec.schedules if one.key in point.keys)


def _is_replaced(record: JobRecord, point: Point, newer: Iterable[Point]) -> bool:
    """Return whether a newer point replaces a pending one."""
    if reason_at(record.passed_reason, point.at) != PassedReason.RUNNING or not _runs_afterwards(
        record, point
    ):
        return False
    values = record.spec.parameters_for(point.keys)
    return any(
        _runs_afterwards(record, one) and record.spec.parameters_for(one.keys) == values for one in newer
    )


def _overlapped(record: JobRecord, since: int, until: int) -> list[Point]:
    entries = record.spec.schedules
    queued = [entry for entry in entries if entry.on_overlap is Overlap.QUEUE]
    found = _newest(record, queued, since, until, MOST_PENDING)
    afterwards = [entry for entry in entries if entry.on_overlap in _AFTERWARDS]
    return _merged(record, [*found, *_newest_of_each(record, afterwards, since, until)])


# --- Catch-up ------------------------------------------------------------------------------------------


def points_to_catch_up(record: JobRecord, now_ms: int, is_taken: Callable[[str, int], bool]) -> list[Point]:
    """Return the points that run after a missed slot, oldest first: missed ones and those already pending.

    The slot itself is one of them, unless a newer point replaces it or it is too old.
    """
    policy, due_at = record.spec.policy, record.next_run_at or 0
    own = Point(record.slot_at or due_at, read_keys(record.next_keys))
    # A newer point may have had its run before the clock was set back.
    missed = [point for point in _missed(record, due_at, now_ms) if not is_taken(record.id, point.at)]
    values = record.spec.parameters_for(own.keys)
    max_age_ms = policy.catch_up_max_age_ms
    is_replaced = policy.catch_up is CatchUp.ONCE and any(
        record.spec.parameters_for(point.keys) == values for point in missed
    )
    if not is_replaced and (max_age_ms is None or now_ms - due_at <= max_age_ms):
        missed = (
            [own, *missed][-policy.catch_up_limit :] if policy.catch_up is CatchUp.ALL else [own, *missed]
        )
    # A slot before its planned run is a pending point, delayed by back-off or a limit. A skipped one is not replaced.
    is_kept = record.attempt == 1 and (own.at < due_at or record.skips_next)
    pending = [own] if is_kept else []
    return _merged(record, [*pending, *read_pending(record.pending), *missed])


def with_missed(record: JobRecord, since: int, until: int) -> JobRecord:
    """Return a job; if it catches up each missed run, points missed in (since, until] become pending."""
    if record.spec.policy.catch_up is not CatchUp.ALL:
        return record
    points = [*read_pending(record.pending), *_missed(record, since, until)]
    return record._replace(pending=write_pending(_merged(record, points)))


def _missed(record: JobRecord, since: int, until: int) -> list[Point]:
    """Return the points in (since, until] that a job's policy catches up."""
    policy, entries = record.spec.policy, record.spec.schedules
    if policy.catch_up_max_age_ms is not None:
        since = max(since, until - policy.catch_up_max_age_ms - 1)
    if policy.catch_up is CatchUp.ALL:
        return _newest(record, entries, since, until, policy.catch_up_limit)
    return _newest_of_each(record, entries, since, until)


# --- Points --------------------------------------------------------------------------------------------


def _newest_of_each(record: JobRecord, entries: Sequence[Entry], since: int, until: int) -> list[Point]:
    """Return the newest point for each distinct set of parameters of these schedules."""
    groups: dict[tuple[tuple[str, str], ...], list[Entry]] = {}
    for entry in entries:
        values = record.spec.parameters_for((entry.key,))
        groups.setdefault(tuple(values.items()), []).append(entry)
    return [point for group in groups.values() for point in _newest(record, group, since, until, 1)]


def _newest(record: JobRecord, entries: Sequence[Entry], since: int, until: int, most: int) -> list[Point]:
    """Return the newest points of some schedules in (since, until], oldest first."""
    back = takewhile(lambda point: point.at > since, _points_back(record, entries, until))
    return list(islice(back, most))[::-1]


def newest_point(record: JobRecord, until: int) -> Point | None:
    """Return the last grid point of a job at or before an instant."""
    return next(_points_back(record, record.spec.schedules, until), None)


def _points_back(record: JobRecord, entries: Sequence[Entry], until: int) -> Iterator[Point]:
    """Yield the points at or before an instant, newest first."""
    anchor_at, ended_at = record.spec.anchor_at, last_end(record)
    jitter = jitter_of(record) if isinstance(record.spec.schedule, Several) else NO_JITTER
    while True:
        due = [previous_due(entry, until, anchor_at, ended_at, jitter) for entry in entries]
        newest = max((at for at in due if at is not None), default=None)
        if newest is None:
            return
        keys = (entry.key for entry, at in zip(entries, due, strict=True) if at == newest)
        yield Point(newest, tuple(filter(None, keys)))
        until = newest - 1


def _merged(record: JobRecord, points: Iterable[Point]) -> list[Point]:
    """Return points in order; those that coincide are one."""
    points = list(points)
    if len(points) <= 1:
        return points  # The usual case among the thousands of jobs in a recovery.
    keys: dict[int, set[str]] = {}
    for point in points:
        keys.setdefault(point.at, set()).update(point.keys)
    order = [entry.key for entry in record.spec.schedules]
    return [Point(at, tuple(key for key in order if key in keys[at])) for at in sorted(keys)]


# --- The end of a schedule -----------------------------------------------------------------------------


def slept_through(record: JobRecord, reason: SkipReason, why: Message, until: int, now_ms: int) -> Run | None:
    """Return the record of a job's last time, if it passed by an instant while the job could not run.

    No later run counts it or the times before it.
    """
    spec = record.spec
    if record.disabled_reason is not None or not is_used_up(spec.schedule, until, spec.anchor_at):
        return None
    newest = newest_point(record, until)
    if newest is None:
        return None
    entries = spec.schedule.find(newest.keys) if isinstance(spec.schedule, Several) else spec.schedules
    skipped = max(0, count_between(record, record.counted_until, newest.at) - 1)
    return Run(
        id=new_run_id(),
        job_id=record.id,
        trigger=Trigger.SCHEDULE,
        source=Source(entries[0].schedule.kind),
        slot_at=newest.at,
        schedule_keys=newest.keys,
        outcome=Outcome.SKIPPED,
        reason=reason,
        message=why,
        finished_at=now_ms,
        passed_over=skipped,
        passed_reason=PassedReason(reason) if skipped else "",
    )
