"""How fast store and engine are, against APScheduler on its SQLite store in the same run."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.background import BackgroundScheduler

from halo_scheduler import Every, Manual, Scheduler
from halo_scheduler.clock import ManualClock
from halo_scheduler.model.settings import QuietTime

START_MS = 1_794_830_400_000
HOUR_MS = 3_600_000
DISPATCHED = 5_000
ADDED = 500
PLACES = 1_000
WAITING = 1_000
PAUSED = 6_500

_finished = threading.Semaphore(0)


def note_run() -> None:
    """The job that APScheduler runs: it does nothing but say that it ran."""
    _finished.release()


def main() -> None:
    """Print every measurement; each is made in a process of its own, so that none pays for another's memory."""
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as folder:
        peer_add, peer_dispatch = _apart("measure_peer", folder)
        print(f"APScheduler: adds {peer_add:,.0f}/s, dispatches {peer_dispatch:,.0f}/s")
        single, batch = _apart("measure_adding", folder)
        print(f"add_job: {single:,.0f}/s, {single / peer_add:.1f}x APScheduler (goal: 3)")
        print(f"add_jobs: {batch:,.0f}/s, {batch / peer_add:.1f}x APScheduler (goal: 30)")
        (rate,) = _apart("measure_dispatch", folder)
        print(f"dispatch: {rate:,.0f}/s, {rate / peer_dispatch:.1f}x APScheduler (goal: 10)")
        (rate,) = _apart("measure_start", folder)
        print(
            f"dispatch from the start, recovery included: {rate:,.0f}/s, {rate / peer_dispatch:.1f}x (goal: 8)"
        )
        (seconds,) = _apart("measure_pausing", folder)
        print(f"pause_all of {PAUSED:,} jobs: {seconds:.2f} s")
        few, many = _apart("measure_tick", folder)
        print(
            f"tick, 1 due of 100,000: {many * 1e3:.2f} ms, {many / few:.2f}x of 100 stored (goal: at most 2)"
        )
        in_group, in_quiet_time = _apart("measure_waiting", folder)
        print(
            f"tick while 1,000 wait: for a place in their group {in_group * 1e3:.1f} ms, "
            f"in a quiet time {in_quiet_time * 1e3:.1f} ms (goal: 50)"
        )
        (seconds,) = _apart("measure_recovery", folder)
        print(f"recovery, 10,000 of 100,000 overdue: claims after {seconds:.2f} s (goal: 2)")
        measure_lateness_and_idling(Path(folder))


def _apart(name: str, folder: str) -> list[float]:
    """Run one of the functions below in its own process and return its numbers."""
    command = [sys.executable, __file__, name, folder]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return list(json.loads(done.stdout))


def measure_peer(place: Path) -> tuple[float, float]:
    """Return how many jobs APScheduler adds and dispatches in a second."""
    scheduler = BackgroundScheduler(
        jobstores={"default": SQLAlchemyJobStore(f"sqlite:///{place}/peer.db")},
        executors={"default": ThreadPoolExecutor(PLACES)},
        job_defaults={"misfire_grace_time": 3_600, "coalesce": True},
    )
    scheduler.start(paused=True)
    due = datetime.fromtimestamp(time.time(), UTC) - timedelta(seconds=1)
    seconds = _seconds(
        lambda: [
            scheduler.add_job(f"{__name__}:note_run", "interval", hours=1, next_run_time=due)
            for _ in range(DISPATCHED)
        ]
    )
    add = DISPATCHED / seconds

    def dispatch() -> None:
        scheduler.resume()
        for _ in range(DISPATCHED):
            _finished.acquire()

    dispatched = DISPATCHED / _seconds(dispatch)
    scheduler.shutdown(wait=True)
    return add, dispatched


