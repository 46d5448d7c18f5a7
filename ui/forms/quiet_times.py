"""Quiet hours in words: days, hours, jobs, and whether they apply now."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication

from halo_scheduler.grammar.english import WEEKDAYS, listed, spans
from halo_scheduler.model.settings import QuietTime, Weekday
from halo_scheduler.schedule.calendar import quiet_at
from halo_scheduler.wording.measures import moment_in_words
from ui.style.wording import one_line

_ALL_DAYS = tuple(Weekday)
_WORK_DAYS, _WEEKEND = _ALL_DAYS[:5], _ALL_DAYS[5:]
_LONGEST_NAME = 60
_MOST_GROUPS = 3


def tr(text: str) -> str:
    """Return a text in the user's language."""
    return QCoreApplication.translate("QuietWords", text)


def day_name(day: Weekday) -> str:
    """Return the name of a day."""
    # WEEKDAYS begins with Sunday.
    return WEEKDAYS[(_ALL_DAYS.index(day) + 1) % len(WEEKDAYS)]


def called(time: QuietTime) -> str:
    """Return the name of quiet hours, or a default."""
    return one_line(time.name, _LONGEST_NAME) or tr("Quiet hours")


def quiet_line(time: QuietTime) -> str:
    """Return a summary: "Every day, 22:00 to 06:00 · group Home · Europe/Berlin"."""
    whom = (
        tr("all jobs")
        if time.group is None
        else tr("group {name}").format(name=one_line(time.group, _LONGEST_NAME))
    )
    return " · ".join(filter(None, [f"{_days(time.days)}, {_hours(time)}", whom, time.timezone or ""]))


def _days(days: Sequence[Weekday]) -> str:
    whole = {_ALL_DAYS: tr("Every day"), _WORK_DAYS: tr("Monday to Friday"), _WEEKEND: tr("Weekends")}
    if tuple(days) in whole:
        return whole[tuple(days)]
    # A single day is not abbreviated.
    names = [day_name(day) if len(days) == 1 else day_name(day)[:3] for day in days]
    return listed(spans([_ALL_DAYS.index(day) for day in days], names, tr(" to ")))


def _hours(time: QuietTime) -> str:
    if is_whole_day(time.start, time.end):
        return tr("all day") if time.start == "00:00" else tr("{start} for 24 hours").format(start=time.start)
    return tr("{start} to {end}").format(start=time.start, end=time.end)


def is_whole_day(start: str, end: str) -> bool:
    """Return whether the hours last until the same time of the next day."""
    return start == ("00:00" if end == "24:00" else end)


def end_words(start: str, end: str) -> str:
    """Return a remark on the end of the hours, if it is not obvious."""
    if is_whole_day(start, end):
        return tr("Lasts 24 hours.")
    if end in ("00:00", "24:00"):
        return tr("Ends at midnight.")
    return tr("Ends the next day.") if end < start else ""


def holds_words(time: QuietTime, now_ms: int) -> str:
    """Return until when quiet hours last; empty if they do not apply now."""
    found = quiet_at([time], time.group, now_ms)
    if found is None:
        return ""
    return tr("Quiet now until {when}").format(when=moment_in_words(found.until, now_ms))


def now_words(times: Sequence[QuietTime], now_ms: int) -> str:
    """Return which jobs have quiet hours now, and until when; overlapping ones are merged."""
    everybody = quiet_at(times, None, now_ms)
    if everybody is not None:
        words = tr("Quiet until {when}: no scheduled runs start.")
        return words.format(when=moment_in_words(everybody.until, now_ms))
    groups = dict.fromkeys(time.group for time in times if time.group is not None)
    found = [
        (group, quiet.until) for group in groups if (quiet := quiet_at(times, group, now_ms)) is not None
    ]
    if not found:
        return tr("No quiet hours right now.")
    named = [
        tr("group {group} until {when}").format(
            group=one_line(group, _LONGEST_NAME), when=moment_in_words(until, now_ms)
        )
        for group, until in found[:_MOST_GROUPS]
    ]
    more = ["…"] if len(found) > len(named) else []
    return tr("Quiet now: {groups}").format(groups=", ".join(named + more))
