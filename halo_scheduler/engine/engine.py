"""The engine: claims what is due, starts it, records how it ended; it never waits for a job."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from halo_scheduler.actions.callback import Handlers
from halo_scheduler.actions.run_context import context_of
from halo_scheduler.actions.run_services import BY_USER, QUIT, TIME_LIMIT, Ended, RunContext, StopReason
from halo_scheduler.actions.start_errors import why_not_started
from halo_scheduler.actions.threads import DaemonPool, Inbox
from halo_scheduler.clock import Clock, ClockSteps
from halo_scheduler.engine.active_runs import ActiveRun, ActiveRuns
from halo_scheduler.engine.claims import Claims
from halo_scheduler.engine.endings import Ending, Endings, ending_of
from halo_scheduler.engine.keep_awake import Wakefulness
from halo_scheduler.engine.outage import Outage, ended_at
from halo_scheduler.engine.post_run import PostRun
from halo_scheduler.engine.recovery import Recovery
from halo_scheduler.engine.room import Room
from halo_scheduler.engine.run_resources import RunResources
from halo_scheduler.engine.surroundings import StartConditions
from halo_scheduler.engine.takeover import Leftovers, find_leftovers, take_over
from halo_scheduler.errors import StaleEngineError, StoreReplacedError, StoreUnavailableError
from halo_scheduler.host.watch import Watch
from halo_scheduler.model import Callback, Outcome, Run, SkipReason, WaitingFor
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.lease import LEASE_MS
from halo_scheduler.store.requests import RequestKind
from halo_scheduler.store.runs import RunEnd
from halo_scheduler.store.store import Store

if TYPE_CHECKING:
    from halo_scheduler.conditions.surroundings import Surroundings

_LOG = logging.getLogger(__name__)
MAX_DELAY_MS = 60_000
_SURELY_OURS_MS = 1_000


class Engine:
    """Runs the jobs of one database, as long as it holds the engine's row."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        handlers: Handlers,
        pool: DaemonPool,
        *,
        max_concurrent: Callable[[], int],
        tell: Callable[[Change], None],
        owner: str,
        surroundings: Surroundings | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._handlers = handlers
        self._pool = pool
        self._max_concurrent = max_concurrent
        self._tell = tell
        self._owner = owner
        self._resources = RunResources(store, self)
        self._post_run = PostRun(store, self._resources, self, self.note_on)
        self._start_conditions = StartConditions(store, lambda: surroundings or self._observe_surroundings())
        self._wakefulness = Wakefulness(self, self.note_on)
        self._recovery = Recovery(store, 0)
        self._endings = Endings(store)
        self._runs = ActiveRuns()
        self._works = self._runs.works
        self._inbox = Inbox()
        self._ended: list[Ended] = []
        self._room = Room(store.database, self._runs, lambda: self._ended, clock.now_ms)
        self._outage = Outage()
        self._has_news = False
        self._generation = 0
        self._claims = self._make_claims()
        self._claiming = False
        self._last_tick_at = 0
        self._ticked_ms = clock.monotonic_ms()
        self._clock_steps = ClockSteps(clock)
        self._clock_was_set = False
        self._told_unsupported: set[str] = set()
        self.wake: Callable[[], None] = lambda: None

    def equip(self, watch: Watch) -> None:
        """Let runs use what an event loop offers."""
        self._resources.equip(watch)

    def read_environment(self) -> None:
        """Ask the login shell for its environment, before a command has to wait for that."""
        self._resources.read_environment()

    def _make_claims(self) -> Claims:
        is_awaited = self._post_run.deferred_outputs.is_awaited
        return Claims(self._store, self._generation, self._max_concurrent, self._start_conditions, is_awaited)

    def _observe_surroundings(self) -> Surroundings:
        from halo_scheduler.conditions.surroundings import ObservedSurroundings  # noqa: PLC0415 - if needed

        return ObservedSurroundings(self.submit, self.look_around)

    def look_around(self) -> None:
        """Look again, from whatever thread, at the jobs that wait: their surroundings have changed."""
        self.post(self._note_news)

    def _note_news(self) -> None:
        self._has_news = True

    # --- What runs see of the engine -----------------------------------------------------------------

    def now_ms(self) -> int:
        """Return the current instant."""
        return self._clock.now_ms()

    def submit(self, work: Callable[[], None]) -> None:
        """Do something that may block, on another thread."""
        self._pool.submit(work)

    def post(self, news: Callable[[], None]) -> None:
        """Do something on the engine's thread, from whatever thread."""
        self._inbox.put(news)
        self._wake_once()

    def end(self, ended: Ended) -> None:
        """Take in the end of a run, on the engine's thread."""
        self._ended.append(ended)
        self._wake_once()

    def _wake_once(self) -> None:
        if self._inbox.needs_wake():
            self.wake()

    def is_in_charge(self) -> bool:
        """Tell, on whatever thread, whether the lease cannot have run out since it was last renewed.

        Others judge the lease by the wall clock, which may have been set while this process stood still.
        """
        by_wall_ms = abs(self._clock.now_ms() - self._last_tick_at)
        return max(by_wall_ms, self._clock.monotonic_ms() - self._ticked_ms) < LEASE_MS

    def note_start_wait(self, run: Run, waiting_for: WaitingFor | None, reason: str = "") -> None:
        """Show what the start of a run waits for, on the engine's thread; None once it has started."""
        try:
            self._write(lambda: self._save_start_wait(run.id, waiting_for, reason))
            if waiting_for is not None:
                self.note_on(run, f"it waited for {reason}")
        except StoreUnavailableError as error:
            # Its end carries the reason, too; a full disk must not keep the run from being started.
            _LOG.warning("What a start waits for could not be recorded: %s", error)
        self._tell(Change(ChangeKind.JOB, job_id=run.job_id))

    def _save_start_wait(self, run_id: str, waiting_for: WaitingFor | None, reason: str = "") -> None:
        self._store.jobs.save_start_wait(run_id, waiting_for, reason)
        self._store.runs.save_start_wait(run_id, "" if waiting_for is None else f"waiting for {reason}")

    def note_item(self, run_id: str, work_id: str, title: str, url: str) -> None:
        """Write down which item a run works on, on the engine's thread."""
        self._write(lambda: self._store.runs.save_work(run_id, work_id, title, url))
        active_run = self._runs.get(run_id)
        if active_run is not None:
            run = replace(active_run.run, work_id=work_id, work_title=title, work_url=url)
            self._runs.add(active_run._replace(run=run))
            self._tell(Change(ChangeKind.RUN_PROGRESS, job_id=run.job_id, run_id=run_id))

    def take_in(self) -> bool:
        """Do what other threads brought; tell whether that needs a tick: runs have ended, surroundings changed."""
        self._inbox.take_in()
        return bool(self._ended or self._post_run.deferred_outputs.arrived or self._has_news)

    # --- Life ----------------------------------------------------------------------------------------

    @property
    def is_started(self) -> bool:
        return self._generation > 0

    @property
    def running_count(self) -> int:
        return len(self._runs)

    @property
    def living_count(self) -> int:
        """How many runs have not ended: those that have may still have to be recorded."""
        return len(self._runs.ids.difference(ended.run_id for ended in self._ended))

    def start(self) -> None:
        """Take the engine's row and put right what the last engine left; EngineHeldError names a holder."""
        now_ms = self._clock.now_ms()
        self._store.check()
        try:
            left, changes = self._room.given_to(lambda: self._take_row(now_ms))
        except BaseException:
            self._generation = 0
            raise
        self._note_tick(now_ms)
        self._claiming = True
        self._take_up(left)
        for change in [*changes, *self._take_news()]:
            self._tell(change)

    def _take_row(self, now_ms: int) -> tuple[Leftovers, list[Change]]:
        changes = [Change(ChangeKind.ENGINE)]
        with self._store.transaction():
            return self._take_over(now_ms, changes), changes

    def _take_over(self, now_ms: int, changes: list[Change]) -> Leftovers:
        taken = take_over(self._store, self._owner, self._recovery.zone, now_ms)
        self._generation = taken.generation
        self._recovery = Recovery(self._store, self._generation)
        self._claims = self._make_claims()
        resources = self._resources
        left = find_leftovers(self._store, resources.runner, resources.work_desk, now_ms, taken.awake_until)
        unseen = [one.run for one in left.ended if one.ended.finished_at is None]
        self._recovery.account_for_downtime(unseen, taken.awake_until, now_ms)
        for adopted, _ in left.living:
            self._save_start_wait(adopted.run.id, None)
        changes += self._finish([ending_of(one.run, one.ended, now_ms) for one in left.ended])
        self._endings.record_outputs([one.ended for one in left.ended])
        self._runs.mark_none_done()
        self._claims.drop_stale_requests(now_ms)
        self._recovery.end_pauses(now_ms)
        if taken.before is not None:
            self._recovery.after_restart(taken.before, now_ms)
        self._recovery.plan_the_unplanned(now_ms)
        return left

    def _take_up(self, left: Leftovers) -> None:
        """Go on with the runs that outlived their engine, and clear away what the others left."""
        for adopted, active_run in left.living:
            self._runs.add(active_run)
            self._works[adopted.run.id] = self._resources.runner.adopt(adopted)
            self._keep_awake(active_run)
        self._post_run.take_up(left.ended, self._runs.ids)

    def adopt_orphans(self) -> None:
        """Make this process, where the system can do that, the parent of what its runs leave without one."""
        self._post_run.start_adopting()

    def stop_runs(self) -> None:
        """Stop all that can be stopped, as for a quit."""
        self._runs.want_all_stopped(QUIT)
        self._runs.stop_what_must(self._clock.now_ms())

    def stop_claiming(self) -> None:
        """Start nothing any more, and so look for nothing that somebody waits for; what runs goes on."""
        self._claiming = False
        self._start_conditions.close()

    def give_up(self) -> None:
        """Leave the engine's row to others; should that not be possible, they take it once this process is gone."""
        if not self.is_started:
            return
        self.leave_runs()
        try:
            self._post_run.give_up()
            self._room.given_to(self._leave_row)
        except StoreUnavailableError as error:
            _LOG.warning("%s; what is not recorded yet is recorded by the next engine.", error)
        self._generation = 0
        self._tell(Change(ChangeKind.ENGINE))

    def _leave_row(self) -> None:
        now_ms = self._clock.now_ms()
        with self._store.transaction():
            if self._store.lease.give_up(self._generation, now_ms):
                self._store.events.append(now_ms, EventKind.ENGINE_STOPPED, running=len(self._runs))

    def is_overlooking(self) -> bool:
        """Tell whether something could have started at the last tick, but did not."""
        running = [active_run.group for active_run in self._runs.still_running()]
        return self._claiming and self._claims.is_overlooking(self._last_tick_at, running)

    def claim_anew(self) -> None:
        """Forget what was gathered for claiming: should that be wrong, the next tick finds out what is right."""
        self._start_conditions.close()
        self._claims = self._make_claims()

    def leave_runs(self) -> None:
        """Let what runs live on for the next engine, which also keeps awake and watches what must be."""
        self._runs.leave()
        self._post_run.stop_adopting()
        self._wakefulness.close()
        self._start_conditions.close()

    # --- A tick --------------------------------------------------------------------------------------

    def tick(self) -> list[str]:
        """Record what ended, claim what is due in one transaction, then start it; return the started runs."""
        now_ms = self._clock.now_ms()
        try:
            started = self._room.given_to(self._tick)
        except StoreUnavailableError:
            self._outage.begin_or_go_on(self._last_tick_at, now_ms)
            self._ended = ended_at(self._ended, now_ms)
            raise
        self._outage.end(now_ms)
        return started

    def _tick(self) -> list[str]:
        self.take_in()
        self.look()
        self._has_news = False
        now_ms = self._clock.now_ms()
        changes: list[Change] = []
        self._runs.mark_none_done()
        self._take_news()  # Of a tick that failed, nothing is true.
        with self._store.transaction():
            changes += self._recovery.end_pauses(now_ms)
            zone = self._recovery.notice_jumps(self._outage.awake_until(self._last_tick_at), now_ms)
            changes += self._endings.record_late(self._post_run.deferred_outputs.arrived.values(), now_ms)
            self._record_ends(now_ms, changes)
            self._recovery.settle_outage(self._outage, now_ms)
            self._take_requests(now_ms, changes)
            self._end_overdue(now_ms, changes)
            claimed = self._claim(now_ms, changes)
            self._store.lease.renew(self._generation, now_ms, runs=len(claimed), zone=zone)
        # Only now is it true: what was written can no longer be undone.
        for record, run in claimed:
            self._runs.add(ActiveRun.of(record, run))
        self._recovery.zone = zone
        self._note_tick(now_ms)
        self._post_run.clear(self._ended, self._runs, now_ms)
        self._ended = []
        self._forget_done()
        self._runs.stop_what_must(self._clock.now_ms())
        self._start_conditions.follow()
        for change in [*changes, *self._take_news()]:
            self._tell(change)
        started = [run.id for record, run in claimed if self._try_to_start(record, run)]
        # Last: whatever keeps it from being read, what is claimed has begun.
        self._post_run.settlement.look_at_questions()
        return started

    def _note_tick(self, now_ms: int) -> None:
        self._last_tick_at = now_ms
        self._ticked_ms = self._clock.monotonic_ms()
        self._clock_was_set = False

    def _take_news(self) -> list[Change]:
        return self._recovery.take_news() + self._claims.take_news()

    def delay_ms(self) -> int:
        """Return how long the loop may sleep: until the next instant, but never over a minute since the last tick.

        That minute is counted by the monotonic clock: should the wall clock be set, no instant may come for years.
        """
        now_ms = self._clock.now_ms()
        instants = [self._store.jobs.next_instant(self._last_tick_at), self._runs.next_deadline_at]
        instants.append(self._start_conditions.wakes_at if self._claiming else None)
        delays = [at - now_ms for at in instants if at is not None]
        delays.append(self._ticked_ms + MAX_DELAY_MS - self._clock.monotonic_ms())
        if self._clock_steps.peek():
            return 0  # The clock was set since the last look, so none of these may be true.
        return min(max(min(delays), 0), MAX_DELAY_MS)

    def look_delay_ms(self) -> int:
        """Return how long until a run wants to be looked after, which takes less than a tick."""
        looks = [at for at in (self._runs.next_look_at, self._post_run.due_at) if at is not None]
        return min(max(min(looks) - self._clock.now_ms(), 0), MAX_DELAY_MS) if looks else MAX_DELAY_MS

    def look(self) -> bool:
        """Look after the runs that want it; tell whether a tick is needed: some have ended, or the clock was set."""
        now_ms = self._clock.now_ms()
        self._notice_clock()
        news = self._runs.look(now_ms)
        if news:
            self._write(lambda: self._store.runs.save_progress(news))
            for run_id, _, _ in news:
                job_id = self._runs[run_id].run.job_id
                self._tell(Change(ChangeKind.RUN_PROGRESS, job_id=job_id, run_id=run_id))
        self._post_run.look(now_ms)
        return bool(self._ended) or self._clock_was_set

    def _notice_clock(self) -> None:
        """Move what runs wait for along with a clock that was set: a time limit is a duration, not an instant."""
        step_ms = self._clock_steps.take()
        if step_ms:
            self._clock_was_set = True
            self._post_run.shift(step_ms)
            self._runs.shift(step_ms)

    def note_on(self, run: Run, sentence: str) -> None:
        """Add to a run, be it under way or recorded, what was found out about it; once, also over a restart."""
        recorded = self._store.runs.get(run.id)
        if recorded is None or sentence in recorded.note:
            return
        self._write(lambda: self._store.runs.add_note(run.id, sentence))
        kind = ChangeKind.RUN_PROGRESS if run.id in self._runs else ChangeKind.RUN_FINISHED
        self._tell(Change(kind, job_id=run.job_id, run_id=run.id))

    def _write(self, write: Callable[[], None]) -> None:
        """Write something beside a tick, as long as this engine is the one."""
        with self._store.transaction():
            self._store.lease.check(self._generation)
            write()

    def wait_for_end(self, timeout_s: float) -> bool:
        """Wait until some run ends, for those who have no event loop; tell whether one did."""
        if not self._inbox.wait(min(timeout_s, self.look_delay_ms() / 1_000)):
            self.look()
        return self.take_in()

    # --- Ends ----------------------------------------------------------------------------------------

    def _record_ends(self, now_ms: int, changes: list[Change]) -> None:
        ends = list({ended.run_id: ended for ended in self._ended if ended.run_id in self._runs}.values())
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
        if run.id in self._works:
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
            self._wakefulness.release(run_id)

    def _take_requests(self, now_ms: int, changes: list[Change]) -> None:
        for request in self._store.requests.others():
            if request.kind is RequestKind.REFRESH:
                self.read_environment()
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
        """Start a claimed run; whatever keeps it from starting is its own end and disturbs nobody else."""
        try:
            is_started = self._start(record, run)
        except (StaleEngineError, StoreReplacedError):
            raise
        except Exception as error:  # noqa: BLE001 - the one broad catch: a fault in one job, recorded
            outcome, reason, sentence = why_not_started(error)
            self.end(Ended(run_id=run.id, outcome=outcome, reason=reason, error=sentence))
            return True
        if is_started:
            self._keep_awake(self._runs[run.id])
        return is_started

    def _start(self, record: JobRecord, run: Run) -> bool:
        """Start a claimed run, if this engine is still the one; a job nobody here can run is skipped."""
        # Right before the start, once more. Nobody takes over a lease that was renewed within this second; but
        # this process may have been frozen since, for longer than the lease lasts.
        if abs(self._clock.now_ms() - self._last_tick_at) > _SURELY_OURS_MS:
            self._store.lease.check(self._generation)
        # Another engine may run the same slot from a file, or a journal, that came into the place of ours.
        self._store.database.require_in_place()
        action = record.spec.action
        if isinstance(action, Callback):
            handler = self._handlers.find(action.name)
            if handler is not None:
                self._handlers.start(
                    handler, record.job, run, lambda ended: self.post(lambda: self.end(ended))
                )
                return True
        elif (work := self._resources.runner.start(record.job, run, self._context(record, run))) is not None:
            self._works[run.id] = work
            return True
        self._skip_unsupported(record, run)
        return False

    def _keep_awake(self, active_run: ActiveRun) -> None:
        if active_run.keeps_awake:
            self._wakefulness.hold(active_run.run, active_run.job_name)

    def _context(self, record: JobRecord, run: Run) -> RunContext:
        return context_of(self._store, record.id, record.spec, run)

    def _skip_unsupported(self, record: JobRecord, run: Run) -> None:
        now_ms = self._clock.now_ms()
        end = RunEnd(
            outcome=Outcome.SKIPPED,
            finished_at=now_ms,
            reason=SkipReason.UNSUPPORTED_TYPE,
            error=f"nothing here can run a {record.spec.action.kind} job",
        )
        with self._store.transaction():
            self._store.lease.check(self._generation)
            changes = self._finish([Ending(run, end)])
            if record.id not in self._told_unsupported:
                self._told_unsupported.add(record.id)
                self._store.events.append(
                    now_ms, EventKind.JOB_UNSUPPORTED, record.id, action=record.spec.action.kind
                )
        self._forget_done()
        for change in changes:
            self._tell(change)
