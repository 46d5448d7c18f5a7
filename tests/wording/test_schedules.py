"""Schedules and instants in plain words."""

from __future__ import annotations

import pytest
from cases import utc_ms
from cron_oracle import Expression, expressions
from hypothesis import given

from halo_scheduler import (
    After,
    Cron,
    CronParseError,
    Every,
    Manual,
    Once,
    describe,
    describe_when,
)
from halo_scheduler.grammar.cron_fields import parse_fields
from halo_scheduler.model import Schedule
from halo_scheduler.model.schedules import combine
from halo_scheduler.schedule.normal import Meaning, normal
from halo_scheduler.wording.cron import describe_cron
from halo_scheduler.wording.schedules import distance_in_words, following_words, local_words

_MINUTE, _HOUR, _DAY = 60_000, 3_600_000, 86_400_000
_NOW = utc_ms("2026-11-16T12:00Z")  # a Monday, 13:00 in Berlin


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        (Every("15m"), "every 15 minutes"),
        (Every("1h"), "every hour"),
        (Every("60m"), "every hour"),
        (Every("2d"), "every 2 days"),
        (Every("3s"), "every 10 seconds"),
        (After("5m"), "5 minutes after it finishes"),
        (After("1m"), "1 minute after it finishes"),
        (Cron("0 9 * * 1-5", timezone="Europe/Berlin"), "at 09:00 on weekdays (Europe/Berlin)"),
        (Cron("0 9 * * 1-5"), "at 09:00 on weekdays"),
        (Once("2026-12-24T18:00:00+01:00"), "once, on 24 Dec 2026 at 18:00 +01:00"),
        (Once("2026-12-24T18:00:00.500-03:30"), "once, on 24 Dec 2026 at 18:00 -03:30"),
        (Once("2026-12-24 18:00:30Z"), "once, on 24 Dec 2026 at 18:00:30 UTC"),
        (Manual(), "manual only"),
    ],
)
def test_describes_a_schedule(schedule: Schedule, words: str) -> None:
    assert describe(schedule) == words


@pytest.mark.usefixtures("machine_in_berlin")
def test_a_once_in_epoch_milliseconds_is_shown_in_the_machines_zone() -> None:
    assert describe(Once(utc_ms("2026-12-24T17:00Z"))) == "once, on 24 Dec 2026 at 18:00 +01:00"


@pytest.mark.usefixtures("machine_in_monrovia")
def test_an_offset_with_seconds_is_shown_as_utc() -> None:
    assert describe(Once(utc_ms("1971-06-01T12:00Z"))) == "once, on 1 Jun 1971 at 12:00 UTC"


@pytest.mark.parametrize(
    ("ahead_ms", "words"),
    [
        (0, "now"),
        (999, "now"),
        (1_000, "in 1 s"),
        (59_999, "in 59 s"),
        (_MINUTE, "in 1 min"),
        (4 * _MINUTE, "in 4 min"),
        (4 * _MINUTE - 1, "in 4 min"),
        (59 * _MINUTE + 29_999, "in 59 min"),
        (59 * _MINUTE + 30_000, "today at 13:59"),
        (10 * _HOUR, "today at 23:00"),
        (20 * _HOUR, "tomorrow at 09:00"),
        (2 * _DAY, "Wednesday at 13:00"),
        (6 * _DAY, "Sunday at 13:00"),
        (7 * _DAY, "23 Nov at 13:00"),
        (60 * _DAY, "15 Jan 2027 at 13:00"),
        (-1, "now"),
        (-1_000, "now"),
        (-_MINUTE, "now"),
        (-_MINUTE - 1, "overdue by 1 min"),
        (-3 * _HOUR, "overdue by 3 h"),
        (-47 * _HOUR, "overdue by 47 h"),
        (-2 * _DAY, "overdue by 2 days"),
    ],
)
def test_says_how_far_an_instant_is(ahead_ms: int, words: str) -> None:
    assert describe_when(_NOW + ahead_ms, _NOW, timezone="Europe/Berlin") == words


