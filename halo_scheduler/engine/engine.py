"""The engine: claims what is due, starts it, records how it ended; it never waits for a job."""

from __future__ import annotations

import logging
import queue
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from halo_scheduler.actions.callback import Handlers
from halo_scheduler.actions.runner import BegunStop, Leftover, Runner, StartHttp
from halo_scheduler.actions.spool import spool_folder
from halo_scheduler.actions.threads import DaemonPool
from halo_scheduler.actions.work import (
    BY_USER,
    QUIT,
    TIME_LIMIT,
    Desk,
    Ended,
    Late,
    Occasion,
    StopReason,
    Work,
)
from halo_scheduler.changes import Change, ChangeKind
from halo_scheduler.clock import Clock
from halo_scheduler.engine.claims import Claims
from halo_scheduler.engine.endings import Ending, Endings, ending_of
from halo_scheduler.engine.outlook import Outlook
from halo_scheduler.engine.recovery import Recovery
from halo_scheduler.engine.settlement import Settlement
from halo_scheduler.engine.survey import Survey
from halo_scheduler.errors import EngineHeldError, StaleEngineError, StoreError
from halo_scheduler.host.login_environment import LoginEnvironment
from halo_scheduler.host.process import is_alive, own_identity
from halo_scheduler.host.watch import ThreadWatch, Watch
from halo_scheduler.model import Callback, Outcome, ProcessAction, Run, SkipReason
from halo_scheduler.occasions import occasion_of
from halo_scheduler.secrets import SecretStore
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.jobs import JobRecord
from halo_scheduler.store.lease import LEASE_MS, EngineRow
from halo_scheduler.store.requests import RequestKind
from halo_scheduler.store.runs import RunEnd
from halo_scheduler.store.settings import OUTPUT_LIMIT_BYTES, SPOOL_LIMIT_BYTES, NumberSetting
from halo_scheduler.store.store import Store
from halo_scheduler.work.desk import WorkDesk

if TYPE_CHECKING:
    from halo_scheduler.conditions.surroundings import Surroundings

_LOG = logging.getLogger(__name__)
MAX_DELAY_MS = 60_000
_SURELY_OURS_MS = 1_000
_BACKWARDS_MS = 1_000


