"""Keeping the machine awake for runs: by logind, by the portal, by a process, by a thread."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest
from stand_in_services import Buses, Inhibitor, LoginService, PortalService, private_buses

from halo_scheduler.actions.threads import DaemonPool
from halo_scheduler.host import awake as awake_module
from halo_scheduler.host import bus as bus_module
from halo_scheduler.host.awake import (
    Grip,
    KeepAwake,
    LogindGrip,
    NotAwakeError,
    PortalGrip,
    ProcessGrip,
    ThreadGrip,
    first_grip,
    inhibit_sleep,
    one_line,
)

_LIMIT_S = 60


@pytest.fixture
def buses(monkeypatch: pytest.MonkeyPatch) -> Iterator[Buses]:
    with private_buses() as found:
        for name, value in found.environment.items():
            monkeypatch.setenv(name, value)
        yield found


@pytest.fixture
def awake() -> Iterator[KeepAwake]:
    awake = KeepAwake(DaemonPool().submit)
    yield awake
    awake.close()


def _fail(sentence: str) -> None:
    pytest.fail(sentence)


def test_a_run_keeps_a_logind_lock_until_it_is_released(buses: Buses, awake: KeepAwake) -> None:
    with LoginService(buses) as logind:
        awake.hold("run 1", "backup runs", _fail)
        logind.wait_for_call("Inhibit")
        assert logind.inhibitors == [Inhibitor("sleep:idle", "Halo Scheduler", "backup runs", "block")]
        awake.release("run 1")
        logind.wait_until_free()


def test_each_run_has_its_own_lock(buses: Buses, awake: KeepAwake) -> None:
    with LoginService(buses) as logind:
        for run in ("a", "b", "a"):
            awake.hold(run, f"{run} runs", _fail)
        logind.wait_for_call("Inhibit", times=2)
        awake.release("nobody")
        assert sorted(item.why for item in logind.inhibitors) == ["a runs", "b runs"]
        awake.release("a")
        logind.wait_until(lambda: logind.calls == ["Inhibit", "Inhibit"])
        awake.close()
        logind.wait_until_free()


def test_the_lock_is_not_inherited_by_child_processes(buses: Buses) -> None:
    with LoginService(buses) as logind:
        grip = LogindGrip("a run")
        child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, close_fds=False)
        assert len(logind.inhibitors) == 1
        grip.release()
        logind.wait_until_free()
        child.communicate(timeout=_LIMIT_S)


_DYING = """
import os, sys
from halo_scheduler.host.awake import inhibit_sleep
grip = inhibit_sleep("a run")
print("held", flush=True)
sys.stdin.readline()
os.kill(os.getpid(), 9)
"""


def _dying(buses: Buses) -> subprocess.Popen[str]:
    environment = {**os.environ, **buses.environment}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-c", _DYING], env=environment, stdin=pipe, stdout=pipe, text=True
    )


def test_a_program_that_dies_releases_its_lock(buses: Buses) -> None:
    with LoginService(buses) as logind, _dying(buses) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "held\n"
        assert len(logind.inhibitors) == 1
        program.communicate("\n", timeout=_LIMIT_S)
        logind.wait_until_free()


def test_without_logind_the_portal_is_asked(buses: Buses, awake: KeepAwake) -> None:
    with PortalService(buses) as portal:
        awake.hold("run", "backup runs", _fail)
        portal.wait_until(lambda: bool(portal.requests))
        (request,) = portal.requests.values()
        assert (request.flags, request.reason) == (4 | 8, "backup runs")
        awake.release("run")
        portal.wait_for_call("Close")
        assert not portal.requests


def test_the_portal_is_asked_when_logind_gives_no_lock(buses: Buses) -> None:
    with LoginService(buses, nonsense=("s", ("no",))), PortalService(buses) as portal:
        grip = inhibit_sleep("a run")
        assert isinstance(grip, PortalGrip)
        grip.release()
        assert not portal.requests


def test_a_logind_that_is_silent_is_not_waited_for(buses: Buses, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bus_module, "ANSWER_LIMIT_S", 0.1)
    with LoginService(buses, is_silent=True), pytest.raises(OSError, match="no reply"):
        LogindGrip("a run")


def test_a_request_ends_with_its_connection(buses: Buses) -> None:
    with PortalService(buses) as portal:
        grip = PortalGrip("a run")
        assert len(portal.requests) == 1
        grip._connection.close()
        portal.wait_until(lambda: not portal.requests)


def test_a_portal_that_says_nothing_more_is_believed(buses: Buses, monkeypatch: pytest.MonkeyPatch) -> None:
    # What it does answer comes within that time, too.
    monkeypatch.setattr(bus_module, "ANSWER_LIMIT_S", 1.0)
    with PortalService(buses, response=None) as portal:
        PortalGrip("a run").release()
        assert portal.calls == ["Inhibit", "Close"]


def test_a_portal_that_refuses_is_reported(buses: Buses, awake: KeepAwake) -> None:
    sentences: queue.SimpleQueue[str] = queue.SimpleQueue()
    with PortalService(buses, response=2):
        awake.hold("run", "backup runs", sentences.put)
        sentence = sentences.get(timeout=_LIMIT_S)
    assert sentence == "logind failed (it does not run here); the desktop portal failed (the portal refused)"


def test_a_portal_of_nonsense_is_reported(buses: Buses) -> None:
    for nonsense in (("u", (7,)), ("s", ("no path",)), (None, ())):
        with (
            PortalService(buses, nonsense=nonsense),
            pytest.raises(OSError, match="the desktop portal failed"),
        ):
            PortalGrip("a run")


def test_without_a_bus_the_failure_is_reported(awake: KeepAwake, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DBUS_SYSTEM_BUS_ADDRESS", "DBUS_SESSION_BUS_ADDRESS"):
        monkeypatch.setenv(name, "unix:path=/none")
    sentences: queue.SimpleQueue[str] = queue.SimpleQueue()
    awake.hold("run", "backup runs", sentences.put)
    assert "logind" in sentences.get(timeout=_LIMIT_S)
    awake.release("run")


class _Desk:
    """Work that is done when a test says so, with a grip that remembers."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []
        self.held: list[str] = []
        self.fault: OSError | None = None
        self.awake = KeepAwake(self.waiting.append, inhibit=self._inhibit)

    def work(self) -> None:
        while self.waiting:
            self.waiting.pop(0)()

    def release(self) -> None:
        self.held.pop()
        if self.fault is not None:
            raise self.fault

    def _inhibit(self, why: str) -> Grip:
        self.held.append(why)
        return self


