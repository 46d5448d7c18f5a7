"""The preview of an import."""

from __future__ import annotations

import difflib
import json
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import click

from halo_scheduler.grammar.english import counted
from halo_scheduler.grammar.text import shown_spec, whole_line
from halo_scheduler.grammar.zone import local_time
from halo_scheduler.model import Caps, FollowOn, InQuietTime, Job, JobSpec, Policy
from halo_scheduler.model.quiet_times import QuietTime
from halo_scheduler.model.settings import Agent
from halo_scheduler.service.imports import NewRuns
from halo_scheduler.transfer.drafts import MovedState
from halo_scheduler.transfer.import_changes import FieldChange, LimitChange, QuietTimeChange, SettingChange
from halo_scheduler.transfer.import_plan import Alteration, Creation, ImportPlan
from halo_scheduler.transfer.review import Reviewer
from halo_scheduler.wording.jobs import action_words, condition_words, more_words, policy_words, work_words
from halo_scheduler.wording.measures import amount_words
from halo_scheduler.wording.schedules import describe

_NEW = click.style("+", fg="green")
_OTHER = click.style("~", fg="yellow")
_GONE = click.style("−", fg="red")
_NOTE = click.style("▲", fg="yellow")
_BAD = click.style("■", fg="red")
_LEFT = "◌"
_AFTER = {FollowOn.SUCCESS: "success", FollowOn.FAILURE: "failure", FollowOn.ALWAYS: "run"}
_USUAL = Policy()
_MOST_NAMED = 5
_MOST_REFUSED = 100
_Item = TypeVar("_Item")


def print_preview(plan: ImportPlan, names: Mapping[str, str], *, paused: bool, is_refused: bool) -> None:
    """Print what a plan creates, changes, removes and skips; `names` are those of existing jobs, by id.

    A plan that is refused anyway is shortened.
    """
    names = {**names, **{job_id: name for name, job_id in plan.new_ids.items()}}
    reviewer = Reviewer(names.values())
    how = ", paused until you resume them" if paused else ""
    most = _MOST_REFUSED if is_refused else None
    _section(f"New{how}:", plan.created, lambda one: _created(one, names, reviewer), most)
    _section("Changed:", plan.changed, lambda one: _changed(one, reviewer), most)
    _section("Removed (to the trash):", plan.removed, lambda one: [f"{_GONE} {_line(one.name)}"], most)
    _section("Settings:", plan.settings, _setting, most)
    _section("Quiet hours:", plan.quiet_times, lambda one: [_quiet_time(one)], most)
    _section("Group limits:", plan.group_limits, lambda one: [_limit(one)], most)
    _section("Skipped:", plan.left_out, lambda one: [f"{_LEFT} {_line(str(one))}"], most)
    _section("Errors:", plan.faults, lambda one: [f"{_BAD} {_line(str(one))}"])
    if plan.unchanged:
        click.echo(f"Unchanged: {counted(len(plan.unchanged), 'job')}{_some(plan.unchanged)}")
    for name, found in plan.found_alike.items():
        click.echo(f"  {_line(name)} is your job {_line(found)}: same schedule and command")


def print_new_runs(new: NewRuns) -> None:
    """Print how many runs an archive adds to the history."""
    if new.count:
        span = " – ".join(f"{local_time(at):%Y-%m-%d}" for at in (new.first_at, new.last_at))
        click.echo(f"{click.style('History:', bold=True)}\n  {_NEW} {counted(new.count, 'run')} ({span})")


def _setting(change: SettingChange) -> list[str]:
    if change.name == "agents":
        return [f"{_OTHER} agents", *_agent_changes(change.before, change.after)]
    return [f"{_OTHER} {change.name}: {_setting_value(change.before)} → {_setting_value(change.after)}"]


def _setting_value(value: object) -> str:
    return (
        "none"
        if value is None
        else _line(str(value))
        if not isinstance(value, bool)
        else ("off", "on")[value]
    )


def _agent_changes(before: Sequence[Agent], after: Sequence[Agent]) -> Iterator[str]:
    old, new = ({agent.name: shlex.join(agent.argv) for agent in agents} for agents in (before, after))
    for name in {**old, **new}:
        if old.get(name) == new.get(name):
            continue
        sign = _NEW if name not in old else _GONE if name not in new else _OTHER
        yield f"{sign} {_line(name)}: {_line(new.get(name, old.get(name, '')))}"


