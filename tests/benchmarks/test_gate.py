"""The gate of the benchmarks: it reads what the scripts print, and knows better from worse."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

_PATH = Path(__file__).parents[2] / "benchmarks" / "gate.py"


@pytest.fixture(scope="module")
def gate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gate", _PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["gate"] = module
    spec.loader.exec_module(module)
    return module


_SCHEDULE = """\
a new aware croniter: 8.4x ours first, {aware}x again (goal: 3)
a reused naive croniter: 3.1x ours first, 3.8x again (goal: 1)
"""


@pytest.mark.parametrize(("aware", "kept"), [("9.9", True), ("6.5", True), ("6.3", False)])
def test_a_ratio_may_fall_at_most_by_the_margin(gate: ModuleType, aware: str, kept: bool) -> None:
    ratios = gate.measured(gate.LIMITS["schedule.py"], _SCHEDULE.format(aware=aware))
    assert [limit.is_kept(ratio) for limit, ratio in ratios.items()] == [kept, True]


def test_costs_may_rise_by_the_margin_only(gate: ModuleType) -> None:
    cost, modules = gate.LIMITS["terminal.py"]
    assert [cost.is_kept(ratio) for ratio in (1.0, 3.1, 3.2)] == [True, True, False]
    assert [modules.is_kept(count) for count in (0, 1)] == [True, False]


def test_a_line_that_is_missing_is_an_error(gate: ModuleType) -> None:
    with pytest.raises(ValueError, match="no line for"):
        gate.measured(gate.LIMITS["engine.py"], "dispatch: 5,000/s, 12.0x APScheduler (goal: 10)")
