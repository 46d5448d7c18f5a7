"""Fail when a ratio against a peer got worse than README.md records by more than a margin.

Times depend on the machine, ratios much less; still, each script has three tries, and the best answer counts.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

MARGIN = 0.3
TRIES = 3


class Limit(NamedTuple):
    """A ratio that a script prints, and its recorded value; `is_speed` if more is better."""

    what: str
    pattern: str
    recorded: float
    is_speed: bool = True

    @property
    def bound(self) -> float:
        """The worst ratio that passes."""
        return self.recorded * (1 - MARGIN) if self.is_speed else self.recorded * (1 + MARGIN)

    def is_kept(self, ratio: float) -> bool:
        """Tell whether a measured ratio passes."""
        return ratio >= self.bound if self.is_speed else ratio <= self.bound


LIMITS = {
    "schedule.py": (
        Limit("cron against a new aware croniter", r"aware croniter: [\d.]+x ours first, ([\d.]+)x", 9.2),
        Limit("cron against a reused naive croniter", r"naive croniter: [\d.]+x ours first, ([\d.]+)x", 3.6),
    ),
    "terminal.py": (
        Limit("`halo list`, processor time", r"processor time: .*, ([\d.]+)×", 2.4, is_speed=False),
        Limit("modules of Qt that it loads", r"ours, (\d+) of them Qt's", 0, is_speed=False),
    ),
    "engine.py": (
        Limit("`add_jobs` against APScheduler", r"add_jobs: .*, ([\d.]+)x", 30),
        Limit("dispatch against APScheduler", r"dispatch: .*, ([\d.]+)x", 10),
    ),
}


def main(scripts: list[str]) -> int:
    """Measure with each script until all its limits are kept; return the number of those that are not."""
    missed = 0
    for script in scripts or LIMITS:
        best: dict[Limit, float] = {}
        for _ in range(TRIES):
            best = _better(best, measured(LIMITS[script], _output(script)))
            if all(limit.is_kept(ratio) for limit, ratio in best.items()):
                break
        for limit, ratio in best.items():
            verdict = "kept" if limit.is_kept(ratio) else "MISSED"
            missed += not limit.is_kept(ratio)
            print(
                f"{verdict:<7} {limit.what}: {ratio:g}, recorded {limit.recorded:g}, limit {limit.bound:.2g}"
            )
    return missed


def measured(limits: tuple[Limit, ...], output: str) -> dict[Limit, float]:
    """Return each ratio that a script printed; one that it did not print is an error."""
    found: dict[Limit, float] = {}
    for limit in limits:
        match = re.search(limit.pattern, output)
        if match is None:
            raise ValueError(f"no line for {limit.what!r} in:\n{output}")
        found[limit] = float(match[1])
    return found


def _better(before: dict[Limit, float], now: dict[Limit, float]) -> dict[Limit, float]:
    return {
        limit: (max if limit.is_speed else min)(ratio, before.get(limit, ratio))
        for limit, ratio in now.items()
    }


def _output(script: str) -> str:
    path = Path(__file__).with_name(script)
    return subprocess.run([sys.executable, path], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:]) else 0)
