"""A start that fails: what is the job's fault, and what the machine lacks."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from commands import Workshop
from pytestqt.qtbot import QtBot

from halo_scheduler import Command, Cron, Outcome, Policy, Run, SchedulerShutdownError
from halo_scheduler.actions import launch, process
from halo_scheduler.actions.launch import launch_error, why_not_started
from halo_scheduler.actions.threads import DaemonPool
from halo_scheduler.errors import StoreUnavailableError
from halo_scheduler.service.scheduler import Scheduler

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands are those of POSIX")

_TRUE = Command(argv=("true",))


@pytest.fixture
def shop(tmp_path: Path, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workshop]:
    """Have an engine that does not wait between two tries."""
    for name in ("run", "home"):
        (tmp_path / name).mkdir(mode=0o700)
    for name, value in {
        "XDG_RUNTIME_DIR": f"{tmp_path}/run",
        "HOME": f"{tmp_path}/home",
        "SHELL": "/bin/sh",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent")
    monkeypatch.setattr(process, "_SHORTAGE_PAUSES_S", (0.0, 0.0))
    scheduler = Scheduler.open(tmp_path / "halo.db")
    scheduler.start()
    yield Workshop(scheduler, tmp_path, qtbot)
    with suppress(SchedulerShutdownError):
        scheduler.stop(timeout_ms=0, end_runs=True)
    scheduler.close()


@pytest.fixture
def refuse(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, int], list[int]]:
    """Let the system refuse the next starts of jobs with an error; returns where the refusals are counted."""
    real = subprocess.Popen

    def refuse(number: int, times: int) -> list[int]:
        refused: list[int] = []

        def popen(argv: list[str], **rest: Any) -> Any:
            if rest.get("env", {}).get(b"HALO_RUN_ID") and len(refused) < times:
                refused.append(number)
                raise OSError(number, os.strerror(number))
            return real(argv, **rest)

        monkeypatch.setattr("halo_scheduler.actions.launch.subprocess.Popen", popen)
        return refused

    return refuse


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM, errno.ENOSPC])
def test_a_start_that_the_machine_has_no_room_for_is_retried(
    shop: Workshop, refuse: Callable[[int, int], list[int]], number: int
) -> None:
    refused = refuse(number, 2)
    run = shop.run(_TRUE)
    assert (run.outcome, run.error) == (Outcome.SUCCESS, "")
    assert len(refused) == 2


def test_one_that_never_finds_room_is_interrupted_and_no_error_of_the_job(
    shop: Workshop, refuse: Callable[[int, int], list[int]]
) -> None:
    refuse(errno.EMFILE, 1_000)
    job_id = shop.scheduler.add_job("often", Cron("* * * * * *"), _TRUE, policy=Policy(max_errors=1))
    shop.until(lambda: shop.scheduler.get_run_log(job_id))
    run = shop.end_of(shop.scheduler.get_run_log(job_id)[-1].id)
    assert run.outcome is Outcome.INTERRUPTED
    assert run.error == "it could not be started: too many files are open on this computer"
    job = shop.scheduler.get_job(job_id)
    assert job is not None
    assert (job.errors, job.enabled) == (0, True)


def test_a_cancel_between_two_tries_ends_the_run_at_once(
    shop: Workshop, refuse: Callable[[int, int], list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_SHORTAGE_PAUSES_S", (600.0,))
    refused = refuse(errno.EAGAIN, 1_000)
    run_id = shop.begin(_TRUE)
    shop.until(lambda: refused)
    # The thread is on its way from the refusal into its pause.
    shop.until(lambda: _is_pausing(shop, run_id))
    shop.scheduler.cancel_run(run_id)
    assert shop.end_of(run_id).outcome is Outcome.CANCELLED


def _is_pausing(shop: Workshop, run_id: str) -> bool:
    engine = shop.scheduler.engine._engine
    assert engine is not None
    work = engine._runs.works[run_id]
    assert isinstance(work, process.ProcessWork)
    return not work._is_starting


def test_a_shim_that_cannot_fork_is_not_the_exit_code_of_the_job(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What dash does where it cannot fork; a real one needs another user: see test_launch.py.
    monkeypatch.setattr(launch, "_SHIM", ("/bin/sh", "-c", "exit 2"))
    run = shop.run(_TRUE)
    assert (run.outcome, run.exit_code) == (Outcome.INTERRUPTED, None)
    assert "too many processes" in run.error


def test_a_program_that_ends_with_that_code_itself_has_failed(shop: Workshop) -> None:
    run = shop.run(Command(argv=("sh", "-c", "exit 2")))
    assert (run.outcome, run.exit_code, run.error) == (Outcome.FAILURE, 2, "exit code 2")


def test_an_engine_without_a_thread_left_does_not_blame_the_job(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def submit(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(DaemonPool, "submit", submit)
    run: Run = shop.run(_TRUE)
    assert run.outcome is Outcome.INTERRUPTED


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (launch_error(OSError(errno.ENFILE, "x")), Outcome.INTERRUPTED),
        (OSError(errno.ENOSPC, "x"), Outcome.INTERRUPTED),
        (StoreUnavailableError("locked"), Outcome.INTERRUPTED),
        (launch_error(OSError(errno.E2BIG, "Argument list too long")), Outcome.FAILURE),
        (launch_error(OSError(errno.EACCES, "x")), Outcome.FAILURE),
        (RuntimeError("another"), Outcome.FAILURE),
        (ValueError("x"), Outcome.FAILURE),
    ],
)
def test_only_a_shortage_of_the_machine_is_not_the_jobs_fault(error: Exception, outcome: Outcome) -> None:
    assert why_not_started(error)[0] is outcome
