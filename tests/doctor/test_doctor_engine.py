"""Looking at who runs the jobs, and at what runs have left behind."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from checkup import found_by, is_fine, only, scene_of
from marking import set_mark
from past_runs import Past
from process_probe import end_all, until

from halo_scheduler import Command, Every, OnWebhook, Outcome
from halo_scheduler.actions.spool import Spool, Ticket, spool_folder
from halo_scheduler.clock import SystemClock
from halo_scheduler.doctor import engine as engine_checks
from halo_scheduler.doctor.database import check_backups
from halo_scheduler.doctor.engine import check_engine, check_processes, check_spool, check_webhooks
from halo_scheduler.doctor.scene import Mark
from halo_scheduler.doctor.surroundings import check_zone
from halo_scheduler.grammar.zone import machine_zone
from halo_scheduler.host.private_files import make_private_folder
from halo_scheduler.host.process import own_identity
from halo_scheduler.host.process_tree import MARK, mark_of
from halo_scheduler.ipc.client import socket_path
from halo_scheduler.model.webhooks import ListenerState, Place
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.store.lease import LEASE_MS, EngineRow

_NOW = SystemClock().now_ms()
_HOUR = 3_600_000


@pytest.fixture
def scheduler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scheduler]:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with Scheduler.open(tmp_path / "halo.db") as scheduler:
        yield scheduler


def _row(*, at: int = _NOW, pid: int | None = None, zone: str | None = None) -> EngineRow:
    own_pid, start = own_identity()
    return EngineRow(
        generation=1,
        owner="the Halo daemon",
        pid=own_pid if pid is None else pid,
        process_start=start,
        expires_at=at + LEASE_MS,
        started_at=at,
        stopped_at=None,
        last_tick_at=at,
        ticks=1,
        runs=0,
        zone=machine_zone().key if zone is None else zone,
    )


@pytest.fixture
def listening(scheduler: Scheduler) -> Iterator[None]:
    """Let somebody listen on the engine's socket."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(socket_path(scheduler.path)))
        server.listen()
        yield


def test_without_jobs_nothing_needs_to_run_them(scheduler: Scheduler) -> None:
    assert is_fine(found_by(check_engine, scheduler.path))


def test_jobs_that_nothing_runs_are_reported(scheduler: Scheduler) -> None:
    scheduler.add_job("job", Every("1h"))
    finding = only(found_by(check_engine, scheduler.path))
    assert (finding.mark, finding.what) == (Mark.LOOK, "Halo isn't running, so no jobs run.")
    assert "halo daemon" in finding.advice


@pytest.mark.usefixtures("listening")
def test_a_running_engine_is_named(scheduler: Scheduler) -> None:
    scheduler._store.lease.take(_row())
    (finding,) = found_by(check_engine, scheduler.path, _NOW + 1_000)
    assert finding.mark is Mark.FINE
    assert f"the Halo daemon (process {os.getpid()})" in finding.what


def test_an_engine_without_a_socket_is_reported(scheduler: Scheduler) -> None:
    scheduler._store.lease.take(_row())
    assert "isn't notified" in only(found_by(check_engine, scheduler.path, _NOW)).what


@pytest.mark.usefixtures("listening")
def test_an_engine_that_hangs_is_a_problem(scheduler: Scheduler) -> None:
    scheduler._store.lease.take(_row())
    finding = only(found_by(check_engine, scheduler.path, _NOW + LEASE_MS + 60_000))
    assert (finding.mark, "4 min ago" in finding.what) == (Mark.WRONG, True)


def test_a_dead_engine_is_named_with_the_runs_it_left(scheduler: Scheduler) -> None:
    past = Past(scheduler)
    past.run(past.job(), outcome=Outcome.RUNNING, finished_at=None)
    scheduler._store.lease.take(_row(pid=2**22 + 1))
    finding = only(found_by(check_engine, scheduler.path, _NOW + 60_000))
    assert finding.mark is Mark.LOOK
    assert "ended unexpectedly 1 min ago. 1 run is active but not supervised." in finding.what


