"""Trying a condition for somebody who waits for the answer."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from process_probe import LONG_S, until

from halo_scheduler.conditions.looking import Look
from halo_scheduler.conditions.probing import ConditionState, Prober, check_condition
from halo_scheduler.model.conditions import Condition, Load, MainsPower, Network, PathExists


def test_the_answer_is_a_sentence() -> None:
    prober = Prober(lambda _: Look(False, "the machine runs on its battery"))
    assert prober.check(MainsPower()) == ConditionState(True, False, "The machine runs on its battery.")


def test_the_name_of_a_host_stays_as_it_is() -> None:
    prober = Prober(lambda _: Look(True, "nas.local:22 answers"))
    assert prober.check(Network(host="nas.local", port=22)).sentence == "nas.local:22 answers."


def test_what_cannot_be_observed_is_said() -> None:
    prober = Prober(lambda _: Look(None, "nothing here tells it", is_observable=False))
    assert prober.check(MainsPower()) == ConditionState(False, None, "Nothing here tells it.")


def test_a_look_that_never_ends_is_not_waited_for_and_not_begun_twice() -> None:
    forever, looks = threading.Event(), list[Condition]()

    def stare(condition: Condition) -> Look:
        looks.append(condition)
        forever.wait(LONG_S)
        return Look(True, "/mnt/dead is there")

    prober, dead = Prober(stare, limit_s=0.05), PathExists(path="/mnt/dead")
    with ThreadPoolExecutor(3) as pool:
        states = list(pool.map(prober.check, [dead] * 3))
    until(lambda: looks)
    assert looks == [dead]
    sentence = "There is no answer yet; a job that starts only when /mnt/dead is there would wait."
    assert set(states) == {ConditionState(True, None, sentence)}
    forever.set()
    patient = Prober(stare)
    assert patient.check(dead).holds is True


def test_a_look_that_breaks_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda _: None)

    def break_down(_: Condition) -> Look:
        raise RuntimeError

    prober = Prober(break_down)
    assert prober.check(MainsPower()).holds is None
    assert prober.check(MainsPower()).holds is None, "and the next is a new one"


def test_a_look_that_could_not_begin_stands_in_nobodys_way(monkeypatch: pytest.MonkeyPatch) -> None:
    prober = Prober(lambda _: Look(True, "there is a network"))
    with monkeypatch.context() as context:
        context.setattr(threading.Thread, "start", _find_no_thread)
        with pytest.raises(RuntimeError, match="new thread"):
            prober.check(MainsPower())
    assert prober.check(MainsPower()).holds is True


def _find_no_thread(_: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def test_this_machine_can_be_asked() -> None:
    assert check_condition(Load(below=10_000)).holds is True
