"""What comes next, across all jobs."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from halo_scheduler.model import After, InQuietTime, Job
from halo_scheduler.model.quiet_times import Quiet, QuietTime
from halo_scheduler.rules.statistics import run_after
from halo_scheduler.schedule.next_run import next_run
from halo_scheduler.schedule.quiet_times import quiet_at
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Upcoming:
    """A run that is to come: the planned one of its job, or a grid point after it.

    `quiet` is the quiet time that it falls into; `goes_on` tells that more runs of its job lie before the end of the
    list, which has no room for them.
    """

    job: Job
    at: int
    is_planned: bool
    quiet: Quiet | None = None
    goes_on: bool = False


def upcoming(store: Store, count: int, now_ms: int, job_ids: Collection[str] | None = None) -> list[Upcoming]:
    """Return the next runs of all jobs, or of some, by their times.

    One that runs every minute hides no other: each job's next run comes first, and others only where room is left.
    """
    quiet_times = store.settings.quiet_times()
    records = [record for record in store.jobs.all() if record.is_active]
    rows = [
        _runs(record, quiet_times, now_ms) for record in records if job_ids is None or record.id in job_ids
    ]
    return _chosen(rows, count)


def _chosen(rows: list[Iterator[Upcoming]], count: int) -> list[Upcoming]:
    begun = sorted(((run, row) for row in rows for run in islice(row, 1)), key=lambda first: first[0].at)
    del begun[count:]
    found = [run for run, _ in begun]
    # Of each job the first run that has no room yet; the place decides between runs at the same time.
    left = [(run.at, place, run, row) for place, (_, row) in enumerate(begun) for run in islice(row, 1)]
    heapq.heapify(left)
    while left and len(found) < count:
        _, place, run, row = left[0]
        found.append(run)
        following = next(row, None)
        if following is None:
            heapq.heappop(left)
        else:
            heapq.heapreplace(left, (following.at, place, following, row))
    found.sort(key=lambda run: run.at)
    return _with_those_that_go_on(found, {run.job.id: at for at, _, run, _ in left})


def _with_those_that_go_on(found: list[Upcoming], left: dict[str, int]) -> list[Upcoming]:
    """Return the runs, the last of each job telling whether others were left out before the end of all."""
    last = {run.job.id: place for place, run in enumerate(found)}
    for job_id, place in last.items():
        run = found[place]
        next_at = left.get(job_id)
        if isinstance(run.job.schedule, After):
            next_at = run.at + run.job.schedule.after_ms
        if next_at is not None and next_at <= found[-1].at:
            found[place] = replace(run, goes_on=True)
    return found


def _runs(record: JobRecord, quiet_times: tuple[QuietTime, ...], now_ms: int) -> Iterator[Upcoming]:
    """Yield the planned run of a job, then what its schedule gives after it."""
    spec, job = record.spec, record.job
    at = record.next_run_at
    is_planned = at is not None
    if at is None and not isinstance(spec.schedule, After):
        # It runs just now, and is planned anew when that ends.
        at = next_run(spec.schedule, now_ms, anchor_at=spec.anchor_at)
    while at is not None:
        quiet = quiet_at(quiet_times, spec.group, max(at, now_ms))
        yield Upcoming(job=job, at=at, is_planned=is_planned, quiet=quiet)
        if isinstance(spec.schedule, After):
            return  # The others wait for the end of this one.
        started_at = max(at, now_ms)
        if quiet is not None and spec.policy.in_quiet_time is InQuietTime.WAIT:
            # What falls due while this one waits is passed over.
            started_at = quiet.until
        at, is_planned = run_after(record, started_at), False
