"""The active runs of this engine, adopted ones included: their jobs, deadlines and polls."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

from halo_scheduler.actions.run_services import BY_USER, RESTART, TIME_LIMIT, Ended, StopReason, Work
from halo_scheduler.actions.runner import BegunStop, Leftover, Runner
from halo_scheduler.clock import ClockSteps
from halo_scheduler.errors import StoreError
from halo_scheduler.grammar.interval import MINUTE_MS
from halo_scheduler.host.process import age_ms
from halo_scheduler.model import ProcessAction, Run, Trigger
from halo_scheduler.model.alarms import UnrecordedEnd
from halo_scheduler.model.messages import MessageKind
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.requests import Request, RequestKind
from halo_scheduler.store.store import Store
from halo_scheduler.work_sources.work_desk import WorkDesk

_LOG = logging.getLogger(__name__)
# A process starts up to this much later than its run, which may take a work item first.
_LONGEST_START_MS = MINUTE_MS
# An age is rounded, and a process may not be older than its run.
_LEAST_STEP_MS = 1_000
_KEPT_TO_THE_END = (Trigger.TEST, Trigger.ANSWER)


class ActiveRun(NamedTuple):
    """A claimed run whose end is not recorded yet.

    (A tuple, because a tick may create thousands.)
    """

    run: Run
    group: str | None
    deadline_at: int | None
    takes_items: bool
    job_name: str
    keeps_awake: bool
    stepped_ms: int = 0
    """By how much the clock was set since its start."""

    @classmethod
    def of(cls, record: JobRecord, run: Run) -> Self:
        action = record.spec.action
        return cls(
            run=run,
            group=record.spec.group,
            deadline_at=deadline_at(record, run),
            takes_items=isinstance(action, ProcessAction) and action.work_source is not None,
            job_name=record.spec.name,
            keeps_awake=record.spec.policy.keep_awake,
        )


class ActiveRuns:
    """All active runs; an ended run is removed only after its end is committed."""

    def __init__(self, clock_steps: ClockSteps) -> None:
        self._clock_steps = clock_steps
        self._runs: dict[str, ActiveRun] = {}
        self._stopping: dict[str, StopReason] = {}
        self._done: set[str] = set()
        self.works: dict[str, Work] = {}
        """What can be polled and stopped; functions cannot."""

    def __len__(self) -> int:
        return len(self._runs)

    def __contains__(self, run_id: str) -> bool:
        return run_id in self._runs

    def __getitem__(self, run_id: str) -> ActiveRun:
        return self._runs[run_id]

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(self._runs)

    def add(self, active_run: ActiveRun) -> None:
        self._runs[active_run.run.id] = active_run

    def get(self, run_id: str) -> ActiveRun | None:
        return self._runs.get(run_id)

    # --- Ends ----------------------------------------------------------------------------------------

    def mark_done(self, run_ids: Iterable[str]) -> None:
        """Mark runs whose ends are being written."""
        self._done.update(run_ids)

    def mark_none_done(self) -> None:
        """Clear the marks of `mark_done`: the transaction failed, or a new one begins."""
        self._done.clear()

    def is_done(self, run_id: str) -> bool:
        return run_id in self._done

    def still_running(self) -> list[ActiveRun]:
        """Return the runs that have not ended."""
        return [active_run for run_id, active_run in self._runs.items() if run_id not in self._done]

    def forget_done(self) -> list[str]:
        """Remove the runs whose ends are committed, and return them."""
        done = [run_id for run_id in self._done if self._runs.pop(run_id, None) is not None]
        for run_id in self._done:
            self.works.pop(run_id, None)
            self._stopping.pop(run_id, None)
        self._done.clear()
        return done

    def clock_step_ms(self, run_id: str, finished_at: int) -> int:
        """Return which part of the time from a run's start to its end, which is now, did not pass."""
        active_run = self._runs.get(run_id)
        if active_run is None or active_run.run.started_at is None:
            return 0
        step_ms = active_run.stepped_ms + self._clock_steps.peek()
        by_wall_ms = finished_at - active_run.run.started_at
        # The store lets no run end before it started.
        return max(by_wall_ms, 0) - max(by_wall_ms - step_ms, 0) if step_ms else 0

    # --- Stops ---------------------------------------------------------------------------------------

    def overdue(self, now_ms: int) -> list[ActiveRun]:
        """Return the runs past their time limit."""
        return [
            active_run
            for active_run in self.still_running()
            if active_run.deadline_at is not None and active_run.deadline_at <= now_ms
        ]

    @property
    def next_deadline_at(self) -> int | None:
        """The next deadline of a run that is not already being stopped."""
        ahead = (one.deadline_at for run_id, one in self._runs.items() if run_id not in self._stopping)
        return min((at for at in ahead if at is not None), default=None)

    def want_all_stopped(self, why: StopReason) -> None:
        """Request a stop of every run that can be stopped."""
        for run_id in self.works:
            self.want_stop(run_id, why)

    def want_stop(self, run_id: str, why: StopReason) -> None:
        """Request a stop of a run; the first reason is kept."""
        self._stopping.setdefault(run_id, why)

    def restart(self, run_ids: Iterable[str]) -> None:
        """Request a stop of runs whose jobs are due again; functions cannot be stopped, so the next run waits."""
        for run_id in run_ids:
            if run_id in self.works and self._runs[run_id].run.trigger not in _KEPT_TO_THE_END:
                self.want_stop(run_id, RESTART)

    def stop_what_must(self, now_ms: int) -> None:
        for run_id, why in self._stopping.items():
            try:
                self.works[run_id].stop(now_ms, why)
            except Exception:  # noqa: BLE001 - one run that cannot be stopped must not keep the others running
                _LOG.exception("A run could not be asked to stop; retrying.")

    def stop_now(self, run_ids: Iterable[str], now_ms: int) -> None:
        """Stop the runs with a stop request and those past their time limit; Python functions cannot be stopped."""
        wanted = {one.run.id: TIME_LIMIT for one in self.overdue(now_ms)} | dict.fromkeys(run_ids, BY_USER)
        for run_id in wanted.keys() & self.works.keys():
            self.want_stop(run_id, wanted[run_id])
        self.stop_what_must(now_ms)

    def stop_without_store(self, store: Store, now_ms: int) -> None:
        """Stop runs while the store cannot be written; this only needs to read it."""
        requests: list[Request] = []
        with suppress(StoreError):
            requests = store.requests.others()
        self.mark_none_done()
        self.stop_now((one.run_id for one in requests if one.kind is RequestKind.CANCEL), now_ms)

    def unrecorded(self, ends: Iterable[Ended]) -> tuple[UnrecordedEnd, ...]:
        """Return the ends that could not be recorded yet."""
        return tuple(
            UnrecordedEnd(end.run_id, self._runs[end.run_id].run.job_id, end.outcome, end.finished_at or 0)
            for end in ends
            if end.run_id in self._runs
        )

    # --- Polling -------------------------------------------------------------------------------------

    @property
    def next_poll_at(self) -> int | None:
        """When the next run is due for a poll."""
        polls = (work.next_poll_at for work in self.works.values())
        return min((at for at in polls if at is not None), default=None)

    def poll(self, now_ms: int) -> list[tuple[str, float, str]]:
        """Poll the runs that are due for it, and return the progress of those that made some."""
        due = [
            (run_id, work)
            for run_id, work in self.works.items()
            if work.next_poll_at is not None and work.next_poll_at <= now_ms
        ]
        return self._polled(due, now_ms)

    def poll_all(self, now_ms: int) -> None:
        """Poll every run regardless of its poll time, so that it can shorten its output."""
        self._polled(list(self.works.items()), now_ms)

    def _polled(self, works: list[tuple[str, Work]], now_ms: int) -> list[tuple[str, float, str]]:
        news: list[tuple[str, float, str]] = []
        for run_id, work in works:
            try:
                progress = work.poll(now_ms)
            except OSError as error:
                _LOG.warning("A run could not be polled: %s", error)
                continue
            news += [(run_id, *progress)] if progress else []
        return news

    def shift(self, by_ms: int) -> None:
        """Shift all deadlines and poll times after the clock was set."""
        for work in self.works.values():
            work.shift(by_ms)
        for run_id, one in self._runs.items():
            ends_at = None if one.deadline_at is None else one.deadline_at + by_ms
            self._runs[run_id] = one._replace(deadline_at=ends_at, stepped_ms=one.stepped_ms + by_ms)

    def leave(self) -> None:
        """Leave the processes of active runs alive, for the next engine to adopt."""
        for work in self.works.values():
            work.leave()
        self.works.clear()


