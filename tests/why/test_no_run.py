"""Why a job did not run: answered from real histories."""

from __future__ import annotations

from pathlib import Path

import pytest
from morning import HOUR, MINUTE, SECOND, Morning, at

from halo_scheduler import (
    Backoff,
    Cron,
    Every,
    JobNotFoundError,
    Limits,
    Once,
    Outcome,
    Policy,
    Retry,
)
from halo_scheduler.model import Caps, CatchUp, Schedule, StatusReason
from halo_scheduler.why.inquiry import Verdict

pytestmark = pytest.mark.usefixtures("machine_in_berlin")


# --- Nobody was awake ----------------------------------------------------------------------------------------


def test_downtime_is_reported_while_it_lasts_and_after_it(morning: Morning) -> None:
    morning.add()
    morning.until("8:20")
    morning.scheduler.stop()
    morning.clock.set(at("10:05"))
    assert morning.said("8:30")[:1] == (Verdict.NOT_RUNNING,)
    assert morning.said("8:30")[1][0] == "It is due, but Halo has not been running since 08:20."
    assert morning.said("9:00") == (Verdict.NOT_RUNNING, ["Halo has not been running since 08:20."])
    (caught_up,) = morning.jump("10:05")
    assert morning.said("9:00") == (
        Verdict.NOT_RUNNING,
        [
            "Halo was not running from 08:20 to 10:05.",
            "The run scheduled for 10:00 covers 6 times, including this one.",
            "It started at 10:05, 5 min late, and succeeded within a second.",
        ],
    )
    assert morning.said("10:00") == (
        Verdict.LATE,
        [
            "It started at 10:05, 5 min late, and succeeded within a second.",
            "Halo was not running from 08:20 to 10:05: this run caught up.",
            "It also covers 6 other times of its schedule, because Halo was not running.",
        ],
    )
    assert morning.ask("9:00").run_id == morning.ask("10:00").run_id == caught_up.id


def test_a_missed_slot_represents_the_others(morning: Morning) -> None:
    morning.add(policy=Policy(catch_up=CatchUp.SKIP))
    morning.until("8:20")
    morning.restart()
    assert morning.jump("10:05") == []
    verdict, sentences = morning.said("8:30")
    assert (verdict, sentences[0]) == (
        Verdict.MISSED,
        "It was missed (noticed at 10:05): Halo was not running at that time.",
    )
    assert morning.said("9:00") == (
        Verdict.NOT_RUNNING,
        [
            "Halo was not running from 08:20 to 10:05.",
            "It was coalesced into the missed run of 08:30, which covers 6 times besides its own.",
        ],
    )
    assert morning.ask("9:00").run_id == morning.ask("8:30").run_id


def test_sleep_is_reported_as_such(morning: Morning) -> None:
    morning.add()
    morning.until("8:20")
    morning.jump("10:05")
    assert morning.said("8:30")[1][0] == "The computer slept from 08:20 to 10:05."
    assert morning.said("10:00")[1][1] == ("The computer slept from 08:20 to 10:05: this run caught up.")


def test_before_the_first_engine_none_was_running(tmp_path: Path) -> None:
    morning = Morning(tmp_path / "new.db")
    morning.job_id = morning.scheduler.add_job("backup", Every("15m"))
    morning.clock.set(at("8:40"))
    assert morning.said("8:30") == (Verdict.NOT_RUNNING, ["Halo has not been running."])
    morning.tick()
    morning.clock.advance(MINUTE)
    assert morning.said("8:15") == (
        Verdict.LATE,
        ["It started at 08:40, 25 min late, and is still running.", "Halo was not running until 08:40."],
    )
    assert morning.said("8:30") == (Verdict.NOT_RUNNING, ["Halo was not running until 08:40."])
    morning.close()


def test_a_slot_not_yet_claimed_is_due(morning: Morning) -> None:
    morning.add()
    morning.until("8:14")
    morning.clock.set(at("8:15") + 5 * SECOND)
    assert morning.said("8:15") == (
        Verdict.WAITING,
        ["Next: 08:15 (every 15 minutes).", "It has been due since 08:15."],
    )


# --- It could not run -----------------------------------------------------------------------------------------


def test_a_pause_is_reported_with_its_ends(morning: Morning) -> None:
    morning.add()
    morning.until("8:20")
    morning.scheduler.pause_job(morning.job_id, until=at("9:10"))
    morning.until("8:40")
    assert morning.said("8:30") == (Verdict.PAUSED, ["It has been paused since 08:20, until 09:10."])
    assert morning.said("9:00") == (
        Verdict.PAUSED,
        ["It is paused until 09:10.", "After that: every 15 minutes."],
    )
    assert morning.said("9:15")[0] is Verdict.EXPECTED
    morning.until("9:20")
    assert morning.said("9:00") == (Verdict.PAUSED, ["It was paused from 08:20 to 09:10."])
    assert morning.said("9:15")[1][-1] == (
        "It also covers 3 other times of its schedule, because the job was paused."
    )


