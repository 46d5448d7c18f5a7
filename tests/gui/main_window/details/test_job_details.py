"""The details of a job, read in one question."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from chain_waits import let_chain_wait
from job_values import MINUTE, NOW
from machine import Bench
from past_runs import Past

from halo_scheduler.model import Every, Follower, Manual, Outcome, Policy
from ui.main_window.details.job_details import OUTPUT_LINES, last_lines, read_details


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "halo.db", now_ms=NOW)
    yield made
    made.close()


def test_next_runs_reasons_and_recent_runs_are_shown(bench: Bench) -> None:
    job_id = bench.scheduler.add_job("a", Every("1m"))
    for _ in range(10):
        for run in bench.tick(MINUTE):
            bench.finish(run)
    details = read_details(bench.scheduler, job_id)
    assert details is not None
    assert len(details.next_runs) == 5
    # That the plain schedule decides goes without saying.
    assert details.why == ()
    bench.scheduler.pause_job(job_id)
    paused = read_details(bench.scheduler, job_id)
    assert paused is not None
    assert paused.why
    assert [run.outcome for run in details.runs] == [Outcome.SUCCESS] * 8
    assert details.output_run_id == details.runs[0].id


def test_a_run_that_never_started_hides_neither_the_current_run_nor_the_last_output(bench: Bench) -> None:
    then = bench.scheduler.add_job("then", Manual())
    first = bench.scheduler.add_job("first", Manual(), followers=(Follower(job_id=then),))
    bench.scheduler.trigger(then)
    (under_way,) = bench.tick()
    for _ in range(10):
        let_chain_wait(bench.scheduler, first, then)
        bench.clock.advance(MINUTE)
    for waiting in bench.scheduler.runs.waiting_in_chains():
        bench.scheduler.cancel_run(waiting.run_id)
    bench.tick()
    details = read_details(bench.scheduler, then)
    assert details is not None
    assert details.running is not None
    assert (details.running.id, details.output_run_id) == (under_way.id, under_way.id)
    assert [run.outcome for run in details.runs] == [Outcome.RUNNING, *[Outcome.CANCELLED] * 7]
    bench.finish(under_way)
    details = read_details(bench.scheduler, then)
    assert details is not None
    assert details.running is None
    assert details.output_run_id == under_way.id


@pytest.mark.parametrize(("is_read", "shown"), [(True, "fine"), (False, "::progress 0.5\nfine")])
def test_only_lines_that_halo_read_are_left_out_of_the_output(
    bench: Bench, is_read: bool, shown: str
) -> None:
    job_id = bench.scheduler.add_job("a", Manual(), policy=Policy(reads_lines=is_read))
    Past(bench.scheduler).run(job_id, output=b"::progress 0.5\nfine\n")
    details = read_details(bench.scheduler, job_id)
    assert details is not None
    assert details.output == shown


def test_a_removed_job_has_no_details(bench: Bench) -> None:
    assert read_details(bench.scheduler, "gone") is None


def test_the_last_lines_are_plain_text() -> None:
    output = b"".join(b"line %d\n" % number for number in range(100)) + b"\x1b[31mred\x1b[0m <b>&\xff"
    shown = last_lines(output).split("\n")
    assert len(shown) == OUTPUT_LINES
    assert shown[0] == "line 89"
    assert shown[-1] == "red <b>&\ufffd"


def test_an_endless_line_is_cut() -> None:
    assert len(last_lines(b"x" * 1_000_000)) < 500
    assert last_lines(b"") == ""


@pytest.mark.parametrize("times", [1, 5])
def test_the_limit_of_errors_is_left_to_its_own_line(bench: Bench, times: int) -> None:
    job_id = bench.scheduler.add_job("a", Every("1m"))
    for _ in range(times):
        for run in bench.tick(2 * 60 * MINUTE):
            bench.finish(run, error=ValueError("no disk left"))
    details = read_details(bench.scheduler, job_id)
    assert details is not None
    assert details.job.errors == times
    assert not [sentence for sentence in details.why if "disabled" in sentence]
