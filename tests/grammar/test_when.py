"""Instants as a person types them."""

from __future__ import annotations

import pytest
from cases import utc_ms
from hypothesis import given
from hypothesis import strategies as st
from timing import at_most_ms

from halo_scheduler import ScheduleError
from halo_scheduler.grammar.when import parse_when

_NOW = utc_ms("2026-11-16T12:00Z")  # 13:00 in Berlin


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("in 1h", "2026-11-16T13:00Z"),
        ("In  90 m", "2026-11-16T13:30Z"),
        ("tomorrow 9:00", "2026-11-17T08:00Z"),
        ("Tomorrow at 09:00", "2026-11-17T08:00Z"),
        ("2h ago", "2026-11-16T10:00Z"),
        ("90 M  Ago", "2026-11-16T10:30Z"),
        ("yesterday 9:00", "2026-11-15T08:00Z"),
        ("today 18:30", "2026-11-16T17:30Z"),
        ("today 9:00", "2026-11-16T08:00Z"),
        ("18:30", "2026-11-16T17:30Z"),
        ("13:00", "2026-11-17T12:00Z"),
        ("9:00:15", "2026-11-17T08:00:15Z"),
        ("2026-12-24", "2026-12-23T23:00Z"),
        ("2026-12-24 18:00", "2026-12-24T17:00Z"),
        (" 2026-12-24T18:00 ", "2026-12-24T17:00Z"),
        ("2026-12-24T18:00:00+02:00", "2026-12-24T16:00Z"),
        ("2026-12-24T18:00:00.250Z", "2026-12-24T18:00:00.250Z"),
        ("2027-03-28 02:30", "2027-03-28T01:00Z"),
        ("2027-10-31 02:30", "2027-10-31T00:30Z"),
    ],
)
def test_times_are_read_as_people_type_them(text: str, instant: str) -> None:
    assert parse_when(text, _NOW, timezone="Europe/Berlin") == utc_ms(instant)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "write it like 2026-12-24 18:00"),
        ("next week", "write it like 2026-12-24 18:00"),
        ("25:00", "no such time of day as 25:00"),
        ("tomorrow 9:75", "no such time of day as 9:75"),
        ("2026-02-30", "no such date as 2026-02-30"),
        ("2026-02-30T10:00:00Z", "cannot read the time"),
        ("in 5x", "the unit is unknown"),
        ("5x ago", "the unit is unknown"),
        ("30000d ago", "must be between 0 and"),
        ("1960-01-01", "must be between 0 and"),
        ("9999-12-31", "must be between 0 and"),
    ],
)
def test_refusals_say_what_is_wrong(text: str, sentence: str) -> None:
    with pytest.raises(ScheduleError, match=sentence):
        parse_when(text, _NOW, timezone="Europe/Berlin")


@pytest.mark.usefixtures("machine_in_berlin")
def test_without_a_zone_it_is_the_machines() -> None:
    assert parse_when("18:30", _NOW) == utc_ms("2026-11-16T17:30Z")


@given(st.one_of(st.text(), st.from_regex(r"(today|tomorrow|in)? ?[0-9T:+-]{0,20}", fullmatch=True)))
def test_no_text_makes_the_reader_stumble(text: str) -> None:
    with at_most_ms(50):
        try:
            assert parse_when(text, _NOW, timezone="Europe/Berlin") >= 0
        except ScheduleError as error:
            assert str(error)
