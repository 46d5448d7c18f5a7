"""What the user is told without asking: once per incident, short and plain."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from cases import utc_ms

from halo_scheduler import Every, Job, Outcome, Policy, Run, Source, Trigger
from halo_scheduler.model import (
    JobStatus,
    Notify,
    Question,
    QuestionState,
    Situation,
    SkipReason,
    StatusReason,
    Waiting,
    WaitingFor,
)
from halo_scheduler.model.settings import Settings
from halo_scheduler.rules.chains import BrokenLink
from halo_scheduler.rules.notices import NoticeGroups, chain_notices, gap_notice, notice_of, watch_notice
from halo_scheduler.rules.statistics import Gap, GapKind
from halo_scheduler.wording.notices import Notice, NoticeAction, NoticeKind, with_last_line

pytestmark = pytest.mark.usefixtures("machine_in_berlin")

_SECOND, _MINUTE, _HOUR = 1_000, 60_000, 3_600_000
_NOW = utc_ms("2026-11-16T12:00Z")
_JOB = Job(id="1", name="backup", schedule=Every("1h"), next_run_at=_NOW + _HOUR, next_source=Source.EVERY)
_OK, _BAD = Outcome.SUCCESS, Outcome.FAILURE


def _run(
    outcome: Outcome,
    *,
    trigger: Trigger = Trigger.SCHEDULE,
    took_ms: int = 12 * _SECOND,
    slot: int = 0,
    attempt: int = 1,
    error: str = "exit code 1",
) -> Run:
    return Run(
        id=f"{trigger}-{slot}-{attempt}-{outcome}",
        job_id="1",
        trigger=trigger,
        source=Source.EVERY,
        slot_at=slot or None,
        attempt=attempt,
        outcome=outcome,
        error="" if outcome is Outcome.SUCCESS else error,
        started_at=_NOW - took_ms,
        finished_at=_NOW,
    )


def _situation(job: Job, question: Question | None = None, **changes: Any) -> Situation:
    """Return the situation of a job that does not wait."""
    found = Situation(
        job_id=job.id,
        name=job.name,
        status=job.status,
        reason=job.status_reason,
        question=None if question is None else question.text,
        next_run_at=job.next_run_at,
        next_source=job.next_source,
        errors=job.errors,
        last_run_at=job.last_run_at,
    )
    return found._replace(**changes)


def _told(
    run: Run,
    *previous: Run,
    job: Job = _JOB,
    settings: Settings | None = None,
    question: Question | None = None,
    is_watched: bool = True,
) -> Notice | None:
    """Return the notice of a run after some others, given newest first."""
    situation = _situation(job, question)
    return notice_of(
        run, job, situation, previous, settings or Settings(), question=question, is_watched=is_watched
    )


def _kind(run: Run, *previous: Run, job: Job = _JOB, settings: Settings | None = None) -> NoticeKind | None:
    notice = _told(run, *previous, job=job, settings=settings)
    return None if notice is None else notice.kind


def _with(notify: Notify) -> Job:
    return replace(_JOB, policy=Policy(notify=notify))


def test_a_failure_explains_why_and_when_it_is_retried() -> None:
    assert _told(_run(_BAD)) == Notice(
        kind=NoticeKind.FAILED,
        title="backup failed",
        text="Exit code 1. Next run: 14:00.",
        job_id="1",
        job_name="backup",
        run_ids=("schedule-0-1-failure",),
    )


@pytest.mark.parametrize(
    ("changes", "then"),
    [
        ({"next_run_at": None}, ""),
        ({"next_run_at": _NOW + 26 * _HOUR}, " Next run: Tue 15:00."),
        ({"status": JobStatus.PAUSED, "next_run_at": None}, " Paused."),
        (
            {"status": JobStatus.PAUSED, "paused_until": _NOW + _HOUR, "next_run_at": None},
            " Paused until 14:00.",
        ),
        ({"status": JobStatus.DISABLED, "reason": StatusReason.DONE, "next_run_at": None}, ""),
        ({"status": JobStatus.RUNNING}, " Running."),
        ({"blocker": SkipReason.CAP}, " Daily limit reached."),
        ({"waiting": Waiting(WaitingFor.PREVIOUS_RUN)}, " Waiting for its previous run to end."),
    ],
)
def test_a_failure_notice_gives_the_next_run_like_every_surface(changes: dict[str, Any], then: str) -> None:
    notice = notice_of(_run(_BAD), _JOB, _situation(_JOB, **changes), (), Settings())
    assert notice is not None
    assert notice.text == f"Exit code 1.{then}"


def test_a_timeout_says_that_it_took_too_long() -> None:
    notice = _told(_run(Outcome.TIMEOUT, error="it ran longer than its time limit"))
    assert notice is not None
    assert (notice.title, notice.text) == (
        "backup took too long",
        "It ran longer than its time limit. Next run: 14:00.",
    )


def test_without_an_error_the_exit_code_or_nothing_is_the_reason() -> None:
    job = replace(_JOB, next_run_at=None)
    silent = replace(_run(_BAD), error="")
    coded = _told(replace(silent, exit_code=3), job=job)
    uncoded = _told(silent, job=job)
    assert coded is not None
    assert uncoded is not None
    assert (coded.text, uncoded.text) == ("Exit code 3.", "No error message.")


def test_a_streak_is_reported_once_and_its_end_once() -> None:
    first, second, third = (_run(_BAD, slot=slot) for slot in (1, 2, 3))
    good, better = _run(_OK, slot=4), _run(_OK, slot=5)
    assert _kind(first) is NoticeKind.FAILED
    assert _kind(second, first) is None
    assert _kind(third, second, first) is None
    recovered = _told(good, third, second, first)
    assert recovered is not None
    assert recovered.kind is NoticeKind.RECOVERED
    assert (recovered.title, recovered.text) == ("backup works again", "After 3 failures.")
    assert _kind(better, good, third, second, first) is None
    assert _kind(_run(_BAD, slot=6), better, good, third) is NoticeKind.FAILED


@pytest.mark.parametrize("between", [Outcome.SKIPPED, Outcome.CANCELLED, Outcome.MISSED, Outcome.INTERRUPTED])
def test_neutral_outcomes_do_not_end_a_streak_and_are_not_reported(between: Outcome) -> None:
    first, other = _run(_BAD, slot=1), _run(between, slot=2)
    assert _kind(other, first, job=_with(Notify.ALL)) is None
    assert _kind(_run(_BAD, slot=3), other, first) is None
    assert _kind(_run(_OK, slot=3), other, first) is NoticeKind.RECOVERED


def test_a_slot_that_is_retried_is_not_yet_lost() -> None:
    first, second = _run(_BAD, slot=1, attempt=1), _run(_BAD, slot=1, attempt=2)
    pending = replace(_JOB, next_source=Source.RETRY)
    assert _kind(first, job=pending) is None
    assert _kind(_run(_OK, slot=1, attempt=2), first) is None
    # The last attempt is the first that is told.
    assert _kind(second, first) is NoticeKind.FAILED
    assert _kind(_run(_BAD, slot=2), second, first) is None
    assert _kind(_run(_OK, slot=2), second, first) is NoticeKind.RECOVERED


def test_an_event_that_is_retried_is_not_yet_lost() -> None:
    first = replace(_run(_BAD, trigger=Trigger.EVENT), event_id="1")
    second = replace(first, id="second", attempt=2)
    assert _kind(first, job=replace(_JOB, next_source=Source.RETRY)) is None
    assert _kind(second, first) is NoticeKind.FAILED


def test_a_short_manual_run_is_not_reported() -> None:
    short = _run(_BAD, trigger=Trigger.MANUAL, took_ms=_MINUTE)
    assert _kind(short) is None
    assert _kind(_run(_OK, trigger=Trigger.MANUAL, took_ms=_MINUTE), job=_with(Notify.ALL)) is None
    # It was not told, so the first failure that nobody watched is.
    assert _kind(_run(_BAD, slot=1), short) is NoticeKind.FAILED


def test_a_long_manual_run_is_reported() -> None:
    long = 61 * _SECOND
    assert _kind(_run(_BAD, trigger=Trigger.MANUAL, took_ms=long)) is NoticeKind.FAILED
    # A retry of the schedule is no matter of a run by hand.
    pending = replace(_JOB, next_source=Source.RETRY)
    assert _kind(_run(_BAD, trigger=Trigger.MANUAL, took_ms=long), job=pending) is NoticeKind.FAILED
    assert _kind(_run(_OK, trigger=Trigger.MANUAL, took_ms=long)) is None
    succeeded = _told(_run(_OK, trigger=Trigger.MANUAL, took_ms=long), job=_with(Notify.ALL))
    assert succeeded is not None
    assert (succeeded.title, succeeded.text) == ("backup succeeded", "Took 1 min 1 s.")


def test_test_runs_and_active_runs_are_never_notified() -> None:
    assert _kind(_run(_BAD, trigger=Trigger.TEST, took_ms=_HOUR), job=_with(Notify.ALL)) is None
    running = replace(_run(Outcome.RUNNING), finished_at=None)
    assert _kind(running, job=_with(Notify.ALL)) is None


@pytest.mark.parametrize(
    ("notify", "general", "failure", "success"),
    [
        (Notify.NONE, Notify.ALL, None, None),
        (Notify.FAILURES, Notify.NONE, NoticeKind.FAILED, None),
        (Notify.ALL, Notify.NONE, NoticeKind.FAILED, NoticeKind.SUCCEEDED),
        (Notify.SETTINGS, Notify.NONE, None, None),
        (Notify.SETTINGS, Notify.FAILURES, NoticeKind.FAILED, None),
        (Notify.SETTINGS, Notify.ALL, NoticeKind.FAILED, NoticeKind.SUCCEEDED),
    ],
)
def test_the_job_decides_or_leaves_it_to_the_settings(
    notify: Notify, general: Notify, failure: NoticeKind | None, success: NoticeKind | None
) -> None:
    job, settings = _with(notify), Settings(notify=general)
    assert _kind(_run(_BAD), job=job, settings=settings) is failure
    assert _kind(_run(_OK), job=job, settings=settings) is success


def _disabled(job: Job = _JOB, **changes: object) -> Job:
    changed = {
        "status": JobStatus.DISABLED,
        "status_reason": StatusReason.ERRORS,
        "errors": 5,
        "next_run_at": None,
        "next_source": None,
        "last_run_at": _NOW - 12 * _SECOND,
    }
    return replace(job, **{**changed, **changes})  # type: ignore[arg-type]  # one mapping for all kinds


def test_a_job_disabled_by_failures_always_notifies() -> None:
    notice = _told(_run(_BAD, slot=5), _run(_BAD, slot=4), job=_disabled(_with(Notify.NONE)))
    assert notice is not None
    assert notice.kind is NoticeKind.DISABLED
    assert (notice.title, notice.text) == ("backup was disabled after 5 failures", "Exit code 1.")


def test_a_job_that_cannot_be_planned_shows_that_it_was_disabled() -> None:
    job = _disabled(errors=0, last_error="its next run could not be planned")
    notice = _told(_run(_OK), job=job)
    assert notice is not None
    assert notice.title == "backup was disabled: cannot be run"
    assert notice.text == "Its next run could not be planned."


def test_only_the_run_that_disabled_a_job_reports_it() -> None:
    assert _kind(_run(_BAD, slot=4), _run(_BAD, slot=3), job=_disabled(last_run_at=_NOW)) is None
    by_hand = _run(_BAD, trigger=Trigger.MANUAL)
    assert _kind(by_hand, _run(_BAD, slot=5), job=_disabled()) is None
    by_user = _disabled(status_reason=StatusReason.USER)
    assert _kind(_run(_BAD, slot=5), _run(_BAD, slot=4), job=by_user) is None


def test_texts_from_outside_are_plain_and_short() -> None:
    name = "<b>long\u202e</b> name " * 10
    error = "\x1b[31mred\x1b[0m\n& <i>many</i>\x00 words " * 40
    notice = _told(_run(_BAD, error=error), job=replace(_JOB, name=name))
    assert notice is not None
    assert len(notice.title) <= 60
    assert notice.title.endswith("… failed")
    assert len(notice.text) <= 200
    assert notice.text.isprintable()
    assert notice.title.isprintable()
    assert "\x1b" not in notice.text
    assert notice.text.endswith("Next run: 14:00.")


def _gap(began: str, ended: str, kind: GapKind = GapKind.OFF) -> Gap:
    return Gap(
        began_at=utc_ms(began), ended_at=utc_ms(ended), kind=kind, caught_up=3, missed=2, run_ids=("a", "b")
    )


def test_trouble_with_watching_an_event_is_notified() -> None:
    situation = _situation(_JOB)._replace(watch_trouble="~/in cannot be read: permission denied")
    assert watch_notice(_JOB, situation, Settings()) == Notice(
        kind=NoticeKind.TROUBLED,
        title="backup has trouble with its event",
        text="~/in cannot be read: permission denied.",
        job_id="1",
        job_name="backup",
    )
    assert watch_notice(_JOB, _situation(_JOB), Settings()) is None
    silent = replace(_JOB, policy=Policy(notify=Notify.NONE))
    assert watch_notice(silent, situation, Settings()) is None


@pytest.mark.parametrize(
    ("gap", "title"),
    [
        (_gap("2026-11-15T21:10:30Z", "2026-11-16T06:55Z"), "Halo was off 22:10–07:55"),
        (_gap("2026-11-15T06:10Z", "2026-11-16T06:55Z"), "Halo was off 15 Nov 07:10–16 Nov 07:55"),
        (_gap("2026-11-13T21:10Z", "2026-11-16T06:55Z"), "Halo was off 13 Nov 22:10–16 Nov 07:55"),
        (_gap("2026-11-16T06:00Z", "2026-11-16T06:55Z", GapKind.ASLEEP), "The computer slept 07:00–07:55"),
    ],
)
def test_a_downtime_notice_gives_its_time_and_its_effects(gap: Gap, title: str) -> None:
    assert gap_notice(gap) == Notice(
        kind=NoticeKind.GAP, title=title, text="3 runs caught up, 2 missed", run_ids=("a", "b")
    )


@pytest.mark.parametrize(
    ("caught_up", "missed", "text"),
    [(1, 0, "1 run caught up"), (0, 1, "1 run missed"), (1, 1, "1 run caught up, 1 missed")],
)
def test_a_downtime_notice_counts_only_actual_runs(caught_up: int, missed: int, text: str) -> None:
    gap = replace(_gap("2026-11-15T21:10Z", "2026-11-16T06:55Z"), caught_up=caught_up, missed=missed)
    notice = gap_notice(gap)
    assert notice is not None
    assert notice.text == text


def test_a_mere_restart_is_not_notified_unless_something_was_missed() -> None:
    restart = replace(_gap("2026-11-16T06:47Z", "2026-11-16T06:49Z"), caught_up=1, missed=0)
    assert gap_notice(restart) is None
    assert gap_notice(replace(restart, missed=1)) is not None


@pytest.mark.parametrize(
    ("output", "text"),
    [
        (b"12 files copied\n", "12 files copied"),
        (b"first\n\x1b[32mdone\x1b[0m\n\n  \n::cost 0.2\n", "done"),
        (b"x" * 9_000 + b"\n" + b"y" * 500, "y" * 199 + "…"),
        (b"", "Took 1 min 1 s."),
        (b"::cost 0.2\n\n", "Took 1 min 1 s."),
    ],
)
def test_a_success_is_reported_with_the_last_line_of_its_output(output: bytes, text: str) -> None:
    notice = _told(_run(_OK, trigger=Trigger.MANUAL, took_ms=61 * _SECOND), job=_with(Notify.ALL))
    assert notice is not None
    assert with_last_line(notice, output).text == text


def test_a_failure_is_reported_with_its_last_line_and_actions() -> None:
    notice = _told(_run(_BAD))
    assert notice is not None
    said = with_last_line(notice, b"tar: /backup: Cannot open\n")
    assert said.text == "Exit code 1. Next run: 14:00.\ntar: /backup: Cannot open"
    assert said.actions == (NoticeAction.SHOW_OUTPUT, NoticeAction.RUN_AGAIN, NoticeAction.PAUSE)


def test_a_recovery_is_reported_without_output() -> None:
    notice = _told(_run(_OK, slot=2), _run(_BAD, slot=1))
    assert notice is not None
    assert with_last_line(notice, b"fine\n") == notice


def test_a_manual_failure_is_reported_while_the_window_is_hidden() -> None:
    run = _run(_BAD, trigger=Trigger.MANUAL)
    assert _told(run, is_watched=True) is None
    notice = _told(run, is_watched=False)
    assert notice is not None
    assert notice.title == "backup failed"


# --- Several at once ---------------------------------------------------------------------------------


def _failure_of(name: str) -> Notice:
    return Notice(
        kind=NoticeKind.FAILED,
        title=f"{name} failed",
        text="Exit code 1.",
        job_id=name,
        job_name=name,
        run_ids=(f"run of {name}",),
    )


def test_failures_of_one_minute_become_one_notice() -> None:
    groups, failures = NoticeGroups(), [_failure_of(name) for name in "abcdefghi"]
    (notice,) = groups.fold(failures, _NOW)
    assert (notice.title, notice.text) == ("9 jobs failed", "a, b, c and 6 more")
    assert notice.run_ids == tuple(f"run of {name}" for name in "abcdefghi")
    assert (notice.job_id, notice.actions) == (None, ())


def test_notices_within_a_minute_are_combined() -> None:
    groups = NoticeGroups()
    one, two, three, four = map(_failure_of, "abcd")
    assert groups.fold([one], _NOW) == [one]
    assert groups.fold([two], _NOW + _SECOND) == [two]
    (folded,) = groups.fold([three], _NOW + 2 * _SECOND)
    assert (folded.title, folded.text) == ("3 jobs failed", "a, b, c")
    assert groups.fold([four], _NOW + 2 * _MINUTE) == [four]


def test_a_second_combined_notice_repeats_no_job_of_the_first() -> None:
    groups = NoticeGroups()
    groups.fold([_failure_of(name) for name in "abc"], _NOW)
    (first,) = groups.fold([_failure_of("d")], _NOW + 59 * _SECOND)
    assert first.text == "a, b, c and 1 more"
    later = [_failure_of(name) for name in "efg"]
    assert groups.fold(later[:2], _NOW + 61 * _SECOND) == later[:2]
    (second,) = groups.fold(later[2:], _NOW + 62 * _SECOND)
    assert (second.title, second.text) == ("3 jobs failed", "e, f, g")


def test_one_job_that_fails_again_and_again_is_not_several() -> None:
    groups = NoticeGroups()
    assert [groups.fold([_failure_of("a")], _NOW + second) for second in range(3)] == [[_failure_of("a")]] * 3


def test_kinds_are_combined_separately_and_notices_about_halo_never() -> None:
    hints = [Notice(kind=NoticeKind.HINT, title=str(number), text="") for number in range(4)]
    asks = [replace(_failure_of(name), kind=NoticeKind.NEEDS_INPUT) for name in "abc"]
    told = NoticeGroups().fold([*hints, *asks, _failure_of("d")], _NOW)
    assert [notice.title for notice in told] == ["0", "1", "2", "3", "d failed", "3 jobs need you"]


# --- Questions and caps -----------------------------------------------------------------------------

_QUESTION = Question(id="q", job_id="1", run_id="r", asked_at=_NOW, text="Which branch?\nmain or next?")


@pytest.mark.parametrize("outcome", [_OK, _BAD, Outcome.TIMEOUT, Outcome.CANCELLED])
@pytest.mark.parametrize("trigger", [Trigger.SCHEDULE, Trigger.MANUAL, Trigger.ANSWER])
def test_a_question_is_reported_however_the_run_ended(outcome: Outcome, trigger: Trigger) -> None:
    notice = _told(_run(outcome, trigger=trigger), question=_QUESTION)
    assert notice is not None
    assert (notice.kind, notice.title) == (NoticeKind.NEEDS_INPUT, "backup needs you")
    assert notice.text == "Which branch? ↵ main or next?"


def test_a_question_is_not_notified_where_notifications_are_off() -> None:
    assert _told(_run(_OK), job=_with(Notify.NONE), question=_QUESTION) is None
    job = _with(Notify.SETTINGS)
    assert _told(_run(_OK), job=job, settings=Settings(notify=Notify.NONE), question=_QUESTION) is None


def test_a_question_settled_meanwhile_is_not_notified() -> None:
    settled = replace(_QUESTION, state=QuestionState.ANSWERED)
    assert _told(_run(_OK), question=settled) is None


def test_a_question_of_a_run_that_disabled_its_job_reports_both() -> None:
    job = replace(_JOB, status=JobStatus.DISABLED, status_reason=StatusReason.ERRORS, errors=5)
    notice = _told(_run(_BAD), job=job, question=_QUESTION)
    assert notice is not None
    assert notice.kind is NoticeKind.NEEDS_INPUT
    assert (notice.title, notice.text) == (
        "backup needs you, disabled after 5 failures",
        "Which branch? ↵ main or next?",
    )
    silent = replace(job, policy=Policy(notify=Notify.NONE))
    notice = _told(_run(_BAD), job=silent, question=_QUESTION)
    assert notice is not None
    assert (notice.kind, notice.title) == (NoticeKind.DISABLED, "backup was disabled after 5 failures")


def _capped(finished_at: int) -> Run:
    return replace(
        _run(Outcome.SKIPPED, error="2 runs today, which is its daily limit"),
        id=f"capped-{finished_at}",
        reason=SkipReason.CAP,
        started_at=None,
        finished_at=finished_at,
    )


def test_a_daily_limit_is_reported_once_a_day() -> None:
    first, second, next_day = (_capped(at) for at in (_NOW, _NOW + _HOUR, _NOW + 11 * _HOUR))
    notice = _told(first, _run(_OK))
    assert notice is not None
    assert (notice.kind, notice.title) == (NoticeKind.CAPPED, "backup reached its daily limit")
    assert notice.text == "2 runs today, which is its daily limit."
    assert _told(second, _run(_OK, trigger=Trigger.MANUAL), first) is None
    assert _kind(next_day, second, first) is NoticeKind.CAPPED


def test_a_daily_limit_is_not_reported_with_notifications_off() -> None:
    assert _told(_capped(_NOW), job=_with(Notify.NONE)) is None


def _skipped(reason: SkipReason, error: str, finished_at: int = _NOW, **rest: Any) -> Run:
    run = _run(Outcome.SKIPPED, error=error, **rest)
    return replace(run, id=f"{reason}-{finished_at}", reason=reason, started_at=None, finished_at=finished_at)


def test_unmet_conditions_are_reported_once_a_day_like_a_failure() -> None:
    words = "it waited 2 hours for AC power: the computer runs on battery"
    first, second, next_day = (
        _skipped(SkipReason.CONDITION, words, at) for at in (_NOW, _NOW + _HOUR, _NOW + 11 * _HOUR)
    )
    assert _told(first) == Notice(
        kind=NoticeKind.NOT_RUN,
        title="backup did not run",
        text="It waited 2 hours for AC power: the computer runs on battery. Next run: 14:00.",
        job_id="1",
        job_name="backup",
        run_ids=(first.id,),
    )
    assert _told(second, first) is None
    assert _kind(next_day, second, first) is NoticeKind.NOT_RUN
    assert _told(first, job=_with(Notify.NONE)) is None


@pytest.mark.parametrize("reason", [SkipReason.QUIET_TIME, SkipReason.NO_WORK, SkipReason.NEEDS_INPUT])
def test_a_skip_that_the_user_requested_is_not_notified(reason: SkipReason) -> None:
    assert _told(_skipped(reason, "it was due in the quiet hours Nights"), job=_with(Notify.ALL)) is None


@pytest.mark.parametrize("reason", [SkipReason.PAUSED, SkipReason.DISABLED])
def test_a_chain_that_ends_before_a_job_is_reported_once_a_day(reason: SkipReason) -> None:
    words = "it was triggered by sync, but it was stopped"
    first, second = (_skipped(reason, words, at, trigger=Trigger.CHAIN) for at in (_NOW, _NOW + _HOUR))
    notice = _told(first)
    assert notice is not None
    assert (notice.kind, notice.title, notice.text) == (
        NoticeKind.CHAIN_BROKEN,
        "backup did not run",
        "It was triggered by sync, but it was stopped.",
    )
    assert _told(second, first) is None
    # A slot that came while the job was paused is no broken chain.
    assert _told(_skipped(reason, "the job was paused at that time")) is None


def test_a_removed_next_job_is_reported_with_the_causing_run() -> None:
    run = _run(_OK)
    gone = BrokenLink(name="report", is_removed=True, is_first_today=True)
    faulty = BrokenLink(name="mail", is_removed=False, is_first_today=True)
    first, second = chain_notices(run, _JOB, [gone, faulty], Settings())
    assert (first.kind, first.title, first.run_ids) == (
        NoticeKind.CHAIN_BROKEN,
        "report did not run after backup",
        (run.id,),
    )
    assert first.text == "It was deleted. Restore it, or remove it from the next jobs of backup."
    assert second.text == "An internal error kept it from starting. See the program log."
    assert chain_notices(run, _JOB, [replace(gone, is_first_today=False)], Settings()) == []
    assert chain_notices(run, _with(Notify.NONE), [gone], Settings()) == []


def test_a_slot_skipped_for_an_open_question_is_not_notified_again() -> None:
    skipped = replace(_run(Outcome.SKIPPED), reason=SkipReason.NEEDS_INPUT)
    assert _told(skipped) is None
