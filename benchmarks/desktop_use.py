"""Databases to measure with, and a hand that uses the window without a pause."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from real_desktop import Desktop

from halo_scheduler import Command, Every, Run, Scheduler
from halo_scheduler.clock import SystemClock
from halo_scheduler.model import Outcome, Source, Trigger
from halo_scheduler.store.store import Store

HALO_WINDOW = "Halo Scheduler"
DAY_MS = 86_400_000


def use(desktop: Desktop, seconds: float) -> None:
    """Use the window as nobody could: search, scroll, page, open and close everything, without a pause."""
    until = time.monotonic() + seconds
    for turn in itertools.count():
        if time.monotonic() >= until:
            return
        desktop.wait_for_window(f"^{HALO_WINDOW}$")
        desktop.key("ctrl+f")
        desktop.type(f"of {turn % 10}")
        desktop.key("BackSpace", "BackSpace", "BackSpace", "BackSpace", "Tab", "Home")
        desktop.key(*["Down"] * 10, *["Next"] * 10, "End", *["Prior"] * 10, "Home")
        _in_window(desktop, "ctrl+h", "^Run history", ["Tab", *["Down"] * 10, *["Next"] * 20, "End", "Home"])
        typed = ["n", "a", "m", "e", *["BackSpace"] * 4]
        _in_window(desktop, "ctrl+n", "^New job", [*typed, "ctrl+2", "ctrl+3", "ctrl+4", "ctrl+1"])
        _in_window(desktop, "ctrl+comma", "^Settings", ["Down"] * 5)


def _in_window(desktop: Desktop, opens: str, title: str, keys: Sequence[str]) -> None:
    desktop.wait_for_window(f"^{HALO_WINDOW}$")
    desktop.key(opens)
    desktop.wait_for_window(title)
    desktop.key(*keys, "alt+F4")
    desktop.wait_until_gone(title)


def seed_jobs(home: Path, count: int) -> list[str]:
    """Make a database with jobs of which none is due soon."""
    home.mkdir(mode=0o700)
    with Scheduler.open(home / "halo.db") as scheduler:
        scheduler.settings.change(autostart_asked=True, closing_explained=True)
        return scheduler.add_jobs(
            {
                "name": f"Backup {number:05} of {number % 10}",
                "schedule": Every("1d"),
                "action": Command(argv=("/bin/true",)),
                "group": f"Group {number % 7}",
            }
            for number in range(count)
        )


def seed_runs(home: Path, jobs: int, count: int) -> None:
    """Make a database whose log is long: the last 80 days of many jobs."""
    ids = seed_jobs(home, jobs)
    now_ms = SystemClock().now_ms()
    per_job = count // jobs
    step_ms = 80 * DAY_MS // per_job
    store = Store.open(home / "halo.db", now_ms)
    outcomes = [*[Outcome.SUCCESS] * 17, Outcome.FAILURE, Outcome.TIMEOUT, Outcome.SKIPPED]
    for round_number in range(per_job):
        slot_at = now_ms - (per_job - round_number) * step_ms
        with store.transaction():
            store.runs.insert(
                [
                    _past_run(
                        job_id,
                        slot_at + number,
                        outcomes[(round_number * 7 + number) % 20],
                        f"{round_number}-{number}",
                    )
                    for number, job_id in enumerate(ids)
                ],
                1,
            )
    store.close()


def _past_run(job_id: str, slot_at: int, outcome: Outcome, run_id: str) -> Run:
    return Run(
        id=run_id,
        job_id=job_id,
        trigger=Trigger.SCHEDULE,
        source=Source.EVERY,
        slot_at=slot_at,
        outcome=outcome,
        started_at=slot_at + 2,
        finished_at=slot_at + 2 + hash(run_id) % 60_000,
        exit_code=0 if outcome is Outcome.SUCCESS else 1,
    )