def test_a_longer_pause_over_a_shorter_one_begins_at_its_own_start(morning: Morning) -> None:
    morning.add()
    morning.scheduler.pause_job(morning.job_id, until=at("8:20"))
    morning.until("8:10")
    morning.scheduler.pause_job(morning.job_id)
    morning.until("9:00")
    morning.scheduler.resume_job(morning.job_id)
    assert morning.said("8:45") == (Verdict.PAUSED, ["It was paused from 08:10 to 09:00."])


def test_a_pause_for_review_names_its_cause(morning: Morning) -> None:
    morning.add(paused_by=StatusReason.ASSISTANT)
    morning.until("8:20")
    assert morning.said("8:15") == (
        Verdict.PAUSED,
        ["It has been paused since 08:00, because an assistant had created or changed it."],
    )


def test_a_job_that_was_disabled_says_since_when(morning: Morning) -> None:
    morning.add(enabled=False)
    morning.until("8:20")
    assert morning.said("8:15") == (Verdict.DISABLED, ["It has been disabled since 08:00."])
    assert morning.said("9:15") == (Verdict.DISABLED, ["It is disabled until you enable it."])
    morning.scheduler.resume_job(morning.job_id)
    morning.until("8:40")
    assert morning.said("8:15") == (Verdict.DISABLED, ["It was disabled from 08:00 to 08:20."])
    morning.scheduler.update_job(morning.job_id, enabled=False)
    morning.until("9:00")
    morning.scheduler.update_job(morning.job_id, enabled=True)
    assert morning.said("8:45") == (Verdict.DISABLED, ["It was disabled from 08:40 to 09:00."])


def test_a_job_that_disabled_itself_says_after_how_many_failures(morning: Morning) -> None:
    morning.add(policy=Policy(max_errors=2))
    for clock in ("8:15", "8:30"):
        morning.finish(morning.begin(clock), Outcome.FAILURE)
    morning.until("8:50")
    assert morning.said("8:45") == (
        Verdict.DISABLED,
        ["It has been disabled since 08:30, after it had failed 2 times in a row."],
    )
    morning.scheduler.update_job(morning.job_id, policy=Policy(max_errors=1))
    morning.scheduler.resume_job(morning.job_id)
    morning.finish(morning.begin("9:00"), Outcome.FAILURE)
    morning.until("9:20")
    assert morning.said("9:15")[1] == ["It has been disabled since 09:00, after it had failed."]


def test_the_end_of_a_pause_brings_no_disabled_job_back(morning: Morning) -> None:
    morning.add(enabled=False)
    morning.scheduler.pause_job(morning.job_id, until=at("8:20"))
    morning.until("9:00")
    assert morning.said("8:45") == (Verdict.DISABLED, ["It has been disabled since 08:00."])


def test_a_finished_one_time_job_explains_other_times(morning: Morning) -> None:
    morning.add(Once(at("8:10")))
    assert morning.said("8:10")[0] is Verdict.PLANNED
    assert morning.said("8:09")[1][0] == "It runs once, at another time: 08:10."
    morning.until("8:30")
    assert morning.said("8:10")[0] is Verdict.RAN
    assert morning.said("8:20") == (
        Verdict.NOT_A_POINT,
        [
            "It runs once, at another time: 08:10.",
            "The last run before that started at 08:10 and ended at 08:10.",
            "Also, it has been disabled since 08:10, because its only time had passed.",
        ],
    )
    morning.scheduler.update_job(morning.job_id, schedule=Once(at("8:50")))
    morning.until("9:00")
    assert (morning.ask("8:50").verdict, morning.ask("8:20").verdict) == (Verdict.RAN, Verdict.NOT_A_POINT)


def test_a_one_time_job_whose_time_fell_into_a_pause_is_reported_as_paused(morning: Morning) -> None:
    morning.add(Once(at("8:10")))
    morning.scheduler.pause_job(morning.job_id, until=at("8:20"))
    morning.until("8:30")
    assert morning.said("8:10") == (
        Verdict.PAUSED,
        ["It was skipped at 08:20: the job was paused at that time."],
    )


def test_a_job_in_the_trash_is_not_explained_otherwise(morning: Morning) -> None:
    morning.add()
    morning.until("8:20")
    morning.scheduler.remove_job(morning.job_id)
    morning.until("9:00")
    with pytest.raises(JobNotFoundError):
        morning.ask("8:30")
    morning.scheduler.restore_job(morning.job_id)
    assert morning.said("8:30") == (Verdict.REMOVED, ["It was in the trash from 08:20 to 09:00."])


@pytest.mark.parametrize("schedule", [Cron("*/10 * * * *"), Every("10m")])
def test_a_time_of_the_minute_in_which_it_was_made_was_never_its_own(
    morning: Morning, schedule: Schedule
) -> None:
    morning.clock.set(at("9:00") + 30 * SECOND)
    job_id = morning.add(schedule)
    morning.clock.set(at("9:01"))
    answer = morning.scheduler.jobs.why(job_id, at("9:00"), span_ms=MINUTE)
    assert (answer.verdict, answer.sentences) == (
        Verdict.BEFORE_IT_EXISTED,
        ("The job was created at 09:00:30; its first time is after that.",),
    )


