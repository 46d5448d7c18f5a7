"""A retry that is overtaken or kept: what follows a failure runs once all the same."""

from __future__ import annotations

from dataclasses import replace

import pytest
from machine import Bench

from halo_scheduler import Cron, Every, Manual, Outcome, Policy, Retry, Run
from halo_scheduler.engine import slots
from halo_scheduler.grammar.zone import machine_zone
from halo_scheduler.model import Follower, FollowOn, PathExists, Schedule, SkipReason, StatusReason
from halo_scheduler.transfer.drafts import Draft, Drafts, NamedFollower

_MINUTE, _HOUR = 60_000, 3_600_000
_DISK = PathExists(path="/mnt/backup")
_RETRIED = Policy(retry=Retry(attempts=2, delay_ms=10 * _MINUTE))


def _fail_once(bench: Bench, schedule: Schedule) -> None:
    bench.scheduler.add_job("alarm", Manual(), job_id="alarm")
    followers = [Follower(job_id="alarm", on=FollowOn.FAILURE)]
    bench.scheduler.add_job("backup", schedule, policy=_RETRIED, followers=followers, job_id="backup")
    bench.tick()
    (run,) = bench.tick(_HOUR)
    bench.finish(run, Outcome.FAILURE)
    assert _alarms(bench) == []


def _alarms(bench: Bench) -> list[Run]:
    return [run for run in bench.started if run.job_id == "alarm"]


def test_a_retry_overtaken_by_a_newer_slot_without_an_engine_ends_its_slot(bench: Bench) -> None:
    _fail_once(bench, Every("1h"))
    bench.crash()
    bench.tick(5 * _HOUR)
    assert len(_alarms(bench)) == 1


def test_a_retry_is_kept_when_the_zone_changes(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    machine_zone.cache_clear()
    _fail_once(bench, Cron("0 * * * *"))
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    machine_zone.cache_clear()
    bench.tick(_MINUTE)
    (again,) = bench.tick(10 * _MINUTE)
    monkeypatch.undo()
    machine_zone.cache_clear()
    assert (again.job_id, again.attempt) == ("backup", 2)


def test_a_retry_that_an_import_takes_away_was_the_end(bench: Bench) -> None:
    _fail_once(bench, Every("1h"))
    job = bench.scheduler.get_job("backup")
    assert job is not None
    draft = Draft(
        spec=replace(job.spec, schedule=Every("3h"), followers=()),
        followers=(NamedFollower(name="alarm", on=FollowOn.FAILURE),),
        job_id="backup",
    )
    bench.scheduler.imports.apply(bench.scheduler.imports.plan(Drafts(jobs=(draft,))))
    bench.tick()
    assert len(_alarms(bench)) == 1


def test_a_retry_that_never_began_its_work_leaves_the_attempt_before_as_the_end(bench: Bench) -> None:
    _fail_once(bench, Every("1h"))
    (again,) = bench.tick(10 * _MINUTE)
    bench.end(again, Outcome.SKIPPED, reason=SkipReason.NO_WORK)
    (alarm,) = _alarms(bench)
    failed, skipped = bench.scheduler.get_run_log("backup")[::-1]
    assert (skipped.id, alarm.caused_by) == (again.id, failed.id)


def test_a_retry_that_a_fault_takes_away_leaves_the_attempt_before_as_the_end(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fail_once(bench, Every("1h"))

    def stumble(_record: object) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr(slots, "passed_over", stumble)
    bench.tick(10 * _MINUTE)
    job = bench.scheduler.get_job("backup")
    assert job is not None
    assert job.status_reason is StatusReason.ERRORS
    assert len(_alarms(bench)) == 1


def test_a_chain_run_that_waited_long_says_for_what(bench: Bench) -> None:
    report = bench.scheduler.add_job("report", Manual(), policy=Policy(conditions=(_DISK,)))
    followers = [Follower(job_id=report, on=FollowOn.SUCCESS)]
    backup = bench.scheduler.add_job("backup", Manual(), followers=followers)
    bench.scheduler.trigger(backup)
    (run,) = bench.tick()
    bench.finish(run)
    bench.tick(5 * _MINUTE)
    bench.surroundings.truths[_DISK] = True
    (late,) = bench.tick(_MINUTE)
    assert (late.late_ms, bench.recorded(late.id).note) == (6 * _MINUTE, "waited for /mnt/backup to exist")