@dataclass(frozen=True, slots=True)
class _Running:
    run: Run
    group: str | None
    deadline_at: int | None
    takes_items: bool

    @classmethod
    def of(cls, record: JobRecord, run: Run) -> _Running:
        action = record.spec.action
        return cls(
            run=run,
            group=record.spec.group,
            deadline_at=_deadline_at(record, run),
            takes_items=isinstance(action, ProcessAction) and action.work_source is not None,
        )


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
        self._environment = LoginEnvironment()
        self._secrets = SecretStore(store.secrets, store.database.path)
        self._work_desk = WorkDesk(
            spool_folder(store.database.path), self._secrets.reader, self._clock.now_ms
        )
        self._settlement = Settlement(store, self._work_desk, self, self._add_note)
        self._runner = self._make_runner(ThreadWatch(self.post), None)
        self._max_concurrent = max_concurrent
        self._tell = tell
        self._owner = owner
        self._generation = 0
        self._last_tick_at = 0
        self._seen_at = 0
        self._recovery = Recovery(store, 0)
        self._surroundings = surroundings
        self._outlook = Outlook(store, self._get_surroundings)
        self._claims = self._make_claims()
        self._endings = Endings(store)
        self._claiming = False
        self._running: dict[str, _Running] = {}
        self._works: dict[str, Work] = {}
        self._stopping: dict[str, StopReason] = {}
        self._done: set[str] = set()
        self._inbox: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._ended: list[Ended] = []
        self._late: dict[str, tuple[Run, Late]] = {}
        self._awaited_outputs: set[str] = set()
        self._has_news = False
        self._survey = Survey()
        self._told_unsupported: set[str] = set()
        self.wake: Callable[[], None] = lambda: None

    def equip(self, watch: Watch, http: StartHttp | None) -> None:
        """Let runs use what an event loop offers."""
        self._runner = self._make_runner(watch, http)

    def _make_runner(self, watch: Watch, http: StartHttp | None) -> Runner:
        desk = Desk(
            home=self,
            watch=watch,
            login_environment=self._environment.get,
            output_limit=lambda: self._number(OUTPUT_LIMIT_BYTES),
            spool_limit=lambda: self._number(SPOOL_LIMIT_BYTES),
        )
        folder = spool_folder(self._store.database.path)
        return Runner(folder, desk, self._secrets.reader, http, self._work_desk.open)

    def _make_claims(self) -> Claims:
        return Claims(
            self._store, self._generation, self._max_concurrent, self._outlook, self._is_output_awaited
        )

    def _get_surroundings(self) -> Surroundings:
        """Return what tells whether conditions hold, for the jobs that have some."""
        if self._surroundings is None:
            from halo_scheduler.conditions.surroundings import ObservedSurroundings  # noqa: PLC0415

            self._surroundings = ObservedSurroundings(self.submit, self.look_around)
        return self._surroundings

    def look_around(self) -> None:
        """Look again, from whatever thread, at the jobs that wait: their surroundings have changed."""
        self.post(self._note_news)

    def _note_news(self) -> None:
        self._has_news = True

    def _is_output_awaited(self, run_id: str) -> bool:
        """Tell whether the output of a recorded run still waits for the secrets that must not be in it."""
        return run_id in self._awaited_outputs and run_id not in self._late

    def _number(self, setting: NumberSetting) -> int:
        """Return a setting; a run must be able to end also while the database cannot be read."""
        with suppress(StoreError):
            return self._store.settings.number(setting)
        return setting.default

    def read_environment(self) -> None:
        """Ask the login shell for its environment, before a command has to wait for that."""
        self._environment.forget()
        self._pool.submit(self._read_environment)

    def _read_environment(self) -> None:
        self._environment.get()

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
        self.wake()

    def end(self, ended: Ended) -> None:
        """Take in the end of a run, on the engine's thread."""
        self._ended.append(ended)
        self.wake()

    def is_in_charge(self) -> bool:
        """Tell, on whatever thread, whether the lease cannot have run out since it was last renewed."""
        return abs(self._clock.now_ms() - self._last_tick_at) < LEASE_MS

    def note_item(self, run_id: str, work_id: str, title: str, url: str) -> None:
        """Write down which item a run works on, on the engine's thread."""
        self._write(lambda: self._store.runs.save_work(run_id, work_id, title, url))
        running = self._running.get(run_id)
        if running is not None:
            run = replace(running.run, work_id=work_id, work_title=title, work_url=url)
            self._running[run_id] = replace(running, run=run)
            self._tell(Change(ChangeKind.RUN_PROGRESS, job_id=running.run.job_id, run_id=run_id))

    def take_in(self) -> bool:
        """Do what other threads brought; tell whether that needs a tick: runs have ended, surroundings changed."""
        while True:
            try:
                news = self._inbox.get_nowait()
            except queue.Empty:
                return bool(self._ended or self._late or self._has_news)
            try:
                news()
            except Exception:  # noqa: BLE001 - a fault in one run's news must not keep back the others'
                _LOG.exception("News of a run could not be taken in.")

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
        changes = [Change(ChangeKind.ENGINE)]
        try:
            with self._store.transaction():
                leftovers = self._take_over(now_ms, changes)
        except BaseException:
            self._generation = 0
            raise
        self._last_tick_at = self._seen_at = now_ms
        self._claiming = True
        self._take_up(leftovers)
        for change in [*changes, *self._take_news()]:
            self._tell(change)

    def _take_over(self, now_ms: int, changes: list[Change]) -> list[Leftover]:
        before = self._store.lease.read()
        if before is not None and before.is_held(now_ms) and is_alive(before.pid, before.process_start):
            raise EngineHeldError(f"the jobs are run by {before.owner} (process {before.pid})")
        pid, process_start = own_identity()
        self._generation = 1 if before is None else before.generation + 1
        self._recovery = Recovery(self._store, self._generation)
        self._claims = self._make_claims()
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
            now_ms,
            EventKind.ENGINE_STARTED,
            owner=self._owner,
            generation=self._generation,
            awake_until=None if before is None else before.awake_until,
        )
        leftovers = self._settle_leftovers(now_ms, 0 if before is None else before.last_tick_at, changes)
        self._claims.drop_stale_requests(now_ms)
        self._recovery.end_pauses(now_ms)
        if before is not None:
            self._recovery.after_restart(before, now_ms)
        self._recovery.plan_the_unplanned(now_ms)
        return leftovers

    def _take_up(self, leftovers: list[Leftover]) -> None:
        """Go on with the runs that outlived their engine, and clear away what the others left."""
        for left in leftovers:
            if left.run.id in self._running:
                self._works[left.run.id] = self._runner.adopt(left)
            elif left.ended.needs_secrets:
                self._attach_later(left.run, left.ended.needs_secrets)
            else:
                self._clear_spool(left.run.id)
        waiting = {left.run.id for left in leftovers if left.ended.needs_secrets}
        waiting |= self._take_up_outputs({left.run.id for left in leftovers})
        for run_id in self._work_desk.claimed() - self._running.keys() - waiting:
            self._settle(run_id)

    def _take_up_outputs(self, known: set[str]) -> set[str]:
        """Store what waits for its secrets since before the last engine went; delete what nobody needs."""
        waiting: set[str] = set()
        for run_id in self._runner.left_behind() - known:
            run = self._store.runs.get(run_id)
            names = self._runner.secrets_of(run_id)
            if run is not None and names and not self._store.outputs.has(run_id):
                self._attach_later(run, names)
                waiting.add(run_id)
            else:
                self._clear_spool(run_id)
        return waiting

    def stop_runs(self) -> None:
        """Stop all that can be stopped, as for a quit."""
        for run_id in self._works:
            self._stopping.setdefault(run_id, QUIT)
        self._stop_what_must()

    def stop_claiming(self) -> None:
        """Start nothing any more; what runs goes on."""
        self._claiming = False

    def give_up(self) -> None:
        """Leave the engine's row to others."""
        if not self.is_started:
            return
        self.leave_runs()
        if self._surroundings is not None:
            self._surroundings.close()
        self._settlement.give_up()
        self._note_survivors(self._survey.take()())
        now_ms = self._clock.now_ms()
        with self._store.transaction():
            if self._store.lease.give_up(self._generation, now_ms):
                self._store.events.append(now_ms, EventKind.ENGINE_STOPPED, running=len(self._running))
        self._generation = 0
        self._tell(Change(ChangeKind.ENGINE))

    def leave_runs(self) -> None:
        """Let what runs live on for the next engine."""
        for work in self._works.values():
            work.leave()
        self._works.clear()

    # --- A tick --------------------------------------------------------------------------------------

    def tick(self) -> list[str]:
        """Record what ended, claim what is due in one transaction, then start it; return the started runs."""
        self.take_in()
        self.look()
        self._has_news = False
        now_ms = self._clock.now_ms()
        changes: list[Change] = []
        self._done.clear()
        self._take_news()  # Of a tick that failed, nothing is true.
        with self._store.transaction():
            changes += self._recovery.end_pauses(now_ms)
            zone = self._recovery.notice_jumps(self._last_tick_at, now_ms)
            changes += self._endings.record_late(self._late.values(), now_ms)
            self._record_ends(now_ms, changes)
            self._take_requests(now_ms, changes)
            self._end_overdue(now_ms, changes)
            claimed = self._claim(now_ms, changes)
            self._store.lease.renew(self._generation, now_ms, runs=len(claimed), zone=zone)
        # Only now is it true: what was written can no longer be undone.
        for record, run in claimed:
            self._running[run.id] = _Running.of(record, run)
        self._recovery.zone = zone
        self._last_tick_at = now_ms
        self._clear_spools()
        self._ended = []
        self._forget_done()
        self._stop_what_must()
        self._watch_surroundings()
        for change in [*changes, *self._take_news()]:
            self._tell(change)
        started = [run.id for record, run in claimed if self._try_to_start(record, run)]
        # Last: whatever keeps it from being read, what is claimed has begun.
        self._settlement.look_at_questions()
        return started

    def _take_news(self) -> list[Change]:
        return self._recovery.take_news() + self._claims.take_news()

    def _watch_surroundings(self) -> None:
        """Have followed what is waited for since this tick, and nothing else."""
        if self._surroundings is not None:
            self._surroundings.watch(self._outlook.awaited if self._claiming else ())

    def delay_ms(self) -> int:
        """Return how long the loop may sleep."""
        instants = [self._store.jobs.next_instant(self._last_tick_at), self._last_tick_at + MAX_DELAY_MS]
        instants.append(self._outlook.wakes_at if self._claiming else None)
        instants += [
            running.deadline_at for run_id, running in self._running.items() if run_id not in self._stopping
        ]
        ahead = min(at for at in instants if at is not None)
        return min(max(ahead - self._clock.now_ms(), 0), MAX_DELAY_MS)

    def look_delay_ms(self) -> int:
        """Return how long until a run wants to be looked after, which takes less than a tick."""
        looks = [work.next_look_at for work in self._works.values() if work.next_look_at is not None]
        looks += [at for at in (self._survey.due_at, self._settlement.due_at) if at is not None]
        return min(max(min(looks) - self._clock.now_ms(), 0), MAX_DELAY_MS) if looks else MAX_DELAY_MS

    def look(self) -> bool:
        """Look after the runs that want it; tell whether some have ended that are not yet recorded."""
        now_ms = self._clock.now_ms()
        self._notice_clock(now_ms)
        news: list[tuple[str, float, str]] = []
        for run_id, work in list(self._works.items()):
            if work.next_look_at is None or work.next_look_at > now_ms:
                continue
            try:
                progress = work.look(now_ms)
            except OSError as error:
                _LOG.warning("A run could not be looked after: %s", error)
                continue
            news += [(run_id, *progress)] if progress else []
        if news:
            self._write(lambda: self._store.runs.save_progress(news))
            for run_id, _, _ in news:
                job_id = self._running[run_id].run.job_id
                self._tell(Change(ChangeKind.RUN_PROGRESS, job_id=job_id, run_id=run_id))
        if self._survey.due_at is not None and self._survey.due_at <= now_ms:
            self._look_for_survivors()
        self._settlement.look(now_ms)
        return bool(self._ended)

    def _notice_clock(self, now_ms: int) -> None:
        """Let nothing wait until an old time returns after the clock was set back."""
        by_ms, self._seen_at = now_ms - self._seen_at, now_ms
        if by_ms >= -_BACKWARDS_MS:
            return
        self._survey.shift(by_ms)
        self._settlement.shift(by_ms)
        for work in self._works.values():
            work.shift(by_ms)
        for run_id, running in self._running.items():
            if running.deadline_at is not None:
                self._running[run_id] = replace(running, deadline_at=running.deadline_at + by_ms)

    def _look_for_survivors(self) -> None:
        """Go through all processes of the machine, on another thread: there may be thousands."""
        look = self._survey.take()
        self.submit(lambda: self.post(partial(self._note_survivors, look())))

    def _note_survivors(self, found: list[tuple[Run, str]]) -> None:
        for run, sentence in found:
            self._add_note(run, sentence)

    def _add_note(self, run: Run, sentence: str) -> None:
        """Add to a recorded run what was found out about it."""
        self._write(lambda: self._store.runs.add_note(run.id, sentence))
        self._tell(Change(ChangeKind.RUN_FINISHED, job_id=run.job_id, run_id=run.id))

    def _write(self, write: Callable[[], None]) -> None:
        """Write something beside a tick, as long as this engine is the one."""
        with self._store.transaction():
            self._store.lease.check(self._generation)
            write()

    def wait_for_end(self, timeout_s: float) -> bool:
        """Wait until some run ends, for those who have no event loop; tell whether one did."""
        try:
            self._inbox.get(timeout=min(timeout_s, self.look_delay_ms() / 1_000))()
        except queue.Empty:
            self.look()
        return self.take_in()

    def _still_running(self) -> list[_Running]:
        """Return the runs that have not ended; what ends is forgotten only once that is written."""
        return [running for run_id, running in self._running.items() if run_id not in self._done]

    def _forget_done(self) -> None:
        for run_id in self._done:
            self._running.pop(run_id, None)
            self._works.pop(run_id, None)
            self._stopping.pop(run_id, None)
        self._done.clear()

    # --- Ends ----------------------------------------------------------------------------------------

    def _record_ends(self, now_ms: int, changes: list[Change]) -> None:
        ends = list({ended.run_id: ended for ended in self._ended if ended.run_id in self._running}.values())
        self._store.runs.save_progress(
            [(ended.run_id, *ended.progress) for ended in ends if ended.progress is not None]
        )
        changes += self._finish([ending_of(self._running[ended.run_id].run, ended, now_ms) for ended in ends])
        self._endings.record_outputs(ends)
        self._awaited_outputs.update(ended.run_id for ended in ends if ended.needs_secrets)

    def _end_overdue(self, now_ms: int, changes: list[Change]) -> None:
        """Stop runs past their time limit."""
        for running in self._still_running():
            if running.deadline_at is not None and running.deadline_at <= now_ms:
                self._end_early(running.run, TIME_LIMIT, now_ms, changes)

    def _end_early(self, run: Run, why: StopReason, now_ms: int, changes: list[Change]) -> None:
        """Stop what can be stopped, and record that when it is done; of a function, only the record can end."""
        if run.id in self._works:
            self._stopping.setdefault(run.id, why)
        else:
            end = RunEnd(outcome=why.outcome, finished_at=now_ms, error=why.error)
            changes += self._finish([Ending(run, end)])

    def _stop_what_must(self) -> None:
        now_ms = self._clock.now_ms()
        for run_id, why in self._stopping.items():
            try:
                self._works[run_id].stop(now_ms, why)
            except Exception:  # noqa: BLE001 - one run that cannot be stopped must not keep the others running
                _LOG.exception("A run could not be asked to stop; it is tried again.")

    def _clear_spool(self, run_id: str) -> None:
        try:
            self._runner.spool(run_id).remove()
        except OSError as error:
            # The next start tries again.
            _LOG.warning("The files of a run could not be deleted: %s", error)

    def _clear_spools(self) -> None:
        """Delete the files of runs, now that their ends and their output are recorded; settle their items."""
        for run_id in self._late:
            self._clear_spool(run_id)
            self._settle(run_id)
            self._awaited_outputs.discard(run_id)
        self._late.clear()
        for ended in self._ended:
            if ended.run_id not in self._works:
                continue
            run, takes_items = self._running[ended.run_id].run, self._running[ended.run_id].takes_items
            if ended.needs_secrets:
                self._attach_later(run, ended.needs_secrets)
            else:
                self._clear_spool(run.id)
                if takes_items:
                    self._settle(run.id)
            if ended.exit_code is not None and not ended.note:
                self._survey.add(run, self._last_tick_at)

    def _settle(self, run_id: str) -> None:
        self._settlement.settle(run_id, self._runner.wait_until_prepared)

    def _finish(self, endings: list[Ending]) -> list[Change]:
        """Record the ends of runs, and forget these once that is written."""
        self._done.update(ending.run.id for ending in endings)
        return self._endings.record(endings)

    def _settle_leftovers(self, now_ms: int, awake_until: int, changes: list[Change]) -> list[Leftover]:
        """Record how the runs ended that the last engine left; keep those whose processes still live."""
        claimed = self._work_desk.claimed()
        runs = [self._with_item(run) if run.id in claimed else run for run in self._store.runs.running()]
        records = self._as_started(runs)
        specs = {job_id: record.spec for job_id, record in records.items()}
        stops = self._begun_stops(runs, records, awake_until)
        leftovers = self._runner.find_leftovers(runs, specs, stops, now_ms)
        ended = [left for left in leftovers if left.session is None]
        changes += self._finish([ending_of(left.run, left.ended, now_ms) for left in ended])
        self._endings.record_outputs([left.ended for left in ended])
        self._done.clear()
        for left in leftovers:
            record = records.get(left.run.job_id)
            if left.session is not None and record is not None:
                # The job may have been edited since: what counts is what its run took.
                takes_items = left.run.id in claimed
                self._running[left.run.id] = replace(_Running.of(record, left.run), takes_items=takes_items)
        return leftovers

    def _with_item(self, run: Run) -> Run:
        """Return a run with the item it took, also if the last engine died before that was written."""
        work_id = run.work_id or self._work_desk.taken(run.id)
        if work_id == run.work_id:
            return run
        self._store.runs.save_work(run.id, work_id, work_id, "")
        return replace(run, work_id=work_id, work_title=work_id)

    def _as_started(self, runs: list[Run]) -> dict[str, JobRecord]:
        """Return the jobs of runs; one that is being tried as it was edited, so."""
        records = self._store.jobs.get_many({run.job_id for run in runs})
        tests = self._store.requests.tests_under_way()
        for run in runs:
            if run.id in tests and run.job_id in records:
                records[run.job_id] = records[run.job_id].evolve(spec=tests[run.id])
        return records

    def _begun_stops(
        self, runs: list[Run], records: Mapping[str, JobRecord], awake_until: int
    ) -> dict[str, BegunStop]:
        """Return the runs that the last engine was to stop; it may have died on the way."""
        deadlines = {run.id: _deadline_at(records[run.job_id], run) for run in runs if run.job_id in records}
        stops = {
            run_id: BegunStop(TIME_LIMIT, deadline_at)
            for run_id, deadline_at in deadlines.items()
            if deadline_at is not None and deadline_at <= awake_until
        }
        for request in self._store.requests.others():
            if request.kind is RequestKind.CANCEL:
                stops.setdefault(request.run_id, BegunStop(BY_USER, request.at))
        return stops

    def _attach_later(self, run: Run, names: frozenset[str]) -> None:
        """Store what a recorded run printed once the secrets are at hand that must not be in it."""

        def attach(late: Late) -> None:
            self._late[run.id] = run, late
            self.wake()

        self._awaited_outputs.add(run.id)
        self._runner.read_later(run, names, attach)

    def _take_requests(self, now_ms: int, changes: list[Change]) -> None:
        for request in self._store.requests.others():
            if request.kind is RequestKind.REFRESH:
                self.read_environment()
                self._store.requests.close(request)
                continue
            running = self._running.get(request.run_id)
            if running is not None and request.run_id not in self._done:
                self._end_early(running.run, BY_USER, now_ms, changes)
            if request.run_id not in self._running or request.run_id in self._done:
                # Not before it is done: a crash on the way must not lose the wish.
                self._store.requests.close(request)

    def _claim(self, now_ms: int, changes: list[Change]) -> list[tuple[JobRecord, Run]]:
        if not self._claiming:
            return []
        claimed = self._claims.claim(now_ms, [running.group for running in self._still_running()])
        changes += [Change(ChangeKind.RUN_STARTED, job_id=run.job_id, run_id=run.id) for _, run in claimed]
        return claimed

    # --- Starting ------------------------------------------------------------------------------------

    def _try_to_start(self, record: JobRecord, run: Run) -> bool:
        """Start a claimed run; whatever keeps it from starting is its failure and nobody else's."""
        try:
            return self._start(record, run)
        except StaleEngineError:
            raise
        except Exception as error:  # noqa: BLE001 - the one broad catch: a fault in one job, recorded
            sentence = f"it could not be started: {error}"
            failed = Ended(run_id=run.id, outcome=Outcome.FAILURE, error=sentence)
            self.end(failed)
            return True

    def _start(self, record: JobRecord, run: Run) -> bool:
        """Start a claimed run, if this engine is still the one; a job nobody here can run is skipped."""
        # Right before the start, once more. Nobody takes over a lease that was renewed within this second; but
        # this process may have been frozen since, for longer than the lease lasts.
        if abs(self._clock.now_ms() - self._last_tick_at) > _SURELY_OURS_MS:
            self._store.lease.check(self._generation)
        action = record.spec.action
        if isinstance(action, Callback):
            handler = self._handlers.find(action.name)
            if handler is not None:
                self._handlers.start(
                    handler, record.job, run, lambda ended: self.post(lambda: self.end(ended))
                )
                return True
        elif (work := self._runner.start(record.job, run, self._occasion(record, run))) is not None:
            self._works[run.id] = work
            return True
        self._skip_unsupported(record, run)
        return False

    def _occasion(self, record: JobRecord, run: Run) -> Occasion:
        return occasion_of(self._store, record.id, record.spec, run)

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


def _deadline_at(record: JobRecord, run: Run) -> int | None:
    limit_ms = record.spec.policy.time_limit_ms
    return None if limit_ms is None or run.started_at is None else run.started_at + limit_ms
