"""What is said of the runs that there were."""

from __future__ import annotations

import pytest
from morning import DAY, DISK, MINUTE, SECOND, Morning, at

from halo_scheduler import (
    Cron,
    Every,
    Manual,
    Outcome,
    Policy,
    Retry,
)
from halo_scheduler.model import Follower, HintSource, InQuietTime
from halo_scheduler.model.settings import QuietTime
from halo_scheduler.why.inquiry import Verdict

pytestmark = pytest.mark.usefixtures("machine_in_berlin")


# --- It ran -----------------------------------------------------------------------------------------------


def test_a_run_on_time_says_when_it_started_and_how_it_ended(morning: Morning) -> None:
    morning.add()
    run = morning.begin("8:15")
    morning.clock.advance(12 * SECOND)
    morning.finish(run)
    answer = morning.ask("8:15")
    assert (answer.verdict, answer.run_id, answer.at) == (Verdict.RAN, run.id, at("8:15"))
    assert answer.sentences == ("It started at 08:15 and succeeded after 12 s.",)


def test_a_run_that_keeps_running_says_so(morning: Morning) -> None:
    morning.add()
    morning.begin("8:15")
    assert morning.said("8:15") == (Verdict.RAN, ["It started at 08:15 and is still running."])


def test_a_failure_gives_its_reason(morning: Morning) -> None:
    morning.add()
    morning.finish(morning.begin("8:15"), error=ValueError("no disk"))
    assert morning.said("8:15") == (
        Verdict.RAN,
        ["It started at 08:15 and failed within a second: ValueError: no disk."],
    )


def test_all_attempts_of_a_slot_are_reported(morning: Morning) -> None:
    morning.add(Every("1h"), policy=Policy(retry=Retry(attempts=2, delay_ms=20 * MINUTE)))
    morning.finish(morning.begin("9:00"), Outcome.FAILURE)
    assert morning.said("9:00")[1][1:] == ["Attempt 2 is scheduled for 09:20."]
    (again,) = morning.until("9:30")
    assert morning.said("9:00") == (
        Verdict.RAN,
        [
            "It started at 09:00 and failed within a second.",
            "Attempt 2 started at 09:20 and succeeded within a second.",
        ],
    )
    assert morning.ask("9:00").run_id == again.id
    assert morning.said("9:20") == (
        Verdict.RAN,
        ["Attempt 2 started at 09:20 and succeeded within a second."],
    )


def test_a_manual_run_is_explained_for_the_minute_of_its_start(morning: Morning) -> None:
    morning.add()
    morning.until("8:20")
    run_id = morning.scheduler.trigger(morning.job_id)
    morning.finish(morning.tick()[0])
    answer = morning.ask("8:20")
    assert (answer.verdict, answer.run_id) == (Verdict.RAN, run_id)
    assert answer.sentences == ("It was started manually at 08:20 and succeeded within a second.",)


def test_a_manual_run_is_reported_beside_the_slot(morning: Morning) -> None:
    morning.add()
    morning.begin("8:15")
    morning.scheduler.pause_job(morning.job_id)
    morning.finish(morning.started[-1])
    morning.until("8:30")
    morning.scheduler.trigger(morning.job_id)
    morning.finish(morning.tick()[0])
    assert morning.said("8:30") == (
        Verdict.PAUSED,
        [
            "It has been paused since 08:15.",
            "It was started manually at 08:30 and succeeded within a second.",
        ],
    )


def test_a_run_after_another_job_names_it(morning: Morning) -> None:
    morning.add(Manual())
    cause = morning.scheduler.add_job("first", Manual(), followers=[Follower(job_id=morning.job_id)])
    morning.scheduler.trigger(cause)
    morning.finish(morning.tick()[0])
    (run,) = [run for run in morning.started if run.job_id == morning.job_id]
    morning.finish(run)
    assert morning.said("8:00") == (
        Verdict.RAN,
        ["It was started after a run of first at 08:00 and succeeded within a second."],
    )
    assert morning.said("7:59")[0] is Verdict.BEFORE_IT_EXISTED


