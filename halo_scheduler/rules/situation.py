"""Computes the situations of jobs, which every surface shows; no surface decides on its own."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from halo_scheduler.model.schedules import events_of
from halo_scheduler.model.situation import Capacity, Situation, Waiting, asked_waiting
from halo_scheduler.model.words import JobStatus, SkipReason, Source, WaitingFor
from halo_scheduler.store.connection import Database
from halo_scheduler.store.job_lines import AskedRun, JobLine, JobLineTable

if TYPE_CHECKING:
    from halo_scheduler.model.settings import Quiet
    from halo_scheduler.schedule.calendar import QuietHours
    from halo_scheduler.store.job_records import JobRecord


def read_situations(
    database: Database, now_ms: int, job_ids: Iterable[str] | None = None
) -> list[tuple[JobLine, Situation]]:
    """Return the situations of all jobs by next run, or of some jobs, from one snapshot."""
    table = JobLineTable(database)
    with database.snapshot():
        lines = table.all() if job_ids is None else table.get_many(job_ids)
        shared = _Shared(database, table, now_ms)
        return [(line, shared.situation(line)) for line in lines]


def due_waiting(database: Database, record: JobRecord) -> Waiting | None:
    """Return what a job's due run waits for, including the limit if one is reached."""
    waiting = record.waiting
    if waiting is None or waiting.kind is not WaitingFor.AT_CAPACITY:
        return waiting
    return waiting._replace(capacity=Capacities(database).find(record.spec.group))


class Capacities:
    """Finds which concurrency limit keeps jobs from starting; read on first use."""

    def __init__(self, database: Database) -> None:
        from halo_scheduler.store.settings import MAX_CONCURRENT, GroupTable, SettingTable  # noqa: PLC0415 - rare

        self._running = JobLineTable(database).running()
        self._limit = SettingTable(database).number(MAX_CONCURRENT)
        self._group_limits = GroupTable(database).limits()

    def find(self, group: str | None, *, passes_group: bool = False) -> Capacity | None:
        """Return the limit that is reached: the group's, unless it is ignored, else the limit for all jobs; or None."""
        in_group = tuple(job.name for job in self._running if job.group == group)
        limit = None if passes_group else self._group_limits.get(group or "")
        if limit is not None and len(in_group) >= limit:
            return Capacity(limit, len(in_group), group, in_group)
        if len(self._running) >= self._limit:
            return Capacity(self._limit, len(self._running), None, tuple(job.name for job in self._running))
        return None