def test_a_run_that_ended_before_its_turn_takes_no_lock() -> None:
    desk = _Desk()
    desk.awake.hold("run", "why", _fail)
    desk.awake.release("run")
    desk.waiting.reverse()
    desk.work()
    assert not desk.held


def test_a_run_that_ended_while_the_lock_was_requested_keeps_none() -> None:
    desk = _Desk()

    def think(why: str) -> Grip:
        keeper.release("run")
        desk.waiting.pop()()
        return desk._inhibit(why)

    keeper = KeepAwake(desk.waiting.append, inhibit=think)
    keeper.hold("run", "why", _fail)
    desk.work()
    assert not desk.held


def test_a_refusal_after_the_end_is_ignored() -> None:
    desk = _Desk()

    def refuse(_: str) -> Grip:
        keeper.close()
        raise NotAwakeError("no")

    keeper = KeepAwake(desk.waiting.append, inhibit=refuse)
    keeper.hold("run", "why", _fail)
    desk.work()


def test_hold_and_release_never_wait() -> None:
    desk = _Desk()
    desk.awake.hold("run", "why", _fail)
    assert not desk.held
    desk.work()
    desk.awake.release("run")
    assert desk.held == ["why"]
    desk.work()
    assert not desk.held


def test_without_a_thread_to_do_it_the_lock_is_let_go_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = _Desk()
    desk.awake.hold("run", "why", _fail)
    desk.work()

    def find_no_thread(_: Callable[[], None]) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(desk.awake, "_submit", find_no_thread)
    desk.awake.release("run")
    assert not desk.held


def test_a_release_that_goes_wrong_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    desk = _Desk()
    desk.fault = OSError("the bus has gone")
    desk.awake.hold("run", "why", _fail)
    desk.work()
    desk.awake.release("run")
    desk.work()
    assert "the bus has gone" in caplog.text
    assert caplog.records[0].name == awake_module.__name__


def test_a_process_keeps_the_machine_awake_until_it_is_ended() -> None:
    grip = ProcessGrip(("sleep", "60"))
    assert grip._process.poll() is None
    grip.release()
    assert grip._process.returncode == -signal.SIGTERM


def test_a_process_that_does_not_listen_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(awake_module, "_LONGEST_END_S", 0.05)
    listening = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        grip = ProcessGrip(("sleep", "60"))
    finally:
        signal.signal(signal.SIGTERM, listening)
    grip.release()
    assert grip._process.returncode == -signal.SIGKILL


def test_a_process_that_cannot_be_started_is_reported() -> None:
    with pytest.raises(NotAwakeError, match="/nowhere/caffeinate cannot be started"):
        ProcessGrip(("/nowhere/caffeinate",))


def test_a_thread_keeps_the_computer_awake_and_releases_it() -> None:
    states: list[tuple[int, str]] = []

    def set_state(state: int) -> int:
        states.append((state, threading.current_thread().name))
        return 1

    grip = ThreadGrip(set_state)
    assert states == [(0x80000001, "halo-awake")]
    grip.release()
    assert states == [(0x80000001, "halo-awake"), (0x80000000, "halo-awake")]


def test_a_windows_that_refuses_is_reported() -> None:
    with pytest.raises(NotAwakeError):
        ThreadGrip(lambda _: 0)


@pytest.mark.parametrize(
    ("platform", "fault"),
    [("win32", "cannot call the Windows API"), ("darwin", "caffeinate"), ("beos", "not supported")],
)
def test_each_system_has_its_own_way(monkeypatch: pytest.MonkeyPatch, platform: str, fault: str) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    with pytest.raises(NotAwakeError, match=fault):
        inhibit_sleep("a run")


def test_a_reason_is_one_short_line_that_can_travel() -> None:
    assert one_line("a\nb\0c \u202e d\udc80") == "a b c d"
    assert len(one_line("ä" * 1_000)) == 200
    reasons: list[str] = []

    def take(why: str) -> Grip:
        reasons.append(why)
        return _Desk()

    first_grip("a\nb", (take,))
    assert reasons == ["a b"]
