"""Following services, routes and mounts on a thread that is there only while somebody waits."""

from __future__ import annotations

import os
import queue
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import pytest
from lonely_network import lonely_command
from process_probe import until
from stand_in_services import (
    Buses,
    LoginService,
    MutterService,
    NetworkService,
    PowerService,
    ScreenSaverService,
    private_buses,
)

from halo_scheduler.host import observer as observer_module
from halo_scheduler.host.observer import (
    EventSource,
    Happening,
    Interest,
    MountEvents,
    NoObserver,
    RouteEvents,
    SourceObserver,
    linux_sources,
    system_observer,
)

_LIMIT_S = 60
_POWER = Interest(frozenset({Happening.POWER}))
_NETWORK = Interest(frozenset({Happening.NETWORK}))
_IDLE = Interest(frozenset({Happening.IDLE}), frozenset({600_000, 60_000}))
_MOUNTS = Interest(frozenset({Happening.MOUNTS}))


class _Told:
    """What an observer tells, to be waited for."""

    def __init__(self) -> None:
        self._told: queue.SimpleQueue[Collection[Happening]] = queue.SimpleQueue()

    def __call__(self, happenings: Collection[Happening]) -> None:
        self._told.put(happenings)

    def next(self) -> set[Happening]:
        return set(self._told.get(timeout=_LIMIT_S))

    def is_empty(self) -> bool:
        return self._told.empty()


@pytest.fixture(autouse=True)
def _short_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    # What another test left may still be ending.
    until(lambda: not _threads())
    monkeypatch.setattr(observer_module, "_REST_MS", 5)


@pytest.fixture
def told() -> _Told:
    return _Told()


@pytest.fixture
def observer(told: _Told) -> Iterator[SourceObserver]:
    """Follow the system's bus alone: nothing that the machine of the tests tells by itself comes between."""
    yield from _observer_of("SYSTEM", told)


@pytest.fixture
def session_observer(told: _Told) -> Iterator[SourceObserver]:
    yield from _observer_of("SESSION", told)


def _observer_of(source: str, told: _Told) -> Iterator[SourceObserver]:
    observer = SourceObserver(told, lambda interest: {source: linux_sources(interest)[source]})
    yield observer
    observer.close()
    # It is not waited for long.
    until(lambda: not _threads())


@pytest.fixture
def buses(monkeypatch: pytest.MonkeyPatch) -> Iterator[Buses]:
    with private_buses() as found:
        for name, value in found.environment.items():
            monkeypatch.setenv(name, value)
        yield found


def _threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "halo-observer"]


def test_nothing_is_observed_before_the_first_subscriber(observer: SourceObserver) -> None:
    observer.follow(Interest())
    assert not _threads()


def test_upower_is_followed(buses: Buses, observer: SourceObserver, told: _Told) -> None:
    with PowerService(buses) as upower:
        observer.follow(_POWER)
        assert told.next() == {Happening.POWER}, "what may have happened before is told of, too"
        upower.set_on_battery(True)
        assert told.next() == {Happening.POWER}


def test_a_service_that_comes_goes_and_comes_again_is_noticed(
    buses: Buses, observer: SourceObserver, told: _Told
) -> None:
    observer.follow(_POWER)
    assert told.next() == {Happening.POWER}
    for _ in range(2):
        with PowerService(buses) as upower:
            assert told.next() == {Happening.POWER}, "it has come"
            upower.set_on_battery(True)
            assert told.next() == {Happening.POWER}
        assert told.next() == {Happening.POWER}, "it has gone"


def test_the_network_manager_is_followed(buses: Buses, observer: SourceObserver, told: _Told) -> None:
    with NetworkService(buses) as manager:
        observer.follow(_NETWORK)
        assert told.next() == {Happening.NETWORK}
        manager.tell_of_state()
        assert told.next() == {Happening.NETWORK}


def test_mutter_is_asked_to_report_each_absence(
    buses: Buses, session_observer: SourceObserver, told: _Told
) -> None:
    with MutterService(buses) as mutter:
        session_observer.follow(_IDLE)
        assert told.next() == {Happening.IDLE}
        mutter.wait_for_call("AddIdleWatch", times=2)
        assert sorted(mutter.watches.values()) == [60_000, 600_000]
        mutter.set_idle(60_000)
        assert told.next() == {Happening.IDLE}


