"""Which planned runs fall into a quiet time."""

from __future__ import annotations

from halo_scheduler.model import After, InQuietTime, Job, JobStatus
from halo_scheduler.model.quiet_times import QuietTime
from halo_scheduler.schedule.quiet_times import Quiet, quiet_at
from halo_scheduler.service.scheduler import Scheduler


class QuietHours:
    """Tells which instants are quiet; quick for many that follow each other."""

    def __init__(self, times: tuple[QuietTime, ...] = ()) -> None:
        self._times = times
        self._last_found: dict[str | None, tuple[int, Quiet]] = {}

    @property
    def are_any(self) -> bool:
        """Whether anything is quiet at any time."""
        return bool(self._times)

    def find(self, group: str | None, at: int) -> Quiet | None:
        """Return what keeps the jobs of a group quiet at an instant."""
        if not self._times:
            return None
        if group in self._last_found:
            since, quiet = self._last_found[group]
            # From there on until its end it is quiet without a break.
            if since <= at < quiet.until:
                return quiet
        found = quiet_at(self._times, group, at)
        if found is not None:
            self._last_found[group] = (at, found)
        return found

    def of(self, job: Job) -> Quiet | None:
        """Return the quiet time that a job's planned run falls into; of one that waits that is told already."""
        if job.next_run_at is None or job.waiting_for is not None or job.status is not JobStatus.IDLE:
            return None
        return self.find(job.group, job.next_run_at)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, QuietHours) and other._times == self._times

    def __hash__(self) -> int:
        return hash(self._times)


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
