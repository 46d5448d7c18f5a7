"""How busy the machine is, where the system knows that."""

from __future__ import annotations

import sys
from collections.abc import Callable

import psutil
import pytest

from halo_scheduler.host.machine_state import load_of_last_minute


def _raise(error: Exception) -> Callable[[], tuple[float, float, float]]:
    def getloadavg() -> tuple[float, float, float]:
        raise error

    return getloadavg


def test_it_is_the_average_of_the_last_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "getloadavg", lambda: (0.5, 7.0, 8.0))
    assert load_of_last_minute() == 0.5


def test_an_idle_machine_has_no_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "getloadavg", lambda: (0.0, 0.0, 0.0))
    assert load_of_last_minute() == 0.0


def test_a_windows_that_has_not_counted_yet_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(psutil, "getloadavg", lambda: (0.0, 0.0, 0.0))
    assert load_of_last_minute() is None
    monkeypatch.setattr(psutil, "getloadavg", lambda: (0.2, 0.0, 0.0))
    assert load_of_last_minute() == 0.2


@pytest.mark.parametrize("error", [OSError(), AttributeError()])
def test_a_system_without_a_load_does_not_know(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    monkeypatch.setattr(psutil, "getloadavg", _raise(error))
    assert load_of_last_minute() is None
