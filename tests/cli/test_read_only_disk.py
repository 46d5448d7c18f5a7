"""Commands that only show something, on a disk that cannot be written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from click.testing import CliRunner
from small_disk import seen_read_only, small_disk

from halo_scheduler import Command, Every
from halo_scheduler.cli import halo
from halo_scheduler.errors import StoreReadOnlyError, StoreTooNewError
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.store.connection import Database
from halo_scheduler.store.schema import NEWEST

_READING = [
    ["list"],
    ["list", "--json"],
    ["status"],
    ["show", "backup"],
    ["history"],
    ["logs", "backup"],
    ["next"],
    ["why", "backup"],
    ["export"],
    ["inbox"],
    ["trash"],
    ["group"],
    ["quiet"],
    ["agent", "list"],
    ["config", "get"],
    ["secret", "list"],
]


def _make_jobs(home: Path) -> None:
    home.mkdir(mode=0o700, exist_ok=True)
    with Scheduler.open(home / "halo.db") as scheduler:
        job_id = scheduler.add_job("backup", Every("1h"), Command(argv=("true",)))
        scheduler.trigger(job_id)
        scheduler.tick()
        scheduler.stop()


@pytest.fixture(params=["still", "in use"])
def home(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Have a home that cannot be written, be it with a journal or without."""
    _make_jobs(tmp_path / "home")
    connection = apsw.Connection(str(tmp_path / "home" / "halo.db"))
    if request.param == "in use":
        connection.execute("INSERT INTO scheduler_settings (key, value) VALUES ('x', 'y')").fetchall()
    else:
        connection.close()
    with seen_read_only(tmp_path / "home", tmp_path / "read-only") as place:
        monkeypatch.setenv("HALO_HOME", str(place))
        yield place
    connection.close()


@pytest.mark.parametrize("arguments", _READING, ids=" ".join)
def test_reading_commands_work_on_a_read_only_disk(home: Path, arguments: list[str]) -> None:
    shown = CliRunner().invoke(halo, arguments, catch_exceptions=False)
    assert shown.exit_code == 0
    assert "cannot be written; check its permissions and its disk; showing what is stored" in shown.stderr
    assert str(home) in shown.stderr


@pytest.mark.usefixtures("home")
def test_the_jobs_are_those_that_are_there() -> None:
    shown = CliRunner().invoke(halo, ["list"], catch_exceptions=False)
    assert "backup" in shown.stdout


@pytest.mark.usefixtures("home")
def test_writing_commands_are_refused_with_a_sentence() -> None:
    with Scheduler.open_to_read() as scheduler, pytest.raises(StoreReadOnlyError, match="cannot be written"):
        scheduler.add_job("another", Every("1h"), Command(argv=("true",)))


def test_a_database_of_another_version_is_refused_as_ever(tmp_path: Path) -> None:
    _make_jobs(tmp_path / "home")
    database = Database.open(tmp_path / "home" / "halo.db")
    database.run_script(f"PRAGMA user_version = {NEWEST - 1}")
    database.close()
    with (
        seen_read_only(tmp_path / "home", tmp_path / "read-only") as place,
        pytest.raises(StoreReadOnlyError),
    ):
        Scheduler.open_to_read(place / "halo.db")
    database = Database.open(tmp_path / "home" / "halo.db")
    database.run_script(f"PRAGMA user_version = {NEWEST + 1}")
    database.close()
    with pytest.raises(StoreTooNewError):
        Scheduler.open_to_read(tmp_path / "home" / "halo.db")


def test_a_full_disk_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with small_disk(tmp_path, "tmpfs", "8m") as disk:
        _make_jobs(disk.folder / "home")
        disk.fill()
        monkeypatch.setenv("HALO_HOME", str(disk.folder / "home"))
        for command, code in (("list", 0), ("status", 1), ("history", 0)):
            shown = CliRunner().invoke(halo, [command], catch_exceptions=False)
            assert (shown.exit_code, "is full" in shown.output) == (code, True)
