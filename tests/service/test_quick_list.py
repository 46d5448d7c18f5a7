"""The overview that a list is made from: it says of each job what the job itself says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from asking import ask
from chain_waits import MAINS, NETWORK, let_chain_wait
from machine import START

from halo_scheduler import After, Command, Cron, Every, HttpRequest, Manual, Once, Outcome, Prompt
from halo_scheduler.clock import ManualClock
from halo_scheduler.errors import StoreError, StoreTooNewError
from halo_scheduler.model import Backoff, Caps, Follower, JobStatus, Network, Policy, StatusReason
from halo_scheduler.model.actions import FolderSource
from halo_scheduler.service.quick_list import JobLine, Overview
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.store.secrets import SecretPlace

_SHARED = set(JobLine._fields) - {"waits_until", "resumed_since_run"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "halo.db"


def _open(path: Path) -> Scheduler:
    return Scheduler.open(path, clock=ManualClock(START))


def test_a_line_has_the_same_values_as_its_job(path: Path) -> None:
    with _open(path) as scheduler:
        scheduler.on_job_due(lambda _job, _run: Outcome.FAILURE)
        follower = scheduler.add_job("follower", Manual(), description="later", group="night")
        scheduler.add_job("active", Every("15m"), followers=[Follower(job_id=follower)])
        scheduler.add_job("off", Cron("0 9 * * *", timezone="UTC"), Command(argv=("true",)), enabled=False)
        scheduler.add_job("made", Every("1h"), paused_by=StatusReason.ASSISTANT)
        scheduler.pause_job(scheduler.add_job("paused", Every("1h")), until=START + 1_000)
        scheduler.trigger(scheduler.add_job("failed", Manual()))
        scheduler.tick()
        jobs = scheduler.list_jobs()
    with Overview.open(START, path) as overview:
        lines = [line for line, _ in overview.list_jobs()]
    assert [{name: getattr(line, name) for name in _SHARED} for line in lines] == [
        {name: getattr(job, name) for name in _SHARED} for job in jobs
    ]
    assert {line.status for line in lines} == {JobStatus.IDLE, JobStatus.DISABLED, JobStatus.PAUSED}
    assert [line.last_outcome for line in lines if line.name == "failed"] == [Outcome.FAILURE]


def test_the_json_form_is_that_of_the_job(path: Path) -> None:
    folder = FolderSource(path="/srv/inbox")
    policy = Policy(conditions=(Network(),), caps=Caps(runs_per_day=3), backoff=Backoff.double())
    with _open(path) as scheduler:
        scheduler.on_job_due(lambda _job, _run: Outcome.FAILURE)
        follower = scheduler.add_job("follower", Manual(), Prompt(text="{{work.id}}", work_source=folder))
        scheduler.add_job("active", Every("15m"), followers=[Follower(job_id=follower)], policy=policy)
        scheduler.add_job("off", Cron("0 9 * * *", timezone="UTC"), Command(argv=("true",)), enabled=False)
        scheduler.add_job(
            "web", After("1h"), HttpRequest(url="https://example.org"), metadata={"b": "1", "a": ""}
        )
        scheduler.add_job("made", Once(START + 60_000), paused_by=StatusReason.ASSISTANT)
        scheduler.pause_job(scheduler.add_job("paused", Every("1h"), group="night"), until=START + 1_000)
        scheduler.trigger(scheduler.add_job("failed", Manual()))
        hinted = scheduler.add_job("hinted", Every("1h"))
        scheduler.propose_interval(hinted, "5m", ttl="1h", reason="busy")
        scheduler.tick()
        jobs = scheduler.list_jobs()
    with Overview.open(START, path) as overview:
        found = overview.list_data()
    assert [data for data, _ in found] == [job.to_dict() for job in jobs]
    assert [[*data] for data, _ in found] == [[*job.to_dict()] for job in jobs]
    assert [situation.name for _, situation in found] == [job.name for job in jobs]


def test_the_json_form_has_the_fields_that_an_older_version_did_not_store(path: Path) -> None:
    with _open(path) as scheduler:
        scheduler.add_job("old", Manual(), Command(argv=("true",)))
        scheduler.add_job("broken", Manual(), Command(argv=("true",)))
        scheduler._store.database.rows(
            "UPDATE scheduler_jobs SET action = json_remove(action, '$.stdin'), policy = CASE name WHEN 'broken' "
            "THEN '{\"jitter_percent\": 99}' ELSE json_remove(policy, '$.keep_awake', '$.caps.cost_per_day') END"
        )
    with _open(path) as scheduler:
        jobs = scheduler.list_jobs()
    with Overview.open(START, path) as overview:
        assert [data for data, _ in overview.list_data()] == [job.to_dict() for job in jobs]
    assert [job.name for job in jobs] == ["old"]


def test_a_search_finds_the_same_jobs_as_elsewhere(path: Path) -> None:
    with _open(path) as scheduler:
        scheduler.add_job("Backup", Manual(), group="night")
        scheduler.add_job("report", Manual(), description="of the BACKUP")
        scheduler.pause_job(scheduler.add_job("paused", Every("1h")))
        searches: list[dict[str, Any]] = [
            {"text": "backup"},
            {"group": "night"},
            {"status": JobStatus.PAUSED},
            {"text": "x"},
        ]
        for wanted in searches:
            with Overview.open(START, path) as overview:
                names = [line.name for line, _ in overview.list_jobs(**wanted)]
            assert names == [job.name for job in scheduler.list_jobs(**wanted)]


def test_questions_and_waiting_chain_runs_are_included(path: Path) -> None:
    with _open(path) as scheduler:
        first, then = (scheduler.add_job(name, Manual()) for name in ("first", "then"))
        ask(scheduler, first)
        let_chain_wait(scheduler, first, then, MAINS)
        let_chain_wait(scheduler, first, then, NETWORK)
        expected = scheduler.jobs.situations()
    with Overview.open(START, path) as overview:
        found = {line.id: situation for line, situation in overview.list_jobs()}
    assert found == expected
    assert (found[first].question, found[then].waiting) == (
        "Which branch shall I take?",
        MAINS._replace(since=START, cause_name="first"),
    )


def test_a_job_that_cannot_be_read_is_left_out_and_the_others_are_not(path: Path) -> None:
    with _open(path) as scheduler:
        scheduler.add_job("fine", Manual())
        broken = scheduler.add_job("broken", Manual())
        scheduler._store.database.rows(
            "UPDATE scheduler_jobs SET schedule = '{' WHERE id = ?",
            [broken],
        )
    with Overview.open(START, path) as overview:
        assert [line.name for line, _ in overview.list_jobs()] == ["fine"]


def test_opening_makes_a_database_and_opening_for_reading_does_not(path: Path) -> None:
    with pytest.raises(StoreError):
        Overview.open_for_reading(path)
    assert not path.exists()
    with Overview.open(START, path) as overview:
        assert overview.list_jobs() == []
    with Overview.open_for_reading(path) as overview:
        assert overview.names.jobs() == []


def test_a_newer_database_is_refused(path: Path) -> None:
    with _open(path) as scheduler:
        scheduler._store.database.run_script("PRAGMA user_version = 99")
    with pytest.raises(StoreTooNewError):
        Overview.open(START, path)


def test_names_are_those_of_the_stored_jobs(path: Path) -> None:
    with _open(path) as scheduler:
        scheduler.add_job("b", Manual(), group="night", description="about b")
        scheduler.add_job("a", Manual())
        gone = scheduler.add_job("gone", Manual(), group="past")
        scheduler.remove_job(gone)
        scheduler.set_group_limit("limited", 2)
        scheduler.secrets.set("TOKEN", "very secret", in_file=True)
        ask(scheduler, gone)
    with Overview.open_for_reading(path) as overview:
        names = overview.names
        assert names.jobs() == [("a", ""), ("b", "about b")]
        assert names.jobs(removed=True) == [("gone", "")]
        assert names.groups() == [("limited", ""), ("night", "")]
        assert names.secrets() == [("TOKEN", SecretPlace.FILE)]
        assert len(names.asking_runs()) == 1
        assert names.runs("gone", 10) == names.runs(gone, 10)
        assert overview.get_settings().agents
