"""Schedules: when a job is due."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, ClassVar, Self, cast

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.checks import (
    frozen_list,
    parse_instant,
    require_instant,
    require_interval,
    require_kind,
    require_text,
)
from halo_scheduler.grammar.cron import CronExpression, parse_cron
from halo_scheduler.grammar.interval import SECOND_MS, parse_interval
from halo_scheduler.grammar.zone import find_zone
from halo_scheduler.model.codec import OwnForm, Value, as_object, decode, decode_under, put

SHORTEST_EVERY_MS = 10 * SECOND_MS


@dataclass(frozen=True, slots=True)
class Every(Value):
    """Run at a fixed interval, counted from the job's anchor."""

    kind: ClassVar = "every"
    every: str

    def __post_init__(self) -> None:
        require_interval("every", self.every)

    @property
    def every_ms(self) -> int:
        """The effective interval: never below 10 s."""
        return max(parse_interval(self.every), SHORTEST_EVERY_MS)

    @property
    def is_raised(self) -> bool:
        """Whether a shorter interval was given than is in effect."""
        return parse_interval(self.every) < SHORTEST_EVERY_MS


@dataclass(frozen=True, slots=True)
class After(Value):
    """Run this long after the previous run ended."""

    kind: ClassVar = "after"
    after: str

    def __post_init__(self) -> None:
        require_interval("after", self.after)

    @property
    def after_ms(self) -> int:
        return parse_interval(self.after)


@dataclass(frozen=True, slots=True)
class Cron(Value):
    """Run at the times of a cron expression; a time zone of None is the computer's."""

    kind: ClassVar = "cron"
    cron: str
    timezone: str | None = None

    def __post_init__(self) -> None:
        require_text("cron", self.cron)
        try:
            parse_cron(self.cron)
        except ScheduleError as error:
            raise error.under("cron") from None
        if self.timezone is not None:
            require_text("timezone", self.timezone)
            try:
                find_zone(self.timezone)
            except ScheduleError as error:
                raise error.under("timezone") from None

    @property
    def expression(self) -> CronExpression:
        return parse_cron(self.cron)


@dataclass(frozen=True, slots=True)
class Once(Value):
    """Run once, at an instant: epoch milliseconds, or ISO 8601 text with an offset."""

    kind: ClassVar = "once"
    at: int | str

    def __post_init__(self) -> None:
        require_instant("at", self.due_at)

    @property
    def due_at(self) -> int:
        return parse_instant("at", self.at) if isinstance(self.at, str) else self.at


@dataclass(frozen=True, slots=True)
class Manual(Value):
    """Run only manually, or after another job."""

    kind: ClassVar = "manual"


Schedule = Every | After | Cron | Once | Manual
MOST_SCHEDULES = 100
_KEY = re.compile(r"[a-z0-9][a-z0-9_-]{0,19}", re.ASCII)


def is_key(text: str) -> bool:
    """Return whether a text can name one of several schedules."""
    return _KEY.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Entry(OwnForm):
    """One of several schedules of a job; edits keep its key, by which runs name it.

    An `every` counts from its own anchor, if it has one, else from the job's.
    """

    schedule: Schedule
    key: str = ""
    anchor_at: int | None = None

    def __post_init__(self) -> None:
        require_kind("schedule", self.schedule, Schedule, "one schedule, like Every('15m')")
        if isinstance(self.schedule, Manual):
            raise ScheduleError("a manual job has no other schedules; leave `manual` out", path="kind")
        if self.key and not is_key(require_text("key", self.key)):
            raise ScheduleError("must be a short name of a-z, 0-9, - and _, like 1 or morning", path="key")
        if self.anchor_at is None:
            return
        require_instant("anchor_at", self.anchor_at)
        if not isinstance(self.schedule, Every):
            raise ScheduleError("only `every` counts from an anchor", path="anchor_at")

    def anchor(self, job_anchor_at: int) -> int:
        """Return the instant that an `every` counts from."""
        return job_anchor_at if self.anchor_at is None else self.anchor_at

    def to_dict(self) -> dict[str, Any]:
        anchor = {} if self.anchor_at is None else {"anchor_at": self.anchor_at}
        return {"key": self.key, **self.schedule.to_dict(), **anchor}

    @classmethod
    def from_form(cls, data: object) -> Self:
        own = {name: item for name, item in as_object(data).items() if name in ("key", "anchor_at")}
        rest = {name: item for name, item in as_object(data).items() if name not in own}
        for name, kind in (("key", str), ("anchor_at", int | None)):
            if name in own:
                decode_under(name, kind, own[name])
        return cls(decode(Schedule, rest), **cast("dict[str, Any]", own))


