"""Why a job runs next when it does, in sentences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from cases import utc_ms
from chain_waits import BEHIND, LIMIT, MAINS, quiet, unmet, waits

from halo_scheduler import After, Backoff, Every, Hints, Job, Limits, Manual, Policy, Retry, Source
from halo_scheduler.model import (
    Capacity,
    FollowOn,
    HintSource,
    Idle,
    InQuietTime,
    JobStatus,
    Load,
    MainsPower,
    Network,
    Once,
    PathExists,
    StatusReason,
    Waiting,
    WaitingFor,
)
from halo_scheduler.model.plans import Topic
from halo_scheduler.model.settings import Quiet, QuietTime
from halo_scheduler.schedule.governor import plan_next_run
from halo_scheduler.wording.jobs import hint_words
from halo_scheduler.wording.plans import PlanText, Predecessor, explain_plan

pytestmark = pytest.mark.usefixtures("machine_in_berlin")

_SECOND, _MINUTE, _HOUR = 1_000, 60_000, 3_600_000
_NOW = utc_ms("2026-11-16T12:50Z")  # 13:50 in Berlin
_ANCHOR = utc_ms("2026-11-16T00:00Z")
_JOB = Job(id="1", name="job", schedule=Every("15m"), anchor_at=_ANCHOR)


def _explained(job: Job, *, failed: bool = False, attempt: int = 1, jitter_percent: int = 0) -> list[str]:
    """Plan a job as the engine does, and explain that."""
    policy = job.policy
    plan = plan_next_run(
        job.schedule,
        _NOW,
        anchor_at=job.anchor_at,
        last_completed_at=job.last_completed_at,
        errors=job.errors,
        failed=failed,
        attempt=attempt,
        hints=job.hints,
        limits=policy.limits,
        backoff=policy.backoff,
        retry=policy.retry,
        jitter_percent=jitter_percent,
        key=job.id,
    )
    planned = replace(job, next_run_at=plan.at, next_source=plan.source)
    found = explain_plan(planned, plan.trail, _NOW, attempt=plan.attempt)
    assert found.at == plan.at
    return list(found.sentences)


def test_the_schedule_alone_is_one_sentence() -> None:
    assert _explained(_JOB) == ["Next: 14:00 (every 15 minutes)."]


def test_another_day_is_named() -> None:
    once = replace(_JOB, schedule=Once("2026-12-24T18:00:00+01:00"))
    assert _explained(once) == ["Next: 24 Dec 18:00 (once, on 24 Dec 2026 at 18:00 +01:00)."]


def test_a_job_that_waits_after_its_end_says_since_when() -> None:
    job = replace(_JOB, schedule=After("5m"))
    assert _explained(job) == ["It has never run, so it is due at once."]
    job = replace(job, last_completed_at=_NOW - _MINUTE, last_ended_at=_NOW - _MINUTE)
    assert _explained(job) == ["Next: 13:54 (5 minutes after it finishes)."]


def test_failures_delay_the_next_run_and_announce_the_limit() -> None:
    job = replace(_JOB, errors=3, last_completed_at=_NOW - _SECOND)
    assert _explained(job) == [
        "Next: 14:00 (every 15 minutes).",
        "After 2 more failures in a row it will be disabled.",
    ]
    job = replace(job, errors=4)
    assert _explained(job) == [
        "Next: 14:00 (every 15 minutes).",
        "Delayed to 14:04:59: 15 min back-off after 4 failures in a row.",
        "After one more failure in a row it will be disabled.",
    ]
    never = replace(job, errors=1, policy=Policy(max_errors=0, backoff=Backoff.ladder(_HOUR)))
    assert _explained(never)[1:] == ["Delayed to 14:49:59: 1 h back-off after a failure."]


def test_a_doubled_interval_says_by_how_much() -> None:
    job = replace(_JOB, errors=2, policy=Policy(backoff=Backoff.double()))
    assert _explained(job)[1] == "Delayed to 14:45: the interval is 45 min longer after 2 failures in a row."


def test_a_back_off_is_explained_after_its_errors_were_reset() -> None:
    plan = plan_next_run(Every("15m"), _NOW, errors=5, anchor_at=_ANCHOR)
    job = replace(_JOB, next_run_at=plan.at, next_source=plan.source)
    sentences = explain_plan(job, plan.trail, _NOW).sentences
    assert sentences[1] == "Delayed to 14:50: 1 h back-off after a failure."


def test_a_retry_counts_its_attempts() -> None:
    job = replace(_JOB, policy=Policy(retry=Retry(attempts=3)), last_completed_at=_NOW)
    assert _explained(job, failed=True, attempt=1)[-1] == (
        "The last attempt failed. Attempt 2 of 4 starts 1 min later, at 13:51."
    )


def test_advice_is_named_with_its_reason() -> None:
    hints = Hints(interval_ms=5 * _MINUTE, expires_at=_NOW + _HOUR, reason="new mail")
    job = replace(_JOB, hints=hints)
    assert _explained(job)[1:] == [
        "A program asked for a run every 5 min (new mail), so 13:55.",
        "Hint active until 14:50.",
    ]
    job = replace(_JOB, hints=Hints(next_at=_NOW - _HOUR, expires_at=_NOW + _HOUR))
    assert _explained(job)[1:] == [
        "A program asked for a run at 12:50.",
        "That time has passed, so it is due now.",
        "Hint active until 14:50.",
    ]


@pytest.mark.parametrize(
    ("source", "who"),
    [
        (HintSource.USER, "You"),
        (HintSource.PROGRAM, "A program"),
        (HintSource.ASSISTANT, "An assistant"),
        (HintSource.JOB, "The job itself"),
    ],
)
def test_a_hint_names_its_source(source: HintSource, who: str) -> None:
    job = replace(_JOB, hints=Hints(next_at=_NOW + _MINUTE, expires_at=_NOW + _HOUR, source=source))
    assert _explained(job)[1] == f"{who} asked for a run at 13:51."


def test_advice_that_limits_overrule_is_still_reported() -> None:
    job = replace(
        _JOB,
        hints=Hints(interval_ms=_MINUTE, expires_at=_NOW + _HOUR, source=HintSource.USER),
        policy=Policy(limits=Limits(min_ms=20 * _MINUTE)),
    )
    assert _explained(job)[1:] == [
        "You asked for a run every 1 min, so 13:51.",
        "Runs must be at least 20 min apart, so it moves to 14:10.",
        "Hint active until 14:50.",
    ]


def test_advice_that_made_no_difference_says_why() -> None:
    trail = plan_next_run(Every("15m"), _NOW, anchor_at=_ANCHOR).trail
    hints = Hints(
        interval_ms=_HOUR,
        next_at=_NOW + _HOUR,
        expires_at=_NOW + 2 * _HOUR,
        reason="calm",
        source=HintSource.JOB,
    )
    job = replace(_JOB, hints=hints, next_run_at=_NOW + 10 * _MINUTE, next_source=Source.EVERY)
    assert explain_plan(job, trail, _NOW).sentences[1:] == (
        "The job itself asked for a run every 1 h (calm), which counts after that run.",
        "The job itself asked for a run at 14:50 (calm), which comes after that run.",
        "Hint active until 15:50.",
    )


def test_advice_for_a_run_that_may_not_come_so_early_does_not_say_that_it_comes_later() -> None:
    old = Hints(interval_ms=_MINUTE, expires_at=_NOW + _HOUR)
    policy = Policy(limits=Limits(min_ms=20 * _MINUTE))
    plan = plan_next_run(Every("15m"), _NOW, anchor_at=_ANCHOR, hints=old, limits=policy.limits)
    new = replace(old, next_at=_NOW + 5 * _MINUTE, source=HintSource.USER)
    job = replace(_JOB, hints=new, next_run_at=plan.at, next_source=plan.source, policy=policy)
    assert explain_plan(job, plan.trail, _NOW).sentences[2:] == (
        "Runs must be at least 20 min apart, so it moves to 14:10.",
        "You asked for a run at 13:55, but it can't run that early.",
        "Hint active until 14:50.",
    )


def test_advice_for_a_job_with_one_run_does_not_promise_another() -> None:
    once = Once(_NOW + 10 * _MINUTE)
    plan = plan_next_run(once, _NOW)
    hints = Hints(interval_ms=_HOUR, next_at=_NOW + _HOUR, expires_at=_NOW + 2 * _HOUR)
    job = replace(_JOB, schedule=once, hints=hints, next_run_at=plan.at, next_source=plan.source)
    assert explain_plan(job, plan.trail, _NOW).sentences[1:] == (
        "A program asked for a run every 1 h, but it runs only once.",
        "A program asked for a run at 14:50, but it runs only once.",
        "Hint active until 15:50.",
    )


@pytest.mark.parametrize(
    ("status", "reason", "why"),
    [
        (JobStatus.PAUSED, StatusReason.USER, "but it is paused"),
        (JobStatus.DISABLED, StatusReason.ERRORS, "but it is disabled"),
        (JobStatus.RUNNING, None, "which is considered when this run ends"),
    ],
)
def test_a_hint_for_a_job_without_a_plan_names_the_reason_first(
    status: JobStatus, reason: StatusReason | None, why: str
) -> None:
    hints = Hints(interval_ms=_MINUTE, expires_at=_NOW + _HOUR)
    job = replace(_JOB, hints=hints, status=status, status_reason=reason)
    assert f"A program asked for a run every 1 min, {why}." in explain_plan(job, (), _NOW).sentences


@pytest.mark.parametrize("status", [JobStatus.IDLE, JobStatus.RUNNING])
def test_advice_that_is_left_of_an_earlier_schedule_does_not_make_a_job_disabled(status: JobStatus) -> None:
    hints = Hints(interval_ms=_MINUTE, expires_at=_NOW + _HOUR)
    job = replace(_JOB, schedule=Manual(), hints=hints, status=status)
    advised = "A program asked for a run every 1 min, but it has no schedule."
    assert advised in explain_plan(job, (), _NOW).sentences


def test_a_plan_of_earlier_advice_does_not_borrow_the_words_of_the_newer() -> None:
    old = Hints(interval_ms=5 * _MINUTE, next_at=_NOW + _MINUTE, expires_at=_NOW + _HOUR, reason="old")
    plan = plan_next_run(Every("15m"), _NOW, anchor_at=_ANCHOR, hints=old)
    new = Hints(interval_ms=10 * _MINUTE, expires_at=_NOW + _HOUR, reason="new", source=HintSource.USER)
    job = replace(_JOB, hints=new, next_run_at=plan.at, next_source=plan.source)
    assert explain_plan(job, plan.trail, _NOW).sentences[1:] == (
        "An earlier hint asked for a run every 5 min, so 13:55.",
        "An earlier hint asked for a run at 13:51.",
        "You asked for a run every 10 min (new), which counts after that run.",
        "Hint active until 14:50.",
    )


@pytest.mark.parametrize(
    "hints",
    [Hints(interval_ms=_MINUTE, expires_at=_NOW), Hints(reason="spent", expires_at=_NOW + _HOUR)],
    ids=["expired", "used up"],
)
def test_advice_that_is_over_is_not_reported(hints: Hints) -> None:
    assert _explained(replace(_JOB, hints=hints)) == ["Next: 14:00 (every 15 minutes)."]


def test_limits_and_jitter_explain_their_effect() -> None:
    job = replace(_JOB, policy=Policy(limits=Limits(min_ms=20 * _MINUTE)))
    assert _explained(job)[1:] == ["Runs must be at least 20 min apart, so it moves to 14:10."]
    job = replace(_JOB, policy=Policy(limits=Limits(max_ms=90 * _SECOND)))
    assert _explained(job)[1:] == ["Runs may be at most 1 min 30 s apart, so it moves to 13:51:30."]
    assert _explained(_JOB, jitter_percent=10)[1].startswith("Random delay of ")


def test_a_plan_that_was_moved_since_says_why() -> None:
    trail = plan_next_run(Every("15m"), _NOW, anchor_at=_ANCHOR).trail
    caught_up = replace(_JOB, next_run_at=_NOW - _HOUR, next_source=Source.CATCH_UP)
    assert explain_plan(caught_up, trail, _NOW).sentences == (
        "Its run at 12:50 was missed while Halo was off or asleep; this run catches up.",
    )
    set_back = replace(_JOB, next_run_at=_NOW + _HOUR, next_source=Source.EVERY)
    assert explain_plan(set_back, trail, _NOW).sentences[-1] == (
        "The clock was set back, so it moves to 14:50."
    )
    assert explain_plan(set_back, (), _NOW).sentences == ("It is scheduled for 14:50.",)


def test_a_due_job_at_the_limit_says_so() -> None:
    trail = plan_next_run(Every("15m"), _NOW, anchor_at=_ANCHOR).trail
    waiting = replace(_JOB, next_run_at=_NOW, next_source=Source.EVERY, waiting_for=WaitingFor.AT_CAPACITY)
    assert explain_plan(waiting, trail, _NOW).sentences[-1] == ("Due since 13:50, waiting: limit reached.")
    capacity = Capacity(1, 1, "web", ("sync",))
    full = Waiting(kind=WaitingFor.AT_CAPACITY, since=_NOW, capacity=capacity)
    assert explain_plan(waiting, trail, _NOW, outlook=PlanText(waiting=full)).sentences[-1] == (
        "Due since 13:50, waiting: limit of web reached (1 of 1: sync)."
    )
    # The mark of an earlier wait is nothing while its time lies ahead.
    ahead = replace(waiting, next_run_at=_NOW + 10 * _MINUTE)
    assert explain_plan(ahead, trail, _NOW).sentences == ("Next: 14:00 (every 15 minutes).",)


def _due(waiting: Waiting | None = None, **policy: Any) -> Job:
    return replace(
        _JOB,
        next_run_at=_NOW - 5 * _MINUTE,
        next_source=Source.EVERY,
        policy=Policy(**policy),
        **({} if waiting is None else waits(waiting)),
    )


def _sentences(job: Job, **outlook: Any) -> list[str]:
    """Explain a job without a trail, and leave out the sentence on its plan."""
    found = list(explain_plan(job, (), _NOW, outlook=PlanText(**outlook)).sentences)
    return found[1:] if job.next_run_at is not None else found


def test_a_job_that_waits_for_its_conditions_names_them_and_its_deadline() -> None:
    waiting = _due(unmet(MainsPower(), Network()), conditions=(MainsPower(), Network()))
    assert _sentences(waiting) == ["Due since 13:45, waiting for AC power and network."]
    assert _sentences(waiting, waits_until=_NOW + _HOUR) == [
        "Due since 13:45, waiting for AC power and network.",
        "If it still waits at 14:50, this run is skipped.",
    ]
    assert _sentences(_due(unmet())) == ["Due since 13:45, waiting for its conditions."]


def test_a_job_that_waits_for_quiet_hours_shows_what_follows() -> None:
    waiting = _due(quiet("Nights", _NOW + 4 * _HOUR), conditions=(Load(below=2),))
    assert _sentences(waiting) == [
        "Due since 13:45, quiet until 17:50.",
        "The quiet hours are “Nights”.",
        "It starts only with a load below 2.",
    ]
    assert _sentences(_due(Waiting(kind=WaitingFor.QUIET_TIME))) == ["Due since 13:45, quiet hours."]


def test_a_planned_run_names_its_conditions() -> None:
    conditions = (MainsPower(), Idle(idle="10m"), PathExists(path="/mnt/backup"))
    assert _explained(replace(_JOB, policy=Policy(conditions=conditions)))[1:] == [
        "It starts only on AC power, after 10 minutes without input and when /mnt/backup exists."
    ]
    policy = Policy(conditions=(MainsPower(),), condition_deadline="2h")
    assert _explained(replace(_JOB, policy=policy))[1:] == ["It starts only on AC power, waiting up to 2 h."]


def test_a_planned_run_names_its_quiet_hours() -> None:
    quiet = Quiet(_NOW + 2 * _HOUR, QuietTime(name="Lunch"))
    ahead = replace(_due(), next_run_at=_NOW + _HOUR)
    assert _sentences(ahead, quiet=quiet) == [
        "That falls in the quiet hours Lunch: it starts when they end, at 15:50."
    ]
    assert _sentences(_due(), quiet=quiet) == [
        "It is due in the quiet hours Lunch: it starts when they end, at 15:50."
    ]
    skipping = replace(ahead, policy=Policy(in_quiet_time=InQuietTime.SKIP))
    unnamed = Quiet(_NOW + 2 * _HOUR, QuietTime())
    assert _sentences(skipping, quiet=unnamed) == ["That falls in quiet hours: it will be skipped."]


def test_the_jobs_that_trigger_a_job_are_named() -> None:
    before = (Predecessor("backup", FollowOn.FAILURE), Predecessor("sync", FollowOn.ALWAYS, "paused"))
    assert _sentences(_due(), predecessors=before) == [
        "It also runs after backup fails and after sync (paused) ends."
    ]
    by_hand = replace(_JOB, schedule=Manual())
    after = (Predecessor("backup", FollowOn.SUCCESS),)
    assert _sentences(by_hand, predecessors=after) == ["It runs after backup succeeds, or manually."]
    paused = replace(by_hand, status=JobStatus.PAUSED, status_reason=StatusReason.USER)
    assert _sentences(paused, predecessors=after) == [
        "It is paused until you resume it.",
        "It would also run after backup succeeds.",
    ]


def _chain_wait(cause: str, since: int, waiting: Waiting = LIMIT, deadline: int | None = None) -> Waiting:
    return waiting._replace(cause_name=cause, since=since, deadline=deadline)


def test_a_run_of_a_chain_that_waits_is_reported() -> None:
    chain_waits = (
        _chain_wait("backup", _NOW - _HOUR),
        _chain_wait("sync", _NOW - _MINUTE, MAINS, deadline=_NOW + _HOUR),
    )
    assert _sentences(_due(), chain_waits=chain_waits) == [
        "A run after backup has waited since 12:50: limit reached.",
        "A run after sync has waited since 13:49: AC power.",
        "If it still waits at 14:50, this run is skipped.",
    ]


@pytest.mark.parametrize(
    ("count", "more"), [(3, []), (4, ["One more such run waits."]), (5, ["2 more such runs wait."])]
)
def test_of_many_runs_after_other_jobs_that_wait_only_the_first_are_reported(
    count: int, more: list[str]
) -> None:
    chain_waits = tuple(_chain_wait(f"job {number}", _NOW) for number in range(count))
    job = replace(_JOB, schedule=Manual())
    told = explain_plan(job, (), _NOW, outlook=PlanText(chain_waits=chain_waits)).sentences[1:]
    assert list(told) == [
        *(f"A run after job {number} has waited since 13:50: limit reached." for number in range(3)),
        *more,
    ]


def _piled_up(count: int, waiting: Waiting, deadline: int | None = None) -> list[str]:
    """Return what is said of so many runs after one job, a minute apart."""
    chain_waits = tuple(
        _chain_wait("backup", _NOW - (count - number) * _MINUTE, waiting, deadline=deadline)
        for number in range(count)
    )
    return _sentences(_due(), chain_waits=chain_waits)


def test_several_runs_after_one_job_are_described_as_one() -> None:
    assert _piled_up(12, MAINS) == ["12 runs after backup wait, the first since 13:38: AC power."]
    assert _piled_up(2, LIMIT, deadline=_NOW + _HOUR) == [
        "2 runs after backup wait, the first since 13:48: limit reached.",
        "If the first still waits at 14:50, it is skipped.",
    ]


def test_runs_triggered_faster_than_they_end_are_reported() -> None:
    assert _piled_up(2, BEHIND) == ["2 runs after backup wait, the first since 13:48: one runs at a time."]
    assert _piled_up(3, BEHIND) == [
        "3 runs after backup wait, the first since 13:47: one runs at a time.",
        "They are triggered faster than they finish.",
    ]


def test_runs_after_two_jobs_or_for_two_reasons_are_distinguished() -> None:
    chain_waits = (
        _chain_wait("backup", _NOW - _HOUR, MAINS),
        _chain_wait("sync", _NOW - _MINUTE, MAINS),
        _chain_wait("backup", _NOW - _MINUTE, MAINS),
        _chain_wait("backup", _NOW - _MINUTE),
    )
    assert _sentences(_due(), chain_waits=chain_waits) == [
        "2 runs after backup wait, the first since 12:50: AC power.",
        "A run after sync has waited since 13:49: AC power.",
        "A run after backup has waited since 13:49: limit reached.",
    ]


def test_a_run_outside_the_schedule_leaves_the_plan() -> None:
    trail = plan_next_run(Every("15m"), _NOW, anchor_at=_ANCHOR).trail
    running = replace(_JOB, status=JobStatus.RUNNING, next_run_at=_NOW + 10 * _MINUTE)
    assert explain_plan(running, trail, _NOW).sentences == (
        "It is running now, outside its schedule.",
        "Next: 14:00 (every 15 minutes).",
    )


@pytest.mark.parametrize(
    ("job", "sentences"),
    [
        (_JOB, ["The schedule has no more runs."]),
        (replace(_JOB, schedule=Manual()), ["It only runs manually: it has no schedule."]),
        (
            replace(_JOB, status=JobStatus.RUNNING),
            ["It is running now; its next run is scheduled when it ends."],
        ),
        (
            replace(_JOB, schedule=Manual(), status=JobStatus.RUNNING),
            ["It is running now.", "It only runs manually: it has no schedule."],
        ),
        (
            replace(_JOB, status=JobStatus.PAUSED, status_reason=StatusReason.USER, errors=4),
            ["It is paused until you resume it.", "After one more failure in a row it will be disabled."],
        ),
        (
            replace(
                _JOB,
                status=JobStatus.RUNNING,
                status_reason=StatusReason.USER,
                paused_until=_NOW + 70 * _MINUTE,
            ),
            ["It is running now.", "It is paused until 15:00.", "After that: every 15 minutes."],
        ),
        (
            replace(_JOB, status=JobStatus.DISABLED, enabled=False, status_reason=StatusReason.USER),
            ["It is disabled until you enable it."],
        ),
        (
            replace(_JOB, status=JobStatus.DISABLED, status_reason=StatusReason.DONE),
            ["This one-time job is finished."],
        ),
        (
            replace(_JOB, status=JobStatus.DISABLED, status_reason=StatusReason.IMPORTED),
            ["It was imported and waits for you to enable it."],
        ),
        (
            replace(_JOB, status=JobStatus.PAUSED, status_reason=StatusReason.ASSISTANT),
            ["An assistant created or changed it. It is on hold until a person reviews and resumes it."],
        ),
        (
            replace(_JOB, status=JobStatus.DISABLED, status_reason=StatusReason.ERRORS, errors=5),
            ["It was disabled after it failed 5 times in a row; resume it to try again."],
        ),
        (
            replace(_JOB, status=JobStatus.DISABLED, status_reason=StatusReason.ERRORS, last_error="no zone"),
            ["It was disabled: no zone."],
        ),
        (
            replace(_JOB, status=JobStatus.DISABLED, status_reason=StatusReason.ERRORS),
            ["It was disabled: it cannot be run."],
        ),
    ],
)
def test_a_job_without_a_next_run_says_why(job: Job, sentences: list[str]) -> None:
    found = explain_plan(job, (), _NOW)
    assert found.at is None
    assert list(found.sentences) == sentences


def _about(job: Job, topic: Topic) -> list[str]:
    return [part.text for part in explain_plan(job, (), _NOW).parts if part.topic is topic]


def test_the_sentence_about_the_failure_limit_is_available_alone() -> None:
    failing = replace(_JOB, errors=4, next_run_at=_NOW + _HOUR, next_source=Source.EVERY)
    assert _about(failing, Topic.ERRORS) == ["After one more failure in a row it will be disabled."]
    assert _about(replace(failing, errors=0), Topic.ERRORS) == []
    disabled = replace(
        failing, errors=5, status=JobStatus.DISABLED, status_reason=StatusReason.ERRORS, next_run_at=None
    )
    assert _about(disabled, Topic.ERRORS) == [
        "It was disabled after it failed 5 times in a row; resume it to try again."
    ]


def test_topics_shown_elsewhere_can_be_left_out() -> None:
    hints = Hints(interval_ms=2 * _HOUR, expires_at=_NOW + _HOUR)
    job = replace(_JOB, next_run_at=_NOW + _MINUTE, hints=hints, policy=Policy(conditions=(MainsPower(),)))
    outlook = PlanText(predecessors=(Predecessor("backup", FollowOn.SUCCESS),))
    found = explain_plan(job, (), _NOW, outlook=outlook)
    topics = [part.topic for part in found.parts]
    assert topics == [Topic.PLAN, Topic.CONDITIONS, Topic.ADVICE, Topic.ADVICE, Topic.CHAIN]
    assert found.sentences[0] == "It is scheduled for 13:51."
    manual = replace(_JOB, schedule=Manual())
    only = explain_plan(manual, (), _NOW, outlook=outlook)
    assert only.sentences == ("It runs after backup succeeds, or manually.",)
    assert [part.topic for part in only.parts] == [Topic.CHAIN]
    waiting = explain_plan(_due(MAINS), (), _NOW)
    assert [part.topic for part in waiting.parts] == [Topic.PLAN, Topic.WAITING]
    assert waiting.sentences[0] == "It is scheduled for 13:45."


def test_pace_and_single_run_show_their_own_reason_and_end() -> None:
    pace = Hints(
        interval_ms=5 * _MINUTE, expires_at=_NOW + _HOUR, reason="long queue", source=HintSource.USER
    )
    run = Hints(next_at=_NOW + _MINUTE, expires_at=_NOW + 2 * _HOUR, reason="again", source=HintSource.JOB)
    job = replace(_JOB, hints=pace.with_advice(run), next_run_at=_NOW + _HOUR)
    assert explain_plan(job, (), _NOW).sentences[1:] == (
        "You asked for a run every 5 min (long queue), which counts after that run.",
        "The job itself asked for a run at 13:51 (again), but it can't run that early.",
        "Hint active until 14:50 (pace) and 15:50 (single run).",
    )
    assert hint_words(job.hints, _NOW) == (
        "every 5 min, from you, until 14:50: long queue; a run at 13:51, from the job itself, until 15:50: again"
    )
    alike = replace(pace, next_at=_NOW + _MINUTE)
    assert hint_words(alike, _NOW) == "every 5 min and a run at 13:51, from you, until 14:50: long queue"
    assert hint_words(replace(pace, source=None, reason=""), _NOW) == "every 5 min, until 14:50"
    assert hint_words(pace, _NOW + _HOUR) == ""
