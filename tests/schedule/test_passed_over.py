"""The reasons of passed-over grid points, as jobs and runs store them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_scheduler import Cron
from halo_scheduler.model import PassedReason
from halo_scheduler.schedule.passed_over import (
    count_reasons,
    cut_spans,
    read_spans,
    read_summary,
    reason_at,
    spans_after,
    summarize,
    with_span,
)

_EACH_SECOND = Cron("* * * * * *", timezone="UTC")
_SPANS = "downtime<30000,running<50000"


def test_a_reason_is_added_behind_the_others() -> None:
    text = with_span("", PassedReason.DOWNTIME, 30_000)
    assert with_span(text, PassedReason.RUNNING, 50_000) == _SPANS


def test_the_same_reason_is_added_up() -> None:
    assert with_span(_SPANS, PassedReason.RUNNING, 60_000) == "downtime<30000,running<60000"


@pytest.mark.parametrize("until", [None, 40_000, 50_000])
def test_counted_slots_keep_their_reason(until: int | None) -> None:
    assert with_span(_SPANS, PassedReason.PAUSED, until) == _SPANS


def test_no_reason_adds_nothing() -> None:
    assert with_span(_SPANS, None, 60_000) == _SPANS


def test_the_number_of_reasons_is_bounded() -> None:
    text = ""
    for number in range(1, 1_000):
        text = with_span(text, (PassedReason.PAUSED, PassedReason.DOWNTIME)[number % 2], number)
    assert len(read_spans(text)) == 40
    assert reason_at(text, 999) == "downtime"


def test_spans_are_cut_where_a_plan_is_void_and_dropped_where_they_are_counted() -> None:
    assert cut_spans(_SPANS, 40_000) == "downtime<30000"
    assert spans_after(_SPANS, 30_000) == "running<50000"
    assert cut_spans("", 1) == spans_after("", 1) == ""


@pytest.mark.parametrize(("at", "reason"), [(1, "downtime"), (30_001, "running"), (50_001, "")])
def test_the_reason_of_an_instant_is_found(at: int, reason: str) -> None:
    assert reason_at(_SPANS, at) == reason


def test_texts_of_an_older_version_count_as_no_reason() -> None:
    assert read_spans("running") == []


@pytest.mark.parametrize(
    ("since", "total", "counts"),
    [
        (0, 49, {"downtime": 30, "running": 19}),
        (20_000, 30, {"downtime": 10, "running": 20}),
        (40_000, 12, {"running": 10, "": 2}),
        (0, 0, {}),
    ],
)
def test_points_are_counted_for_each_reason(since: int, total: int, counts: dict[str, int]) -> None:
    found = count_reasons(_EACH_SECOND, _SPANS, since, 55_000, anchor_at=0, total=total)
    assert found == counts


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ({"running": 3}, "running"),
        ({"downtime": 30, "running": 20}, "30 downtime, 20 running"),
        ({"quiet time": 2, "": 1}, "2 quiet time"),
        ({"": 5}, ""),
        ({}, ""),
    ],
)
def test_a_run_stores_its_reasons_with_their_counts(counts: dict[str, int], text: str) -> None:
    assert summarize(counts) == text


@given(st.dictionaries(st.sampled_from(PassedReason), st.integers(1, 2_000), max_size=5))
def test_stored_reasons_can_be_read_again(counts: dict[str, int]) -> None:
    assert read_summary(summarize(counts), sum(counts.values())) == counts


def test_any_other_text_is_one_reason() -> None:
    assert read_summary("3 strange", 5) == {"strange": 3}
    assert read_summary("something, new", 5) == {"something, new": 5}
    assert read_summary("", 2) == {"": 2}
