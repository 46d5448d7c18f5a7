"""Words for durations, instants and amounts."""

from __future__ import annotations

from halo_scheduler.grammar.english import clock_time, short_date
from halo_scheduler.grammar.interval import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from halo_scheduler.grammar.zone import local_time

_UNITS = ((DAY_MS, "d"), (HOUR_MS, "h"), (MINUTE_MS, "min"), (SECOND_MS, "s"))
_TEN_S_IN_TENTHS = 100
_LEAST_COST = 0.0001


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


def moment_in_words(at: int, now_ms: int) -> str:
    """Return the local time of an instant, with the day unless it is today: "14:05", "24 Dec at 09:00"."""
    moment, today = local_time(at), local_time(now_ms)
    if moment.date() == today.date():
        return clock_time(moment)
    return f"{short_date(moment, year=moment.year != today.year)} at {clock_time(moment)}"


def when_in_words(at: int, now_ms: int) -> str:
    """Return an instant for a sentence: "at 14:05", "on 24 Dec at 09:00"."""
    words = moment_in_words(at, now_ms)
    return f"on {words}" if " at " in words else f"at {words}"


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
