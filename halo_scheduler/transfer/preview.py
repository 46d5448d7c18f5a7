"""The review of an import, line by line, for the terminal and the window."""

from __future__ import annotations

import difflib
import json
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeVar

from halo_scheduler.grammar.english import counted
from halo_scheduler.grammar.text import exact_line, shown_spec, whole_line
from halo_scheduler.model import Caps, FollowOn, InQuietTime, Job, JobSpec, Policy, Schedule, Several
from halo_scheduler.model.settings import Agent, QuietTime
from halo_scheduler.transfer.drafts import MovedState
from halo_scheduler.transfer.import_changes import FieldChange, LimitChange, QuietTimeChange, SettingChange
from halo_scheduler.transfer.import_plan import Alteration, Creation, ImportPlan
from halo_scheduler.wording.jobs import (
    action_words,
    condition_words,
    entry_words,
    more_words,
    parameter_words,
    policy_words,
    work_words,
)
from halo_scheduler.wording.lint import Reviewer
from halo_scheduler.wording.measures import amount_words
from halo_scheduler.wording.schedules import describe

_AFTER = {FollowOn.SUCCESS: "success", FollowOn.FAILURE: "failure", FollowOn.ALWAYS: "run"}
_USUAL = Policy()
_MOST_NAMED = 5
_MOST_REFUSED = 100
_Item = TypeVar("_Item")


class Sign(StrEnum):
    """The meaning of a line: its character and, where shown, its colour."""

    NEW = "+"
    CHANGED = "~"
    REMOVED = "−"
    NOTE = "▲"
    ERROR = "■"
    SKIPPED = "◌"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of a review; depth 0 are headings and totals, 1 jobs and other items, 2 their details.

    `label` precedes the text and explains it.
    """

    text: str
    depth: int = 2
    sign: Sign | None = None
    label: str = ""
    is_strong: bool = False
    is_diff: bool = False


def preview(plan: ImportPlan, names: Mapping[str, str], *, paused: bool, is_refused: bool) -> Iterator[Line]:
    """Yield what a plan creates, changes, removes and skips; `names` are those of existing jobs, by id.

    A refused plan is shortened.
    """
    names = {**names, **{job_id: name for name, job_id in plan.new_ids.items()}}
    reviewer = Reviewer(names.values())
    how = ", paused until you resume them" if paused else ""
    most = _MOST_REFUSED if is_refused else None
    yield from _section(f"New{how}:", plan.created, lambda one: _created(one, names, reviewer), most)
    yield from _section("Changed:", plan.changed, lambda one: _changed(one, reviewer), most)
    yield from _section(
        "Removed (to the trash):", plan.removed, lambda one: [_item(Sign.REMOVED, one.name)], most
    )
    yield from _section("Settings:", plan.settings, _setting, most)
    yield from _section("Quiet hours:", plan.quiet_times, lambda one: [_quiet_time(one)], most)
    yield from _section("Group limits:", plan.group_limits, lambda one: [_limit(one)], most)
    yield from _section("Skipped:", plan.left_out, lambda one: [_item(Sign.SKIPPED, str(one))], most)
    yield from _section("Errors:", plan.faults, lambda one: [_item(Sign.ERROR, str(one))])
    if plan.unchanged:
        yield Line(text=f"Unchanged: {counted(len(plan.unchanged), 'job')}{_some(plan.unchanged)}", depth=0)
    for name, found in plan.found_alike.items():
        text = f"{whole_line(name)} is your job {whole_line(found)}: same schedule and command"
        yield Line(text=text, depth=1)


def _item(sign: Sign, text: str) -> Line:
    return Line(text=whole_line(text), depth=1, sign=sign)


def _setting(change: SettingChange) -> list[Line]:
    if change.name == "agents":
        return [_item(Sign.CHANGED, "agents"), *_agent_changes(change.before, change.after)]
    before, after = (_setting_value(value) for value in (change.before, change.after))
    return [_item(Sign.CHANGED, f"{change.name}: {before} → {after}")]


def _setting_value(value: object) -> str:
    if value is None:
        return "none"
    return ("off", "on")[value] if isinstance(value, bool) else str(value)


def _agent_changes(before: Sequence[Agent], after: Sequence[Agent]) -> Iterator[Line]:
    old, new = ({agent.name: shlex.join(agent.argv) for agent in agents} for agents in (before, after))
    for name in {**old, **new}:
        if old.get(name) == new.get(name):
            continue
        sign = Sign.NEW if name not in old else Sign.REMOVED if name not in new else Sign.CHANGED
        yield Line(text=whole_line(f"{name}: {new.get(name, old.get(name, ''))}"), sign=sign)


def _some(names: Sequence[str]) -> str:
    """Return the names in parentheses, if they are few."""
    return f" ({', '.join(map(whole_line, names))})" if len(names) <= _MOST_NAMED else ""


def _section(
    heading: str, items: Sequence[_Item], lines_of: Callable[[_Item], Sequence[Line]], most: int | None = None
) -> Iterator[Line]:
    if not items:
        return
    yield Line(text=heading, depth=0, is_strong=True)
    for item in items[:most]:
        yield from lines_of(item)
    if most is not None and len(items) > most:
        yield Line(text=f"… and {len(items) - most} more", depth=1)


def _created(creation: Creation, names: Mapping[str, str], reviewer: Reviewer) -> list[Line]:
    spec = creation.spec
    state = creation.draft.state or MovedState()
    off = "" if spec.enabled and state.disabled is None else " (disabled)"
    off += " (paused on the other computer)" if state.paused else ""
    details = [
        Line(label=f"{label:<8}", text=exact_line(text)) for label, text in _details(spec, names) if text
    ]
    notes = _notes([*creation.draft.notes, *reviewer.notes(spec)])
    return [replace(_item(Sign.NEW, spec.name + off), is_strong=True), *details, *notes]


def _details(spec: JobSpec, names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield everything that determines what a job does, so that users see it before importing it."""
    yield from (("when", words) for words in _when_words(spec.schedule))
    yield "does", action_words(spec.action)
    yield from more_words(spec.action)
    yield "work", work_words(spec.action)
    yield "params", parameter_words(spec.parameters)
    yield "starts", condition_words(spec.policy)
    for follower in spec.followers:
        name = names.get(follower.job_id, follower.job_id)
        yield "then", f"{name} after each {_AFTER[follower.on]}"
    yield "quiet", "skipped in quiet hours" if spec.policy.in_quiet_time is InQuietTime.SKIP else ""
    yield "limits", _cap_words(spec.policy.caps)
    yield "group", spec.group or ""
    yield "about", spec.description
    if spec.policy != _USUAL:
        fields = {name: getattr(spec, name) for name in JobSpec.__dataclass_fields__}
        yield "policy", policy_words(Job(id=spec.name, **fields))


