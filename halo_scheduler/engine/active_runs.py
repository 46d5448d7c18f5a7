"""The runs under way: what each of them takes, when it must end, and how it is polled."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import NamedTuple, Self

from halo_scheduler.actions.run_services import StopReason, Work
from halo_scheduler.model import ProcessAction, Run
from halo_scheduler.store.job_records import JobRecord

_LOG = logging.getLogger(__name__)


class ActiveRun(NamedTuple):
    """A run that has been claimed and whose end is not yet written.

    (A tuple, because thousands are made in a tick.)
    """

    run: Run
    group: str | None
    deadline_at: int | None
    takes_items: bool
    job_name: str
    keeps_awake: bool

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
    """All of them; one that has ended is forgotten only once that is written."""

    def __init__(self) -> None:
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
        """Note that ends are being written."""
        self._done.update(run_ids)

    def mark_none_done(self) -> None:
        """Note that nothing was written after all, or that it belongs to the past."""
        self._done.clear()

    def is_done(self, run_id: str) -> bool:
        return run_id in self._done

    def still_running(self) -> list[ActiveRun]:
        """Return the runs that have not ended."""
        return [active_run for run_id, active_run in self._runs.items() if run_id not in self._done]

    def forget_done(self) -> list[str]:
        """Forget the runs whose ends are written by now, and return them."""
        done = [run_id for run_id in self._done if self._runs.pop(run_id, None) is not None]
        for run_id in self._done:
            self.works.pop(run_id, None)
            self._stopping.pop(run_id, None)
        self._done.clear()
        return done

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
        """The next time limit of a run that is not being stopped already."""
        ahead = (one.deadline_at for run_id, one in self._runs.items() if run_id not in self._stopping)
        return min((at for at in ahead if at is not None), default=None)

    def want_all_stopped(self, why: StopReason) -> None:
        """Have everything stopped that can be."""
        for run_id in self.works:
            self.want_stop(run_id, why)

    def want_stop(self, run_id: str, why: StopReason) -> None:
        """Have a run stopped; the first reason counts."""
        self._stopping.setdefault(run_id, why)

    def stop_what_must(self, now_ms: int) -> None:
        for run_id, why in self._stopping.items():
            try:
                self.works[run_id].stop(now_ms, why)
            except Exception:  # noqa: BLE001 - one run that cannot be stopped must not keep the others running
                _LOG.exception("A run could not be asked to stop; it is tried again.")

    # --- Polling -------------------------------------------------------------------------------------

    @property
    def next_poll_at(self) -> int | None:
        """When a run wants to be polled again."""
        polls = (work.next_look_at for work in self.works.values())
        return min((at for at in polls if at is not None), default=None)

    def poll(self, now_ms: int) -> list[tuple[str, float, str]]:
        """Poll the runs that want it; return the progress of those that made some."""
        due = [
            (run_id, work)
            for run_id, work in self.works.items()
            if work.next_look_at is not None and work.next_look_at <= now_ms
        ]
        return self._polled(due, now_ms)

    def poll_all(self, now_ms: int) -> None:
        """Poll all of them, whether they want it or not: their output may have to be shortened."""
        self._polled(list(self.works.items()), now_ms)

    def _polled(self, works: list[tuple[str, Work]], now_ms: int) -> list[tuple[str, float, str]]:
        news: list[tuple[str, float, str]] = []
        for run_id, work in works:
            try:
                progress = work.look(now_ms)
            except OSError as error:
                _LOG.warning("A run could not be polled: %s", error)
                continue
            news += [(run_id, *progress)] if progress else []
        return news

    def shift(self, by_ms: int) -> None:
        """Move all instants they wait for: the clock was set."""
        for work in self.works.values():
            work.shift(by_ms)
        for run_id, active_run in self._runs.items():
            if active_run.deadline_at is not None:
                self._runs[run_id] = active_run._replace(deadline_at=active_run.deadline_at + by_ms)

    def leave(self) -> None:
        """Let what runs live on for the next engine."""
        for work in self.works.values():
            work.leave()
        self.works.clear()


def deadline_at(record: JobRecord, run: Run) -> int | None:
    """Return when a run is stopped if it has not ended."""
    limit_ms = record.spec.policy.time_limit_ms
    return None if limit_ms is None or run.started_at is None else run.started_at + limit_ms