def measure_adding(place: Path) -> tuple[float, float]:
    """Return how many jobs are added in a second, one by one and many at once."""
    with Scheduler.open(place / "add.db") as scheduler:
        single = ADDED / _seconds(
            lambda: [scheduler.add_job(f"a{index}", Every("1h")) for index in range(ADDED)]
        )
        many = [{"name": f"b{index}", "schedule": Every("1h")} for index in range(DISPATCHED)]
        batch = DISPATCHED / _seconds(lambda: scheduler.add_jobs(many))
    return single, batch


def measure_dispatch(place: Path) -> tuple[float]:
    """Return how many jobs, all due at once, are claimed, run and durably recorded in a second."""
    clock = ManualClock(START_MS)
    with Scheduler.open(place / "dispatch.db", clock=clock, max_concurrent=PLACES) as scheduler:
        scheduler.on_job_due(lambda _job, _run: None)
        scheduler.add_jobs([{"name": f"a{index}", "schedule": Every("1h")} for index in range(DISPATCHED)])
        scheduler.tick()
        clock.advance(HOUR_MS)

        def dispatch() -> None:
            while scheduler.status().runs < DISPATCHED or scheduler.status().running:
                scheduler.tick()

        rate = DISPATCHED / _seconds(dispatch)
    return (rate,)


def measure_start(place: Path) -> tuple[float]:
    """Return how many jobs, all overdue, are caught up, run and durably recorded in a second from the start on."""
    clock = ManualClock(START_MS)
    with Scheduler.open(place / "start.db", clock=clock, max_concurrent=PLACES) as scheduler:
        scheduler.add_jobs([{"name": f"a{index}", "schedule": Every("1h")} for index in range(DISPATCHED)])
        scheduler.tick()
        scheduler.stop()
    clock.advance(5 * HOUR_MS)
    with Scheduler.open(place / "start.db", clock=clock, max_concurrent=PLACES) as scheduler:
        scheduler.on_job_due(lambda _job, _run: None)
        engine = scheduler.engine.get_engine()

        def dispatch() -> None:
            engine.start()
            while scheduler.status().runs < DISPATCHED or scheduler.status().running:
                engine.tick()

        rate = DISPATCHED / _seconds(dispatch)
        scheduler.stop(timeout_ms=60_000)
    return (rate,)


def measure_pausing(place: Path) -> tuple[float]:
    """Return the seconds it takes to pause all of many jobs."""
    with Scheduler.open(place / "pause.db") as scheduler:
        scheduler.add_jobs([{"name": f"a{index}", "schedule": Every("1h")} for index in range(PAUSED)])
    with Scheduler.open(place / "pause.db") as scheduler:
        return (_seconds(scheduler.pause_all),)


def measure_tick(place: Path) -> list[float]:
    """Return the seconds of a tick with one due job among few and among many."""
    times = []
    for stored in (100, 100_000):
        clock = ManualClock(START_MS)
        with Scheduler.open(place / f"tick{stored}.db", clock=clock) as scheduler:
            scheduler.on_job_due(lambda _job, _run: None)
            scheduler.add_jobs([{"name": f"a{index}", "schedule": Every("30d")} for index in range(stored)])
            scheduler.add_job("due", Every("10s"))
            scheduler.tick()
            rounds = []
            for _ in range(100):
                clock.advance(10_000)
                rounds.append(_seconds(scheduler.tick))
            times.append(statistics.median(rounds))
    return times


def measure_waiting(place: Path) -> list[float]:
    """Return the seconds of a tick while many jobs wait: for a place in their group, for the end of a quiet time."""

    def crowd(scheduler: Scheduler) -> None:
        scheduler.set_group_limit("crowd", 1)
        scheduler.on_job_due(lambda _job, _run: Future())

    def hush(scheduler: Scheduler) -> None:
        scheduler.settings.change(quiet_times=(QuietTime(start="00:00", end="24:00"),))

    times = []
    for prepare in (crowd, hush):
        clock = ManualClock(START_MS)
        with Scheduler.open(place / f"{prepare.__name__}.db", clock=clock) as scheduler:
            prepare(scheduler)
            scheduler.add_jobs(
                [{"name": f"a{index}", "schedule": Every("1h"), "group": "crowd"} for index in range(WAITING)]
            )
            scheduler.tick()
            clock.advance(HOUR_MS)
            scheduler.tick()
            rounds = []
            for _ in range(50):
                clock.advance(1_000)
                rounds.append(_seconds(scheduler.tick))
            times.append(statistics.median(rounds))
    return times


