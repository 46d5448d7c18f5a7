"""What is said of what a job does next, and of times that lie ahead."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from morning import DISK, EIGHT, MINUTE, SECOND, Morning, at

from halo_scheduler import (
    Cron,
    JobNotFoundError,
    Limits,
    Manual,
    Policy,
    ScheduleError,
)
from halo_scheduler.conditions import probes
from halo_scheduler.conditions.probes import ConditionState
from halo_scheduler.model import Follower, FollowOn
from halo_scheduler.why import answering
from halo_scheduler.why.inquiry import Verdict

pytestmark = pytest.mark.usefixtures("machine_in_berlin")


# --- What lies ahead -------------------------------------------------------------------------------------------------


def test_a_planned_run_is_reported_with_its_trail(morning: Morning) -> None:
    morning.add(policy=Policy(limits=Limits(min_ms=20 * MINUTE)))
    assert morning.said("8:20") == (
        Verdict.PLANNED,
        [
            "A run is scheduled for 08:20.",
            "Next: 08:15 (every 15 minutes).",
            "Runs must be at least 20 min apart, so it moves to 08:20.",
        ],
    )


def test_a_later_time_of_the_schedule_is_expected(morning: Morning) -> None:
    morning.add()
    assert morning.said("9:00") == (
        Verdict.EXPECTED,
        ["That time is on its schedule: every 15 minutes.", "Its next run is scheduled for 08:15."],
    )
    morning.begin("8:15")
    assert morning.said("9:00")[1][-1] == "It is running now; its next run is scheduled when it ends."


def test_a_later_time_names_the_runs_before_it(morning: Morning) -> None:
    morning.add(policy=Policy(conditions=(DISK,)))
    morning.until("8:20")
    assert morning.said("8:30")[1] == [
        "That time is on its schedule: every 15 minutes.",
        "Before that, it has been due since 08:15, waiting for /mnt/disk to exist.",
    ]
    morning.scheduler.stop()
    morning.clock.set(at("8:25"))
    assert morning.said("8:30")[1][0] == "Halo isn't running, so no jobs run."


def test_a_time_after_a_pause_says_that_it_lasts_until_then(morning: Morning) -> None:
    morning.add()
    morning.scheduler.pause_job(morning.job_id, until=at("8:25"))
    assert morning.said("8:30") == (
        Verdict.EXPECTED,
        ["That time is on its schedule: every 15 minutes.", "It is paused until 08:25."],
    )


def test_a_time_ahead_that_is_none_names_the_nearest(morning: Morning) -> None:
    morning.add()
    assert morning.said("9:05") == (
        Verdict.NOT_A_POINT,
        [
            "That time is not on its schedule, every 15 minutes; the nearest are 09:00 and 09:15.",
            "Its next run is scheduled for 08:15.",
        ],
    )


def test_the_current_minute_is_explained_for_its_remaining_part(morning: Morning) -> None:
    morning.add(Cron("30 * * * * *"))
    (run,) = morning.tick(30 * SECOND)
    morning.finish(run)
    morning.tick(40 * SECOND)
    answer = morning.ask("8:01")
    assert (answer.verdict, answer.at) == (Verdict.PLANNED, at("8:01"))
    (run,) = morning.tick(20 * SECOND)
    assert (morning.ask("8:01").verdict, morning.ask("8:01").run_id) == (Verdict.RAN, run.id)


def test_an_invalid_time_is_refused(morning: Morning) -> None:
    morning.add()
    for instant, span_ms in ((-1, 1), (10**18, 1), (EIGHT, 0)):
        with pytest.raises(ScheduleError):
            morning.scheduler.jobs.why(morning.job_id, instant, span_ms=span_ms)


# --- Now -------------------------------------------------------------------------------------------------------------


def _now(morning: Morning) -> tuple[Verdict, list[str]]:
    answer = morning.scheduler.jobs.why(morning.job_id)
    return answer.verdict, list(answer.sentences)


def test_without_a_time_the_plan_is_reported(morning: Morning) -> None:
    morning.add()
    answer = morning.scheduler.jobs.why(morning.job_id)
    assert (answer.verdict, answer.at, answer.next_run_at) == (Verdict.PLANNED, None, at("8:15"))
    assert answer.sentences == ("Next: 08:15 (every 15 minutes).",)


def test_without_an_engine_that_is_reported_first(morning: Morning) -> None:
    morning.add()
    morning.scheduler.stop()
    assert _now(morning)[1][0] == "Halo isn't running, so no jobs run."


def test_each_state_has_its_verdict(morning: Morning) -> None:
    morning.add(policy=Policy(conditions=(DISK,)))
    morning.until("8:16")
    assert _now(morning)[0] is Verdict.WAITING
    morning.disk.is_there = True
    (run,) = morning.tick()
    assert (_now(morning)[0], morning.scheduler.jobs.why(morning.job_id).run_id) == (Verdict.RUNNING, run.id)
    morning.finish(run)
    morning.scheduler.pause_job(morning.job_id)
    assert _now(morning)[0] is Verdict.PAUSED
    morning.scheduler.update_job(morning.job_id, enabled=False)
    assert _now(morning)[0] is Verdict.DISABLED
    morning.scheduler.update_job(morning.job_id, schedule=Manual())
    morning.scheduler.resume_job(morning.job_id)
    assert _now(morning)[0] is Verdict.NOT_PLANNED


def test_a_job_with_a_waiting_chain_run_is_waiting(morning: Morning) -> None:
    morning.add(Manual(), policy=Policy(conditions=(DISK,)))
    cause = morning.scheduler.add_job("first", Manual(), followers=[Follower(job_id=morning.job_id)])
    assert _now(morning)[0] is Verdict.NOT_PLANNED
    morning.scheduler.trigger(cause)
    morning.finish(morning.tick()[0])
    verdict, sentences = _now(morning)
    assert verdict is Verdict.WAITING
    assert "A run after first has waited since 08:00: /mnt/disk to exist." in sentences
    assert morning.scheduler.jobs.why(cause).verdict is Verdict.NOT_PLANNED


def test_conditions_are_described_by_their_current_state(
    morning: Morning, monkeypatch: pytest.MonkeyPatch
) -> None:
    morning.add(policy=Policy(conditions=(DISK, replace(DISK, path="/mnt/other"))))
    found = {DISK: ConditionState(is_observable=True, holds=False, sentence="/mnt/disk does not exist.")}
    unknown = ConditionState(is_observable=True, holds=None, sentence="Nobody could look.")
    monkeypatch.setattr(probes, "check_condition", lambda condition: found.get(condition, unknown))
    assert _now(morning)[1][1:] == [
        "It starts only when /mnt/disk exists and when /mnt/other exists.",
        "When /mnt/disk exists: not now. /mnt/disk does not exist.",
        "When /mnt/other exists: unknown. Nobody could look.",
    ]


def test_a_probe_that_never_ends_is_not_awaited(morning: Morning, monkeypatch: pytest.MonkeyPatch) -> None:
    morning.add(policy=Policy(conditions=(DISK,)))
    gone = threading.Event()
    monkeypatch.setattr(answering, "_LONGEST_LOOK_S", 0.01)
    monkeypatch.setattr(probes, "check_condition", lambda _condition: gone.wait(5))
    assert _now(morning)[1][-1] == ("When /mnt/disk exists: unknown. The check timed out.")
    gone.set()


def test_next_jobs_are_named_with_their_blockers(morning: Morning) -> None:
    others = [morning.scheduler.add_job(name, Manual()) for name in ("mail", "alarm", "sweep", "report")]
    on = (FollowOn.SUCCESS, FollowOn.FAILURE, FollowOn.ALWAYS, FollowOn.SUCCESS)
    morning.add(followers=[Follower(job_id=job_id, on=when) for job_id, when in zip(others, on, strict=True)])
    morning.scheduler.pause_job(others[1])
    morning.scheduler.update_job(others[2], enabled=False)
    morning.scheduler.remove_job(others[3])
    assert _now(morning)[1][1:] == [
        "After it succeeds, mail runs.",
        "After it fails, alarm should run, but is paused.",
        "After it ends, sweep should run, but is disabled.",
        "After it succeeds, report should run, but was deleted.",
    ]


def test_an_unknown_job_has_no_explanation(morning: Morning) -> None:
    with pytest.raises(JobNotFoundError):
        morning.scheduler.jobs.why("nobody")


def test_an_answer_has_a_json_form(morning: Morning) -> None:
    morning.add()
    data = morning.scheduler.jobs.why(morning.job_id).to_dict()
    assert data == {
        "job_id": morning.job_id,
        "name": "backup",
        "verdict": "planned",
        "sentences": ["Next: 08:15 (every 15 minutes)."],
        "at": None,
        "run_id": None,
        "outcome": None,
        "next_run_at": at("8:15"),
        "point_before": None,
        "point_after": None,
    }
