"""What is left to do once the ends of runs are recorded: their files, their items, what they left running."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial

from halo_scheduler.actions.run_services import Ended, Late
from halo_scheduler.actions.runner import Leftover
from halo_scheduler.engine.active_runs import ActiveRun, ActiveRuns
from halo_scheduler.engine.handle import Handle
from halo_scheduler.engine.settlement import Settlement
from halo_scheduler.engine.starting import RunResources
from halo_scheduler.grammar.english import listed
from halo_scheduler.host.process_tree import marked_processes
from halo_scheduler.host.reaper import REAPER
from halo_scheduler.model import Run
from halo_scheduler.store.store import Store

_DELAY_MS = 1_000
_MOST_NAMED = 10

ReadLater = Callable[[Run, Iterable[str], Callable[[Late], None]], None]

_LOG = logging.getLogger(__name__)
_REAP_PAUSE_MS = 1_000


class SurvivorScan:
    """Looks once for many runs: going through all processes of the machine is too dear for each."""

    def __init__(self) -> None:
        self._runs: dict[str, Run] = {}
        self.due_at: int | None = None

    def add(self, run: Run, now_ms: int) -> None:
        """Look for this run's processes at the next time."""
        self._runs[run.id] = run
        self.due_at = self.due_at or now_ms + _DELAY_MS

    def shift(self, by_ms: int) -> None:
        """Move the next look: the clock was set."""
        self.due_at = None if self.due_at is None else self.due_at + by_ms

    def take(self) -> Callable[[], list[tuple[Run, str]]]:
        """Return what looks for these runs' processes, on whatever thread, and tells which left some."""
        runs, self._runs, self.due_at = self._runs, {}, None
        return lambda: [(runs[run_id], _sentence(pids)) for run_id, pids in marked_processes(runs).items()]


def _sentence(pids: list[int]) -> str:
    what = "a process it started still runs" if len(pids) == 1 else "processes it started still run"
    return f"{what} ({listed([str(pid) for pid in pids[:_MOST_NAMED]])})"


class DeferredOutputs:
    """Keeps in mind whose output is to come, and what has come until it is stored."""

    def __init__(self) -> None:
        self._awaited: set[str] = set()
        self.arrived: dict[str, tuple[Run, Late]] = {}

    def expect(self, run_ids: Iterable[str]) -> None:
        """Note that the output of some runs is to come."""
        self._awaited.update(run_ids)

    def fetch(self, run: Run, names: frozenset[str], read_later: ReadLater) -> None:
        """Have the output of a recorded run read once its secrets are at hand."""

        def arrive(late: Late) -> None:
            self.arrived[run.id] = run, late

        self._awaited.add(run.id)
        read_later(run, names, arrive)

    def is_awaited(self, run_id: str) -> bool:
        """Tell whether the output of a recorded run is still to come."""
        return run_id in self._awaited and run_id not in self.arrived

    def take_stored(self) -> list[str]:
        """Forget what has come, now that it is stored; return whose it was."""
        stored = list(self.arrived)
        self._awaited.difference_update(stored)
        self.arrived.clear()
        return stored


