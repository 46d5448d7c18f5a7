"""What webhooks cost: a steady stream of posts from another process, through the real listener and engine.

Run it with `PYTHONPATH` set to another working tree to measure that one.
"""

from __future__ import annotations

import asyncio
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from PySide6.QtCore import QCoreApplication, QTimer

from halo_scheduler import Callback, Every, OnWebhook, Run, Scheduler

JOBS = 50
PER_SECOND = 500
SECONDS = 20
ROUNDS = 3
_SEND = "send"
_LATE_MS = 50
_POST = 'POST /hook/{} HTTP/1.1\r\nHost: x\r\nContent-Length: 14\r\nConnection: close\r\n\r\n{{"text": "hi"}}'


def main() -> None:
    """Print every measurement."""
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as folder:
        for number in range(ROUNDS):
            _measure(Path(folder) / f"{number}.db")


def _measure(path: Path) -> None:
    """Post to jobs while as many others are due every ten seconds, and print how long each took."""
    application = QCoreApplication.instance() or QCoreApplication([])
    with Scheduler.open(path, max_concurrent=JOBS) as scheduler:
        runs: list[Run] = []
        scheduler.on_job_due(lambda _job, run: runs.append(run))
        port = _free_port()
        scheduler.settings.change(webhooks=True, webhook_port=port)
        called = [scheduler.add_job(f"called {index}", OnWebhook(), Callback()) for index in range(JOBS)]
        tokens = [scheduler.webhooks.make_address(job_id) for job_id in called]
        for index in range(JOBS):
            scheduler.add_job(f"timed {index}", Every("10s"), Callback())
        scheduler.start()
        while not scheduler.webhooks.status().is_listening:
            application.processEvents()
        given, answers = path.with_suffix(".tokens"), path.with_suffix(".answers")
        given.write_text(json.dumps(tokens))
        with given.open() as stdin, answers.open("w") as stdout:
            sender = subprocess.Popen(
                [sys.executable, __file__, _SEND, str(port)], stdin=stdin, stdout=stdout
            )
        look = QTimer()
        look.timeout.connect(lambda: sender.poll() is not None and application.quit())
        look.start(100)
        application.exec()
        look.stop()
        # What was accepted last still runs.
        QTimer.singleShot(1_000, application.quit)
        application.exec()
        _report(json.loads(answers.read_text()), scheduler, runs)


def _report(found: dict[str, Any], scheduler: Scheduler, runs: list[Run]) -> None:
    times = sorted(found["ms"])
    late = [run.late_ms or 0 for run in runs if run.slot_at is not None]
    started = sum(run.slot_at is None for run in runs)
    accepted = found["statuses"].get("202", 0)
    p50, p99 = times[len(times) // 2], times[len(times) * 99 // 100]
    print(
        f"{len(times) / found['seconds']:,.0f} posts/s over {JOBS} jobs: p50 {p50:.1f} ms, p99 {p99:.1f} ms "
        f"(goals: 5 and 25), longest {times[-1]:.0f} ms; answers {found['statuses']}; {started} of {accepted} ran; "
        f"{len(late)} slots meanwhile, {sum(ms > _LATE_MS for ms in late)} over {_LATE_MS} ms late, "
        f"median {statistics.median(late or [0]):.0f} ms, most {max(late, default=0)} ms; "
        f"{scheduler.status().ticks} ticks"
    )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def _send(port: int, tokens: list[str]) -> None:
    """Post at a steady pace, whatever the answers take, and print how long each took."""
    times: list[float] = []
    statuses: dict[str, int] = {}

    async def post(token: str) -> None:
        begun = time.perf_counter()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(_POST.format(token).encode())
        try:
            status = (await reader.read(100)).decode().split(" ", 2)[1]
        except (OSError, IndexError):
            # On a busy machine this process is a slow client itself.
            status = "cut"
        times.append((time.perf_counter() - begun) * 1_000)
        statuses[status] = statuses.get(status, 0) + 1
        writer.close()

    begun = time.perf_counter()
    coming: list[asyncio.Task[None]] = []
    for number in range(PER_SECOND * SECONDS):
        await asyncio.sleep(max(0.0, begun + number / PER_SECOND - time.perf_counter()))
        coming.append(asyncio.create_task(post(tokens[number % len(tokens)])))
    await asyncio.gather(*coming)
    print(json.dumps({"ms": times, "statuses": statuses, "seconds": time.perf_counter() - begun}))


if __name__ == "__main__":
    if sys.argv[1:2] == [_SEND]:
        asyncio.run(_send(int(sys.argv[2]), json.load(sys.stdin)))
    else:
        main()
