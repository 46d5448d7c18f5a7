"""How fast the scheduling core is, against croniter in the same run."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from zoneinfo import ZoneInfo

from croniter import croniter

from halo_scheduler import Cron, Entry, Every, Several, next_run, plan_next_run
from halo_scheduler.model import Schedule

EXPRESSIONS = (
    "* * * * *",
    "*/15 * * * *",
    "30 * * * *",
    "0 9 * * *",
    "30 2 * * *",
    "0 9 * * 1-5",
    "*/10 9-17 * * 1-5",
    "0 0 1 * *",
    "0 0 1,15 * *",
    "0 0 L * *",
    "0 0 * * 5#2",
    "0 0 13 * 5",
    "0 0 1 1 *",
    "0 0 29 2 *",
)
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe")
STEPS = 100
START_MS = 1_794_830_400_000  # 2026-11-16T12:00Z
CASES = Path(__file__).parents[1] / "tests" / "data" / "cron.jsonl"


def main() -> None:
    """Print every measurement."""
    measure_cron()
    measure_slowest_case()
    measure_plan()
    measure_several()
    measure_import()


def measure_cron() -> None:
    """Walk along each expression in each zone, once cold and once more, and let croniter do the same."""
    print(f"cron: microseconds per answer, {STEPS} answers in each of {len(ZONES)} zones")
    print(f"{'expression':<20}{'ours, first':>12}{'ours, again':>12}{'aware':>10}{'naive':>10}")
    totals = [0.0] * 4
    for expression in EXPRESSIONS:
        row = [0.0] * 4
        for zone in ZONES:
            schedule = Cron(expression, timezone=zone)
            times = (
                _seconds(partial(_walk_ours, schedule)),
                _seconds(partial(_walk_ours, schedule)),
                _seconds(partial(_walk_aware, expression, ZoneInfo(zone))),
                _seconds(partial(_walk_naive, expression)),
            )
            row = [sum(pair) for pair in zip(row, times, strict=True)]
        totals = [sum(pair) for pair in zip(totals, row, strict=True)]
        print(f"{expression:<20}" + "".join(_cell(seconds) for seconds in row))
    first, again, aware, naive = totals
    print(f"a new aware croniter: {aware / first:.1f}x ours first, {aware / again:.1f}x again (goal: 3)")
    print(f"a reused naive croniter: {naive / first:.1f}x ours first, {naive / again:.1f}x again (goal: 1)")


def _cell(seconds: float) -> str:
    return f"{seconds / STEPS / len(ZONES) * 1e6:>11.1f} "


def _walk_ours(schedule: Cron) -> None:
    now_ms: int | None = START_MS
    for _ in range(STEPS):
        now_ms = next_run(schedule, now_ms or 0)


def _walk_aware(expression: str, zone: ZoneInfo) -> None:
    moment = datetime.fromtimestamp(START_MS / 1_000, zone)
    for _ in range(STEPS):
        moment = croniter(expression, moment).get_next(datetime)


def _walk_naive(expression: str) -> None:
    iterator = croniter(expression, datetime(2026, 11, 16, 12))  # noqa: DTZ001 - that is the point
    for _ in range(STEPS):
        iterator.get_next(datetime)


def measure_slowest_case() -> None:
    """Ask each provided case once, with only its expression parsed beforehand."""
    slowest: list[tuple[float, str]] = []
    for line in CASES.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        schedule = Cron(case["expr"], timezone=case["tz"])
        seconds = _seconds(partial(next_run, schedule, case["now_ms"]))
        slowest.append((seconds * 1_000, case["expr"]))
    milliseconds, expression = max(slowest)
    print(f"slowest of {len(slowest)} cases: {milliseconds:.2f} ms, {expression!r} (goal: 5)")


def measure_plan() -> None:
    """Plan an `every` job many times."""
    schedule, count = Every("15m"), 100_000

    def plan() -> None:
        for index in range(count):
            plan_next_run(schedule, START_MS + index)

    rate = count / min(_seconds(plan) for _ in range(3))
    print(f"plan_next_run, every: {rate:,.0f} per second (goal: about 100,000)")


def measure_several() -> None:
    """Plan a job with ten schedules and each of them alone: at once, and then right after each of its runs."""
    crons: list[Schedule] = [
        Cron(f"{5 * index} {6 + index} * * *", timezone="Europe/Berlin") for index in range(10)
    ]
    everies: list[Schedule] = [Every(f"{11 + index}m") for index in range(10)]
    for kind, schedules in (("cron", crons), ("every", everies)):
        ten = Several(tuple(map(Entry, schedules)))
        walk, back = (
            take(ten) / statistics.mean(take(schedule) for schedule in schedules)
            for take in (_walk_of_plans, _walk_back)
        )
        print(
            f"plan_next_run, ten {kind} against one: {walk:.1f}x after a run (goal: 2), "
            f"{back:.1f}x when nothing is remembered"
        )


def _walk_of_plans(schedule: Schedule | Several) -> float:
    def walk() -> None:
        now_ms = START_MS
        for _ in range(1_000):
            now_ms = plan_next_run(schedule, now_ms).at or 0

    return min(_processor_seconds(walk) for _ in range(15))


def _walk_back(schedule: Schedule | Several) -> float:
    """Plan at ever earlier instants: what is remembered of a later one is of no use."""

    def walk() -> None:
        for index in range(1_000):
            plan_next_run(schedule, START_MS - index * 3_600_000)

    return min(_processor_seconds(walk) for _ in range(5))


def measure_import() -> None:
    """Start Python with each import in turn, all with compiled bytecode, and take off a bare start."""
    with TemporaryDirectory() as bytecode:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode, "PYTHONDONTWRITEBYTECODE": ""}
        codes = ("pass", "import croniter", "import halo_scheduler")
        bare, croniters, ours = (_start_seconds(code, environment) for code in codes)
    own_ms, peer_ms = (ours - bare) * 1e3, (croniters - bare) * 1e3
    ratio = own_ms / peer_ms
    print(f"import halo_scheduler: {own_ms:.0f} ms, {ratio:.2f}x of croniter's {peer_ms:.0f} ms (goal: 2)")


def _start_seconds(code: str, environment: dict[str, str]) -> float:
    def start() -> None:
        subprocess.run([sys.executable, "-c", code], check=True, env=environment)

    start()  # Compiles what is not compiled yet.
    return statistics.median(_seconds(start) for _ in range(15))


def _processor_seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
