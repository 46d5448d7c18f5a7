"""The engine: claims what is due, starts it, records how it ended; it never waits for a job."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from halo_scheduler.actions.callback import Handlers
from halo_scheduler.actions.run_services import BY_USER, QUIT, TIME_LIMIT, StopReason
from halo_scheduler.actions.threads import DaemonPool
from halo_scheduler.clock import Clock, ClockSteps
from halo_scheduler.engine.active_runs import ActiveRun, ActiveRuns
from halo_scheduler.engine.claims import Claims
from halo_scheduler.engine.endings import Ending, Endings, ending_of
from halo_scheduler.engine.full_disk import DiskReclaimer
from halo_scheduler.engine.handle import Handle
from halo_scheduler.engine.held_lease import HeldLease
from halo_scheduler.engine.keep_awake import SleepInhibitor
from halo_scheduler.engine.outage import Outage, ended_at
from halo_scheduler.engine.post_run import PostRun
from halo_scheduler.engine.recovery import Recovery
from halo_scheduler.engine.starting import RunResources, Starter
from halo_scheduler.engine.surroundings import StartConditions
from halo_scheduler.engine.takeover import Leftovers, find_leftovers
from halo_scheduler.errors import StoreUnavailableError
from halo_scheduler.model import Run
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.requests import RequestKind
from halo_scheduler.store.runs import RunEnd
from halo_scheduler.store.store import Store

if TYPE_CHECKING:
    from halo_scheduler.conditions.surroundings import Surroundings

_LOG = logging.getLogger(__name__)
MAX_DELAY_MS = 60_000


class Engine:
    """Runs the jobs of one database, as long as it holds the lease."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        handlers: Handlers,
        pool: DaemonPool,
        *,
        max_concurrent: Callable[[], int],
        publish: Callable[[Change], None],
        owner: str,
        surroundings: Surroundings | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._max_concurrent = max_concurrent
        self._publish = publish
        self._owner = owner
        self._lease = HeldLease(store, clock)
        self._runs = ActiveRuns()
        self.handle = Handle(store, clock, pool, lease=self._lease, runs=self._runs, publish=publish)
        self.resources = RunResources(store, self.handle)
        self._post_run = PostRun(store, self.resources, self.handle)
        self._start_conditions = StartConditions(store, lambda: surroundings or self._observe_surroundings())
        self._inhibitor = SleepInhibitor(self.handle, self.handle.note_on)
        self._starter = Starter(
            store,
            handlers,
            self.resources,
            lease=self._lease,
            runs=self._runs,
            handle=self.handle,
            inhibitor=self._inhibitor,
        )
        self._recovery = Recovery(store, 0)
        self._endings = Endings(store)
        self._disk = DiskReclaimer(store.database, self._runs, lambda: self.handle.ended, clock.now_ms)
        self._outage = Outage()
        self._conditions_changed = False
        self._claims = self._make_claims()
        self._claiming = False
        self._clock_steps = ClockSteps(clock)
        self._clock_was_set = False

    def _make_claims(self) -> Claims:
        is_awaited = self._post_run.deferred_outputs.is_awaited
        generation = self._lease.generation
        return Claims(self._store, generation, self._max_concurrent, self._start_conditions, is_awaited)

    def _observe_surroundings(self) -> Surroundings:
        from halo_scheduler.conditions.surroundings import ObservedSurroundings  # noqa: PLC0415 - if needed

        return ObservedSurroundings(self.handle.submit, self.recheck_conditions)

    def recheck_conditions(self) -> None:
        """Check again, from whatever thread, the conditions of jobs that wait: their surroundings have changed."""
        self.handle.post(self._note_changed_conditions)

    def _note_changed_conditions(self) -> None:
        self._conditions_changed = True

    def drain_inbox(self) -> bool:
        """Do what other threads posted; tell whether that needs a tick: runs have ended, conditions changed."""
        self.handle.drain()
        return bool(self.handle.ended or self._post_run.deferred_outputs.arrived or self._conditions_changed)

    # --- Life ----------------------------------------------------------------------------------------

    @property
    def is_started(self) -> bool:
        return self._lease.is_held

    @property
    def running_count(self) -> int:
        return len(self._runs)

    @property
    def living_count(self) -> int:
        """How many runs have not ended: those that have may still have to be recorded."""
        return len(self._runs.ids.difference(ended.run_id for ended in self.handle.ended))

    def start(self) -> None:
        """Take the lease and put right what the last engine left; EngineHeldError names a holder."""
        now_ms = self._clock.now_ms()
        self._store.check()
        try:
            left, changes = self._disk.retry_when_full(lambda: self._take_lease(now_ms))
        except BaseException:
            self._lease.forget()
            raise
        self._note_tick(now_ms)
        self._claiming = True
        self._adopt(left)
        for change in [*changes, *self._take_news()]:
            self._publish(change)

    def _take_lease(self, now_ms: int) -> tuple[Leftovers, list[Change]]:
        changes = [Change(ChangeKind.ENGINE)]
        with self._store.transaction():
            return self._take_over(now_ms, changes), changes

    def _take_over(self, now_ms: int, changes: list[Change]) -> Leftovers:
        before = self._lease.take(self._owner, self._recovery.zone, now_ms)
        self._recovery = Recovery(self._store, self._lease.generation)
        self._claims = self._make_claims()
        resources = self.resources
        awake_until = 0 if before is None else before.last_tick_at
        left = find_leftovers(self._store, resources.runner, resources.work_desk, now_ms, awake_until)
        unseen = [one.run for one in left.ended if one.ended.finished_at is None]
        self._recovery.account_for_downtime(unseen, awake_until, now_ms)
        for adopted, _ in left.living:
            self.handle.save_start_wait(adopted.run.id, None)
        changes += self._finish([ending_of(one.run, one.ended, now_ms) for one in left.ended])
        self._endings.record_outputs([one.ended for one in left.ended])
        self._runs.mark_none_done()
        self._claims.drop_stale_requests(now_ms)
        self._recovery.end_pauses(now_ms)
        if before is not None:
            self._recovery.after_restart(before, now_ms)
        self._recovery.plan_the_unplanned(now_ms)
        return left

    def _adopt(self, left: Leftovers) -> None:
        """Go on with the runs that outlived their engine, and clear away what the others left."""
        for adopted, active_run in left.living:
            self._starter.adopt(adopted, active_run)
        self._post_run.take_up(left.ended, self._runs.ids)

    def adopt_orphans(self) -> None:
        """Make this process, where the system can do that, the parent of what its runs leave without one."""
        self._post_run.start_adopting()

    def stop_runs(self) -> None:
        """Stop all that can be stopped, as for a quit."""
        self._runs.want_all_stopped(QUIT)
        self._runs.stop_what_must(self._clock.now_ms())

    def stop_claiming(self) -> None:
        """Start nothing any more, and so observe no conditions; what runs goes on."""
        self._claiming = False
        self._start_conditions.close()

    def release(self) -> None:
        """Leave the lease to others; should that not be possible, they take it once this process is gone."""
        if not self.is_started:
            return
        self.leave_runs()
        try:
            self._post_run.give_up()
            self._disk.retry_when_full(lambda: self._lease.release(len(self._runs)))
        except StoreUnavailableError as error:
            _LOG.warning("%s; what is not recorded yet is recorded by the next engine.", error)
        self._lease.forget()
        self._publish(Change(ChangeKind.ENGINE))

    def is_overlooking(self) -> bool:
        """Tell whether something could have started at the last tick, but did not."""
        running = [active_run.group for active_run in self._runs.still_running()]
        return self._claiming and self._claims.is_overlooking(self._lease.renewed_at, running)

    def reset_claims(self) -> None:
        """Forget what was gathered for claiming: should that be wrong, the next tick reads what is right."""
        self._start_conditions.close()
        self._claims = self._make_claims()

    def leave_runs(self) -> None:
        """Let what runs live on for the next engine, which then keeps the machine awake for it."""
        self._runs.leave()
        self.resources.close_connections()
        self._post_run.stop_adopting()
        self._inhibitor.close()
        self._start_conditions.close()

    # --- A tick --------------------------------------------------------------------------------------

    def tick(self) -> list[str]:
        """Record what ended, claim what is due in one transaction, then start it; return the started runs."""
        now_ms = self._clock.now_ms()
        try:
            started = self._disk.retry_when_full(self._tick)
        except StoreUnavailableError:
            self._outage.begin_or_go_on(self._lease.renewed_at, now_ms)
            self.handle.ended = ended_at(self.handle.ended, now_ms)
            raise
        self._outage.end(now_ms)
        return started

    def _tick(self) -> list[str]:
        self.drain_inbox()
        self.poll()
        self._conditions_changed = False
        now_ms = self._clock.now_ms()
        changes: list[Change] = []
        self._runs.mark_none_done()
        self._take_news()  # Of a tick that failed, nothing is true.
        with self._store.transaction():
            changes += self._recovery.end_pauses(now_ms)
            zone = self._recovery.notice_jumps(self._outage.awake_until(self._lease.renewed_at), now_ms)
            changes += self._endings.record_late(self._post_run.deferred_outputs.arrived.values(), now_ms)
            self._record_ends(now_ms, changes)
            self._recovery.settle_outage(self._outage, now_ms)
            self._take_requests(now_ms, changes)
            self._end_overdue(now_ms, changes)
            claimed = self._claim(now_ms, changes)
            self._store.lease.renew(self._lease.generation, now_ms, runs=len(claimed), zone=zone)
        # Only now is it true: what was written can no longer be undone.
        for record, run in claimed:
            self._runs.add(ActiveRun.of(record, run))
        self._recovery.zone = zone
        self._note_tick(now_ms)
        self._post_run.clear(self.handle.ended, self._runs, now_ms)
        self.handle.ended = []
        self._forget_done()
        self._runs.stop_what_must(self._clock.now_ms())
        self._start_conditions.follow()
        for change in [*changes, *self._take_news()]:
            self._publish(change)
        started = [run.id for record, run in claimed if self._try_to_start(record, run)]
        # Last: whatever keeps it from being read, what is claimed has begun.
        self._post_run.settlement.look_at_questions()
        return started

    def _note_tick(self, now_ms: int) -> None:
        self._lease.note_renewed(now_ms)
        self._clock_was_set = False

    def _take_news(self) -> list[Change]:
        return self._recovery.take_news() + self._claims.take_news()

    def delay_ms(self) -> int:
        """Return how long the loop may sleep: until the next instant, but never over a minute since the last tick.

        That minute is counted by the monotonic clock: should the wall clock be set, no instant may come for years.
        """
        now_ms = self._clock.now_ms()
        instants = [self._store.jobs.next_instant(self._lease.renewed_at), self._runs.next_deadline_at]
        instants.append(self._start_conditions.wakes_at if self._claiming else None)
        delays = [at - now_ms for at in instants if at is not None]
        delays.append(self._lease.renewed_ms + MAX_DELAY_MS - self._clock.monotonic_ms())
        if self._clock_steps.peek():
            return 0  # The clock was set since the last poll, so none of these may be true.
        return min(max(min(delays), 0), MAX_DELAY_MS)

    def poll_delay_ms(self) -> int:
        """Return how long until a run wants to be polled, which takes less than a tick."""
        polls = [at for at in (self._runs.next_poll_at, self._post_run.due_at) if at is not None]
        return min(max(min(polls) - self._clock.now_ms(), 0), MAX_DELAY_MS) if polls else MAX_DELAY_MS

    def poll(self) -> bool:
        """Poll the runs that want it; tell whether a tick is needed: some have ended, or the clock was set."""
        now_ms = self._clock.now_ms()
        self._notice_clock()
        news = self._runs.poll(now_ms)
        if news:
            with self._lease.transaction():
                self._store.runs.save_progress(news)
            for run_id, _, _ in news:
                job_id = self._runs[run_id].run.job_id
                self._publish(Change(ChangeKind.RUN_PROGRESS, job_id=job_id, run_id=run_id))
        self._post_run.poll(now_ms)
        return bool(self.handle.ended) or self._clock_was_set

    def _notice_clock(self) -> None:
        """Move what runs wait for along with a clock that was set: a time limit is a duration, not an instant."""
        step_ms = self._clock_steps.take()
        if step_ms:
            self._clock_was_set = True
            self._post_run.shift(step_ms)
            self._runs.shift(step_ms)

    def wait_for_end(self, timeout_s: float) -> bool:
        """Wait until some run ends, for those who have no event loop; tell whether one did."""
        if not self.handle.wait(min(timeout_s, self.poll_delay_ms() / 1_000)):
            self.poll()
        return self.drain_inbox()

    # --- Ends ----------------------------------------------------------------------------------------

    def _record_ends(self, now_ms: int, changes: list[Change]) -> None:
        ends = list(
            {ended.run_id: ended for ended in self.handle.ended if ended.run_id in self._runs}.values()
        )
        self._store.runs.save_progress(
            [(ended.run_id, *ended.progress) for ended in ends if ended.progress is not None]
        )
        changes += self._finish([ending_of(self._runs[ended.run_id].run, ended, now_ms) for ended in ends])
        self._endings.record_outputs(ends)
        self._post_run.deferred_outputs.expect(ended.run_id for ended in ends if ended.needs_secrets)

    def _end_overdue(self, now_ms: int, changes: list[Change]) -> None:
        """Stop runs past their time limit."""
        for active_run in self._runs.overdue(now_ms):
            self._end_early(active_run.run, TIME_LIMIT, now_ms, changes)

    def _end_early(self, run: Run, why: StopReason, now_ms: int, changes: list[Change]) -> None:
        """Stop what can be stopped, and record that when it is done; of a function, only the record can end."""
        if run.id in self._runs.works:
            self._runs.want_stop(run.id, why)
        else:
            end = RunEnd(outcome=why.outcome, finished_at=now_ms, error=why.error)
            changes += self._finish([Ending(run, end)])

    def _finish(self, endings: list[Ending]) -> list[Change]:
        """Record the ends of runs, and forget these once that is written."""
        self._runs.mark_done(ending.run.id for ending in endings)
        return self._endings.record(endings)

    def _forget_done(self) -> None:
        for run_id in self._runs.forget_done():
            self._inhibitor.release(run_id)

    def _take_requests(self, now_ms: int, changes: list[Change]) -> None:
        for request in self._store.requests.others():
            if request.kind is RequestKind.REFRESH:
                self.resources.read_environment()
                self._store.requests.close(request)
                continue
            active_run = self._runs.get(request.run_id)
            if active_run is not None and not self._runs.is_done(request.run_id):
                self._end_early(active_run.run, BY_USER, now_ms, changes)
            if active_run is None or self._runs.is_done(request.run_id):
                # Not before it is done: a crash on the way must not lose the wish.
                self._store.requests.close(request)

    def _claim(self, now_ms: int, changes: list[Change]) -> list[tuple[JobRecord, Run]]:
        if not self._claiming:
            return []
        running = [active_run.group for active_run in self._runs.still_running()]
        claimed = self._claims.claim(now_ms, running)
        changes += [Change(ChangeKind.RUN_STARTED, job_id=run.job_id, run_id=run.id) for _, run in claimed]
        return claimed

    # --- Starting ------------------------------------------------------------------------------------

    def _try_to_start(self, record: JobRecord, run: Run) -> bool:
        """Start a claimed run; a job that nothing here can run is skipped."""
        if self._starter.start(record, run):
            return True
        changes = self._starter.skip_unsupported(record, run, self._finish)
        self._forget_done()
        for change in changes:
            self._publish(change)
        return False
