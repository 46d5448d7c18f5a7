"""Holidays, business days and calendar files in the terminal: preview, add, export and import, why."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from halo_scheduler import Calendar, Job
from halo_scheduler.cli import halo
from halo_scheduler.service.scheduler import Scheduler

_NINE = ("--cron", "0 9 25 12 *", "--tz", "UTC")
_CALENDAR = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART;VALUE=DATE:20300102\nEND:VEVENT\nEND:VCALENDAR\n"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HALO_HOME", str(tmp_path / "halo"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    for name in ("LC_ALL", "LC_TIME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "de_AT.UTF-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TZ", "UTC")
    return tmp_path


def _halo(*arguments: str) -> str:
    result = CliRunner().invoke(halo, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


def _refusal(*arguments: str) -> str:
    result = CliRunner().invoke(halo, arguments)
    assert result.exit_code != 0
    return result.output or str(result.exception)


def _job() -> Job:
    with Scheduler.open() as scheduler:
        (job,) = scheduler.list_jobs()
        return job


def _calendar() -> Calendar:
    (entry,) = _job().schedules
    return entry.calendar


def test_a_preview_leaves_holidays_out() -> None:
    shown = _halo("preview", "--cron", "0 9 24-28 12 *", "--not-on", "holidays DE-BY", "--from", "2029-12-01")
    assert "not on holidays in Germany (Bavaria) Mon 24 Dec 2029 09:00 Thu 27 Dec 2029 09:00" in shown


def test_words_without_a_country_mean_that_of_the_language() -> None:
    shown = _halo("preview", "--when", "last business day of the month at 18:00")
    assert "only on business days in Austria, moved to the previous allowed day" in shown


def test_a_file_is_found_from_the_current_folder_and_kept_over_an_export(home: Path) -> None:
    (home / "days.ics").write_text(_CALENDAR)
    _halo("add", "tea", "--every", "1d", "--not-on", "ICS days.ics", "--not-on", "2030-01-01", "--", "true")
    expected = Calendar(excluded=("2030-01-01", f"ics {home}/days.ics"))
    assert _calendar() == expected
    exported = CliRunner().invoke(halo, ["export"]).output
    (home / "jobs.yaml").write_text(exported)
    _halo("remove", "tea", "--yes")
    _halo("import", "jobs.yaml", "--yes")
    assert _calendar() == expected
    (home / "days.ics").unlink()
    changed = exported.replace("name: tea", "name: coffee").replace(f"{home}/days.ics", f"{home}/gone.ics")
    (home / "jobs.yaml").write_text(changed)
    assert "gone.ics cannot be read: No such file or directory" in _refusal("import", "jobs.yaml", "--yes")


@pytest.mark.parametrize(
    ("days", "said"),
    [
        ("holidays Atlantis", "--not-on: unknown country or region 'Atlantis'"),
        ("business days", "--not-on: say the country of the business days"),
        ("ics gone.ics", "gone.ics cannot be read: No such file or directory"),
        ("someday", "--not-on: write a date like 2027-05-01, not 'someday'"),
    ],
)
def test_days_that_cannot_be_looked_up_are_refused(days: str, said: str) -> None:
    words = _refusal("add", "tea", "--every", "1d", "--not-on", days, "--", "true")
    assert said in words
    assert "no jobs yet" in _halo("list")


def test_a_missing_library_is_named_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "holidays", None)
    words = _refusal("add", "tea", "--every", "1d", "--not-on", "holidays DE", "--", "true")
    assert "--not-on: holidays need the library holidays, which is not installed" in words
    assert "pip install 'halo-scheduler[holidays]', or: pipx inject halo-scheduler holidays" in words


def test_why_says_that_a_holiday_was_excluded_or_moved() -> None:
    _halo("add", "tea", *_NINE, "--cron", "0 9 24 12 *", "--not-on", "holidays DE", "--", "true")
    said = _halo("why", "tea", "--at", "2029-12-25 9:00")
    assert "is excluded: it is a holiday in Germany." in said
    _halo("edit", "tea", *_NINE, "--not-on", "holidays DE", "--shift", "next")
    assert "is moved to 27 Dec 2029" in _halo("why", "tea", "--at", "2029-12-25 9:00")
    assert "It was moved from 25 Dec 2029" in _halo("why", "tea", "--at", "2029-12-27 9:00")
