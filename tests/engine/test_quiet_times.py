"""Quiet times: nothing starts by itself in them; what falls due waits or is skipped, as its job chooses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from cases import utc_ms
from chain_waits import awaited
from machine import Bench

from halo_scheduler import After, Cron, Every, Once, Outcome, Policy, Retry, Run, Source
from halo_scheduler.model import (
    CatchUp,
    InQuietTime,
    JobStatus,
    PathExists,
    SkipReason,
    StatusReason,
    WaitingFor,
)
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.settings import QuietTime, Weekday

pytestmark = pytest.mark.usefixtures("machine_in_berlin", "dead_processes")

_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000
_EVENING = utc_ms("2026-11-16T21:00+01:00")  # a Monday
_NIGHTS = QuietTime(name="Nights", start="22:00", end="06:00")
_SKIP = Policy(in_quiet_time=InQuietTime.SKIP)
_DISK = PathExists(path="/mnt/backup")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A bench on an evening, an hour before the night, whose former processes count as dead."""
    found = Bench(tmp_path / "halo.db", now_ms=_EVENING)
    found.scheduler.settings.change(quiet_times=(_NIGHTS,))
    yield found
    found.close()


def _waiting(bench: Bench, job_id: str) -> tuple[WaitingFor | None, str]:
    job = bench.job(job_id)
    return job.waiting_for, awaited(job, bench.clock.now_ms())


def _skipped(bench: Bench, job_id: str) -> list[Run]:
    return bench.scheduler.get_run_log(job_id, outcome=Outcome.SKIPPED)


def _until(bench: Bench, time: str) -> int:
    return utc_ms(f"2026-11-{time}+01:00") - bench.clock.now_ms()


def test_a_job_due_in_quiet_hours_waits_for_their_end_and_says_so(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("2h"))
    assert bench.tick(2 * _HOUR) == []
    assert _waiting(bench, job_id) == (
        WaitingFor.QUIET_TIME,
        "quiet until Tue 06:00",
    )
    assert bench.job(job_id).status is JobStatus.IDLE
    for _ in range(6):
        assert bench.tick(_HOUR) == []
    bench.tick(59 * _MINUTE + 50 * _SECOND)
    assert bench.scheduler.engine.get_engine().delay_ms() == 10 * _SECOND
    (run,) = bench.tick(10 * _SECOND)
    assert (run.slot_at, run.late_ms) == (_EVENING + 2 * _HOUR, 7 * _HOUR)
    assert _waiting(bench, job_id) == (None, "")
    bench.finish(run)
    (after,) = bench.tick(_HOUR)
    assert (after.passed_over, after.passed_reason) == (3, "quiet time")
    assert _skipped(bench, job_id) == []


def test_it_is_quiet_from_the_first_instant_to_the_last(bench: Bench) -> None:
    bench.scheduler.add_job("before", Once(utc_ms("2026-11-16T21:59:59+01:00")))
    bench.scheduler.add_job("first", Once(utc_ms("2026-11-16T22:00+01:00")))
    bench.scheduler.add_job("last", Once(utc_ms("2026-11-17T05:59:59+01:00")))
    bench.scheduler.add_job("after", Once(utc_ms("2026-11-17T06:00+01:00")))
    assert len(bench.tick(_until(bench, "16T21:59:59"))) == 1
    assert bench.tick(_until(bench, "16T22:00:00")) == []
    assert bench.tick(_until(bench, "17T05:59:59")) == []
    assert len(bench.tick(_until(bench, "17T06:00:00"))) == 3


def test_quiet_hours_without_a_name_and_those_of_several_days_have_words(bench: Bench) -> None:
    weekend = QuietTime(days=(Weekday.TUESDAY, Weekday.WEDNESDAY), start="00:00", end="24:00")
    bench.scheduler.settings.change(quiet_times=(weekend,))
    job_id = bench.scheduler.add_job("job", Once(utc_ms("2026-11-17T00:00+01:00")))
    bench.tick(_until(bench, "17T00:00:00"))
    assert _waiting(bench, job_id)[1] == "quiet until Thu 00:00"
    bench.tick(_until(bench, "18T00:00:01"))
    assert _waiting(bench, job_id)[1] == "quiet until Thu 00:00"


def test_a_job_may_choose_to_be_skipped_with_one_row_for_each_slot(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("2h"), policy=_SKIP)
    for _ in range(8):
        assert bench.tick(_HOUR) == []
    rows = _skipped(bench, job_id)
    assert [run.slot_at for run in rows] == [_EVENING + hours * _HOUR for hours in (8, 6, 4, 2)]
    assert {(run.reason, run.error) for run in rows} == {
        (SkipReason.QUIET_TIME, "it was due in the quiet hours Nights, which end at 06:00")
    }
    job = bench.job(job_id)
    assert (job.errors, job.waiting_for, job.next_run_at) == (0, None, _EVENING + 10 * _HOUR)
    (run,) = bench.tick(2 * _HOUR)
    assert (run.slot_at, run.passed_over) == (_EVENING + 10 * _HOUR, 0)