@pytest.mark.usefixtures("machine_in_berlin")
@pytest.mark.parametrize(
    ("now", "then", "words"),
    [
        ("2026-11-17T15:50Z", "2026-11-17T15:50:30Z", "in 30 s"),
        ("2026-11-17T15:50Z", "2026-11-17T16:49Z", "in 59 min"),
        ("2026-11-17T15:50Z", "2026-11-17T16:49:45Z", "in 1 h"),
        ("2026-11-17T15:50Z", "2026-11-18T13:30Z", "in 21 h"),
        ("2026-11-17T15:50Z", "2026-11-18T16:30Z", "tomorrow"),
        ("2026-11-17T15:50Z", "2026-11-19T13:30Z", "in 2 days"),
        ("2026-11-17T15:50Z", "2026-11-20T13:30Z", "in 3 days"),
        ("2026-11-17T15:50Z", "2026-11-22T13:30Z", "in 5 days"),
        # The clock goes back on this day, which has 25 hours.
        ("2026-10-24T22:10Z", "2026-10-25T22:30Z", "in 24 h"),
    ],
)
def test_days_ahead_are_calendar_days(now: str, then: str, words: str) -> None:
    assert distance_in_words(utc_ms(then), utc_ms(now)) == words


@pytest.mark.usefixtures("machine_in_berlin")
@pytest.mark.parametrize(
    ("zone", "words"),
    [
        (None, ""),
        ("Europe/Berlin", ""),
        ("Europe/Paris", ""),
        ("UTC", "09:00"),
        ("Pacific/Honolulu", "Tue 09:00"),
    ],
)
def test_the_local_time_is_reported_where_another_zone_shows_another(zone: str | None, words: str) -> None:
    assert local_words(utc_ms("2026-11-17T08:00Z"), zone) == words


@pytest.mark.usefixtures("machine_in_berlin")
def test_the_day_is_the_machines_day() -> None:
    late_evening = utc_ms("2026-11-16T22:30Z")
    assert describe_when(late_evening + 2 * _HOUR, late_evening) == "tomorrow at 01:30"


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        # A steady pace.
        ("* * * * *", "every minute on the clock"),
        ("*/15 * * * *", "every 15 minutes on the clock"),
        ("0,15,30,45 * * * *", "every 15 minutes on the clock"),
        ("*/30 * * * *", "every 30 minutes on the clock"),
        ("0 * * * *", "every hour on the hour"),
        ("30 * * * *", "30 minutes past every hour"),
        ("1 * * * *", "1 minute past every hour"),
        ("0 */2 * * *", "every 2 hours from 00:00"),
        ("15 */6 * * *", "every 6 hours from 00:15"),
        ("* * * * * *", "every second on the clock"),
        ("*/10 * * * * *", "every 10 seconds on the clock"),
        ("0 * * * 1-5", "every hour on weekdays"),
        # Times of day.
        ("0 9 * * *", "at 09:00 every day"),
        ("@daily", "at 00:00 every day"),
        ("0 9,12,18 * * *", "at 09:00, 12:00 and 18:00 every day"),
        ("0 0,12 * * *", "at 00:00 and 12:00 every day"),
        ("0 */12 * * *", "every 12 hours from 00:00"),
        ("0 0-22/2 * * *", "at 00:00, 02:00 … 22:00 every day"),
        ("0,15,30,45 9-17 * * *", "at 09:00, 09:15 … 17:45 every day"),
        ("0,30 9 * * *", "at 09:00 and 09:30 every day"),
        ("30 0 9 * * *", "at 09:00:30 every day"),
        # A pace within the day.
        ("*/15 9-17 * * 1-5", "every 15 minutes from 09:00 to 17:45 on weekdays"),
        ("* 9-17 * * *", "every minute from 09:00 to 17:59 every day"),
        ("0 9-17 * * 1-5", "at 09:00, 10:00 … 17:00 on weekdays"),
        ("0 6-18/2 * * 1-5", "at 06:00, 08:00 … 18:00 on weekdays"),
        ("*/15 0-18/2 * * *", "at every 15th minute of hours 0, 2 … 18 every day"),
        ("0,15,30,45 0-18/2 * * *", "at minutes 0, 15, 30 and 45 of hours 0, 2 … 18 every day"),
        # Days.
        ("0 9 * * 1-5", "at 09:00 on weekdays"),
        ("0 9 * * 6,7", "at 09:00 on weekends"),
        ("0 9 * * 1", "at 09:00 on Mondays"),
        ("0 9 * * 0,3", "at 09:00 on Wednesdays and Sundays"),
        ("0 9 * * 1-4", "at 09:00 from Monday to Thursday"),
        ("0 9 * * 5-7", "at 09:00 from Friday to Sunday"),
        ("0 0 1 * *", "at 00:00 on the 1st of every month"),
        ("0 0 1,15 * *", "at 00:00 on the 1st and the 15th of every month"),
        ("0 0 1-7 * *", "at 00:00 on the 1st to the 7th of every month"),
        ("0 0 L * *", "at 00:00 on the last day of every month"),
        ("0 0 1,L * *", "at 00:00 on the 1st and the last day of every month"),
        ("0 0 * * MON#2", "at 00:00 on the second Monday of every month"),
        ("0 0 * * MON#1,MON#3", "at 00:00 on the first Monday and the third Monday of every month"),
        ("0 0 * * 5L", "at 00:00 on the last Friday of every month"),
        ("0 0 * * MON#1,FRI", "at 00:00 on Fridays and on the first Monday of every month"),
        # Months.
        ("0 0 1 1 *", "at 00:00 on 1 January every year"),
        ("0 0 1,15 6 *", "at 00:00 on 1 and 15 June every year"),
        ("0 0 1 1,7 *", "at 00:00 on the 1st of January and July"),
        ("0 0 L 2 *", "at 00:00 on the last day of February"),
        ("0 9 * 7 *", "at 09:00 every day in July"),
        ("0 9 * 7 1-5", "at 09:00 on weekdays in July"),
        ("* * * 7 *", "every minute every day in July"),
        # Both day fields.
        ("0 0 13 * 5", "at 00:00 on the 13th of every month and also on Fridays"),
        ("0 0 */10 * MON", "at 00:00 on Mondays, if that is the 1st, the 11th, the 21st or the 31st"),
        ("0 9 1-31 * 1", "at 09:00 every day"),
        # Both passes of a repeated hour, though the words are times.
        ("*/60 9-17 * * *", "at minute 0 of hours 9–17 every day, also in a repeated hour"),
        # No everyday reading: what the fields say.
        ("*/7 * * * *", "at minutes 0, 7 … 56 of every hour"),
        ("5,20 * * * *", "at minutes 5 and 20 of every hour"),
        ("17-40 */11 * * *", "at minutes 17–40 of every 11th hour every day"),
        ("17-40 0-22/11 * * *", "at minutes 17–40 of hours 0, 11 and 22 every day"),
        ("5,20 0-23 * * *", "at minutes 5 and 20 of hours 0–23 every day"),
        ("5,6 9-17 * * *", "at minutes 5 and 6 of hours 9–17 every day"),
        ("*/7 * * * * *", "at seconds 0, 7 … 56 of every minute"),
        ("5 */10 * * * *", "at second 5 of minutes 0, 10 … 50 of every hour"),
        ("5 * 9 * * *", "at second 5 of every minute of hour 9 every day"),
        ("*/20 0 0-9/2 * * *", "at every 20th second of minute 0 of hours 0, 2 … 8 every day"),
    ],
)
def test_reads_as_a_person_would_say_it(expression: str, words: str) -> None:
    assert describe_cron(parse_fields(expression)) == words


