"""Watching: which watchers are open, what they follow, and what they report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from machine import START, Bench
from pytestqt.qtbot import QtBot
from stand_in_watcher import StandInWatcher

from halo_scheduler import Every, OnChat, OnFile, OnSession, OnWebhook, Policy, ScheduleError
from halo_scheduler.errors import StoreUnavailableError
from halo_scheduler.model import CatchUp, Schedule, SessionEvent, SkipReason, StatusReason
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.chat import ChatBot, ChatServiceName
from halo_scheduler.model.webhooks import Place
from halo_scheduler.rules.event_requests import Accepted, Happening, Refused
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.store.events import EventKind
from halo_scheduler.triggers.watching import Link, Watched, Watcher, Watching, open_watcher

_LOGIN = OnSession(SessionEvent.LOGIN)
_FILE = OnFile("/a")

pytestmark = pytest.mark.usefixtures("stand_in_watchers")


class _Desk:
    """A supervisor over the jobs of a bench, whose engine is started but does not watch by itself."""

    def __init__(self, bench: Bench) -> None:
        bench.tick()
        self.posted: list[Callable[[], None]] = []
        self.stored: list[Change] = []
        self.fault = ""
        self.watching = Watching(
            bench.scheduler._store,
            bench.clock,
            generation=lambda: bench.scheduler._store.lease.read().generation,  # type: ignore[union-attr]  # it is held
            post=self.posted.append,
            stored=self.stored.extend,
            open_kind=self._open,
        )

    def _open(self, kind: str, link: Link) -> Watcher:
        if self.fault:
            raise OSError(self.fault)
        return open_watcher(kind, link)


@pytest.fixture
def desk(bench: Bench) -> _Desk:
    return _Desk(bench)


def _add(bench: Bench, schedule: Schedule, job_id: str = "job") -> str:
    return bench.scheduler.add_job(job_id, schedule, job_id=job_id)


def _happening(event_id: str = "1", job_id: str = "job") -> Happening:
    return Happening(job_id=job_id, key="", event_id=event_id, at=START)


def test_jobs_with_times_open_no_watcher(
    bench: Bench, desk: _Desk, stand_in_watchers: list[StandInWatcher]
) -> None:
    _add(bench, Every("1h"))
    desk.watching.follow()
    assert not stand_in_watchers


def test_one_watcher_follows_all_events_of_its_kind(
    bench: Bench, desk: _Desk, stand_in_watchers: list[StandInWatcher]
) -> None:
    _add(bench, _LOGIN, "a")
    _add(bench, OnSession(SessionEvent.BOOT), "b")
    _add(bench, _FILE, "c")
    desk.watching.follow()
    desk.watching.follow()
    assert [watcher.followed for watcher in stand_in_watchers] == [
        [[Watched("a", "", _LOGIN, "a"), Watched("b", "", OnSession(SessionEvent.BOOT), "b")]],
        [[Watched("c", "", _FILE, "c")]],
    ]


def test_an_edit_reaches_the_watcher(
    bench: Bench, desk: _Desk, stand_in_watchers: list[StandInWatcher]
) -> None:
    _add(bench, OnFile("/a"))
    desk.watching.follow()
    bench.scheduler.update_job("job", schedule=OnFile("/b"), name="other")
    desk.watching.follow()
    assert stand_in_watchers[0].followed[-1] == [Watched("job", "", OnFile("/b"), "other")]


@pytest.mark.parametrize(
    "end",
    [
        lambda scheduler: scheduler.pause_job("job"),
        lambda scheduler: scheduler.remove_job("job"),
        lambda scheduler: scheduler.update_job("job", enabled=False),
        lambda scheduler: scheduler.update_job("job", schedule=Every("1h")),
    ],
)
def test_a_watcher_without_events_is_closed(
    bench: Bench, desk: _Desk, stand_in_watchers: list[StandInWatcher], end: Callable[[Scheduler], None]
) -> None:
    _add(bench, _LOGIN)
    desk.watching.follow()
    end(bench.scheduler)
    desk.watching.follow()
    assert [watcher.is_closed for watcher in stand_in_watchers] == [True]


@pytest.mark.parametrize(
    "stop",
    [
        lambda scheduler: scheduler.pause_job("job"),
        lambda scheduler: scheduler.update_job("job", enabled=False),
    ],
)
def test_webhooks_are_received_while_their_jobs_are_inactive(
    bench: Bench, desk: _Desk, stand_in_watchers: list[StandInWatcher], stop: Callable[[Scheduler], None]
) -> None:
    _add(bench, OnWebhook())
    bench.scheduler.settings.change(webhooks=True)
    stop(bench.scheduler)
    desk.watching.follow()
    (watcher,) = stand_in_watchers
    assert not watcher.is_closed
    assert watcher.followed in ([], [[]])
    bench.scheduler.remove_job("job")
    desk.watching.follow()
    assert watcher.is_closed


def test_closing_closes_all_watchers(
    bench: Bench, desk: _Desk, stand_in_watchers: list[StandInWatcher]
) -> None:
    _add(bench, _LOGIN)
    desk.watching.follow()
    desk.watching.close()
    assert stand_in_watchers[0].is_closed
    with pytest.raises(StoreUnavailableError):
        stand_in_watchers[0].link.report([_happening()], {})


def test_a_watcher_that_cannot_be_opened_is_tried_again(
    bench: Bench,
    desk: _Desk,
    stand_in_watchers: list[StandInWatcher],
    caplog: pytest.LogCaptureFixture,
) -> None:
    _add(bench, _LOGIN)
    desk.fault = "no more watches"
    desk.watching.follow()
    desk.watching.follow()
    assert [record.message for record in caplog.records] == [
        "Watching events of the kind session failed.",
        "An event of job job: it cannot be watched: no more watches",
    ]
    assert _trouble(bench) == "it cannot be watched: no more watches"
    desk.fault = ""
    desk.watching.follow()
    assert not _trouble(bench)
    assert len(stand_in_watchers) == 1


# --- Reports -------------------------------------------------------------------------------------------


@pytest.fixture
def link(bench: Bench, desk: _Desk, stand_in_watchers: list[StandInWatcher]) -> Link:
    """Have the link of the watcher of a job that starts at login."""
    _add(bench, _LOGIN)
    desk.watching.follow()
    return stand_in_watchers[0].link


def test_a_report_is_stored_with_the_watch_state(bench: Bench, desk: _Desk, link: Link) -> None:
    (found,) = link.report([_happening()], {("job", ""): "session 1"})
    assert isinstance(found, Accepted)
    assert [request.run_id for request in bench.scheduler._store.requests.events()] == [found.run_id]
    assert link.states() == {("job", ""): "session 1"}
    for call in desk.posted:
        call()
    assert desk.stored == [Change(ChangeKind.JOB, job_id="job")]


def test_the_watch_state_is_stored_without_an_event(desk: _Desk, link: Link) -> None:
    assert link.report([], {("job", ""): "session 1"}) == []
    assert link.states() == {("job", ""): "session 1"}
    assert not desk.posted


def test_a_report_is_stored_whole_or_not_at_all(bench: Bench, link: Link) -> None:
    with pytest.raises(UnicodeEncodeError):
        link.report([_happening()], {("job", ""): "half of a character: \udc00"})
    assert not bench.scheduler._store.requests.events()
    assert link.states() == {}


def test_a_paused_job_keeps_no_state_and_ignores_events(bench: Bench, link: Link) -> None:
    bench.scheduler.pause_job("job")
    assert link.report([_happening()], {("job", ""): "session 1"}) == [Refused(SkipReason.PAUSED)]
    assert link.states() == {}


def test_the_state_of_an_event_that_was_edited_is_dropped(bench: Bench, link: Link) -> None:
    bench.scheduler.update_job("job", schedule=OnSession(SessionEvent.BOOT))
    link.report([], {("job", ""): "session 1"})
    assert bench.scheduler._store.watch_states.of_jobs(["job"]) == {}


def test_the_state_of_an_event_that_is_not_followed_is_dropped(bench: Bench, link: Link) -> None:
    link.report([], {("gone", ""): "1", ("job", "7"): "2"})
    assert bench.scheduler._store.watch_states.of_jobs(["job", "gone"]) == {}


def _disabled_by_errors(scheduler: Scheduler) -> Scheduler:
    record = scheduler._store.jobs.require("job")
    with scheduler._store.transaction():
        scheduler._store.jobs.save_states([record.evolve(disabled_reason=StatusReason.ERRORS, errors=5)])
    return scheduler


@pytest.mark.parametrize(
    "begin_anew",
    [
        lambda scheduler: (scheduler.pause_job("job"), scheduler.resume_job("job")),
        lambda scheduler: (
            scheduler.update_job("job", enabled=False),
            scheduler.update_job("job", enabled=True),
        ),
        lambda scheduler: _disabled_by_errors(scheduler).update_job("job", enabled=True),
        lambda scheduler: (scheduler.remove_job("job"), scheduler.restore_job("job")),
        lambda scheduler: scheduler.update_job("job", schedule=OnSession(SessionEvent.LOGIN, "5m")),
    ],
)
def test_new_events_and_resumed_or_restored_jobs_start_afresh(
    bench: Bench, link: Link, begin_anew: Callable[[Scheduler], None]
) -> None:
    link.report([], {("job", ""): "session 1"})
    begin_anew(bench.scheduler)
    assert link.states() == {}


def test_an_edit_of_other_fields_keeps_the_watch_state(bench: Bench, link: Link) -> None:
    link.report([], {("job", ""): "session 1"})
    bench.scheduler.update_job("job", description="edited", policy=Policy(catch_up=CatchUp.SKIP))
    assert link.states() == {("job", ""): "session 1"}


def test_an_edit_of_one_event_keeps_the_watch_states_of_the_others(
    bench: Bench, desk: _Desk, link: Link
) -> None:
    boot = OnSession(SessionEvent.BOOT)
    bench.scheduler.update_job("job", schedule=[_LOGIN, boot])
    desk.watching.follow()
    link.report([], {("job", "1"): "session 1", ("job", "2"): "boot 1"})
    bench.scheduler.update_job("job", schedule=[_LOGIN, replace(boot, delay="5m")])
    desk.watching.follow()
    assert link.states() == {("job", "1"): "session 1"}


def test_the_end_of_a_pause_starts_watching_afresh(bench: Bench, link: Link) -> None:
    link.report([], {("job", ""): "session 1"})
    bench.scheduler.pause_job("job", START + 60_000)
    bench.clock.advance(60_000)
    bench.tick()
    assert link.states() == {}


def test_an_engine_that_lost_its_lease_accepts_nothing(bench: Bench, link: Link) -> None:
    bench.scheduler._store.database.rows("UPDATE scheduler_engine SET generation = generation + 1")
    with pytest.raises(StoreUnavailableError, match="another engine has taken over"):
        link.report([_happening()], {})
    assert not bench.scheduler._store.requests.events()


def test_jobs_say_whether_they_catch_up(bench: Bench, link: Link) -> None:
    assert link.catches_up("job")
    assert not link.catches_up("gone")
    bench.scheduler.update_job("job", policy=Policy(catch_up=CatchUp.SKIP))
    assert not link.catches_up("job")


def test_runs_are_known_while_they_are_under_way(bench: Bench, link: Link) -> None:
    run_id = bench.scheduler.trigger("job")
    (run,) = bench.tick(1_000)
    assert run.id == run_id
    assert link.was_running("job", [START + 1_000, START + 9_000])
    assert not link.was_running("job", [START + 1_000, START])
    bench.clock.advance(4_000)
    bench.finish(run)
    assert link.was_running("job", [START + 1_000, START + 5_000])
    assert not link.was_running("job", [START + 5_001])
    assert not link.was_running("other", [START + 3_000])


def _trouble(bench: Bench) -> str:
    return bench.scheduler.jobs.situation("job").watch_trouble


def test_trouble_with_an_event_is_the_situation_of_its_job(bench: Bench, desk: _Desk, link: Link) -> None:
    assert link.note_trouble("job", "/in cannot be read", START)
    assert _trouble(bench) == "/in cannot be read"
    for call in desk.posted:
        call()
    assert desk.stored == [Change(ChangeKind.WATCH, job_id="job")]
    assert link.note_trouble("job", "", START)
    assert not _trouble(bench)


def test_trouble_ends_with_the_watching_of_the_event(bench: Bench, desk: _Desk, link: Link) -> None:
    link.note_trouble("job", "/in cannot be read", START)
    bench.scheduler.pause_job("job")
    desk.watching.follow()
    bench.scheduler.resume_job("job")
    assert not _trouble(bench)


def test_trouble_of_the_engine_before_is_forgotten(bench: Bench, link: Link) -> None:
    link.note_trouble("job", "/in cannot be read", START)
    _Desk(bench).watching.follow()
    assert not _trouble(bench)


def test_trouble_that_cannot_be_stored_is_not_notified(desk: _Desk, link: Link) -> None:
    desk.watching.close()
    assert not link.note_trouble("job", "/in cannot be read", START)


def test_trouble_with_an_event_is_written_into_the_journal(
    bench: Bench, link: Link, caplog: pytest.LogCaptureFixture
) -> None:
    for job_id in ("job", "gone"):
        link.note_trouble(job_id, "/in cannot be read", START)
    event = bench.scheduler._store.events.last("job", EventKind.WATCH_TROUBLE)
    assert event is not None
    assert (event.at, event.detail) == (START, {"text": "/in cannot be read"})
    assert "An event of job job: /in cannot be read" in caplog.text
    assert "gone" not in caplog.text


# --- Saving and running --------------------------------------------------------------------------------


def test_an_event_that_cannot_be_observed_is_refused(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    _add(bench, _LOGIN)
    monkeypatch.setattr("stand_in_watcher.refusal", lambda _event: "there is no login here")
    with pytest.raises(ScheduleError, match=r"^schedule: there is no login here$"):
        _add(bench, _LOGIN, "other")
    with pytest.raises(ScheduleError, match=r"^schedules\[1\]: there is no login here$"):
        bench.scheduler.add_job("other", [Every("1h"), _LOGIN])
    bench.scheduler.update_job("job", schedule=[Every("1h"), _LOGIN])
    with pytest.raises(ScheduleError, match=r"^schedules\[1\]: there is no login here$"):
        bench.scheduler.update_job("job", schedule=[Every("1h"), replace(_LOGIN, delay="5m")])


def test_a_kind_without_a_watcher_is_refused(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("halo_scheduler.triggers.watching.WATCHERS", {})
    with pytest.raises(ScheduleError, match="this version doesn't support events of the kind webhook"):
        _add(bench, OnWebhook())


@pytest.mark.usefixtures("qapp")
def test_the_loop_watches_events_and_runs_their_jobs(
    tmp_path: Path, qtbot: QtBot, stand_in_watchers: list[StandInWatcher], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent")
    scheduler = Scheduler.open(tmp_path / "halo.db")
    heard: list[Change] = []
    scheduler.subscribe(heard.append)
    scheduler.on_job_due(lambda *_: None)
    scheduler.start()
    scheduler.add_job("job", _LOGIN, job_id="job")
    qtbot.waitUntil(lambda: bool(stand_in_watchers))
    heard.clear()
    (found,) = stand_in_watchers[0].link.report([_happening()], {})
    assert isinstance(found, Accepted)
    qtbot.waitUntil(lambda: Change(ChangeKind.JOB, job_id="job") in heard)
    scheduler.close()
    assert stand_in_watchers[0].is_closed


# --- Webhooks ------------------------------------------------------------------------------------------


def test_webhooks_are_watched_only_while_they_are_switched_on(
    bench: Bench, desk: _Desk, stand_in_watchers: list[StandInWatcher]
) -> None:
    _add(bench, OnWebhook(), "called")
    _add(bench, _LOGIN, "login")
    desk.watching.follow()
    assert [watcher.link.place for watcher in stand_in_watchers] == [None]
    bench.scheduler.settings.change(webhooks=True)
    desk.watching.follow()
    assert stand_in_watchers[1].link.place == Place("127.0.0.1", 8787)
    bench.scheduler.settings.change(webhooks=False)
    desk.watching.follow()
    assert [watcher.is_closed for watcher in stand_in_watchers] == [False, True]


def test_another_port_opens_a_new_listener(
    bench: Bench, desk: _Desk, stand_in_watchers: list[StandInWatcher]
) -> None:
    _add(bench, OnWebhook(), "called")
    bench.scheduler.settings.change(webhooks=True)
    desk.watching.follow()
    bench.scheduler.settings.change(webhook_port=9_000, webhook_address="::1")
    desk.watching.follow()
    assert [(str(watcher.link.place), watcher.is_closed) for watcher in stand_in_watchers] == [
        ("127.0.0.1:8787", True),
        ("[::1]:9000", False),
    ]


def _bots(*permitted: str, token_at: int = 0) -> tuple[ChatBot, ...]:
    name = "CHAT_family"
    telegram = ChatServiceName.TELEGRAM
    return (ChatBot(name="family", service=telegram, secret=name, permitted=permitted, token_at=token_at),)


def test_bots_are_listened_to_also_without_jobs(
    bench: Bench, desk: _Desk, stand_in_watchers: list[StandInWatcher]
) -> None:
    bench.scheduler.settings.change(chat_bots=_bots())
    desk.watching.follow()
    (watcher,) = stand_in_watchers
    assert (watcher.link.bots, watcher.followed) == (_bots(), [])
    _add(bench, OnChat("family/direct", ("12",)))
    desk.watching.follow()
    assert stand_in_watchers == [watcher]
    bench.scheduler.settings.change(chat_bots=())
    desk.watching.follow()
    assert watcher.is_closed


def test_a_new_token_reopens_the_watcher_but_a_permission_does_not(
    bench: Bench, desk: _Desk, stand_in_watchers: list[StandInWatcher]
) -> None:
    bench.scheduler.settings.change(chat_bots=_bots())
    desk.watching.follow()
    bench.scheduler.settings.change(chat_bots=_bots("12"))
    desk.watching.follow()
    assert len(stand_in_watchers) == 1
    bench.scheduler.settings.change(chat_bots=_bots("12", token_at=1))
    desk.watching.follow()
    assert [watcher.is_closed for watcher in stand_in_watchers] == [True, False]


def test_a_watcher_that_wants_it_is_called_after_each_tick(
    bench: Bench, desk: _Desk, stand_in_watchers: list[StandInWatcher]
) -> None:
    _add(bench, _LOGIN)
    desk.watching.follow()
    calls: list[str] = []
    stand_in_watchers[0].link.after_ticks(lambda: calls.append("tick"))
    desk.watching.follow()
    desk.watching.follow()
    assert len(calls) == 2


def test_the_extra_writes_of_a_report_may_change_other_jobs(
    bench: Bench, desk: _Desk, stand_in_watchers: list[StandInWatcher]
) -> None:
    _add(bench, _LOGIN)
    desk.watching.follow()
    stand_in_watchers[0].link.report([], {}, lambda _store, _found: [Change(ChangeKind.QUESTION)])
    (posted,) = desk.posted
    posted()
    assert desk.stored == [Change(ChangeKind.QUESTION)]
