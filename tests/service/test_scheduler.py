"""The one door: jobs, runs and settings as its callers see them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from asking import ask
from machine import START, Bench

from halo_scheduler import (
    Callback,
    Cron,
    Every,
    JobNotFoundError,
    Manual,
    Once,
    Outcome,
    PathExists,
    Policy,
    Run,
    ScheduleError,
    SchedulerError,
    SchedulerShutdownError,
    ScheduleTriggerError,
    Source,
    Trigger,
)
from halo_scheduler.errors import StoreUnavailableError
from halo_scheduler.model import JobStatus, SkipReason, StatusReason
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.settings import QuietTime
from halo_scheduler.service import engine_control
from halo_scheduler.service.lookup import require_engine
from halo_scheduler.service.scheduler import Scheduler

_HOUR, _DAY = 3_600_000, 86_400_000


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    found = Bench(tmp_path / "halo.db")
    yield found
    found.close()


def test_ten_lines_schedule_a_function(tmp_path: Path) -> None:
    from halo_scheduler import Every, Scheduler  # noqa: PLC0415 - as a user writes it
    from halo_scheduler.clock import ManualClock  # noqa: PLC0415 - likewise

    clock = ManualClock(0)
    seen: list[str] = []
    with Scheduler.open(tmp_path / "halo.db", clock=clock) as scheduler:
        scheduler.on_job_due(lambda job, _run: seen.append(job.name))
        scheduler.add_job("hello", Every("15m"))
        clock.advance(900_000)
        scheduler.tick()
    assert seen == ["hello"]


def test_an_added_job_has_its_plan(bench: Bench) -> None:
    job_id = bench.scheduler.add_job(
        "job", Every("1h"), description="d", group="g", metadata={"k": "v"}, policy=Policy(max_errors=3)
    )
    job = bench.scheduler.get_job(job_id)
    assert job is not None
    assert (job.anchor_at, job.next_run_at, job.next_source) == (START, START + _HOUR, Source.EVERY)
    assert (job.description, job.group, dict(job.metadata), job.policy.max_errors) == (
        "d",
        "g",
        {"k": "v"},
        3,
    )
    assert (job.action, job.status) == (Callback(), JobStatus.IDLE)


def test_jobs_are_added_all_or_nothing(bench: Bench) -> None:
    with pytest.raises(ScheduleError, match="already a job named 'a'"):
        bench.scheduler.add_jobs([{"name": "a", "schedule": Manual()}, {"name": "a", "schedule": Manual()}])
    assert bench.scheduler.list_jobs() == []
    ids = bench.scheduler.add_jobs([{"name": name, "schedule": Manual()} for name in "ab"])
    assert [job.id for job in bench.scheduler.list_jobs()] == ids


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": "taken", "schedule": Manual()}, "name: there is already a job named 'taken'"),
        (
            {"name": "x", "schedule": Manual(), "job_id": "known"},
            "job_id: there is already a job with the id 'known'",
        ),
        ({"name": "", "schedule": Manual()}, "name: is empty"),
        ({"name": "x", "schedule": Once(START)}, "schedule.at: this time is in the past"),
    ],
)
def test_a_bad_job_is_not_stored(bench: Bench, given: dict[str, object], message: str) -> None:
    bench.scheduler.add_job("taken", Manual(), job_id="known")
    with pytest.raises(ScheduleError) as caught:
        bench.scheduler.add_jobs([given])
    assert message in str(caught.value)
    assert len(bench.scheduler.list_jobs()) == 1


def test_an_update_changes_only_the_given_fields(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"), description="kept")
    bench.clock.advance(60_000)
    bench.scheduler.update_job(job_id, name="renamed")
    job = bench.scheduler.get_job(job_id)
    assert job is not None
    assert (job.name, job.description, job.next_run_at, job.anchor_at) == (
        "renamed",
        "kept",
        START + _HOUR,
        START,
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "other"},
        {"name": "fine", "schedule": Once(START)},
        {"colour": "red"},
        {"metadata": {"a": 5}},
    ],
)
def test_an_invalid_update_is_refused_entirely(bench: Bench, changes: dict[str, Any]) -> None:
    bench.scheduler.add_job("other", Manual())
    job_id = bench.scheduler.add_job("job", Every("1h"))
    before = bench.scheduler.get_job(job_id)
    with pytest.raises(ScheduleError):
        bench.scheduler.update_job(job_id, **changes)
    assert bench.scheduler.get_job(job_id) == before


def test_enabled_reads_false_once_errors_disabled_a_job_and_enabling_resumes_it(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"), policy=Policy(max_errors=1))
    bench.finish(bench.tick(_HOUR)[0], Outcome.FAILURE)
    job = bench.job(job_id)
    assert (job.enabled, job.spec.enabled, job.status_reason) == (False, True, StatusReason.ERRORS)
    # Whatever keeps the stored value revives nothing.
    bench.scheduler.update_job(job_id, description="edited")
    assert not bench.job(job_id).enabled
    bench.scheduler.update_job(job_id, enabled=True)
    job = bench.job(job_id)
    assert (job.enabled, job.errors, job.status, job.next_run_at) == (
        True,
        0,
        JobStatus.IDLE,
        START + 2 * _HOUR,
    )


def test_enabling_a_once_that_is_done_needs_a_new_time(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Once(START + _HOUR))
    bench.finish(bench.tick(_HOUR)[0])
    assert not bench.job(job_id).enabled
    with pytest.raises(ScheduleError, match="its only time is in the past; give the job a new time instead"):
        bench.scheduler.update_job(job_id, enabled=True)
    bench.scheduler.update_job(job_id, enabled=True, schedule=Once(START + 3 * _HOUR))
    assert bench.job(job_id).next_run_at == START + 3 * _HOUR


def test_a_running_job_that_is_enabled_again_is_planned_when_its_run_ends(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"))
    (run,) = bench.tick(_HOUR)
    bench.scheduler.update_job(job_id, enabled=False)
    bench.scheduler.update_job(job_id, enabled=True)
    bench.finish(run)
    assert bench.job(job_id).next_run_at == START + 2 * _HOUR


def test_disabling_and_enabling_by_an_update(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"))
    bench.scheduler.update_job(job_id, enabled=False)
    job = bench.scheduler.get_job(job_id)
    assert job is not None
    assert (job.status, job.next_run_at) == (JobStatus.DISABLED, None)
    bench.scheduler.update_job(job_id, enabled=True)
    job = bench.scheduler.get_job(job_id)
    assert job is not None
    assert (job.status, job.next_run_at) == (JobStatus.IDLE, START + _HOUR)


def test_a_once_that_is_done_lives_again_with_a_new_time(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Once(START + 1_000))
    (run,) = bench.tick(1_000)
    bench.finish(run)
    bench.scheduler.update_job(job_id, schedule=Once(START + 60_000))
    assert len(bench.tick(59_000)) == 1


def test_a_removed_job_can_be_restored_for_30_days(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"))
    bench.scheduler.remove_job(job_id)
    assert bench.scheduler.get_job(job_id) is None
    assert bench.scheduler.list_jobs() == []
    assert [job.id for job in bench.scheduler.list_removed()] == [job_id]
    bench.clock.advance(29 * _DAY)
    bench.scheduler.restore_job(job_id)
    job = bench.scheduler.get_job(job_id)
    assert job is not None
    assert job.next_run_at == START + 29 * _DAY + _HOUR
    bench.scheduler.remove_job(job_id)
    bench.clock.advance(31 * _DAY)
    bench.scheduler.remove_job(bench.scheduler.add_job("other", Manual()))
    assert [job.name for job in bench.scheduler.list_removed()] == ["other"]


def test_a_name_in_the_trash_is_free(bench: Bench) -> None:
    first = bench.scheduler.add_job("job", Manual())
    bench.scheduler.remove_job(first)
    bench.scheduler.add_job("job", Manual())
    with pytest.raises(ScheduleError, match="another job named 'job'"):
        bench.scheduler.restore_job(first)


def test_jobs_are_listed_by_next_run_and_filtered(bench: Bench) -> None:
    bench.scheduler.add_job("never", Manual(), group="g")
    bench.scheduler.add_job("late", Every("2h"), metadata={"team": "a"})
    bench.scheduler.add_job("Soon", Every("1h"), description="Backup of photos", group="g")
    names = [job.name for job in bench.scheduler.list_jobs()]
    assert names == ["Soon", "late", "never"]
    assert [job.name for job in bench.scheduler.list_jobs(group="g")] == ["Soon", "never"]
    assert [job.name for job in bench.scheduler.list_jobs(text="PHOTOS")] == ["Soon"]
    assert [job.name for job in bench.scheduler.list_jobs(text="every 2 hours")] == ["late"]
    assert [job.name for job in bench.scheduler.list_jobs(metadata={"team": "a"})] == ["late"]
    assert bench.scheduler.list_jobs(status=JobStatus.PAUSED) == []


@pytest.mark.parametrize(
    "call",
    [
        lambda scheduler: scheduler.update_job("x", name="y"),
        lambda scheduler: scheduler.remove_job("x"),
        lambda scheduler: scheduler.restore_job("x"),
        lambda scheduler: scheduler.pause_job("x"),
        lambda scheduler: scheduler.resume_job("x"),
        lambda scheduler: scheduler.trigger("x"),
        lambda scheduler: scheduler.cancel_run("x"),
        lambda scheduler: scheduler.clear_hints("x"),
        lambda scheduler: scheduler.get_run_stats("x"),
        lambda scheduler: scheduler.propose_interval("x", "5m"),
    ],
)
def test_unknown_jobs_are_reported(bench: Bench, call: object) -> None:
    with pytest.raises(JobNotFoundError, match="'x'"):
        call(bench.scheduler)  # type: ignore[operator] # a function of the scheduler


def test_pausing_and_resuming_all_leaves_disabled_jobs_alone(bench: Bench) -> None:
    ids = [bench.scheduler.add_job(name, Every("1h"), enabled=name != "off") for name in ("a", "b", "off")]
    bench.scheduler.pause_all(until=START + _HOUR)
    assert [job.status for job in map(bench.scheduler.get_job, ids) if job] == [
        "paused",
        "paused",
        "disabled",
    ]
    bench.scheduler.resume_all()
    assert [job.status for job in map(bench.scheduler.get_job, ids) if job] == ["idle", "idle", "disabled"]


def test_pausing_all_lengthens_pauses_that_would_end_sooner(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"))
    bench.scheduler.pause_job(job_id, until=START + _HOUR)
    bench.scheduler.pause_all(until=START + 60_000)
    job = bench.scheduler.get_job(job_id)
    assert job is not None
    assert job.paused_until == START + _HOUR
    bench.scheduler.pause_all()
    job = bench.scheduler.get_job(job_id)
    assert job is not None
    assert (job.status, job.paused_until) == (JobStatus.PAUSED, None)


def test_resuming_all_leaves_out_a_once_that_is_past(bench: Bench) -> None:
    bench.scheduler.add_job("once", Once(START + 1_000))
    other = bench.scheduler.add_job("other", Every("1h"))
    bench.scheduler.pause_all()
    bench.clock.advance(5_000)
    bench.scheduler.resume_all()
    job = bench.scheduler.get_job(other)
    assert job is not None
    assert job.status is JobStatus.IDLE


def test_an_edit_of_the_policy_keeps_the_count_of_coalesced_slots(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1m"))
    bench.scheduler.pause_job(job_id)
    bench.tick()
    bench.clock.advance(5 * 60_000)
    bench.scheduler.resume_job(job_id)
    bench.scheduler.update_job(job_id, policy=Policy(max_errors=1))
    (run,) = bench.tick(60_000)
    assert run.passed_over == 5


def test_the_log_since_an_instant_includes_runs_that_never_started(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Once(START + 1_000))
    bench.scheduler.pause_job(job_id, until=START + 5_000)
    bench.tick(10_000)
    assert [run.outcome for run in bench.scheduler.get_run_log(since=START)] == [Outcome.SKIPPED]


def test_a_dead_engine_is_not_shown_as_running(bench: Bench) -> None:
    bench.tick()
    bench.scheduler._store.database.rows("UPDATE scheduler_engine SET process_start = 'another'")
    assert bench.scheduler.status().state == "stopped"


def test_a_pause_that_would_be_over_is_refused(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1h"))
    with pytest.raises(ScheduleError, match="already be over"):
        bench.scheduler.pause_job(job_id, until=START)


def test_a_job_that_runs_cannot_be_triggered(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Every("1m"))
    bench.tick(60_000)
    with pytest.raises(ScheduleTriggerError) as caught:
        bench.scheduler.trigger(job_id)
    assert caught.value.reason == "already_running"


def _run_some(bench: Bench, outcomes: list[Outcome]) -> str:
    job_id = bench.scheduler.add_job("job", Every("1m"), policy=Policy(max_errors=0))
    for outcome in outcomes:
        job = bench.scheduler.get_job(job_id)
        assert job is not None
        (run,) = bench.tick((job.next_run_at or 0) - bench.clock.now_ms())
        bench.clock.advance(1_000)
        bench.finish(run, outcome)
    return job_id


def test_the_log_is_filtered_and_paged_by_key(bench: Bench) -> None:
    job_id = _run_some(bench, [Outcome.SUCCESS, Outcome.FAILURE, Outcome.SUCCESS, Outcome.SUCCESS])
    log = bench.scheduler.get_run_log(job_id)
    assert [run.outcome for run in log] == ["success", "success", "failure", "success"]
    assert bench.scheduler.get_run_log(job_id, outcome=Outcome.FAILURE) == [log[2]]
    first = bench.scheduler.get_run_log(limit=3)
    assert first + bench.scheduler.get_run_log(limit=3, before=first[-1].id) == log
    assert bench.scheduler.get_run_log(since=log[1].started_at) == log[:2]
    assert bench.scheduler.get_run_log(until=log[1].started_at) == log[2:]
    assert bench.scheduler.get_run_log(trigger=Trigger.MANUAL) == []
    assert bench.scheduler.get_run(log[0].id) == log[0]
    assert bench.scheduler.get_output(log[0].id) == b""


def test_history_in_numbers(bench: Bench) -> None:
    job_id = _run_some(bench, [Outcome.FAILURE, Outcome.SUCCESS, Outcome.SUCCESS])
    stats = bench.scheduler.get_run_stats(job_id)
    assert (stats.total, stats.streak, stats.average_ms, stats.p95_ms) == (3, 2, 1_000, 1_000)
    assert stats.by_outcome == {Outcome.SUCCESS: 2, Outcome.FAILURE: 1}
    assert isinstance(stats.last_run, Run)
    empty = bench.scheduler.get_run_stats(bench.scheduler.add_job("new", Manual()))
    assert (empty.total, empty.streak, empty.average_ms, empty.last_run) == (0, 0, None, None)


def test_listeners_hear_of_changes_until_they_leave(bench: Bench) -> None:
    heard: list[Change] = []
    leave = bench.scheduler.subscribe(heard.append)
    job_id = bench.scheduler.add_job("job", Every("1m"))
    assert heard == [Change(ChangeKind.JOB, job_id=job_id)]
    (run,) = bench.tick(60_000)
    bench.finish(run)
    assert Change(ChangeKind.RUN_STARTED, job_id=job_id, run_id=run.id) in heard
    assert Change(ChangeKind.RUN_FINISHED, job_id=job_id, run_id=run.id) in heard
    leave()
    leave()
    count = len(heard)
    bench.scheduler.remove_job(job_id)
    assert len(heard) == count


def test_a_listener_that_fails_does_not_affect_others(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    heard: list[Change] = []
    bench.scheduler.subscribe(lambda _change: 1 / 0)  # type: ignore[arg-type] # it fails
    bench.scheduler.subscribe(heard.append)
    bench.scheduler.add_job("job", Every("1m"))
    assert len(heard) == 1
    assert "a listener failed" in caplog.text


def test_the_status_names_the_owner_of_the_lease(bench: Bench) -> None:
    assert bench.scheduler.status().state == "stopped"
    bench.scheduler.add_job("job", Every("1m"))
    bench.tick()
    found = bench.scheduler.status()
    assert (found.state, found.running, found.next_due_at, found.started_at) == (
        "running",
        0,
        START + 60_000,
        START,
    )
    bench.scheduler.stop()
    assert bench.scheduler.status().state == "stopped"


def test_stopping_waits_for_runs_and_counts_those_that_do_not_end(bench: Bench) -> None:
    bench.scheduler.add_job("job", Every("1m"))
    bench.tick(60_000)
    with pytest.raises(SchedulerShutdownError) as caught:
        bench.scheduler.stop(timeout_ms=1_000)
    assert (caught.value.running, caught.value.timed_out) == (1, True)
    assert str(caught.value) == "1 run did not end within 1 s"
    assert bench.scheduler.status().state == "stopped"


def test_max_concurrent_is_checked(tmp_path: Path) -> None:
    with pytest.raises(ScheduleError, match="max_concurrent: must be at least 1"):
        Scheduler.open(tmp_path / "halo.db", max_concurrent=0)


def test_cron_jobs_are_stored_and_planned(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Cron("0 9 * * *", timezone="UTC"))
    job = bench.scheduler.get_job(job_id)
    assert job is not None
    assert (job.next_run_at, job.next_source) == (START + 9 * _HOUR, Source.CRON)


def test_a_one_time_job_whose_time_passed_in_the_trash_says_so_when_restored(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Once(START + 1_000))
    bench.scheduler.remove_job(job_id)
    bench.tick(2_000)
    bench.scheduler.restore_job(job_id)
    (run,) = bench.scheduler.get_run_log(job_id)
    assert (run.outcome, run.reason, run.slot_at) == (Outcome.SKIPPED, SkipReason.DISABLED, START + 1_000)
    assert run.error == "the job was in the trash at that time"


def test_a_once_restored_while_it_runs_is_done_when_that_run_ends(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Once(START + 1_000))
    (run,) = bench.tick(1_000)
    bench.scheduler.remove_job(job_id)
    bench.scheduler.restore_job(job_id)
    job = bench.scheduler.get_job(job_id)
    assert job is not None
    assert (job.status, job.status_reason) == (JobStatus.RUNNING, None)
    bench.finish(run)
    job = bench.scheduler.get_job(job_id)
    assert job is not None
    assert job.status_reason is StatusReason.DONE
    assert len(bench.scheduler.get_run_log(job_id)) == 1


# --- What a window asks for -------------------------------------------------------------------------


def test_some_jobs_are_given_at_once_without_the_removed_and_unknown(bench: Bench) -> None:
    one, two, gone = bench.scheduler.add_jobs([{"name": name, "schedule": Manual()} for name in "abc"])
    bench.scheduler.remove_job(gone)
    found = bench.scheduler.jobs.get_many([one, two, gone, "unknown"])
    assert found == {job.id: job for job in bench.scheduler.list_jobs()}
    assert bench.scheduler.jobs.get_many([gone]) == {}
    assert bench.scheduler.jobs.get_many(iter([])) == {}


def test_pages_list_the_jobs_in_order(bench: Bench) -> None:
    schedules = [Manual(), Every("2h"), Every("1h"), Manual(), Every("1h"), Once(START + 5)]
    bench.scheduler.add_jobs(
        [{"name": f"{index}", "schedule": schedule} for index, schedule in enumerate(schedules)]
    )
    pages = list(bench.scheduler.jobs.in_pages(4))
    assert [len(page) for page in pages] == [4, 2]
    assert [job for page in pages for job in page] == bench.scheduler.list_jobs()
    with pytest.raises(ScheduleError, match="size: must be at least 1"):
        list(bench.scheduler.jobs.in_pages(0))


def test_a_job_removed_between_pages_is_left_out(bench: Bench) -> None:
    ids = bench.scheduler.add_jobs([{"name": name, "schedule": Manual()} for name in "abcd"])
    pages = bench.scheduler.jobs.in_pages(2)
    assert len(next(pages)) == 2
    bench.scheduler.remove_job(ids[2])
    assert [job.id for job in next(pages)] == [ids[3]]


def test_a_copy_gets_a_name_that_is_free(bench: Bench) -> None:
    for name in ("backup", "backup (copy)", "backup (copy 2)"):
        assert bench.scheduler.jobs.unused_name("mail") == "mail (copy)"
        bench.scheduler.add_job(name, Manual())
    assert bench.scheduler.jobs.unused_name("backup") == "backup (copy 3)"
    assert bench.scheduler.jobs.unused_name("backup (copy)") == "backup (copy 3)"
    assert bench.scheduler.jobs.unused_name("backup (copy 2)") == "backup (copy 3)"
    long = bench.scheduler.jobs.unused_name("x" * 200)
    assert (len(long), long[-8:]) == (200, "x (copy)")
    bench.scheduler.add_job(bench.scheduler.jobs.unused_name(" (copy)"), Manual())


def test_the_limits_of_groups_are_listed(bench: Bench) -> None:
    assert bench.scheduler.jobs.group_limits() == {}
    bench.scheduler.set_group_limit("a", 2)
    bench.scheduler.set_group_limit("b", 1)
    bench.scheduler.set_group_limit("b", None)
    assert bench.scheduler.jobs.group_limits() == {"a": 2}


def test_backups_are_made_and_listed(bench: Bench) -> None:
    assert bench.scheduler.backups.list() == []
    backup = bench.scheduler.backups.make()
    assert backup.made_at == START
    assert backup.path.exists()
    assert bench.scheduler.backups.list() == [backup]


def test_many_changes_at_once_are_described_as_one(bench: Bench) -> None:
    heard: list[Change] = []
    bench.scheduler.subscribe(heard.append)
    ids = bench.scheduler.add_jobs([{"name": f"{index}", "schedule": Manual()} for index in range(20)])
    assert heard == [Change(ChangeKind.JOB, job_id) for job_id in ids]
    heard.clear()
    bench.scheduler.add_job("one more", Manual())
    heard.clear()
    bench.scheduler.pause_all()
    assert heard == [Change(ChangeKind.JOB)]


def test_slots_missed_in_the_trash_are_recorded(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("job", Once(START + 1_000))
    bench.scheduler.remove_job(job_id)
    bench.clock.advance(2_000)
    heard: list[Change] = []
    bench.scheduler.subscribe(heard.append)
    bench.scheduler.restore_job(job_id)
    (run,) = bench.scheduler.get_run_log(job_id)
    assert heard == [Change(ChangeKind.JOB, job_id), Change(ChangeKind.RUN_FINISHED, job_id, run.id)]


# --- Would it start? -----------------------------------------------------------------------------------


def _check(bench: Bench, job_id: str) -> SkipReason | None:
    found = bench.scheduler.check(job_id)
    assert found.would_start == (found.skip_reason is None)
    return found.skip_reason


def test_check_reports_whether_a_job_would_start_and_why_not(bench: Bench, tmp_path: Path) -> None:
    scheduler = bench.scheduler
    plain = scheduler.add_job("plain", Every("1h"))
    assert _check(bench, plain) is SkipReason.NOT_DUE
    assert _check(bench, scheduler.add_job("manual", Manual())) is SkipReason.NOT_DUE
    asks = scheduler.add_job("asks", Every("1h"))
    ask(scheduler, asks)
    here = scheduler.add_job("here", Every("1h"), policy=Policy(conditions=(PathExists(path=str(tmp_path)),)))
    away = PathExists(path=str(tmp_path / "away"))
    gone = scheduler.add_job("gone", Every("1h"), policy=Policy(conditions=(away,)))
    bench.clock.advance(_HOUR)
    found = [_check(bench, job_id) for job_id in (plain, asks, here, gone)]
    assert found == [None, SkipReason.NEEDS_INPUT, None, SkipReason.CONDITION]
    bench.tick()
    assert (_check(bench, plain), _check(bench, gone)) == (SkipReason.ALREADY_RUNNING, SkipReason.CONDITION)
    scheduler.pause_job(gone)
    assert _check(bench, gone) is SkipReason.PAUSED
    scheduler.update_job(gone, enabled=False)
    assert _check(bench, gone) is SkipReason.DISABLED
    with pytest.raises(JobNotFoundError):
        scheduler.check("unknown")


def test_check_reports_limits_and_quiet_hours(bench: Bench) -> None:
    scheduler = bench.scheduler
    scheduler.set_group_limit("web", 1)
    first = scheduler.add_job("first", Manual(), group="web")
    second = scheduler.add_job("second", Every("1h"), group="web")
    night = QuietTime(name="Night", group="night", start="00:30", end="06:00", timezone="UTC")
    scheduler.settings.change(quiet_times=(night,))
    quiet = scheduler.add_job("quiet", Every("1h"), group="night")
    scheduler.trigger(first)
    bench.tick()
    bench.clock.advance(_HOUR)
    assert (_check(bench, second), _check(bench, quiet)) == (SkipReason.AT_CAPACITY, SkipReason.QUIET_TIME)
    bench.tick()
    assert (_check(bench, second), _check(bench, quiet)) == (SkipReason.AT_CAPACITY, SkipReason.QUIET_TIME)
    # A manual run that is about to start is no reason.
    third = scheduler.add_job("third", Every("1h"))
    bench.clock.advance(_HOUR)
    scheduler.trigger(third)
    assert _check(bench, third) is None


def test_a_scheduler_that_waits_for_its_runs_is_stopping(bench: Bench) -> None:
    bench.scheduler.add_job("job", Every("1h"))
    (run,) = bench.tick(_HOUR)
    engine = bench.scheduler.engine.get_engine()
    engine.stop_claiming()
    assert bench.scheduler.status().state == "stopping"
    with pytest.raises(SchedulerError, match="Halo is stopping and waits for 1 run; nothing new starts"):
        require_engine(bench.scheduler, starts=True)
    require_engine(bench.scheduler)  # What runs can still be followed and stopped.
    bench.open_runs.pop(run.id).set_result(None)
    bench.scheduler.stop()
    assert bench.scheduler.status().state == "stopped"
    bench.tick()
    assert bench.scheduler.status().state == "running"


def test_a_store_that_cannot_be_written_does_not_keep_the_engine_from_stopping(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise StoreUnavailableError("locked")

    bench.tick()
    monkeypatch.setattr(bench.scheduler._store.lease, "note_stopping", refuse)
    bench.scheduler.stop()
    assert bench.scheduler.status().state == "stopped"


def test_a_waiting_run_is_not_reported_cancelled_while_the_store_cannot_be_written(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise StoreUnavailableError("full")

    waiting = bench.scheduler.trigger(bench.scheduler.add_job("job", Manual()))
    monkeypatch.setattr(engine_control, "ask_to_stop", lambda *_: True)
    monkeypatch.setattr(bench.scheduler._store.requests, "withdraw_trigger", refuse)
    with pytest.raises(StoreUnavailableError, match="full"):
        bench.scheduler.cancel_run(waiting)
    monkeypatch.undo()
    assert [run.id for run in bench.tick()] == [waiting]


def test_a_job_in_the_trash_can_be_deleted_for_good(bench: Bench) -> None:
    removed = bench.scheduler.add_job("a", Manual())
    kept = bench.scheduler.add_job("b", Manual())
    bench.scheduler.remove_job(removed)
    bench.scheduler.jobs.delete_removed([removed, kept])
    assert bench.scheduler.list_removed() == []
    assert [job.id for job in bench.scheduler.list_jobs()] == [kept]