@given(expressions(seconds=True))
def test_every_expression_has_words(expression: Expression) -> None:
    try:
        fields = parse_fields(expression.text)
    except CronParseError:
        return
    words = describe_cron(fields)
    assert words == words.strip()
    assert "  " not in words
    assert "None" not in words
    # The same words never stand for two meanings.
    meaning = normal(Cron(expression.text))
    assert _MEANINGS.setdefault(words, meaning) == meaning


_MEANINGS: dict[str, Meaning] = {}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Every("15m"), Cron("*/15 * * * *")),
        (Cron("0 */2 * * *"), Cron("0 0-22/2 * * *")),
        (Cron("0 */12 * * *"), Cron("0 0,12 * * *")),
        (Cron("*/15 9-17 * * *"), Cron("0,15,30,45 9-17 * * *")),
        (Once("2026-12-24T18:00:00+01:00"), Once("2026-12-24T18:00:00Z")),
        (Once("2026-12-24T18:00:00Z"), Once("2026-12-24T18:00:01Z")),
        (Cron("0 9 * * *"), Cron("0 9 * * *", timezone="UTC")),
        (Cron("0 9 */10 * 1"), Cron("0 9 1,11,21,31 * 1")),
    ],
)
def test_schedules_with_different_runs_have_different_words(one: Schedule, other: Schedule) -> None:
    assert normal(one) != normal(other)
    assert describe(one) != describe(other)


def test_only_a_schedule_that_counts_from_each_end_says_when_the_others_follow() -> None:
    assert following_words(After("1h")) == "then 1 hour after each ends"
    assert following_words(Every("1h")) == ""


def test_several_schedules_are_described_one_after_the_other() -> None:
    several = combine([Cron("0 9 * * 1-5"), Cron("30 10 * * 6", timezone="Europe/Berlin"), Every("6h")])
    words = "at 09:00 on weekdays; at 10:30 on Saturdays (Europe/Berlin); every 6 hours"
    assert describe(several) == words
