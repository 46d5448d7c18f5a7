"""What running commands costs, against bare processes in the same run."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import psutil
from PySide6.QtCore import QCoreApplication

from halo_scheduler import Command, Every, Manual, Once, Outcome, Scheduler
from halo_scheduler.actions.launch import shimmed

RUNS = 2_000
PLACES = 2
ROUNDS = 3
SLOTS = 200
GIGABYTE = 1_000_000_000


def main() -> None:
    """Print every measurement."""
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as folder:
        for number in range(ROUNDS):
            measure_rate(Path(folder) / str(number))
        measure_printing(Path(folder) / "printing")
        measure_lateness(Path(folder) / "lateness")


def measure_rate(place: Path) -> None:
    """Run many short commands, bare and then recorded, two at a time."""
    place.mkdir()
    bare = RUNS / _bare_seconds(place)
    durable = RUNS / _durable_seconds(place)
    print(
        f"/bin/true, {PLACES} at a time: bare {bare:,.0f}/s, recorded {durable:,.0f}/s, "
        f"{durable / bare:.0%} (goal: 60%)"
    )


def _bare_seconds(place: Path) -> float:
    command = shimmed(["/bin/true"], str(place / "code"))
    began = time.perf_counter()
    running: dict[int, subprocess.Popen[bytes]] = {}
    for _ in range(RUNS):
        if len(running) == PLACES:
            pid, _status = os.wait()
            running.pop(pid).returncode = 0
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
        running[process.pid] = process
    for process in running.values():
        process.wait()
    return time.perf_counter() - began


def _durable_seconds(place: Path) -> float:
    application = QCoreApplication.instance() or QCoreApplication([])
    left = RUNS
    finished = 0.0
    with Scheduler.open(place / "halo.db", max_concurrent=PLACES) as scheduler:
        first = scheduler.add_job("first", Manual(), Command(argv=("/bin/true",)))

        def note(change: object) -> None:
            nonlocal left, finished
            if getattr(change, "kind", "") == "run-finished":
                left -= 1
                if left == 0:
                    finished = time.perf_counter()
                    application.quit()

        scheduler.start()
        # The first command asks the login shell; that is not what is measured.
        left = 1
        scheduler.subscribe(note)
        scheduler.trigger(first)
        application.exec()
        left = RUNS
        due_at = int(time.time() * 1_000) + 1_500
        scheduler.add_jobs(
            [
                {"name": f"job {index}", "schedule": Once(due_at), "action": Command(argv=("/bin/true",))}
                for index in range(RUNS)
            ]
        )
        time.sleep(max(0.0, due_at / 1_000 - time.time()))
        began = time.perf_counter()
        application.exec()
        outcomes = [run.outcome for run in scheduler.get_run_log(limit=RUNS)]
        assert outcomes == [Outcome.SUCCESS] * RUNS, Counter(outcomes)  # noqa: S101
        assert not list((place / "halo-spool").iterdir()), "files were left"  # noqa: S101
    return finished - began


def measure_printing(home: Path) -> None:
    """Watch a daemon while a job prints a gigabyte."""
    with Daemon(home) as daemon, Scheduler.open(home / "halo.db") as scheduler:
        _run(scheduler, Command(argv=("true",)), "first")
        before_mb, cpu = daemon.memory_info().rss / 1e6, sum(daemon.cpu_times()[:2])
        run_id = scheduler.trigger(
            scheduler.add_job(
                "print", Manual(), Command(argv=("/bin/sh", "-c", f"yes 0123456789 | head -c {GIGABYTE}"))
            )
        )
        most_mb = before_mb
        while (run := scheduler.get_run(run_id)) is None or run.outcome is Outcome.RUNNING:
            most_mb = max(most_mb, daemon.memory_info().rss / 1e6)
            time.sleep(0.02)
        spent = sum(daemon.cpu_times()[:2]) - cpu
        seconds = (run.duration_ms or 1) / 1_000
        print(
            f"a job printing 1 GB in {seconds:.1f} s: {most_mb - before_mb:+.1f} MB (goal: 20), "
            f"{spent / seconds:.1%} of one core (goal: 5%)"
        )


def measure_lateness(home: Path) -> None:
    """Compare each slot with the moment its command saw itself."""
    with Daemon(home), Scheduler.open(home / "halo.db") as scheduler:
        _run(scheduler, Command(argv=("true",)), "first")
        first_ms = int(time.time() * 1_000) + 1_000
        scheduler.add_jobs(
            [
                {
                    "name": f"due {index}",
                    "schedule": Every("1d"),
                    "anchor_at": first_ms + 103 * index,
                    "action": Command(argv=("date", "+%s%3N")),
                }
                for index in range(SLOTS)
            ]
        )
        while scheduler.status().runs < SLOTS + 1 or scheduler.status().running:
            time.sleep(0.1)
        late = sorted(
            int(scheduler.get_output(run.id)) - (run.slot_at or 0)
            for run in scheduler.get_run_log(limit=SLOTS)
        )
    p50, p99 = late[len(late) // 2], late[len(late) * 99 // 100]
    print(f"a command sees itself {p50} ms (p50), {p99} ms (p99) after its slot (goal: 10 and 50)")


def _run(scheduler: Scheduler, command: Command, name: str) -> None:
    run_id = scheduler.trigger(scheduler.add_job(name, Manual(), command))
    while (run := scheduler.get_run(run_id)) is None or run.outcome is Outcome.RUNNING:
        time.sleep(0.02)


class Daemon:
    """A real daemon with a home of its own."""

    def __init__(self, home: Path) -> None:
        os.environ.update(HALO_HOME=str(home), XDG_RUNTIME_DIR=str(home.parent))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "halo_scheduler", "daemon"], stderr=subprocess.PIPE, text=True
        )
        assert self._process.stderr is not None  # noqa: S101
        self._process.stderr.readline()

    def __enter__(self) -> psutil.Process:
        return psutil.Process(self._process.pid)

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.communicate(timeout=60)


if __name__ == "__main__":
    main()