class PostRun:
    """Clears away after the runs of one engine, and after those of the last."""

    def __init__(self, store: Store, resources: RunResources, handle: Handle) -> None:
        self._store = store
        self._resources = resources
        self._handle = handle
        self.settlement = Settlement(store, resources.work_desk, handle, handle.note_on)
        self.scan = SurvivorScan()
        self.deferred_outputs = DeferredOutputs()
        self._is_adopting = False
        self._reaped_at = 0
        self._reap_at: int | None = None

    def clear(self, ends: Iterable[Ended], runs: ActiveRuns, now_ms: int) -> None:
        """Delete the files of runs, now that their ends and their output are recorded; settle their items."""
        for run_id in self.deferred_outputs.take_stored():
            with _one_run():
                self._resources.clear_spool(run_id)
                self._settle(run_id)
        for ended in ends:
            if ended.run_id in runs.works:
                with _one_run():
                    self._clear_one(ended, runs[ended.run_id], now_ms)

    def _clear_one(self, ended: Ended, active_run: ActiveRun, now_ms: int) -> None:
        run = active_run.run
        if ended.needs_secrets:
            self._fetch_output(run, ended.needs_secrets)
        else:
            self._resources.clear_spool(run.id)
            if active_run.takes_items:
                self._settle(run.id)
        if ended.exit_code is not None and not ended.note:
            self.scan.add(run, now_ms)

    def take_up(self, ended: Iterable[Leftover], running: frozenset[str]) -> None:
        """Clear away what the runs of the last engine left that have ended."""
        waiting: set[str] = set()
        known = set(running)
        for left in ended:
            known.add(left.run.id)
            if left.ended.needs_secrets:
                self._fetch_output(left.run, left.ended.needs_secrets)
                waiting.add(left.run.id)
            else:
                self._resources.clear_spool(left.run.id)
        waiting |= self._take_up_outputs(known)
        for run_id in self._resources.work_desk.claimed() - running - waiting:
            self._settle(run_id)

    def _take_up_outputs(self, known: set[str]) -> set[str]:
        """Store what waits for its secrets since before the last engine went; delete what nobody needs."""
        waiting: set[str] = set()
        for run_id in self._resources.runner.left_behind() - known:
            run = self._store.runs.get(run_id)
            names = self._resources.runner.secrets_of(run_id)
            if run is not None and names and not self._store.outputs.has(run_id):
                self._fetch_output(run, names)
                waiting.add(run_id)
            else:
                self._resources.clear_spool(run_id)
        return waiting

    def _fetch_output(self, run: Run, names: frozenset[str]) -> None:
        self.deferred_outputs.fetch(run, names, self._resources.runner.read_later)

    def _settle(self, run_id: str) -> None:
        self.settlement.settle(run_id, self._resources.runner.wait_until_prepared)

    # --- Later ---------------------------------------------------------------------------------------

    @property
    def due_at(self) -> int | None:
        """When it wants to be polled again."""
        instants = (self.scan.due_at, self.settlement.due_at, self._reap_at)
        return min((at for at in instants if at is not None), default=None)

    def poll(self, now_ms: int) -> None:
        """Do what is due."""
        if self.scan.due_at is not None and self.scan.due_at <= now_ms:
            # On another thread: it goes through all processes of the machine, and there may be thousands.
            look = self.scan.take()
            self._handle.submit(lambda: self._handle.post(partial(self._note_survivors, look())))
        self.settlement.poll(now_ms)
        if self._is_adopting and abs(now_ms - self._reaped_at) >= _REAP_PAUSE_MS:
            self._reap(now_ms)

    def _reap(self, now_ms: int) -> None:
        """Reap orphans whenever the engine is awake anyway; only where some have ended, more may follow soon."""
        self._reaped_at = now_ms
        self._reap_at = now_ms + _REAP_PAUSE_MS if REAPER.reap(now_ms) else None

    def start_adopting(self) -> None:
        """Adopt the processes that runs leave without a parent, where the system can do that."""
        self._is_adopting = self._is_adopting or REAPER.start()

    def stop_adopting(self) -> None:
        if self._is_adopting:
            REAPER.stop()
        self._is_adopting, self._reap_at = False, None

    def shift(self, by_ms: int) -> None:
        """Move all instants it waits for: the clock was set."""
        self.scan.shift(by_ms)
        self.settlement.shift(by_ms)
        self._reap_at = None if self._reap_at is None else self._reap_at + by_ms

    def give_up(self) -> None:
        """Try nothing any more; what runs left running is looked for at once."""
        self.settlement.give_up()
        self._note_survivors(self.scan.take()())

    def _note_survivors(self, found: list[tuple[Run, str]]) -> None:
        for run, sentence in found:
            self._handle.note_on(run, sentence)


@contextmanager
def _one_run() -> Iterator[None]:
    """Let a fault in clearing away after one run keep none from starting that was claimed meanwhile."""
    try:
        yield
    except Exception:  # noqa: BLE001 - whatever it was, the end is recorded, and must not be a second time
        _LOG.exception("What a run left could not be cleared away; the next start tries again.")