def test_a_restarted_mutter_is_queried_again(
    buses: Buses, session_observer: SourceObserver, told: _Told
) -> None:
    session_observer.follow(_IDLE)
    assert told.next() == {Happening.IDLE}
    with MutterService(buses) as mutter:
        assert told.next() == {Happening.IDLE}
        mutter.wait_for_call("AddIdleWatch", times=2)
        mutter.set_idle(600_000)
        assert told.next() == {Happening.IDLE}


def test_the_screen_saver_reports_absence(
    buses: Buses, session_observer: SourceObserver, told: _Told
) -> None:
    with ScreenSaverService(buses) as saver:
        session_observer.follow(_IDLE)
        assert told.next() == {Happening.IDLE}
        saver.set_idle(1)
        assert told.next() == {Happening.IDLE}


def test_logind_reports_absence(buses: Buses, observer: SourceObserver, told: _Told) -> None:
    with LoginService(buses) as logind:
        observer.follow(_IDLE)
        assert told.next() == {Happening.IDLE}
        logind.set_idle(True, 1)
        assert told.next() == {Happening.IDLE}


def test_events_without_a_subscriber_are_not_published(
    buses: Buses, observer: SourceObserver, told: _Told
) -> None:
    with PowerService(buses) as upower, LoginService(buses) as logind:
        observer.follow(_IDLE)
        told.next()
        upower.set_on_battery(True)
        logind.set_idle(True, 1)
        assert told.next() == {Happening.IDLE}
        assert told.is_empty()


def test_signals_of_nonsense_are_survived(buses: Buses, observer: SourceObserver, told: _Told) -> None:
    path, properties = "/org/freedesktop/UPower", "org.freedesktop.DBus.Properties"
    with PowerService(buses) as upower:
        observer.follow(_POWER)
        told.next()
        upower.signal(path, properties, "PropertiesChanged", "i", (7,))
        assert told.next() == {Happening.POWER}
        upower.signal(path, properties, "PropertiesChanged")
        assert told.next() == {Happening.POWER}
        upower.signal("/elsewhere", properties, "PropertiesChanged")
        upower.signal(path, "org.freedesktop.DBus", "NameOwnerChanged", "sss", (upower.NAME, "", ":1.99"))
        upower.set_on_battery(True)
        assert told.next() == {Happening.POWER}


def test_a_flood_of_signals_is_reported_a_few_times(
    buses: Buses, observer: SourceObserver, told: _Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observer_module, "_REST_MS", 50)
    with PowerService(buses) as upower:
        observer.follow(_POWER)
        told.next()
        for _ in range(500):
            upower.set_on_battery(True)
    assert told.next() == {Happening.POWER}
    observer.follow(_NETWORK)
    tellings = 1
    while Happening.NETWORK not in told.next():
        tellings += 1
    assert tellings < 100


def test_a_new_subscription_replaces_the_last(buses: Buses, observer: SourceObserver, told: _Told) -> None:
    with PowerService(buses) as upower, NetworkService(buses) as manager:
        observer.follow(_POWER)
        assert told.next() == {Happening.POWER}
        observer.follow(_NETWORK)
        assert told.next() == {Happening.NETWORK}
        upower.set_on_battery(True)
        manager.tell_of_state()
        assert told.next() == {Happening.NETWORK}
        assert len(_threads()) == 1


