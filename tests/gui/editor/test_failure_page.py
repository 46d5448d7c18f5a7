"""The pages with the policy: what happens when it goes wrong, and the rest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from editor_desk import FULL, Bench, opened_bench
from PySide6.QtWidgets import (
    QComboBox,
    QSpinBox,
    QWidget,
)
from pytestqt.qtbot import QtBot

from halo_scheduler import (
    Backoff,
    Limits,
    Policy,
    Retry,
)
from halo_scheduler.model import CatchUp, Notify


@pytest.fixture
def bench(tmp_path: Path, qtbot: QtBot) -> Iterator[Bench]:
    with opened_bench(tmp_path, qtbot) as found:
        yield found


def test_a_policy_is_made(bench: Bench) -> None:
    desk = bench.open(groups=("web", "backup"))
    desk.fill_in()
    desk.press("hasTimeLimit")
    desk.find(QSpinBox, "retryAttempts").setValue(3)
    desk.find(QSpinBox, "maxErrors").setValue(0)
    desk.find(QComboBox, "backoff").setCurrentIndex(1)
    desk.find(QComboBox, "catchUp").setCurrentIndex(2)
    desk.find(QComboBox, "notify").setCurrentIndex(3)
    desk.find(QComboBox, "group").setEditText(" web ")
    desk.find(QSpinBox, "jitter").setValue(7)
    desk.press("hasMin")
    desk.press("enabled")
    spec = desk.save()
    assert spec.policy == Policy(
        time_limit=None,
        retry=Retry(attempts=3),
        max_errors=0,
        backoff=Backoff.double(),
        catch_up=CatchUp.SKIP,
        notify=Notify.NONE,
        jitter_percent=7,
        limits=Limits(min_ms=60_000),
    )
    assert (spec.group, spec.enabled) == ("web", False)


def test_each_missed_time_is_caught_up_to_a_limit(bench: Bench) -> None:
    desk = bench.open()
    desk.fill_in()
    assert not desk.find(QSpinBox, "catchUpLimit").isVisibleTo(desk.find(QWidget, "optionsPage"))
    desk.find(QComboBox, "catchUp").setCurrentIndex(1)
    assert desk.find(QSpinBox, "catchUpLimit").isVisibleTo(desk.find(QWidget, "optionsPage"))
    desk.find(QSpinBox, "catchUpLimit").setValue(24)
    policy = desk.save().policy
    assert (policy.catch_up, policy.catch_up_limit) == (CatchUp.ALL, 24)


def test_limits_that_contradict_each_other_are_refused(bench: Bench) -> None:
    desk = bench.open(FULL)
    desk.find(QSpinBox, "minDistanceNumber").setValue(5_000)
    desk.settle()
    assert desk.error("minRow") == "The minimum must be smaller than the maximum."


def test_a_ladder_is_typed_and_described_in_words(bench: Bench) -> None:
    desk = bench.open(FULL)
    desk.write("ladder", "10s, 2m")
    assert desk.save().policy.backoff == Backoff.ladder(10_000, 120_000)


def test_a_new_request_gets_five_minutes_unless_another_limit_was_chosen(bench: Bench) -> None:
    desk = bench.open()
    desk.write("name", "job")
    desk.press("actionKind_http")
    desk.write("url", "https://example.org/")
    assert desk.save().policy.time_limit == "5m"
    desk.press("actionKind_command")
    desk.write("commandLine", "true")
    assert desk.save().policy.time_limit == "2h"
    desk.find(QSpinBox, "timeLimitNumber").setValue(3)
    desk.press("actionKind_http")
    assert desk.save().policy.time_limit == "3h"
