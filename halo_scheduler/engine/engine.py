"""The engine: claims what is due, starts it, records how it ended; it never waits for a job."""

from __future__ import annotations

import queue
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

from halo_scheduler.changes import Change, ChangeKind
from halo_scheduler.clock import Clock
from halo_scheduler.engine.handlers import Ended, Handlers
from halo_scheduler.engine.recovery import Recovery, one_job
from halo_scheduler.errors import EngineHeldError, StaleEngineError
from halo_scheduler.host.process import is_alive, own_identity
from halo_scheduler.model import (
    Callback,
    Outcome,
    Run,
    SkipReason,
    Source,
    StatusReason,
    Trigger,
)
from halo_scheduler.planning import LATE_MS, passed_over, plan, plan_after_run, without_plan
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.jobs import JobRecord
from halo_scheduler.store.lease import LEASE_MS, EngineRow
from halo_scheduler.store.requests import Request, RequestKind
from halo_scheduler.store.runs import RunEnd
from halo_scheduler.store.store import Store

MAX_DELAY_MS = 60_000
_SURELY_OURS_MS = 1_000
_UNPLANNABLE = "its next run could not be planned"


@dataclass(frozen=True, slots=True)
class _Running:
    run: Run
    group: str | None
    deadline_at: int | None


class Engine:
    """Runs the jobs of one database, as long as it holds the engine's row."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        handlers: Handlers,
        *,
        max_concurrent: Callable[[], int],
        tell: Callable[[Change], None],
        owner: str,
    ) -> None:
        self._store = store
        self._clock = clock
        self._handlers = handlers
        self._max_concurrent = max_concurrent
        self._tell = tell
        self._owner = owner
        self._generation = 0
        self._last_tick_at = 0
        self._recovery = Recovery(store, 0)
        self._claiming = False
        self._running: dict[str, _Running] = {}
        self._done: set[str] = set()
        self._arrived: queue.SimpleQueue[Ended] = queue.SimpleQueue()
        self._ended: list[Ended] = []
        self._told_unsupported: set[str] = set()
        self.wake: Callable[[], None] = lambda: None

    # --- Life ----------------------------------------------------------------------------------------

    @property
    def is_started(self) -> bool:
        return self._generation > 0

    @property
    def running_count(self) -> int:
        return len(self._running)

    def start(self) -> None:
        """Take the engine's row and put right what the last engine left; EngineHeldError names a holder."""
        now_ms = self._clock.now_ms()
        self._store.check()
        try:
            with self._store.transaction():
                self._take_over(now_ms)
        except BaseException:
            self._generation = 0
            raise
        self._last_tick_at = now_ms
        self._claiming = True
        self._tell(Change(ChangeKind.ENGINE))

    def _take_over(self, now_ms: int) -> None:
        before = self._store.lease.read()
        if before is not None and before.is_held(now_ms) and is_alive(before.pid, before.process_start):
            raise EngineHeldError(f"the jobs are run by {before.owner} (process {before.pid})")
        pid, process_start = own_identity()
        self._generation = 1 if before is None else before.generation + 1
        self._recovery = Recovery(self._store, self._generation)
        self._store.lease.take(
            EngineRow(
                generation=self._generation,
                owner=self._owner,
                pid=pid,
                process_start=process_start,
                expires_at=now_ms + LEASE_MS,
                started_at=now_ms,
                stopped_at=None,
                last_tick_at=now_ms,
                ticks=0,
                runs=0,
                zone=self._recovery.zone,
            )
        )
        self._store.events.append(
            now_ms, EventKind.ENGINE_STARTED, owner=self._owner, generation=self._generation
        )
        self._interrupt_leftovers(now_ms)
        self._drop_stale_requests(now_ms)
        self._recovery.end_pauses(now_ms)
        if before is not None:
            self._recovery.after_restart(before, now_ms)
        self._recovery.plan_the_unplanned(now_ms)

    def stop_claiming(self) -> None:
        """Start nothing any more; what runs goes on."""
        self._claiming = False

    def give_up(self) -> None:
        """Leave the engine's row to others."""
        if not self.is_started:
            return
        now_ms = self._clock.now_ms()
        with self._store.transaction():
            if self._store.lease.give_up(self._generation, now_ms):
                self._store.events.append(now_ms, EventKind.ENGINE_STOPPED, running=len(self._running))
        self._generation = 0
        self._tell(Change(ChangeKind.ENGINE))

    # --- A tick --------------------------------------------------------------------------------------

    def tick(self) -> list[str]:
        """Record what ended, claim what is due in one transaction, then start it; return the started runs."""
        now_ms = self._clock.now_ms()
        self._collect()
        changes: list[Change] = []
        self._done.clear()
        with self._store.transaction():
            changes += self._recovery.end_pauses(now_ms)
            zone = self._recovery.notice_jumps(self._last_tick_at, now_ms)
            self._record_ends(now_ms, changes)
            self._take_cancellations(now_ms, changes)
            self._end_overdue(now_ms, changes)
            claimed = self._claim(now_ms, changes) if self._claiming else []
            self._store.lease.renew(self._generation, now_ms, runs=len(claimed), zone=zone)
        # Only now is it true: what was written can no longer be undone.
        self._recovery.zone = zone
        self._ended = []
        self._last_tick_at = now_ms
        self._forget_done()
        for record, run in claimed:
            self._running[run.id] = _Running(run, record.spec.group, _deadline_at(record, run))
        for change in changes:
            self._tell(change)
        return [run.id for record, run in claimed if self._try_to_start(record, run)]

    def delay_ms(self) -> int:
        """Return how long the loop may sleep."""
        now_ms = self._clock.now_ms()
        instants = [self._store.jobs.next_instant(self._last_tick_at)]
        instants += [running.deadline_at for running in self._running.values()]
        ahead = min((at for at in instants if at is not None), default=now_ms + MAX_DELAY_MS)
        return min(max(ahead - now_ms, 0), MAX_DELAY_MS)

    def wait_for_end(self, timeout_s: float) -> bool:
        """Wait until some run ends, for those who have no event loop; tell whether one did."""
        try:
            self._ended.append(self._arrived.get(timeout=timeout_s))
        except queue.Empty:
            return False
        return True

    def _collect(self) -> None:
        while True:
            try:
                self._ended.append(self._arrived.get_nowait())
            except queue.Empty:
                return

    def _still_running(self) -> list[_Running]:
        """Return the runs that have not ended; what ends is forgotten only once that is written."""
        return [running for run_id, running in self._running.items() if run_id not in self._done]

    def _forget_done(self) -> None:
        for run_id in self._done:
            self._running.pop(run_id, None)
        self._done.clear()

    # --- Ends ----------------------------------------------------------------------------------------

    def _record_ends(self, now_ms: int, changes: list[Change]) -> None:
        ends = {ended.run_id: ended for ended in self._ended if ended.run_id in self._running}
        self._finish(
            [
                (
                    self._running[ended.run_id].run,
                    RunEnd(outcome=ended.outcome, finished_at=now_ms, error=ended.error),
                )
                for ended in ends.values()
            ],
            changes,
        )

    def _end_overdue(self, now_ms: int, changes: list[Change]) -> None:
        """Record runs past their time limit; what their handlers return later is ignored."""
        overdue = [
            running.run
            for running in self._still_running()
            if running.deadline_at is not None and running.deadline_at <= now_ms
        ]
        end = RunEnd(outcome=Outcome.TIMEOUT, finished_at=now_ms, error="it ran longer than its time limit")
        self._finish([(run, end) for run in overdue], changes)

    def _finish(self, ends: list[tuple[Run, RunEnd]], changes: list[Change]) -> None:
        """Write how runs ended, and plan their jobs anew."""
        if not ends:
            return
        self._done.update(run.id for run, _ in ends)
        self._store.runs.finish([(run.id, end) for run, end in ends])
        records = self._store.jobs.get_many({run.job_id for run, _ in ends})
        saved: list[JobRecord] = []
        for run, end in ends:
            record = records.get(run.job_id)
            if record is None or record.run_id != run.id:
                continue
            after: JobRecord | None = None
            with one_job(self._store, record.id, end.finished_at):
                after = plan_after_run(record, run, end, self._store.runs.has_slot)
            if after is None:
                # A fault in planning must not leave the job running for ever.
                after = record.evolve(
                    run_id=None, disabled_reason=StatusReason.ERRORS, last_error=_UNPLANNABLE
                )
            if after.disabled_reason is not None and record.disabled_reason is None:
                self._tell_disabled(after, end.finished_at)
            records[record.id] = after
            saved.append(after)
            changes.append(Change(ChangeKind.RUN_FINISHED, job_id=run.job_id, run_id=run.id))
        self._store.jobs.save_states(saved)

    def _tell_disabled(self, record: JobRecord, now_ms: int) -> None:
        self._store.events.append(
            now_ms, EventKind.JOB_DISABLED, record.id, reason=record.disabled_reason, errors=record.errors
        )

    def _interrupt_leftovers(self, now_ms: int) -> None:
        """Record what the last engine left running: its slots are used up."""
        end = RunEnd(outcome=Outcome.INTERRUPTED, finished_at=now_ms, error="Halo ended while it ran")
        self._finish([(run, end) for run in self._store.runs.running()], [])
        self._done.clear()

    def _drop_stale_requests(self, now_ms: int) -> None:
        """Do not start by hand today what someone asked for while no engine was there to hear it."""
        for request in self._store.requests.all(RequestKind.TRIGGER):
            record = self._store.jobs.get(request.job_id)
            if now_ms - request.at <= LATE_MS or record is None:
                continue
            run = Run(
                id=request.run_id,
                job_id=request.job_id,
                trigger=Trigger.MANUAL,
                source=Source.MANUAL,
                outcome=Outcome.SKIPPED,
                reason=SkipReason.MISSED,
                error="Halo was not running when this was asked for",
                finished_at=now_ms,
            )
            self._store.runs.insert([run], self._generation)
            self._store.requests.close(request)

    # --- Claiming ------------------------------------------------------------------------------------

    def _claim(self, now_ms: int, changes: list[Change]) -> list[tuple[JobRecord, Run]]:
        """Turn due jobs into running ones, the oldest slot first, as far as there are places."""
        running = self._still_running()
        places = self._max_concurrent() - len(running)
        claimed = self._claim_by_hand(now_ms, places)
        in_group = Counter(item.group for item in running)
        in_group.update(record.spec.group for record, _ in claimed)
        claimed += self._claim_due(
            now_ms, places - len(claimed), in_group, {record.id for record, _ in claimed}
        )
        self._store.runs.insert([run for _, run in claimed], self._generation)
        self._store.jobs.save_states([record for record, _ in claimed])
        self._store.jobs.mark_waiting(now_ms)
        changes += [Change(ChangeKind.RUN_STARTED, job_id=run.job_id, run_id=run.id) for _, run in claimed]
        return claimed

    def _claim_due(
        self, now_ms: int, places: int, in_group: Counter[str | None], seen: set[str]
    ) -> list[tuple[JobRecord, Run]]:
        limits = self._store.groups.limits()
        claimed: list[tuple[JobRecord, Run]] = []
        while len(claimed) < places:
            # Without group limits the oldest slots fill the places; with them, some may have to be passed by.
            page = self._store.jobs.due(now_ms, -1 if limits else places - len(claimed) + len(seen))
            fresh = [record for record in page if record.id not in seen]
            if not fresh:
                break
            for record in fresh:
                seen.add(record.id)
                group = record.spec.group
                if len(claimed) < places and (group not in limits or in_group[group] < limits[group]):
                    found = self._claim_one(record, now_ms)
                    claimed += [found] if found else []
                    in_group[group] += int(found is not None)
        return claimed

    def _claim_one(self, record: JobRecord, now_ms: int) -> tuple[JobRecord, Run] | None:
        """Claim a due job; one whose slot had its run is planned anew, one that cannot be read is disabled."""
        fallback: JobRecord | None = None
        with one_job(self._store, record.id, now_ms):
            if not self._had_its_run(record):
                return self._to_run(record, now_ms)
            fallback = plan(without_plan(record), now_ms, self._store.runs.has_slot)
        if fallback is None:
            reason = StatusReason.ERRORS
            fallback = without_plan(record).evolve(disabled_reason=reason, last_error=_UNPLANNABLE)
        self._store.jobs.save_states([fallback])
        return None

    def _had_its_run(self, record: JobRecord) -> bool:
        """Whether a slot would be run a second time: only a clock that went back can bring it up again."""
        slot_at, last_slot_at = record.slot_at, record.last_slot_at
        if slot_at is None or last_slot_at is None or slot_at > last_slot_at:
            return False
        return self._store.runs.has_attempt(record.id, slot_at, record.attempt)

    def _to_run(self, record: JobRecord, now_ms: int) -> tuple[JobRecord, Run]:
        skipped = passed_over(record)
        run = Run(
            id=uuid.uuid4().hex,
            job_id=record.id,
            trigger=Trigger.SCHEDULE,
            source=record.next_source or Source.MANUAL,
            slot_at=record.slot_at,
            attempt=record.attempt,
            started_at=now_ms,
            late_ms=max(0, now_ms - (record.next_run_at or now_ms)),
            passed_over=skipped,
            passed_reason=record.passed_reason if skipped else "",
        )
        claimed = record.evolve(
            run_id=run.id,
            next_run_at=None,
            next_source=None,
            slot_at=None,
            attempt=1,
            waiting_for=None,
            counted_until=max(record.counted_until, record.slot_at or 0),
            last_slot_at=max(record.last_slot_at or 0, record.slot_at or 0),
            last_run_at=now_ms,
        )
        return claimed, run

    def _take_cancellations(self, now_ms: int, changes: list[Change]) -> None:
        end = RunEnd(outcome=Outcome.CANCELLED, finished_at=now_ms, error="stopped by the user")
        for request in self._store.requests.all(RequestKind.CANCEL):
            running = self._running.get(request.run_id)
            if running is not None and request.run_id not in self._done:
                self._finish([(running.run, end)], changes)
            self._store.requests.close(request)

    def _claim_by_hand(self, now_ms: int, places: int) -> list[tuple[JobRecord, Run]]:
        claimed: list[tuple[JobRecord, Run]] = []
        for request in self._store.requests.all(RequestKind.TRIGGER):
            if len(claimed) >= places:
                break
            is_claimed = any(record.id == request.job_id for record, _ in claimed)
            found = self._by_hand(request, now_ms, is_claimed=is_claimed)
            claimed += [found] if found else []
            self._store.requests.close(request)
        return claimed

    def _by_hand(self, request: Request, now_ms: int, *, is_claimed: bool) -> tuple[JobRecord, Run] | None:
        record = self._store.jobs.get(request.job_id)
        if record is None or record.removed_at is not None:
            return None
        run = Run(
            id=request.run_id,
            job_id=record.id,
            trigger=Trigger.MANUAL,
            source=Source.MANUAL,
            started_at=now_ms,
            late_ms=max(0, now_ms - request.at),
        )
        if record.run_id is not None or is_claimed:
            skipped = replace(
                run,
                outcome=Outcome.SKIPPED,
                reason=SkipReason.ALREADY_RUNNING,
                started_at=None,
                finished_at=now_ms,
            )
            self._store.runs.insert([skipped], self._generation)
            return None
        return record.evolve(run_id=run.id, last_run_at=now_ms), run

    # --- Starting ------------------------------------------------------------------------------------

    def _try_to_start(self, record: JobRecord, run: Run) -> bool:
        """Start a claimed run; whatever keeps it from starting is its failure and nobody else's."""
        try:
            return self._start(record, run)
        except StaleEngineError:
            raise
        except Exception as error:  # noqa: BLE001 - the one broad catch: a fault in one job, recorded
            self._arrive(Ended(run.id, Outcome.FAILURE, f"it could not be started: {error}"))
            return True

    def _start(self, record: JobRecord, run: Run) -> bool:
        """Start a claimed run, if this engine is still the one; a job nobody here can run is skipped."""
        # Right before the start, once more. Nobody takes over a lease that was renewed within this second; but
        # this process may have been frozen since, for longer than the lease lasts.
        if abs(self._clock.now_ms() - self._last_tick_at) > _SURELY_OURS_MS:
            self._store.lease.check(self._generation)
        action = record.spec.action
        handler = self._handlers.find(action.name) if isinstance(action, Callback) else None
        if handler is None:
            self._skip_unsupported(record, run)
            return False
        self._handlers.start(handler, record.job, run, self._arrive)
        return True

    def _arrive(self, ended: Ended) -> None:
        """Take in the end of a run, from whatever thread."""
        self._arrived.put(ended)
        self.wake()

    def _skip_unsupported(self, record: JobRecord, run: Run) -> None:
        changes: list[Change] = []
        now_ms = self._clock.now_ms()
        end = RunEnd(
            outcome=Outcome.SKIPPED,
            finished_at=now_ms,
            reason=SkipReason.UNSUPPORTED_TYPE,
            error=f"nothing here can run a {record.spec.action.kind} job",
        )
        with self._store.transaction():
            self._store.lease.check(self._generation)
            self._finish([(run, end)], changes)
            if record.id not in self._told_unsupported:
                self._told_unsupported.add(record.id)
                self._store.events.append(
                    now_ms, EventKind.JOB_UNSUPPORTED, record.id, action=record.spec.action.kind
                )
        self._forget_done()
        for change in changes:
            self._tell(change)


def _deadline_at(record: JobRecord, run: Run) -> int | None:
    limit_ms = record.spec.policy.time_limit_ms
    return None if limit_ms is None or run.started_at is None else run.started_at + limit_ms
