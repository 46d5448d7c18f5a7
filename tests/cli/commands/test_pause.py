"""`halo pause` and `resume`, one job or many."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from halo_scheduler import After, Every, JobNotFoundError, Manual, ScheduleError
from halo_scheduler.cli import halo
from halo_scheduler.clock import SystemClock
from halo_scheduler.model import Job, JobStatus, StatusReason
from halo_scheduler.service.scheduler import Scheduler

_HOUR_MS = 3_600_000


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with Scheduler.open() as scheduler:
        for name in ("backup", "report"):
            scheduler.add_job(name, Every("15m"))
    return tmp_path


def _halo(*arguments: str) -> Result:
    return CliRunner().invoke(halo, arguments)


def _jobs() -> dict[str, Job]:
    with Scheduler.open() as scheduler:
        return {job.name: job for job in scheduler.list_jobs()}


def test_named_jobs_are_paused_until_they_are_resumed() -> None:
    assert _halo("pause", "backup", "report", "backup").output == "paused backup\npaused report\n"
    assert {(job.status, job.paused_until) for job in _jobs().values()} == {(JobStatus.PAUSED, None)}
    lines = _halo("resume", "backup", "report").output.splitlines()
    assert [line.partition(";")[0] for line in lines] == ["resumed backup", "resumed report"]
    assert {job.status for job in _jobs().values()} == {JobStatus.IDLE}


@pytest.mark.parametrize(
    ("options", "ahead_ms"), [(("--for", "2h"), 2 * _HOUR_MS), (("--until", "in 3h"), 3 * _HOUR_MS)]
)
def test_a_pause_may_have_an_end(options: tuple[str, str], ahead_ms: int) -> None:
    before = SystemClock().now_ms()
    assert _halo("pause", "backup", *options).output.startswith("paused backup until ")
    until = _jobs()["backup"].paused_until
    assert until is not None
    assert before + ahead_ms <= until <= SystemClock().now_ms() + ahead_ms


def test_all_jobs_are_paused_and_resumed_at_once() -> None:
    assert _halo("pause", "--all").output == "paused 2 jobs\n"
    assert _halo("pause", "--all").output == "no jobs to pause\n"
    assert _halo("resume", "--all").output == "resumed 2 jobs\n"
    assert _halo("resume", "--all").output == "no jobs to resume\n"


def test_what_needs_a_look_stays_paused_and_is_named() -> None:
    with Scheduler.open() as scheduler:
        scheduler.add_job("from a file", Every("1h"), paused_by=StatusReason.IMPORTED)
        scheduler.add_job("made", After("1h"), paused_by=StatusReason.ASSISTANT)
    assert "from a file is already paused: paused after import" in _halo("pause", "from a file").output
    done = _halo("resume", "--all")
    assert "still paused, review and resume by name: from a file and made" in done.stderr
    done = _halo("resume", "--imported")
    assert done.stdout == "resumed 1 job\n"
    assert {name for name, job in _jobs().items() if job.status is JobStatus.PAUSED} == {"made"}
    # Somebody who names it is asked on a terminal, and taken at their word in a script.
    assert _halo("resume", "made").output.startswith("resumed made; ")


def test_one_wrong_name_leaves_all_as_they_are() -> None:
    for command in ("pause", "resume", "remove"):
        done = _halo(command, "backup", "reprot")
        assert isinstance(done.exception, JobNotFoundError)
        assert str(done.exception) == "there is no job 'reprot'; did you mean 'report'?"
    assert {job.status for job in _jobs().values()} == {JobStatus.IDLE}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("pause",), "give either names of jobs or --all"),
        (("pause", "backup", "--all"), "give either names of jobs or --all"),
        (("resume",), "give either names of jobs, --all or --imported"),
        (("resume", "backup", "--imported"), "give either names of jobs, --all or --imported"),
        (("pause", "backup", "--for", "1h", "--until", "in 1h"), "give either --for or --until"),
    ],
)
def test_wrong_use_is_refused(arguments: tuple[str, ...], sentence: str) -> None:
    done = _halo(*arguments)
    assert done.exit_code == 2
    assert sentence in done.output


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--for", "soon"), "--for: cannot read the interval 'soon'"),
        (("--until", "2020-01-01"), "--until: this time is in the past"),
        (("--until", "some day"), "cannot read the time 'some day'"),
    ],
)
def test_an_end_that_makes_no_sense_is_refused(options: tuple[str, str], sentence: str) -> None:
    error = _halo("pause", "backup", *options).exception
    assert isinstance(error, ScheduleError)
    assert sentence in str(error)
    assert _jobs()["backup"].status is JobStatus.IDLE


def test_a_disabled_job_can_be_paused_as_well() -> None:
    with Scheduler.open() as scheduler:
        scheduler.add_job("off", Manual(), enabled=False)
    assert _halo("pause", "off").output == "paused off; the job is also disabled\n"
