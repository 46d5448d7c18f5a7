"""What HTTP requests cost: many short ones at once to a server on this machine, through the real engine.

Run it with `PYTHONPATH` set to another working tree to measure that one.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from PySide6.QtCore import QCoreApplication

from halo_scheduler import HttpRequest, Manual, Once, Outcome, Scheduler

RUNS = 1_000
PLACES = 50
ROUNDS = 5
_SERVE = "serve"
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n%s\r\npong"


def main() -> None:
    """Print every measurement."""
    server = subprocess.Popen([sys.executable, __file__, _SERVE], stdout=subprocess.PIPE)
    try:
        port = int(server.stdout.readline()) if server.stdout else 0
        with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as folder:
            rates = [
                RUNS / _seconds(Path(folder) / str(number), f"http://127.0.0.1:{port}/")
                for number in range(ROUNDS)
            ]
        shown = ", ".join(f"{rate:,.0f}" for rate in sorted(rates))
        print(f"{RUNS} requests, {PLACES} at once: {shown} per second")
    finally:
        server.terminate()
        server.wait()


def _seconds(place: Path, url: str) -> float:
    """Return how long all runs took, from the slot they share to the last end that was recorded."""
    place.mkdir()
    application = QCoreApplication.instance() or QCoreApplication([])
    left = 1
    finished = 0.0

    def note(change: object) -> None:
        nonlocal left, finished
        if getattr(change, "kind", "") == "run-finished":
            left -= 1
            if left == 0:
                finished = time.perf_counter()
                application.quit()

    with Scheduler.open(place / "halo.db", max_concurrent=PLACES) as scheduler:
        scheduler.start()
        scheduler.subscribe(note)
        # The first request loads what all others use; that is not what is measured.
        scheduler.trigger(scheduler.add_job("first", Manual(), HttpRequest(url=url)))
        application.exec()
        left = RUNS
        due_at = int(time.time() * 1_000) + 1_500
        scheduler.add_jobs(
            [
                {"name": f"job {index}", "schedule": Once(due_at), "action": HttpRequest(url=url)}
                for index in range(RUNS)
            ]
        )
        time.sleep(max(0.0, due_at / 1_000 - time.time()))
        began = time.perf_counter()
        application.exec()
        outcomes = [run.outcome for run in scheduler.get_run_log(limit=RUNS)]
        assert outcomes == [Outcome.SUCCESS] * RUNS, Counter(outcomes)  # noqa: S101
    return finished - began


async def _serve() -> None:
    """Answer every request with the same few bytes, and keep connections open as long as the client wants."""
    server = await asyncio.start_server(_answer, "127.0.0.1", 0, backlog=256)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            is_last = b"connection: close" in head.lower()
            writer.write(_ANSWER % (b"Connection: close\r\n" if is_last else b""))
            await writer.drain()
            if is_last:
                break
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    writer.close()


if __name__ == "__main__":
    if sys.argv[1:] == [_SERVE]:
        asyncio.run(_serve())
    else:
        main()
