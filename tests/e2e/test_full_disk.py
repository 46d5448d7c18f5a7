"""Real daemons on small disks that are filled, by their own jobs or by others, or made read-only."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import shell
from daemons import House
from process_probe import living_in, until
from small_disk import SmallDisk, small_disk

from halo_scheduler import Cron, Once, Outcome, Run
from halo_scheduler.actions.spool import Spool, spool_folder
from halo_scheduler.engine.maintenance import reserve_path
from halo_scheduler.ipc.client import poke
from halo_scheduler.model.alarms import StoreTrouble, TroubleKind

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="mounts small disks as Linux does"
)

_STATUS = (sys.executable, "-m", "halo_scheduler", "status")
_NOISE = 'yes "a chatty line that says nothing at all"'


@pytest.fixture(params=["tmpfs", "ext4"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path, request.param, "50m") as found:
        yield found


@pytest.fixture
def house(disk: SmallDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    """Have a daemon whose home is on the small disk, with a job that is due every second."""
    folder = disk.folder / "house"
    folder.mkdir()
    found = House(folder, monkeypatch)
    found.log_path = tmp_path / "daemon.log"
    found.second_job = found.scheduler.add_job("each second", Cron("* * * * * *"), shell("true"))
    yield found
    found.close()


def _successes(house: House, since: int) -> list[Run]:
    runs = house.scheduler.get_run_log(house.second_job, limit=1_000)
    return [run for run in runs if run.outcome is Outcome.SUCCESS and (run.started_at or 0) >= since]


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _goes_on(house: House) -> None:
    """Wait until the job of every second has run three times more."""
    since = _now_ms()
    until(lambda: len(_successes(house, since)) >= 3)


def test_a_noisy_job_on_a_small_disk_stops_no_other_and_its_end_is_recorded(house: House) -> None:
    house.start()
    run = house.end_of(house.begin(shell(_NOISE), time_limit="10s"))
    # Its own program gives up when the disk is full, if it is quick enough to fill that.
    assert (run.outcome, run.exit_code) in [(Outcome.FAILURE, 1), (Outcome.TIMEOUT, 143)]
    assert run.note == ("the disk was full while it ran" if run.outcome is Outcome.FAILURE else "")
    assert house.text(run.id).startswith("a chatty line")
    _goes_on(house)
    house.wait_until_cleared()


def test_one_that_never_gives_up_is_kept_in_bounds_or_stopped(house: House) -> None:
    house.start()
    line = "while :; do cat /dev/zero; sleep 0.01; done 2>/dev/null"
    run_id = house.begin(shell(line), time_limit="6s")
    until(lambda: house.spooled(".out"))
    _goes_on(house)
    run = house.end_of(run_id)
    assert run.outcome is Outcome.TIMEOUT or "filled the disk" in run.error
    _goes_on(house)


def test_an_engine_starts_on_a_disk_that_is_full_of_the_output_of_the_last_one(
    house: House, disk: SmallDisk
) -> None:
    house.start()
    line = f"touch started; while [ ! -e go ]; do sleep 0.02; done; {_NOISE}; exit 7"
    run_id = house.begin(shell(line, directory=str(disk.folder)))
    until((disk.folder / "started").exists)
    until(reserve_path(house.scheduler.path).exists)
    house.crash()
    (disk.folder / "go").touch()
    spool = Spool(spool_folder(house.scheduler.path), run_id)
    until(lambda: spool.read_code() is not None)
    assert disk.free_bytes() < 64 << 10
    house.start()
    run = house.end_of(run_id)
    assert (run.outcome, run.exit_code, run.error) == (Outcome.FAILURE, 7, "exit code 7")
    _goes_on(house)


def test_an_engine_starts_on_a_disk_that_others_have_filled(house: House, disk: SmallDisk) -> None:
    house.start()
    _goes_on(house)
    until(reserve_path(house.scheduler.path).exists)
    house.crash()
    filler = disk.fill()
    house.start()
    _goes_on(house)
    assert not reserve_path(house.scheduler.path).exists()
    assert "is full" in house.log()
    filler.unlink()


def test_an_output_that_was_deleted_is_not_taken_for_a_run_that_never_started(house: House) -> None:
    house.start()
    run_id = house.begin(shell("sleep 600"))
    until(lambda: house.spooled(f"{run_id}.ticket"))
    house.crash()
    spool = Spool(spool_folder(house.scheduler.path), run_id)
    Path(spool.output_path).unlink()
    ticket = spool.read_ticket()
    assert ticket is not None
    os.killpg(ticket.pid, signal.SIGKILL)
    house.start()
    run = house.end_of(run_id)
    assert (run.outcome, run.error) == (
        Outcome.INTERRUPTED,
        "ended while Halo was not running, exit code unknown",
    )


@pytest.fixture
def waiting_run(house: House, tmp_path: Path) -> str:
    """Have a run under way that ends when it is told so, on a disk that still works."""
    house.start()
    _goes_on(house)
    until(reserve_path(house.scheduler.path).exists)
    line = "echo $$ >it.pid; while [ ! -e go ]; do sleep 0.02; done"
    run_id = house.begin(shell(line, directory=str(tmp_path)))
    until(lambda: living_in(tmp_path))
    return run_id


def test_stopping_takes_seconds_on_a_full_disk(
    house: House, disk: SmallDisk, tmp_path: Path, waiting_run: str
) -> None:
    reserve_path(house.scheduler.path).unlink()
    filler = disk.fill()
    until(lambda: "is full" in house.log())
    assert _stopping_s(house, tmp_path) < 20
    filler.unlink()
    house.start()
    assert house.end_of(waiting_run).outcome is Outcome.SUCCESS


@pytest.mark.parametrize("disk", ["ext4"], indirect=True)
@pytest.mark.usefixtures("waiting_run")
def test_stopping_takes_seconds_on_a_disk_that_became_read_only(
    house: House, disk: SmallDisk, tmp_path: Path
) -> None:
    disk.break_down()
    until(lambda: "cannot be" in house.log())
    assert _stopping_s(house, tmp_path) < 20


def _stopping_s(house: House, tmp_path: Path) -> float:
    """Return how long a stop takes while the end of a run cannot be recorded."""
    (tmp_path / "go").touch()
    until(lambda: not living_in(tmp_path))
    began = time.monotonic()
    assert house.stop() == 1
    assert "could not be recorded; the next engine does that" in house.log()
    return time.monotonic() - began


def test_a_full_disk_shows_in_the_status_and_runs_keep_their_true_end(
    house: House, disk: SmallDisk, tmp_path: Path, waiting_run: str
) -> None:
    reserve_path(house.scheduler.path).unlink()
    filler = disk.fill()
    until(lambda: "is full" in house.log())
    (tmp_path / "go").touch()
    until(lambda: not living_in(tmp_path))
    until(lambda: any(end.run_id == waiting_run for end in _trouble_of(house).ends))
    ended_by = _now_ms()
    told = subprocess.run(_STATUS, capture_output=True, check=False, text=True)
    assert told.returncode == 1
    assert "Disk full: runs can't be recorded" in told.stdout
    assert "No jobs have started since" in told.stdout
    assert "Free some space on the disk of" in told.stdout
    assert house.get(waiting_run).outcome is Outcome.RUNNING
    time.sleep(2)  # What is measured is that this time is not part of the run.
    filler.unlink()
    run = house.end_of(waiting_run)
    assert (run.finished_at or 0) <= ended_by
    until(lambda: house.scheduler.engine.trouble() is None)
    assert subprocess.run(_STATUS, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("disk", ["tmpfs"], indirect=True)
def test_a_full_disk_shows_although_the_database_can_still_be_written(house: House, disk: SmallDisk) -> None:
    house.start()
    _goes_on(house)
    until(reserve_path(house.scheduler.path).exists)
    house.scheduler.pause_job(house.second_job)
    until(lambda: not house.scheduler.runs.running())
    house.scheduler._store.database.reuse_journal()
    reserve_path(house.scheduler.path).unlink()
    disk.fill()
    assert poke(house.scheduler.path)
    assert _trouble_of(house).kind is TroubleKind.ALMOST_FULL
    told = subprocess.run(_STATUS, capture_output=True, check=False, text=True)
    assert told.returncode == 1
    assert "Disk almost full: jobs may fail" in told.stdout
    assert "almost no free space" in house.log()


@pytest.mark.parametrize("disk", ["tmpfs"], indirect=True)  # An ext4 keeps some blocks for small files.
def test_a_start_that_finds_the_disk_full_shows_in_the_status(house: House, disk: SmallDisk) -> None:
    house.start()
    _goes_on(house)
    until(reserve_path(house.scheduler.path).exists)
    house.scheduler.pause_job(house.second_job)
    until(lambda: not house.scheduler.runs.running())
    job_id = house.scheduler.add_job("photos", Once(_now_ms() + 3_000), shell("echo done"))
    # The journal is reused, so the claim has room on a full disk; the output has not.
    house.scheduler._store.database.reuse_journal()
    disk.fill()
    reserve_path(house.scheduler.path).unlink()
    filler = disk.fill()
    until(lambda: _trouble_of(house).kind is TroubleKind.FULL)
    told = subprocess.run(_STATUS, capture_output=True, check=False, text=True)
    assert told.returncode == 1
    assert "Disk full" in told.stdout
    assert "is full" in house.log()
    filler.unlink()
    until(lambda: house.scheduler.engine.trouble() is None)
    until(lambda: house.scheduler.get_run_log(job_id)[0].outcome is Outcome.SUCCESS)
    assert subprocess.run(_STATUS, capture_output=True, check=False).returncode == 0


def test_a_run_is_stopped_although_the_disk_is_full(
    house: House, disk: SmallDisk, tmp_path: Path, waiting_run: str
) -> None:
    reserve_path(house.scheduler.path).unlink()
    filler = disk.fill()
    until(lambda: "is full" in house.log())
    house.scheduler.cancel_run(waiting_run)
    until(lambda: not living_in(tmp_path))
    filler.unlink()
    assert house.end_of(waiting_run).outcome is Outcome.CANCELLED


@pytest.mark.parametrize("disk", ["ext4"], indirect=True)
def test_a_run_is_stopped_although_the_disk_became_read_only(
    house: House, disk: SmallDisk, tmp_path: Path, waiting_run: str
) -> None:
    disk.break_down()
    until(lambda: "cannot be" in house.log())
    # The first failed write may be an I/O error; only then does the system make the disk read-only.
    until(lambda: _trouble_of(house).kind is TroubleKind.READ_ONLY)
    house.scheduler.cancel_run(waiting_run)
    until(lambda: not living_in(tmp_path))


def _trouble_of(house: House) -> StoreTrouble:
    """Return what the daemon says is wrong with its store."""
    until(lambda: house.scheduler.engine.trouble() is not None)
    trouble = house.scheduler.engine.trouble()
    assert trouble is not None
    return trouble
