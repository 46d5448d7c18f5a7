"""Interval texts."""

from __future__ import annotations

from typing import Any

import pytest
from cases import load_json
from hypothesis import given
from hypothesis import strategies as st
from timing import at_most_ms

from halo_scheduler import IntervalParseError, parse_interval
from halo_scheduler.grammar.interval import MAX_INTERVAL_MS, format_interval, interval_in_words


@pytest.mark.parametrize("case", load_json("intervals.json"), ids=lambda case: repr(case["text"]))
def test_provided_case(case: dict[str, Any]) -> None:
    if case["refused"]:
        with pytest.raises(IntervalParseError) as caught:
            parse_interval(case["text"])
        assert caught.value.interval == case["text"]
    else:
        assert parse_interval(case["text"]) == case["ms"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "the interval is empty"),
        (" \t", "the interval is empty"),
        ("15", "the unit is missing"),
        ("m", "the number is missing"),
        ("1.5h", "it has a decimal"),
        (".5h", "it has a decimal"),
        ("1,5 h", "it has a decimal"),
        ("0s", "is zero"),
        ("000d", "is zero"),
        ("-5m", "it is negative"),
        ("-", "it is negative"),
        ("5y", "the unit is unknown"),
        ("5 min", "the unit is unknown"),
        ("5m5", "it is malformed"),
        ("m5", "it is malformed"),
        ("five minutes", "it is malformed"),
        ("5\N{NO-BREAK SPACE}m", "it is malformed"),
        ("1e3s", "it is malformed"),
        ("0x5m", "it is malformed"),
        ("٥m", "it is malformed"),
        ("5\N{LATIN SMALL LETTER LONG S}", "it is malformed"),
        ("36501d", "longer than 100 years"),
        ("9" * 60 + "s", "longer than 100 years"),
        ("9" * 10_000 + "s", "longer than 64 characters"),
    ],
)
def test_each_refusal_has_its_own_sentence(text: str, sentence: str) -> None:
    with pytest.raises(IntervalParseError, match=sentence) as caught:
        parse_interval(text)
    assert caught.value.interval == text


def test_values_that_are_not_text_are_refused() -> None:
    with pytest.raises(IntervalParseError, match="must be text"):
        parse_interval(900)  # type: ignore[arg-type] # what a caller without types may do
    with pytest.raises(IntervalParseError, match="must be text"):
        parse_interval(10**5_000)  # type: ignore[arg-type] # Python cannot even print it


def test_the_longest_interval_is_a_century() -> None:
    assert parse_interval("36500d") == MAX_INTERVAL_MS


@given(st.integers(1, MAX_INTERVAL_MS // 1_000))
def test_formatting_is_the_inverse_of_parsing(seconds: int) -> None:
    assert parse_interval(format_interval(seconds * 1_000)) == seconds * 1_000


@pytest.mark.parametrize(
    ("milliseconds", "short", "words"),
    [
        (1_000, "1s", "1 second"),
        (90_000, "90s", "90 seconds"),
        (60_000, "1m", "1 minute"),
        (5_400_000, "90m", "90 minutes"),
        (7_200_000, "2h", "2 hours"),
        (172_800_000, "2d", "2 days"),
    ],
)
def test_the_largest_exact_unit_is_shown(milliseconds: int, short: str, words: str) -> None:
    assert format_interval(milliseconds) == short
    assert interval_in_words(milliseconds) == words


@pytest.mark.parametrize("milliseconds", [0, -1_000, 1_500])
def test_only_whole_seconds_can_be_shown(milliseconds: int) -> None:
    with pytest.raises(ValueError, match="not a whole, positive number of seconds"):
        format_interval(milliseconds)


@given(st.one_of(st.text(), st.from_regex(r"[ ]*[-+]?[0-9.,]{0,6}[ ]*[smhdSMHDx]{0,3}[ ]*", fullmatch=True)))
def test_no_text_makes_the_parser_stumble(text: str) -> None:
    with at_most_ms(50):
        try:
            assert 0 < parse_interval(text) <= MAX_INTERVAL_MS
        except IntervalParseError as error:
            assert error.interval == text
