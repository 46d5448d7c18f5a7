"""How soon files start their runs, and what very many of them do to other jobs."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from work import Daemon

from halo_scheduler import Command, Every, OnFile, Run, Scheduler, Trigger

FILES = 20
STORM = 100_000
SLOTS = 200
SETTLE_MS = 1_000
_LIMIT_S = 300
_WRITE = (
    "import os, sys\n"
    "for n in range(int(sys.argv[2])): os.close(os.open(f'{sys.argv[1]}/{n:06}', os.O_CREAT | os.O_WRONLY))"
)


def main() -> None:
    """Print every measurement."""
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as folder:
        measure_start(Path(folder) / "start")
        measure_storm(Path(folder) / "beside", is_watched=False)
        measure_storm(Path(folder) / "storm", is_watched=True)


def measure_start(home: Path) -> None:
    """Time from when a file has settled to when its command sees itself."""
    with Daemon(home), Scheduler.open(home / "halo.db") as scheduler:
        inbox = _watch(scheduler, home, Command(argv=("date", "+%s%3N")))
        late: list[int] = []
        for number in range(FILES):
            path = inbox / str(number)
            path.write_text("x")
            _await_runs(scheduler, Trigger.EVENT, number + 1)
            settled_at = path.stat().st_ctime_ns // 1_000_000 + SETTLE_MS
            late.append(int(scheduler.get_output(_ended(scheduler, Trigger.EVENT)[0].id)) - settled_at)
    late.sort()
    print(
        f"a settled file starts its command after {late[len(late) // 2]} ms, at most {late[-1]} ms (goal: 100)"
    )


def measure_storm(home: Path, *, is_watched: bool) -> None:
    """Time the slots of other jobs while very many files appear, in the watched folder or beside it."""
    with Daemon(home) as daemon, Scheduler.open(home / "halo.db") as scheduler:
        inbox = _watch(scheduler, home, Command(argv=("true",)))
        folder = inbox if is_watched else home / "beside"
        folder.mkdir(exist_ok=True)
        before = daemon.memory_info().rss
        first_ms = int(time.time() * 1_000) + 1_000
        scheduler.add_jobs(
            [
                {
                    "name": f"due {index}",
                    "schedule": Every("1d"),
                    "anchor_at": first_ms + 103 * index,
                    "action": Command(argv=("true",)),
                }
                for index in range(SLOTS)
            ]
        )
        subprocess.run([sys.executable, "-c", _WRITE, str(folder), str(STORM)], check=True)
        _await_runs(scheduler, Trigger.SCHEDULE, SLOTS)
        _until(lambda: not is_watched or _given(scheduler) == STORM)
        late = sorted(run.late_ms or 0 for run in _ended(scheduler, Trigger.SCHEDULE))
        after, runs = daemon.memory_info().rss, len(_ended(scheduler, Trigger.EVENT))
    place, p50, p99 = "in" if is_watched else "beside", late[len(late) // 2], late[len(late) * 99 // 100]
    print(
        f"{STORM} files {place} a watched folder, {runs} runs: meanwhile other jobs are late by {p50} ms (p50), "
        f"{p99} ms (p99), {late[-1]} ms (worst) (goal: p99 50); memory {before >> 20} MB, then {after >> 20} MB"
    )


def _watch(scheduler: Scheduler, home: Path, command: Command) -> Path:
    """Add a job that watches a folder, and return the folder once it is watched."""
    inbox = home / "inbox"
    inbox.mkdir(parents=True)
    job_id = scheduler.add_job("watch", OnFile(str(inbox), settle="1s"), command)
    _until(lambda: bool(scheduler._store.watch_states.of_jobs([job_id])))
    return inbox


def _ended(scheduler: Scheduler, trigger: Trigger) -> list[Run]:
    return [run for run in scheduler.get_run_log(limit=10_000) if run.trigger is trigger and run.finished_at]


def _given(scheduler: Scheduler) -> int:
    """Return how many files runs were given; the last line says how many it leaves out."""
    count = 0
    for run in _ended(scheduler, Trigger.EVENT):
        lines = scheduler.runs.input(run.id).splitlines()
        count += len(lines) if not lines[-1].startswith(b"#") else len(lines) - 1 + int(lines[-1].split()[1])
    return count


def _await_runs(scheduler: Scheduler, trigger: Trigger, count: int) -> None:
    _until(lambda: len(_ended(scheduler, trigger)) >= count)


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"  # noqa: S101
        time.sleep(0.05)


if __name__ == "__main__":
    main()
