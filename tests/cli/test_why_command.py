"""`halo why`, in this process and as one of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from morning import Morning, at

from halo_scheduler import Cron, Every, Manual, Outcome, Policy, ScheduleError
from halo_scheduler.cli import halo
from halo_scheduler.cli.commands.why import _VERDICTS
from halo_scheduler.clock import SystemClock
from halo_scheduler.model import PathExists, Schedule
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.why.inquiry import Verdict

pytestmark = pytest.mark.usefixtures("machine_in_berlin")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def at_8_35(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SystemClock, "now_ms", lambda _clock: at("8:35"))


def _past(home: Path, schedule: Schedule, **rest: Any) -> None:
    """Let a job live from eight to twenty-five to nine; its engine is gone by then."""
    morning = Morning(home / "halo.db")
    morning.add(schedule, **rest)
    morning.until("8:35")
    morning.close()


def _halo(*arguments: str) -> Result:
    return CliRunner().invoke(halo, arguments)


def _why(*arguments: str) -> str:
    result = _halo("why", "backup", *arguments)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.usefixtures("at_8_35")
def test_says_why_the_next_run_is_when_it_is(home: Path) -> None:
    _past(home, Every("15m"))
    assert _why() == (
        "● backup is planned\n  Halo isn't running, so no jobs run.\n  Next: 08:45 (every 15 minutes).\n"
    )


@pytest.mark.usefixtures("at_8_35")
def test_a_time_of_day_is_todays_and_means_its_minute(home: Path) -> None:
    _past(home, Cron("20 15 8 * * *"))
    assert _why("--at", "8:15").startswith("● backup ran\n  It started at 08:16 and succeeded")
    assert _why("--at", "8:15:20").startswith("● backup ran")
    assert _why("--at", "8:15:19").startswith("◌ backup isn't due then\n  That time is not on its schedule")
    assert _why("--at", "20m ago") == _why("--at", "8:15")
    assert _why("--at", "now") == _why("--at", "8:35")
    assert _why("--at", "today 8:14").startswith("◌ backup isn't due then")
    assert _why("--at", "tomorrow 8:15").startswith("● backup is planned")
    assert "did not exist then" in _why("--at", "yesterday 8:15")


@pytest.mark.usefixtures("at_8_35")
def test_json_has_all_of_the_answer(home: Path) -> None:
    _past(home, Every("15m"))
    data = json.loads(_why("--at", "2025-01-06 08:20", "--json"))
    assert (data["verdict"], data["at"], data["name"]) == ("not_a_point", at("8:20"), "backup")
    assert (data["point_before"], data["point_after"]) == (at("8:15"), at("8:30"))
    assert data["next_run_at"] == at("8:45")
    ran = json.loads(_why("--at", "8:30", "--json"))
    assert (ran["verdict"], bool(ran["run_id"]), len(ran["sentences"])) == ("ran", True, 1)


@pytest.mark.usefixtures("at_8_35")
@pytest.mark.parametrize(
    ("outcome", "head"),
    [
        (Outcome.FAILURE, "■ backup ran and failed\n"),
        (Outcome.CANCELLED, "◌ backup ran and was cancelled\n"),
        (Outcome.SUCCESS, "● backup ran\n"),
    ],
)
def test_a_run_that_did_not_succeed_has_the_sign_of_its_end(home: Path, outcome: Outcome, head: str) -> None:
    morning = Morning(home / "halo.db")
    morning.add(Every("15m"))
    run = morning.begin("8:15")
    assert _why("--at", "8:15").startswith("▸ backup ran and is still running\n")
    morning.finish(run, outcome)
    morning.close()
    assert _why("--at", "8:15").startswith(head)
    assert json.loads(_why("--at", "8:15", "--json"))["outcome"] == outcome


def test_every_verdict_has_its_sign_and_words() -> None:
    assert set(_VERDICTS) == set(Verdict)


@pytest.mark.usefixtures("at_8_35")
def test_invalid_times_are_refused(home: Path) -> None:
    _past(home, Manual())
    assert isinstance(_halo("why", "backup", "--at", "soon").exception, ScheduleError)


@pytest.mark.usefixtures("at_8_35")
def test_conditions_are_checked_only_without_a_given_time(home: Path) -> None:
    _past(home, Every("15m"), policy=Policy(conditions=(PathExists(path="/nowhere"),)))
    look = "  When /nowhere exists: not now. /nowhere does not exist.\n"
    assert look in _why()
    assert look not in _why("--at", "8:15")


def test_the_command_leaves_with_the_code_for_no_such_job(home: Path) -> None:
    with Scheduler.open(home / "halo.db") as scheduler:
        scheduler.add_job("backup", Every("15m"))
    command = [sys.executable, "-m", "halo_scheduler", "why", "bakcup"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == "halo: there is no job 'bakcup'; did you mean 'backup'?\n"
