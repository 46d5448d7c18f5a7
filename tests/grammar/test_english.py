"""Small pieces of English."""

from __future__ import annotations

from datetime import datetime

import pytest
from timing import at_most_ms

from halo_scheduler.grammar.english import (
    clock_time,
    counted,
    listed,
    ordinal,
    short_date,
    shortened,
    shown,
    spans,
    time_of_day,
    weekday_name,
)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1, "1st"),
        (2, "2nd"),
        (3, "3rd"),
        (4, "4th"),
        (11, "11th"),
        (12, "12th"),
        (13, "13th"),
        (21, "21st"),
        (31, "31st"),
    ],
)
def test_ordinals(number: int, text: str) -> None:
    assert ordinal(number) == text


def test_lists_read_like_sentences() -> None:
    assert listed(["a"]) == "a"
    assert listed(["a", "b"]) == "a and b"
    assert listed(["a", "b", "c"], last="or") == "a, b or c"


def test_counts_have_their_plural() -> None:
    assert counted(1, "minute") == "1 minute"
    assert counted(2, "minute") == "2 minutes"


def test_three_in_a_row_become_a_span() -> None:
    values = [0, 1, 3, 4, 5, 9]
    assert spans(values, [str(value) for value in values], "–") == ["0", "1", "3–5", "9"]


def test_times_and_dates() -> None:
    moment = datetime(2026, 12, 24, 18, 0, 5)  # noqa: DTZ001 - a wall time
    assert time_of_day(9, 0) == "09:00"
    assert clock_time(moment) == "18:00:05"
    assert short_date(moment) == "24 Dec 2026"
    assert short_date(moment, year=False) == "24 Dec"
    assert weekday_name(moment) == "Thursday"
    assert weekday_name(moment.replace(day=27)) == "Sunday"


def test_anything_can_be_quoted_briefly_and_quickly() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    for value in (10**5_000, deep, [0] * 3_000_000, "x" * 50_000_000, {"a": deep}):
        with at_most_ms(50):
            assert len(shown(value)) <= 61
    assert shown("a\n") == r"'a\n'"


def test_long_texts_are_cut() -> None:
    assert shortened("x" * 60) == "x" * 60
    assert shortened("x" * 61) == "x" * 60 + "…"
