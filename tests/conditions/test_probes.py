"""The result of probing each condition, in words."""

from __future__ import annotations

import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from process_probe import LONG_S, until

from halo_scheduler.conditions.probes import (
    ConditionState,
    NoAnswerError,
    Prober,
    ProbeResult,
    Senses,
    check_condition,
    probe,
)
from halo_scheduler.model.conditions import Condition, Idle, Load, MainsPower, Network, PathExists
from halo_scheduler.model.messages import MessageKind, message
from halo_scheduler.wording.messages import message_words


def _no_answer(_: str, __: int) -> None:
    raise NoAnswerError(message(MessageKind.TEXT, text="connection refused"))


def _blocked(_: str) -> bool:
    raise PermissionError(13, "Permission denied")


def _broken(_: str) -> bool:
    raise OSError


@pytest.mark.parametrize(
    ("condition", "senses", "expected"),
    [
        (MainsPower(), Senses(runs_on_mains=lambda: True), (True, "the computer runs on AC power")),
        (MainsPower(), Senses(runs_on_mains=lambda: False), (False, "the computer runs on battery")),
        (
            MainsPower(),
            Senses(runs_on_mains=lambda: None),
            (None, "the power source can't be detected on this system", False),
        ),
        (Network(), Senses(has_way_out=lambda: True), (True, "there is a network")),
        (Network(), Senses(has_way_out=lambda: False), (False, "there is no network")),
        (Network(host="nas", port=22), Senses(require_answer=lambda *_: None), (True, "nas:22 answers")),
        (
            Network(host="fe80::1", port=22),
            Senses(require_answer=_no_answer),
            (False, "[fe80::1]:22 does not answer (connection refused)"),
        ),
        (Idle(idle="10m"), Senses(idle_ms=lambda: 600_000), (True, "the last input was 10 min ago")),
        (Idle(idle="10m"), Senses(idle_ms=lambda: 599_999), (False, "the last input was 9 min 59 s ago")),
        (Idle(idle="10m"), Senses(idle_ms=lambda: 4_000), (False, "the last input was 4 s ago")),
        (Idle(idle="10m"), Senses(idle_ms=lambda: 9_000_000), (True, "the last input was 2 h 30 min ago")),
        (
            Idle(idle="10m"),
            Senses(idle_ms=lambda: None),
            (None, "idle time can't be detected on this system", False),
        ),
        (Load(below=2), Senses(load=lambda: 1.99), (True, "the load is 1.99")),
        (Load(below=2), Senses(load=lambda: 2.0), (False, "the load is 2.00")),
        (
            Load(below=2),
            Senses(load=lambda: None),
            (None, "the load can't be detected on this system", False),
        ),
        (PathExists(path="/mnt/x"), Senses(is_there=lambda _: True), (True, "/mnt/x exists")),
        (PathExists(path="/mnt/x"), Senses(is_there=lambda _: False), (False, "/mnt/x does not exist")),
        (
            PathExists(path="/mnt/x"),
            Senses(is_there=_blocked),
            (None, "/mnt/x can't be accessed (permission denied)"),
        ),
        (
            PathExists(path="/mnt/x"),
            Senses(is_there=_broken),
            (None, "/mnt/x can't be accessed (no reason given)"),
        ),
    ],
)
def test_the_state_of_each_condition_is_reported(
    condition: MainsPower | Network | Idle | Load | PathExists,
    senses: Senses,
    expected: tuple[bool | None, str] | tuple[bool | None, str, bool],
) -> None:
    found = probe(condition, senses)
    holds, words, *is_observable = expected
    assert (found.holds, message_words(found.state)) == (holds, words)
    assert [found.is_observable] == (is_observable or [True])


def test_a_path_is_checked_on_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "file").touch()
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    assert probe(PathExists(path=str(tmp_path))).holds is True
    assert probe(PathExists(path="~/file")).holds is True
    assert probe(PathExists(path="~")).holds is True
    for missing in ("nothing", "file/below", "dangling", "x" * 300):
        assert probe(PathExists(path=f"{tmp_path}/{missing}")).holds is not True


def test_a_path_of_another_system_is_none_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "C:\\backup").touch()
    look = probe(PathExists(path="C:\\backup"))
    assert look == ProbeResult(
        None, message(MessageKind.FOREIGN_PATH, path="C:\\backup"), is_observable=False
    )


def test_this_machine_knows_its_load() -> None:
    assert probe(Load(below=10_000)).holds is True


def test_a_host_is_asked_on_this_machine() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert probe(Network(host="127.0.0.1", port=server.getsockname()[1])).holds is True


def test_the_answer_is_a_sentence() -> None:
    prober = Prober(
        lambda _: ProbeResult(False, message(MessageKind.CONDITION_STATE, of="power", is_on_mains=False))
    )
    assert prober.check(MainsPower()) == ConditionState(True, False, "The computer runs on battery.")


def test_the_name_of_a_host_keeps_its_case() -> None:
    prober = Prober(
        lambda _: ProbeResult(True, message(MessageKind.CONDITION_STATE, of="host", place="nas.local:22"))
    )
    assert prober.check(Network(host="nas.local", port=22)).sentence == "nas.local:22 answers."


def test_a_condition_that_cannot_be_observed_is_reported() -> None:
    prober = Prober(
        lambda _: ProbeResult(None, message(MessageKind.UNDETECTABLE, what="power"), is_observable=False)
    )
    assert prober.check(MainsPower()) == ConditionState(
        False, None, "The power source can't be detected on this system."
    )


def test_a_probe_that_never_ends_is_not_awaited_and_not_started_twice() -> None:
    forever, looks = threading.Event(), list[Condition]()

    def stare(condition: Condition) -> ProbeResult:
        looks.append(condition)
        forever.wait(LONG_S)
        return ProbeResult(
            True, message(MessageKind.CONDITION_STATE, of="path", path="/mnt/dead", is_there=True)
        )

    prober, dead = Prober(stare, limit_s=0.05), PathExists(path="/mnt/dead")
    with ThreadPoolExecutor(3) as pool:
        states = list(pool.map(prober.check, [dead] * 3))
    until(lambda: looks)
    assert looks == [dead]
    sentence = "No result yet; a job that starts only when /mnt/dead exists would wait."
    assert set(states) == {ConditionState(True, None, sentence)}
    forever.set()
    patient = Prober(stare)
    assert patient.check(dead).holds is True


def test_a_probe_that_raises_gives_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda _: None)

    def break_down(_: Condition) -> ProbeResult:
        raise RuntimeError

    prober = Prober(break_down)
    assert prober.check(MainsPower()).holds is None
    assert prober.check(MainsPower()).holds is None, "and the next is a new one"


def test_a_probe_that_could_not_start_blocks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    prober = Prober(
        lambda _: ProbeResult(True, message(MessageKind.CONDITION_STATE, of="network", is_there=True))
    )
    with monkeypatch.context() as context:
        context.setattr(threading.Thread, "start", _find_no_thread)
        with pytest.raises(RuntimeError, match="new thread"):
            prober.check(MainsPower())
    assert prober.check(MainsPower()).holds is True


def _find_no_thread(_: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def test_this_machine_can_be_asked() -> None:
    assert check_condition(Load(below=10_000)).holds is True
