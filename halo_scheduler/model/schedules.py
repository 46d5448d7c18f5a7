"""Schedules: when a job is due."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import count
from typing import Annotated, Any, ClassVar, NamedTuple, Self, cast

from halo_scheduler.errors import ScheduleError, UnknownFieldError
from halo_scheduler.grammar.checks import (
    frozen_list,
    frozen_mapping,
    require_choice,
    require_date,
    require_instant,
    require_kind,
    require_text,
)
from halo_scheduler.model.calendars import EVERY_DAY, Calendar, Days, take_calendar
from halo_scheduler.model.codec import OwnForm, as_object, decode, decode_under, put
from halo_scheduler.model.events import Event, EventRule, OnChat
from halo_scheduler.model.time_rules import After, Cron, Dated, Every, Manual, TimeRule, calendar_for

Schedule = TimeRule | EventRule
MOST_SCHEDULES = 100
_KEY = re.compile(r"[a-z0-9][a-z0-9_-]{0,19}", re.ASCII)


class Overlap(StrEnum):
    """What to do when a schedule is due while the job is still running."""

    SKIP = "skip"
    """Skip: the current run counts for the times that pass meanwhile."""
    QUEUE = "queue"
    """Queue: each time that passes has its run afterwards, oldest first."""
    LATEST = "latest"
    """Only the latest time that passed has its run afterwards."""
    RESTART = "restart"
    """The current run is stopped, and a new one starts once its processes are gone."""


_OWN_FIELDS: dict[str, Any] = {
    "key": str,
    "anchor_at": int | None,
    "parameters": Mapping[str, str],
    "on_overlap": Overlap | None,
    "from_date": str | None,
    "until_date": str | None,
}
"""The fields of an entry in addition to those of its schedule."""
ENTRY_KEYS = {"from_date": "from", "until_date": "until"}
"""The JSON keys of fields whose name is reserved in Python."""
_DAY_KEYS = ENTRY_KEYS | {"calendar": "only"}


class Timing(NamedTuple):
    """What determines the times of one of several schedules; edits keep the key of an entry with equal timing."""

    schedule: Schedule
    anchor_at: int | None
    from_date: str | None
    until_date: str | None
    calendar: Calendar


def keys_for(kind: type) -> tuple[str, ...]:
    """Return the JSON keys that an entry with this kind of schedule may have in addition to the schedule's."""
    anchor = ("anchor_at",) if kind is Every else ()
    days = (*ENTRY_KEYS.values(), "only", "not") if issubclass(kind, Dated) else ()
    shift = ("shift",) if kind is Cron else ()
    overlap = () if kind is After else ("on_overlap",)
    return ("key", *anchor, *days, *shift, "parameters", *overlap)


