"""Durations, instants and amounts in words."""

from __future__ import annotations

import pytest

from halo_scheduler.wording.measures import (
    amount_words,
    dated_moment,
    duration_in_words,
    full_moment,
    moment_in_words,
    took_words,
    when_in_words,
)

_NOW = 1_795_003_500_000  # Wed 18 Nov 2026, 13:05 in Berlin
_HOUR = 3_600_000
_DAY = 24 * _HOUR


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [
        (0, "under a second"),
        (999, "under a second"),
        (45_000, "45 s"),
        (60_000, "1 min"),
        (90_000, "1 min 30 s"),
        (7_200_000, "2 h"),
        (7_261_000, "2 h 1 min"),
        (90_000_000, "1 d 1 h"),
    ],
)
def test_a_duration_has_its_two_largest_units(milliseconds: int, words: str) -> None:
    assert duration_in_words(milliseconds) == words


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [
        (None, ""),
        (0, "< 0.1 s"),
        (400, "0.4 s"),
        (9_960, "10 s"),
        (12_000, "12 s"),
        (185_000, "3 min 5 s"),
        (7_800_000, "2 h 10 min"),
        (90_000_000, "1 d 1 h"),
    ],
)
def test_measured_times_are_short(milliseconds: int | None, words: str) -> None:
    assert took_words(milliseconds) == words


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        (None, ""),
        (0, "0.00"),
        (0.1, "0.10"),
        (0.00001, "below 0.0001"),
        (0.125, "0.125"),
        (1_204, "1,204.00"),
    ],
)
def test_amounts_are_short_but_not_lost(cost: float | None, words: str) -> None:
    assert amount_words(cost) == words


@pytest.mark.parametrize(
    ("ahead_ms", "short", "in_sentence", "dated"),
    [
        (0, "13:05", "at 13:05", "Wed 18 Nov, 13:05"),
        (_HOUR, "14:05", "at 14:05", "Wed 18 Nov, 14:05"),
        (-5_000, "13:04:55", "at 13:04:55", "Wed 18 Nov, 13:04:55"),
        (12 * _HOUR, "tomorrow 01:05", "tomorrow at 01:05", "Thu 19 Nov, 01:05"),
        (-20 * _HOUR, "yesterday 17:05", "yesterday at 17:05", "Tue 17 Nov, 17:05"),
        (2 * _DAY, "Fri 13:05", "on Fri at 13:05", "Fri 20 Nov, 13:05"),
        (6 * _DAY, "Tue 13:05", "on Tue at 13:05", "Tue 24 Nov, 13:05"),
        (7 * _DAY, "25 Nov 13:05", "on 25 Nov at 13:05", "Wed 25 Nov, 13:05"),
        (-3 * _DAY, "Sun 13:05", "on Sun at 13:05", "Sun 15 Nov, 13:05"),
        (-7 * _DAY, "11 Nov 13:05", "on 11 Nov at 13:05", "Wed 11 Nov, 13:05"),
        (100 * _DAY, "26 Feb 2027 13:05", "on 26 Feb 2027 at 13:05", "Fri 26 Feb 2027, 13:05"),
    ],
)
@pytest.mark.usefixtures("machine_in_berlin")
def test_an_instant_is_as_short_as_it_stays_clear(
    ahead_ms: int, short: str, in_sentence: str, dated: str
) -> None:
    at = _NOW + ahead_ms
    assert moment_in_words(at, _NOW) == short
    assert when_in_words(at, _NOW) == in_sentence
    assert dated_moment(at, _NOW) == dated


@pytest.mark.usefixtures("machine_in_berlin")
def test_seconds_can_be_left_out_and_words_can_last() -> None:
    at = _NOW + _DAY + 5_000
    assert moment_in_words(at, _NOW, has_seconds=False) == "tomorrow 13:05"
    assert when_in_words(at, _NOW, has_seconds=False) == "tomorrow at 13:05"
    assert moment_in_words(at, _NOW, is_lasting=True) == "Thu 13:05:05"
    assert when_in_words(at, _NOW, has_seconds=False, is_lasting=True) == "on Thu at 13:05"
    assert full_moment(at) == "Thu 19 Nov 2026, 13:05:05"


@pytest.mark.usefixtures("machine_in_berlin")
def test_a_dated_instant_can_be_of_another_zone() -> None:
    assert dated_moment(_NOW, _NOW, "Asia/Tokyo") == "Wed 18 Nov, 21:05"
