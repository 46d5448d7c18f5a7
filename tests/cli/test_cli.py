"""The `halo` command as a process."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

_BIN = Path(sys.executable).parent


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [_BIN / "halo", *arguments], capture_output=True, text=True, check=False, timeout=60, encoding="utf-8"
    )


def test_the_version_is_the_packages() -> None:
    done = _run("--version")
    assert (done.returncode, done.stdout) == (0, f"Halo Scheduler {version('halo-scheduler')}\n")


@pytest.mark.parametrize("arguments", [(), ("-h",), ("--help",)])
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
        (("fly",), "No such command 'fly'"),
        (("preview",), "give exactly one of --every, --after, --cron, --once and --manual"),
        (("preview", "--every", "5m", "--manual"), "give exactly one of"),
        (("preview", "--every", "5x"), "every: cannot read the interval '5x': the unit is unknown"),
        (("preview", "--cron", "* *"), "it has 2 fields"),
        (("preview", "--cron", "@daily", "--tz", "Mars"), "unknown time zone 'Mars'"),
        (("preview", "--every", "5m", "--tz", "UTC"), "--tz goes with --cron only"),
        (("preview", "--manual", "--anchor", "9:00"), "--anchor goes with --every only"),
        (("preview", "--once", "some day"), "cannot read the time 'some day'"),
        (("preview", "--manual", "-n", "0"), "not in the range"),
    ],
)
def test_wrong_use_is_one_sentence_on_stderr(arguments: tuple[str, ...], sentence: str) -> None:
    done = _run(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert sentence in done.stderr
    assert done.stderr.startswith("halo: ")
    assert done.stderr.count("\n") == 1


def test_a_reader_that_leaves_early_is_no_error_message() -> None:
    script = f'"{_BIN / "halo"}" preview --every 1m -n 1000 --json | head -c 10 >/dev/null'
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert done.stderr == ""
