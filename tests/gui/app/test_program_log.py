"""Program log: private, bounded, without secrets, and never the cause of a fault."""

from __future__ import annotations

import errno
import logging
import stat
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from halo_scheduler.host.crash_file import without_secrets
from ui.app.program_log import ProgramLog

_LOG = logging.getLogger("halo_scheduler.test")


@pytest.fixture
def log(tmp_path: Path) -> Iterator[ProgramLog]:
    root = logging.getLogger()
    level = root.level
    made = ProgramLog(tmp_path / "halo.db")
    made.start()
    made.open_file()
    yield made
    made.stop()
    root.setLevel(level)


def test_log_lines_are_in_the_file_and_in_memory(log: ProgramLog) -> None:
    _LOG.warning("the disk is %s", "full")
    assert log.lines()[-1].endswith("WARNING halo_scheduler.test: the disk is full")
    assert log.path.read_text(encoding="utf-8").endswith("the disk is full\n")


def test_the_file_is_its_owners_alone(log: ProgramLog) -> None:
    _LOG.warning("a word")
    assert stat.S_IMODE(log.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(log.path.parent.stat().st_mode) == 0o700


def test_the_newest_five_hundred_are_kept_in_memory(log: ProgramLog) -> None:
    for number in range(600):
        _LOG.info("word %d", number)
    assert len(log.lines()) == 500
    assert log.lines()[-1].endswith("word 599")


def test_a_full_file_makes_room(log: ProgramLog) -> None:
    for _ in range(350):
        _LOG.info("x" * 3_900)
    names = sorted(path.name for path in log.path.parent.iterdir())
    assert names == ["halo.log", "halo.log.1"]
    assert all(path.stat().st_size <= 1_000_000 for path in log.path.parent.iterdir())
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in log.path.parent.iterdir())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("GET https://joe:pw123@example.org/x", "GET https://joe:***@example.org/x"),
        ("password=hunter2, next", "password=***, next"),
        ("'token': 'abc'", "'token': ***"),
        ("Authorization: Bearer abc.def", "Authorization: ***"),
        ("https://example.org/?api_key=abc&x=1", "https://example.org/?api_key=***&x=1"),
        ("the secret API_TOKEN is not set", "the secret API_TOKEN is not set"),
        ("in 12:30 at http://example.org:80/", "in 12:30 at http://example.org:80/"),
    ],
)
def test_text_that_resembles_a_secret_is_redacted(text: str, shown: str) -> None:
    assert without_secrets(text) == shown


def test_the_secret_of_an_error_is_left_out_too(log: ProgramLog) -> None:
    _LOG.error("It failed.", exc_info=ValueError("cannot use token=abcd1234"))
    assert "abcd1234" not in log.path.read_text(encoding="utf-8")
    assert "token=***" in log.lines()[-1]


def test_an_endless_record_is_cut(log: ProgramLog) -> None:
    _LOG.warning("x" * 100_000)
    assert len(log.lines()[-1]) <= 4_001


def test_uncaught_exceptions_are_logged(log: ProgramLog, capsys: pytest.CaptureFixture[str]) -> None:
    error = ValueError("nobody caught this")
    sys.excepthook(ValueError, error, None)
    assert "nobody caught this" in log.lines()[-1]
    assert "nobody caught this" in capsys.readouterr().err


def test_uncaught_exceptions_of_threads_are_logged(
    log: ProgramLog, capsys: pytest.CaptureFixture[str]
) -> None:
    error = ValueError("nobody caught this")
    threading.excepthook(threading.ExceptHookArgs((ValueError, error, None, threading.current_thread())))
    assert "MainThread" in log.lines()[-1]
    assert "nobody caught this" in capsys.readouterr().err


def test_without_a_folder_it_is_kept_in_memory(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("in the way")
    log = ProgramLog(tmp_path / "halo.db")
    log.start()
    log.open_file()
    try:
        assert "logging to memory only" in log.lines()[-1]
    finally:
        log.stop()


def test_after_its_end_nothing_is_taken_in(tmp_path: Path) -> None:
    log = ProgramLog(tmp_path / "halo.db")
    log.start()
    log.open_file()
    log.stop()
    _LOG.warning("too late")
    assert log.lines() == []
    assert sys.excepthook is sys.__excepthook__


def test_it_ends_although_its_last_lines_cannot_be_written(
    log: ProgramLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    assert isinstance(log._file, logging.StreamHandler)
    monkeypatch.setattr(log._file.stream, "flush", refuse)
    log.close()
    assert log._file is None


def test_lines_logged_before_the_file_was_open_are_in_it(tmp_path: Path) -> None:
    log = ProgramLog(tmp_path / "halo.db")
    log.start()
    try:
        logging.getLogger("halo").warning("early")
        assert not log.path.exists()
        log.open_file()
        log.open_file()
        logging.getLogger("halo").warning("late")
    finally:
        log.stop()
    assert [line.split(": ")[-1] for line in log.path.read_text("utf-8").splitlines()] == ["early", "late"]
