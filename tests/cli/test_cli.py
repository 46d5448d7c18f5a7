"""The `halo` command as a process."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import click
import pytest

from halo_scheduler import Manual
from halo_scheduler.cli import main
from halo_scheduler.cli.commands import preview
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.store import connection

_BIN = Path(sys.executable).parent


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [_BIN / "halo", *arguments], capture_output=True, text=True, check=False, timeout=60, encoding="utf-8"
    )


def test_the_version_is_the_packages() -> None:
    done = _run("--version")
    assert (done.returncode, done.stdout) == (0, f"Halo Scheduler {version('halo-scheduler')}\n")


def test_a_process_that_ends_does_not_search_its_memory_for_garbage() -> None:
    told = "import atexit, gc; atexit.register(lambda: print(gc.get_freeze_count() > 1_000)); "
    command = [sys.executable, "-c", f"{told}from halo_scheduler.cli import main; main(['--version'])"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "True"


@pytest.mark.parametrize("arguments", [("-h",), ("--help",)])
def test_help_teaches_by_example(arguments: tuple[str, ...]) -> None:
    done = _run(*arguments)
    assert done.returncode == 0
    assert 'halo preview --cron "0 9 * * 1-5"' in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize(
    "command",
    [[str(_BIN / "halo-scheduler")], [sys.executable, "-m", "halo_scheduler"]],
    ids=["gui", "module"],
)
def test_every_door_leads_to_the_same_program(command: list[str]) -> None:
    done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == _run("--version").stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("lst",), "no such command: 'lst'; did you mean 'list'?"),
        (("ls",), "no such command: 'ls'; did you mean 'list'?"),
        (("delete", "backup"), "no such command: 'delete'; did you mean 'remove'?"),
        (("help",), "no such command: 'help'; did you mean '--help'?"),
        (("restore", "x"), "no such command: 'restore'; did you mean 'trash restore'?"),
        (("backup", "lst"), "no such command: 'backup lst'; did you mean 'list'?"),
        (("secret", "rm", "X"), "no such command: 'secret rm'; did you mean 'remove'?"),
        (("quiet", "restore"), "no such command: 'quiet restore'"),
        (("preview", "--every"), "halo: option '--every' requires an argument\n"),
        (
            ("preview",),
            "give a schedule: --when, --every, --after, --cron, --once, --on-file, --on, --webhook, --chat or --manual",
        ),
        (("preview", "--every", "5m", "--manual"), "--manual needs no other schedule"),
        (("preview", "--every", "5m", "--every", "5m"), "the same schedule is given twice"),
        (("preview", "--every", "5x"), "every: cannot read the interval '5x': the unit is unknown"),
        (("preview", "--cron", "* *"), "it has 2 fields"),
        (("preview", "--cron", "@daily", "--tz", "Mars"), "unknown time zone 'Mars'"),
        (("preview", "--every", "5m", "--tz", "UTC"), "--tz needs --cron"),
        (("preview", "--manual", "--anchor", "9:00"), "--anchor needs --every"),
        (("preview", "--once", "some day"), "cannot read the time 'some day'"),
        (("preview", "--manual", "-n", "0"), "must be between 1 and 1000, not 0"),
    ],
)
def test_wrong_use_is_one_sentence_and_perhaps_a_usage_line(
    arguments: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _left_with(*arguments) == 2
    found = capsys.readouterr()
    assert found.out == ""
    assert sentence in found.err
    assert found.err.startswith("halo: ")
    assert all(line.startswith("usage: halo ") for line in found.err.splitlines()[1:])


@pytest.mark.parametrize(
    ("arguments", "sentence", "usage"),
    [
        (("show",), "missing argument 'NAME'", "halo show [OPTIONS] NAME"),
        (("config", "--lst"), "no such option '--lst'", "halo config [OPTIONS] COMMAND [ARGS]..."),
        (
            ("list", "--stats"),
            "no such option '--stats'; did you mean '--status'?",
            "halo list [OPTIONS] [TEXT]",
        ),
        (("next", "-n", "x"), "invalid value for '-n' / '--limit': 'x' is not a valid integer", "halo next"),
    ],
)
def test_errors_of_the_parser_have_our_style_and_a_usage_line(
    arguments: tuple[str, ...], sentence: str, usage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _left_with(*arguments) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first == f"halo: {sentence}"
    assert second.startswith(f"usage: {usage}")


def test_a_group_without_a_command_shows_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert _left_with("config") == 2
    assert capsys.readouterr().err.startswith("Usage: halo config ")


@pytest.mark.skipif(os.name != "posix", reason="a shell closes them")
def test_closed_standard_streams_are_not_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    halo = _BIN / "halo"
    with Scheduler.open() as scheduler:
        scheduler.add_job("backup", Manual())
    script = f"""
        {halo} list >&- && {halo} list >&- 2>&- <&- && {halo} remove backup --yes <&- && {halo} secret set TOKEN <&-
    """
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == "removed backup; restore it with: halo trash restore backup\n"
    assert done.stderr.startswith("halo: ")
    assert "internal error" not in done.stderr


def test_a_reader_that_closes_the_pipe_early_causes_no_error_message() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        [_BIN / "halo", "preview", "--every", "1m"],
        stdout=write_end,
        stderr=subprocess.PIPE,
        check=False,
        timeout=60,
    )
    os.close(write_end)
    assert done.stderr == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_a_full_disk_is_one_sentence() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [_BIN / "halo", "preview", "--every", "1m"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )
    assert done.returncode != 0
    assert b"Traceback" not in done.stderr


def test_a_terminal_without_unicode_causes_no_error() -> None:
    done = subprocess.run(
        [_BIN / "halo", "preview", "--cron", "*/7,3 * * * *"],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_terminal_with_other_signs_gets_plain_ones_that_mean_as_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    with Scheduler.open() as scheduler:
        scheduler.pause_job(scheduler.add_job("日本 \u00fcber", Manual()))
        scheduler.add_job("idle", Manual())
    done = subprocess.run(
        [_BIN / "halo", "list"],
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    lines = [line.split() for line in done.stdout.decode("latin-1").splitlines()]
    assert [line[:2] for line in lines] == [["NAME", "SCHEDULE"], ["*", "idle"], ["=", "??"]]
    assert lines[2][2] == "\u00fcber"


def test_the_last_year_of_the_calendar_causes_no_error() -> None:
    done = _run("preview", "--every", "36500d", "-n", "1000")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_locked_database_can_be_listed_and_says_that_it_cannot_be_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    monkeypatch.setattr(connection, "_BUSY_TIMEOUT_MS", 10)
    path = tmp_path / "halo.db"
    with Scheduler.open(path) as scheduler:
        scheduler.add_job("there", Manual())
        with scheduler._store.transaction():
            assert _left_with("list") == 0
            assert "there" in capsys.readouterr().out
            assert _left_with("add", "x", "--manual", "--", "true") == 1
    sentence = f"halo: {path} is in use by another program; try again in a moment\n"
    assert capsys.readouterr() == ("", sentence)


@pytest.mark.parametrize(
    ("fault", "exit_code", "said"),
    [
        (KeyboardInterrupt(), 130, "\n"),
        (click.Abort(), 130, ""),
        (
            MemoryError(),
            1,
            "halo: internal error (MemoryError: ); set HALO_TRACEBACK=1 to see where",
        ),
        (ValueError("one\ntwo"), 1, "halo: internal error (ValueError: one);"),
        (OSError(28, "No space left on device"), 1, "halo: no space left on device\n"),
        (FileNotFoundError(2, "Gone", "x.txt"), 1, "halo: gone: x.txt\n"),
        (OSError("the socket is closed"), 1, "halo: the socket is closed\n"),
    ],
)
def test_no_error_prints_a_traceback(
    fault: BaseException,
    exit_code: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: object) -> None:
        raise fault

    monkeypatch.setattr(preview, "_show", fail)
    assert _left_with("preview", "--every", "1m") == exit_code
    found = capsys.readouterr()
    assert found.err.startswith(said)
    assert found.err.count("\n") <= 1


def test_a_developer_can_have_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ValueError("a bug")

    monkeypatch.setattr(preview, "_show", fail)
    monkeypatch.setenv("HALO_TRACEBACK", "1")
    with pytest.raises(ValueError, match="a bug"):
        main(["preview", "--every", "1m"])


def _left_with(*arguments: str) -> object:
    """Run the command in this process, and return what it leaves with."""
    with pytest.raises(SystemExit) as leaving:
        main(arguments)
    return leaving.value.code
