"""What is said of times that were none of a job's, or that came to it when it was another one."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from cases import utc_ms
from morning import DISK, HOUR, MINUTE, Morning, at

from halo_scheduler import (
    After,
    Backoff,
    Cron,
    Entry,
    Every,
    Limits,
    Manual,
    Outcome,
    Overlap,
    Policy,
)
from halo_scheduler.grammar.zone import machine_zone
from halo_scheduler.model import Follower
from halo_scheduler.store.events import EventKind
from halo_scheduler.why.inquiry import Verdict

pytestmark = pytest.mark.usefixtures("machine_in_berlin")


# --- It was another job then --------------------------------------------------------------------------------------


def test_an_edit_leaves_the_old_times_to_the_old_schedule(morning: Morning) -> None:
    morning.add()
    morning.until("8:50")
    morning.scheduler.update_job(morning.job_id, schedule=Every("1h"), anchor_at=at("8:10"))
    morning.until("9:20")
    assert morning.said("8:30") == (
        Verdict.RAN,
        [
            "It started at 08:30 and succeeded within a second.",
            "Its schedule was changed since, at 08:50; then it was: every 15 minutes.",
        ],
    )
    assert morning.said("8:10") == (
        Verdict.EDITED,
        [
            "That time was not on its schedule then: every 15 minutes.",
            "It was changed at 08:50; now it is: every hour.",
        ],
    )
    assert morning.said("9:10")[0] is Verdict.RAN
    assert morning.said("9:00")[1][0] == (
        "That time is not on its schedule, every hour; the nearest are 08:10 and 09:10."
    )


def test_an_edit_explains_a_coalesced_slot(morning: Morning) -> None:
    morning.add(policy=Policy(backoff=Backoff.ladder(HOUR)))
    morning.finish(morning.begin("8:15"), Outcome.FAILURE)
    morning.until("8:35")
    morning.scheduler.update_job(morning.job_id, schedule=Every("20m"))
    morning.until("9:30")
    assert morning.said("8:30") == (
        Verdict.EDITED,
        [
            "It had not run again when it was edited at 08:35, which dropped the times it had missed.",
            "Before that, its schedule was: every 15 minutes.",
        ],
    )


def test_a_rename_changes_no_times(morning: Morning) -> None:
    morning.add()
    morning.until("8:20")
    morning.scheduler.update_job(morning.job_id, name="copy", description="x")
    answer = morning.ask("8:15")
    assert (answer.name, answer.sentences) == (
        "copy",
        ("It started at 08:15 and succeeded within a second.",),
    )


def test_a_spec_that_can_no_longer_be_read_is_admitted(morning: Morning) -> None:
    morning.add()
    morning.until("8:20")
    morning.scheduler._store.events.append(
        at("8:20"), EventKind.JOB_EDITED, morning.job_id, before={"schedule": {"kind": "moon"}}, after={}
    )
    assert morning.said("8:10")[0] is Verdict.UNKNOWN
    assert morning.said("8:15")[0] is Verdict.RAN


def test_pruned_records_are_not_guessed(morning: Morning) -> None:
    morning.add()
    morning.until("9:20")
    morning.scheduler._store.runs.prune(keep_per_job=2, ended_before=0, most=10)
    assert morning.said("8:15") == (
        Verdict.UNKNOWN,
        ["The run history no longer goes back that far."],
    )


def test_a_time_without_records_is_unknown(morning: Morning) -> None:
    morning.add()
    morning.until("8:20")
    record = morning.scheduler._store.jobs.get(morning.job_id)
    assert record is not None
    morning.scheduler._store.jobs.save_states([record.evolve(counted_until=at("9:00"))])
    morning.scheduler._store.database.rows("DELETE FROM scheduler_run_log")
    assert morning.said("8:15") == (
        Verdict.UNKNOWN,
        ["It was due then, but nothing is recorded about it."],
    )


# --- No time of its schedule ---------------------------------------------------------------------------------------


def test_another_time_names_the_nearest_and_the_runs_beside_it(morning: Morning) -> None:
    morning.add()
    morning.until("8:35")
    answer = morning.ask("8:20")
    assert (answer.verdict, answer.point_before, answer.point_after) == (
        Verdict.NOT_A_POINT,
        at("8:15"),
        at("8:30"),
    )
    assert answer.sentences == (
        "That time is not on its schedule, every 15 minutes; the nearest are 08:15 and 08:30.",
        "The last run before that started at 08:15 and ended at 08:15.",
        "The first run after that started at 08:30.",
    )


def test_an_after_job_has_no_times_of_its_own(morning: Morning) -> None:
    morning.add(After("20m"))
    (first,) = morning.started
    morning.until("8:05")
    assert morning.said("8:02") == (
        Verdict.NOT_A_POINT,
        [
            "It runs 20 minutes after it finishes.",
            "The last run before that started at 08:00 and is still running.",
        ],
    )
    morning.finish(first)
    morning.until("8:30")
    assert morning.said("8:10") == (
        Verdict.NOT_A_POINT,
        [
            "It runs 20 minutes after it finishes.",
            "The last run before that started at 08:00 and ended at 08:05.",
            "The first run after that started at 08:25.",
        ],
    )
    assert morning.said("9:10") == (
        Verdict.NOT_A_POINT,
        [
            "It runs 20 minutes after it finishes, so only its next run is known.",
            "Its next run is scheduled for 08:45.",
        ],
    )
    morning.scheduler.pause_job(morning.job_id)
    morning.until("8:50")
    assert morning.said("8:46")[0] is Verdict.PAUSED
    morning.scheduler.resume_job(morning.job_id)
    morning.jump("9:30")
    assert morning.said("9:00")[0] is Verdict.NOT_RUNNING


def test_a_manual_job_is_never_due(morning: Morning) -> None:
    morning.add(Manual())
    morning.until("8:05")
    assert morning.said("8:02") == (
        Verdict.NOT_A_POINT,
        ["It only runs manually: it has no schedule."],
    )
    morning.scheduler.add_job("first", Manual(), followers=[Follower(job_id=morning.job_id)])
    assert morning.said("8:02")[1] == ["It has no schedule: it runs after first succeeds, or manually."]
    assert morning.said("9:00") == (Verdict.NOT_A_POINT, ["It runs after first succeeds, or manually."])


def _wait_after_first(morning: Morning) -> None:
    """Let a run after another job wait for its disk since 08:01."""
    morning.add(Manual(), policy=Policy(conditions=(DISK,)))
    cause = morning.scheduler.add_job("first", Manual(), followers=[Follower(job_id=morning.job_id)])
    morning.until("8:01")
    morning.scheduler.trigger(cause)
    morning.finish(morning.tick()[0])


def test_a_time_while_a_chain_run_waited_says_so(morning: Morning) -> None:
    _wait_after_first(morning)
    morning.until("8:20")
    waiting = "A run after first was waiting then, and still is: /mnt/disk to exist."
    assert morning.said("8:10") == (Verdict.WAITING, [waiting])
    assert morning.said("8:00")[0] is Verdict.NOT_A_POINT
    morning.disk.is_there = True
    morning.finish(morning.tick()[0])
    verdict, sentences = morning.said("8:10")
    assert (verdict, sentences[:2]) == (
        Verdict.WAITING,
        [
            "A run was waiting then.",
            "It was started after a run of first at 08:20 and succeeded within a second.",
        ],
    )
    assert morning.said("8:00")[0] is Verdict.NOT_A_POINT


def test_a_run_after_another_job_that_was_cancelled_while_it_waited_did_not_run(morning: Morning) -> None:
    _wait_after_first(morning)
    (waiting,) = morning.scheduler.runs.waiting_in_chains()
    morning.scheduler.cancel_run(waiting.run_id)
    assert morning.said("8:01") == (
        Verdict.SKIPPED,
        ["It was triggered by a run of first, but was cancelled at 08:01 before it started."],
    )


# --- The clock and the zone -----------------------------------------------------------------------------------------


def test_a_clock_that_was_set_back_is_mentioned(morning: Morning) -> None:
    morning.add()
    morning.until("8:50")
    morning.jump("8:20")
    morning.until("9:10")
    verdict, sentences = morning.said("8:30")
    assert verdict is Verdict.RAN
    assert sentences[-1] == "The clock was set back from 08:50 to 08:20 once, so that time came twice."
    assert morning.said("9:00")[1][-1] == (
        "It also covers 2 other times of its schedule, because the clock was set back."
    )


def test_a_cron_job_is_judged_by_the_zone_the_machine_had_then(
    morning: Morning, monkeypatch: pytest.MonkeyPatch
) -> None:
    morning.add(Cron("0 9 * * *"))
    morning.until("9:10")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    machine_zone.cache_clear()
    morning.tick(MINUTE)
    morning.scheduler._store.database.rows("DELETE FROM scheduler_run_log")
    assert morning.ask("9:00").verdict is not Verdict.NOT_A_POINT
    assert os.environ["TZ"] == "Asia/Tokyo"


def test_a_cron_time_in_the_spring_gap_is_found_after_it(tmp_path: Path) -> None:
    morning = Morning(tmp_path / "spring.db")
    morning.clock.set(utc_ms("2025-03-30T00:00Z"))  # 01:00 in Berlin; 02:00 becomes 03:00
    morning.add(Cron("30 2 * * *"))
    morning.clock.set(utc_ms("2025-03-30T00:59Z"))
    morning.tick()
    (run,) = morning.tick(MINUTE)
    morning.finish(run)
    answer = morning.scheduler.jobs.why(morning.job_id, utc_ms("2025-03-30T01:00Z"), span_ms=MINUTE)
    assert (answer.verdict, answer.sentences) == (
        Verdict.RAN,
        (
            "It started at 03:00 and succeeded within a second.",
            "On 30 Mar 2025 the clocks went forward from 02:00 to 03:00: 03:00 took the place of 02:30.",
        ),
    )
    morning.close()


def _last_sentence(path: Path, schedule: Cron, made_at: str, asked_at: str) -> str:
    morning = Morning(path)
    morning.clock.set(utc_ms(made_at))
    morning.add(schedule)
    asked = [morning.scheduler.jobs.why(morning.job_id, utc_ms(asked_at), span_ms=MINUTE)]
    if asked[0].verdict is Verdict.PLANNED:
        asked.append(morning.scheduler.jobs.why(morning.job_id))
    morning.close()
    (sentence,) = {answer.sentences[-1] for answer in asked}
    return sentence


@pytest.mark.parametrize(
    ("cron", "asked_at", "sentence"),
    [
        ("30 2 * * *", "2025-03-30T01:00Z", "02:00 to 03:00: 03:00 takes the place of 02:30."),
        (
            "0,30 2 * * *",
            "2025-03-30T01:00Z",
            "02:00 to 03:00: 03:00 takes the place of its times in between.",
        ),
        ("*/30 * * * *", "2025-03-30T01:00Z", "02:00 to 03:00: its times in between do not exist."),
        ("0 3 * * *", "2025-03-30T01:00Z", "(at 03:00 every day)."),
        ("30 2 * * *", "2025-10-26T00:30Z", "03:00 to 02:00: it runs in the first pass only."),
        ("30 2 * * *", "2025-10-26T01:30Z", "03:00 to 02:00: it runs in the first pass only."),
        ("*/30 * * * *", "2025-10-26T01:30Z", "03:00 to 02:00: it runs in both passes of that time."),
        ("30 3 * * *", "2025-10-26T02:30Z", "(at 03:30 every day)."),
    ],
)
def test_a_change_of_the_clocks_is_reported_where_it_moves_a_time(
    tmp_path: Path, cron: str, asked_at: str, sentence: str
) -> None:
    day = asked_at.partition("T")[0]
    said = _last_sentence(tmp_path / "halo.db", Cron(cron), f"{day}T00:00Z", asked_at)
    assert said.endswith(sentence)


def test_a_change_of_the_clocks_elsewhere_names_the_zone(tmp_path: Path) -> None:
    schedule = Cron("30 2 * * *", timezone="America/New_York")
    said = _last_sentence(tmp_path / "halo.db", schedule, "2025-03-09T00:00Z", "2025-03-09T07:00Z")
    assert said == (
        "On 9 Mar 2025 the clocks go forward from 02:00 to 03:00 in America/New_York: "
        "03:00 takes the place of 02:30."
    )


# --- Times that still get their run -----------------------------------------------------------------------------------


def test_a_queued_time_waits_for_its_turn(morning: Morning) -> None:
    morning.add([Entry(Every("15m"), on_overlap=Overlap.QUEUE)])
    run = morning.begin("8:15")
    morning.until("9:01")
    morning.end(run)

    assert morning.said("8:45") == (
        Verdict.WAITING,
        ["The run for that time is queued behind 1 other run of the job."],
    )


def test_the_pending_times_are_counted(morning: Morning) -> None:
    morning.add([Entry(Every("15m"), on_overlap=Overlap.QUEUE)], policy=Policy(limits=Limits(min_ms=60_000)))
    run = morning.begin("8:15")
    morning.until("9:01")
    morning.end(run)
    assert "After that, 2 queued runs follow." in morning.scheduler.jobs.explain(morning.job_id).sentences
    morning.until("9:02")
    assert "After that, 1 queued run follows." in morning.scheduler.jobs.explain(morning.job_id).sentences
