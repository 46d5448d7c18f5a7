"""The desktop program on a real small disk that is filled under its hands."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import shell
from process_probe import until
from real_desktop import Desktop, running
from small_disk import SmallDisk, small_disk

from halo_scheduler import Manual, Once, Outcome
from halo_scheduler.engine.maintenance import reserve_path
from halo_scheduler.model.alarms import TroubleKind
from halo_scheduler.service.scheduler import Scheduler

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="mounts small disks as Linux does"
)
_MAIN = "^Halo Scheduler$"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path, "tmpfs", "20m") as found:
        yield found


def test_a_start_on_a_full_disk_is_seen_and_happens_once_there_is_room(
    desktop: Desktop, disk: SmallDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = disk.folder / "halo"
    monkeypatch.setenv("HALO_HOME", str(home))
    desktop.environment["HALO_HOME"] = str(home)
    home.mkdir(mode=0o700)
    with Scheduler.open() as scheduler:
        scheduler.settings.change(autostart_asked=True)
        with running(desktop) as program:
            desktop.wait_for_window(_MAIN)
            desktop.wait_for(lambda: scheduler.status().pid == program.pid)
            until(reserve_path(scheduler.path).exists)
            soon = time.time_ns() // 1_000_000 + 5_000
            job_id = scheduler.add_job("Copy the photos", Once(soon), shell("echo done"))
            # The journal is reused, so the claim has room on a full disk; the output has not.
            scheduler._store.database.reuse_journal()
            disk.fill()
            reserve_path(scheduler.path).unlink()
            filler = disk.fill()
            until(lambda: scheduler.engine.trouble() is not None)
            desktop.settle()
            desktop.picture("a start finds the disk full")
            filler.unlink()
            until(lambda: scheduler.engine.trouble() is None)
            until(lambda: scheduler.get_run_log(job_id)[0].outcome is Outcome.SUCCESS)


def test_a_full_disk_is_seen_and_a_run_can_be_stopped(
    desktop: Desktop, disk: SmallDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = disk.folder / "halo"
    monkeypatch.setenv("HALO_HOME", str(home))
    desktop.environment["HALO_HOME"] = str(home)
    home.mkdir(mode=0o700)
    with Scheduler.open() as scheduler:
        scheduler.settings.change(autostart_asked=True)
        line = "touch short; while [ ! -e go ]; do sleep 0.02; done"
        short = scheduler.add_job("Copy the photos", Manual(), shell(line, directory=str(tmp_path)))
        line = "touch long; exec sleep 600"
        long = scheduler.add_job("Watch the queue", Manual(), shell(line, directory=str(tmp_path)))
        with running(desktop) as program:
            desktop.wait_for_window(_MAIN)
            desktop.wait_for(lambda: scheduler.status().pid == program.pid)
            run_ids = [scheduler.trigger(job_id) for job_id in (short, long)]
            desktop.wait_for(lambda: all((tmp_path / name).exists() for name in ("short", "long")))
            until(reserve_path(scheduler.path).exists)
            reserve_path(scheduler.path).unlink()
            filler = disk.fill()
            (tmp_path / "go").touch()
            until(lambda: (trouble := scheduler.engine.trouble()) is not None and bool(trouble.ends))
            trouble = scheduler.engine.trouble()
            assert trouble is not None
            assert trouble.kind is TroubleKind.FULL
            assert [end.run_id for end in trouble.ends] == run_ids[:1]
            desktop.settle()
            desktop.picture("the disk is full")
            scheduler.cancel_run(run_ids[1])
            until(lambda: len((scheduler.engine.trouble() or trouble).ends) == 2)
            filler.unlink()
            until(lambda: scheduler.engine.trouble() is None)
            desktop.settle()
            desktop.picture("it has room again")
            outcomes = [run.outcome for run_id in run_ids if (run := scheduler.get_run(run_id))]
            assert outcomes == [Outcome.SUCCESS, Outcome.CANCELLED]
