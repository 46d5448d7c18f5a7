"""Which planned runs fall into a quiet time."""

from __future__ import annotations

from halo_scheduler.model import After, InQuietTime, Job
from halo_scheduler.model.quiet_times import Quiet
from halo_scheduler.schedule.quiet_times import QuietHours
from halo_scheduler.service.scheduler import Scheduler


def is_skipped(job: Job) -> bool:
    """Tell whether a job leaves out what falls into a quiet time, instead of waiting for its end."""
    return job.policy.in_quiet_time is InQuietTime.SKIP


def next_runs(
    scheduler: Scheduler, job: Job, hours: QuietHours, count: int, since: int | None = None
) -> list[tuple[int, Quiet | None]]:
    """Return when a job is due next, each time with the quiet time it falls into.

    What falls due while a run waits for the end of one is passed over.
    """
    found: list[tuple[int, Quiet | None]] = []
    while len(found) < count:
        times = scheduler.jobs.next_runs(job.id, count - len(found), since=since)
        since = None
        for at in times:
            quiet = hours.find(job.group, at)
            found.append((at, quiet))
            if quiet is not None and not is_skipped(job):
                since = quiet.until + 1
                break
        # When that one ends, and with it when the others are due, cannot be told.
        if since is None or isinstance(job.schedule, After):
            break
    return found