def deadline_at(record: JobRecord, run: Run) -> int | None:
    """Return the instant at which a run reaches its time limit."""
    limit_ms = record.spec.policy.time_limit_ms
    return None if limit_ms is None or run.started_at is None else run.started_at + limit_ms


@dataclass(frozen=True, slots=True)
class Leftovers:
    """The unfinished runs of the previous engine: those that have ended, and those whose processes are alive."""

    ended: list[Leftover]
    living: list[tuple[Leftover, ActiveRun]]


def find_leftovers(
    store: Store, runner: Runner, work_desk: WorkDesk, now_ms: int, awake_until: int
) -> Leftovers:
    """Find the unfinished runs of the previous engine, inside the transaction that takes over its lease."""
    claimed = work_desk.claimed()
    runs = [_with_item(store, work_desk, run) if run.id in claimed else run for run in store.runs.running()]
    records = _as_started(store, runs)
    specs = {job_id: record.spec for job_id, record in records.items()}
    stops = _begun_stops(store, runs, records, awake_until)
    found = runner.find_leftovers(runs, specs, stops, now_ms)
    living = [
        # The job may have been edited since: the run keeps what it started with.
        (left, _adopted(record, left, now_ms)._replace(takes_items=left.run.id in claimed))
        for left in found
        if left.session is not None and (record := records.get(left.run.job_id)) is not None
    ]
    return Leftovers([left for left in found if left.session is None], living)