def test_a_time_of_the_minute_in_which_it_was_made_counts_if_it_came_later(morning: Morning) -> None:
    morning.clock.set(at("9:00") + 30 * SECOND)
    job_id = morning.add(Every("15s"))
    (run,) = morning.tick(15 * SECOND)
    morning.finish(run)
    morning.clock.set(at("9:01"))
    answer = morning.scheduler.jobs.why(job_id, at("9:00"), span_ms=MINUTE)
    assert (answer.verdict, answer.run_id) == (Verdict.RAN, run.id)


def test_before_the_job_existed_there_is_nothing_to_explain(morning: Morning) -> None:
    morning.add()
    assert morning.said("7:45") == (
        Verdict.BEFORE_IT_EXISTED,
        ["The job did not exist then: it was created at 08:00."],
    )


# --- It was held back ------------------------------------------------------------------------------------------


def test_a_daily_limit_and_a_question_explain_a_skipped_slot(morning: Morning) -> None:
    morning.add(policy=Policy(caps=Caps(runs_per_day=1)))
    morning.end(morning.begin("8:15"), question="really?")
    morning.until("8:35")
    verdict, sentences = morning.said("8:30")
    assert verdict is Verdict.SKIPPED
    assert sentences[0] == "It was skipped at 08:30: it waits for your answer to: really?"
    (question,) = morning.scheduler.questions.list()
    morning.scheduler.questions.dismiss(question.id)
    morning.until("8:50")
    assert morning.said("8:45")[1][0].startswith(
        "It was skipped at 08:45: 1 run today, which is its daily limit"
    )


# --- It was passed over -----------------------------------------------------------------------------------------


def test_a_run_that_took_long_passes_over_times(morning: Morning) -> None:
    morning.add()
    long = morning.begin("8:15")
    morning.until("8:40")
    verdict, sentences = morning.said("8:30")
    assert (verdict, sentences) == (
        Verdict.PASSED_OVER,
        [
            "It was still running then; a job has only one run at a time.",
            "It started at 08:15 and is still running.",
            "Times that pass meanwhile are coalesced into the next run.",
        ],
    )
    assert morning.ask("8:30").run_id == long.id
    morning.finish(long)
    (counting,) = morning.until("8:46")
    assert morning.ask("8:30").run_id == counting.id
    assert morning.said("8:45")[1][1] == (
        "It also covers 1 other time of its schedule, because the previous run was still active."
    )


def test_a_run_that_failed_at_the_very_time_of_the_next_passed_it_over(morning: Morning) -> None:
    morning.add(policy=Policy(time_limit="15m"))
    morning.begin("8:15")
    while morning.clock.now_ms() < at("8:46"):
        for run in morning.tick(MINUTE):
            morning.finish(run)
    assert morning.said("8:30")[1][0] == "It did not run then, because the previous run ended only then."


def test_a_backoff_passes_over_times(morning: Morning) -> None:
    morning.add(policy=Policy(backoff=Backoff.ladder(HOUR)))
    morning.finish(morning.begin("8:15"), Outcome.FAILURE)
    morning.until("8:40")
    assert morning.said("8:30") == (
        Verdict.PASSED_OVER,
        ["Its next run, scheduled for 09:15, covers it, because the job was backing off after a failure."],
    )
    assert morning.said("9:00")[1][0] == "That time will be coalesced into the next run, scheduled for 09:15."
    morning.until("9:20")
    assert morning.said("8:30") == (
        Verdict.PASSED_OVER,
        [
            "It did not run then, because the job was backing off after a failure.",
            "The run scheduled for 09:15 covers 3 times, including this one.",
            "It started at 09:15 and succeeded within a second.",
            "It was scheduled for that time because it was backing off after a failure.",
        ],
    )


def test_an_interval_that_was_doubled_passes_over_times(morning: Morning) -> None:
    morning.add(policy=Policy(backoff=Backoff.double()))
    morning.finish(morning.begin("8:15"), Outcome.FAILURE)
    morning.until("8:50")
    assert (
        morning.said("8:30")[1][0] == "It did not run then, because the job was backing off after a failure."
    )


def test_limits_pass_over_times(morning: Morning) -> None:
    morning.add(policy=Policy(limits=Limits(min_ms=40 * MINUTE)))
    morning.until("8:41")
    morning.until("9:30")
    verdict, sentences = morning.said("8:45")
    assert verdict is Verdict.PASSED_OVER
    assert sentences[-1] == "It was scheduled for that time because its limits allowed no earlier time."


def test_a_retry_passes_over_times(morning: Morning) -> None:
    morning.add(policy=Policy(retry=Retry(attempts=1, delay_ms=14 * MINUTE), backoff=Backoff.none()))
    morning.finish(morning.begin("8:15"), Outcome.FAILURE)
    retry = morning.begin("8:29")
    morning.until("8:40")
    morning.finish(retry)
    morning.until("8:50")
    assert morning.said("8:30")[1][:2] == [
        "It was still running then; a job has only one run at a time.",
        "Attempt 2 started at 08:29 and succeeded after 11 min.",
    ]
