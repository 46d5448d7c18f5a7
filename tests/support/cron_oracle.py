"""A slow, obvious second opinion on cron: it looks at the wall clock in every minute of a year."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

NAMES = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
# Forward and back by an hour, by half an hour, at midnight, over midnight, with quarter-hour offsets, never.
ZONES = (
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Pacific/Chatham",
    "America/Havana",
    "Africa/Casablanca",
    "Europe/Dublin",
    "Asia/Kolkata",
    "UTC",
)
HOURLY_ZONES = ("Europe/Berlin", "America/New_York", "Europe/Dublin", "Australia/Sydney", "UTC")


@dataclass(frozen=True)
class Field:
    """A field as text, and the values it means."""

    text: str
    values: frozenset[int]


@dataclass(frozen=True)
class Expression:
    """An expression whose meaning is known because it was built, not parsed."""

    second: Field | None
    minute: Field
    hour: Field
    day: Field
    month: Field
    weekday: Field

    @property
    def text(self) -> str:
        fields = (self.minute, self.hour, self.day, self.month, self.weekday)
        return " ".join(field.text for field in ((self.second, *fields) if self.second else fields))

    @property
    def is_wildcard(self) -> bool:
        timed = (self.minute, self.hour, *([self.second] if self.second else []))
        return any(field.text.startswith("*") for field in timed)

    def matches_day(self, day: date) -> bool:
        if day.month not in self.month.values:
            return False
        by_date = day.day in self.day.values or ("L" in self.day.text and (day + timedelta(days=1)).day == 1)
        by_weekday = day.isoweekday() % 7 in self.weekday.values or _matches_special(self.weekday.text, day)
        if self.day.text.startswith("*") or self.weekday.text.startswith("*"):
            return by_date and by_weekday
        return by_date or by_weekday

    def instants(self, zone: str, days: Iterable[date]) -> list[int]:
        """Return every run on some days in epoch seconds, found by looking at each minute of them."""
        matching = [day for day in days if self.matches_day(day)]
        return sorted(
            set(self._real_passes(zone, matching) if self.is_wildcard else self._wall_times(zone, matching))
        )

    def _seconds(self) -> frozenset[int]:
        return self.second.values if self.second else frozenset({0})

    def _real_passes(self, zone: str, days: list[date]) -> Iterator[int]:
        for day in days:
            for wall_minute, instant in _minutes_by_day(zone, day.year)[day]:
                if wall_minute // 60 in self.hour.values and wall_minute % 60 in self.minute.values:
                    yield from (instant + second for second in self._seconds())

    def _wall_times(self, zone: str, days: list[date]) -> Iterator[int]:
        for day in days:
            first_pass: dict[int, int] = {}
            for wall_minute, instant in _minutes_by_day(zone, day.year)[day]:
                first_pass.setdefault(wall_minute, instant)
            for hour in self.hour.values:
                for minute in self.minute.values:
                    wall_minute = hour * 60 + minute
                    if wall_minute in first_pass:
                        yield from (first_pass[wall_minute] + second for second in self._seconds())
                    else:
                        yield _first_after_gap(zone, day, wall_minute)


def _matches_special(text: str, day: date) -> bool:
    for item in text.split(","):
        name, hash_sign, nth = item.partition("#")
        if hash_sign and NAMES.index(name) == day.isoweekday() % 7 and (day.day - 1) // 7 + 1 == int(nth):
            return True
        is_last = item.endswith("L") and (day + timedelta(days=7)).month != day.month
        if is_last and int(item[0]) % 7 == day.isoweekday() % 7:
            return True
    return False


def days_between(first: date, last: date) -> list[date]:
    """Return all days from the first to the last."""
    return [first + timedelta(days=index) for index in range((last - first).days + 1)]


@cache
def _minutes_by_day(zone: str, year: int) -> dict[date, list[tuple[int, int]]]:
    """Return, for each local day of a year, its real minutes: what the wall clock shows, and when."""
    tz = ZoneInfo(zone)
    days: dict[date, list[tuple[int, int]]] = {}
    # Every offset is a whole number of quarter hours: within one the wall clock runs on.
    quarter = datetime(year - 1, 12, 30, tzinfo=UTC)
    while quarter < datetime(year + 1, 1, 3, tzinfo=UTC):
        local = quarter.astimezone(tz)
        if local.year == year:
            instant = int(quarter.timestamp())
            wall_minute = local.hour * 60 + local.minute
            days.setdefault(local.date(), []).extend((wall_minute + k, instant + 60 * k) for k in range(15))
        quarter += timedelta(minutes=15)
    return days


def _first_after_gap(zone: str, day: date, wall_minute: int) -> int:
    days = _minutes_by_day(zone, day.year)
    following = [*days[day], *days[day + timedelta(days=1)][:1]]
    return next(
        instant for minute, instant in following if minute > wall_minute or instant == following[-1][1]
    )


def _plain_field(low: int, high: int) -> st.SearchStrategy[Field]:
    def step(n: int) -> Field:
        return Field(f"*/{n}", frozenset(range(low, high + 1, n)))

    def star_list(n: int, extra: int) -> Field:
        return Field(f"*/{n},{extra}", frozenset({*range(low, high + 1, n), extra}))

    def span(ends: tuple[int, int], n: int) -> Field:
        start, end = sorted(ends)
        # cronsim takes 5-5/2 for 5/2, so a range of one has no step here.
        text = f"{start}-{end}" if start == end else f"{start}-{end}/{n}"
        return Field(text, frozenset(range(start, end + 1, n)))

    def listing(values: set[int]) -> Field:
        return Field(",".join(map(str, sorted(values))), frozenset(values))

    number = st.integers(low, high)
    return st.one_of(
        st.just(Field("*", frozenset(range(low, high + 1)))),
        st.sets(number, min_size=1, max_size=4).map(listing),
        st.builds(step, st.integers(1, high - low + 1)),
        st.builds(star_list, st.integers(2, high - low + 1), number),
        st.builds(span, st.tuples(number, number), st.integers(1, 7)),
    )


def _with_last_day(field: Field) -> Field:
    return Field(
        "L" if field.text == "*" else f"{field.text},L", frozenset() if field.text == "*" else field.values
    )


def _nth(pairs: set[tuple[str, int]]) -> Field:
    return Field(",".join(f"{name}#{nth}" for name, nth in sorted(pairs)), frozenset())


def _last(weekday: int) -> Field:
    return Field(f"{weekday}L", frozenset())


def _weekday_field() -> st.SearchStrategy[Field]:
    nth = st.sets(st.tuples(st.sampled_from(NAMES), st.integers(1, 5)), min_size=1, max_size=3).map(_nth)
    return st.one_of(_plain_field(0, 6), _plain_field(0, 6), nth, st.integers(0, 7).map(_last))


def expressions(*, seconds: bool, special_days: bool = True) -> st.SearchStrategy[Expression]:
    """Return expressions of five fields, or of six with seconds."""
    day = _plain_field(1, 31)
    return st.builds(
        Expression,
        second=_plain_field(0, 59) if seconds else st.none(),
        minute=_plain_field(0, 59),
        hour=_plain_field(0, 23),
        day=st.one_of(st.just(Field("*", frozenset(range(1, 32)))), day, day.map(_with_last_day))
        if special_days
        else day,
        month=st.one_of(st.just(Field("*", frozenset(range(1, 13)))), _plain_field(1, 12)),
        weekday=_weekday_field() if special_days else _plain_field(0, 6),
    )
