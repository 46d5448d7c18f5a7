"""The daemon as a process: signals, a second one, and kill -9 at any moment."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from process_probe import LONG_S, until

from halo_scheduler import Cron, Entry, Every, Manual, Outcome, Overlap, Policy, Run
from halo_scheduler.errors import StoreError
from halo_scheduler.ipc.client import ChangeStream, socket_path
from halo_scheduler.model import CatchUp, Follower, FollowOn, PassedReason
from halo_scheduler.schedule.passed_over import read_summary
from halo_scheduler.service.scheduler import Scheduler

_BIN = Path(sys.executable).parent
_KILL_DAEMON = Path(__file__).parents[1] / "support" / "kill_daemon.py"
_KILLS = int(os.environ.get("HALO_KILLS", "20"))
_SOON_S = 30
_FOLLOWED = "followed"
_ENDED = (Outcome.SUCCESS, Outcome.INTERRUPTED)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    runtime = tmp_path / "runtime"
    runtime.mkdir(mode=0o700)
    monkeypatch.setenv("HALO_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    return tmp_path / "home"


@pytest.fixture
def start(home: Path) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    """Start daemons, and end those that are left."""
    processes: list[subprocess.Popen[str]] = []

    def start_one() -> subprocess.Popen[str]:
        process = subprocess.Popen([sys.executable, _KILL_DAEMON], stderr=subprocess.PIPE, text=True)
        processes.append(process)
        assert process.stderr is not None
        # What an engine before it left unfinished is told first.
        assert any(str(home) in line for line in process.stderr)
        return process

    yield start_one
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


def test_a_change_from_another_process_is_seen_at_once(start: Callable[[], subprocess.Popen[str]]) -> None:
    start()
    with Scheduler.open() as scheduler:
        run_id = scheduler.trigger(scheduler.add_job("job", Every("1h")))
        # By itself it would look after a minute.
        until(lambda: (run := scheduler.get_run(run_id)) and run.outcome is Outcome.SUCCESS, _SOON_S)


@pytest.mark.usefixtures("home")
def test_its_threads_take_turns_often() -> None:
    script = (
        "import sys; from halo_scheduler.cli.commands.daemon import run_daemon\n"
        "run_daemon(prepare=lambda _scheduler: print(sys.getswitchinterval()) or sys.exit())"
    )
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=LONG_S, check=True
    )
    # Each time that the engine takes the interpreter back from busy clients, it waits this long.
    assert float(found.stdout) <= 0.001


def test_changes_are_sent_to_subscribers(start: Callable[[], subprocess.Popen[str]], home: Path) -> None:
    start()
    stream = ChangeStream.connect(home / "halo.db")
    stream.settimeout(LONG_S)
    with Scheduler.open() as scheduler:
        job_id = scheduler.add_job("job", Every("1h"))
        run_id = scheduler.trigger(job_id)
        for change in stream:
            if change["kind"] == "run-finished":
                assert (change["job_id"], change["run_id"]) == (job_id, run_id)
                break
    stream.close()


def test_the_socket_is_private_and_rude_clients_are_dropped(
    start: Callable[[], subprocess.Popen[str]], home: Path
) -> None:
    start()
    path = socket_path(home / "halo.db")
    assert path.stat().st_mode & 0o077 == 0
    for rudeness in (b"x" * 10_000, b"no json\n", b'{"say":"nonsense"}\n', b"[]\n"):
        stream = ChangeStream.connect(home / "halo.db")
        stream._connection.sendall(rudeness)
        stream.settimeout(LONG_S)
        with suppress(ConnectionResetError):
            assert list(stream) == []
        stream.close()
    with Scheduler.open() as scheduler:
        assert scheduler.status().state == "running"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly(start: Callable[[], subprocess.Popen[str]], number: int) -> None:
    process = start()
    with Scheduler.open() as scheduler:
        scheduler.trigger(scheduler.add_job("job", Every("1h")))
        process.send_signal(number)
        assert process.wait(LONG_S) == 0
        assert scheduler.status().state == "stopped"
        assert [run.outcome for run in scheduler.get_run_log()] in ([], [Outcome.SUCCESS])


@pytest.mark.usefixtures("home")
def test_a_second_one_refuses_and_names_the_first(start: Callable[[], subprocess.Popen[str]]) -> None:
    first = start()
    second = subprocess.run(
        [_BIN / "halo", "daemon"], capture_output=True, text=True, check=False, timeout=60
    )
    assert second.returncode == 1
    assert f"(process {first.pid})" in second.stderr
    assert second.stderr.count("\n") == 1


def test_status_reports_it(start: Callable[[], subprocess.Popen[str]]) -> None:
    stopped = subprocess.run(
        [_BIN / "halo", "status"], capture_output=True, text=True, check=True, timeout=60
    )
    assert 'Halo isn\'t running; start it with "halo" or "halo daemon"' in stopped.stdout
    process = start()
    shown = subprocess.run([_BIN / "halo", "status"], capture_output=True, text=True, check=True, timeout=60)
    assert "Halo is running (the Halo daemon" in shown.stdout
    data = json.loads(
        subprocess.run(
            [_BIN / "halo", "status", "--json"], capture_output=True, check=True, timeout=60
        ).stdout
    )
    assert (data["state"], data["pid"]) == ("running", process.pid)


def test_a_frozen_engine_is_replaced_and_when_woken_stops(start: Callable[[], subprocess.Popen[str]]) -> None:
    frozen = start()
    with Scheduler.open() as scheduler:
        scheduler.add_job("job", Cron("* * * * * *", timezone="UTC"))
        until(lambda: len(scheduler.get_run_log()) > 0)
        until(lambda: _is_frozen_and_expired(frozen, scheduler))
        start()
        generation = scheduler._store.lease.read()
        assert generation is not None
        frozen.send_signal(signal.SIGCONT)
        assert frozen.wait(LONG_S) == 1
        rows = scheduler._store.database.rows(
            "SELECT count(*) FROM scheduler_run_log WHERE generation < ? AND outcome = 'running'",
            [generation.generation],
        )
        assert rows == [(0,)]
        _check(scheduler)


def _is_frozen_and_expired(process: subprocess.Popen[str], scheduler: Scheduler) -> bool:
    """Freeze an engine, and let three minutes pass, as its row has it; not if it holds the database just then."""
    process.send_signal(signal.SIGSTOP)
    until(lambda: psutil.Process(process.pid).status() == psutil.STATUS_STOPPED)
    try:
        scheduler._store.database.rows("UPDATE scheduler_engine SET expires_at = 0")
    except StoreError:
        process.send_signal(signal.SIGCONT)
        return False
    return True


def _check(scheduler: Scheduler) -> None:
    """Nothing doubled, nothing lost, nothing stuck, nothing broken."""
    with scheduler._store.database.snapshot():
        runs = scheduler.get_run_log(limit=1_000_000)
        waiting = scheduler.runs.waiting_in_chains()
    slots = Counter((run.job_id, run.slot_at, run.attempt) for run in runs if run.slot_at is not None)
    assert max(slots.values(), default=1) == 1
    for run in runs:
        assert run.slot_at is None or run.started_at is None or run.started_at >= run.slot_at
    caused = Counter(run.caused_by for run in runs if run.caused_by is not None)
    caused.update(run.caused_by for run in waiting)
    followed = [run.id for run in runs if run.job_id == _FOLLOWED and run.outcome in _ENDED]
    assert caused == dict.fromkeys(followed, 1)
    assert scheduler._store.database.rows("PRAGMA integrity_check") == [("ok",)]


def test_kill_9_loses_no_job_and_doubles_no_run(start: Callable[[], subprocess.Popen[str]]) -> None:
    moments = random.Random(20_261_116)  # noqa: S311 - the same moments each time
    with Scheduler.open() as scheduler:
        now_ms = scheduler._clock.now_ms()
        jobs = [
            scheduler.add_job(f"every {index}", Every("10s"), anchor_at=now_ms + 500 * index)
            for index in range(10)
        ]
        jobs += [
            scheduler.add_job(f"cron {index}", Cron("* * * * * *", timezone="UTC")) for index in range(3)
        ]
        jobs.append(scheduler.add_job("report", Manual()))
        followers = [Follower(job_id=jobs[-1], on=FollowOn.ALWAYS)]
        second = Cron("* * * * * *", timezone="UTC")
        jobs.append(scheduler.add_job("backup", second, job_id=_FOLLOWED, followers=followers))
        for _ in range(_KILLS):
            process = start()
            time.sleep(moments.uniform(0, 0.6))
            process.kill()
            process.wait()
            assert {job.id for job in scheduler.list_jobs()} == set(jobs)
            _check(scheduler)
        start()
        before = scheduler._clock.now_ms()
        for job_id in jobs:
            until(lambda job_id=job_id: _ran_since(scheduler, job_id, before))  # type: ignore[misc] # bound now
        _check(scheduler)


def test_kill_9_leaves_out_no_time_of_a_job_that_queues_and_catches_up_each(
    start: Callable[[], subprocess.Popen[str]],
) -> None:
    moments = random.Random(20_261_118)  # noqa: S311 - the same moments each time
    second = Entry(Cron("* * * * * *", timezone="UTC"), on_overlap=Overlap.QUEUE)
    policy = Policy(catch_up=CatchUp.ALL, catch_up_limit=100)
    with Scheduler.open() as scheduler:
        job_id = scheduler.add_job("each second", [second], policy=policy)
        for _ in range(_KILLS // 2):
            process = start()
            time.sleep(moments.uniform(0, 1.5))
            process.kill()
            process.wait()
            _check(scheduler)
        start()
        until(lambda: _has_caught_up(scheduler, job_id))
        runs = scheduler.get_run_log(job_id, limit=1_000_000)
    slots = sorted(run.slot_at or 0 for run in runs)
    assert slots == list(range(slots[0], slots[-1] + 1, 1_000))
    assert [run for run in runs if run.passed_over] == []


def _has_caught_up(scheduler: Scheduler, job_id: str) -> bool:
    newest = scheduler.get_run_log(job_id, limit=1)
    return any(run.late_ms < 1_000 and run.outcome is Outcome.SUCCESS for run in newest)


def test_times_that_passed_while_no_daemon_ran_are_not_blamed_on_a_run(
    start: Callable[[], subprocess.Popen[str]],
) -> None:
    with Scheduler.open() as scheduler:
        job_id = scheduler.add_job("each second", Cron("* * * * * *", timezone="UTC"))
        process = start()
        until(lambda: _ran_since(scheduler, job_id, 0))
        process.kill()
        process.wait()
        killed_at = scheduler._clock.now_ms()
        until(lambda: scheduler._clock.now_ms() > killed_at + 5_000)
        start()
        until(lambda: len(_counting_downtime(scheduler, job_id)) == 1)
        (run,) = _counting_downtime(scheduler, job_id)
        # Beside those, at most the second in which it was killed, or started, can be another reason's.
        reasons = read_summary(run.passed_reason, run.passed_over)
        assert reasons[PassedReason.DOWNTIME] >= max(4, run.passed_over - 2)


def _counting_downtime(scheduler: Scheduler, job_id: str) -> list[Run]:
    return [run for run in scheduler.get_run_log(job_id) if PassedReason.DOWNTIME in run.passed_reason]


def _ran_since(scheduler: Scheduler, job_id: str, since: int) -> bool:
    return any(run.outcome is Outcome.SUCCESS for run in scheduler.get_run_log(job_id, limit=5, since=since))