def measure_recovery(place: Path) -> tuple[float]:
    """Return the seconds from the start to the first claim with many overdue jobs."""
    clock = ManualClock(START_MS)
    with Scheduler.open(place / "recovery.db", clock=clock) as scheduler:
        jobs = [{"name": f"a{index}", "schedule": Every("30d")} for index in range(90_000)]
        jobs += [{"name": f"b{index}", "schedule": Every("1h")} for index in range(10_000)]
        scheduler.add_jobs(jobs)
        scheduler.tick()
        scheduler.stop()
    clock.advance(5 * HOUR_MS)
    with Scheduler.open(place / "recovery.db", clock=clock) as scheduler:
        began = time.perf_counter()
        first = threading.Event()
        scheduler.on_job_due(lambda _job, _run: first.set())
        scheduler.engine.get_engine().start()
        scheduler.engine.get_engine().tick()
        first.wait()
        seconds = time.perf_counter() - began
        scheduler.stop(timeout_ms=60_000)
    return (seconds,)


_DAEMON = """
import sys
from halo_scheduler.cli.commands.daemon import run_daemon
sys.exit(run_daemon(prepare=lambda scheduler: scheduler.on_job_due(lambda job, run: None)))
"""


def measure_lateness_and_idling(place: Path) -> None:
    """Watch a real daemon: how late it starts jobs, and what it costs while nothing is due."""
    home = place / "home"
    environment = {"HALO_HOME": str(home), "XDG_RUNTIME_DIR": str(place)}
    os.environ.update(environment)
    with Scheduler.open(home / "halo.db") as scheduler:
        scheduler.add_jobs([{"name": f"idle {index}", "schedule": Manual()} for index in range(900)])
        scheduler.add_jobs([{"name": f"later {index}", "schedule": Every("30d")} for index in range(100)])
        daemon = subprocess.Popen([sys.executable, "-c", _DAEMON], stderr=subprocess.DEVNULL)
        process = psutil.Process(daemon.pid)
        time.sleep(5)  # until it has settled and made its backup
        before, cpu = process.num_ctx_switches().voluntary, sum(process.cpu_times()[:2])
        time.sleep(30)
        wakes = process.num_ctx_switches().voluntary - before
        spent = sum(process.cpu_times()[:2]) - cpu
        memory = process.memory_info().rss / 1e6
        print(
            f"idle, 1,000 jobs, 30 s: {wakes} wake-ups, {spent * 1e3:.0f} ms of processor time (goal: none)"
        )
        print(f"memory of the daemon: {memory:.0f} MB (goal: 60)")
        first_ms = int(time.time() * 1_000) + 1_000
        jobs = [
            {"name": f"due {index}", "schedule": Every("1d"), "anchor_at": first_ms + 53 * index}
            for index in range(200)
        ]
        scheduler.add_jobs(jobs)
        time.sleep(1 + 200 * 0.053 + 2)
        late = sorted(run.late_ms for run in scheduler.get_run_log(limit=200))
        daemon.terminate()
        daemon.wait(30)
    p50, p99 = late[len(late) // 2], late[len(late) * 99 // 100]
    print(f"lateness, {len(late)} slots: p50 {p50} ms, p99 {p99} ms (goal: 3 and 25)")


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    # Under its own name, so that APScheduler can find the job again in its store.
    sys.path.insert(0, str(Path(__file__).parent))
    import engine

    if len(sys.argv) == 1:
        engine.main()
    else:
        print(json.dumps(getattr(engine, sys.argv[1])(Path(sys.argv[2]))))