def test_a_skipped_chain_run_names_its_cause(morning: Morning) -> None:
    morning.add(Manual())
    cause = morning.scheduler.add_job("first", Manual(), followers=[Follower(job_id=morning.job_id)])
    morning.scheduler.pause_job(morning.job_id)
    morning.scheduler.trigger(cause)
    morning.finish(morning.tick()[0])
    verdict, sentences = morning.said("8:00")
    assert (verdict, sentences) == (
        Verdict.PAUSED,
        ["It was skipped at 08:00: it was triggered by first, but it was paused at that time."],
    )
    morning.scheduler.resume_job(morning.job_id)
    morning.scheduler.settings.change(quiet_times=(QuietTime(start="08:05", end="09:00"),))
    morning.scheduler.update_job(morning.job_id, policy=Policy(in_quiet_time=InQuietTime.SKIP))
    morning.until("8:06")
    morning.scheduler.trigger(cause)
    morning.finish(morning.tick()[0])
    assert morning.said("8:06")[1][0].startswith(
        "It was triggered by a run of first, and was skipped at 08:06: it was due in the quiet hours"
    )


def test_answer_and_manual_runs_that_came_too_late_are_reported(morning: Morning) -> None:
    morning.add()
    morning.end(morning.begin("8:15"), question="really?")
    (question,) = morning.scheduler.questions.list()
    morning.scheduler.questions.answer(question.id, "yes")
    morning.finish(morning.tick(MINUTE)[0])
    assert morning.said("8:16")[1] == [
        "It was started with an answer at 08:16 and succeeded within a second."
    ]
    morning.scheduler.stop()
    morning.scheduler.trigger(morning.job_id)
    morning.jump("8:20")
    assert morning.said("8:20") == (
        Verdict.MISSED,
        [
            "A run was requested, and was skipped at 08:20: Halo was not running when this was requested.",
        ],
    )


def test_a_requested_run_says_who_planned_it(morning: Morning) -> None:
    morning.add()
    morning.scheduler.propose_interval(morning.job_id, "4m", reason="queue")
    morning.until("8:20")
    assert morning.said("8:12")[1] == [
        "It started at 08:12 and succeeded within a second.",
        "It was scheduled for that time because a program asked for a run every 4 min (queue).",
    ]
    verdict, sentences = morning.said("8:15")
    assert (verdict, sentences[:2]) == (
        Verdict.PASSED_OVER,
        [
            "It did not run then, because a hint set another time.",
            "The run scheduled for 08:16 covers it.",
        ],
    )


def test_the_source_of_a_hint_for_a_run_is_named_and_later_hints_are_not(morning: Morning) -> None:
    morning.add()
    morning.scheduler.propose_next_run(morning.job_id, at("8:10"), reason="now", source=HintSource.USER)
    morning.until("8:11")
    assert morning.said("8:10")[1][1] == (
        "It was scheduled for that time because you asked for a run at that time (now)."
    )
    morning.scheduler.propose_interval(morning.job_id, "2m", source=HintSource.ASSISTANT)
    morning.until("8:14")
    morning.scheduler.propose_interval(morning.job_id, "3m", reason="slower")
    morning.until("8:16")
    assert morning.said("8:13")[1][1] == (
        "It was scheduled for that time because an assistant asked for a run every 2 min."
    )
    assert morning.said("8:15")[1][1] == (
        "It was scheduled for that time because an assistant asked for a run every 2 min."
    )
    morning.scheduler._store.database.rows("DELETE FROM scheduler_events WHERE kind = 'job-hinted'")
    assert (
        morning.said("8:15")[1][1]
        == "It was scheduled for that time because a hint asked for a run at that pace."
    )