@dataclass(frozen=True, slots=True)
class Several(OwnForm):
    """Run by several schedules: at every time that one of them gives, once if they coincide."""

    kind: ClassVar = "several"
    entries: tuple[Entry, ...]

    def __post_init__(self) -> None:
        given = frozen_list("schedules", self.entries)
        if not given:
            raise ScheduleError("is empty; say when the job runs", path="schedules")
        if len(given) > MOST_SCHEDULES:
            raise ScheduleError(f"a job has at most {MOST_SCHEDULES} schedules", path="schedules")
        for index, entry in enumerate(given):
            require_kind(f"schedules[{index}]", entry, Entry, "an Entry")
        put(self, entries=_with_keys(given))

    @property
    def schedules(self) -> tuple[Schedule, ...]:
        return tuple(entry.schedule for entry in self.entries)

    def find(self, keys: Iterable[str]) -> tuple[Entry, ...]:
        """Return the entries with these keys, in their own order."""
        wanted = frozenset(keys)
        return tuple(entry for entry in self.entries if entry.key in wanted)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "schedules": [entry.to_dict() for entry in self.entries]}

    @classmethod
    def from_form(cls, data: object) -> Self:
        return cls(decode(tuple[Entry, ...], as_object(data).get("schedules")))


def _with_keys(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """Give each entry without a key the first free number; refuse a key or a schedule that is there twice."""
    taken: dict[str, int] = {}
    meanings: dict[tuple[Schedule, int | None], int] = {}
    for index, entry in enumerate(entries):
        if entry.key and taken.setdefault(entry.key, index) != index:
            raise ScheduleError("is the key of another schedule too", path=f"schedules[{index}].key")
        if meanings.setdefault((entry.schedule, entry.anchor_at), index) != index:
            raise ScheduleError("the same schedule is there twice", path=f"schedules[{index}]")
    free = (str(number) for number in count(1) if str(number) not in taken)
    return tuple(entry if entry.key else replace(entry, key=next(free)) for entry in entries)


def combine(schedules: Iterable[Schedule | Several | Entry]) -> Schedule | Several:
    """Return several schedules as one value; a single one as it is."""
    entries: list[Entry] = []
    for index, item in enumerate(schedules):
        try:
            entries += _entries_of_item(item)
        except ScheduleError as error:
            raise error.under(f"schedules[{index}]") from None
    if not entries:
        raise ScheduleError("is empty; say when the job runs", path="schedules")
    return entries[0].schedule if len(entries) == 1 else Several(tuple(entries))


def combine_with_anchor(
    schedules: Sequence[Schedule | Several | Entry], anchor_at: int
) -> tuple[Schedule | Several, int]:
    """Return several schedules as one value, and the job's anchor: that of an only schedule, if it has one."""
    only = schedules[0] if len(schedules) == 1 else None
    if isinstance(only, Entry) and only.anchor_at is not None:
        anchor_at = only.anchor_at
    if isinstance(only, Manual):
        return only, anchor_at
    return combine(schedules), anchor_at


def schedules_of(schedule: Schedule | Several) -> tuple[Schedule, ...]:
    """Return the single schedules of one or several."""
    return schedule.schedules if isinstance(schedule, Several) else (schedule,)


def shared_zone(schedule: Schedule | Several) -> str | None:
    """Return the time zone of all cron schedules, if it is the same one."""
    zones = {item.timezone for item in schedules_of(schedule) if isinstance(item, Cron)}
    return zones.pop() if len(zones) == 1 else None


def without_after(schedule: Schedule | Several) -> Schedule | Several:
    """Return the schedules with fixed times: all but `after`, whose times depend on the ends of runs."""
    if isinstance(schedule, Several):
        entries = [entry for entry in schedule.entries if not isinstance(entry.schedule, After)]
        if len(entries) == len(schedule.entries):
            return schedule
        # Of one entry, an anchor of its own must not get lost.
        return Several(tuple(entries)) if entries else Manual()
    return Manual() if isinstance(schedule, After) else schedule


def combine_like(
    schedules: Iterable[Schedule | Several | Entry], before: Schedule | Several | None
) -> Schedule | Several:
    """Return several schedules as one value; those that were there before keep their keys."""
    entries = before.entries if isinstance(before, Several) else ()
    return combine(with_keys(schedules, {(one.schedule, one.anchor_at): one.key for one in entries}))


def with_keys(
    schedules: Iterable[Schedule | Several | Entry], known: Mapping[tuple[Schedule, int | None], str]
) -> list[Entry]:
    """Return entries, of which those without a key get the known one of the same schedule."""
    entries = [entry for item in schedules for entry in _entries_of_item(item)]
    return [
        entry if entry.key else replace(entry, key=known.get((entry.schedule, entry.anchor_at), ""))
        for entry in entries
    ]


def _entries_of_item(item: Schedule | Several | Entry) -> tuple[Entry, ...]:
    if isinstance(item, Several):
        return item.entries
    return (item if isinstance(item, Entry) else Entry(item),)


def schedule_from_dict(data: object) -> Schedule:
    """Return the schedule of a JSON form; ScheduleError has the path of what is wrong."""
    return cast("Schedule", decode(Schedule, data))


def stored_schedule(data: object) -> Schedule | Several:
    """Return one schedule or several from the form that `to_dict` gives."""
    return cast("Schedule | Several", decode(Schedule | Several, data))


def schedules_from_list(data: object) -> Schedule | Several:
    """Return the schedules of a list of JSON forms as one value; ScheduleError has the path of what is wrong."""
    return combine(cast("tuple[Entry, ...]", decode_under("schedules", tuple[Entry, ...], data)))