def test_a_skipped_after_job_is_not_due_again_at_once(bench: Bench) -> None:
    bench.tick(2 * _HOUR)
    job_id = bench.scheduler.add_job("job", After("30m"), policy=_SKIP)
    bench.tick()
    bench.tick()
    assert len(_skipped(bench, job_id)) == 1
    assert bench.job(job_id).next_run_at == bench.clock.now_ms() + 30 * _MINUTE


def test_a_once_that_is_skipped_says_that_its_time_is_over(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Once(_EVENING + 2 * _HOUR), policy=_SKIP)
    bench.tick(2 * _HOUR)
    (run,) = _skipped(bench, job_id)
    assert run.error.endswith("; it had only this time, so run it manually or set a new one")
    assert bench.job(job_id).status_reason is StatusReason.DONE


def test_a_retry_is_quiet_too_and_keeps_the_error_count_when_skipped(bench: Bench) -> None:
    retry = Retry(attempts=1, delay_ms=10 * _MINUTE)
    waits = bench.scheduler.add_job("waits", Every("55m"), policy=Policy(retry=retry))
    gone = bench.scheduler.add_job(
        "gone", Every("55m"), policy=Policy(retry=retry, in_quiet_time=InQuietTime.SKIP)
    )
    for run in bench.tick(55 * _MINUTE):
        bench.finish(run, Outcome.FAILURE)
    assert bench.tick(10 * _MINUTE) == []
    assert _waiting(bench, waits)[0] is WaitingFor.QUIET_TIME
    (skipped,) = _skipped(bench, gone)
    assert (skipped.attempt, skipped.source) == (2, Source.RETRY)
    assert bench.job(gone).errors == 0
    started = {run.job_id: run for run in bench.tick(_until(bench, "17T06:00:00"))}
    assert (started[waits].attempt, started[waits].slot_at) == (2, _EVENING + 55 * _MINUTE)


def test_catch_up_runs_respect_quiet_hours_and_waiting_is_never_missed(bench: Bench) -> None:
    bench.scheduler.add_job("job", Every("90m"))
    other = bench.scheduler.add_job("other", Every("90m"), policy=Policy(catch_up=CatchUp.SKIP))
    bench.tick(90 * _MINUTE)
    bench.clock.advance(4 * _HOUR)
    bench.crash()
    assert bench.tick() == []
    started = bench.tick(_until(bench, "17T06:00:00"))
    assert {(run.slot_at, run.source) for run in started} == {(_EVENING + 90 * _MINUTE, Source.EVERY)}
    assert bench.scheduler.get_run_log(other, outcome=Outcome.MISSED) == []


def test_quiet_hours_of_a_group_apply_to_it_alone(bench: Bench) -> None:
    bench.scheduler.settings.change(quiet_times=(QuietTime(group="loud", start="22:00", end="06:00"),))
    loud = bench.scheduler.add_job("loud", Every("2h"), group="loud")
    others = [
        bench.scheduler.add_job("other", Every("2h"), group="calm"),
        bench.scheduler.add_job("none", Every("2h")),
    ]
    assert {run.job_id for run in bench.tick(2 * _HOUR)} == set(others)
    assert _waiting(bench, loud)[0] is WaitingFor.QUIET_TIME


def test_it_follows_its_own_zone(bench: Bench) -> None:
    bench.scheduler.settings.change(quiet_times=(QuietTime(start="22:00", end="06:00", timezone="UTC"),))
    job_id = bench.scheduler.add_job("job", Cron("30 22 * * *"))
    assert len(bench.tick(90 * _MINUTE)) == 1
    late = bench.scheduler.add_job("late", Once(_EVENING + 2 * _HOUR))
    assert bench.tick(30 * _MINUTE) == []
    assert _waiting(bench, late)[1] == "quiet until Tue 07:00"
    assert bench.job(job_id).status is JobStatus.RUNNING


def test_a_change_of_the_settings_counts_at_once(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("2h"))
    bench.tick(2 * _HOUR)
    bench.scheduler.settings.change(quiet_times=(QuietTime(name="Short", start="22:00", end="23:30"),))
    bench.tick(_MINUTE)
    assert _waiting(bench, job_id)[1] == "quiet until 23:30"
    bench.scheduler.settings.change(quiet_times=())
    assert len(bench.tick(_MINUTE)) == 1


def test_a_job_at_the_limit_after_quiet_hours_reports_the_limit(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "narrow.db", max_concurrent=1, now_ms=_EVENING)
    bench.scheduler.settings.change(quiet_times=(QuietTime(start="22:00", end="23:00"),))
    ids = [bench.scheduler.add_job(name, Every("90m"), job_id=name) for name in ("a", "b")]
    bench.tick(90 * _MINUTE)
    assert {_waiting(bench, job_id)[0] for job_id in ids} == {WaitingFor.QUIET_TIME}
    (run,) = bench.tick(30 * _MINUTE)
    assert run.job_id == "a"
    assert _waiting(bench, "b") == (WaitingFor.AT_CAPACITY, "limit reached")
    bench.close()


