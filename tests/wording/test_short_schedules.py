"""Schedules as a column shows them."""

from __future__ import annotations

import pytest
from cron_oracle import Expression, expressions
from hypothesis import given

from halo_scheduler import After, Cron, CronParseError, Every, Manual, Once
from halo_scheduler.model import Schedule
from halo_scheduler.model.schedules import Several, combine
from halo_scheduler.schedule.normal import Meaning, normal
from halo_scheduler.wording.short_schedules import describe_shortly


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        (Every("15m"), "every 15 min"),
        (Every("90m"), "every 90 min"),
        (Every("1h"), "every hour"),
        (Every("2d"), "every 2 days"),
        (Every("30s"), "every 30 s"),
        (After("2h"), "2 h after it ends"),
        (After("1d"), "1 day after it ends"),
        (Once("2026-12-24T18:00:00+01:00"), "24 Dec 2026 18:00"),
        (Manual(), "manual only"),
        (Cron("0 9 * * 1-5", timezone="America/New_York"), "Mon–Fri 09:00 (New York)"),
        (combine([Cron("0 9 * * *"), Cron("30 14 * * *")]), "daily 09:00, 14:30"),
        (combine([Cron("0 9 * * 1-5"), Cron("30 10 * * 6")]), "Mon–Fri 09:00, Sat 10:30"),
        (combine([Cron("0 9 * * 1-5"), Cron("30 10 * * 6"), Every("6h")]), "3 schedules"),
    ],
)
def test_a_schedule_fits_into_a_column(schedule: Schedule | Several, words: str) -> None:
    assert describe_shortly(schedule) == words


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        # A steady pace.
        ("* * * * *", "every minute"),
        ("*/15 * * * *", "every 15 min"),
        ("0 * * * *", "every hour"),
        ("30 * * * *", "every hour at :30"),
        ("0 */2 * * *", "every 2 h"),
        ("15 */6 * * *", "every 6 h at :15"),
        ("* * * * * *", "every second"),
        ("*/10 * * * * *", "every 10 s"),
        ("0 * * * 1-5", "Mon–Fri every hour"),
        # Times of day.
        ("45 23 * * 0", "Sun 23:45"),
        ("0 9 * * *", "daily 09:00"),
        ("0 8,14,20 * * *", "08, 14, 20 h"),
        ("30 8,14 * * *", "08:30, 14:30"),
        ("30 0 9 * * *", "daily 09:00:30"),
        # A pace within the day.
        ("0 6-18/2 * * 1-5", "Mon–Fri 06–18, every 2 h"),
        ("30 6-18/2 * * *", "06:30–18:30, every 2 h"),
        ("0 9-17 * * 1-5", "Mon–Fri 09–17, every hour"),
        ("*/15 9-17 * * *", "09:00–17:45, every 15 min"),
        ("* 9 * * *", "09:00–09:59, every minute"),
        # Times of a rule that is no pace.
        ("0 0-22/2 * * *", "00–22, every 2 h"),
        ("0 0-23 * * *", "00–23, every hour"),
        ("0 */12 * * *", "every 12 h"),
        ("0 0,12 * * *", "00, 12 h"),
        ("0,15,30,45 9-17 * * *", "0,15,30,45 9-17 * * *"),
        ("*/60 9-17 * * *", "*/60 9-17 * * *"),
        # Days.
        ("0 9 * * 6,7", "Sat, Sun 09:00"),
        ("0 9 * * 1,3,5", "Mon, Wed, Fri 09:00"),
        ("0 0 1 * *", "1st of month 00:00"),
        ("0 0 1,15,L * *", "1st, 15th, last day of month 00:00"),
        ("0 0 * * MON#2", "2nd Mon 00:00"),
        ("0 0 * * 5L", "last Fri 00:00"),
        ("0 0 1 1 *", "1 Jan 00:00"),
        ("0 0 1 1-3,7 *", "1st of Jan–Mar, Jul 00:00"),
        ("0 9 * 7 *", "in Jul, 09:00"),
        ("0 9 * 7 1-5", "Mon–Fri in Jul, 09:00"),
        ("0 9 1-31 * 1", "daily 09:00"),
        ("0 9 1-31 7 1", "in Jul, 09:00"),
        # No everyday reading: the fields themselves.
        ("0 0 13 * 5", "0 0 13 * 5"),
        ("*/7 * * * *", "*/7 * * * *"),
        ("*/7 * * * * *", "*/7 * * * * *"),
        ("5 */10 * * * *", "5 */10 * * * *"),
        ("*/20 0 0-9/2 * * *", "*/20 0 0-9/2 * * *"),
        ("17-40 */11 * * *", "17-40 */11 * * *"),
        ("*/15 6-18/2 * * *", "*/15 6-18/2 * * *"),
        ("0 1,2,3,5,8,13,21 * * *", "0 1,2,3,5,8,13,21 * * *"),
    ],
)
def test_a_cron_expression_fits_into_a_column(expression: str, words: str) -> None:
    assert describe_shortly(Cron(expression)) == words


@given(expressions(seconds=True))
def test_the_same_short_words_never_mean_two_things(expression: Expression) -> None:
    try:
        words = describe_shortly(Cron(expression.text))
    except CronParseError:
        return
    assert words == " ".join(words.split())
    meaning = normal(Cron(expression.text))
    assert _MEANINGS.setdefault(words, meaning) == meaning


_MEANINGS: dict[str, Meaning] = {}
