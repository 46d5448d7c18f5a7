"""Hearing from the kernel that the clock was set. Nobody sets the machine's clock for a test, so nothing is heard."""

from __future__ import annotations

import ctypes
import select
import sys
from pathlib import Path

import pytest

from halo_scheduler.host.signals import ClockChanges

_on_linux = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="only Linux tells of clock changes"
)


@_on_linux
def test_the_timer_is_armed_to_be_cancelled_by_a_clock_change() -> None:
    changes = ClockChanges.open()
    assert changes is not None
    info = Path(f"/proc/self/fdinfo/{changes.fileno()}").read_text()
    assert "clockid: 0" in info
    # TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, in octal
    assert "settime flags: 03" in info
    changes.close()


@_on_linux
def test_nothing_is_readable_until_the_clock_is_set() -> None:
    changes = ClockChanges.open()
    assert changes is not None
    assert select.select([changes], [], [], 0) == ([], [], [])
    assert not changes.take()
    changes.close()


@_on_linux
def test_the_timer_is_armed_again_after_it_fired() -> None:
    changes = ClockChanges.open()
    assert changes is not None
    fdinfo = Path(f"/proc/self/fdinfo/{changes.fileno()}")
    # In the place of a cancellation: a time that has come, which makes the timer readable, too.
    past = (ctypes.c_long * 4)(0, 0, 0, 1)
    assert ctypes.CDLL(None).timerfd_settime(changes.fileno(), 1, ctypes.byref(past), None) == 0
    assert select.select([changes], [], [], 5)[0]
    assert changes.take()
    assert "settime flags: 03" in fdinfo.read_text()
    assert not changes.take()
    changes.close()


def test_other_systems_have_no_clock_notifications(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert ClockChanges.open() is None
