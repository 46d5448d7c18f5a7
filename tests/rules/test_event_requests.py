"""Accepting events: each becomes one request, however often it is reported."""

from __future__ import annotations

import pytest
from machine import START, Bench

from halo_scheduler import Entry, Every, OnSession, OnWebhook, Policy, Several
from halo_scheduler.model import Backoff, Limits, Schedule, SessionEvent, SkipReason
from halo_scheduler.rules.event_requests import MOST_WAITING, Accepted, Happening, Refused, accept
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.requests import Request
from halo_scheduler.store.store import Store

_MINUTE = 60_000
_CALL = OnWebhook()

pytestmark = pytest.mark.usefixtures("stand_in_watchers")


@pytest.fixture
def store(bench: Bench) -> Store:
    return bench.scheduler._store


def _add(bench: Bench, schedule: Schedule | Several = _CALL, policy: Policy | None = None) -> None:
    bench.scheduler.add_job("job", schedule, job_id="job", policy=policy, parameters={"mode": "full"})


def _accept(store: Store, event_id: str = "1", key: str = "", content: bytes = b"") -> Accepted | Refused:
    happening = Happening(
        job_id="job", key=key, event_id=event_id, at=START, input=content, parameters={"mode": "quick"}
    )
    with store.transaction():
        return accept(store, happening)


def _requests(store: Store) -> list[Request]:
    return store.requests.events()


def test_an_event_becomes_a_request_with_what_it_brings(bench: Bench, store: Store) -> None:
    _add(bench)
    found = _accept(store, content=b"hello")
    (request,) = _requests(store)
    assert found == Accepted(request.run_id)
    assert (request.event_id, request.at, request.attempt) == ("1", START, 1)
    assert (request.parameters, request.input_bytes) == ({"mode": "quick"}, 5)


def test_an_event_is_accepted_once(bench: Bench, store: Store) -> None:
    _add(bench)
    assert _accept(store) == _accept(store)
    assert len(_requests(store)) == 1


def test_the_key_names_one_of_several_events(bench: Bench, store: Store) -> None:
    boot = OnSession(SessionEvent.BOOT)
    _add(bench, Several((Entry(Every("1h")), Entry(OnWebhook()), Entry(boot))))
    _accept(store, "a", key="3")
    assert [request.schedule_key for request in _requests(store)] == ["3"]


@pytest.mark.parametrize("key", ["1", "7", ""])
def test_a_key_without_an_event_is_refused(bench: Bench, store: Store, key: str) -> None:
    _add(bench, Several((Entry(Every("1h")), Entry(OnWebhook()))))
    assert _accept(store, key=key) == Refused(SkipReason.DISABLED)


def test_jobs_that_take_no_events_refuse(bench: Bench, store: Store) -> None:
    _add(bench)
    bench.scheduler.pause_job("job")
    assert _accept(store) == Refused(SkipReason.PAUSED)
    bench.scheduler.update_job("job", enabled=False)
    assert _accept(store) == Refused(SkipReason.DISABLED)
    bench.scheduler.remove_job("job")
    assert _accept(store) == Refused(SkipReason.DISABLED)
    assert not _requests(store)


def test_an_unknown_job_refuses(store: Store) -> None:
    assert _accept(store) == Refused(SkipReason.DISABLED)


def test_events_beyond_the_limit_are_counted_on_the_last_and_told_once(bench: Bench, store: Store) -> None:
    _add(bench)
    for number in range(MOST_WAITING):
        _accept(store, str(number))
    last = _requests(store)[-1]
    assert _accept(store, "more") == Accepted(last.run_id, is_folded=True)
    assert _accept(store, "and more") == Accepted(last.run_id, is_folded=True)
    assert [request.folded for request in _requests(store)] == [0] * (MOST_WAITING - 1) + [2]
    told = [event for event in store.events.of_job("job") if event.kind is EventKind.EVENTS_FOLDED]
    assert len(told) == 1


def test_a_delay_counts_from_the_event(bench: Bench, store: Store) -> None:
    _add(bench, OnSession(SessionEvent.BOOT, "5m"))
    _accept(store)
    assert _requests(store)[0].at == START + 5 * _MINUTE


@pytest.mark.parametrize(
    ("policy", "wait_ms"),
    [
        (Policy(backoff=Backoff.ladder(2 * _MINUTE)), 2 * _MINUTE),
        (Policy(backoff=Backoff.none(), limits=Limits(min_ms=3 * _MINUTE)), 3 * _MINUTE),
        (Policy(backoff=Backoff.none()), 0),
    ],
)
def test_an_event_after_a_failure_waits_like_a_slot(
    bench: Bench, store: Store, policy: Policy, wait_ms: int
) -> None:
    _add(bench, policy=policy)
    record = store.jobs.require("job")
    store.jobs.save_states([record.evolve(errors=1, last_completed_at=START)])
    _accept(store)
    assert _requests(store)[0].at == START + wait_ms


def test_accepted_events_outlive_a_restart(bench: Bench) -> None:
    _add(bench)
    found = _accept(bench.scheduler._store)
    bench.crash()
    assert [Accepted(request.run_id) for request in _requests(bench.scheduler._store)] == [found]