def _when_words(schedule: Schedule | Several) -> list[str]:
    if isinstance(schedule, Several):
        return [entry_words(entry) for entry in schedule.entries]
    return [describe(schedule)]


def _cap_words(caps: Caps) -> str:
    parts = [
        *([] if caps.runs_per_day is None else [f"{counted(caps.runs_per_day, 'run')} a day"]),
        *([] if caps.cost_per_day is None else [f"cost {amount_words(caps.cost_per_day)} a day"]),
    ]
    return " · ".join(parts)


def _changed(alteration: Alteration, reviewer: Reviewer) -> list[Line]:
    lines = [replace(_item(Sign.CHANGED, alteration.before.name), is_strong=True)]
    for change in alteration.changes:
        lines += _change(change)
    return lines + _notes([*alteration.draft.notes, *reviewer.notes(alteration.after)])


def _notes(notes: Iterable[str]) -> list[Line]:
    return [Line(text=whole_line(note), sign=Sign.NOTE) for note in notes]


def _change(change: FieldChange) -> list[Line]:
    label = f"{whole_line(change.path)}:"
    if _is_long(change.before) or _is_long(change.after):
        return [Line(label=label, text=""), *_line_changes(_lines(change.before), _lines(change.after))]
    return [Line(label=label, text=f"{_value(change.before)} → {_value(change.after)}")]


def _lines(value: object) -> str:
    """Return a text of several lines; a list of objects has one for each."""
    if isinstance(value, list):
        return "\n".join(exact_line(json.dumps(item, ensure_ascii=False)) for item in value)
    return str(value or "")


def _line_changes(before: str, after: str) -> Iterator[Line]:
    """Yield a diff of two multi-line texts."""
    old, new = (shown_spec(text).splitlines() for text in (before, after))
    for line in list(difflib.unified_diff(old, new, lineterm="", n=1))[2:]:
        sign = {"+": Sign.NEW, "-": Sign.REMOVED}.get(line[:1])
        yield Line(text=line, sign=sign, is_diff=True)


def _is_long(value: object) -> bool:
    if isinstance(value, list):
        return any(isinstance(item, dict) for item in value)
    return isinstance(value, str) and "\n" in value


def _value(value: object) -> str:
    if value is None:
        return "(default)"
    return exact_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _quiet_time(change: QuietTimeChange) -> Line:
    before, after = change.before, change.after
    if before is None:
        return _item(Sign.NEW, _quiet_words(after))
    if after is None:
        return _item(Sign.REMOVED, _quiet_words(before))
    return _item(Sign.CHANGED, f"{_quiet_words(before)} → {_quiet_words(after)}")


def _quiet_words(quiet_time: QuietTime | None) -> str:
    if quiet_time is None:
        return ""
    days = "every day" if quiet_time.days == QuietTime().days else ", ".join(quiet_time.days)
    zone = f" ({quiet_time.timezone})" if quiet_time.timezone else ""
    whom = f" for group {quiet_time.group}" if quiet_time.group else ""
    name = f"{quiet_time.name}: " if quiet_time.name else ""
    return f"{name}{days}, {quiet_time.start}–{quiet_time.end}{zone}{whom}"


def _limit(change: LimitChange) -> Line:
    return _item(Sign.CHANGED, f"{change.group}: {_most(change.before)} → {_most(change.after)}")


def _most(limit: int | None) -> str:
    return "no limit" if limit is None else f"{limit} at once"
