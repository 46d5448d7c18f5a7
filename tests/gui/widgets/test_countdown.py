"""Counting down: a text is looked at again when it changes, not before, and never while nobody looks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from job_values import HOUR, MINUTE, NOW, SECOND
from PySide6.QtCore import QObject, QTimer
from pytestqt.qtbot import QtBot

from halo_scheduler.wording.schedules import describe_when
from ui.style.wording import ago
from ui.widgets.countdown import LONGEST_WAIT_MS, Countdown, until_ago_changes, until_next_changes


@given(st.integers(SECOND, HOUR - MINUTE), st.integers(0, 100_000_000))
def test_the_remaining_time_changes_exactly_when_predicted(ahead_ms: int, past_ms: int) -> None:
    now_ms = NOW - past_ms
    at = now_ms + ahead_ms
    wait_ms = until_next_changes(at, now_ms)
    assert wait_ms is not None
    assert describe_when(at, now_ms + wait_ms - 1) == describe_when(at, now_ms)
    assert describe_when(at, now_ms + wait_ms) != describe_when(at, now_ms)


@given(st.integers(HOUR, 20 * 24 * HOUR), st.integers(0, 100_000_000))
def test_a_future_day_keeps_its_name_until_the_next_check(ahead_ms: int, past_ms: int) -> None:
    now_ms = NOW - past_ms
    at = now_ms + ahead_ms
    wait_ms = until_next_changes(at, now_ms)
    assert wait_ms is not None
    assert describe_when(at, now_ms + min(wait_ms, LONGEST_WAIT_MS) - 1) == describe_when(at, now_ms)


@given(st.integers(-12 * HOUR + MINUTE, SECOND - 1))
def test_due_and_overdue_times_change_exactly_when_predicted(ahead_ms: int) -> None:
    at = NOW + ahead_ms
    wait_ms = until_next_changes(at, NOW)
    assert describe_when(at, NOW + wait_ms - 1) == describe_when(at, NOW)
    assert describe_when(at, NOW + wait_ms) != describe_when(at, NOW)


@given(st.integers(0, 12 * HOUR - 1), st.integers(0, 100_000_000))
def test_the_elapsed_time_changes_exactly_when_predicted(past_ms: int, shift_ms: int) -> None:
    at = NOW - shift_ms
    now_ms = at + past_ms
    wait_ms = until_ago_changes(at, now_ms)
    assert ago(at, now_ms + wait_ms - 1) == ago(at, now_ms)
    assert ago(at, now_ms + wait_ms) != ago(at, now_ms)


@given(st.integers(12 * HOUR, 20 * 24 * HOUR))
def test_a_past_day_keeps_its_name_until_the_next_check(past_ms: int) -> None:
    at, now_ms = NOW - past_ms, NOW
    assert ago(at, now_ms + until_ago_changes(at, now_ms) - 1) == ago(at, now_ms)


@pytest.fixture
def parent(qtbot: QtBot) -> QObject:  # noqa: ARG001 - an application
    return QObject()


def _interval(countdown: Countdown) -> int:
    timer = countdown.findChild(QTimer)
    assert isinstance(timer, QTimer)
    return timer.interval()


def test_it_waits_for_the_nearest_change_of_all(parent: QObject) -> None:
    countdown = Countdown(parent)
    countdown.add(lambda: [5 * MINUTE, None])
    countdown.add(lambda: [3 * MINUTE])
    countdown.set_running(True)
    assert _interval(countdown) == 3 * MINUTE


def test_it_stops_while_hidden(parent: QObject) -> None:
    countdown = Countdown(parent)
    countdown.add(lambda: [MINUTE])
    countdown.arm()
    assert not countdown.is_armed
    countdown.set_running(True)
    assert countdown.is_armed
    countdown.set_running(False)
    assert not countdown.is_armed


def test_it_stops_when_nothing_changes(parent: QObject) -> None:
    waits = [MINUTE]
    countdown = Countdown(parent)
    countdown.add(lambda: waits)
    countdown.set_running(True)
    waits.clear()
    countdown.arm()
    assert not countdown.is_armed


def test_it_checks_again_within_the_hour(parent: QObject) -> None:
    countdown = Countdown(parent)
    countdown.add(lambda: [40 * 24 * HOUR])
    countdown.set_running(True)
    assert _interval(countdown) == LONGEST_WAIT_MS


def test_texts_that_count_seconds_share_one_beat(qtbot: QtBot, parent: QObject) -> None:
    countdown = Countdown(parent)
    countdown.add(lambda: [1, 7])
    with qtbot.waitSignal(countdown.due):
        countdown.set_running(True)
    assert _interval(countdown) == SECOND
