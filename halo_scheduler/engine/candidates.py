"""The jobs that may start by themselves, the one that has waited longest first."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

from halo_scheduler.model import WaitingFor
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.requests import Request
from halo_scheduler.store.store import Store

_SMALLEST_PAGE = 20


class Candidate(NamedTuple):
    """A job whose slot has come or, with a request, that runs because a run of another job has ended.

    (A tuple, because thousands are made in a tick.)
    """

    record: JobRecord
    request: Request | None = None

    @property
    def since(self) -> int:
        """When it was to start."""
        return (self.record.next_run_at or 0) if self.request is None else self.request.at

    @property
    def waits_until(self) -> int | None:
        """When it stops waiting for its conditions, if it has begun to."""
        return (self.record if self.request is None else self.request).waits_until

    @property
    def lacks_a_place(self) -> bool:
        """Whether a place was all it lacked when it was last looked at."""
        if self.request is None:
            return self.record.waiting_for is WaitingFor.AT_CAPACITY
        return self.request.waiting_for in (None, WaitingFor.AT_CAPACITY)


def oldest_first(
    store: Store,
    now_ms: int,
    places: int,
    chain_runs: Sequence[Candidate],
    full_groups: Callable[[], Collection[str]],
) -> Iterator[Candidate]:
    """Yield due jobs and chain runs by age; due jobs are read as far as they are asked for.

    Nobody asks for those that are known to wait for a place in a group that has none: `full_groups` tells by then.
    """
    due = _due(store, now_ms, places, full_groups)
    return heapq.merge(due, chain_runs, key=lambda candidate: candidate.since) if chain_runs else due


def _due(
    store: Store, now_ms: int, places: int, full_groups: Callable[[], Collection[str]]
) -> Iterator[Candidate]:
    """Yield due jobs page by page: the oldest slots fill the places, unless some of them have to wait."""
    size, after = max(places, 1), None
    while page := store.jobs.due(now_ms, size, after, full_groups()):
        yield from map(Candidate, page)
        after = page[-1].next_run_at or 0, page[-1].id
        # Whoever goes on asking will ask for many.
        size = max(2 * size, _SMALLEST_PAGE)
