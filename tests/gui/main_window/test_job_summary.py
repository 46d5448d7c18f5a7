"""What all jobs together are doing."""

from __future__ import annotations

from chain_waits import MAINS, NETWORK, waits
from job_values import MINUTE, NOW, make_job, row_of

from halo_scheduler.model import InQuietTime, JobStatus, Policy, StatusReason, WaitingFor
from halo_scheduler.model.settings import Quiet, QuietTime
from ui.main_window.job_loader import sum_up
from ui.widgets.job_text import waiting_line


def test_without_jobs_nothing_comes() -> None:
    totals = sum_up(())
    assert totals.next_at is None
    assert totals.summary.next_name == ""
    assert totals.groups == frozenset()


def test_jobs_are_counted_by_situation() -> None:
    summary = sum_up(
        row_of(job)
        for job in [
            make_job("a", status=JobStatus.RUNNING, next_run_at=None),
            make_job("b", status=JobStatus.PAUSED, next_run_at=None),
            make_job("c", errors=2),
            make_job("d", status=JobStatus.DISABLED, status_reason=StatusReason.ERRORS, next_run_at=None),
        ]
    ).summary
    assert (summary.running, summary.paused, summary.ready, summary.failing) == (1, 1, 1, 2)


def test_the_next_is_the_earliest_that_does_not_wait_for_a_place() -> None:
    totals = sum_up(
        row_of(job)
        for job in [
            make_job("late", next_run_at=NOW - MINUTE, waiting_for=WaitingFor.AT_CAPACITY, group="G"),
            make_job("later", next_run_at=NOW + 2 * MINUTE),
            make_job("n" * 100, next_run_at=NOW + MINUTE),
        ]
    )
    assert totals.next_at == NOW + MINUTE
    assert waiting_line(totals.waiting, NOW) == "late waiting: limit reached"
    assert totals.summary.next_name.startswith("nnn")
    assert len(totals.summary.next_name) <= 40
    assert totals.groups == {"G"}


def test_a_blocked_job_is_not_shown_as_next() -> None:
    held = [
        row_of(make_job("asks", next_run_at=NOW), asks=True),
        row_of(make_job("capped", next_run_at=NOW), is_capped=True),
    ]
    assert sum_up(held).next_at is None
    totals = sum_up([*held, row_of(make_job("later", next_run_at=NOW + MINUTE))])
    assert (totals.summary.next_name, totals.next_at) == ("later", NOW + MINUTE)
    assert totals.summary.ready == 3


def test_a_job_due_in_quiet_hours_is_next_at_their_end_or_not_at_all() -> None:
    quiet = Quiet(NOW + 30 * MINUTE, QuietTime())
    skips = Policy(in_quiet_time=InQuietTime.SKIP)
    rows = [
        row_of(make_job("skips", next_run_at=NOW + MINUTE, policy=skips), quiet=quiet),
        row_of(make_job("waits", next_run_at=NOW + 2 * MINUTE), quiet=quiet),
    ]
    totals = sum_up(rows)
    assert (totals.summary.next_name, totals.next_at) == ("waits", NOW + 30 * MINUTE)
    totals = sum_up([*rows, row_of(make_job("loud", next_run_at=NOW + 9 * MINUTE))])
    assert (totals.summary.next_name, totals.next_at) == ("loud", NOW + 9 * MINUTE)
    assert sum_up(rows[:1]).next_at is None


def test_a_job_from_an_assistant_is_not_resumed_with_all_others() -> None:
    made = make_job(status=JobStatus.PAUSED, status_reason=StatusReason.ASSISTANT, next_run_at=None)
    summary = sum_up([row_of(made)]).summary
    assert summary.paused == 0
    assert not summary.is_all_paused


def test_of_many_that_wait_only_the_first_are_named() -> None:
    kinds = (("n" * 100, NETWORK), ("b", MAINS), ("c", NETWORK))
    rows = [row_of(make_job(name, next_run_at=NOW, **waits(kind))) for name, kind in kinds]
    waiting = sum_up(rows).waiting
    assert (waiting.count, waiting.is_alike) == (3, False)
    assert waiting_line(waiting, NOW) == f"3 waiting: {'n' * 23}… (network), b (AC power), …"
    assert sum_up([rows[0], rows[2]]).waiting.is_alike
