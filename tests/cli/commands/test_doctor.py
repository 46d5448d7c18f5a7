"""`halo doctor`, as a process."""

from __future__ import annotations

import json
import os
import pty
import stat
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from checkup import everything_in
from daemons import House

from halo_scheduler import Command, Every
from halo_scheduler.actions.spool import Spool, spool_folder
from halo_scheduler.host.autostart import login_command, system_autostart
from halo_scheduler.host.private_files import make_private_folder
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.service.settings import make_backup

_HALO = Path(sys.executable).parent / "halo"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("halo", "run", "config"):
        (tmp_path / name).mkdir(mode=0o700)
    monkeypatch.setenv("HALO_HOME", str(tmp_path / "halo"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent")
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    monkeypatch.delenv("DISPLAY", raising=False)
    return tmp_path / "halo"


def _doctor(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [_HALO, "doctor", *arguments], capture_output=True, text=True, check=False, timeout=60
    )


def _data(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.stderr == ""
    data: dict[str, Any] = json.loads(done.stdout)
    return data


def _wrong(data: dict[str, Any]) -> list[str]:
    return [item["topic"] for item in data["findings"] if item["mark"] == "wrong"]


def test_before_the_first_use_everything_is_in_order_and_nothing_is_made(home: Path) -> None:
    done = _doctor()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("\nno problems found\n")
    assert "● database     There is no database at" in done.stdout
    assert list(home.iterdir()) == []


def test_a_damaged_database_fails_and_is_not_touched_even_by_fix(home: Path) -> None:
    path = home / "halo.db"
    with Scheduler.open() as scheduler:
        scheduler.add_job("job", Every("1h"))
    make_backup(path, 1_000)
    path.write_bytes(b"junk" * 2_000)
    before = everything_in(home)
    done = _doctor("--fix", "--json")
    assert done.returncode == 1
    data = _data(done)
    assert (_wrong(data), data["wrong"], data["mended"]) == (["database"], 1, [])
    assert {"permissions", "backups", "time zone", "autostart", "tray"} <= {
        item["topic"] for item in data["findings"]
    }
    assert everything_in(home) == before


def test_a_newer_database_prints_no_traceback(home: Path) -> None:
    Scheduler.open().close()
    connection = apsw.Connection(str(home / "halo.db"))
    connection.execute("PRAGMA user_version = 99").fetchall()
    connection.close()
    done = _doctor()
    assert (done.returncode, done.stderr) == (1, "")
    assert "■ database     The database was written by a newer Halo (schema 99" in done.stdout
    assert "\n1 problem, " in done.stdout


def test_fix_repairs_permissions_spools_and_autostart_and_reports_it(home: Path) -> None:
    with Scheduler.open() as scheduler:
        scheduler.add_job("job", Every("1h"), Command(argv=("true",)))
        path = scheduler.path
    make_private_folder(spool_folder(path))
    spool = Spool(spool_folder(path), "left")
    spool.write(spool.output_path, b"printed")
    os.utime(spool.output_path, (1, 1))
    make_backup(path, 1_000).path.chmod(0o644)
    system_autostart().turn_on(["/no/such/halo"])
    found = _doctor("--json")
    assert found.returncode == 1
    data = _data(found)
    assert _wrong(data) == ["permissions", "autostart"]
    assert {item["topic"] for item in data["findings"] if item["can_be_fixed"]} == {
        "permissions",
        "spool",
        "autostart",
    }
    assert spool.exists()
    mended = _doctor("--fix")
    assert (mended.returncode, mended.stderr) == (0, "")
    assert mended.stdout.count("\nfixed: ") == 3
    assert not spool.exists()
    assert {stat.S_IMODE(file.stat().st_mode) for file in (home / "backups").iterdir()} == {0o600}
    assert system_autostart().is_current(login_command())


def test_a_terminal_gets_lines_that_fit_and_colours_unless_it_wants_none(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Scheduler.open() as scheduler:
        name = "bad \x1b]0;title\x07\x1b[31mname"
        scheduler.add_job("job", Every("1h"), Command(argv=("no-such-program",)))
        scheduler._store.database.rows("UPDATE scheduler_jobs SET name = ?", [name])
    text = _on_terminal("doctor", columns=70)
    assert "\x1b[31m■" in text
    assert "\x1b]0;title" not in text
    assert r"bad \x1b]0;title\x07" in text
    plain = text.replace("\x1b[0m", "").replace("\x1b[31m", "")
    assert max(len(line) for line in plain.splitlines() if str(home) not in line) <= 80
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in _on_terminal("doctor", columns=70)
    lines = _on_terminal("doctor", columns=44).splitlines()
    assert "● permissions" in lines
    assert max(len(line) for line in lines if "/" not in line) <= 44


def _on_terminal(*arguments: str, columns: int) -> str:
    """Return what a command writes to a terminal."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, columns))
    with subprocess.Popen(
        [_HALO, *arguments],
        # Without the COLUMNS that readline, loaded by pytest, leaves behind Python's back.
        env=dict(os.environ),
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.PIPE,
    ) as process:
        os.close(theirs)
        text = b""
        try:
            while chunk := os.read(ours, 65_536):
                text += chunk
        except OSError:
            pass  # So Linux says that nobody writes any more.
        os.close(ours)
        assert process.stderr is not None
        assert process.stderr.read() == b""
    return text.decode()


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    house = House(tmp_path, monkeypatch)
    yield house
    house.close()


def test_a_running_daemon_is_examined_without_disturbing_it(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    house.start()
    data = _data(_doctor("--json"))
    engine = [item for item in data["findings"] if item["topic"] == "engine"]
    assert [item["mark"] for item in engine] == ["fine"]
    assert f"the Halo daemon (process {house.pid})" in engine[0]["what"]
    run_id = house.begin(Command(argv=("echo", "still at work")))
    house.end_of(run_id)
    assert house.text(run_id) == "still at work\n"
    house.crash()
    data = _data(_doctor("--json"))
    (engine,) = (item for item in data["findings"] if item["topic"] == "engine")
    assert engine["mark"] == "look"
    assert "ended unexpectedly" in engine["what"]


def test_a_report_counts_and_names_nothing(home: Path) -> None:
    with Scheduler.open(home / "halo.db") as scheduler:
        command = Command(argv=("/opt/very-private",), environment={"HIDDEN_VARIABLE": "hidden value"})
        scheduler.add_job("my private job", Every("5m"), command, group="my private group")
        scheduler.secrets.set("PRIVATE_NAME", "abcd1234", in_file=True)
    text = _doctor("--report").stdout
    for told in (
        "Halo Scheduler ",
        "Installed as: source tree",
        "Jobs: 1 idle",
        "Actions: 1 command",
        "Check of jobs: ",
    ):
        assert told in text
    for private in ("private", "hidden", "HIDDEN", "PRIVATE", "abcd1234", str(home)):
        assert private not in text


def test_a_report_is_made_before_the_first_use_too(home: Path) -> None:
    text = _doctor("--report").stdout
    assert "Engine: not responding" in text
    assert everything_in(home) == {}
