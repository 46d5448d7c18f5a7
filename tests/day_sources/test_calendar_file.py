"""Calendar files: the days of their events, and files that are broken, huge or endless."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from itertools import takewhile
from pathlib import Path
from time import process_time

import pytest
from dateutil.rrule import rrulestr  # type: ignore[import-untyped]  # the oracle; it has no stubs
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from halo_scheduler import ScheduleError
from halo_scheduler.day_sources import calendar_file
from halo_scheduler.day_sources.calendar_file import file_days
from halo_scheduler.day_sources.recurrence import read_rule

_FIRST, _LAST = date(2026, 1, 1), date(2027, 12, 31)


def _days(folder: Path, *events: str, ends: str = "\r\n") -> list[str]:
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0"]
    for event in events:
        lines += ["BEGIN:VEVENT", *event.split("\n"), "END:VEVENT"]
    file = folder / "days.ics"
    file.write_bytes(ends.join([*lines, "END:VCALENDAR", ""]).encode())
    return sorted(day.isoformat() for day in file_days(str(file), _FIRST, _LAST))


def _refusal(folder: Path, content: bytes) -> str:
    file = folder / "days.ics"
    file.write_bytes(content)
    with pytest.raises(ScheduleError) as error:
        file_days(str(file), _FIRST, _LAST)
    return error.value.message.removeprefix(f"the calendar file {file} ")


@pytest.mark.parametrize(
    ("event", "days"),
    [
        ("DTSTART;VALUE=DATE:20261224", "2026-12-24"),
        ("DTSTART;VALUE=DATE:20261224\nDTEND;VALUE=DATE:20261227", "2026-12-24 2026-12-25 2026-12-26"),
        ("DTSTART;VALUE=DATE:20261224\nDURATION:P2D", "2026-12-24 2026-12-25"),
        ("DTSTART:20261224T090000\nDTEND:20261224T100000", "2026-12-24"),
        ("DTSTART:20261224T230000\nDTEND:20261225T010000", "2026-12-24 2026-12-25"),
        ("DTSTART:20261224T230000\nDTEND:20261225T000000", "2026-12-24"),
        ("DTSTART:20261224T233000\nDURATION:PT1H", "2026-12-24 2026-12-25"),
        ("DTSTART;TZID=America/New_York:20261224T200000", "2026-12-25"),
        ('DTSTART;X-A="a:b;c";TZID="America/New_York":20261224T200000', "2026-12-25"),
        ("DTSTART;TZID=W. Europe Standard Time:20261224T200000", "2026-12-24"),
        ("DTSTART:20261224T233000Z", "2026-12-25"),
        ("DTSTART;VALUE=DATE:20261224\nSTATUS:CANCELLED", ""),
        ("SUMMARY:without a time", ""),
        ("DTSTART;VALUE=DATE:20251231\nDTEND;VALUE=DATE:20260102", "2026-01-01"),
        ("DTSTART;VALUE=DATE:20261224\nDTEND;VALUE=DATE:20261220", "2026-12-24"),
        (
            "DTSTART;VALUE=DATE:20261224\nRDATE;VALUE=DATE:20261226,20261227",
            "2026-12-24 2026-12-26 2026-12-27",
        ),
        ("DTSTART;VALUE=DATE:16040601\nRRULE:FREQ=YEARLY", "2026-06-01 2027-06-01"),
        ("DTSTART:20261221T090000\nRRULE:FREQ=DAILY;UNTIL=20261223T080000", "2026-12-21 2026-12-22"),
        (
            "DTSTART:20261221T090000\nRRULE:FREQ=DAILY;UNTIL=20261223T235959",
            "2026-12-21 2026-12-22 2026-12-23",
        ),
        (
            "DTSTART:20261221T090000\nRRULE:FREQ=DAILY;COUNT=3\nEXDATE:20261222T090000",
            "2026-12-21 2026-12-23",
        ),
        ("DTSTART:20261221T090000\nRRULE:FREQ=DAILY;COUNT=2;BYHOUR=9,18", "2026-12-21 2026-12-22"),
        ("DTSTART;VALUE=DATE:99991231\nRRULE:FREQ=YEARLY", ""),
    ],
)
@pytest.mark.usefixtures("machine_in_berlin")
def test_an_event_gives_the_days_that_it_touches(tmp_path: Path, event: str, days: str) -> None:
    assert _days(tmp_path, event) == days.split()


def test_a_moved_occurrence_replaces_the_one_it_was(tmp_path: Path) -> None:
    series = "UID:a\nDTSTART;VALUE=DATE:20261201\nRRULE:FREQ=WEEKLY;COUNT=3"
    moved = "UID:a\nRECURRENCE-ID;VALUE=DATE:20261208\nDTSTART;VALUE=DATE:20261209\nRRULE:FREQ=WEEKLY"
    assert _days(tmp_path, series, moved) == ["2026-12-01", "2026-12-09", "2026-12-15"]


@pytest.mark.parametrize("ends", ["\r\n", "\n", "\r"])
def test_lines_may_be_folded_and_end_in_any_way(tmp_path: Path, ends: str) -> None:
    alarm = "BEGIN:VALARM\nDURATION:PT1H\nEND:VALARM"
    event = f"SUMMARY:a long\n  text: with: signs\nDTSTART;VALUE=DA\n TE:20261224\n{alarm}"
    assert _days(tmp_path, event, ends=ends) == ["2026-12-24"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is incomplete: END:VCALENDAR is missing"),
        (b"hello", "is not a calendar: it does not begin with BEGIN:VCALENDAR"),
        (b'{"API_KEY": "private"}', "is not a calendar: it does not begin with BEGIN:VCALENDAR"),
        (
            b"BEGIN:VCALENDAR\nEND:VCALENDAR\nprivate text",
            "is not a calendar: it does not begin with BEGIN:VCALENDAR",
        ),
        (b"BEGIN:VEVENT\nEND:VEVENT", "is not a calendar: it does not begin with BEGIN:VCALENDAR"),
        (b"BEGIN:VCALENDAR\nBEGIN:VEVENT\n", "is incomplete: END:VCALENDAR is missing"),
        (b"BEGIN:VCALENDAR\nEND:VEVENT\n", "is damaged: line 2 has an END without a BEGIN"),
        (b"BEGIN:VCALENDAR\n\nrubbish\nEND:VCALENDAR", "is damaged: line 3 cannot be read: 'rubbish'"),
        (
            b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART;A\nEND:VEVENT\nEND:VCALENDAR",
            "line 3 cannot be read: 'DTSTART;A'",
        ),
        (b"\xff\xfe\x00", "is not a calendar: it isn't UTF-8 text"),
    ],
)
def test_a_broken_file_is_refused_with_a_sentence(tmp_path: Path, content: bytes, why: str) -> None:
    assert _refusal(tmp_path, content).endswith(why)


@pytest.mark.parametrize(
    ("event", "why"),
    [
        ("DTSTART:tomorrow", "'tomorrow' is not a date (in the event of line 2)"),
        ("DTSTART:20261332", "'20261332' is not a date (in the event of line 2)"),
        ("DTSTART:15991231", "'15991231' is too far in the past (in the event of line 2)"),
        ("DTSTART:20261224T090000\nDURATION:long", "'long' is not a duration (in the event of line 2)"),
        (
            "DTSTART:20261224\nRRULE:FREQ=SECONDLY",
            "is not supported: 'FREQ=SECONDLY' (in the event of line 2)",
        ),
        (
            "DTSTART:20261224\nRRULE:FREQ=YEARLY;BYWEEKNO=1",
            "is not supported: 'BYWEEKNO' (in the event of line 2)",
        ),
        ("DTSTART:20261224\nRRULE:FREQ=DAILY;INTERVAL=0", "cannot be read: '0' (in the event of line 2)"),
        ("DTSTART:20261224\nRRULE:FREQ=WEEKLY;BYDAY=XX", "cannot be read: 'XX' (in the event of line 2)"),
        ("DTSTART:20261224\nRRULE:FREQ=DAILY;COUNT=99999999999", "'99999999999' (in the event of line 2)"),
    ],
)
def test_a_date_or_a_rule_that_is_not_understood_is_refused(tmp_path: Path, event: str, why: str) -> None:
    content = f"BEGIN:VCALENDAR\nBEGIN:VEVENT\n{event}\nEND:VEVENT\nEND:VCALENDAR\n"
    assert _refusal(tmp_path, content.encode()).endswith(why)


def test_files_that_are_too_large_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calendar_file, "MOST_BYTES", 1 << 20)
    assert _refusal(tmp_path, b"BEGIN:VCALENDAR\n" + b"X" * (1 << 20)) == "is larger than 1 MB"
    monkeypatch.setattr(calendar_file, "MOST_EVENTS", 2)
    event = b"BEGIN:VEVENT\nEND:VEVENT\n"
    assert _refusal(tmp_path, b"BEGIN:VCALENDAR\n" + 3 * event) == "has more than 2 events"


def test_events_that_repeat_too_often_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calendar_file, "MOST_EXAMINED", 5_000)
    event = b"BEGIN:VEVENT\nDTSTART:19700101\nRRULE:FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30;COUNT=3\nEND:VEVENT\n"
    said = _refusal(tmp_path, b"BEGIN:VCALENDAR\n" + event + b"END:VCALENDAR\n")
    assert said == "has too many repeating events (in the event of line 2)"


@pytest.mark.parametrize(
    "event",
    [
        "DTSTART;VALUE=DATE:16000101\nDTEND;VALUE=DATE:89991231\nRRULE:FREQ=DAILY",
        "DTSTART:20260101T090000\nDTEND:20271231T090000\nRRULE:FREQ=DAILY",
    ],
)
def test_long_events_that_overlap_too_often_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, event: str
) -> None:
    monkeypatch.setattr(calendar_file, "MOST_EXAMINED", 200_000)
    with pytest.raises(ScheduleError, match="has too many repeating events"):
        _days(tmp_path, event)


@pytest.mark.parametrize("day", ["16000101", "20271231"])
def test_an_event_of_many_centuries_lasts_to_the_end(tmp_path: Path, day: str) -> None:
    event = f"DTSTART;VALUE=DATE:{day}\nDTEND;VALUE=DATE:89991231"
    assert (
        _days(tmp_path, f"{event}\nRRULE:FREQ=YEARLY;INTERVAL=1000\nRDATE;VALUE=DATE:90000101")[-1]
        == "2027-12-31"
    )


def test_a_file_of_nothing_but_beginnings_is_refused_soon(tmp_path: Path) -> None:
    begun = process_time()
    assert "END:VCALENDAR is missing" in _refusal(tmp_path, b"BEGIN:VCALENDAR\n" * 150_000)
    assert process_time() - begun < 10


def test_a_path_that_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, why in (("pipe", "is not a file"), ("none", "cannot be read: No such file or directory")):
        with pytest.raises(ScheduleError, match=why):
            file_days(str(tmp_path / name), _FIRST, _LAST)
    with pytest.raises(ScheduleError, match="is not a file"):
        file_days(str(tmp_path), _FIRST, _LAST)


def test_a_file_that_becomes_a_pipe_as_it_is_opened_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe")
    regular = Path(__file__).stat()
    monkeypatch.setattr(Path, "stat", lambda _path: regular)
    with pytest.raises(ScheduleError, match="is not a file"):
        file_days(str(tmp_path / "pipe"), _FIRST, _LAST)


_WEEKDAYS = st.sampled_from(["MO", "TU", "WE", "TH", "FR", "SA", "SU"])


@st.composite
def _rules(draw: st.DrawFn) -> str:
    frequency = draw(st.sampled_from(["DAILY", "WEEKLY", "MONTHLY", "YEARLY"]))
    parts = [f"FREQ={frequency}", f"INTERVAL={draw(st.integers(1, 4))}"]
    ends = draw(st.sampled_from(["", "COUNT=1", "COUNT=7", "COUNT=40", "UNTIL=20280303"]))
    has_nth = frequency in ("MONTHLY", "YEARLY")
    nth = st.sampled_from(["", "", "1", "2", "-1", "-2", "5"]) if has_nth else st.just("")
    if draw(st.booleans()):
        # Of n-th weekdays beside plain ones the oracle takes only those that are both.
        nth = draw(st.sampled_from([nth.filter(bool), st.just("")])) if has_nth else nth
        days = draw(st.lists(st.tuples(nth, _WEEKDAYS).map("".join), min_size=1, max_size=3))
        parts.append(f"BYDAY={','.join(days)}")
    if frequency != "WEEKLY" and draw(st.booleans()):
        dates = draw(st.lists(st.integers(1, 31) | st.integers(-31, -1), min_size=1, max_size=3))
        parts.append(f"BYMONTHDAY={','.join(map(str, dates))}")
    if draw(st.booleans()):
        parts.append(
            f"BYMONTH={','.join(map(str, draw(st.lists(st.integers(1, 12), min_size=1, max_size=4))))}"
        )
    if frequency != "DAILY" and draw(st.integers(0, 3)) == 0:
        parts.append(f"BYSETPOS={draw(st.sampled_from(['1', '-1', '2', '1,-1']))}")
    if frequency == "WEEKLY" and draw(st.booleans()):
        parts.append(f"WKST={draw(_WEEKDAYS)}")
    return ";".join([*parts, ends] if ends else parts)


@settings(max_examples=300, deadline=None)
@given(
    text=_rules(),
    start=st.dates(date(2024, 1, 1), date(2027, 6, 1)),
    last=st.dates(date(2027, 6, 1), date(2028, 12, 31)),
)
@example("FREQ=YEARLY;BYMONTHDAY=1;BYSETPOS=-1;UNTIL=20280303", date(2024, 1, 1), date(2028, 12, 31))
@example("FREQ=YEARLY;BYMONTHDAY=1;BYSETPOS=-1", date(2024, 1, 1), date(2028, 3, 3))
def test_rules_have_the_days_that_dateutil_finds(text: str, start: date, last: date) -> None:
    first = date(2026, 1, 1)
    rule = read_rule(text, start, lambda _text: date(2028, 3, 3))
    # The oracle counts the positions of the first week from the start, not from the first day of that week.
    assume(not (rule.positions and "WEEKLY" in text) or start.weekday() == rule.week_start)
    unending = replace(rule, count=None, until=date.max)
    # The oracle would look for the next day until the year 9999.
    assume(any(unending.occurrences(date(2029, 1, 1), date(2060, 1, 1), lambda _days: None)))
    oracle = rrulestr(text, dtstart=datetime.combine(start, time.min))
    found = takewhile(lambda day: day <= last, (moment.date() for moment in oracle))
    ours = rule.occurrences(first, last, lambda _days: None)
    assert [day for day in ours if day >= first] == [day for day in found if day >= first]


def test_far_days_of_an_endless_rule_cost_nothing(tmp_path: Path) -> None:
    event = "DTSTART;VALUE=DATE:20200101\nRRULE:FREQ=DAILY;INTERVAL=7;BYDAY=MO"  # never: 1 January 2020 is a Wednesday
    assert _days(tmp_path, event) == []
    assert _days(tmp_path, "DTSTART;VALUE=DATE:20260101\nDTEND;VALUE=DATE:30000101")[-1] == str(_LAST)
    assert (
        len(_days(tmp_path, "DTSTART;VALUE=DATE:20260101\nDURATION:P99999D"))
        == (_LAST - _FIRST + timedelta(1)).days
    )


def test_a_rule_with_very_many_weekdays_is_read_soon(tmp_path: Path) -> None:
    begun = process_time()
    rule = f"RRULE:FREQ=MONTHLY;BYDAY={'2MO,-1FR,' * 150_000}2MO"
    assert "2027-02-08" in _days(tmp_path, f"DTSTART;VALUE=DATE:20260101\n{rule}")
    assert process_time() - begun < 5
