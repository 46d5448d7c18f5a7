"""What moving in and out costs: ten thousand lines of a crontab, and as many jobs in a file of our own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from halo_scheduler import Scheduler
from halo_scheduler.model import JobSpec
from halo_scheduler.model.settings import Settings
from halo_scheduler.transfer.document import write_document
from halo_scheduler.transfer.job_files import export_all, read_jobs

LINES = 10_000
GOAL_S = 5
ROUNDS = 3


def main() -> None:
    """Print every measurement."""
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as folder:
        for number in range(ROUNDS):
            place = Path(folder) / str(number)
            place.mkdir()
            measure_command(place)
            measure_parts(place)
            measure_own_files(place)


def measure_command(place: Path) -> None:
    """Take in a crontab with the command, preview and all, then the same one again."""
    file = place / "crontab"
    file.write_bytes(crontab())
    environment = {**os.environ, "HALO_HOME": str(place / "home"), "XDG_RUNTIME_DIR": str(place)}
    seconds = []
    for _ in range(2):
        began = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "halo_scheduler", "import", str(file), "--yes"],
            env=environment,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        seconds.append(time.perf_counter() - began)
    print(f"halo import, {LINES:,} lines: {seconds[0]:.1f} s (goal: {GOAL_S} s), again {seconds[1]:.1f} s")


def measure_parts(place: Path) -> None:
    """Take in a crontab step by step, against storing the same jobs without asking what they change."""
    began = time.perf_counter()
    drafts = read_jobs(crontab())
    read = time.perf_counter()
    with Scheduler.open(place / "imported.db") as scheduler:
        plan = scheduler.imports.plan(drafts)
        planned = time.perf_counter()
        scheduler.imports.apply(plan)
    stored = time.perf_counter()
    fields = JobSpec.__dataclass_fields__
    specs = [{name: getattr(draft.spec, name) for name in fields} for draft in drafts.jobs]
    with Scheduler.open(place / "added.db") as scheduler:
        before_adding = time.perf_counter()
        scheduler.add_jobs(specs)
        added = time.perf_counter() - before_adding
    print(
        f"  reading {read - began:.2f} s, planning {planned - read:.2f} s, storing {stored - planned:.2f} s; "
        f"add_jobs of the same {added:.2f} s"
    )


def measure_own_files(place: Path) -> None:
    """Write all jobs as YAML, and read them."""
    with Scheduler.open(place / "imported.db") as scheduler:
        jobs = scheduler.list_jobs()
    began = time.perf_counter()
    text = write_document(export_all(jobs, Settings(), {}).document).encode()
    written = time.perf_counter()
    read_jobs(text, "jobs.yaml")
    read = time.perf_counter() - written
    print(
        f"  YAML: {LINES:,} jobs ({len(text) / 1e6:.1f} MB) written in {written - began:.2f} s, "
        f"read in {read:.2f} s"
    )


def crontab() -> bytes:
    """Return a crontab of many lines, each with a name."""
    return "\n".join(
        f"# job number {number}\n"
        f"{number % 60} {number // 60 % 24} * * {number % 7} /opt/app/run --shard {number} >/dev/null 2>&1"
        for number in range(LINES)
    ).encode()


if __name__ == "__main__":
    main()
