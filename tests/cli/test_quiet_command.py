"""`halo quiet`: the times in which nothing starts by itself, from a terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from halo_scheduler import Manual
from halo_scheduler.cli import halo
from halo_scheduler.clock import ManualClock
from halo_scheduler.model.settings import QuietTime, Weekday
from halo_scheduler.service.scheduler import Scheduler

_NOON = 1_735_732_800_000  # Wednesday, 2025-01-01T12:00Z
_HOUR = 3_600_000

pytestmark = pytest.mark.usefixtures("machine_in_utc")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    # The command goes by the name of its module.
    monkeypatch.setattr(
        import_module("halo_scheduler.cli.commands.quiet"), "SystemClock", lambda: ManualClock(_NOON)
    )
    return tmp_path


def _quiet(*arguments: str) -> Result:
    return CliRunner().invoke(halo, ["quiet", *arguments])


def _times() -> tuple[QuietTime, ...]:
    with Scheduler.open() as scheduler:
        return scheduler.settings.read().quiet_times


def test_without_any_it_says_how_to_begin() -> None:
    assert "halo quiet add Nights --from 22:00 --to 06:00" in _quiet().output
    assert json.loads(_quiet("--json").output) == []


def test_quiet_hours_are_listed_with_a_mark_on_those_that_apply_now() -> None:
    done = _quiet("add", "Nights", "--from", "22:00", "--to", "6:00")
    assert done.output == "added quiet hours Nights: every day, 22:00–06:00\n"
    given = ("--from", "9:00", "--to", "13:00", "--days", "mon-fri,Sunday", "--group", "heavy", "--tz", "UTC")
    done = _quiet("add", *given)
    assert "added quiet hours: Mon–Fri, Sun, 09:00–13:00 (UTC) for group heavy" in done.output
    assert "the group 'heavy' has no jobs yet" in done.output
    assert "they apply now, until" in done.output
    days = tuple(day for day in Weekday if day is not Weekday.SATURDAY)
    assert _times() == (
        QuietTime(name="Nights"),
        QuietTime(group="heavy", days=days, start="09:00", end="13:00", timezone="UTC"),
    )
    for lines in (_quiet().output.splitlines(), _quiet("list").output.splitlines()):
        assert [line.split()[:2] for line in lines] == [["#", "NAME"], ["1", "Nights"], ["▲", "2"]]
        assert "all jobs" in lines[1]
        assert "until" in lines[2]
    listed = json.loads(_quiet("list", "--json").output)
    assert [item["until"] for item in listed] == [None, _NOON + _HOUR]
    assert listed[1] == {**_times()[1].to_dict(), "until": _NOON + _HOUR}
    assert listed == json.loads(_quiet("--json").output)


@pytest.mark.parametrize(
    ("typed", "days"),
    [
        ("sat,sun", (Weekday.SATURDAY, Weekday.SUNDAY)),
        ("fri-mon", (Weekday.MONDAY, Weekday.FRIDAY, Weekday.SATURDAY, Weekday.SUNDAY)),
        (" Tue , TUESDAY ", (Weekday.TUESDAY,)),
    ],
)
def test_days_are_read_as_typed(typed: str, days: tuple[Weekday, ...]) -> None:
    assert _quiet("add", "--from", "1:00", "--to", "2:00", "--days", typed).exit_code == 0
    assert _times()[0].days == days


def test_one_for_a_group_that_has_jobs_is_added_without_a_warning() -> None:
    with Scheduler.open() as scheduler:
        scheduler.add_job("job", Manual(), group="heavy")
    done = _quiet("add", "--from", "1:00", "--to", "2:00", "--group", "heavy")
    assert done.output.count("\n") == 1


def test_they_are_removed_by_name_and_by_number() -> None:
    for name in ("Nights", "", "Meetings", "2"):
        assert _quiet("add", name, "--from", "1:00", "--to", "2:00").exit_code == 0
    assert _quiet("remove", "2", "--yes").output == "removed quiet hours 2\n"
    assert _quiet("remove", "2", "--yes").output == "removed quiet hours\n"
    assert [time.name for time in _times()] == ["Nights", "Meetings"]
    assert _quiet("remove", "--yes", "Nights").exit_code == 0
    assert [time.name for time in _times()] == ["Meetings"]


@pytest.mark.skipif(sys.platform == "win32", reason="the terminal is one of POSIX")
def test_on_a_terminal_it_asks_before_it_removes() -> None:
    _quiet("add", "Nights", "--from", "22:00", "--to", "06:00")
    keys, terminal = os.openpty()
    os.write(keys, b"n\n")
    done = subprocess.run(
        [sys.executable, "-m", "halo_scheduler", "quiet", "remove", "Nights"],
        stdin=terminal,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )
    asked = os.read(keys, 1_000).decode()
    os.close(keys)
    os.close(terminal)
    assert done.returncode == 1
    assert "Remove quiet hours Nights, every day, 22:00–06:00? [y/N]" in asked
    assert len(_times()) == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["add", "x", "--from", "25:00", "--to", "1:00"], "--from: must be a time of day like 22:00"),
        (["add", "x", "--from", "24:00", "--to", "1:00"], "--from: must be before 24:00"),
        (["add", "x", "--from", "1:00", "--to", "noon"], "--to: must be a time of day"),
        (["add", "x", "--from", "1:00"], "Missing option '--to'"),
        (["add", "x", "--from", "1:00", "--to", "2:00", "--days", "mon-someday"], "like mon-fri,sun"),
        (["add", "x", "--from", "1:00", "--to", "2:00", "--days", ""], "like mon-fri,sun"),
        (["add", "x", "--from", "1:00", "--to", "2:00", "--tz", "Mars"], "unknown time zone 'Mars'"),
        (["add", "x", "--from", "1:00", "--to", "2:00", "--group", ""], "group: is empty"),
        (["add", "Nights", "--from", "1:00", "--to", "2:00"], "quiet hours named 'Nights' exist already"),
        (["remove", "nights"], "did you mean 'Nights'?"),
        (["remove", "0"], "no such quiet hours: '0'"),
        (["remove", "2"], "no such quiet hours: '2'"),
        (["remove", "9" * 5_000], "no such quiet hours: "),
        (["remove", ""], "no such quiet hours: ''"),
        (["--json", "remove", "1"], "put --json after the command"),
    ],
)
def test_wrong_use_is_refused_and_nothing_is_changed(arguments: list[str], sentence: str) -> None:
    _quiet("add", "Nights", "--from", "22:00", "--to", "06:00")
    done = _quiet(*arguments)
    assert done.exit_code != 0
    assert sentence in f"{done.output} {done.exception}"
    assert _times() == (QuietTime(name="Nights"),)


def test_the_settings_point_to_it() -> None:
    assert "quiet_times" not in CliRunner().invoke(halo, ["config", "get", "--json"]).output
    assert (
        "change quiet_times with: halo quiet add"
        in CliRunner().invoke(halo, ["config", "get", "quiet_times"]).output
    )
