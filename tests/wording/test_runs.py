"""Words for runs: every kind has its own, and a run is described in one line."""

from __future__ import annotations

import pytest
from job_values import make_run

from halo_scheduler.model import Outcome, PassedReason, Run, SkipReason, Source, Trigger
from halo_scheduler.wording.runs import coalesced_words, passed_words, rule_words, run_words, trigger_words


def test_every_kind_has_words_of_its_own() -> None:
    for found in (
        [trigger_words(trigger) for trigger in Trigger],
        [passed_words(reason) for reason in PassedReason],
    ):
        assert len(set(found)) == len(found)
        assert all(found)


@pytest.mark.parametrize("source", Source)
def test_every_rule_has_words(source: Source) -> None:
    assert rule_words(source)


def test_a_reason_of_another_version_has_no_words() -> None:
    assert passed_words("something new") == ""


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (make_run(), "succeeded"),
        (make_run(Outcome.FAILURE, error="exit code 3"), "failed: exit code 3"),
        (make_run(Outcome.SKIPPED, reason=SkipReason.CAP), "skipped: its daily limit was reached"),
        (
            make_run(Outcome.SKIPPED, reason=SkipReason.CAP, error="2 runs today, which is its daily limit"),
            "skipped: 2 runs today, which is its daily limit",
        ),
        (make_run(Outcome.RUNNING, progress=0.37, progress_text="copying"), "running 37% copying"),
        (make_run(Outcome.RUNNING, error="waiting for free memory"), "waiting for free memory"),
        (make_run(Outcome.CANCELLED, error="stopped by the user"), "stopped by the user"),
    ],
)
def test_a_run_is_described_with_its_reason(run: Run, words: str) -> None:
    assert run_words(run) == words


@pytest.mark.parametrize(
    ("count", "reason", "words"),
    [
        (0, "running", ""),
        (1, "running", "1 time (the previous run was still active)"),
        (2, "quiet time", "2 times (quiet hours applied)"),
        (2, "", "2 times"),
        (2, "something new", "2 times (something new)"),
        (
            *(21, "20 downtime, 1 running"),
            "20 times (Halo was not running), 1 time (the previous run was still active)",
        ),
    ],
)
def test_coalesced_times_are_counted_by_reason(count: int, reason: str, words: str) -> None:
    assert coalesced_words(make_run(passed_over=count, passed_reason=reason)) == words
