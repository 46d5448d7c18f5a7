"""Durations, instants and amounts in words."""

from __future__ import annotations

import pytest

from halo_scheduler.wording.measures import amount_words, duration_in_words, took_words


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
