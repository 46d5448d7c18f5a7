"""The engine: claims what is due, starts it and records its end; it never waits for a run."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from halo_scheduler.actions.callback import Handlers
from halo_scheduler.actions.run_services import BY_USER, QUIT, TIME_LIMIT, Ended, StopReason
from halo_scheduler.actions.threads import DaemonPool
from halo_scheduler.clock import Clock, ClockSteps
from halo_scheduler.engine.active_runs import ActiveRun, ActiveRuns, Leftovers, find_leftovers
from halo_scheduler.engine.candidates import StartConditions
from halo_scheduler.engine.claims import Claims
from halo_scheduler.engine.endings import Ending, Endings, ending_of
from halo_scheduler.engine.handle import Handle, HeldLease
from halo_scheduler.engine.maintenance import DayRefresh, DiskReclaimer
from halo_scheduler.engine.post_run import PostRun
from halo_scheduler.engine.recovery import Outage, Recovery
from halo_scheduler.engine.run_log import RunLog
from halo_scheduler.engine.starting import RunResources, SleepInhibitor, Starter
from halo_scheduler.errors import StoreError, StoreUnavailableError
from halo_scheduler.model import Run
from halo_scheduler.model.alarms import StoreTrouble
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.requests import RequestKind
from halo_scheduler.store.store import Store

if TYPE_CHECKING:
    from halo_scheduler.conditions.surroundings import Surroundings

_LOG = logging.getLogger(__name__)
MAX_DELAY_MS = 60_000


class Engine:
    """Runs the jobs of one database while it holds the lease."""

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
        self._clock_steps = ClockSteps(clock)
        self._runs = ActiveRuns(self._clock_steps)
        self.handle = Handle(store, clock, pool, lease=self._lease, runs=self._runs, publish=publish)
        self.resources = RunResources(store, self.handle)
        self._post_run = PostRun(store, self.resources, self.handle)
        self.is_output_awaited = self._post_run.deferred_outputs.unstored.__contains__
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
        self._run_log = RunLog(store)
        self._days = DayRefresh(store, self.handle)
        self._conditions_changed = False
        self._claims = self._make_claims()
        self._claiming = False
        self._clock_was_set = False

    def _make_claims(self) -> Claims:
        generation, is_awaited = self._lease.generation, self._post_run.deferred_outputs.is_awaited
        return Claims(self._store, generation, self._max_concurrent, self._start_conditions, is_awaited)

    def _observe_surroundings(self) -> Surroundings:
        from halo_scheduler.conditions.surroundings import ObservedSurroundings  # noqa: PLC0415 - if needed

        return ObservedSurroundings(self.handle.submit, self.recheck_conditions)

    def recheck_conditions(self) -> None:
        """Recheck, from any thread, the conditions of waiting jobs after the system reported a change."""
        self.handle.post(self._note_changed_conditions)

    def _note_changed_conditions(self) -> None:
        self._conditions_changed = True

    def drain_inbox(self) -> bool:
        """Run the calls of other threads; return whether a tick is due: runs ended, conditions or days changed."""
        self.handle.drain()
        has_ended = self.handle.has_news or self._post_run.deferred_outputs.arrived
        return bool(has_ended or self._conditions_changed or self._days.has_news)

    # --- Life ----------------------------------------------------------------------------------------

    @property
    def is_started(self) -> bool:
        return self._lease.is_held

    @property
    def generation(self) -> int:
        """The number of its lease."""
        return self._lease.generation

    @property
    def running_count(self) -> int:
        return len(self._runs)

    @property
    def living_count(self) -> int:
        """How many runs have not ended; ended runs that are not recorded yet do not count."""
        return len(self._runs.ids.difference(ended.run_id for ended in self.handle.ended))

    def start(self) -> None:
        """Take the lease and recover what the previous engine left; EngineHeldError names another holder."""
        now_ms = self._clock.now_ms()
        self._store.check()
        try:
            left, changes = self._disk.retry_when_full(lambda: self._take_lease(now_ms))
        except BaseException:
            self._lease.forget()
            raise
        self._note_tick(now_ms)
        self._claiming = True
        # Runs that outlived the previous engine are ours now.
        for adopted, active_run in left.living:
            self._starter.adopt(adopted, active_run)
        self._post_run.take_up(left.ended, self._runs.ids)
        self._announce([*changes, *self._take_news()])

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
            self.handle.start_waits.save(adopted.run.id, None)
        changes += self._finish([ending_of(one.run, one.ended, now_ms) for one in left.ended])
        self._endings.record_outputs([one.ended for one in left.ended])
        self._runs.mark_none_done()
        self._claims.drop_stale_requests(now_ms)
        self._recovery.end_pauses(now_ms)
        if before is not None:
            self._recovery.after_restart(before, now_ms)
        self._recovery.plan_the_unplanned(now_ms)
        return left

    def adopt_orphans(self) -> None:
        """Make this process the subreaper of its runs' orphans, where the system supports it."""
        self._post_run.start_adopting()

    def stop_runs(self) -> None:
        """Stop all runs that can be stopped, because Halo quits."""
        self._runs.want_all_stopped(QUIT)
        self._runs.stop_what_must(self._clock.now_ms())

    def stop_claiming(self) -> None:
        """Claim no more runs and stop watching conditions; active runs continue."""
        self._claiming = False
        self._start_conditions.close()
        if self._lease.note_stopping():
            self._publish(Change(ChangeKind.ENGINE))

    def resume_claiming(self) -> None:
        """Start jobs again after all."""
        self._claiming = True
        self._lease.note_resumed()

    def release(self) -> None:
        """Release the lease; if that cannot be written, others can take it once this process is gone."""
        if not self.is_started:
            return
        self.leave_runs()
        try:
            self._post_run.give_up()
            self._disk.retry_when_full(lambda: self._lease.release(len(self._runs)))
        except StoreUnavailableError as error:
            _LOG.warning("%s; the next engine records the rest.", error)
        self._lease.forget()
        self._publish(Change(ChangeKind.ENGINE))

    def is_overlooking(self) -> bool:
        """Return whether the last tick left something unclaimed that could have started."""
        running = [active_run.group for active_run in self._runs.still_running()]
        return self._claiming and self._claims.is_overlooking(self._lease.renewed_at, running)

    def reset_claims(self) -> None:
        """Discard the state cached for claims, so that the next tick reads everything again."""
        self._start_conditions.close()
        self._claims = self._make_claims()

    def leave_runs(self) -> None:
        """Leave active runs to the next engine, which then keeps the computer awake for them."""
        self._runs.leave()
        self.resources.close_connections()
        self._post_run.stop_adopting()
        self._inhibitor.close()
        self._start_conditions.close()

    # --- A tick --------------------------------------------------------------------------------------

    def tick(self) -> list[str]:
        """Record ends and claim what is due in one transaction, then start the claimed runs and return them."""
        now_ms = self._clock.now_ms()
        try:
            started = self._disk.retry_when_full(self._tick)
        except StoreUnavailableError:
            self._outage.begin_or_go_on(self._lease.renewed_at, now_ms)
            self._runs.stop_without_store(self._store, now_ms)
            raise
        self._outage.end(now_ms)
        return started

    def stop_run(self, run_id: str) -> None:
        """Stop a run at once; for when the store cannot take a request."""
        self._runs.stop_now([run_id], self._clock.now_ms())

    def trouble(self, error: StoreError) -> StoreTrouble:
        """Return what is wrong with the store, since when, and which ends could not be recorded."""
        since = self._outage.since or self._clock.now_ms()
        return StoreTrouble.of(error, since, self._runs.unrecorded(self.handle.ended))

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
            self.handle.start_waits.record()
            self._recovery.settle_outage(self._outage, now_ms)
            self._recovery.replan_days(self._days.settle(now_ms), now_ms)
            self._take_requests(now_ms, changes)
            for overdue in self._runs.overdue(now_ms):
                self._end_early(overdue.run, TIME_LIMIT, now_ms, changes)
            self._runs.restart(self._store.jobs.restarting(now_ms))
            claimed = self._claim(now_ms, changes)
            self._store.lease.renew(self._lease.generation, now_ms, runs=len(claimed), zone=zone)
        # Only after the commit: what was written can no longer be rolled back.
        for record, run in claimed:
            self._runs.add(ActiveRun.of(record, run))
        self._recovery.zone = zone
        self._note_tick(now_ms)
        self._post_run.clear(self.handle.ended, self._runs, now_ms)
        self.handle.forget_recorded()
        self._days.forget_recorded()
        self._forget_done()
        self._runs.stop_what_must(self._clock.now_ms())
        self._start_conditions.follow()
        changes += self._take_news()
        for change in changes:
            self._publish(change)
        started = [run.id for record, run in claimed if self._try_to_start(record, run)]
        # Last, so that an error while reading cannot keep claimed runs from starting.
        self._run_log.write(changes, now_ms)
        self._post_run.settlement.look_at_questions()
        return started

    def _announce(self, changes: list[Change]) -> None:
        """Publish and log committed changes."""
        for change in changes:
            self._publish(change)
        self._run_log.write(changes, self._clock.now_ms())

    def _note_tick(self, now_ms: int) -> None:
        self._lease.note_renewed(now_ms)
        self._clock_was_set = False

    def _take_news(self) -> list[Change]:
        return self._recovery.take_news() + self._claims.take_news()

    def delay_ms(self) -> int:
        """Return how long the loop may sleep: until the next instant, at most a minute after the last tick."""
        now_ms = self._clock.now_ms()
        instants = [self._store.jobs.next_instant(self._lease.renewed_at), self._runs.next_deadline_at]
        instants.append(self._start_conditions.wakes_at if self._claiming else None)
        delays = [at - now_ms for at in instants if at is not None]
        # Monotonic: after the wall clock is set back, the next instant may be years away.
        delays.append(self._lease.renewed_ms + MAX_DELAY_MS - self._clock.monotonic_ms())
        if self._clock_steps.peek():
            return 0  # The clock was set since the last poll, so none of these may be true.
        return min(max(min(delays), 0), MAX_DELAY_MS)

    def poll_delay_ms(self) -> int:
        """Return the delay until a run is due for a poll, which costs less than a tick."""
        polls = [at for at in (self._runs.next_poll_at, self._post_run.due_at) if at is not None]
        return min(max(min(polls) - self._clock.now_ms(), 0), MAX_DELAY_MS) if polls else MAX_DELAY_MS

    def poll(self) -> bool:
        """Poll the runs that are due for it; return whether a tick is needed: runs ended, or the clock was set."""
        now_ms = self._clock.now_ms()
        self._notice_clock()
        news = self._runs.poll(now_ms)
        if news:
            self.handle.save_progress(news)
        self._post_run.poll(now_ms)
        return bool(self.handle.ended) or self._clock_was_set

    def _notice_clock(self) -> None:
        """Shift deadlines and poll times after the clock was set: a time limit is a duration, not an instant."""
        step_ms = self._clock_steps.take()
        if step_ms:
            self._clock_was_set = True
            self._post_run.shift(step_ms)
            self._runs.shift(step_ms)

    def wait_for_end(self, timeout_s: float) -> bool:
        """Wait until a run ends, for callers without an event loop; return whether one did."""
        if not self.handle.wait(min(timeout_s, self.poll_delay_ms() / 1_000)):
            self.poll()
        return self.drain_inbox()

    # --- Ends ----------------------------------------------------------------------------------------

    def _record_ends(self, now_ms: int, changes: list[Change]) -> None:
        ends = list({one.run_id: one for one in self.handle.ended if one.run_id in self._runs}.values())
        self._store.runs.save_progress(
            [(ended.run_id, *ended.progress) for ended in ends if ended.progress is not None]
        )
        changes += self._finish([ending_of(self._runs[ended.run_id].run, ended, now_ms) for ended in ends])
        self._endings.record_outputs(ends)
        self._post_run.deferred_outputs.expect(ended.run_id for ended in ends if ended.needs_secrets)

    def _end_early(self, run: Run, why: StopReason, now_ms: int, changes: list[Change]) -> None:
        """Stop a run, whose end is recorded later; a Python function cannot be stopped, so its end is recorded now."""
        if run.id in self._runs.works:
            self._runs.want_stop(run.id, why)
        else:
            end = Ended(run_id=run.id, outcome=why.outcome, message=why.message)
            changes += self._finish([ending_of(run, self.handle.timed(end), now_ms)])

    def _finish(self, endings: list[Ending]) -> list[Change]:
        """Record the ends of runs, and remove these once that is committed."""
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
                # Only once the run has ended, so that a crash does not lose the request.
                self._store.requests.close(request)

    def _claim(self, now_ms: int, changes: list[Change]) -> list[tuple[JobRecord, Run]]:
        if not self._claiming:
            return []
        running = [active_run.group for active_run in self._runs.still_running()]
        claimed = self._claims.claim(now_ms, running)
        changes += [Change(ChangeKind.RUN_STARTED, job_id=run.job_id, run_id=run.id) for _, run in claimed]
        return claimed

    def _try_to_start(self, record: JobRecord, run: Run) -> bool:
        """Start a claimed run; it is recorded as skipped if no runner supports its action."""
        if self._starter.start(record, run):
            return True
        changes = self._starter.skip_unsupported(record, run, self._finish)
        self._forget_done()
        self._announce(changes)
        self.recheck_conditions()  # A pending slot may be due at once.
        return False
