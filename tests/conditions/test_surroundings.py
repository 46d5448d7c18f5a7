"""What is known of the surroundings: asked without waiting, looked at once at a time, told of when it changes."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Collection, Iterator

import pytest
from process_probe import until
from stand_in_services import Buses, MutterService, PowerService, private_buses

from halo_scheduler.actions.threads import DaemonPool
from halo_scheduler.conditions.probes import ProbeResult, probe
from halo_scheduler.conditions.surroundings import Finding, ObservedSurroundings
from halo_scheduler.host.observer import Happening, Interest
from halo_scheduler.model.conditions import Condition, Idle, Load, MainsPower, Network, PathExists
from halo_scheduler.model.messages import Message, MessageKind, message

_LIMIT_S = 60
_UNKNOWN = Finding(None, message(MessageKind.NO_RESULT))
_NOW = 1_700_000_000_000


def _look(number: int) -> Message:
    return message(MessageKind.TEXT, text=f"look {number}")


class _Desk:
    """Work that is done when a test says so, and what is told of it."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []
        self.looks: list[Condition] = []
        self.holds: bool | None = False
        self.told = 0
        self.interests: list[Interest] = []
        self.is_closed = False
        self.happened: Callable[[Collection[Happening]], None] = lambda _: None
        self.during_look: Callable[[], None] = lambda: None
        self.passed_s = 0.0
        self.surroundings = ObservedSurroundings(
            self.waiting.append,
            self._count,
            look=self._look,
            observer=self._observe,
            stopwatch=lambda: self.passed_s,
        )

    def work(self) -> None:
        while self.waiting:
            self.waiting.pop(0)()

    def follow(self, interest: Interest) -> None:
        self.interests.append(interest)

    def close(self) -> None:
        self.is_closed = True

    def _count(self) -> None:
        self.told += 1

    def _look(self, condition: Condition) -> ProbeResult:
        self.looks.append(condition)
        during, self.during_look = self.during_look, lambda: None
        during()
        return ProbeResult(self.holds, _look(len(self.looks)))

    def _observe(self, happened: Callable[[Collection[Happening]], None]) -> _Desk:
        self.happened = happened
        return self


@pytest.fixture
def desk() -> _Desk:
    return _Desk()


def test_an_unknown_condition_is_probed(desk: _Desk) -> None:
    assert desk.surroundings.find(MainsPower(), _NOW) == _UNKNOWN
    assert len(desk.waiting) == 1
    assert desk.told == 0


def test_a_finished_probe_publishes_its_result(desk: _Desk) -> None:
    desk.surroundings.find(MainsPower(), _NOW)
    desk.work()
    assert desk.told == 1
    assert desk.surroundings.find(MainsPower(), _NOW) == Finding(False, _look(1))
    assert not desk.waiting