@pytest.mark.usefixtures("listening")
def test_an_engine_older_than_the_program_is_to_be_restarted(scheduler: Scheduler) -> None:
    scheduler._store.lease.take(replace(_row(), started_at=1_000))
    assert "updated" in only(found_by(check_engine, scheduler.path, _NOW)).what


@pytest.mark.usefixtures("listening")
def test_an_update_is_noticed_in_a_package_without_source_files(
    scheduler: Scheduler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = tmp_path / "engine.pyc"
    compiled.touch()
    os.utime(compiled, (0, 0))  # packages date their files by the commit
    monkeypatch.setattr(engine_checks, "__file__", str(compiled))
    scheduler._store.lease.take(replace(_row(), started_at=1_000))
    assert "updated" in only(found_by(check_engine, scheduler.path, _NOW)).what
    scheduler._store.lease.take(_row(at=_NOW + _HOUR))
    assert is_fine(found_by(check_engine, scheduler.path, _NOW + _HOUR))


def test_an_engine_in_another_zone_is_reported(scheduler: Scheduler) -> None:
    scheduler._store.lease.take(_row(zone="Asia/Tokyo"))
    assert "Asia/Tokyo" in only(found_by(check_zone, scheduler.path, _NOW)).what


def test_an_engine_that_makes_no_backups_is_noticed_sooner(scheduler: Scheduler) -> None:
    scheduler._store.lease.take(_row())
    made_at = scheduler.backups.make().made_at
    assert is_fine(found_by(check_backups, scheduler.path, made_at + 24 * _HOUR))
    assert only(found_by(check_backups, scheduler.path, made_at + 72 * _HOUR)).mark is Mark.LOOK


# --- Processes -------------------------------------------------------------------------------------------


@pytest.fixture
def sleeper() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Take processes that are ended in the end."""
    started: list[subprocess.Popen[bytes]] = []
    yield started
    end_all(process.pid for process in started)
    for process in started:
        process.wait()


def _sleep(run_id: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "60"], env={**os.environ, MARK: run_id})


def test_a_process_of_a_run_that_is_over_is_only_named(
    scheduler: Scheduler, sleeper: list[subprocess.Popen[bytes]]
) -> None:
    past = Past(scheduler)
    job_id = past.job("backup")
    over, running = past.run(job_id), past.run(job_id, outcome=Outcome.RUNNING, finished_at=None)
    assert is_fine(found_by(check_processes, scheduler.path))
    sleeper += [_sleep(run_id) for run_id in (over.id, running.id, "of another database")]

    def is_seen() -> bool:
        with scene_of(scheduler.path) as scene:
            return {over.id, running.id} <= scene.marked.keys()

    until(is_seen)
    finding = only(found_by(check_processes, scheduler.path))
    assert (finding.mark, finding.mend) == (Mark.LOOK, None)
    assert f"sleep (process {sleeper[0].pid}) is left of the run {over.id[:8]} of backup" in finding.what
    assert f"kill {sleeper[0].pid}" in finding.advice
    assert sleeper[0].poll() is None


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has an inherited mark")
def test_a_process_that_cleared_its_environment_is_named_too(
    scheduler: Scheduler, sleeper: list[subprocess.Popen[bytes]]
) -> None:
    past = Past(scheduler)
    over = past.run(past.job("backup"))
    sleeper.append(subprocess.Popen(["/bin/sleep", "60"], env={}))
    set_mark(sleeper[0].pid, mark_of(over.id))
    finding = only(found_by(check_processes, scheduler.path))
    assert f"sleep (process {sleeper[0].pid}) is left of the run {over.id[:8]} of backup" in finding.what


# --- The spool -------------------------------------------------------------------------------------------


def _leave(scheduler: Scheduler, run_id: str, *, age_ms: int = 2 * _HOUR, has_secrets: bool = False) -> Spool:
    """Leave the files of a run, as old as wanted."""
    folder = spool_folder(scheduler.path)
    make_private_folder(folder)
    spool = Spool(folder, run_id)
    environment = {"T": "${secret:TOKEN}"} if has_secrets else {}
    action = Command(argv=("true",), environment=environment)
    spool.write_ticket(Ticket(1, "x", action))
    spool.write(spool.output_path, b"printed")
    for path in folder.glob(f"{run_id}.*"):
        os.utime(path, ns=(1, (_NOW - age_ms) * 1_000_000))
    return spool


def test_files_of_runs_that_are_over_are_deleted_on_demand(scheduler: Scheduler) -> None:
    past = Past(scheduler)
    run = past.run(past.job(), output=b"stored")
    left, unknown = _leave(scheduler, run.id, has_secrets=True), _leave(scheduler, "unknown")
    note = spool_folder(scheduler.path) / f"{run.id}.item"
    note.touch()
    os.utime(note, ns=(1, 1))
    finding = only(found_by(check_spool, scheduler.path, _NOW))
    assert "2 runs that are over left files" in finding.what
    assert left.exists()
    assert finding.mend is not None
    finding.mend()
    assert not left.exists()
    assert not unknown.exists()
    assert note.exists()
    assert is_fine(found_by(check_spool, scheduler.path, _NOW))


def test_files_that_may_still_be_read_are_left_alone(
    scheduler: Scheduler, sleeper: list[subprocess.Popen[bytes]]
) -> None:
    past = Past(scheduler)
    job_id = past.job()
    running = past.run(job_id, outcome=Outcome.RUNNING, finished_at=None)
    waiting, young, living = (past.run(job_id) for _ in range(3))
    sleeper.append(_sleep(living.id))
    _leave(scheduler, running.id)
    _leave(scheduler, waiting.id, has_secrets=True)
    _leave(scheduler, young.id, age_ms=_HOUR // 2)
    _leave(scheduler, living.id)

    def is_seen() -> bool:
        with scene_of(scheduler.path) as scene:
            return living.id in scene.marked

    until(is_seen)
    assert is_fine(found_by(check_spool, scheduler.path, _NOW))


def test_nothing_is_deleted_while_a_process_writes_to_a_deleted_database(
    scheduler: Scheduler, sleeper: list[subprocess.Popen[bytes]]
) -> None:
    _leave(scheduler, "unknown")
    scheduler.close()
    path = scheduler.path
    with path.open("rb") as file:
        sleeper.append(subprocess.Popen(["sleep", "60"], stdin=file))
    assert only(found_by(check_spool, path, _NOW)).mend is not None
    copy = path.with_name("copy")
    copy.write_bytes(path.read_bytes())
    copy.replace(path)
    assert is_fine(found_by(check_spool, path, _NOW))


# --- Webhooks ------------------------------------------------------------------------------------------


def _say_webhooks(scheduler: Scheduler) -> tuple[Mark, str]:
    (found,) = found_by(check_webhooks, scheduler.path)
    return found.mark, found.what


def test_the_state_of_webhooks_is_described(scheduler: Scheduler) -> None:
    assert _say_webhooks(scheduler) == (Mark.FINE, "Webhooks: off.")
    scheduler.add_job("deploy", OnWebhook())
    assert _say_webhooks(scheduler) == (Mark.LOOK, "Webhooks: off (1 job with a webhook).")
    scheduler.settings.change(webhooks=True)
    scheduler._store.lease.take(_row())
    state = ListenerState(place=Place("127.0.0.1", 8787), since=_NOW)
    scheduler._store.webhooks.save_listener(state)
    assert _say_webhooks(scheduler) == (Mark.FINE, "Webhooks: listening on 127.0.0.1:8787, 1 job.")
    scheduler._store.webhooks.save_listener(replace(state, fault="it is in use"))
    assert _say_webhooks(scheduler) == (Mark.WRONG, "Webhooks: not open: it is in use.")


def test_a_port_that_is_open_to_other_computers_is_a_warning(scheduler: Scheduler) -> None:
    scheduler.settings.change(webhooks=True, webhook_address="0.0.0.0")  # noqa: S104 - nothing is bound here
    assert _say_webhooks(scheduler)[0] is Mark.LOOK
