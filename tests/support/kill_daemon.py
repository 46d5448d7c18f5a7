"""A daemon to be killed: it runs callback jobs that take a moment. `python kill_daemon.py` with HALO_HOME set."""

from __future__ import annotations

import sys
import threading

from halo_scheduler.cli.commands.daemon import run_daemon
from halo_scheduler.model import Job, Run
from halo_scheduler.service.scheduler import Scheduler


def _work(_job: Job, _run: Run) -> None:
    threading.Event().wait(0.05)


def _prepare(scheduler: Scheduler) -> None:
    scheduler.on_job_due(_work)


if __name__ == "__main__":
    sys.exit(run_daemon(prepare=_prepare, stop_timeout_ms=10_000))
