"""A program that ends unexpectedly leaves a private file about it, and one that is stopped leaves none."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner
from process_probe import until

from halo_scheduler.cli import halo
from halo_scheduler.errors import SchedulerError
from halo_scheduler.host.crash_file import Crash, crash_file, dismiss_crash, find_crash, take_new_crash

pytestmark = pytest.mark.skipif(os.name != "posix", reason="with signals")

_DAEMON = """
import sys, threading
from PySide6.QtCore import QTimer
from halo_scheduler.cli.commands.daemon import run_daemon

def fail(*_):
    raise ValueError("no way to https://ann:hunter2@example.org with token=hunter2")

def prepare(_scheduler):
    if sys.argv[1] == "main":
        fail()
    if sys.argv[1] == "slot":
        QTimer.singleShot(0, fail)
    if sys.argv[1] == "thread":
        threading.Thread(target=fail, name="worker").start()

sys.exit(run_daemon(prepare=prepare))
"""
_DESKTOP = "from ui.app.start import main; main([])"


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("home", "run"):
        (tmp_path / name).mkdir(mode=0o700)
    monkeypatch.setenv("HALO_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent")
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent")
    return tmp_path / "home" / "halo.db"


def _logs(database: Path) -> list[str]:
    folder = database.parent / "logs"
    return sorted(path.name for path in folder.glob("crash*")) if folder.exists() else []


def _start(code: str, database: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """Start a program and wait until it has its crash file."""
    program = subprocess.Popen([sys.executable, "-c", code, *arguments], stderr=subprocess.DEVNULL)
    own = database.parent / "logs" / f"crash-{program.pid}.txt"
    until(lambda: own.exists() and b"\n---\n" in own.read_bytes())
    return program


def _end(program: subprocess.Popen[bytes], number: signal.Signals) -> int:
    program.send_signal(number)
    return program.wait(timeout=30)


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT])
def test_a_daemon_that_crashes_leaves_its_stacks(database: Path, number: signal.Signals) -> None:
    daemon = _start(_DAEMON, database, "fine")
    assert find_crash(database) is None  # It runs.
    assert _end(daemon, number) == -number
    crash = find_crash(database)
    assert crash is not None
    assert "Halo Scheduler" in crash.text
    assert "(daemon)" in crash.text
    assert "Fatal Python error" in crash.text
    assert crash.has_ended
    assert "daemon.py" in crash.text
    assert stat.S_IMODE(crash.path.stat().st_mode) == 0o600


def test_a_desktop_that_crashes_is_offered_once(database: Path) -> None:
    assert _end(_start(_DESKTOP, database), signal.SIGSEGV) == -signal.SIGSEGV
    assert find_crash(database) is not None
    again = _start(_DESKTOP, database)
    until(lambda: "crash.txt" in _logs(database))
    assert _end(again, signal.SIGTERM) == 0
    assert _logs(database) == ["crash.txt"]
    assert take_new_crash(database) is None
    dismiss_crash(database)
    assert _logs(database) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_daemon_that_is_stopped_or_killed_leaves_no_crash(database: Path, number: signal.Signals) -> None:
    _end(_start(_DAEMON, database, "fine"), number)
    assert find_crash(database) is None
    with crash_file(database, "next", "1"):
        assert _logs(database) == [f"crash-{os.getpid()}.txt"]
    assert _logs(database) == []


@pytest.mark.parametrize(("where", "has_ended"), [("main", True), ("slot", False), ("thread", False)])
def test_an_unhandled_error_is_kept_without_secrets(database: Path, where: str, has_ended: bool) -> None:
    daemon = _start(_DAEMON, database, where)
    own = database.parent / "logs" / f"crash-{daemon.pid}.txt"
    until(lambda: b"ValueError" in own.read_bytes() or daemon.poll() is not None)
    daemon.send_signal(signal.SIGTERM)
    daemon.wait(timeout=30)
    crash = find_crash(database)
    assert crash is not None
    assert crash.has_ended == has_ended
    assert "ValueError: no way to https://ann:***@example.org with token=***" in crash.text
    assert "hunter2" not in crash.text


def test_the_doctor_reports_a_crash_and_its_report_has_the_stacks_only(database: Path) -> None:
    with pytest.raises(ValueError, match="Anna"), crash_file(database, "test", "1"):
        raise ValueError("the job of Anna")
    shown = CliRunner().invoke(halo, ["doctor"]).stdout
    assert "Halo ended unexpectedly" in shown
    report = CliRunner().invoke(halo, ["doctor", "--report"]).stdout
    assert "Ended unexpectedly: " in report
    assert "ValueError" in report
    assert "test_crash_file.py" in report
    assert "Anna" not in report.replace('raise ValueError("the job of Anna")', "")


def test_the_report_names_source_files_without_their_folders(tmp_path: Path) -> None:
    frames = (
        '  File "/home/ann/acme/halo/ui/app/start.py", line 73 in main',
        '  File "/srv/bob/python3.11/threading.py", line 982 in run',
        r'  File "C:\Users\Ann\halo_scheduler\cli\__init__.py", line 4 in main',
        '  File "<frozen runpy>", line 88 in _run_code',
    )
    text = "\n".join(("Halo Scheduler", "---", "Fatal Python error: Segmentation fault", *frames))
    assert Crash(path=tmp_path, at_ms=0, text=text, is_new=True).shareable_lines[1:] == [
        '  File "ui/app/start.py", line 73 in main',
        '  File "threading.py", line 982 in run',
        r'  File "halo_scheduler\cli\__init__.py", line 4 in main',
        '  File "<frozen runpy>", line 88 in _run_code',
    ]


def test_many_errors_do_not_fill_the_disk(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passed_on: list[threading.ExceptHookArgs] = []
    before = passed_on.append
    monkeypatch.setattr(threading, "excepthook", before)
    with crash_file(database, "test", "1"):
        for number in range(1_000):
            error = ValueError(f"{number} {'x' * 100_000}")
            threading.excepthook(threading.ExceptHookArgs((ValueError, error, None, None)))
    assert len(passed_on) == 1_000
    assert threading.excepthook == before
    crash = take_new_crash(database)
    assert crash is not None
    assert crash.path.stat().st_size < 100_000


def test_an_error_that_the_user_can_fix_is_not_a_crash(database: Path) -> None:
    with pytest.raises(SchedulerError), crash_file(database, "test", "1"):
        raise SchedulerError("another engine runs")
    assert find_crash(database) is None
