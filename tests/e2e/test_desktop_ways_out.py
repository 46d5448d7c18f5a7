"""Ways out of the desktop program's trouble: a damaged database, and quitting while something runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from real_desktop import Desktop, running

from halo_scheduler import Command, Manual, Outcome
from halo_scheduler.service.scheduler import Scheduler

_MAIN = "^Halo Scheduler$"
_DAMAGE_FROM, _DAMAGE = 0, b"\xff" * 3_000


def _is_restored(desktop: Desktop) -> bool:
    """Press the key for it until the jobs are there: the backup may still be being checked."""
    if not desktop.windows(_MAIN):
        desktop.key("alt+r")
    return bool(desktop.windows(_MAIN))


def test_a_damaged_database_is_restored_with_one_key(bare_desktop: Desktop) -> None:
    home = Path(bare_desktop.environment["HALO_HOME"])
    home.mkdir(mode=0o700)
    with Scheduler.open() as scheduler:
        scheduler.settings.change(autostart_asked=True)
        scheduler.add_job("kept", Manual(), Command(argv=("true",)))
        scheduler.backups.make()
    with (home / "halo.db").open("r+b") as file:
        file.seek(_DAMAGE_FROM)
        file.write(_DAMAGE)
    with running(bare_desktop) as program:
        bare_desktop.wait_for(lambda: _is_restored(bare_desktop))
        with Scheduler.open() as scheduler:
            bare_desktop.wait_for(lambda: scheduler.status().pid == program.pid)
            assert [job.name for job in scheduler.list_jobs()] == ["kept"]
        (aside,) = home.glob("halo.db.*.replaced")
        assert aside.read_bytes()[: len(_DAMAGE)] == _DAMAGE


def _is_tried_again(desktop: Desktop) -> bool:
    if not desktop.windows(_MAIN):
        desktop.key("F5")
    return bool(desktop.windows(_MAIN))


def test_a_folder_that_others_can_write_to_is_refused_until_it_is_closed(bare_desktop: Desktop) -> None:
    home = Path(bare_desktop.environment["HALO_HOME"])
    home.mkdir(mode=0o700)
    with Scheduler.open() as scheduler:
        scheduler.settings.change(autostart_asked=True)
    (home / "notes.txt").touch()
    home.chmod(0o777)
    before = sorted(home.iterdir())
    with running(bare_desktop) as program:
        bare_desktop.wait_for_window("^Recovery")
        assert not bare_desktop.windows(_MAIN)
        assert sorted(home.iterdir()) == before
        home.chmod(0o755)
        bare_desktop.wait_for(lambda: _is_tried_again(bare_desktop))
        with Scheduler.open() as scheduler:
            bare_desktop.wait_for(lambda: scheduler.status().pid == program.pid)


@pytest.mark.parametrize(
    ("key", "outcome"), [("alt+w", Outcome.SUCCESS), ("alt+s", Outcome.CANCELLED)], ids=["wait", "stop"]
)
def test_quitting_waits_for_current_runs_or_stops_them(
    desktop: Desktop, scheduler: Scheduler, tmp_path: Path, key: str, outcome: Outcome
) -> None:
    go = tmp_path / "go"
    line = f"while [ ! -e '{go}' ]; do sleep 0.05; done"
    job_id = scheduler.add_job("long", Manual(), Command(argv=("sh", "-c", line)))
    with running(desktop) as program:
        desktop.wait_for_window(_MAIN)
        desktop.wait_for(lambda: scheduler.status().pid == program.pid)
        scheduler.trigger(job_id)
        desktop.wait_for(scheduler.runs.running)
        desktop.key("ctrl+q")
        desktop.wait_for_window("^Quit Halo")
        desktop.key(key)
        if outcome is Outcome.SUCCESS:
            desktop.wait_for(lambda: not desktop.windows("^Quit Halo"))
            assert len(scheduler.runs.running()) == 1
            go.touch()
        assert program.wait() == 0
    (run,) = scheduler.get_run_log(job_id)
    assert run.outcome is outcome
