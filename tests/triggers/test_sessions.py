"""Watching sessions: each boot, login, wake-up and unlocking starts a run once."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from process_probe import until
from stand_in_services import (
    Buses,
    Forger,
    LoginService,
    NetworkService,
    PowerService,
    ScreenSaverService,
    private_buses,
)

from halo_scheduler.clock import ManualClock, SystemClock
from halo_scheduler.errors import StoreUnavailableError
from halo_scheduler.host.observer import Happening as Hint
from halo_scheduler.model import OnSession, OnWebhook, SessionEvent
from halo_scheduler.rules.event_requests import Accepted, Happening, Refused
from halo_scheduler.triggers import sessions as module
from halo_scheduler.triggers.sessions import (
    Senses,
    SessionRounds,
    SessionWatcher,
    open_watcher,
    refusal,
)
from halo_scheduler.triggers.watching import Key, Link, Watched

_NOW = 1_800_000_000_000


class _Store:
    """Takes reports, each event once, or is out of order."""

    def __init__(self) -> None:
        self.kept: dict[Key, str] = {}
        self.taken: list[Happening] = []
        self.is_out_of_order = False

    def report(
        self, happenings: Sequence[Happening], states: Mapping[Key, str], _beside: object = None, /
    ) -> list[Accepted | Refused]:
        self._require()
        self.kept.update(states)
        self.taken += happenings
        return [Accepted("run") for _ in happenings]

    def states(self) -> dict[Key, str]:
        self._require()
        return dict(self.kept)

    def _require(self) -> None:
        if self.is_out_of_order:
            raise StoreUnavailableError("it is locked")

    @property
    def kinds(self) -> list[str]:
        return [item.event_id.partition(":")[0] for item in self.taken]


class _Computer:
    """A computer of the test."""

    def __init__(self) -> None:
        self.boot_id = "boot1"
        self.sessions: frozenset[str] | None = frozenset({"1"})
        self.has_way_out = False
        self.on_mains: bool | None = False
        self.is_told = True

    def senses(self) -> Senses:
        return Senses(
            boot_id=lambda: self.boot_id,
            uptime_ms=lambda: 60_000,
            sessions=lambda: self.sessions,
            reports_sleep=lambda: self.is_told,
            reports_locking=lambda: self.is_told,
            reports_power=lambda: self.is_told,
            has_way_out=lambda: self.has_way_out,
            runs_on_mains=lambda: self.on_mains,
        )


class _Desk:
    def __init__(self) -> None:
        self.clock = ManualClock(_NOW)
        self.store = _Store()
        self.computer = _Computer()
        self.told: list[tuple[str, str]] = []
        self.begin()

    def _tell(self, _job_id: str, text: str, _now_ms: int, key: str = "", /) -> bool:
        self.told.append((key, text))
        return True

    def begin(self) -> None:
        """Begin as a new engine does."""
        link = Link(
            self.store.report, self.store.states, self.clock, Path("/nowhere"), note_trouble=self._tell
        )
        self.rounds = SessionRounds(link, self.computer.senses())

    def follow(self, *kinds: SessionEvent) -> bool:
        self.rounds.follow([_watched(kind) for kind in kinds])
        return self.rounds.report()

    def hint(self, *hints: Hint) -> list[str]:
        """Hint at something, and return the kinds of all events reported so far."""
        self.rounds.take(hints)
        self.rounds.report()
        return self.store.kinds


def _watched(kind: SessionEvent) -> Watched:
    return Watched("job", kind, OnSession(kind), "a job")


@pytest.fixture
def desk() -> _Desk:
    return _Desk()


def test_the_boot_before_the_first_save_does_not_count(desk: _Desk) -> None:
    desk.follow(SessionEvent.BOOT)
    desk.begin()
    desk.follow(SessionEvent.BOOT)
    assert not desk.store.taken


def test_each_boot_counts_once_from_when_the_computer_was_started(desk: _Desk) -> None:
    desk.follow(SessionEvent.BOOT)
    desk.computer.boot_id = "boot2"
    for _ in range(2):
        desk.begin()
        desk.follow(SessionEvent.BOOT)
    (happening,) = desk.store.taken
    assert (happening.event_id, happening.at) == ("boot:boot2:job:boot", _NOW - 60_000)


def test_without_a_boot_id_no_boot_is_known(desk: _Desk) -> None:
    desk.computer.boot_id = ""
    desk.follow(SessionEvent.BOOT)
    assert not desk.store.kept


def test_the_source_of_an_event_may_stop_and_return(desk: _Desk) -> None:
    desk.follow(SessionEvent.WAKE, SessionEvent.NETWORK)
    desk.computer.is_told = False
    desk.rounds.again()
    desk.rounds.report()
    assert not desk.told
    for _ in range(2):
        desk.rounds.again()
        assert desk.rounds.report()
    told = "wake-ups of the computer cannot be observed here: logind does not run"
    assert desk.told == [("wake", told)]
    desk.computer.is_told = True
    desk.rounds.again()
    desk.rounds.report()
    assert desk.told == [("wake", told), ("wake", "")]


def test_each_new_session_is_one_login(desk: _Desk) -> None:
    desk.follow(SessionEvent.LOGIN)
    desk.computer.sessions = frozenset({"1", "2"})
    assert desk.hint(Hint.SESSION) == ["login"]
    desk.begin()
    desk.follow(SessionEvent.LOGIN)
    desk.rounds.again()
    desk.rounds.report()
    assert [item.event_id for item in desk.store.taken] == ["login:boot1/2:job:login"]


def test_the_same_number_after_another_boot_is_another_login(desk: _Desk) -> None:
    desk.follow(SessionEvent.LOGIN)
    desk.computer.boot_id = "boot2"
    desk.begin()
    desk.follow(SessionEvent.LOGIN)
    assert [item.event_id for item in desk.store.taken] == ["login:boot2/1:job:login"]
    assert desk.store.kept == {("job", "login"): "boot2/1"}


def test_a_login_while_no_engine_ran_counts(desk: _Desk) -> None:
    desk.computer.sessions = frozenset()
    desk.follow(SessionEvent.LOGIN)
    desk.computer.sessions = frozenset({"3"})
    desk.begin()
    desk.follow(SessionEvent.LOGIN)
    assert desk.store.kinds == ["login"]


def test_sessions_that_are_unknown_for_a_while_are_no_new_ones_then(desk: _Desk) -> None:
    desk.computer.sessions = frozenset({"1", "2"})
    desk.follow(SessionEvent.LOGIN)
    for sessions in (None, frozenset({"1"}), frozenset({"1", "2"})):
        desk.computer.sessions = sessions
        assert desk.hint(Hint.SESSION) == []


def test_waking_up_is_reported_each_time(desk: _Desk) -> None:
    desk.follow(SessionEvent.WAKE)
    assert desk.hint(Hint.WAKE) == ["wake"]
    assert desk.hint(Hint.WAKE) == ["wake", "wake"]
    assert len({item.event_id for item in desk.store.taken}) == 2


def test_several_signals_of_one_unlock_are_one_event(desk: _Desk) -> None:
    desk.follow(SessionEvent.UNLOCK)
    assert desk.hint(Hint.UNLOCK, Hint.MOUNTS) == ["unlock"]
    desk.clock.advance(400)
    assert desk.hint(Hint.UNLOCK) == ["unlock"]
    desk.clock.advance(60_000)
    assert desk.hint(Hint.UNLOCK) == ["unlock", "unlock"]


def test_the_network_comes_up_once_until_it_is_gone(desk: _Desk) -> None:
    desk.follow(SessionEvent.NETWORK)
    assert desk.hint(Hint.NETWORK) == []
    desk.computer.has_way_out = True
    assert desk.hint(Hint.NETWORK) == ["network"]
    assert desk.hint(Hint.NETWORK) == ["network"]
    desk.computer.has_way_out = False
    desk.hint(Hint.NETWORK)
    desk.computer.has_way_out = True
    assert desk.hint(Hint.NETWORK) == ["network", "network"]


def test_a_network_that_is_up_when_the_engine_starts_does_not_come_up(desk: _Desk) -> None:
    desk.computer.has_way_out = True
    desk.follow(SessionEvent.NETWORK)
    desk.follow(SessionEvent.NETWORK, SessionEvent.MAINS)
    assert desk.hint(Hint.NETWORK) == []


def test_plugging_in_is_reported_also_after_a_time_of_not_knowing(desk: _Desk) -> None:
    desk.follow(SessionEvent.MAINS)
    desk.computer.on_mains = None
    assert desk.hint(Hint.POWER) == []
    desk.computer.on_mains = True
    assert desk.hint(Hint.POWER) == ["mains"]


def test_unwatched_events_are_not_reported(desk: _Desk) -> None:
    desk.follow(SessionEvent.BOOT)
    assert desk.hint(*Hint) == []
    assert not desk.rounds.interest


def test_events_that_cannot_be_stored_are_kept(desk: _Desk) -> None:
    desk.follow(SessionEvent.WAKE, SessionEvent.BOOT)
    desk.store.is_out_of_order = True
    desk.hint(Hint.WAKE)
    desk.computer.boot_id = "boot2"
    desk.rounds.again()
    assert not desk.rounds.report()
    desk.store.is_out_of_order = False
    assert desk.rounds.report()
    assert sorted(desk.store.kinds) == ["boot", "wake"]


# --- What can be observed ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SessionEvent)
def test_events_that_cannot_be_observed_are_refused_with_the_reason(
    kind: SessionEvent, monkeypatch: pytest.MonkeyPatch
) -> None:
    computer = _Computer()
    monkeypatch.setattr(module, "_senses", computer.senses)
    assert refusal(OnSession(kind)) == ""
    computer.is_told, computer.boot_id, computer.sessions = False, "", None
    refused = refusal(OnSession(kind))
    assert refused.endswith(("not run", "runs", "no boot id")) or kind is SessionEvent.NETWORK
    monkeypatch.setattr(sys, "platform", "darwin")
    assert refusal(OnSession(kind)).endswith("can only be observed on Linux")


def test_other_events_are_not_judged() -> None:
    assert refusal(OnWebhook()) == ""


def test_without_a_bus_only_kernel_events_are_observed(monkeypatch: pytest.MonkeyPatch) -> None:
    for bus in ("SYSTEM", "SESSION"):
        monkeypatch.setenv(f"DBUS_{bus}_BUS_ADDRESS", "unix:path=/nonexistent")
    monkeypatch.setenv("XDG_SESSION_ID", "7")
    observed = [kind for kind in SessionEvent if not refusal(OnSession(kind))]
    assert observed == [SessionEvent.LOGIN, SessionEvent.BOOT, SessionEvent.NETWORK]
    assert refusal(OnSession(SessionEvent.WAKE)) == (
        "wake-ups of the computer cannot be observed here: logind does not run"
    )


# --- Real signals --------------------------------------------------------------------------------------


@pytest.fixture
def buses(monkeypatch: pytest.MonkeyPatch) -> Iterator[Buses]:
    with private_buses() as found:
        for name, value in found.environment.items():
            monkeypatch.setenv(name, value)
        yield found


@pytest.fixture
def store() -> _Store:
    return _Store()


@pytest.fixture
def watcher(store: _Store) -> Iterator[SessionWatcher]:
    watcher = open_watcher(Link(store.report, store.states, SystemClock(), Path("/nowhere")))
    yield watcher
    watcher.close()
    until(lambda: not {"halo-sessions", "halo-observer"} & {item.name for item in threading.enumerate()})


def _until_reported(store: _Store, signal: Any, kind: str) -> None:
    """Signal until it is heard: nothing says when a bus has taken a subscription."""

    def is_reported() -> bool:
        if not store.taken:
            signal()
        return bool(store.taken)

    until(is_reported)
    assert store.kinds[0] == kind


def test_services_are_found(buses: Buses) -> None:
    with LoginService(buses, sessions=("1",)), PowerService(buses):
        assert [kind for kind in SessionEvent if refusal(OnSession(kind))] == []
    with ScreenSaverService(buses):
        assert refusal(OnSession(SessionEvent.UNLOCK)) == ""


def test_waking_up_is_detected(buses: Buses, store: _Store, watcher: SessionWatcher) -> None:
    with LoginService(buses) as logind:
        watcher.follow([_watched(SessionEvent.WAKE)])

        def sleep() -> None:
            logind.tell_of_sleep(is_going_to_sleep=True)
            logind.tell_of_sleep(is_going_to_sleep=False)

        _until_reported(store, sleep, "wake")


def test_a_login_is_detected(buses: Buses, store: _Store, watcher: SessionWatcher) -> None:
    with LoginService(buses, sessions=("1",)) as logind:
        watcher.follow([_watched(SessionEvent.LOGIN)])
        until(lambda: store.kept)
        logind.sessions = ("1", "2")
        _until_reported(store, logind.tell_of_login, "login")
        assert len(store.taken) == 1


@pytest.mark.parametrize("way", ["Unlock", "LockedHint"])
def test_unlocking_is_detected(buses: Buses, store: _Store, watcher: SessionWatcher, way: str) -> None:
    with LoginService(buses, sessions=("1",)) as logind:
        watcher.follow([_watched(SessionEvent.UNLOCK)])
        _until_reported(store, lambda: logind.tell_of_unlocking(way, "1"), "unlock")


def test_unlocking_of_others_is_not_ours(buses: Buses, store: _Store, watcher: SessionWatcher) -> None:
    with LoginService(buses, sessions=("1",)) as logind:
        watcher.follow([_watched(SessionEvent.UNLOCK), _watched(SessionEvent.WAKE)])

        def unlock_and_wake() -> None:
            logind.tell_of_unlocking("Unlock", "9")
            logind.tell_of_sleep(is_going_to_sleep=False)

        _until_reported(store, unlock_and_wake, "wake")
        assert "unlock" not in store.kinds


def test_forged_signals_of_logind_are_ignored(buses: Buses, store: _Store, watcher: SessionWatcher) -> None:
    with LoginService(buses, sessions=("1",)) as logind, Forger(buses) as forger:
        watcher.follow([_watched(SessionEvent.UNLOCK), _watched(SessionEvent.WAKE)])

        def unlock_and_wake() -> None:
            forger.send_to_all(logind.session_path("1"), f"{logind.NAME}.Session", "Unlock")
            logind.tell_of_sleep(is_going_to_sleep=False)

        _until_reported(store, unlock_and_wake, "wake")
        assert "unlock" not in store.kinds


def test_the_end_of_a_screen_saver_is_detected(buses: Buses, store: _Store, watcher: SessionWatcher) -> None:
    with ScreenSaverService(buses) as saver:
        watcher.follow([_watched(SessionEvent.UNLOCK)])
        _until_reported(store, saver.tell_of_end, "unlock")


def test_plugging_in_is_detected(buses: Buses, store: _Store, watcher: SessionWatcher) -> None:
    with PowerService(buses, on_battery=True) as upower:
        watcher.follow([_watched(SessionEvent.MAINS)])
        until(lambda: upower.calls.count("GetAll") >= 2)

        def plug_in() -> None:
            upower.set_on_battery(False)

        _until_reported(store, plug_in, "mains")


def test_the_network_is_asked_for_when_it_changes(
    buses: Buses, store: _Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    computer = _Computer()
    monkeypatch.setattr(module, "_senses", computer.senses)
    watcher = open_watcher(Link(store.report, store.states, SystemClock(), Path("/nowhere")))
    with NetworkService(buses) as manager:
        watcher.follow([_watched(SessionEvent.NETWORK)])
        until(lambda: SessionEvent.NETWORK in watcher._rounds._was)
        computer.has_way_out = True
        _until_reported(store, manager.tell_of_state, "network")
    watcher.close()


def test_a_fault_does_not_end_the_thread(
    store: _Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "_RETRY_S", 0.01)
    monkeypatch.setattr(module, "_senses", _Computer().senses)
    faults, states = iter([ValueError("an internal error")]), store.states

    def fail_once() -> dict[Key, str]:
        for fault in faults:
            raise fault
        return states()

    monkeypatch.setattr(store, "states", fail_once)
    watcher = open_watcher(Link(store.report, store.states, SystemClock(), Path("/nowhere")))
    watcher.follow([_watched(SessionEvent.BOOT)])
    until(lambda: store.kept)
    watcher.close()
    assert "Reporting events of the session failed." in caplog.text


def test_closing_a_watcher_that_followed_nothing_is_quick(store: _Store) -> None:
    open_watcher(Link(store.report, store.states, SystemClock(), Path("/nowhere"))).close()
    assert "halo-sessions" not in [item.name for item in threading.enumerate()]
