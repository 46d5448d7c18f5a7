"""Words for durations, instants and amounts."""

from __future__ import annotations

from datetime import datetime

from halo_scheduler.grammar.english import clock_time, short_date, time_of_day, weekday_name
from halo_scheduler.grammar.interval import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from halo_scheduler.grammar.zone import local_time

_UNITS = ((DAY_MS, "d"), (HOUR_MS, "h"), (MINUTE_MS, "min"), (SECOND_MS, "s"))
_TEN_S_IN_TENTHS = 100
_LEAST_COST = 0.0001
_DAYS_BY_NAME = 7


def duration_in_words(milliseconds: int) -> str:
    """Return a duration by its two largest units: "45 s", "1 min 30 s", "2 h"."""
    if milliseconds < SECOND_MS:
        return "under a second"
    index = next(index for index, (unit_ms, _) in enumerate(_UNITS) if milliseconds >= unit_ms)
    unit_ms, name = _UNITS[index]
    words = f"{milliseconds // unit_ms} {name}"
    if index + 1 < len(_UNITS):
        smaller_ms, smaller = _UNITS[index + 1]
        rest = milliseconds % unit_ms // smaller_ms
        words += f" {rest} {smaller}" if rest else ""
    return words


def moment_in_words(at: int, now_ms: int, *, has_seconds: bool = True, is_lasting: bool = False) -> str:
    """Return an instant as short as stays clear: "14:05", "tomorrow 14:05", "Mon 14:05", "24 Dec 2027 14:05".

    Seconds are shown unless they are 0. With `is_lasting` the words are also read on a later day: no "tomorrow".
    """
    moment = local_time(at)
    day = _day_in_words(moment, local_time(now_ms), is_lasting=is_lasting)
    return f"{day} {_clock(moment, has_seconds=has_seconds)}".lstrip()


def when_in_words(at: int, now_ms: int, *, has_seconds: bool = True, is_lasting: bool = False) -> str:
    """Return an instant for a sentence: "at 14:05", "tomorrow at 14:05", "on Mon at 14:05", "on 24 Dec at 09:00"."""
    moment = local_time(at)
    day = _day_in_words(moment, local_time(now_ms), is_lasting=is_lasting)
    link = "on " if day[:1].isupper() or day[:1].isdigit() else ""
    return f"{link}{day} at {_clock(moment, has_seconds=has_seconds)}".lstrip()


def dated_moment(at: int, now_ms: int, timezone: str | None = None) -> str:
    """Return day, date and time of an instant, with the year if it is not the current one: "Mon 24 Dec, 18:00"."""
    moment = local_time(at, timezone)
    date = short_date(moment, year=moment.year != local_time(now_ms).year)
    return f"{weekday_name(moment)[:3]} {date}, {clock_time(moment)}"


def full_moment(at: int) -> str:
    """Return an instant to the second: "Tue 17 Nov 2026, 14:05:00"."""
    moment = local_time(at)
    return f"{weekday_name(moment)[:3]} {short_date(moment)}, {moment:%H:%M:%S}"


def _day_in_words(moment: datetime, today: datetime, *, is_lasting: bool) -> str:
    days = (moment.date() - today.date()).days
    if days == 0:
        return ""
    if days == -1 or (days == 1 and not is_lasting):
        return "tomorrow" if days == 1 else "yesterday"
    if abs(days) < _DAYS_BY_NAME:
        return weekday_name(moment)[:3]
    return short_date(moment, year=moment.year != today.year)


def _clock(moment: datetime, *, has_seconds: bool) -> str:
    return clock_time(moment) if has_seconds else time_of_day(moment.hour, moment.minute)


def took_words(milliseconds: int | None) -> str:
    """Return a measured duration: "< 0.1 s", "0.4 s", "12 s", "3 min 5 s", "1 d 1 h"; "" for None."""
    if milliseconds is None:
        return ""
    tenths = (milliseconds + 50) // 100
    if tenths < _TEN_S_IN_TENTHS:
        return f"{tenths / 10:.1f} s" if tenths else "< 0.1 s"
    # A value that rounds to 10.0 has no decimal, like all longer ones.
    seconds = max(milliseconds // SECOND_MS, 10)
    if milliseconds < MINUTE_MS:
        return f"{seconds} s"
    if milliseconds < HOUR_MS:
        return f"{seconds // 60} min {seconds % 60} s"
    if milliseconds < DAY_MS:
        return f"{seconds // 3600} h {seconds // 60 % 60} min"
    return f"{seconds // 86_400} d {seconds // 3600 % 24} h"


def amount_words(cost: float | None) -> str:
    """Return an amount without a currency: "0.12", "1,204.00", "0.0004"; "" for None."""
    if cost is None:
        return ""
    if 0 < cost < _LEAST_COST:
        return f"below {_LEAST_COST}"
    if cost >= 1:
        return f"{cost:,.2f}"
    # Amounts below a hundredth add up over a day.
    whole, _, part = f"{cost:.4f}".partition(".")
    return f"{whole}.{part[:2]}{part[2:].rstrip('0')}"
