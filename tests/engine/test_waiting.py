"""Jobs that start only when something holds: they wait, say for what, and give up in time."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest
from chain_waits import awaited
from machine import START, Bench, FakeSurroundings
from pytestqt.qtbot import QtBot

from halo_scheduler import After, Every, Manual, Once, Outcome, Policy, Retry, Run, Source, Trigger
from halo_scheduler.conditions.surroundings import Finding
from halo_scheduler.model import (
    Backoff,
    Caps,
    Condition,
    JobStatus,
    Load,
    Network,
    PathExists,
    Schedule,
    SkipReason,
    StatusReason,
    WaitingFor,
)
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.service.scheduler import Scheduler

_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000
_DISK = PathExists(path="/mnt/backup")
_NAS = Network(host="nas.local", port=22)


def _add(
    bench: Bench,
    *conditions: Condition,
    schedule: Schedule | None = None,
    deadline: str | None = None,
    name: str = "job",
    **policy: object,
) -> str:
    given = Policy(conditions=conditions or (_DISK,), condition_deadline=deadline, **policy)  # type: ignore[arg-type]
    return bench.scheduler.add_job(name, schedule or Every("1h"), policy=given)


def _waiting(bench: Bench, job_id: str) -> tuple[WaitingFor | None, str]:
    job = bench.job(job_id)
    return job.waiting_for, awaited(job)


def _skipped(bench: Bench, job_id: str) -> list[Run]:
    return bench.scheduler.get_run_log(job_id, outcome=Outcome.SKIPPED)


def _told(bench: Bench) -> list[Change]:
    told: list[Change] = []
    bench.scheduler.subscribe(told.append)
    return told


# --- Waiting -----------------------------------------------------------------------------------------


def test_a_job_whose_condition_is_not_met_waits_and_names_it(bench: Bench) -> None:
    job_id = _add(bench)
    assert bench.tick(_HOUR) == []
    job = bench.job(job_id)
    assert (job.waiting_for, awaited(job)) == (WaitingFor.CONDITION, "/mnt/backup to exist")
    assert (job.status, job.next_run_at) == (JobStatus.IDLE, START + _HOUR)


def test_it_starts_once_as_soon_as_the_condition_holds(bench: Bench) -> None:
    job_id = _add(bench)
    bench.tick(_HOUR)
    bench.surroundings.truths[_DISK] = True
    (run,) = bench.tick(7 * _MINUTE)
    assert (run.slot_at, run.late_ms, run.trigger) == (START + _HOUR, 7 * _MINUTE, Trigger.SCHEDULE)
    assert _waiting(bench, job_id) == (None, "")
    assert bench.tick() == []
    bench.finish(run)
    assert _waiting(bench, job_id) == (None, "")


def test_all_conditions_must_be_met_at_once(bench: Bench) -> None:
    job_id = _add(bench, _DISK, _NAS)
    assert bench.tick(_HOUR) == []
    assert _waiting(bench, job_id)[1] == "/mnt/backup to exist and nas.local:22 to answer"
    for holding, words in ((_DISK, "nas.local:22 to answer"), (_NAS, "/mnt/backup to exist")):
        bench.surroundings.truths = {holding: True}
        assert bench.tick(_MINUTE) == []
        assert _waiting(bench, job_id)[1] == words
    bench.surroundings.truths = {_DISK: True, _NAS: True}
    assert len(bench.tick(_MINUTE)) == 1


def test_unknown_is_never_true(bench: Bench) -> None:
    job_id = _add(bench)
    bench.surroundings.truths[_DISK] = None
    assert bench.tick(_HOUR) == []
    assert _waiting(bench, job_id) == (WaitingFor.CONDITION, "/mnt/backup to exist")


def test_a_condition_that_stays_unknown_is_reported_as_unknown(bench: Bench) -> None:
    job_id = _add(bench)
    bench.surroundings.truths[_DISK] = None
    bench.tick(_HOUR)
    bench.tick(9 * _SECOND)
    assert _waiting(bench, job_id)[1] == "/mnt/backup to exist"
    bench.tick(_SECOND)
    assert _waiting(bench, job_id)[1] == "/mnt/backup to exist (can't be checked right now)"


def test_a_probe_of_one_condition_changes_no_words_while_another_is_not_met(bench: Bench) -> None:
    job_id = _add(bench, _DISK, _NAS)
    bench.surroundings.truths[_NAS] = True
    bench.tick(_HOUR)
    told = _told(bench)
    bench.surroundings.truths[_NAS] = None
    bench.tick(_MINUTE)
    assert _waiting(bench, job_id)[1] == "/mnt/backup to exist"
    assert told == []


def test_the_last_known_state_is_shown_while_a_condition_is_probed_again(bench: Bench) -> None:
    job_id = _add(bench, _DISK, _NAS)
    bench.surroundings.truths[_NAS] = True
    bench.tick(_HOUR)
    told = _told(bench)
    bench.surroundings.truths = {_DISK: None, _NAS: None}
    bench.tick(_MINUTE)
    assert (_waiting(bench, job_id)[1], told) == ("/mnt/backup to exist", [])
    bench.surroundings.truths = {_DISK: True, _NAS: False}
    bench.tick(_SECOND)
    assert _waiting(bench, job_id)[1] == "nas.local:22 to answer"


def test_a_condition_that_is_awaited_again_is_probed_as_for_the_first_time(bench: Bench) -> None:
    job_id = _add(bench, deadline="1m")
    bench.surroundings.truths[_DISK] = None
    bench.tick(_HOUR)
    bench.scheduler.pause_job(job_id)
    bench.tick(_DAY)
    bench.scheduler.resume_job(job_id)
    bench.tick((bench.job(job_id).next_run_at or 0) - bench.clock.now_ms())
    assert _waiting(bench, job_id)[1] == "/mnt/backup to exist"
    bench.tick(_MINUTE - _SECOND)
    assert _skipped(bench, job_id) == []


def test_an_error_in_a_probe_counts_as_unknown(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    job_id = _add(bench)
    other = bench.scheduler.add_job("other", Every("1h"))

    def stumble(_condition: Condition, _now_ms: int) -> Finding:
        raise ZeroDivisionError

    monkeypatch.setattr(bench.surroundings, "find", stumble)
    (run,) = bench.tick(_HOUR)
    assert run.job_id == other
    assert _waiting(bench, job_id)[0] is WaitingFor.CONDITION
    assert "could not be checked" in caplog.text


def test_a_fault_in_following_does_not_prevent_starting(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    _add(bench)
    other = bench.scheduler.add_job("other", Every("1h"))

    def stumble(_conditions: Collection[Condition]) -> None:
        raise OSError("too many open files")

    monkeypatch.setattr(bench.surroundings, "watch", stumble)
    (run,) = bench.tick(_HOUR)
    bench.tick(_MINUTE)
    assert run.job_id == other
    assert caplog.text.count("OSError: too many open files") == 1


def test_a_change_of_the_awaited_conditions_is_published_once(bench: Bench) -> None:
    job_id = _add(bench, _DISK, _NAS)
    bench.tick()
    told = _told(bench)
    bench.tick(_HOUR)
    assert told == [Change(ChangeKind.JOB, job_id=job_id)]
    bench.tick(_MINUTE)
    assert len(told) == 1
    bench.surroundings.truths[_DISK] = True
    bench.tick(_MINUTE)
    assert told == 2 * [Change(ChangeKind.JOB, job_id=job_id)]


def test_of_many_that_begin_to_wait_at_once_only_that_is_reported_and_of_skipped_runs_which(
    bench: Bench,
) -> None:
    for index in range(30):
        _add(bench, name=f"waits {index}")
    capped = bench.scheduler.add_job("capped", Every("1h"), policy=Policy(caps=Caps(runs_per_day=1)))
    bench.scheduler.trigger(capped)
    (run,) = bench.tick()
    bench.finish(run)
    told = _told(bench)
    bench.tick(_HOUR)
    (skipped,) = _skipped(bench, capped)
    assert told == [
        Change(ChangeKind.JOB),
        Change(ChangeKind.RUN_FINISHED, job_id=capped, run_id=skipped.id),
    ]


def test_conditions_are_asked_for_only_when_the_job_is_due(bench: Bench) -> None:
    _add(bench)
    bench.tick()
    bench.tick(_HOUR - 1)
    assert (bench.surroundings.asked, bench.surroundings.watched) == ([], frozenset())
    bench.tick(1)
    assert bench.surroundings.asked == [_DISK]


def test_only_awaited_conditions_are_watched(bench: Bench) -> None:
    first = _add(bench, _DISK, _NAS, name="first")
    _add(bench, Load(below=2), name="second", schedule=Every("2h"))
    bench.tick(_HOUR)
    assert bench.surroundings.watched == {_DISK, _NAS}
    bench.tick(_HOUR)
    assert bench.surroundings.watched == {_DISK, _NAS, Load(below=2)}
    bench.scheduler.pause_job(first)
    bench.tick()
    assert bench.surroundings.watched == {Load(below=2)}
    bench.surroundings.truths[Load(below=2)] = True
    bench.tick()
    assert bench.surroundings.watched == frozenset()


def test_an_engine_that_claims_nothing_any_more_watches_nothing(bench: Bench) -> None:
    _add(bench)
    bench.tick(_HOUR)
    bench.scheduler.engine.get_engine().stop_claiming()
    assert bench.surroundings.watched == frozenset()
    assert bench.scheduler.engine.get_engine().delay_ms() == _MINUTE


def test_a_retry_waits_for_its_conditions_too(bench: Bench) -> None:
    job_id = _add(bench, retry=Retry(attempts=1, delay_ms=_SECOND))
    bench.surroundings.truths[_DISK] = True
    (run,) = bench.tick(_HOUR)
    bench.finish(run, Outcome.FAILURE)
    bench.surroundings.truths[_DISK] = False
    assert bench.tick(_SECOND) == []
    assert _waiting(bench, job_id)[0] is WaitingFor.CONDITION
    bench.surroundings.truths[_DISK] = True
    (again,) = bench.tick(_MINUTE)
    assert (again.attempt, again.source, again.slot_at) == (2, Source.RETRY, START + _HOUR)


def test_without_a_deadline_the_loop_polls_once_a_minute(bench: Bench) -> None:
    _add(bench)
    bench.tick(_HOUR)
    assert bench.scheduler.engine.get_engine().delay_ms() == _MINUTE


def test_a_waiting_slot_is_never_missed(bench: Bench) -> None:
    job_id = _add(bench)
    bench.tick(_HOUR)
    bench.clock.advance(5 * _HOUR)
    bench.crash()
    bench.surroundings.truths[_DISK] = True
    (run,) = bench.tick()
    assert (run.slot_at, run.source) == (START + _HOUR, Source.EVERY)
    assert len(bench.scheduler.get_run_log(job_id)) == 1


def test_slots_coalesced_while_a_slot_waited_name_the_wait(bench: Bench) -> None:
    _add(bench, schedule=Every("10m"))
    bench.tick(10 * _MINUTE)
    bench.tick(25 * _MINUTE)
    bench.surroundings.truths[_DISK] = True
    (run,) = bench.tick(_MINUTE)
    assert (run.slot_at, run.passed_over) == (START + 10 * _MINUTE, 0)
    bench.finish(run)
    (after,) = bench.tick(4 * _MINUTE)
    assert (after.passed_over, after.passed_reason) == (2, "condition")


def test_slots_coalesced_by_a_run_that_hardly_waited_name_the_run(bench: Bench) -> None:
    _add(bench, schedule=Every("10m"))
    bench.tick(10 * _MINUTE)
    bench.surroundings.truths[_DISK] = True
    (run,) = bench.tick(_MINUTE)
    bench.tick(30 * _MINUTE)
    bench.finish(run)
    (after,) = bench.tick(9 * _MINUTE)
    assert (after.passed_over, after.passed_reason) == (3, "running")


# --- Places ------------------------------------------------------------------------------------------


def test_waiting_jobs_use_no_capacity_and_block_no_other(narrow: Bench) -> None:
    for index in range(30):
        _add(narrow, name=f"waits {index}", schedule=Every("30m"))
    other = narrow.scheduler.add_job("other", Every("1h"))
    (run,) = narrow.tick(_HOUR)
    assert run.job_id == other


def test_a_job_whose_conditions_are_met_waits_only_for_the_limit(narrow: Bench) -> None:
    other = narrow.scheduler.add_job("other", Every("30m"))
    job_id = _add(narrow)
    (run,) = narrow.tick(30 * _MINUTE)
    narrow.tick(30 * _MINUTE)
    assert _waiting(narrow, job_id)[0] is WaitingFor.CONDITION
    narrow.surroundings.truths[_DISK] = True
    narrow.tick(_MINUTE)
    assert _waiting(narrow, job_id) == (WaitingFor.AT_CAPACITY, "limit reached")
    assert narrow.surroundings.watched == {_DISK}
    narrow.scheduler.pause_job(other)
    narrow.finish(run)
    assert [run.job_id for run in narrow.started] == [other, job_id]


def test_a_repeated_probe_does_not_change_the_reason_of_a_job_at_the_limit(narrow: Bench) -> None:
    narrow.scheduler.add_job("other", Every("30m"))
    job_id = _add(narrow)
    narrow.surroundings.truths[_DISK] = True
    narrow.tick(30 * _MINUTE)
    narrow.tick(30 * _MINUTE)
    told = _told(narrow)
    narrow.surroundings.truths[_DISK] = None
    narrow.tick(_MINUTE)
    assert (_waiting(narrow, job_id), told) == ((WaitingFor.AT_CAPACITY, "limit reached"), [])
    narrow.surroundings.truths[_DISK] = False
    narrow.tick(_MINUTE)
    assert _waiting(narrow, job_id)[0] is WaitingFor.CONDITION


def test_waiting_jobs_are_read_once_in_a_tick(narrow: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = Policy(conditions=(_DISK,))
    narrow.scheduler.add_jobs(
        [{"name": f"job {index}", "schedule": Every("1h"), "policy": policy} for index in range(300)]
    )
    narrow.tick()
    jobs = narrow.scheduler._store.jobs
    real, pages = jobs.due, []

    def count(*asked: object) -> object:
        pages.append(real(*asked))  # type: ignore[arg-type] # passed on as it came
        return pages[-1]

    monkeypatch.setattr(jobs, "due", count)
    narrow.tick(_HOUR)
    ids = [record.id for page in pages for record in page]
    assert len(ids) == len(set(ids)) == 300
    assert len(pages) < 10


# --- Deadlines ---------------------------------------------------------------------------------------


def test_at_its_deadline_a_slot_is_skipped_with_the_reason_and_the_next_one_planned(bench: Bench) -> None:
    job_id = _add(bench, deadline="10m")
    bench.tick(_HOUR + 5_000)
    assert bench.scheduler.jobs.waits_until(job_id) == START + _HOUR + 5_000 + 10 * _MINUTE
    assert bench.tick(10 * _MINUTE - 1) == []
    assert _skipped(bench, job_id) == []
    assert bench.scheduler.engine.get_engine().delay_ms() == 1
    bench.tick(1)
    (run,) = _skipped(bench, job_id)
    assert (run.reason, run.slot_at, run.started_at) == (SkipReason.CONDITION, START + _HOUR, None)
    assert run.error == "it waited 10 minutes for /mnt/backup to exist: it is not so"
    job = bench.job(job_id)
    assert (job.next_run_at, job.errors, job.waiting_for) == (START + 2 * _HOUR, 0, None)
    assert bench.scheduler.jobs.waits_until(job_id) is None
    bench.tick(_MINUTE)
    assert len(_skipped(bench, job_id)) == 1


def test_conditions_met_at_the_deadline_start_the_run(bench: Bench) -> None:
    job_id = _add(bench, deadline="10m")
    bench.tick(_HOUR)
    bench.surroundings.truths[_DISK] = True
    assert len(bench.tick(10 * _MINUTE)) == 1
    assert _skipped(bench, job_id) == []


def test_a_deadline_applies_also_at_the_limit(narrow: Bench) -> None:
    narrow.scheduler.add_job("other", Every("30m"))
    job_id = _add(narrow, deadline="10m")
    narrow.tick(30 * _MINUTE)
    narrow.tick(30 * _MINUTE)
    narrow.tick(10 * _MINUTE)
    (run,) = _skipped(narrow, job_id)
    assert run.reason is SkipReason.CONDITION


def test_a_deadline_is_counted_from_the_first_wait_also_over_a_restart(bench: Bench) -> None:
    job_id = _add(bench, deadline="10m")
    bench.tick(_HOUR)
    bench.surroundings.truths[_DISK] = None
    bench.clock.advance(9 * _MINUTE)
    bench.crash()
    bench.tick()
    bench.surroundings.truths[_DISK] = False
    bench.tick(_MINUTE - 1)
    assert _skipped(bench, job_id) == []
    bench.tick(1)
    assert len(_skipped(bench, job_id)) == 1


def test_a_deadline_that_passed_without_an_engine_waits_for_a_first_probe(bench: Bench) -> None:
    job_id = _add(bench, deadline="10m")
    bench.tick(_HOUR)
    bench.clock.advance(3 * _HOUR)
    bench.surroundings.truths[_DISK] = None
    bench.crash()
    bench.tick()
    assert _skipped(bench, job_id) == []
    assert bench.scheduler.engine.get_engine().delay_ms() == 10 * _SECOND
    bench.surroundings.truths[_DISK] = True
    assert len(bench.tick(_SECOND)) == 1


def test_a_probe_without_a_result_is_not_awaited_beyond_the_deadline(bench: Bench) -> None:
    job_id = _add(bench, deadline="5m")
    bench.tick(_HOUR)
    bench.surroundings.truths[_DISK] = None
    bench.tick(5 * _MINUTE)
    assert _skipped(bench, job_id) == []
    bench.tick(10 * _SECOND)
    (run,) = _skipped(bench, job_id)
    assert run.error == "it waited 5 minutes for /mnt/backup to exist: unknown"


def test_a_one_time_job_whose_conditions_were_never_met_says_that_its_time_is_over(bench: Bench) -> None:
    job_id = _add(bench, schedule=Once(START + _HOUR), deadline="10m")
    bench.tick(_HOUR)
    bench.tick(10 * _MINUTE)
    (run,) = _skipped(bench, job_id)
    assert run.error.endswith("; it had only this time, so run it manually or set a new one")
    assert bench.job(job_id).status_reason is StatusReason.DONE


def test_an_after_job_whose_conditions_were_never_met_is_not_due_again_at_once(bench: Bench) -> None:
    job_id = _add(bench, schedule=After("30m"), deadline="1m")
    bench.tick()
    bench.tick(_MINUTE)
    assert len(_skipped(bench, job_id)) == 1
    assert bench.job(job_id).next_run_at == START + 31 * _MINUTE


def test_a_retry_that_is_given_up_leaves_the_error_count(bench: Bench) -> None:
    job_id = _add(bench, deadline="1m", retry=Retry(attempts=1, delay_ms=_SECOND), backoff=Backoff.none())
    bench.surroundings.truths[_DISK] = True
    (run,) = bench.tick(_HOUR)
    bench.finish(run, Outcome.FAILURE)
    bench.surroundings.truths[_DISK] = False
    bench.tick(_SECOND)
    bench.tick(_MINUTE)
    (skipped,) = _skipped(bench, job_id)
    assert (skipped.slot_at, skipped.attempt) == (START + _HOUR, 2)
    assert bench.job(job_id).errors == 0


def test_a_clock_set_back_makes_no_deadline_longer(bench: Bench) -> None:
    job_id = _add(bench, deadline="10m")
    bench.tick(2 * _HOUR)
    bench.tick(-30 * _MINUTE)
    waits_until = bench.scheduler.jobs.waits_until(job_id)
    assert waits_until is None or waits_until <= bench.clock.now_ms() + 10 * _MINUTE


def test_a_slot_that_was_moved_ahead_is_no_longer_waiting(bench: Bench) -> None:
    job_id = _add(bench, deadline="10m")
    bench.tick()
    bench.tick(-2 * _SECOND)  # From now on it is planned because the clock went back.
    bench.tick((bench.job(job_id).next_run_at or 0) - bench.clock.now_ms())
    assert _waiting(bench, job_id)[0] is WaitingFor.CONDITION
    slot_at = bench.job(job_id).next_run_at
    bench.tick(-2 * _SECOND)
    assert (bench.job(job_id).next_run_at, _waiting(bench, job_id)) == (slot_at, (None, ""))


def test_a_shorter_deadline_counts_from_the_edit(bench: Bench) -> None:
    job_id = _add(bench, deadline="10h")
    bench.tick(_HOUR)
    bench.scheduler.update_job(job_id, policy=Policy(conditions=(_DISK,), condition_deadline="5m"))
    assert _waiting(bench, job_id) == (None, "")
    bench.tick(_MINUTE)
    assert bench.scheduler.jobs.waits_until(job_id) == START + _HOUR + 6 * _MINUTE


# --- Words that stay true ----------------------------------------------------------------------------


def test_a_paused_job_waits_for_nothing(bench: Bench) -> None:
    job_id = _add(bench, deadline="10m")
    bench.tick(_HOUR)
    bench.scheduler.pause_job(job_id)
    assert _waiting(bench, job_id) == (None, "")
    assert bench.scheduler.jobs.waits_until(job_id) is None
    bench.tick(_HOUR)
    assert _skipped(bench, job_id) == []


def test_without_its_conditions_a_waiting_job_starts(bench: Bench) -> None:
    job_id = _add(bench, deadline="10m")
    bench.tick(_HOUR)
    bench.scheduler.update_job(job_id, policy=Policy())
    assert _waiting(bench, job_id) == (None, "")
    (run,) = bench.tick(_SECOND)
    assert run.slot_at == START + _HOUR


def test_a_new_schedule_ends_the_waiting(bench: Bench) -> None:
    job_id = _add(bench, deadline="10m")
    bench.tick(_HOUR)
    bench.scheduler.update_job(job_id, schedule=Every("2h"))
    assert _waiting(bench, job_id) == (None, "")
    assert bench.scheduler.jobs.waits_until(job_id) is None


def test_during_a_manual_run_its_due_slot_stays_due_without_a_reason(bench: Bench) -> None:
    job_id = _add(bench, deadline="10m")
    bench.tick(_HOUR)
    bench.scheduler.trigger(job_id)
    (by_hand,) = bench.tick(_SECOND)
    assert _waiting(bench, job_id) == (None, "")
    bench.finish(by_hand)
    assert _waiting(bench, job_id)[0] is WaitingFor.CONDITION
    assert bench.scheduler.jobs.waits_until(job_id) == START + _HOUR + 10 * _MINUTE


# --- Runs that somebody asks for ---------------------------------------------------------------------


def _note_of(bench: Bench, run: Run) -> str:
    recorded = bench.scheduler.get_run(run.id)
    assert recorded is not None
    return recorded.note


def test_a_manual_run_ignores_conditions_and_notes_it(bench: Bench) -> None:
    job_id = _add(bench, _DISK, _NAS)
    bench.surroundings.truths[_NAS] = True
    bench.tick(_HOUR)
    bench.scheduler.trigger(job_id)
    (run,) = bench.tick()
    assert _note_of(bench, run) == "unmet conditions ignored: /mnt/backup to exist"
    bench.finish(run)
    assert _note_of(bench, run) == "unmet conditions ignored: /mnt/backup to exist"


def test_a_manual_run_before_the_due_time_checks_no_condition_and_notes_it(bench: Bench) -> None:
    job_id = _add(bench, _DISK, _NAS)
    bench.scheduler.trigger(job_id)
    (run,) = bench.tick()
    assert _note_of(bench, run) == "conditions ignored: /mnt/backup to exist and nas.local:22 to answer"
    assert bench.surroundings.asked == []


def test_an_answer_run_notes_ignored_conditions_too(bench: Bench) -> None:
    job_id = _add(bench, schedule=Manual())
    bench.scheduler.trigger(job_id)
    (run,) = bench.tick()
    bench.end(run, question="Which?")
    (question,) = bench.scheduler.questions.list()
    bench.scheduler.questions.answer(question.id, "this one")
    (answered,) = bench.tick()
    assert _note_of(bench, answered) == "conditions ignored: /mnt/backup to exist"


def test_a_test_run_and_a_run_without_conditions_say_nothing(bench: Bench) -> None:
    plain = bench.scheduler.add_job("plain", Every("1h"))
    job_id = _add(bench)
    bench.scheduler.trigger(plain)
    bench.scheduler.runs.request_test(job_id, bench.job(job_id).spec)
    runs = bench.tick()
    assert [_note_of(bench, run) for run in runs] == ["", ""]


# --- With a real loop, and the real surroundings -----------------------------------------------------


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[Scheduler]:
    with Scheduler.open(tmp_path / "real.db") as found:
        yield found


@pytest.mark.usefixtures("qapp")
def test_a_change_of_the_surroundings_makes_the_loop_tick_at_once(scheduler: Scheduler, qtbot: QtBot) -> None:
    surroundings = scheduler.engine.surroundings = FakeSurroundings()
    scheduler.on_job_due(lambda *_: None)
    job_id = scheduler.add_job("job", After("1h"), policy=Policy(conditions=(_DISK,)))
    scheduler.start()
    qtbot.waitUntil(lambda: surroundings.watched == {_DISK})
    surroundings.truths[_DISK] = True
    looking = threading.Thread(target=scheduler.engine.get_engine().recheck_conditions)
    looking.start()
    qtbot.waitUntil(lambda: len(scheduler.get_run_log(job_id)) == 1)
    # What it holds on to must not be destroyed there.
    looking.join()


@pytest.mark.usefixtures("qapp")
def test_the_first_probe_of_the_machine_starts_runs_whose_conditions_are_met(
    scheduler: Scheduler, tmp_path: Path, qtbot: QtBot
) -> None:
    scheduler.on_job_due(lambda *_: None)
    policies = [Policy(conditions=(PathExists(path=str(path)),)) for path in (tmp_path, tmp_path / "none")]
    ids = [
        scheduler.add_job(f"job {index}", After("1h"), policy=policy) for index, policy in enumerate(policies)
    ]
    scheduler.start()
    qtbot.waitUntil(lambda: len(scheduler.get_run_log(ids[0])) == 1)
    waiting = scheduler.get_job(ids[1])
    assert waiting is not None
    assert waiting.waiting_for is WaitingFor.CONDITION
    assert scheduler.get_run_log(ids[1]) == []


_PLAIN = """
import sys, threading
from halo_scheduler import After, Scheduler
scheduler = Scheduler.open(sys.argv[1])
scheduler.on_job_due(lambda *_: None)
scheduler.add_job("job", After("1h"))
scheduler.tick()
assert len(scheduler.get_run_log()) == 1
observing = ("halo_scheduler.conditions", "halo_scheduler.host.awake", "jeepney")
print([name for name in sys.modules if name.startswith(observing)], [thread.name for thread in threading.enumerate()])
"""


def test_without_conditions_nothing_that_observes_or_keeps_awake_is_loaded_or_started(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PLAIN, str(tmp_path / "plain.db")],
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "[] ['MainThread']"
