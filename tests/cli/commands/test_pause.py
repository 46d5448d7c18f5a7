"""`halo pause` and `resume`, one job or many."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from machine import Bench

from halo_scheduler import After, Every, JobNotFoundError, Manual, Once, ScheduleError
from halo_scheduler.cli import halo
from halo_scheduler.clock import ManualClock, SystemClock
from halo_scheduler.model import Job, JobStatus, StatusReason
from halo_scheduler.service.lookup import find_job_to_run
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


def test_jobs_that_need_a_review_stay_paused_and_are_named() -> None:
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


def test_a_job_whose_only_time_has_passed_says_how_to_set_a_new_one() -> None:
    clock = ManualClock(SystemClock().now_ms() - _HOUR_MS)
    with Scheduler.open(clock=clock) as scheduler:
        scheduler.add_job("call home", Once(clock.now_ms() + 1_000), paused_by=StatusReason.IMPORTED)
    done = _halo("resume", "call home")
    assert done.exit_code == 1
    assert (
        "the only time of call home is in the past; set a new one with: halo edit 'call home' --once WHEN"
        in done.stderr
    )


def test_one_wrong_name_leaves_all_as_they_are() -> None:
    for command in ("pause", "resume", "remove"):
        done = _halo(command, "backup", "reprot")
        assert isinstance(done.exception, JobNotFoundError)
        assert str(done.exception) == "there is no job 'reprot'; did you mean 'report'?"
    assert {job.status for job in _jobs().values()} == {JobStatus.IDLE}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("pause",), "give either names of jobs, --group or --all"),
        (("pause", "backup", "--all"), "give either names of jobs, --group or --all"),
        (("resume",), "give either names of jobs, --group, --all or --imported"),
        (("resume", "backup", "--imported"), "give either names of jobs, --group, --all or --imported"),
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


@pytest.fixture
def group() -> None:
    with Scheduler.open() as scheduler:
        for name in ("night/second", "night/first"):
            scheduler.add_job(name, Every("15m"), group="night")


@pytest.mark.usefixtures("group")
def test_a_group_is_paused_and_resumed_as_one() -> None:
    assert sorted(_halo("pause", "--group", "night").output.splitlines()) == [
        "paused night/first",
        "paused night/second",
    ]
    assert _jobs()["backup"].status is JobStatus.IDLE
    assert _halo("resume", "--group", "night").output == "resumed 2 jobs\n"
    assert {job.status for job in _jobs().values()} == {JobStatus.IDLE}
    assert str(_halo("pause", "--group", "nigth").exception) == (
        "no jobs in the group 'nigth'; did you mean 'night'?"
    )
    assert "give either" in _halo("resume", "--group", "night", "--all").output


@pytest.mark.usefixtures("group")
def test_a_group_paused_while_its_jobs_run_is_resumed(home: Path) -> None:
    bench = Bench(home / "halo.db", now_ms=SystemClock().now_ms())
    for job in bench.scheduler.list_jobs(group="night"):
        bench.scheduler.trigger(job.id)
    bench.tick()
    _halo("pause", "--group", "night")
    assert [job.is_paused for job in bench.scheduler.list_jobs(group="night")] == [True, True]
    assert _halo("resume", "--group", "night").output == "resumed 2 jobs\n"
    assert [job.is_paused for job in bench.scheduler.list_jobs(group="night")] == [False, False]
    bench.close()


@pytest.mark.usefixtures("group")
def test_resuming_a_group_skips_jobs_that_need_a_review() -> None:
    crontab = "0 1 * * * x\n"
    assert CliRunner().invoke(halo, ["import", "-", "--yes"], input=crontab).exit_code == 0
    assert _halo("edit", "x", "--group", "night").exit_code == 0
    with Scheduler.open() as scheduler:
        scheduler.add_job("made", Every("15m"), group="night", paused_by=StatusReason.ASSISTANT)
    done = _halo("resume", "--group", "night")
    assert done.stdout == "resumed 1 job\n"
    assert done.stderr == "▲ still paused, review and resume by name: made\n"
    assert _jobs()["x"].status is JobStatus.IDLE


@pytest.mark.usefixtures("group")
def test_the_status_of_a_group_shows_its_limit_and_each_of_its_jobs() -> None:
    _halo("group", "night", "--max-concurrent", "1")
    heading, columns, *rows = _halo("status", "night").output.splitlines()
    assert heading == "night: 0 running, limit 1"
    assert columns.split() == ["NAME", "NEXT", "LAST", "RUN", "ERRORS"]
    assert sorted(row.split()[1] for row in rows) == ["night/first", "night/second"]
    data = json.loads(_halo("status", "night", "--json").output)
    assert (data["max_concurrent"], len(data["jobs"]), data["jobs"][0]["errors"]) == (1, 2, 0)
    assert "no jobs in the group" in str(_halo("status", "day").exception)


@pytest.mark.usefixtures("group")
def test_running_a_group_means_its_first_job() -> None:
    with Scheduler.open() as scheduler:
        assert find_job_to_run(scheduler, "night").name == "night/second"
        assert find_job_to_run(scheduler, "backup").name == "backup"
        with pytest.raises(JobNotFoundError):
            find_job_to_run(scheduler, "day")
    assert "Halo isn't running" in str(_halo("run", "night").exception)


def test_the_next_run_is_skipped_and_shown_as_such() -> None:
    _halo("add", "backup", "--cron", "0 0 * * *", "--", "true")
    done = _halo("skip", "backup")
    assert re.fullmatch(r"backup; next: .+ · skipped, then .+\n", done.output)
    assert "will be skipped" in _halo("next").output
    assert json.loads(_halo("next", "--json").output)[0]["hold"] == "user"
    assert json.loads(_halo("show", "backup", "--json").output)["skips_next"]
    assert "skipped" not in _halo("skip", "backup", "--undo").output
    assert "the next run of backup isn't skipped" in str(_halo("skip", "backup", "--undo").exception)
