"""Cron expressions in plain words."""

from __future__ import annotations

import pytest
from cron_oracle import Expression, expressions
from hypothesis import given

from halo_scheduler import CronParseError
from halo_scheduler.grammar.cron_fields import CronFields, parse_fields
from halo_scheduler.wording.cron import describe_cron


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        # A steady pace.
        ("* * * * *", "every minute"),
        ("*/15 * * * *", "every 15 minutes"),
        ("0,15,30,45 * * * *", "every 15 minutes"),
        ("*/30 * * * *", "every 30 minutes"),
        ("0 * * * *", "every hour"),
        ("30 * * * *", "30 minutes past every hour"),
        ("1 * * * *", "1 minute past every hour"),
        ("0 */2 * * *", "every 2 hours from 00:00"),
        ("15 */6 * * *", "every 6 hours from 00:15"),
        ("* * * * * *", "every second"),
        ("*/10 * * * * *", "every 10 seconds"),
        ("0 * * * 1-5", "every hour on weekdays"),
        # Times of day.
        ("0 9 * * *", "at 09:00 every day"),
        ("@daily", "at 00:00 every day"),
        ("0 9,12,18 * * *", "at 09:00, 12:00 and 18:00 every day"),
        ("0 */12 * * *", "at 00:00 and 12:00 every day"),
        ("0,30 9 * * *", "at 09:00 and 09:30 every day"),
        ("30 0 9 * * *", "at 09:00:30 every day"),
        # A pace within the day.
        ("*/15 9-17 * * 1-5", "every 15 minutes from 09:00 to 17:45 on weekdays"),
        ("* 9-17 * * *", "every minute from 09:00 to 17:59 every day"),
        ("0 9-17 * * 1-5", "every hour from 09:00 to 17:00 on weekdays"),
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
        ("0 0 1 1 *", "at 00:00 on 1 January"),
        ("0 0 1,15 6 *", "at 00:00 on 1 and 15 June"),
        ("0 0 1 1,7 *", "at 00:00 on the 1st of January and July"),
        ("0 0 L 2 *", "at 00:00 on the last day of February"),
        ("0 9 * 7 *", "at 09:00 every day in July"),
        ("0 9 * 7 1-5", "at 09:00 on weekdays in July"),
        ("* * * 7 *", "every minute every day in July"),
        # Both day fields.
        ("0 0 13 * 5", "at 00:00 on the 13th of every month and also on Fridays"),
        ("0 0 */10 * MON", "at 00:00 on Mondays, if that is the 1st, the 11th, the 21st or the 31st"),
        ("0 9 1-31 * 1", "at 09:00 every day"),
        # No everyday reading: what the fields say.
        ("*/7 * * * *", "at minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56 of every hour"),
        ("5,20 * * * *", "at minutes 5 and 20 of every hour"),
        ("17-40 */11 * * *", "at minutes 17–40 of hours 0, 11 and 22 every day"),
        ("5,6 9-17 * * *", "at minutes 5 and 6 of hours 9–17 every day"),
        ("*/7 * * * * *", "at seconds 0, 7, 14, 21, 28, 35, 42, 49 and 56 of every minute"),
        ("5 */10 * * * *", "at second 5 of minutes 0, 10, 20, 30, 40 and 50 of every hour"),
        ("5 * 9 * * *", "at second 5 of every minute of hour 9 every day"),
        ("*/20 0 0-9/2 * * *", "at seconds 0, 20 and 40 of minute 0 of hours 0, 2, 4, 6 and 8 every day"),
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
    meaning = (fields.seconds, fields.minutes, fields.hours, _days(fields))
    assert _MEANINGS.setdefault(words, meaning) == meaning


_MEANINGS: dict[str, object] = {}


def _days(fields: CronFields) -> object:
    """Return what the day fields mean, without what has no effect."""
    if not fields.days_match_both and (fields.any_day or fields.any_weekday):
        return fields.months
    both = fields.days_match_both and not fields.any_day and not fields.any_weekday
    dates = "any" if fields.any_day else (fields.days, fields.last_day)
    weekdays = "any" if fields.any_weekday else (fields.weekdays, fields.nth_weekdays, fields.last_weekdays)
    return fields.months, dates, weekdays, both
