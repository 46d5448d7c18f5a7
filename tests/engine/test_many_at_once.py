"""Many jobs that are due at once: their order, and what is looked at again while they wait."""

from __future__ import annotations

import pytest
from chain_waits import awaited
from machine import Bench

from halo_scheduler import Every, Manual, Outcome, Policy, Run
from halo_scheduler.model import Caps, Follower, FollowOn, PathExists, SkipReason, WaitingFor
from halo_scheduler.model.changes import Change
from halo_scheduler.model.settings import QuietTime

_MINUTE = 60_000
_HOUR = 60 * _MINUTE
_MANY = 40
_FEW = 5
_DISK = PathExists(path="/mnt/backup")
_ALL_DAY = QuietTime(name="Holidays", start="00:00", end="24:00")


class Readings(list[str]):
    """The jobs that were read from the store, by id."""


@pytest.fixture
def read(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Readings:
    """Note which jobs are read on a bench."""
    jobs = bench.scheduler._store.jobs
    real, found = jobs._read, Readings()

    def note(row: tuple[str, ...]) -> object:
        found.append(row[0])
        return real(row)

    monkeypatch.setattr(jobs, "_read", note)
    return found


def test_jobs_that_were_added_together_start_in_the_order_they_were_given(narrow: Bench) -> None:
    ids = narrow.scheduler.add_jobs([{"name": f"{n}", "schedule": Every("1h")} for n in range(30)])
    narrow.tick()

    narrow.tick(_HOUR)
    while narrow.open_runs:
        narrow.finish(narrow.started[-1])

    assert [run.job_id for run in narrow.started] == ids


# --- A group without a place -------------------------------------------------------------------------


def _crowd(bench: Bench, policy: Policy | None = None) -> tuple[list[str], Run]:
    """Let many jobs of a group with one place be due, and return them with the run of the first."""
    bench.scheduler.set_group_limit("disk", 1)
    ids = bench.scheduler.add_jobs(
        [{"name": f"{n}", "schedule": Every("1h"), "group": "disk", "policy": policy} for n in range(_MANY)]
    )
    bench.tick()
    (run,) = bench.tick(_HOUR)
    return ids, run


def test_jobs_at_the_limit_of_their_group_are_not_checked_again(bench: Bench, read: Readings) -> None:
    ids, _ = _crowd(bench)
    assert {bench.job(job_id).waiting_for for job_id in ids[1:]} == {WaitingFor.AT_CAPACITY}
    read.clear()

    assert bench.tick(_MINUTE) == []

    assert read == []


def test_a_run_that_ends_in_a_group_checks_only_a_few_of_its_jobs(bench: Bench, read: Readings) -> None:
    ids, run = _crowd(bench)
    read.clear()

    bench.finish(run)

    assert bench.started[-1].job_id == ids[1]
    assert len(read) < 15


def test_all_jobs_of_a_full_group_get_their_turn_in_order(bench: Bench) -> None:
    ids, run = _crowd(bench)

    while bench.open_runs:
        bench.finish(run)
        run = bench.started[-1]

    assert [run.job_id for run in bench.started] == ids


def test_others_start_beside_a_full_group_however_many_wait_in_it(bench: Bench) -> None:
    _crowd(bench)
    other = bench.scheduler.add_job("other", Every("30m"))

    (run,) = bench.tick(30 * _MINUTE)

    assert run.job_id == other


def test_a_full_group_in_quiet_hours_reports_the_quiet_hours(bench: Bench) -> None:
    ids, _ = _crowd(bench)

    bench.scheduler.settings.change(quiet_times=(QuietTime(start="00:00", end="24:00", group="disk"),))
    bench.tick(_MINUTE)

    assert {bench.job(job_id).waiting_for for job_id in ids[1:]} == {WaitingFor.QUIET_TIME}


def test_a_full_group_says_also_that_all_must_be_quiet(bench: Bench) -> None:
    ids, _ = _crowd(bench)

    bench.scheduler.settings.change(quiet_times=(_ALL_DAY,))
    bench.tick(_MINUTE)

    assert {bench.job(job_id).waiting_for for job_id in ids[1:]} == {WaitingFor.QUIET_TIME}


def test_conditions_are_checked_in_a_full_group_too(bench: Bench) -> None:
    bench.surroundings.truths[_DISK] = True
    ids, _ = _crowd(bench, policy=Policy(conditions=(_DISK,)))
    assert {bench.job(job_id).waiting_for for job_id in ids[1:]} == {WaitingFor.AT_CAPACITY}

    bench.surroundings.truths[_DISK] = False
    bench.tick(_MINUTE)

    assert {bench.job(job_id).waiting_for for job_id in ids[1:]} == {WaitingFor.CONDITION}


# --- Runs after another job --------------------------------------------------------------------------


def _pile_up(bench: Bench, *, policy: Policy | None = None) -> list[Run]:
    """Let some runs of a job wait for one of it that is under way; return the runs that caused them all."""
    bench.scheduler.add_job("report", Manual(), job_id="report", policy=policy)
    follower = Follower(job_id="report", on=FollowOn.ALWAYS)
    bench.scheduler.add_job("backup", Manual(), job_id="backup", followers=[follower])
    causes = []
    for _ in range(_FEW):
        bench.scheduler.trigger("backup")
        (cause,) = bench.tick(1)
        causes.append(cause)
        bench.finish(cause)
    assert len(_waiting(bench)) == _FEW - 1
    return causes


def _waiting(bench: Bench) -> list[str]:
    return [awaited(run) for run in bench.scheduler.runs.waiting_in_chains()]


def _reports(bench: Bench) -> list[Run]:
    return [run for run in bench.started if run.job_id == "report"]


def test_runs_queued_behind_a_job_are_not_checked_while_it_runs(bench: Bench) -> None:
    _pile_up(bench)

    found = bench.scheduler._store.requests.queued_in_turn(bench.clock.now_ms())

    assert found == []


def test_only_the_first_of_queued_runs_is_checked_when_its_turn_comes(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    causes = _pile_up(bench)
    requests = bench.scheduler._store.requests
    real, looked_at = requests.queued_in_turn, []

    def note(now_ms: int) -> object:
        looked_at.append([request.payload for request in real(now_ms)])
        return real(now_ms)

    monkeypatch.setattr(requests, "queued_in_turn", note)
    bench.finish(_reports(bench)[0])

    assert looked_at[0] == [causes[1].id]


def test_runs_that_piled_up_run_one_after_the_other_by_their_cause(bench: Bench) -> None:
    causes = _pile_up(bench)

    for number in range(_FEW):
        bench.finish(_reports(bench)[number])

    assert [run.caused_by for run in _reports(bench)] == [cause.id for cause in causes]
    assert _waiting(bench) == []


def test_queued_runs_all_show_their_current_reason_and_are_published_once(bench: Bench) -> None:
    _pile_up(bench)
    bench.scheduler.settings.change(quiet_times=(_ALL_DAY,))

    bench.finish(_reports(bench)[0])

    assert _waiting(bench) == (_FEW - 1) * ["quiet until 10 Jan 00:00"]
    told: list[Change] = []
    bench.scheduler.subscribe(told.append)
    bench.tick(_MINUTE)
    assert told == []


def test_runs_that_piled_up_are_all_skipped_when_nothing_may_run_any_more(bench: Bench) -> None:
    _pile_up(bench, policy=Policy(caps=Caps(runs_per_day=1)))

    bench.finish(_reports(bench)[0])

    skipped = [run for run in bench.scheduler.get_run_log("report", 100) if run.outcome is Outcome.SKIPPED]
    assert [run.reason for run in skipped] == (_FEW - 1) * [SkipReason.CAP]
    assert _waiting(bench) == []


@pytest.mark.parametrize("gone", ["paused", "disabled", "removed"])
def test_runs_that_piled_up_behind_a_job_that_is_gone_go_with_it(bench: Bench, gone: str) -> None:
    _pile_up(bench)

    match gone:
        case "paused":
            bench.scheduler.pause_job("report")
        case "disabled":
            bench.scheduler.update_job("report", enabled=False)
        case _:
            bench.scheduler.remove_job("report")
    bench.finish(_reports(bench)[0])

    assert _waiting(bench) == []
    assert len(_reports(bench)) == 1


def test_runs_that_piled_up_survive_a_crash(bench: Bench) -> None:
    causes = _pile_up(bench)

    bench.crash()
    bench.tick(1)

    assert _reports(bench)[-1].caused_by == causes[1].id
    assert len(_waiting(bench)) == _FEW - 2
