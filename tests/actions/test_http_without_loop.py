"""HTTP jobs of a program that has no event loop, and what they cost those who have none."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from bad_servers import bad_server, trickles
from http_site import open_site

from halo_scheduler import HttpRequest, Manual, Outcome, Policy, Run, Scheduler


@pytest.fixture(autouse=True)
def plain_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/bin/sh")


def _end_of(scheduler: Scheduler, run_id: str) -> Run:
    give_up_at = time.monotonic() + 30
    while time.monotonic() < give_up_at:
        scheduler.engine.get_engine().wait_for_end(0.05)
        scheduler.tick()
        run = scheduler.get_run(run_id)
        if run is not None and run.outcome is not Outcome.RUNNING:
            return run
    raise AssertionError("the run does not end")


def test_a_request_runs_under_tick(tmp_path: Path) -> None:
    with open_site() as site, Scheduler.open(tmp_path / "halo.db") as scheduler:
        run_id = scheduler.trigger(
            scheduler.add_job("job", Manual(), HttpRequest(url=site.answer(body=b"pong")))
        )
        scheduler.tick()
        run = _end_of(scheduler, run_id)
        assert (run.outcome, run.http_status) == (Outcome.SUCCESS, 200)
        assert scheduler.get_output(run_id).endswith(b"\n\npong")


def test_a_request_keeps_to_its_time_limit_under_tick(tmp_path: Path) -> None:
    with (
        bad_server(trickles(b"HTTP/1.1 200 OK\r\n", b"X")) as server,
        Scheduler.open(tmp_path / "halo.db") as scheduler,
    ):
        job_id = scheduler.add_job(
            "job", Manual(), HttpRequest(url=server.url), policy=Policy(time_limit="1s")
        )
        run_id = scheduler.trigger(job_id)
        scheduler.tick()
        assert _end_of(scheduler, run_id).outcome is Outcome.TIMEOUT


_ENGINE = """
import sys
from PySide6.QtCore import QCoreApplication, QTimer
from halo_scheduler import Command, Manual, Scheduler
application = QCoreApplication([])
with Scheduler.open(sys.argv[1]) as scheduler:
    scheduler.start()
    scheduler.subscribe(lambda change: change.kind == "run-finished" and application.quit())
    scheduler.trigger(scheduler.add_job("job", Manual(), Command(argv=("true",))))
    application.exec()
print([name for name in ("urllib3", "http.client", "ssl", "idna", "_hashlib") if name in sys.modules])
"""


def test_an_engine_without_requests_does_not_load_the_client(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _ENGINE, str(tmp_path / "halo.db")],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.strip() == "[]"