def test_slots_are_skipped_in_quiet_hours_also_at_the_limit(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "narrow.db", max_concurrent=1, now_ms=_EVENING)
    bench.scheduler.settings.change(quiet_times=(_NIGHTS,))
    bench.scheduler.add_job("long", Every("30m"))
    gone = bench.scheduler.add_job("gone", Every("2h"), policy=_SKIP)
    waits = bench.scheduler.add_job("waits", Every("2h"))
    bench.tick(30 * _MINUTE)
    assert bench.tick(90 * _MINUTE) == []
    assert len(_skipped(bench, gone)) == 1
    assert _waiting(bench, waits)[0] is WaitingFor.QUIET_TIME
    bench.close()


def test_a_group_in_quiet_hours_does_not_cause_other_waiting_jobs_to_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path / "narrow.db", max_concurrent=1, now_ms=_EVENING)
    bench.scheduler.settings.change(quiet_times=(replace(_NIGHTS, group="quiet"),))
    bench.scheduler.add_jobs([{"name": f"loud {index}", "schedule": Every("2h")} for index in range(50)])
    gone = bench.scheduler.add_job("gone", Every("2h"), policy=_SKIP, group="quiet")
    waits = bench.scheduler.add_job("waits", Every("2h"), job_id="waits", group="quiet")
    bench.tick()
    jobs = bench.scheduler._store.jobs
    real, read = jobs._read, []

    def note(row: tuple[str, ...]) -> object:
        read.append(row[0])
        return real(row)

    monkeypatch.setattr(jobs, "_read", note)
    (run,) = bench.tick(2 * _HOUR)
    assert len(read) < 30
    assert len(_skipped(bench, gone)) == 1
    assert _waiting(bench, waits)[0] is WaitingFor.QUIET_TIME
    loud = [job for job in bench.scheduler.list_jobs() if job.group is None and job.id != run.job_id]
    assert {job.waiting_for for job in loud} == {WaitingFor.AT_CAPACITY}
    told: list[Change] = []
    bench.scheduler.subscribe(told.append)
    bench.tick(_MINUTE)
    assert told == []
    bench.close()


def test_it_is_reported_once_that_a_job_waits(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("2h"))
    bench.tick(_HOUR)
    told: list[Change] = []
    bench.scheduler.subscribe(told.append)
    for _ in range(5):
        bench.tick(_HOUR)
    assert told == [Change(ChangeKind.JOB, job_id=job_id)]


def test_conditions_are_not_checked_in_quiet_hours_but_afterwards(bench: Bench) -> None:
    policy = Policy(conditions=(_DISK,), condition_deadline="10m")
    job_id = bench.scheduler.add_job("job", Every("2h"), policy=policy)
    bench.tick(2 * _HOUR)
    assert (bench.surroundings.asked, bench.surroundings.watched) == ([], frozenset())
    bench.tick(_until(bench, "17T06:00:00"))
    assert _waiting(bench, job_id)[0] is WaitingFor.CONDITION
    assert bench.scheduler.jobs.waits_until(job_id) == bench.clock.now_ms() + 10 * _MINUTE
    bench.surroundings.truths[_DISK] = True
    assert len(bench.tick(_MINUTE)) == 1


def test_a_deadline_that_passes_in_quiet_hours_is_decided_after_them(bench: Bench) -> None:
    policy = Policy(conditions=(_DISK,), condition_deadline="10m")
    job_id = bench.scheduler.add_job("job", Every("55m"), policy=policy)
    bench.tick(55 * _MINUTE)
    bench.tick(_HOUR)
    assert _waiting(bench, job_id)[0] is WaitingFor.QUIET_TIME
    assert _skipped(bench, job_id) == []
    bench.tick(_until(bench, "17T06:00:00"))
    (run,) = _skipped(bench, job_id)
    assert run.reason is SkipReason.CONDITION


def test_a_manual_run_in_quiet_hours_starts_and_notes_it(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("2h"))
    bench.tick(2 * _HOUR)
    bench.scheduler.trigger(job_id)
    (run,) = bench.tick()
    recorded = bench.scheduler.get_run(run.id)
    assert recorded is not None
    assert recorded.note == "quiet hours ignored: Nights"
    bench.finish(run)
    assert _waiting(bench, job_id)[0] is WaitingFor.QUIET_TIME


def test_quiet_hours_and_conditions_that_a_manual_run_ignored_are_noted(bench: Bench) -> None:
    bench.scheduler.settings.change(quiet_times=(QuietTime(start="20:00", end="23:00"),))
    job_id = bench.scheduler.add_job("job", Every("2h"), policy=Policy(conditions=(_DISK,)))
    bench.scheduler.trigger(job_id)
    (run,) = bench.tick()
    recorded = bench.scheduler.get_run(run.id)
    assert recorded is not None
    assert recorded.note == "quiet hours ignored; conditions ignored: /mnt/backup to exist"