def _some(names: Sequence[str]) -> str:
    """Return the names in parentheses, if they are few."""
    return f" ({', '.join(map(_line, names))})" if len(names) <= _MOST_NAMED else ""


def _section(
    heading: str, items: Sequence[_Item], lines_of: Callable[[_Item], Sequence[str]], most: int | None = None
) -> None:
    if not items:
        return
    shown = [click.style(heading, bold=True)]
    for item in items[:most]:
        first, *others = lines_of(item)
        shown += [f"  {first}", *(f"      {line}" for line in others)]
    if most is not None and len(items) > most:
        shown.append(f"  … and {len(items) - most} more")
    click.echo("\n".join(shown))


def _created(creation: Creation, names: Mapping[str, str], reviewer: Reviewer) -> list[str]:
    spec = creation.spec
    state = creation.draft.state or MovedState()
    off = "" if spec.enabled and state.disabled is None else " (disabled)"
    off += " (paused on the other computer)" if state.paused else ""
    lines = [f"{_NEW} {click.style(_line(spec.name), bold=True)}{off}"]
    for label, text in _details(spec, names):
        if text:
            lines.append(f"{click.style(f'{label:<8}', dim=True)} {_line(text)}")
    return lines + _notes([*creation.draft.notes, *reviewer.notes(spec)])


def _details(spec: JobSpec, names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield everything that decides what a job does, so that users see it before they import it."""
    yield "when", describe(spec.schedule)
    yield "does", action_words(spec.action)
    yield from more_words(spec.action)
    yield "work", work_words(spec.action)
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


def _cap_words(caps: Caps) -> str:
    parts = [
        *([] if caps.runs_per_day is None else [f"{counted(caps.runs_per_day, 'run')} a day"]),
        *([] if caps.cost_per_day is None else [f"cost {amount_words(caps.cost_per_day)} a day"]),
    ]
    return " · ".join(parts)


def _changed(alteration: Alteration, reviewer: Reviewer) -> list[str]:
    lines = [f"{_OTHER} {click.style(_line(alteration.before.name), bold=True)}"]
    for change in alteration.changes:
        lines += _change(change)
    return lines + _notes([*alteration.draft.notes, *reviewer.notes(alteration.after)])


def _notes(notes: Iterable[str]) -> list[str]:
    return [f"{_NOTE} {_line(note)}" for note in notes]


def _change(change: FieldChange) -> list[str]:
    head = f"{click.style(_line(change.path), dim=True)}:"
    if _is_long(change.before) or _is_long(change.after):
        return [head, *_line_changes(change.before or "", change.after or "")]
    return [f"{head} {_value(change.before)} → {_value(change.after)}"]


def _line_changes(before: object, after: object) -> Iterator[str]:
    """Yield a diff of two multi-line texts."""
    old, new = (shown_spec(str(text)).splitlines() for text in (before, after))
    for line in list(difflib.unified_diff(old, new, lineterm="", n=1))[2:]:
        colour = {"+": "green", "-": "red"}.get(line[:1])
        yield click.style(f"  {line}", fg=colour)


def _is_long(value: object) -> bool:
    return isinstance(value, str) and "\n" in value


def _value(value: object) -> str:
    if value is None:
        return "(default)"
    return _line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _quiet_time(change: QuietTimeChange) -> str:
    before, after = change.before, change.after
    if before is None:
        return f"{_NEW} {_quiet_words(after)}"
    if after is None:
        return f"{_GONE} {_quiet_words(before)}"
    return f"{_OTHER} {_quiet_words(before)} → {_quiet_words(after)}"


def _quiet_words(quiet_time: QuietTime | None) -> str:
    if quiet_time is None:
        return ""
    days = "every day" if quiet_time.days == QuietTime().days else ", ".join(quiet_time.days)
    zone = f" ({quiet_time.timezone})" if quiet_time.timezone else ""
    whom = f" for group {quiet_time.group}" if quiet_time.group else ""
    name = f"{quiet_time.name}: " if quiet_time.name else ""
    return _line(f"{name}{days}, {quiet_time.start}–{quiet_time.end}{zone}{whom}")


def _limit(change: LimitChange) -> str:
    return f"{_OTHER} {_line(change.group)}: {_most(change.before)} → {_most(change.after)}"


def _most(limit: int | None) -> str:
    return "no limit" if limit is None else f"{limit} at once"


def _line(text: str) -> str:
    return whole_line(text)
