"""What is said about jobs that events start."""

from __future__ import annotations

import pytest
from machine import START, Bench

from halo_scheduler import Entry, Every, Follower, Manual, OnChat, OnSession, OnWebhook, Several
from halo_scheduler.model import SessionEvent
from halo_scheduler.model.chat import ChatBot, ChatServiceName
from halo_scheduler.rules.event_requests import Happening, accept
from halo_scheduler.store.events import EventKind
from halo_scheduler.why.inquiry import Verdict

_MINUTE = 60_000
_LOGIN = OnSession(SessionEvent.LOGIN)

pytestmark = pytest.mark.usefixtures("stand_in_watchers", "machine_in_utc")


def _happen(bench: Bench, key: str = "", event_id: str = "1") -> None:
    store = bench.scheduler._store
    with store.transaction():
        accept(store, Happening(job_id="job", key=key, event_id=event_id, at=bench.clock.now_ms()))


def _said(bench: Bench, at: int | None = None) -> str:
    return " ".join(bench.scheduler.jobs.why("job", at).sentences)


def test_a_job_without_times_names_its_events(bench: Bench) -> None:
    bench.scheduler.add_job("job", [_LOGIN, OnWebhook()], job_id="job")
    bench.tick()
    assert _said(bench) == "It runs at login or when its webhook is called."
    bench.clock.advance(_MINUTE)
    assert _said(bench, START).startswith("It runs at login or when its webhook is called.")
    later = bench.scheduler.jobs.why("job", START + 5 * _MINUTE)
    assert (later.verdict, later.sentences[0]) == (
        Verdict.NOT_A_POINT,
        "It runs at login or when its webhook is called.",
    )


def test_events_beside_times_are_named_too(bench: Bench) -> None:
    bench.scheduler.add_job("job", Several((Entry(Every("1h")), Entry(_LOGIN))), job_id="job")
    assert "It also runs at login." in _said(bench)


def test_a_removed_bot_is_reported_on_its_jobs(bench: Bench) -> None:
    bot = ChatBot(name="family", service=ChatServiceName.TELEGRAM, secret="A")  # noqa: S106 - a name
    bench.scheduler.settings.change(chat_bots=(bot,))
    bench.scheduler.add_job("job", OnChat("family/direct", ("12",)), job_id="job")
    bench.scheduler.settings.change(chat_bots=())
    assert (
        "No message can start it: there is no bot named family; add it with: halo chat add family"
        in _said(bench)
    )


def test_trouble_with_watching_an_event_is_explained(bench: Bench) -> None:
    bench.scheduler.add_job("job", _LOGIN, job_id="job")
    bench.tick()
    store = bench.scheduler._store
    with store.transaction():
        store.events.append(
            START, EventKind.WATCH_TROUBLE, "job", text="/in cannot be read: permission denied"
        )
    bench.clock.advance(_MINUTE)
    assert "Watching its event last failed at 00:00: /in cannot be read: permission denied." in _said(bench)
    with store.transaction():
        store.watch_troubles.save(("job", ""), "logind does not run", bench.clock.now_ms())
    assert "Trouble with its event: logind does not run." in _said(bench)
    with store.transaction():
        store.watch_troubles.forget([("job", "")])
    bench.scheduler.update_job("job", schedule=Every("1h"))
    assert "Watching" not in _said(bench)


def test_a_chain_is_named_beside_the_events(bench: Bench) -> None:
    bench.scheduler.add_job("job", _LOGIN, job_id="job")
    bench.scheduler.add_job("before", Manual(), followers=[Follower(job_id="job")])
    bench.tick()
    assert _said(bench) == "It runs at login. It also runs after before succeeds."


def test_the_run_of_an_event_names_it(bench: Bench) -> None:
    bench.scheduler.add_job("job", _LOGIN, job_id="job")
    _happen(bench)
    (run,) = bench.tick()
    bench.finish(run)
    assert "It was started by an event" in _said(bench, START)
    assert "Its event: at login." in _said(bench, START)
    bench.scheduler.update_job("job", schedule=[_LOGIN, OnWebhook()])
    _happen(bench, "2", "2")
    (run,) = bench.tick(_MINUTE)
    bench.finish(run)
    assert "Its event: when its webhook is called." in _said(bench, START + _MINUTE)
    bench.scheduler.update_job("job", schedule=_LOGIN)
    assert "Its event: one that no longer exists (2)." in _said(bench, START + _MINUTE)


def test_a_waiting_event_is_reported(bench: Bench) -> None:
    bench.scheduler.add_job("job", _LOGIN, job_id="job")
    _happen(bench)
    bench.tick()
    _happen(bench, event_id="2")
    bench.tick(_MINUTE)
    assert "A run after an event has waited since 00:00: its previous run to end." in _said(bench)


def test_hints_do_not_move_a_job_without_times(bench: Bench) -> None:
    bench.scheduler.add_job("job", _LOGIN, job_id="job")
    with pytest.raises(ValueError, match="takes no hints"):
        bench.scheduler.propose_interval("job", "5m")