def test_a_run_that_was_stopped_says_so_once(morning: Morning) -> None:
    morning.add(policy=Policy(time_limit="2m"))
    morning.begin("8:15")
    morning.tick(2 * MINUTE)
    morning.tick()
    assert morning.said("8:15")[1] == [
        "It started at 08:15 and timed out after 2 min: it ran longer than its time limit."
    ]
    cancelled = morning.begin("8:30")
    morning.clock.advance(MINUTE)
    morning.scheduler.cancel_run(cancelled.id)
    morning.tick()
    assert morning.said("8:30")[1] == [
        "It started at 08:30 and was cancelled after 1 min: stopped by the user."
    ]


def test_a_time_that_is_spread_is_found_by_its_slot(morning: Morning) -> None:
    # By how much depends on the id.
    morning.add(Every("1h"), policy=Policy(jitter_percent=10), job_id="spread by minutes")
    slot_at = morning.scheduler._store.jobs.all()[0].next_run_at
    assert slot_at is not None
    assert slot_at > at("9:01")
    assert morning.ask("9:00").verdict is Verdict.PLANNED
    morning.until("8:59")
    morning.clock.set(slot_at)
    (run,) = morning.tick()
    morning.finish(run)
    answer = morning.ask("9:00")
    assert (answer.verdict, answer.run_id) == (Verdict.RAN, run.id)
    assert answer.sentences[1].endswith(", with a random delay.")


def test_a_minute_with_several_times_shows_each(morning: Morning) -> None:
    morning.add(Cron("*/20 * * * * *"))
    for _ in range(12):
        for run in morning.tick(20 * SECOND):
            morning.finish(run)
    assert [sentence[:22] for sentence in morning.ask("8:02").sentences] == [
        "It started at 08:02 an",
        "It started at 08:02:20",
        "It started at 08:02:40",
    ]
    second = morning.scheduler.jobs.why(morning.job_id, at("8:02") + 20 * SECOND, span_ms=SECOND)
    assert second.sentences == ("It started at 08:02:20 and succeeded within a second.",)
    none = morning.scheduler.jobs.why(morning.job_id, at("8:02") + SECOND, span_ms=SECOND)
    assert (none.verdict, none.point_before, none.point_after) == (
        Verdict.NOT_A_POINT,
        at("8:02"),
        at("8:02") + 20 * SECOND,
    )


# --- It was late, or waited ---------------------------------------------------------------------------------


def test_a_job_at_the_limit_waits_and_is_then_late(morning: Morning) -> None:
    other = morning.scheduler.add_job("other", Manual())
    morning.add()
    morning.scheduler.trigger(other)
    (long,) = morning.tick()
    morning.until("8:50")
    assert morning.said("8:15")[0] is Verdict.WAITING
    assert morning.said("8:15")[1][-1] == ("Due since 08:15, waiting: limit reached.")
    assert morning.said("8:30") == (
        Verdict.WAITING,
        [
            "The run scheduled for 08:15 was waiting then, and still is: limit reached.",
            "Times that pass meanwhile are coalesced into the next run.",
        ],
    )
    morning.open_runs.pop(long.id).set_result(None)
    (late,) = morning.tick()
    morning.finish(late)
    assert morning.said("8:15") == (
        Verdict.LATE,
        ["It started at 08:50, 35 min late, and succeeded within a second.", "Note: waited: limit reached."],
    )
    assert morning.said("8:30")[1][:2] == [
        "The run scheduled for 08:15 was still waiting then.",
        "It started at 08:50, 35 min late, and succeeded within a second.",
    ]
    assert morning.ask("8:30").run_id == late.id
    assert morning.said("8:50")[1][-1] == "It was scheduled for 08:15."