def is_key(text: str) -> bool:
    """Return whether a text can name one of several schedules."""
    return _KEY.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Entry(OwnForm):
    """One of several schedules of a job; edits keep its key, because runs refer to it.

    An `every` counts from its own anchor, if it has one, else from the job's. Its days are those of the time zone of a
    cron expression, else of the computer's. Its runs get its parameters, and the job's defaults for the others.
    """

    schedule: Schedule
    key: Annotated[str, "short name of this schedule, stored with its runs; if omitted, a number"] = ""
    anchor_at: Annotated[
        int | None, "start of the first interval, in epoch milliseconds; null for the job's anchor"
    ] = None
    parameters: Annotated[
        Mapping[str, str], "values of the job's parameters for the runs of this schedule"
    ] = field(default_factory=dict, hash=False)
    on_overlap: Annotated[
        Overlap | None,
        "what to do when it is due while the job is still running: skip the run, queue each one, run only the "
        "latest afterwards, or restart the job; null to skip times and queue events",
    ] = None
    from_date: Annotated[str | None, "first day of this schedule, like 2026-05-01; null for no limit"] = None
    until_date: Annotated[str | None, "last day of this schedule, like 2026-12-31; null for no limit"] = None
    calendar: Calendar = EVERY_DAY

    def __post_init__(self) -> None:
        require_kind("schedule", self.schedule, Schedule, "one schedule, like Every('15m')")
        if isinstance(self.schedule, Manual):
            raise ScheduleError("a manual job has no other schedules; leave `manual` out", path="kind")
        if self.key and not is_key(require_text("key", self.key)):
            raise ScheduleError("must be a short name of a-z, 0-9, - and _, like 1 or morning", path="key")
        if self.parameters:
            put(self, parameters=frozen_mapping("parameters", self.parameters))
        if self.on_overlap is not None:
            put(self, on_overlap=require_choice(Overlap, self.on_overlap, path="on_overlap"))
            if isinstance(self.schedule, After):
                raise ScheduleError(
                    "a schedule with `after` is never due while the job runs", path="on_overlap"
                )
        if not self.calendar.has_days:
            put(self, calendar=EVERY_DAY)
        if self.is_limited:
            self._check_days()
        if self.anchor_at is None:
            return
        require_instant("anchor_at", self.anchor_at)
        if not isinstance(self.schedule, Every):
            raise ScheduleError("only `every` counts from an anchor", path="anchor_at")

    def _check_days(self) -> None:
        require_kind("calendar", self.calendar, Calendar, "a Calendar")
        if not isinstance(self.schedule, Dated):
            path = next(
                path for name, path in _DAY_KEYS.items() if getattr(self, name) not in (None, EVERY_DAY)
            )
            raise ScheduleError("only `every`, `after` and `cron` can be limited to some days", path=path)
        if self.calendar != calendar_for(self.schedule, self.calendar):
            raise ScheduleError("only the fixed times of `cron` can move", path="shift")
        for name, path in ENTRY_KEYS.items():
            require_date(path, getattr(self, name) or "1970-01-01")
        if (self.from_date or "") > (self.until_date or "9999"):
            raise ScheduleError(f"must not be before the first day, {self.from_date}", path="until")

    @property
    def is_limited(self) -> bool:
        """Whether a first day, a last day or a calendar excludes days."""
        return self.from_date is not None or self.until_date is not None or self.calendar is not EVERY_DAY

    @property
    def is_plain(self) -> bool:
        """Whether it has no fields but its schedule, apart from the key."""
        return not self.parameters and self.on_overlap is None and not self.is_limited

    @property
    def is_local(self) -> bool:
        """Whether its times depend on the computer's time zone."""
        return self.schedule.timezone is None if isinstance(self.schedule, Cron) else self.is_limited

    @property
    def timing(self) -> Timing:
        return Timing(self.schedule, self.anchor_at, self.from_date, self.until_date, self.calendar)

    def anchor(self, job_anchor_at: int) -> int:
        """Return the instant that an `every` counts from."""
        return job_anchor_at if self.anchor_at is None else self.anchor_at

    def to_dict(self) -> dict[str, Any]:
        anchor = {} if self.anchor_at is None else {"anchor_at": self.anchor_at}
        dates = {key: day for name, key in ENTRY_KEYS.items() if (day := getattr(self, name))}
        values = {"parameters": dict(self.parameters)} if self.parameters else {}
        overlap = {} if self.on_overlap is None else {"on_overlap": str(self.on_overlap)}
        own = anchor | dates | self.calendar.to_dict() | values | overlap
        return {"key": self.key, **self.schedule.to_dict(), **own}

    @classmethod
    def from_form(cls, data: object) -> Self:
        rest = dict(as_object(data))
        own: dict[str, Any] = {"calendar": take_calendar(rest)}
        for name, hint in _OWN_FIELDS.items():
            key = ENTRY_KEYS.get(name, name)
            # The `from` of a chat event lists who may write.
            if key in rest and not (key == "from" and rest.get("kind") == OnChat.kind):
                own[name] = rest.pop(key)
                decode_under(key, hint, own[name])
        try:
            return cls(decode(Schedule, rest), **own)
        except UnknownFieldError as error:
            raise UnknownFieldError(error.path, (*error.known, *keys_for(error.owner)), error.owner) from None


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

    @property
    def is_numbered(self) -> bool:
        """Whether its keys are those that entries without a key get."""
        return [entry.key for entry in self.entries] == [str(index + 1) for index in range(len(self.entries))]

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
    """Give each entry without a key the first free number; refuse duplicate keys and schedules."""
    taken: dict[str, int] = {}
    timings: dict[Timing, int] = {}
    for index, entry in enumerate(entries):
        if timings.setdefault(entry.timing, index) != index:
            raise ScheduleError("the same schedule appears twice", path=f"schedules[{index}]")
        if entry.key and taken.setdefault(entry.key, index) != index:
            raise ScheduleError("is the key of another schedule too", path=f"schedules[{index}].key")
    free = (str(number) for number in count(1) if str(number) not in taken)
    return tuple(entry if entry.key else replace(entry, key=next(free)) for entry in entries)


