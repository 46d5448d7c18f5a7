"""What `halo list` costs, against the two libraries that it cannot do without, in the same run."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from halo_scheduler import After, Command, Cron, Every, HttpRequest, Manual, Scheduler
from halo_scheduler.model import Schedule

JOBS = 1_000
ROUNDS = 25
HALO = str(Path(sys.executable).parent / "halo")
FLOOR = (sys.executable, "-c", "import apsw, click")
# Lists the jobs and tells which modules that took.
LOADED = """
import sys
from halo_scheduler.cli import main
try:
    main(["list"])
finally:
    print(*sys.modules, file=sys.stderr)
"""


class Cost(NamedTuple):
    """What a process took, in seconds; the processor's share says more where others are at work."""

    seconds: float
    of_processor: float


def main() -> None:
    """Print every measurement."""
    with tempfile.TemporaryDirectory(prefix="halo-bench-") as folder:
        environment = _environment(Path(folder))
        _add_jobs(Path(folder))
        measure_list(environment, [], goal=2.2)
        measure_list(environment, ["--json"], goal=3)
        tell_modules(environment)


def _environment(folder: Path) -> dict[str, str]:
    """Return a home of our own, with bytecode as an installed package has it."""
    environment = {
        **os.environ,
        "HALO_HOME": str(folder),
        "XDG_RUNTIME_DIR": str(folder),
        "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment


def _add_jobs(folder: Path) -> None:
    """Store jobs of all kinds, no two of them alike."""
    schedules: list[Schedule] = []
    for index in range(JOBS // 5):
        schedules += [
            Every(f"{index + 1}m"),
            After(f"{index + 1}h"),
            Cron(f"{index % 60} {index % 24} * * 1-5"),
            Cron(f"*/{index % 29 + 1} 9-17 * * *", timezone="Europe/Berlin"),
            Manual(),
        ]
    request = HttpRequest(method="GET", url="https://example.org/health")
    with Scheduler.open(folder / "halo.db") as scheduler:
        scheduler.add_jobs(
            [
                {
                    "name": f"job number {index}",
                    "schedule": schedule,
                    "action": request if index % 7 == 0 else Command(argv=("/bin/echo", str(index))),
                    "group": f"group {index % 10}",
                }
                for index, schedule in enumerate(schedules)
            ]
        )


def measure_list(environment: dict[str, str], options: Sequence[str], *, goal: float) -> None:
    """Run both in turn, so that a machine whose speed varies is the same for both."""
    command = [HALO, "list", *options]
    for warm in (command, FLOOR):
        _cost(warm, environment)
    ours: list[Cost] = []
    floor: list[Cost] = []
    for _ in range(ROUNDS):
        ours.append(_cost(command, environment))
        floor.append(_cost(FLOOR, environment))
    print(f"halo {' '.join(command[1:])} with {JOBS:,} jobs, against import apsw, click (goal: {goal:g}×)")
    for what, of in (("time", 0), ("processor time", 1)):
        ours_ms, floor_ms = (1_000 * statistics.median(cost[of] for cost in costs) for costs in (ours, floor))
        print(f"  {what}: {ours_ms:.0f} ms and {floor_ms:.0f} ms, {ours_ms / floor_ms:.1f}×")


def _cost(command: Sequence[str], environment: dict[str, str]) -> Cost:
    began = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command  # noqa: S101
    return Cost(seconds, usage.ru_utime + usage.ru_stime)


def tell_modules(environment: dict[str, str]) -> None:
    """Say how many modules a list loads, and that none of them is Qt's."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    loaded = done.stderr.split()
    own = [name for name in loaded if name.partition(".")[0] == "halo_scheduler"]
    qt = [name for name in loaded if name.partition(".")[0] == "PySide6"]
    print(f"it loads {len(loaded)} modules, {len(own)} of them ours, {len(qt)} of them Qt's (goal: 0)")


if __name__ == "__main__":
    main()
