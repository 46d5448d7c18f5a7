"""What the last engine left: runs that ended without a record, and runs whose processes still live."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from halo_scheduler.actions.run_services import BY_USER, TIME_LIMIT
from halo_scheduler.actions.runner import BegunStop, Leftover, Runner
from halo_scheduler.engine.active_runs import ActiveRun, deadline_at
from halo_scheduler.model import Run
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.requests import RequestKind
from halo_scheduler.store.store import Store
from halo_scheduler.work_sources.work_desk import WorkDesk


@dataclass(frozen=True, slots=True)
class Leftovers:
    """What was found: runs that have ended, and those whose processes still live."""

    ended: list[Leftover]
    living: list[tuple[Leftover, ActiveRun]]


def find_leftovers(
    store: Store, runner: Runner, work_desk: WorkDesk, now_ms: int, awake_until: int
) -> Leftovers:
    """Look, inside the transaction in which an engine takes over, what became of the runs of the last one."""
    claimed = work_desk.claimed()
    runs = [_with_item(store, work_desk, run) if run.id in claimed else run for run in store.runs.running()]
    records = _as_started(store, runs)
    specs = {job_id: record.spec for job_id, record in records.items()}
    stops = _begun_stops(store, runs, records, awake_until)
    found = runner.find_leftovers(runs, specs, stops, now_ms)
    living = [
        # The job may have been edited since: what counts is what its run took.
        (
            left,
            ActiveRun.of(record, left.run)._replace(
                takes_items=left.run.id in claimed, deadline_at=_deadline(record, left.run, now_ms)
            ),
        )
        for left in found
        if left.session is not None and (record := records.get(left.run.job_id)) is not None
    ]
    return Leftovers([left for left in found if left.session is None], living)


def _deadline(record: JobRecord, run: Run, now_ms: int) -> int | None:
    """Return when a run is stopped; one that began in what is now the future counts as begun now."""
    began_at = None if run.started_at is None else min(run.started_at, now_ms)
    return deadline_at(record, replace(run, started_at=began_at))


def _with_item(store: Store, work_desk: WorkDesk, run: Run) -> Run:
    """Return a run with the item it took, also if the last engine died before that was written."""
    work_id = run.work_id or work_desk.taken(run.id)
    if work_id == run.work_id:
        return run
    store.runs.save_work(run.id, work_id, work_id, "")
    return replace(run, work_id=work_id, work_title=work_id)


def _as_started(store: Store, runs: list[Run]) -> dict[str, JobRecord]:
    """Return the jobs of runs; one that is being tried as it was edited, so."""
    records = store.jobs.get_many({run.job_id for run in runs})
    tests = store.requests.tests_under_way()
    for run in runs:
        if run.id in tests and run.job_id in records:
            records[run.job_id] = records[run.job_id].evolve(spec=tests[run.id])
    return records


def _begun_stops(
    store: Store, runs: list[Run], records: Mapping[str, JobRecord], awake_until: int
) -> dict[str, BegunStop]:
    """Return the runs that the last engine was to stop; it may have died on the way."""
    deadlines = {run.id: deadline_at(records[run.job_id], run) for run in runs if run.job_id in records}
    stops = {
        run_id: BegunStop(TIME_LIMIT, ends_at)
        for run_id, ends_at in deadlines.items()
        if ends_at is not None and ends_at <= awake_until
    }
    for request in store.requests.others():
        if request.kind is RequestKind.CANCEL:
            stops.setdefault(request.run_id, BegunStop(BY_USER, request.at))
    return stops
