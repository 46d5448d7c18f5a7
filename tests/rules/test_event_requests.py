"""Accepting events: each becomes one request, however often it is reported."""

from __future__ import annotations

import pytest
from machine import START, Bench

from halo_scheduler import Entry, Every, OnFile, OnSession, OnWebhook, Policy, Several
from halo_scheduler.model import Backoff, Limits, Schedule, SessionEvent, SkipReason
from halo_scheduler.model.jobs import MOST_INPUT_BYTES
from halo_scheduler.model.schedules import Overlap
from halo_scheduler.rules.event_requests import (
    MOST_WAITING,
    Accepted,
    Happening,
    Refused,
    accept,
    joined_input,
)
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


def test_an_event_becomes_a_request_with_its_input(bench: Bench, store: Store) -> None:
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


def test_events_beyond_the_limit_are_counted_on_the_last_and_reported_once(
    bench: Bench, store: Store
) -> None:
    _add(bench)
    for number in range(MOST_WAITING):
        _accept(store, str(number))
    last = _requests(store)[-1]
    assert _accept(store, "more") == Accepted(last.run_id, is_folded=True)
    assert _accept(store, "and more") == Accepted(last.run_id, is_folded=True)
    assert [request.folded for request in _requests(store)] == [0] * (MOST_WAITING - 1) + [2]
    told = [event for event in store.events.of_job("job") if event.kind is EventKind.EVENTS_FOLDED]
    assert len(told) == 1


def test_an_event_whose_sender_is_answered_is_refused_beyond_the_limit(bench: Bench, store: Store) -> None:
    _add(bench)
    for number in range(MOST_WAITING):
        _accept(store, str(number))
    happening = Happening(job_id="job", key="", event_id="more", at=START, is_answered=True)
    with store.transaction():
        assert accept(store, happening) == Refused(SkipReason.AT_CAPACITY)
    assert [request.folded for request in _requests(store)] == [0] * MOST_WAITING


def test_a_run_that_counts_further_events_has_their_inputs(bench: Bench, store: Store) -> None:
    _add(bench, OnFile("/in"))
    for number in range(MOST_WAITING):
        _accept(store, str(number), content=b"/in/a%d\n" % number)
    _accept(store, "more", content=b"/in/b\n")
    _accept(store, "and more", content=b"/in/c\n")
    last = _requests(store)[-1]
    assert store.requests.event_input(last.run_id) == b"/in/a99\n/in/b\n/in/c\n"
    assert last.input_bytes == len(b"/in/a99\n/in/b\n/in/c\n")


def test_joined_inputs_keep_within_the_size_of_one() -> None:
    first, line = b"/in/first\n", b"/in/0123456789\n"
    joined = joined_input(first, line * 100_000)
    assert len(joined) <= MOST_INPUT_BYTES
    *paths, last = joined.splitlines(keepends=True)
    assert (paths[0], set(paths[1:]), last) == (
        first,
        {line},
        b"# and more, for which there is no room here\n",
    )
    assert MOST_INPUT_BYTES - len(joined) < len(line)
    assert joined_input(joined, b"/in/later\n") == joined


def test_a_folded_event_is_counted_once(bench: Bench, store: Store) -> None:
    _add(bench, OnFile("/in"))
    for number in range(MOST_WAITING):
        _accept(store, str(number))
    found = _accept(store, "more", content=b"/in/b\n")
    assert _accept(store, "more", content=b"/in/b\n") == found
    last = _requests(store)[-1]
    assert (last.folded, store.requests.event_input(last.run_id)) == (1, b"/in/b\n")


def test_an_event_that_was_replaced_is_not_accepted_again(bench: Bench, store: Store) -> None:
    _add(bench, Several((Entry(_CALL, on_overlap=Overlap.LATEST),)))
    for event_id in ("old", "new"):
        _accept(store, event_id, key="1", content=event_id.encode())
    assert isinstance(_accept(store, "old", key="1"), Accepted)
    (request,) = _requests(store)
    assert (request.event_id, request.folded) == ("new", 1)
    assert store.requests.event_input(request.run_id) == b"new"


def test_folded_events_of_long_ago_are_forgotten(bench: Bench, store: Store) -> None:
    _add(bench, Several((Entry(_CALL, on_overlap=Overlap.LATEST),)))
    for event_id in ("first", "second"):
        _accept(store, event_id, key="1")
    later = Happening(job_id="job", key="1", event_id="third", at=START + 31 * 24 * 60 * _MINUTE)
    with store.transaction():
        accept(store, later)
    rows = store.database.rows("SELECT event_id FROM scheduler_folded_events")
    assert rows == [("second",)]


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