def test_a_probe_that_could_not_start_is_started_again(desk: _Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as context:
        context.setattr(desk.surroundings, "_submit", _find_no_thread)
        assert desk.surroundings.find(MainsPower(), _NOW) == _UNKNOWN
    desk.surroundings.find(MainsPower(), _NOW)
    desk.work()
    assert desk.surroundings.find(MainsPower(), _NOW) == Finding(False, _look(1))


def test_a_probe_that_an_event_could_not_start_is_started_by_the_next_query(
    desk: _Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.surroundings.find(MainsPower(), _NOW)
    desk.work()
    with monkeypatch.context() as context:
        context.setattr(desk.surroundings, "_submit", _find_no_thread)
        desk.happened({Happening.POWER})
    assert desk.surroundings.find(MainsPower(), _NOW) == _UNKNOWN
    desk.work()
    assert desk.surroundings.find(MainsPower(), _NOW) == Finding(False, _look(2))


def _find_no_thread(_: Callable[[], None]) -> None:
    raise RuntimeError("can't start new thread")


def test_a_result_is_fresh_for_ten_seconds(desk: _Desk) -> None:
    desk.surroundings.find(MainsPower(), _NOW)
    desk.work()
    assert desk.surroundings.find(MainsPower(), _NOW + 10_000).holds is False
    assert desk.surroundings.find(MainsPower(), _NOW + 10_001) == _UNKNOWN
    desk.work()
    assert desk.surroundings.find(MainsPower(), _NOW + 10_001) == Finding(False, _look(2))


def test_a_result_from_before_the_clock_was_set_back_is_not_fresh(desk: _Desk) -> None:
    desk.surroundings.find(MainsPower(), _NOW)
    desk.work()
    assert desk.surroundings.find(MainsPower(), _NOW - 1) == _UNKNOWN


def test_only_one_probe_of_a_condition_runs_at_a_time(desk: _Desk) -> None:
    for after_ms in (0, 5, 60_000, 3_600_000):
        assert desk.surroundings.find(PathExists(path="/mnt/dead"), _NOW + after_ms) == _UNKNOWN
        desk.surroundings.watch([])
    assert len(desk.waiting) == 1
    desk.surroundings.find(PathExists(path="/mnt/other"), _NOW)
    assert len(desk.waiting) == 2


def test_an_answer_that_comes_much_too_late_is_not_believed(desk: _Desk) -> None:
    desk.surroundings.find(MainsPower(), _NOW)
    desk.holds = True
    desk.during_look = lambda: _ask(desk, _NOW + 60_000)
    desk.work()
    assert desk.surroundings.find(MainsPower(), _NOW + 60_000) == _UNKNOWN


def test_an_answer_that_took_long_is_as_fresh_as_its_end(desk: _Desk) -> None:
    # A name server that is slow to answer must not keep a job from ever starting.
    nas = Network(host="nas.local", port=22)
    desk.surroundings.find(nas, _NOW)
    desk.holds = True
    desk.during_look = lambda: setattr(desk, "passed_s", 15.0)
    desk.work()
    assert desk.surroundings.find(nas, _NOW + 15_001) == Finding(True, _look(1))
    assert desk.surroundings.find(nas, _NOW + 25_001) == _UNKNOWN


def _ask(desk: _Desk, now_ms: int) -> None:
    desk.surroundings.find(MainsPower(), now_ms)


def test_an_event_starts_a_probe_at_once_and_a_change_is_published(desk: _Desk) -> None:
    desk.surroundings.find(MainsPower(), _NOW)
    desk.surroundings.find(Network(), _NOW)
    desk.surroundings.watch([MainsPower(), Network()])
    desk.work()
    desk.looks.clear()
    desk.told = 0
    desk.holds = True
    desk.happened({Happening.POWER})
    desk.work()
    assert desk.looks == [MainsPower()]
    assert desk.told == 1
    assert desk.surroundings.find(MainsPower(), _NOW).holds is True
    assert desk.surroundings.find(Network(), _NOW).holds is False


def test_an_event_without_a_change_does_not_affect_others(desk: _Desk) -> None:
    desk.surroundings.find(MainsPower(), _NOW)
    desk.surroundings.watch([MainsPower()])
    desk.work()
    desk.happened({Happening.POWER})
    desk.work()
    assert len(desk.looks) == 2
    assert desk.told == 1


def test_an_invalidated_result_is_not_used_until_the_next_probe(desk: _Desk) -> None:
    desk.holds = True
    desk.surroundings.find(MainsPower(), _NOW)
    desk.surroundings.watch([MainsPower()])
    desk.work()
    desk.happened({Happening.POWER})
    assert desk.surroundings.find(MainsPower(), _NOW) == _UNKNOWN
    assert len(desk.waiting) == 1
    desk.work()
    assert desk.told == 2, "whoever got no answer is told, although nothing changed"
    assert desk.surroundings.find(MainsPower(), _NOW).holds is True


def test_an_event_during_a_probe_starts_another(desk: _Desk) -> None:
    desk.surroundings.find(MainsPower(), _NOW)
    desk.surroundings.watch([MainsPower()])
    desk.during_look = lambda: desk.happened({Happening.POWER})
    desk.work()
    assert len(desk.looks) == 2
    assert desk.surroundings.find(MainsPower(), _NOW) == Finding(False, _look(2))


def test_conditions_that_no_job_waits_for_are_not_probed(desk: _Desk) -> None:
    desk.surroundings.find(MainsPower(), _NOW)
    desk.work()
    desk.surroundings.watch([])
    desk.happened({Happening.POWER})
    assert not desk.waiting
    assert desk.surroundings.find(MainsPower(), _NOW) == _UNKNOWN


def test_awaited_conditions_are_observed(desk: _Desk) -> None:
    watch = desk.surroundings.watch
    watch([MainsPower(), Network(), Network(host="nas", port=1), PathExists(path="/x"), Load(below=1)])
    watch([Idle(idle="5m"), Idle(idle="1h")])
    watch([Load(below=1)])
    watch([])
    power, network, mounts = Happening.POWER, Happening.NETWORK, Happening.MOUNTS
    assert desk.interests == [
        Interest(frozenset({power, network, mounts})),
        Interest(frozenset({Happening.IDLE}), frozenset({300_000, 3_600_000})),
        Interest(),
        Interest(),
    ]


def test_closing_follows_nothing_any_more(desk: _Desk) -> None:
    desk.surroundings.watch([MainsPower()])
    desk.surroundings.close()
    assert desk.interests[-1] == Interest()
    assert desk.is_closed


def test_a_probe_that_raises_is_logged_and_repeated(desk: _Desk, caplog: pytest.LogCaptureFixture) -> None:
    def break_down() -> None:
        raise RuntimeError("broken")

    desk.during_look = break_down
    desk.surroundings.find(MainsPower(), _NOW)
    with caplog.at_level(logging.ERROR):
        desk.work()
    assert desk.surroundings.find(MainsPower(), _NOW) == Finding(
        None, message(MessageKind.NOT_PROBED, error="RuntimeError")
    )
    assert desk.surroundings.find(MainsPower(), _NOW + 20_000) == _UNKNOWN
    desk.work()
    assert desk.surroundings.find(MainsPower(), _NOW + 20_000).holds is False


class _Machine:
    """The surroundings of the real machine, with threads, as the engine has them."""

    def __init__(self, look: Callable[[Condition], ProbeResult] = probe) -> None:
        self._changes: queue.SimpleQueue[None] = queue.SimpleQueue()
        self.surroundings = ObservedSurroundings(
            DaemonPool().submit, lambda: self._changes.put(None), look=look
        )

    def wait_for(
        self, condition: Condition, holds: bool | None, now_ms: int = _NOW, others: tuple[Condition, ...] = ()
    ) -> Finding:
        """Ask whenever something has changed, as the engine does, until it is so."""
        while True:
            found = self.surroundings.find(condition, now_ms)
            self.surroundings.watch([condition, *others])
            if found.holds is holds and found != _UNKNOWN:
                return found
            self._changes.get(timeout=_LIMIT_S)


@pytest.fixture(autouse=True)
def _short_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("halo_scheduler.host.observer._REST_MS", 5)


@pytest.fixture
def machine() -> Iterator[_Machine]:
    machine = _Machine()
    yield machine
    machine.surroundings.close()


@pytest.fixture
def buses(monkeypatch: pytest.MonkeyPatch) -> Iterator[Buses]:
    with private_buses() as found:
        for name, value in found.environment.items():
            monkeypatch.setenv(name, value)
        yield found


def test_the_plug_is_noticed_at_once(buses: Buses, machine: _Machine) -> None:
    with PowerService(buses, on_battery=True) as upower:
        assert machine.wait_for(MainsPower(), holds=False).state == message(
            MessageKind.CONDITION_STATE, of="power", is_on_mains=False
        )
        upower.set_on_battery(False)
        machine.wait_for(MainsPower(), holds=True)
        upower.set_on_battery(True)
        machine.wait_for(MainsPower(), holds=False)


def test_an_absence_is_noticed_at_once(buses: Buses, machine: _Machine) -> None:
    with MutterService(buses, idle_ms=59_000) as mutter:
        machine.wait_for(Idle(idle="10m"), holds=False)
        mutter.wait_for_call("AddIdleWatch")
        mutter.set_idle(600_000)
        assert machine.wait_for(Idle(idle="10m"), holds=True).state == message(
            MessageKind.CONDITION_STATE, of="idle", ago_ms=600_000
        )


def test_a_desktop_that_comes_later_is_noticed(buses: Buses, machine: _Machine) -> None:
    machine.wait_for(Idle(idle="10m"), holds=None)
    with MutterService(buses, idle_ms=600_000):
        machine.wait_for(Idle(idle="10m"), holds=True)


def test_a_drive_that_does_not_respond_delays_nothing_else() -> None:
    dead, alive = PathExists(path="/mnt/dead"), PathExists(path="/mnt/alive")
    is_back = threading.Event()

    def look(condition: Condition) -> ProbeResult:
        if condition == dead:
            is_back.wait()
        return ProbeResult(True, _look(1))

    machine = _Machine(look)
    before = threading.active_count()
    for now_ms in range(_NOW, _NOW + 600_000, 60_000):
        assert machine.surroundings.find(dead, now_ms) == _UNKNOWN
        machine.wait_for(alive, holds=True, now_ms=now_ms, others=(dead,))
    # One that waits, one or two that work, one that observes.
    assert threading.active_count() - before <= 4
    is_back.set()
    machine.surroundings.close()


def _observers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "halo-observer"]


def test_nothing_runs_while_nothing_waits(buses: Buses, machine: _Machine) -> None:
    with PowerService(buses):
        machine.wait_for(MainsPower(), holds=True)
        # Those of other tests may still be ending.
        (thread,) = until(lambda: observers if len(observers := _observers()) == 1 else None)
        machine.surroundings.watch([])
        thread.join(_LIMIT_S)
        assert not thread.is_alive()
