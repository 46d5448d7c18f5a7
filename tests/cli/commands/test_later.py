"""`halo run --at`: a manual run for later, in `next`, `status`, `why` and `cancel`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from halo_scheduler import Manual
from halo_scheduler.cli import halo
from halo_scheduler.service.scheduler import Scheduler


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with Scheduler.open() as scheduler:
        scheduler.add_job("backup", Manual())
        scheduler.add_job("hourly", Manual())
    return tmp_path


def _halo(*arguments: str) -> Result:
    return CliRunner().invoke(halo, arguments)


def test_a_run_is_planned_shown_and_cancelled() -> None:
    done = _halo("run", "backup", "--at", "in 2h")
    assert done.exit_code == 0
    assert done.stdout.startswith("backup will run ")
    assert "Halo isn't running" in done.stderr

    assert _halo("next").stdout.splitlines()[1].endswith("backup  manual run")
    (data,) = json.loads(_halo("next", "--json").stdout)
    assert (data["name"], data["trigger"], data["is_planned"]) == ("backup", "manual", True)
    assert "next: backup, " in _halo("status").stdout
    assert "A manual run is planned for" in _halo("why", "backup").stdout
    assert " · manual run" in _halo("list").stdout
    assert _halo("next", "hourly").stdout == "no upcoming runs\n"

    assert _halo("cancel", "backup").stdout == "cancelled 1 planned run of backup\n"
    assert _halo("next").stdout == "no upcoming runs\n"


def test_the_id_of_a_planned_run_is_printed_as_json() -> None:
    run_id = json.loads(_halo("run", "backup", "--at", "in 2h", "--json").stdout)["run_id"]
    with Scheduler.open() as scheduler:
        assert [run.run_id for run in scheduler.runs.later()] == [run_id]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--at", "in 2h", "--wait"], "give either --wait or --at"),
        (["--at", "soon"], "--at: "),
        (["--at", "2020-01-01 10:00"], "--at: this time is in the past"),
    ],
)
def test_wrong_use_is_refused(arguments: list[str], sentence: str) -> None:
    done = _halo("run", "backup", *arguments)
    assert done.exit_code != 0
    assert sentence in f"{done.output}{done.exception}"
