"""The random delay and the interval limits, in the editor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from editor_desk import FULL, Bench, opened_bench
from PySide6.QtWidgets import QComboBox, QSpinBox
from pytestqt.qtbot import QtBot

from halo_scheduler import Policy


@pytest.fixture
def bench(tmp_path: Path, qtbot: QtBot) -> Iterator[Bench]:
    with opened_bench(tmp_path, qtbot) as found:
        yield found


def test_a_random_delay_is_a_duration_that_is_the_same_for_each_run(bench: Bench) -> None:
    desk = bench.open(replace(FULL, policy=Policy(jitter_percent=7)))
    assert desk.summary("spacingFold") == "random delay up to 7 %"
    desk.find(QComboBox, "jitterUnit").setCurrentText("hours")
    desk.find(QSpinBox, "jitter").setValue(36)
    desk.press("jitterFixed")
    desk.settle()
    assert desk.summary("spacingFold") == "random delay up to 36 h"
    assert desk.save().policy == Policy(jitter="36h", is_jitter_fixed=True)


def test_a_percentage_stays_below_its_limit_after_a_duration(bench: Bench) -> None:
    desk = bench.open(replace(FULL, policy=Policy(jitter="1h")))
    desk.find(QSpinBox, "jitter").setValue(50)
    desk.find(QComboBox, "jitterUnit").setCurrentText("% of the interval")
    assert desk.save().policy == Policy(jitter_percent=10)


@pytest.mark.parametrize("jitter", ["90 M", "1h", "86400s", "36500d", "90061s"])
def test_a_duration_that_is_not_changed_is_saved_as_it_was(bench: Bench, jitter: str) -> None:
    policy = Policy(jitter=jitter)
    desk = bench.open(replace(FULL, policy=policy))
    desk.press("keepAwake")
    policy = replace(policy, keep_awake=True)
    assert desk.save().policy == policy


def test_a_delay_of_nothing_is_none(bench: Bench) -> None:
    desk = bench.open(replace(FULL, policy=Policy(jitter="1h")))
    desk.find(QSpinBox, "jitter").setValue(0)
    desk.settle()
    assert desk.summary("spacingFold") == "none"
    assert desk.save().policy == Policy()
