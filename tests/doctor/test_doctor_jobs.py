"""Looking at jobs: whether they can be read, start what is there, and lead to jobs that can run."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from checkup import everything_in, found_by, is_fine, only

from halo_scheduler import Calendar, Command, Entry, Every, Manual, Policy, Prompt
from halo_scheduler.conditions.probes import ConditionState
from halo_scheduler.doctor import jobs
from halo_scheduler.doctor import jobs as doctor_jobs
from halo_scheduler.doctor.jobs import check_jobs, check_programs
from halo_scheduler.doctor.scene import Finding, Mark
from halo_scheduler.model import Action, Condition, Follower, Load, Network
from halo_scheduler.model.actions import FolderSource
from halo_scheduler.model.settings import Agent
from halo_scheduler.service.scheduler import Scheduler


@pytest.fixture
def scheduler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scheduler]:
    monkeypatch.setenv("HOME", str(tmp_path))
    with Scheduler.open(tmp_path / "halo.db") as scheduler:
        yield scheduler


def _marks(findings: list[Finding]) -> list[Mark]:
    return [finding.mark for finding in findings]


# --- Programs --------------------------------------------------------------------------------------------


def test_jobs_whose_programs_exist_are_fine(scheduler: Scheduler, tmp_path: Path) -> None:
    (tmp_path / "items").mkdir()
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o700)
    scheduler.settings.change(agents=(Agent(name="mine", argv=("cat",)),), default_agent="mine")
    actions: dict[str, Action] = {
        "argv": Command(argv=("true",), environment={"T": "${secret:TOKEN}"}),
        "line": Command(line="exit 1", shell="/bin/sh"),  # noqa: S604 - not subprocess
        "own": Command(argv=("./script",), directory=str(tmp_path)),
        "prompt": Prompt(text="x", work_source=FolderSource(path="~/items")),
    }
    for name, action in actions.items():
        scheduler.add_job(name, Every("1h"), action)
    assert is_fine(found_by(check_programs, scheduler.path))


@pytest.mark.parametrize(
    ("action", "why"),
    [
        (Command(argv=("no-such-program",)), "there is no program 'no-such-program' on the PATH"),
        (Command(argv=("true",), directory="/no/such/place"), "the working directory '/no/such/place'"),
        (Prompt(text="x", agent="nobody"), "there is no agent named 'nobody' in the settings"),
        (Prompt(text="x", agent="claude"), "there is no program 'no-such-agent'"),
        (Command(argv=("true",), work_source=FolderSource(path="/no/such/place")), "the folder of its items"),
    ],
    ids=["program", "directory", "agent", "agent's program", "items"],
)
def test_the_missing_program_of_each_job_is_named(
    scheduler: Scheduler, action: Command | Prompt, why: str
) -> None:
    missing = Agent(name="claude", argv=("no-such-agent", "-p"))
    scheduler.settings.change(agents=(missing, Agent(name="nobody", argv=("cat",))))
    scheduler.add_job("my job", Every("1h"), action)
    scheduler.settings.change(agents=(missing,))
    finding = only(found_by(check_programs, scheduler.path))
    assert finding.mark is Mark.WRONG
    assert finding.what.startswith(f"my job cannot start: {why}")
    assert finding.advice == "Check it with: halo show 'my job'"


def test_a_paused_job_is_a_warning_and_a_disabled_one_is_not_checked(scheduler: Scheduler) -> None:
    job_id = scheduler.add_job("paused", Every("1h"), Command(argv=("no-such-program",)))
    scheduler.pause_job(job_id)
    scheduler.add_job("off", Every("1h"), Command(argv=("no-such-program",)), enabled=False)
    assert only(found_by(check_programs, scheduler.path)).mark is Mark.LOOK


def test_of_many_faults_a_few_are_reported_and_the_others_counted(scheduler: Scheduler) -> None:
    scheduler.add_jobs(
        [
            {"name": f"job {index:02}", "schedule": Manual(), "action": Command(argv=("no-such-program",))}
            for index in range(25)
        ]
    )
    findings = found_by(check_programs, scheduler.path)
    assert len(findings) == 11
    assert (findings[-1].mark, findings[-1].what) == (Mark.WRONG, "And 15 more like these.")


def test_a_drive_that_does_not_answer_is_not_waited_for(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = threading.Event()
    monkeypatch.setattr(jobs, "_LIMIT_S", 0.02)
    monkeypatch.setattr(jobs, "_require_all", lambda *_: over.wait())
    for index in range(5):
        scheduler.add_job(f"job {index}", Every("1h"), Command(argv=("true",)))
    findings = found_by(check_programs, scheduler.path)
    over.set()
    assert _marks(findings) == [Mark.WRONG] * 3 + [Mark.LOOK]
    assert "doesn't respond" in findings[0].what
    assert findings[-1].what == "The programs of further jobs weren't checked."


def test_a_login_shell_without_output_is_reported(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheduler.add_job("job", Every("1h"), Command(argv=("true",)))
    monkeypatch.setenv("SHELL", "/bin/false")
    assert "login shell" in only(found_by(check_programs, scheduler.path)).what


# --- What is stored --------------------------------------------------------------------------------------


def test_a_job_that_cannot_be_read_is_named_and_not_changed(scheduler: Scheduler, tmp_path: Path) -> None:
    good, bad, gone = (scheduler.add_job(name, Every("1h")) for name in ("good", "bad", "gone"))
    scheduler.remove_job(gone)
    schedule = json.dumps({"kind": "cron", "cron": "0 9 * * *", "timezone": "Mars/Olympus"})
    database = scheduler._store.database
    database.rows("UPDATE scheduler_jobs SET schedule = ? WHERE id IN (?, ?)", [schedule, bad, gone])
    scheduler.close()
    before = everything_in(tmp_path)
    finding = only(found_by(check_jobs, scheduler.path))
    assert everything_in(tmp_path) == before
    assert finding.mark is Mark.WRONG
    assert "The job bad cannot be read" in finding.what
    assert "Mars/Olympus" in finding.what
    assert good


def test_a_condition_that_cannot_be_detected_is_reported_once(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Condition] = []

    def check(condition: Condition) -> ConditionState:
        asked.append(condition)
        return ConditionState(is_observable=False, holds=None, sentence="Nothing here tells that.")

    load, host = Load(below=2.0), Network(host="nas.local", port=22)
    for name in ("a", "b"):
        scheduler.add_job(name, Every("1h"), policy=Policy(conditions=(load, host)))
    scheduler.add_job("off", Every("1h"), policy=Policy(conditions=(Load(below=3.0),)), enabled=False)
    monkeypatch.setattr(doctor_jobs, "check_condition", check)
    finding = only(found_by(check_jobs, scheduler.path))
    assert asked == [load]
    assert finding.mark is Mark.LOOK
    assert finding.what.startswith("a and b start only ")
    assert finding.what.endswith(": Nothing here tells that.")


def test_a_chain_that_leads_nowhere_is_reported(scheduler: Scheduler) -> None:
    removed, disabled, paused = (scheduler.add_job(name, Manual()) for name in ("gone", "off", "still"))
    followers = tuple(Follower(job_id=job_id) for job_id in (removed, disabled, paused))
    scheduler.add_job("first", Every("1h"), followers=followers)
    assert is_fine(found_by(check_jobs, scheduler.path))
    scheduler.remove_job(removed)
    scheduler.update_job(disabled, enabled=False)
    scheduler.pause_job(paused)
    findings = found_by(check_jobs, scheduler.path)
    assert [(finding.mark, finding.what) for finding in findings] == [
        (Mark.WRONG, "The next job of first, gone, was removed."),
        (Mark.LOOK, "The next job of first, off, is disabled."),
    ]
    scheduler._store.jobs.purge(1 << 60)
    assert "does not exist" in found_by(check_jobs, scheduler.path)[0].what


def test_days_that_could_not_be_read_again_are_a_warning(scheduler: Scheduler, tmp_path: Path) -> None:
    file = tmp_path / "days.ics"
    file.write_text("BEGIN:VCALENDAR\nEND:VCALENDAR\n")
    scheduler.add_job("tea", [Entry(Every("1h"), calendar=Calendar(excluded=(f"ics {file}",)))])
    assert is_fine(found_by(check_jobs, scheduler.path))
    scheduler._store.day_sources.save_trouble(f"ics {file}", "it is gone")
    found = only(found_by(check_jobs, scheduler.path))
    assert found.mark is Mark.LOOK
    assert found.what.startswith(f'The days in "{file}" were last read')
    assert found.what.endswith(": it is gone.")