def combine(schedules: Iterable[Schedule | Several | Entry]) -> Schedule | Several:
    """Return several schedules as one value; a single one as it is."""
    entries: list[Entry] = []
    for index, item in enumerate(schedules):
        try:
            entries += entries_of(item)
        except ScheduleError as error:
            raise error.under(f"schedules[{index}]") from None
    if not entries:
        raise ScheduleError("is empty; say when the job runs", path="schedules")
    is_plain = len(entries) == 1 and entries[0].is_plain
    return entries[0].schedule if is_plain else Several(tuple(entries))


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


def events_of(schedule: Schedule | Several) -> tuple[Entry, ...]:
    """Return the events among one or several schedules; a single schedule has no key."""
    if isinstance(schedule, Several):
        return tuple(entry for entry in schedule.entries if isinstance(entry.schedule, Event))
    return (Entry(schedule),) if isinstance(schedule, Event) else ()


def gives_times(schedule: Schedule | Several) -> bool:
    """Return whether a schedule has a time rule; events and manual runs have no times."""
    return not all(isinstance(item, Manual | Event) for item in schedules_of(schedule))


def shared_zone(schedule: Schedule | Several) -> str | None:
    """Return the time zone of all cron schedules, if it is the same one."""
    zones = {item.timezone for item in schedules_of(schedule) if isinstance(item, Cron)}
    return zones.pop() if len(zones) == 1 else None


def day_sources(schedule: Schedule | Several) -> tuple[str, ...]:
    """Return the sources of days in the calendars of schedules, once each."""
    if not isinstance(schedule, Several):
        return ()
    limited = (entry.calendar for entry in schedule.entries if entry.calendar is not EVERY_DAY)
    return tuple(dict.fromkeys(source for calendar in limited for source in calendar.sources))


def with_days(schedule: Schedule | Several, days: Days) -> Schedule | Several:
    """Return the schedules with looked-up days filled into their calendars."""
    if not isinstance(schedule, Several):
        return schedule
    return Several(
        tuple(
            replace(entry, calendar=replace(entry.calendar, days=days)) if entry.calendar.sources else entry
            for entry in schedule.entries
        )
    )


def combine_like(
    schedules: Iterable[Schedule | Several | Entry], before: Schedule | Several | None
) -> Schedule | Several:
    """Return several schedules as one value; those that were there before keep their keys."""
    entries = before.entries if isinstance(before, Several) else ()
    return combine(with_keys(schedules, {one.timing: one.key for one in entries}))


def keep_keys(schedule: Schedule | Several, before: Schedule | Several) -> Schedule | Several:
    """Return the schedules of a file without keys; those that were there before keep their keys."""
    if not isinstance(before, Several) or not isinstance(schedule, Several) or not schedule.is_numbered:
        return schedule
    return combine_like((replace(entry, key="") for entry in schedule.entries), before)


def with_keys(schedules: Iterable[Schedule | Several | Entry], known: Mapping[Timing, str]) -> list[Entry]:
    """Return entries, of which those without a key get the known one of the same schedule."""
    entries = [entry for item in schedules for entry in entries_of(item)]
    return [entry if entry.key else replace(entry, key=known.get(entry.timing, "")) for entry in entries]


def entries_of(item: Schedule | Several | Entry) -> tuple[Entry, ...]:
    """Return one or several schedules as entries."""
    if isinstance(item, Several):
        return item.entries
    return (item if isinstance(item, Entry) else Entry(item),)


def schedule_from_dict(data: object) -> Schedule:
    """Return the schedule of a JSON form; ScheduleError has the path of what is wrong."""
    return cast("Schedule", decode(Schedule, data))


def stored_schedule(data: object) -> Schedule | Several:
    """Return one schedule or several from the form that `to_dict` gives."""
    return cast("Schedule | Several", decode(Schedule | Several, data))


def schedule_fields(schedule: Schedule | Several) -> dict[str, Any]:
    """Return the fields of JSON that say when a job runs: `schedule`, or `schedules` if it has several."""
    if isinstance(schedule, Several):
        return {"schedule": None, "schedules": schedule.to_dict()["schedules"]}
    return {"schedule": schedule.to_dict()}


def schedules_from_list(data: object) -> Schedule | Several:
    """Return the schedules of a list of JSON forms as one value; ScheduleError has the path of what is wrong."""
    return combine(cast("tuple[Entry, ...]", decode_under("schedules", tuple[Entry, ...], data)))
