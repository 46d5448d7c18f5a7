"""Several schedules of one job, from the claim to the log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from machine import START, Bench

from halo_scheduler import (
    After,
    Cron,
    Entry,
    Every,
    Manual,
    Once,
    Outcome,
    Policy,
    Retry,
    Run,
    ScheduleError,
    Several,
    Source,
)
from halo_scheduler.model import Calendar, CatchUp, JobStatus, Shift, StatusReason

_MINUTE = 60_000
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
_DAYS = [
    datetime.fromtimestamp((START + number * _DAY) / 1_000, UTC).date().isoformat() for number in range(5)
]


@pytest.fixture
def bench(tmp_path: Path, dead_processes: None) -> Iterator[Bench]:  # noqa: ARG001 - they die before it opens
    found = Bench(tmp_path / "halo.db")
    yield found
    found.close()


def _at(text: str) -> int:
    hour, minute = text.split(":")
    return START + int(hour) * _HOUR + int(minute) * _MINUTE


def _daily(*times: str) -> list[Entry]:
    crons = [Cron(f"{int(time[3:])} {int(time[:2])} * * *", timezone="UTC") for time in times]
    return [Entry(cron, key=f"t{time.replace(':', '')}") for cron, time in zip(crons, times, strict=True)]


def _run_to(bench: Bench, until: int, step_ms: int = 30 * _MINUTE) -> list[Run]:
    """Move on in steps, end each run at once, and return all runs."""
    found: list[Run] = []
    while bench.clock.now_ms() < until:
        for run in bench.tick(min(step_ms, until - bench.clock.now_ms())):
            found.append(bench.recorded(run.id))
            bench.end(run)
    return found


def test_each_schedule_gives_its_runs_and_each_run_names_it(bench: Bench) -> None:
    bench.scheduler.add_job("tea", _daily("09:00", "14:30"))
    found = _run_to(bench, START + 2 * _DAY)
    assert [(run.slot_at, run.schedule_keys) for run in found] == [
        (_at("09:00"), ("t0900",)),
        (_at("14:30"), ("t1430",)),
        (_at("09:00") + _DAY, ("t0900",)),
        (_at("14:30") + _DAY, ("t1430",)),
    ]
    assert {run.passed_over for run in found} == {0}


def test_schedules_that_coincide_are_one_run_that_names_both(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("both", [Every("1h"), Cron("0 */2 * * *", timezone="UTC")])
    found = _run_to(bench, START + 4 * _HOUR)
    assert [run.schedule_keys for run in found] == [("1",), ("1", "2"), ("1",), ("1", "2")]
    assert len({run.slot_at for run in bench.scheduler.get_run_log(job_id)}) == 4
    assert {run.passed_over for run in found} == {0}


def test_slots_of_several_schedules_during_a_run_are_counted_once_per_instant(bench: Bench) -> None:
    bench.scheduler.add_job("busy", [Every("30m"), Cron("0 * * * *", timezone="UTC")])
    (run,) = bench.tick(30 * _MINUTE)
    bench.tick(2 * _HOUR)
    bench.end(run)
    (after,) = bench.tick(30 * _MINUTE)
    # 01:00, 01:30, 02:00 and 02:30 had no run of their own.
    assert (after.slot_at, after.passed_over, after.schedule_keys) == (_at("03:00"), 4, ("1", "2"))


def test_the_newest_missed_time_of_all_is_caught_up_and_named(bench: Bench) -> None:
    bench.scheduler.add_job("missed", _daily("09:00", "14:30"))
    bench.tick(_HOUR)
    bench.crash()
    (run,) = bench.tick(14 * _HOUR)
    assert (run.slot_at, run.source, run.schedule_keys) == (_at("14:30"), Source.CATCH_UP, ("t1430",))
    assert run.passed_over == 1


def test_a_missed_run_that_is_not_caught_up_names_its_schedule(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("skips", _daily("09:00", "14:30"), policy=Policy(catch_up=CatchUp.SKIP))
    bench.tick(_HOUR)
    bench.crash()
    assert bench.tick(14 * _HOUR) == []
    (run,) = bench.scheduler.get_run_log(job_id)
    assert (run.outcome, run.slot_at, run.schedule_keys, run.passed_over) == (
        *(Outcome.MISSED, _at("09:00"), ("t0900",), 1),
    )


def test_a_retry_keeps_the_schedule_of_its_slot(bench: Bench) -> None:
    policy = Policy(retry=Retry(attempts=1, delay_ms=_MINUTE))
    bench.scheduler.add_job("again", _daily("09:00", "09:01"), policy=policy)
    (run,) = bench.tick(9 * _HOUR)
    bench.end(run, Outcome.FAILURE)
    bench.tick(_MINUTE)
    # The other schedule is due at the same instant: a retry only comes before an earlier plan, so that one runs.
    assert [(run.slot_at, run.attempt, run.schedule_keys) for run in bench.started[1:]] == [
        (_at("09:01"), 1, ("t0901",))
    ]
    bench.end(bench.started[-1], Outcome.FAILURE)
    (retry,) = bench.tick(_MINUTE)
    assert (retry.slot_at, retry.attempt, retry.schedule_keys) == (_at("09:01"), 2, ("t0901",))


def test_a_job_with_nothing_but_used_times_is_done(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("twice", [Once(START + _HOUR), Once(START + 2 * _HOUR)])
    assert [run.schedule_keys for run in _run_to(bench, START + 3 * _HOUR)] == [("1",), ("2",)]
    job = bench.job(job_id)
    assert (job.status, job.status_reason) == (JobStatus.DISABLED, StatusReason.DONE)
    with pytest.raises(ScheduleError, match="past"):
        bench.scheduler.resume_job(job_id)


def test_a_used_time_stays_listed_beside_others(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("mixed", [Once(START + _HOUR), Every("2h")])
    assert [run.schedule_keys for run in _run_to(bench, START + 4 * _HOUR)] == [("1",), ("2",), ("2",)]
    assert bench.job(job_id).schedules[0].schedule == Once(START + _HOUR)
    bench.scheduler.update_job(job_id, schedule=[Once(START + _HOUR), Every("3h")])
    with pytest.raises(ScheduleError, match="in the past") as caught:
        bench.scheduler.update_job(job_id, schedule=[Once(START + 1), Every("3h")])
    assert caught.value.path == "schedules[0].at"


def test_an_after_counts_from_the_run_of_another_schedule(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("gap", [After("50m"), Cron("0 * * * *", timezone="UTC")])
    (first,) = bench.tick()
    bench.end(first)
    assert bench.job(job_id).next_run_at == START + 50 * _MINUTE
    (second,) = bench.tick(50 * _MINUTE)
    bench.end(second)
    (third,) = bench.tick(10 * _MINUTE)
    bench.end(third)
    assert [run.schedule_keys for run in (first, second, third)] == [("1",), ("1",), ("2",)]
    assert bench.job(job_id).next_run_at == START + _HOUR + 50 * _MINUTE


def test_a_manual_run_moves_an_after_but_not_a_due_time(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("gap", [After("50m"), Cron("0 * * * *", timezone="UTC")])
    (first,) = bench.tick()
    bench.end(first)
    bench.scheduler.trigger(job_id)
    (manual,) = bench.tick(20 * _MINUTE)
    bench.end(manual)
    job = bench.job(job_id)
    assert (job.next_run_at, job.next_keys) == (START + _HOUR, ("2",))
    assert bench.recorded(manual.id).schedule_keys == ()


def test_an_edit_keeps_the_due_slot_of_a_schedule_that_stays(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "halo.db", max_concurrent=1)
    bench.scheduler.add_job("long", Every("30m"))
    job_id = bench.scheduler.add_job("waits", _daily("01:00", "03:00"))
    (long,) = bench.tick(30 * _MINUTE)
    assert bench.tick(40 * _MINUTE) == []
    bench.scheduler.update_job(job_id, schedule=_daily("03:30", "01:00"))
    assert bench.job(job_id).next_run_at == _at("01:00")
    bench.end(long)
    assert bench.started[-1].slot_at in (_at("01:00"), _at("01:00"))
    assert bench.started[-1].schedule_keys == ("t0100",)
    bench.close()


def test_an_edit_drops_the_due_slot_of_a_schedule_that_goes(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "halo.db", max_concurrent=1)
    bench.scheduler.add_job("long", Every("30m"))
    job_id = bench.scheduler.add_job("waits", _daily("01:00", "03:00"))
    bench.tick(30 * _MINUTE)
    bench.tick(40 * _MINUTE)
    bench.scheduler.update_job(job_id, schedule=_daily("03:00", "04:00"))
    assert bench.job(job_id).next_run_at == _at("03:00")
    bench.close()


def test_an_edit_without_keys_keeps_those_of_unchanged_schedules(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("keys", [Entry(Every("1h"), key="hourly"), Every("2h")])
    bench.scheduler.update_job(job_id, schedule=[Every("3h"), Every("1h")])
    assert [entry.key for entry in bench.job(job_id).schedules] == ["1", "hourly"]


def test_one_schedule_of_a_list_is_a_job_as_before(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("one", [Entry(Every("1h"), anchor_at=START + 5)])
    job = bench.job(job_id)
    assert (job.schedule, job.anchor_at) == (Every("1h"), START + 5)
    assert "schedules" not in job.to_dict()
    assert bench.job(bench.scheduler.add_job("none", [Manual()])).schedule == Manual()


def test_several_schedules_come_back_from_the_database(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("kept", [Entry(Every("1h"), anchor_at=START + 5), Cron("@daily")])
    before = bench.job(job_id)
    bench.crash()
    assert bench.job(job_id) == before
    assert isinstance(before.schedule, Several)
    data = before.to_dict()
    assert data["schedule"] is None
    assert [entry["key"] for entry in data["schedules"]] == ["1", "2"]
    assert before.spec.to_dict()["version"] == 2
    assert type(before.spec).from_dict(before.spec.to_dict()) == before.spec


def test_jitter_moves_each_schedule_by_itself_and_nothing_is_lost(bench: Bench) -> None:
    policy = Policy(jitter_percent=10)
    # Its id decides the jitter; with another one, two of these slots can be due in the same minute.
    job_id = "spread-job"
    bench.scheduler.add_job("spread", _daily("09:00", "09:10", "14:30"), policy=policy, job_id=job_id)
    found = _run_to(bench, START + 3 * _DAY, step_ms=_MINUTE)
    assert sorted(key for run in found for key in run.schedule_keys) == sorted(
        ["t0900", "t0910", "t1430"] * 3
    )
    assert {run.passed_over for run in bench.scheduler.get_run_log(job_id)} == {0}


def test_a_clock_set_back_repeats_no_time_of_any_schedule(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("back", [Every("1h"), Cron("30 * * * *", timezone="UTC")])
    _run_to(bench, START + 4 * _HOUR)
    bench.clock.set(START + 2 * _HOUR + 1)
    bench.tick()
    assert bench.job(job_id).next_run_at == START + 4 * _HOUR + 30 * _MINUTE
    slots = [run.slot_at for run in bench.scheduler.get_run_log(job_id)]
    assert len(slots) == len(set(slots))


# --- Parameters of a schedule -------------------------------------------------------------------------


def _with_modes(bench: Bench, **rest: object) -> str:
    entries = [
        replace(entry, parameters={"mode": mode})
        for entry, mode in zip(_daily("09:00", "14:30"), ("full", "quick"), strict=True)
    ]
    whole = {"name": "backup", "schedule": entries, "parameters": {"mode": "usual", "to": "nas"}, **rest}
    job_id: str = bench.scheduler.add_jobs([whole])[0]
    return job_id


def test_a_run_gets_the_parameters_of_its_schedule(bench: Bench) -> None:
    job_id = _with_modes(bench)
    found = _run_to(bench, START + _DAY)
    assert [run.parameters for run in found] == [
        {"mode": "full", "to": "nas"},
        {"mode": "quick", "to": "nas"},
    ]
    # A manual run comes from no schedule.
    bench.scheduler.trigger(job_id)
    (run,) = bench.tick()
    assert run.parameters == {"mode": "usual", "to": "nas"}


def test_where_schedules_coincide_the_later_one_sets_the_parameter(bench: Bench) -> None:
    hourly = Entry(Every("1h"), parameters={"mode": "hourly", "to": "disk"})
    even = Entry(Cron("0 */2 * * *", timezone="UTC"), parameters={"mode": "even"})
    bench.scheduler.add_jobs(
        [{"name": "both", "schedule": [hourly, even], "parameters": {"mode": "", "to": "nas"}}]
    )
    found = _run_to(bench, START + 2 * _HOUR)
    assert [run.parameters for run in found] == [
        {"mode": "hourly", "to": "disk"},
        {"mode": "even", "to": "disk"},
    ]


def test_a_retry_and_a_caught_up_run_keep_the_parameters_of_their_schedule(bench: Bench) -> None:
    _with_modes(bench, policy=Policy(retry=Retry(attempts=1, delay_ms=_MINUTE)))
    (run,) = bench.tick(9 * _HOUR)
    bench.end(run, Outcome.FAILURE)
    (again,) = bench.tick(_MINUTE)
    assert (again.attempt, again.parameters["mode"]) == (2, "full")
    bench.end(again)
    bench.crash()
    (late,) = bench.tick(8 * _HOUR)
    assert (late.source, late.parameters["mode"]) == (Source.CATCH_UP, "quick")


def test_the_only_schedule_of_a_job_can_have_parameters_too(bench: Bench) -> None:
    entry = Entry(Every("1h"), parameters={"mode": "quick"})
    job_id = bench.scheduler.add_jobs([{"name": "one", "schedule": [entry], "parameters": {"mode": ""}}])[0]
    job = bench.scheduler.get_job(job_id)
    assert job is not None
    assert [one.parameters for one in job.schedules] == [{"mode": "quick"}]
    (run,) = bench.tick(_HOUR)
    assert (run.schedule_keys, run.parameters) == (("1",), {"mode": "quick"})


def test_a_parameter_that_the_job_does_not_have_is_refused(bench: Bench) -> None:
    entries = [Entry(Every("1h")), Entry(Every("3h"), parameters={"speed": "9"})]
    with pytest.raises(ScheduleError, match="there is no parameter") as refusal:
        bench.scheduler.add_job("wrong", entries, parameters={"mode": ""})
    assert refusal.value.path == "schedules[1].parameters"


# --- First and last days -------------------------------------------------------------------------------


def _until_tomorrow(bench: Bench, **rest: object) -> str:
    entries = [replace(entry, until_date=_DAYS[1]) for entry in _daily("09:00", "14:30")]
    job_id: str = bench.scheduler.add_jobs([{"name": "short", "schedule": entries, **rest}])[0]
    return job_id


def test_a_job_is_done_after_the_last_time_of_its_last_day(bench: Bench) -> None:
    job_id = _until_tomorrow(bench)
    found = _run_to(bench, START + 4 * _DAY)
    assert [run.slot_at for run in found] == [
        START + day * _DAY + offset for day in (0, 1) for offset in (9 * _HOUR, 14 * _HOUR + 30 * _MINUTE)
    ]
    job = bench.job(job_id)
    assert (job.status, job.status_reason) == (JobStatus.DISABLED, StatusReason.DONE)


def test_the_last_slot_may_be_tried_again_after_the_last_day(bench: Bench) -> None:
    job_id = _until_tomorrow(bench, policy=Policy(retry=Retry(attempts=1, delay_ms=_DAY)))
    _run_to(bench, START + _DAY + 14 * _HOUR)
    (run,) = bench.tick(30 * _MINUTE)
    bench.end(run, Outcome.FAILURE)
    assert bench.job(job_id).status is JobStatus.IDLE
    (again,) = bench.tick(_DAY)
    assert (again.attempt, again.slot_at) == (2, run.slot_at)
    bench.end(again)
    assert bench.job(job_id).status_reason is StatusReason.DONE


def test_the_end_of_a_job_that_falls_into_a_pause_is_recorded_and_counted(bench: Bench) -> None:
    job_id = _until_tomorrow(bench)
    _run_to(bench, START + 10 * _HOUR)
    bench.scheduler.pause_job(job_id, START + 3 * _DAY)
    bench.tick(3 * _DAY)
    job = bench.job(job_id)
    assert job.status_reason is StatusReason.DONE
    last = bench.scheduler.get_run_log(job_id)[0]
    assert (last.outcome, last.slot_at) == (Outcome.SKIPPED, START + _DAY + 14 * _HOUR + 30 * _MINUTE)
    assert (last.schedule_keys, last.passed_over, last.passed_reason) == (("t1430",), 2, "paused")


def test_a_pause_before_the_first_day_records_nothing(bench: Bench) -> None:
    entry = Entry(Cron("0 9 * * *", timezone="UTC"), from_date=_DAYS[2], until_date=_DAYS[3])
    job_id = bench.scheduler.add_job("later", [entry])
    assert bench.job(job_id).next_run_at == START + 2 * _DAY + 9 * _HOUR
    bench.scheduler.pause_job(job_id, START + _DAY)
    bench.tick(_DAY)
    assert bench.scheduler.get_run_log(job_id) == []


def test_a_job_all_of_whose_days_have_passed_is_refused(bench: Bench) -> None:
    over = Entry(Every("1h"), until_date="2020-01-01")
    with pytest.raises(ScheduleError, match=r"schedule\.until: this time is in the past"):
        bench.scheduler.add_job("over", [over])
    job_id = bench.scheduler.add_job("other", [Every("1h")])
    with pytest.raises(ScheduleError, match=r"schedules\[1\].until: this time is in the past"):
        bench.scheduler.update_job(job_id, schedule=[Every("1h"), over])


def test_another_last_day_moves_the_planned_slot(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("moved", [Cron("0 9 * * *", timezone="UTC")])
    entry = Entry(Cron("0 9 * * *", timezone="UTC"), from_date=_DAYS[2])
    bench.scheduler.update_job(job_id, schedule=[entry])
    assert bench.job(job_id).next_run_at == START + 2 * _DAY + 9 * _HOUR


def test_a_time_that_moves_to_another_day_runs_there_and_is_caught_up_there(bench: Bench) -> None:
    # The first day is a Wednesday; it and the next one are left out.
    calendar = Calendar(excluded=(_DAYS[0], _DAYS[1], "weekends"), shift=Shift.NEXT)
    job_id = bench.scheduler.add_job("moved", [Entry(Cron("0 9 * * *", timezone="UTC"), calendar=calendar)])
    assert bench.job(job_id).next_run_at == START + 2 * _DAY + 9 * _HOUR
    bench.tick(_HOUR)
    bench.crash()
    (late,) = bench.tick(2 * _DAY + 11 * _HOUR)
    assert (late.source, late.slot_at) == (Source.CATCH_UP, START + 2 * _DAY + 9 * _HOUR)
    bench.end(late)
    assert bench.job(job_id).next_run_at == START + 5 * _DAY + 9 * _HOUR
    assert bench.recorded(late.id).passed_over == 0
