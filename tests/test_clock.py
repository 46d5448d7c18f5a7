"""Clocks."""

from __future__ import annotations

import time

from halo_scheduler.clock import ManualClock, SystemClock


def test_a_manual_clock_moves_only_when_advanced() -> None:
    clock = ManualClock(1_000)
    assert clock.now_ms() == clock.now_ms() == 1_000
    clock.advance(500)
    assert clock.now_ms() == 1_500
    clock.set(200)
    assert clock.now_ms() == 200


def test_the_system_clock_returns_epoch_milliseconds() -> None:
    before_ms = time.time_ns() // 1_000_000
    now_ms = SystemClock().now_ms()
    assert before_ms <= now_ms <= time.time_ns() // 1_000_000


def test_setting_a_manual_clock_leaves_its_monotonic_time() -> None:
    clock = ManualClock(1_000)
    clock.advance(500)
    clock.set(10)
    clock.sleep(90)
    clock.advance(-50)
    assert (clock.now_ms(), clock.monotonic_ms()) == (50, 500)


def test_monotonic_time_never_goes_back() -> None:
    clock = SystemClock()
    assert clock.monotonic_ms() <= clock.monotonic_ms()
