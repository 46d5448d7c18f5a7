"""Lists of numbers and intervals in one line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_scheduler import ScheduleError
from ui.forms.numbers import (
    read_amount,
    read_intervals,
    read_numbers,
    write_amount,
    write_intervals,
    write_numbers,
)


@given(st.lists(st.integers(0, 599)).map(tuple))
def test_numbers_are_read_as_they_are_written(numbers: tuple[int, ...]) -> None:
    assert read_numbers(write_numbers(numbers)) == numbers


@pytest.mark.parametrize(("text", "expected"), [("0", (0,)), ("0 1;2", (0, 1, 2)), ("", ()), (" , ", ())])
def test_any_separator_will_do(text: str, expected: tuple[int, ...]) -> None:
    assert read_numbers(text) == expected


@pytest.mark.parametrize("text", ["x", "-1", "1.5", "٣", "1, two", "9" * 5000])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(ScheduleError, match="is not a whole number"):
        read_numbers(text)


@given(st.lists(st.integers(0, 10**6).map(lambda seconds: seconds * 1_000), min_size=1).map(tuple))
def test_intervals_are_read_as_they_are_written(delays_ms: tuple[int, ...]) -> None:
    assert read_intervals(write_intervals(delays_ms)) == delays_ms


def test_what_is_below_a_second_is_shown_as_one() -> None:
    assert write_intervals((500, 60_000)) == "1s, 1m"


@pytest.mark.parametrize(
    ("text", "sentence"), [("", "enter at least one interval"), ("30s, 5x", "the unit is unknown")]
)
def test_bad_intervals_are_refused_with_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(ScheduleError, match=sentence):
        read_intervals(text)


@given(st.floats(0.000_000_001, 1_000_000).map(lambda amount: round(amount, 9)))
def test_amounts_are_read_as_they_are_written(amount: float) -> None:
    assert read_amount(write_amount(amount)) == pytest.approx(amount, abs=1e-9)


@pytest.mark.parametrize(
    ("text", "amount"), [("2.50", 2.5), (" 3 ", 3), (".5", 0.5), ("2,5", 2.5), ("1.", 1), ("0", 0)]
)
def test_an_amount_is_read_as_people_write_it(text: str, amount: float) -> None:
    assert read_amount(text) == amount


@pytest.mark.parametrize(
    "text", ["", ".", "-1", "1e3", "1,000", "1.2.3", "nan", "inf", "\u0663", "$2", "9" * 400, "1 2"]
)
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(ScheduleError, match=r"amount.*like 2\.50"):
        read_amount(text)


def test_an_amount_has_two_figures_behind_the_point_or_as_many_as_it_needs() -> None:
    assert [write_amount(amount) for amount in (1, 2.5, 0.123456, 1_000_000)] == [
        "1.00",
        "2.50",
        "0.123456",
        "1000000.00",
    ]