def test_a_slot_behind_a_manual_run_names_it(morning: Morning) -> None:
    morning.add()
    morning.until("8:14")
    morning.scheduler.trigger(morning.job_id)
    (by_hand,) = morning.tick()
    morning.until("8:15")
    morning.clock.advance(80 * SECOND)
    morning.open_runs.pop(by_hand.id).set_result(None)
    (late,) = morning.tick()
    morning.finish(late)
    assert morning.said("8:15") == (
        Verdict.LATE,
        [
            "It started at 08:16:20, 1 min 20 s late, and succeeded within a second.",
            "Another run of the job was active until 08:16:20.",
        ],
    )


def test_a_job_waits_for_its_conditions_then_runs_late(morning: Morning) -> None:
    morning.add(policy=Policy(conditions=(DISK,)))
    morning.until("8:40")
    verdict, sentences = morning.said("8:15")
    assert (verdict, sentences[-1]) == (
        Verdict.WAITING,
        "Due since 08:15, waiting for /mnt/disk to exist.",
    )
    assert morning.said("8:30")[1][0] == (
        "The run scheduled for 08:15 was waiting then, and still is: /mnt/disk to exist."
    )
    morning.disk.is_there = True
    (run,) = morning.until("8:41")
    assert morning.said("8:15") == (
        Verdict.LATE,
        [
            "It started at 08:41, 26 min late, and succeeded within a second.",
            "Note: waited for /mnt/disk to exist.",
        ],
    )
    assert (morning.ask("8:30").verdict, morning.ask("8:30").run_id) == (Verdict.WAITING, run.id)
    morning.until("8:45")
    assert morning.said("8:45")[1][-1] == (
        "It also covers 1 other time of its schedule, "
        "because the previous run was still waiting for its conditions."
    )


def test_a_deadline_that_ran_out_is_a_skip_with_its_sentence(morning: Morning) -> None:
    morning.add(policy=Policy(conditions=(DISK,), condition_deadline="20m"))
    morning.until("8:40")
    verdict, sentences = morning.said("8:15")
    assert verdict is Verdict.SKIPPED
    assert sentences == [
        "It was skipped at 08:35: it waited 20 minutes for /mnt/disk to exist: /mnt/disk does not exist."
    ]
    assert morning.said("8:30") == (
        Verdict.WAITING,
        ["The run scheduled for 08:15 was still waiting then.", *sentences],
    )


def test_quiet_hours_delay_or_skip_a_run(morning: Morning) -> None:
    morning.scheduler.settings.change(quiet_times=(QuietTime(name="Calls", start="08:10", end="08:50"),))
    morning.add()
    assert morning.said("8:15")[1][-1] == (
        "That falls in the quiet hours Calls: it starts when they end, at 08:50."
    )
    assert morning.said("8:30")[1][-1] == (
        "Both fall in the quiet hours Calls: one run, when they end at 08:50, covers both."
    )
    morning.until("8:20")
    assert morning.said("8:15")[1][-2:] == [
        "Due since 08:15, quiet until 08:50.",
        "The quiet hours are “Calls”.",
    ]
    morning.until("8:52")
    assert morning.said("8:15") == (
        Verdict.LATE,
        [
            "It started at 08:50, 35 min late, and succeeded within a second.",
            "Note: waited for quiet hours to end (Calls).",
        ],
    )
    morning.scheduler.update_job(morning.job_id, policy=Policy(in_quiet_time=InQuietTime.SKIP))
    next_day = at("8:15") + DAY
    assert morning.scheduler.jobs.why(morning.job_id, next_day, span_ms=MINUTE).sentences[-1] == (
        "It falls in the quiet hours Calls, so it will be skipped."
    )
    morning.clock.set(next_day - MINUTE)
    for run in morning.tick():
        morning.finish(run)
    morning.tick(MINUTE)
    answer = morning.scheduler.jobs.why(morning.job_id, next_day, span_ms=MINUTE)
    assert (answer.verdict, answer.sentences[0]) == (
        Verdict.SKIPPED,
        "It was skipped at 08:15: it was due in the quiet hours Calls, which end at 08:50.",
    )
