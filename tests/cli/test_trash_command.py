"""`halo trash`, and `halo duplicate`: jobs that come back, and jobs that come twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from machine import START

from halo_scheduler import Command, Every, JobNotFoundError, Manual, Once, ScheduleError
from halo_scheduler.cli import halo
from halo_scheduler.clock import ManualClock
from halo_scheduler.model import Follower, Job, JobStatus, StatusReason
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.store.jobs import TRASH_MS


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


def _halo(*arguments: str) -> Result:
    return CliRunner().invoke(halo, arguments)


def _add(name: str, *, removed: bool = False) -> str:
    with Scheduler.open() as scheduler:
        job_id = scheduler.add_job(name, Every("15m"), Command(argv=("true",)))
        if removed:
            scheduler.remove_job(job_id)
    return job_id


def _jobs() -> dict[str, Job]:
    with Scheduler.open() as scheduler:
        return {job.name: job for job in scheduler.list_jobs()}


def test_the_trash_lists_removed_jobs_and_how_long_they_are_kept() -> None:
    assert _halo("trash").output == "the trash is empty\n"
    job_id = _add("backup", removed=True)
    heading, line = _halo("trash").output.splitlines()
    assert _halo("trash", "list").output == _halo("trash").output
    assert _halo("trash", "list", "--json").output == _halo("trash", "--json").output
    assert heading.split() == ["NAME", "SCHEDULE", "REMOVED", "KEPT", "UNTIL", "ID"]
    assert line.startswith("backup  every 15 minutes")
    assert line.endswith(job_id[:8])
    (data,) = json.loads(_halo("trash", "--json").output)
    assert (data["id"], data["name"], data["kept_until"] - data["removed_at"]) == (job_id, "backup", TRASH_MS)


def test_a_job_is_restored_by_name_or_id_prefix() -> None:
    first, second = _add("backup", removed=True), _add("backup", removed=True)
    assert _halo("trash", "restore", first[:8]).output.startswith("restored backup; next: ")
    assert _jobs()["backup"].id == first
    error = _halo("trash", "restore", "backup").exception
    assert isinstance(error, ScheduleError)
    assert "there is now another job named 'backup'; rename it first" in str(error)
    with Scheduler.open() as scheduler:
        scheduler.update_job(first, name="older")
    _halo("trash", "restore", "backup")
    assert _jobs()["backup"].id == second


def test_a_job_that_is_not_in_the_trash_cannot_be_restored() -> None:
    _add("backup")
    _add("report", removed=True)
    for wanted, sentence in (
        ("backup", "there is no job 'backup' in the trash"),
        ("reprot", "there is no job 'reprot' in the trash; did you mean 'report'?"),
    ):
        error = _halo("trash", "restore", wanted).exception
        assert isinstance(error, JobNotFoundError)
        assert str(error) == sentence
    assert "put --json after the command" in _halo("trash", "--json", "restore", "report").output


def test_a_copy_has_everything_and_does_nothing_until_it_is_resumed() -> None:
    with Scheduler.open() as scheduler:
        follower = scheduler.add_job("report", Manual())
        job_id = scheduler.add_job(
            "backup",
            Every("15m"),
            Command(argv=("true",)),
            description="of everything",
            group="night",
            followers=[Follower(job_id=follower)],
        )
    done = _halo("duplicate", "backup")
    assert done.output == "copied backup to backup (copy)\n  enable it with: halo resume 'backup (copy)'\n"
    jobs = _jobs()
    copy, original = jobs["backup (copy)"], jobs["backup"]
    assert copy.id != job_id
    assert (copy.status, copy.next_run_at) == (JobStatus.DISABLED, None)
    assert copy.spec.to_dict() == {**original.spec.to_dict(), "name": "backup (copy)", "enabled": False}
    _halo("resume", "backup (copy)")
    assert _jobs()["backup (copy)"].next_run_at == original.next_run_at


def test_a_copy_may_have_a_name_and_run_at_once() -> None:
    _add("backup")
    lines = _halo("duplicate", "backup", "second", "--enable").output.splitlines()
    assert lines[0] == "copied backup to second"
    assert lines[1].startswith("  next: in ")
    assert _jobs()["second"].status is JobStatus.IDLE
    error = _halo("duplicate", "backup", "second").exception
    assert "there is already a job named 'second'; choose another name" in str(error)


@pytest.mark.parametrize("reason", [StatusReason.ASSISTANT, StatusReason.IMPORTED])
def test_a_copy_of_a_job_under_review_needs_a_review_too(reason: StatusReason) -> None:
    with Scheduler.open() as scheduler:
        scheduler.add_job("made", Every("1h"), paused_by=reason)
    assert "enable it with: halo resume" in _halo("duplicate", "made", "again", "--enable").output
    again = _jobs()["again"]
    assert (again.status, again.status_reason) == (JobStatus.PAUSED, reason)


def test_a_copy_of_a_finished_one_time_job_is_refused() -> None:
    long_ago = ManualClock(START)
    with Scheduler.open(clock=long_ago) as scheduler:
        scheduler.add_job("party", Once(START + 1_000))
    error = _halo("duplicate", "party").exception
    assert isinstance(error, ScheduleError)
    assert "this time is in the past" in str(error)
    assert list(_jobs()) == ["party"]