class _Shared:
    """What situations depend on beside the jobs; read once, and the rarer parts only on demand."""

    def __init__(self, database: Database, table: JobLineTable, now_ms: int) -> None:
        self._database = database
        self._table = table
        self._now_ms = now_ms
        self._questions = table.questions()
        self._asked_runs = table.asked_runs(now_ms)
        self._later_runs = table.later_runs(now_ms)
        self._delayed_events = table.delayed_events(now_ms)
        self._watch_troubles = table.watch_troubles()
        self._predecessors = table.predecessors()
        self._reached_caps = table.reached_caps()
        self._has_quiet_times = table.has_quiet_times()

    def situation(self, line: JobLine) -> Situation:
        waiting = self._waiting(line)
        is_planned = line.next_run_at is not None
        quiet = self._quiet(line) if is_planned and waiting is None else None
        question = self._questions.get(line.id)
        next_run_at, next_source = self._next_run(line)
        return Situation(
            job_id=line.id,
            name=line.name,
            status=line.status,
            reason=line.status_reason,
            paused_until=line.paused_until,
            question=question,
            waiting=waiting,
            blocker=self._blocker(line, quiet) if is_planned else None,
            quiet=quiet,
            next_run_at=next_run_at,
            next_source=next_source,
            then_at=self._run_after_next(line.id) if line.skips_next and is_planned else None,
            later_at=self._later_runs.get(line.id),
            after=self._predecessors.get(line.id, ()),
            events=tuple(entry.schedule for entry in events_of(line.schedule)),
            watch_trouble=self._watch_troubles.get(line.id, ""),
            errors=line.errors,
            last_run_at=line.last_run_at,
            last_outcome=line.last_outcome,
            resumed_since_run=line.resumed_since_run,
        )

    def _next_run(self, line: JobLine) -> tuple[int | None, Source | None]:
        """Return when a job runs next and why: its slot, or an earlier run of an event."""
        delayed = self._delayed_events.get(line.id)
        if delayed is None or (line.next_run_at is not None and line.next_run_at <= delayed.at):
            return line.next_run_at, line.next_source
        return delayed.at, Source.RETRY if delayed.attempt > 1 else None

    # --- Waiting -------------------------------------------------------------------------------------

    def _waiting(self, line: JobLine) -> Waiting | None:
        """Return what the first pending run waits for: a manual run, then the due one, then a chain run."""
        asked = None if line.status is JobStatus.RUNNING else self._asked_runs.get(line.id)
        if asked is not None and (not asked.cause_name or line.waiting_for is None):
            return self._asked_waiting(line, asked)
        if line.waiting_for is None:
            return None
        return Waiting(
            kind=line.waiting_for,
            details=line.waiting_details,
            since=line.next_run_at,
            deadline=line.waits_until,
            capacity=self._capacity(line) if line.waiting_for is WaitingFor.AT_CAPACITY else None,
        )

    def _asked_waiting(self, line: JobLine, asked: AskedRun) -> Waiting:
        needs_place = asked.waiting_for in (None, WaitingFor.AT_CAPACITY)
        return asked_waiting(
            asked.waiting_for,
            asked.waiting_details,
            since=asked.at,
            deadline=asked.waits_until,
            capacity=self._capacity(line, passes_group=asked.passes_group) if needs_place else None,
            cause_name=asked.cause_name,
        )

    def _capacity(self, line: JobLine, *, passes_group: bool = False) -> Capacity | None:
        return self._capacities.find(line.group, passes_group=passes_group)

    @cached_property
    def _capacities(self) -> Capacities:
        return Capacities(self._database)

    # --- What will skip or delay the planned run -----------------------------------------------------

    def _blocker(self, line: JobLine, quiet: Quiet | None) -> SkipReason | None:
        if line.skips_next:
            return SkipReason.USER
        if line.id in self._questions:
            return SkipReason.NEEDS_INPUT
        if self._reached_caps and self._is_capped(line):
            return SkipReason.CAP
        is_skipped = quiet is not None and line.id in self._skipping_quiet
        return SkipReason.QUIET_TIME if is_skipped else None

    def _run_after_next(self, job_id: str) -> int | None:
        """Return when a job runs after its next run, which is skipped."""
        from halo_scheduler.rules.statistics import run_after  # noqa: PLC0415 - only for a skipped run
        from halo_scheduler.store.jobs import JobTable  # noqa: PLC0415 - likewise

        record = JobTable(self._database).get(job_id)
        if record is None or record.next_run_at is None:
            return None
        return run_after(record, max(record.next_run_at, self._now_ms))

    def _is_capped(self, line: JobLine) -> bool:
        from halo_scheduler.schedule.calendar import local_day  # noqa: PLC0415 - only if a job has reached a limit

        return (line.id, local_day(max(self._now_ms, line.next_run_at or 0))) in self._reached_caps

    def _quiet(self, line: JobLine) -> Quiet | None:
        if not self._has_quiet_times:
            return None
        return self._quiet_hours.find(line.group, max(self._now_ms, line.next_run_at or 0))

    @cached_property
    def _quiet_hours(self) -> QuietHours:
        from halo_scheduler.schedule.calendar import QuietHours  # noqa: PLC0415 - only if there are any
        from halo_scheduler.store.settings import SettingTable  # noqa: PLC0415 - likewise

        return QuietHours(SettingTable(self._database).quiet_times())

    @cached_property
    def _skipping_quiet(self) -> set[str]:
        return self._table.skipping_quiet()
