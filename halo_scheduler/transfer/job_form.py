"""Converts between a job and its plain data in a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from halo_scheduler.errors import ScheduleError, UnknownFieldError
from halo_scheduler.grammar.checks import parse_instant, require_instant, require_label, require_text
from halo_scheduler.grammar.english import shown
from halo_scheduler.grammar.interval import DAY_MS
from halo_scheduler.grammar.phrases.tokens import LONGEST_PHRASE
from halo_scheduler.model import (
    Action,
    Entry,
    Every,
    Follower,
    FollowOn,
    JobSpec,
    OnChat,
    Policy,
    Schedule,
    Several,
)
from halo_scheduler.model.calendars import CALENDAR_KEYS, Calendar, take_calendar
from halo_scheduler.model.codec import Value
from halo_scheduler.model.schedules import combine, keys_for
from halo_scheduler.transfer.drafts import Draft, NamedFollower
from halo_scheduler.transfer.plain_values import format_instant, read_value, to_plain
from halo_scheduler.transfer.text_file import shown_key

_USUAL = Policy()


@dataclass(frozen=True, slots=True, kw_only=True)
class _FollowerForm(Value):
    """A follower as written in a file."""

    job: str = ""
    id: str = ""
    on: FollowOn = FollowOn.SUCCESS


# In the order in which they are written.
_HINTS: dict[str, Any] = {
    "name": str,
    "id": str | None,
    "description": str,
    "group": str | None,
    "enabled": bool,
    "schedule": Schedule,
    "schedules": None,
    "when": None,
    "anchor": str | None,
    "action": Action,
    "parameters": Mapping[str, str],
    "policy": Policy,
    "followers": tuple[_FollowerForm, ...],
    "metadata": Mapping[str, str],
}
_WAYS = ("schedule", "schedules", "when")
# A Wednesday and the Thursday of the week after it, at midnight: "tomorrow" and "next Monday" differ.
_TWO_INSTANTS = (1_795_003_200_000, 1_795_003_200_000 + 8 * DAY_MS)
_REQUIRED = {"name": "give the job a name", "action": "say what it does"}


def job_to_plain(spec: JobSpec, names: Mapping[str, str], *, job_id: str | None = None) -> dict[str, Any]:
    """Return a job without default values; `names` maps the ids of possible followers to their names."""
    found: dict[str, Any] = {
        "name": spec.name,
        "id": job_id,
        "description": spec.description,
        "group": spec.group,
        "enabled": None if spec.enabled else False,
        **_plain_schedules(spec.schedule),
        # The anchor of a schedule without an interval has no effect.
        "anchor": format_instant(spec.anchor_at) if _counts_from_anchor(spec.schedule) else None,
        "action": to_plain(spec.action),
        "parameters": to_plain(spec.parameters),
        "policy": None if spec.policy == _USUAL else to_plain(spec.policy),
        "followers": [_plain_follower(follower, names) for follower in spec.followers],
        "metadata": to_plain(spec.metadata),
    }
    return {key: value for key, value in found.items() if value is not None and value not in ("", [], {})}


def _plain_schedules(schedule: Schedule | Several) -> dict[str, Any]:
    if not isinstance(schedule, Several):
        return {"schedule": to_plain(schedule)}
    # Keys that the reader would generate again are omitted.
    with_key = not schedule.is_numbered
    return {"schedules": [_plain_entry(entry, with_key=with_key) for entry in schedule.entries]}


def _plain_entry(entry: Entry, *, with_key: bool) -> dict[str, Any]:
    key = {"key": entry.key} if with_key else {}
    anchor = {} if entry.anchor_at is None else {"anchor": format_instant(entry.anchor_at)}
    given = {"from": entry.from_date, "until": entry.until_date}
    dates = {name: text for name, text in given.items() if text is not None}
    values = {"parameters": to_plain(entry.parameters)} if entry.parameters else {}
    overlap = {} if entry.on_overlap is None else {"on_overlap": str(entry.on_overlap)}
    own = anchor | dates | entry.calendar.to_dict() | values | overlap
    plain = to_plain(entry.schedule)
    # A kind without fields is written as one word.
    return {**key, **({"kind": plain} if isinstance(plain, str) else plain), **own}


def _counts_from_anchor(schedule: Schedule | Several) -> bool:
    if isinstance(schedule, Several):
        return any(isinstance(one.schedule, Every) and one.anchor_at is None for one in schedule.entries)
    return isinstance(schedule, Every)


def _plain_follower(follower: Follower, names: Mapping[str, str]) -> dict[str, str]:
    name = names.get(follower.job_id)
    place = {"id": follower.job_id} if name is None else {"job": name}
    return {**place, "on": str(follower.on)}


def draft_of(data: object) -> Draft:
    """Return the draft that plain data describes. ScheduleError names the field as in the data."""
    if not isinstance(data, dict):
        raise ScheduleError(f"a job must be an object with a name, not {shown(data)}")
    for key in data:
        if key not in _HINTS:
            raise ScheduleError(f"is not a known field; known are {', '.join(_HINTS)}", path=shown_key(key))
    for key, advice in _REQUIRED.items():
        if key not in data:
            raise ScheduleError(f"is missing; {advice}", path=key)
    ways = [way for way in _WAYS if way in data]
    if len(ways) != 1:
        given = "give either schedule, schedules or when" if ways else "is missing; say when it runs"
        raise ScheduleError(given, path="schedule" if "schedule" in ways or not ways else ways[0])
    values = {key: _read(key, item) for key, item in data.items()}
    followers = tuple(values.pop("followers", ()))
    job_id, anchor = values.pop("id", None), values.pop("anchor", None)
    values["schedule"] = values.pop(ways[0])
    spec = JobSpec(**values)
    return Draft(
        spec=spec,
        job_id=None if job_id is None else require_label("id", job_id),
        anchor_at=None if anchor is None else require_instant("anchor", parse_instant("anchor", anchor)),
        followers=tuple(_named_follower(index, form) for index, form in enumerate(followers)),
    )


def _read(key: str, value: object) -> Any:
    if key == "followers" and isinstance(value, list):
        # A name alone means: after every success.
        value = [{"job": item} if isinstance(item, str) else item for item in value]
    if key == "schedules":
        return _read_schedules(value)
    try:
        return _read_words(value) if key == "when" else read_value(_HINTS[key], value)
    except ScheduleError as error:
        raise error.under(key) from None


def _read_words(value: object) -> Several | Schedule:
    """Return the schedule of plain words; refuse words whose meaning depends on the current date."""
    from halo_scheduler.schedule.spoken import parse_schedule  # noqa: PLC0415 - only for words

    words = require_text("", value, longest=LONGEST_PHRASE)
    found, later = (parse_schedule(words, now_ms=now_ms) for now_ms in _TWO_INSTANTS)
    if found != later:
        raise ScheduleError("a file needs the date itself, like 24 Dec 2026 at 18:00")
    return found


def _read_schedules(value: object) -> Several | Schedule:
    if not isinstance(value, list):
        raise ScheduleError(f"must be a list of schedules, not {shown(value)}", path="schedules")
    return combine(_read_entry(index, item) for index, item in enumerate(value))


def _read_entry(index: int, item: object) -> Entry:
    path = f"schedules[{index}]"
    names = ("key", "anchor", "from", "until", "parameters", "on_overlap", *CALENDAR_KEYS.values())
    own = {name: item[name] for name in names if name in item} if isinstance(item, dict) else {}
    if isinstance(item, dict) and item.get("kind") == OnChat.kind:
        own.pop("from", None)  # The `from` of chat lists who may write.
    rest = {name: one for name, one in item.items() if name not in own} if isinstance(item, dict) else item
    try:
        anchor = read_value(str | None, own.get("anchor"))
        return Entry(
            read_value(Schedule, rest),
            key=read_value(str, own.get("key", "")),
            anchor_at=None if anchor is None else require_instant("anchor", parse_instant("anchor", anchor)),
            parameters=_read_values(own.get("parameters", {})),
            on_overlap=own.get("on_overlap"),
            from_date=_read_field(own, "from", str | None),
            until_date=_read_field(own, "until", str | None),
            calendar=_read_calendar(own),
        )
    except UnknownFieldError as error:
        known = (name.removesuffix("_at") for name in (*error.known, *keys_for(error.owner)))
        raise UnknownFieldError(error.path, known, error.owner).under(path) from None
    except ScheduleError as error:
        raise error.under(path) from None


def _read_calendar(own: dict[str, Any]) -> Calendar:
    hints = {"only": tuple[str, ...], "not": tuple[str, ...], "shift": str}
    given = {name: _read_field(own, name, hint) for name, hint in hints.items() if name in own}
    # Files have lists.
    return take_calendar({name: list(one) if isinstance(one, tuple) else one for name, one in given.items()})


def _read_field(own: dict[str, Any], name: str, hint: Any) -> Any:
    try:
        return read_value(hint, own.get(name))
    except ScheduleError as error:
        raise error.under(name) from None


def _read_values(value: object) -> Mapping[str, str]:
    try:
        return cast("Mapping[str, str]", read_value(Mapping[str, str], value))
    except ScheduleError as error:
        raise error.under("parameters") from None


def _named_follower(index: int, form: _FollowerForm) -> NamedFollower:
    if bool(form.job) == bool(form.id):
        raise ScheduleError("name the job that follows, like job: report", path=f"followers[{index}].job")
    return NamedFollower(name=form.job, job_id=form.id, on=form.on)


def spec_of(draft: Draft, ids: Mapping[str, str], *, anchor_at: int) -> JobSpec:
    """Return the complete spec of a draft; `ids` maps the names of possible followers to their ids."""
    followers = tuple(
        Follower(job_id=_id_of(index, follower, ids), on=follower.on)
        for index, follower in enumerate(draft.followers)
    )
    own_at = anchor_at if draft.anchor_at is None else draft.anchor_at
    return replace(draft.spec, followers=followers, anchor_at=own_at)


def _id_of(index: int, follower: NamedFollower, ids: Mapping[str, str]) -> str:
    if follower.job_id:
        return follower.job_id
    if follower.name not in ids:
        raise ScheduleError(f"there is no job named {shown(follower.name)}", path=f"followers[{index}].job")
    return ids[follower.name]