def test_a_bus_that_dies_is_survived_and_one_that_comes_later_is_found(
    observer: SourceObserver, told: _Told, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", f"unix:path={tmp_path}/none")
    observer.follow(_POWER)
    for _ in range(2):
        with private_buses() as buses:
            monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", buses.address)
            observer.follow(_POWER)
            assert told.next() == {Happening.POWER}
        # The daemon has gone: nothing is told any more, until somebody asks again.
    assert len(_threads()) == 1


def test_a_bus_that_never_lets_us_in_does_not_keep_the_other_from_telling(
    buses: Buses, told: _Told, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with socket.socket(socket.AF_UNIX) as silent, MutterService(buses) as mutter:
        silent.bind(str(tmp_path / "bus"))
        silent.listen()
        monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", f"unix:path={tmp_path}/bus")
        observer = SourceObserver(told)
        observer.follow(_IDLE)
        assert told.next() == {Happening.IDLE}
        mutter.wait_for_call("AddIdleWatch", times=2)
        mutter.set_idle(60_000)
        assert told.next() == {Happening.IDLE}
        observer.close()


@pytest.mark.usefixtures("buses")
def test_the_thread_ends_with_the_last_subscriber(observer: SourceObserver, told: _Told) -> None:
    observer.follow(_POWER)
    told.next()
    (thread,) = _threads()
    before = set(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names only
    observer.follow(Interest())
    thread.join(_LIMIT_S)
    assert not thread.is_alive()
    assert set(os.listdir("/proc/self/fd")) < before  # noqa: PTH208
    observer.follow(_POWER)
    assert told.next() == {Happening.POWER}, "and it can begin anew"


def test_a_thread_that_broke_is_replaced(told: _Told, monkeypatch: pytest.MonkeyPatch) -> None:
    faults: queue.SimpleQueue[object] = queue.SimpleQueue()
    monkeypatch.setattr(threading, "excepthook", faults.put)
    openers: list[Callable[[], EventSource]] = [lambda: _raise(RuntimeError()), MountEvents]
    observer = SourceObserver(told, lambda _: {"mounts": openers[0]})
    observer.follow(_MOUNTS)
    faults.get(timeout=_LIMIT_S)
    for thread in _threads():
        thread.join(_LIMIT_S)
    openers.pop(0)
    observer.follow(_MOUNTS)
    assert told.next() == {Happening.MOUNTS}
    observer.close()


def test_without_a_thread_nothing_is_observed_and_the_next_request_retries(
    told: _Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    observer = SourceObserver(told, lambda _: {"mounts": MountEvents})
    before = set(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names only
    with monkeypatch.context() as context:
        context.setattr(threading.Thread, "start", lambda _: _raise(RuntimeError("can't start new thread")))
        with pytest.raises(RuntimeError) as raised:
            observer.follow(_MOUNTS)
        # Also while somebody holds on to the error, and so to all that was made.
        assert str(raised.value) == "can't start new thread"
        assert set(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
    observer.follow(_MOUNTS)
    assert told.next() == {Happening.MOUNTS}
    observer.close()


def _raise(error: Exception) -> EventSource:
    raise error


_MOUNTING = """
import subprocess, sys
from halo_scheduler.host import observer as observer_module
from halo_scheduler.host.observer import Happening, Interest
from halo_scheduler.host.observer import SourceObserver
import queue
told = queue.SimpleQueue()
observer = SourceObserver(told.put)
observer.follow(Interest(frozenset({Happening(sys.argv[1])})))
print(*told.get(timeout=60))
subprocess.run(sys.argv[2], shell=True, check=True)
print(*told.get(timeout=60))
observer.close()
"""


def _happens(happening: Happening, wrapper: list[str], change: str) -> list[str]:
    command = [*wrapper, sys.executable, "-c", _MOUNTING, happening, change]
    # Without a bus: it must be the kernel that tells.
    environment = {**os.environ, "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/none"}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=_LIMIT_S
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_a_mount_is_noticed(tmp_path: Path) -> None:
    wrapper = [word.replace("--net", "--mount") for word in lonely_command()]
    told = _happens(Happening.MOUNTS, wrapper, f"mount -t tmpfs none {tmp_path}")
    assert told == ["mounts", "mounts"]


def test_a_new_route_is_noticed_without_any_service() -> None:
    told = _happens(Happening.NETWORK, lonely_command(), "ip link set lo up")
    assert told == ["network", "network"]


def test_routes_that_change_faster_than_they_are_read_are_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    events = RouteEvents()
    try:
        monkeypatch.setattr(events, "_socket", _Overrun(events._socket, OSError(105, "no buffer space")))
        assert events.take() == {Happening.NETWORK}
        monkeypatch.setattr(events, "_socket", _Overrun(events._socket, OSError(9, "bad descriptor")))
        with pytest.raises(OSError, match="bad descriptor"):
            events.take()
    finally:
        events.close()


class _Overrun:
    def __init__(self, inner: socket.socket, error: OSError) -> None:
        self._error = error
        self.close = inner.close

    def recv(self, _: int) -> bytes:
        raise self._error


def test_a_system_without_events_is_not_observed(told: _Told, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(system_observer(told), SourceObserver)
    monkeypatch.setattr(sys, "platform", "darwin")
    nobody = system_observer(told)
    assert isinstance(nobody, NoObserver)
    nobody.follow(_POWER)
    nobody.close()
    assert not _threads()