def _adopted(record: JobRecord, left: Leftover, now_ms: int) -> ActiveRun:
    active_run = ActiveRun.of(record, left.run)
    if left.run.started_at is None:
        return active_run
    began_at = now_ms - _active_ms(left, now_ms - left.run.started_at)
    ends_at = deadline_at(record, replace(left.run, started_at=began_at))
    return active_run._replace(deadline_at=ends_at, stepped_ms=began_at - left.run.started_at)


def _active_ms(left: Leftover, by_wall_ms: int) -> int:
    """Return for how long a run has been active; by the age of its process if the clock was set since its start."""
    age = age_ms(left.session) if left.session is not None and left.is_main_alive else None
    has_waited = any(note.kind is MessageKind.WAITED_FOR_SHORTAGE for note in left.run.notes)
    if age is None or has_waited or age - _LEAST_STEP_MS < by_wall_ms < age + _LONGEST_START_MS:
        return max(by_wall_ms, 0)
    return age


def _with_item(store: Store, work_desk: WorkDesk, run: Run) -> Run:
    """Return a run with its work item, even if the previous engine crashed before storing it."""
    work_id = run.work_id or work_desk.taken(run.id)
    if work_id == run.work_id:
        return run
    store.runs.save_work(run.id, work_id, work_id, "")
    return replace(run, work_id=work_id, work_title=work_id)


def _as_started(store: Store, runs: list[Run]) -> dict[str, JobRecord]:
    """Return the jobs of runs; a test run's job is the edited version under test."""
    records = store.jobs.get_many({run.job_id for run in runs})
    tests = store.requests.tests_under_way()
    for run in runs:
        if run.id in tests and run.job_id in records:
            records[run.job_id] = records[run.job_id].evolve(spec=tests[run.id])
    return records


def _begun_stops(
    store: Store, runs: list[Run], records: Mapping[str, JobRecord], awake_until: int
) -> dict[str, BegunStop]:
    """Return the runs that the previous engine was asked to stop, since it may have crashed before doing so."""
    deadlines = {run.id: deadline_at(records[run.job_id], run) for run in runs if run.job_id in records}
    stops = {
        run_id: BegunStop(TIME_LIMIT, ends_at)
        for run_id, ends_at in deadlines.items()
        if ends_at is not None and ends_at <= awake_until
    }
    for record in records.values():
        if record.run_id is not None and record.restarts_at is not None and record.restarts_at <= awake_until:
            stops.setdefault(record.run_id, BegunStop(RESTART, record.restarts_at))
    for request in store.requests.others():
        if request.kind is RequestKind.CANCEL:
            stops.setdefault(request.run_id, BegunStop(BY_USER, request.at))
    return stops
