"""`--when`: schedules in plain words in the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from halo_scheduler import Cron, Every, Job
from halo_scheduler.cli import halo
from halo_scheduler.model.schedules import schedules_of
from halo_scheduler.service.scheduler import Scheduler


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


def _halo(*arguments: str) -> Result:
    return CliRunner().invoke(halo, arguments, catch_exceptions=False)


def _job() -> Job:
    with Scheduler.open() as scheduler:
        (job,) = scheduler.list_jobs()
        return job


def test_a_job_is_added_in_plain_words() -> None:
    result = _halo("add", "tea", "--when", "every weekday at 9", "--", "true")
    assert "added tea: at 09:00 on weekdays" in result.output
    assert _job().schedule == Cron("0 9 * * 1-5")


def test_words_that_need_several_schedules_become_several() -> None:
    _halo("add", "tea", "--when", "at 9:00 and 14:30", "--when", "every 2 days", "--tz", "UTC", "--", "true")
    schedules = schedules_of(_job().schedule)
    assert schedules == (Cron("0 9 * * *", "UTC"), Cron("30 14 * * *", "UTC"), Every("2d"))


def test_an_edit_in_plain_words_keeps_the_zone() -> None:
    _halo("add", "tea", "--cron", "0 9 * * *", "--tz", "Asia/Tokyo", "--", "true")
    assert _halo("edit", "tea", "--when", "every friday at 16:30").exit_code == 0
    assert _job().schedule == Cron("30 16 * * 5", "Asia/Tokyo")


def test_a_preview_shows_the_runs_of_words() -> None:
    result = _halo("preview", "--when", "first monday of the month at 07:30", "--from", "2026-11-18")
    assert "at 07:30 on the first Monday of every month" in result.output
    assert "Mon  7 Dec 2026 07:30" in result.output


def test_words_that_are_not_clear_are_refused_and_nothing_is_added() -> None:
    result = CliRunner().invoke(halo, ["add", "tea", "--when", "every 2nd friday", "--", "true"])
    assert result.exit_code != 0
    refusal = str(result.exception)
    assert refusal.startswith("--when: it is not clear whether the 2nd Friday of every month")
    assert "“every 14 days”" in refusal
    with Scheduler.open() as scheduler:
        assert scheduler.list_jobs() == []


def test_a_zone_without_times_is_refused() -> None:
    refusal = _halo("add", "tea", "--when", "every 2 days", "--tz", "UTC", "--", "true")
    assert refusal.exit_code == 2
    assert "--tz needs --cron or times in --when" in refusal.output
