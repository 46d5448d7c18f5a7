"""The differences an import would make: field by field in jobs, in settings, quiet hours and group limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from halo_scheduler.model import JobSpec, Once
from halo_scheduler.model.settings import PRESETS, Agent, QuietTime, Settings


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field before and after, as plain data; None is the default value."""

    path: str
    before: Any
    after: Any


def changes_between(
    before: Mapping[str, Any], after: Mapping[str, Any], path: str = ""
) -> Iterator[FieldChange]:
    """Yield the differences in field order."""
    for key in {**before, **after}:
        old, new = before.get(key), after.get(key)
        if old == new:
            continue
        inner = f"{path}.{key}" if path else key
        if isinstance(old, dict) and isinstance(new, dict) and _are_alike(old, new):
            yield from changes_between(old, new, inner)
        else:
            yield FieldChange(inner, old, new)


def _are_alike(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Return whether two objects have the same kind; a schedule's first field names it."""
    kinds = {"every", "after", "cron", "once"}
    return old.get("kind") == new.get("kind") and kinds & old.keys() == kinds & new.keys()


def is_same_once(before: JobSpec, after: JobSpec) -> bool:
    """Return whether both run once, at the same instant."""
    one, other = before.schedule, after.schedule
    return isinstance(one, Once) and isinstance(other, Once) and one.due_at == other.due_at


@dataclass(frozen=True, slots=True, kw_only=True)
class QuietTimeChange:
    """Quiet hours before and after; None means there are none."""

    before: QuietTime | None
    after: QuietTime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitChange:
    """A group's concurrency limit before and after; None means no limit."""

    group: str
    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingChange:
    """A setting before and after."""

    name: str
    before: Any
    after: Any


def setting_changes(before: Settings, wanted: Mapping[str, Any]) -> tuple[SettingChange, ...]:
    """Return the settings that will change; agents that only this computer has are kept."""
    after = dict(wanted)
    if "agents" in after:
        after["agents"] = _with_own_agents(before.agents, after["agents"])
    return tuple(
        SettingChange(name=name, before=getattr(before, name), after=value)
        for name, value in after.items()
        if getattr(before, name) != value
    )


def changed_settings(before: Settings, changes: Sequence[SettingChange]) -> Settings:
    """Return the settings after the changes."""
    return replace(before, **{change.name: change.after for change in changes}) if changes else before


def _with_own_agents(before: Sequence[Agent], wanted: Sequence[Agent]) -> tuple[Agent, ...]:
    names = {agent.name for agent in wanted}
    return (*wanted, *(agent for agent in before if agent.name not in names and agent not in PRESETS))


def quiet_time_changes(
    before: Sequence[QuietTime], wanted: Sequence[QuietTime] | None, *, prune: bool = False
) -> tuple[QuietTimeChange, ...]:
    """Return new quiet hours and replaced ones (same name and group). Others are removed only when pruning."""
    if wanted is None:
        return ()
    left = list(before)
    changes = []
    for quiet_time in dict.fromkeys(wanted):
        old = next((one for one in left if one == quiet_time), None)
        old = old or next((one for one in left if _is_the_same(one, quiet_time)), None)
        if old is not None:
            left.remove(old)
        if old != quiet_time:
            changes.append(QuietTimeChange(before=old, after=quiet_time))
    changes += [QuietTimeChange(before=one, after=None) for one in left if prune]
    return tuple(changes)


def changed_quiet_times(
    before: Sequence[QuietTime], changes: Sequence[QuietTimeChange]
) -> tuple[QuietTime, ...]:
    """Return the quiet hours after the changes, new ones last."""
    found: list[QuietTime | None] = list(before)
    for change in changes:
        if change.before is None:
            found.append(change.after)
        else:
            found[found.index(change.before)] = change.after
    return tuple(quiet_time for quiet_time in found if quiet_time is not None)


def limit_changes(
    before: Mapping[str, int], wanted: Mapping[str, int | None], *, prune: bool = False
) -> tuple[LimitChange, ...]:
    """Return the groups whose limit changes; groups that are not named keep theirs unless pruned.

    Files without any groups change none.
    """
    named = {**dict.fromkeys(before, None), **wanted} if prune and wanted else wanted
    return tuple(
        LimitChange(group=group, before=before.get(group), after=most)
        for group, most in named.items()
        if before.get(group) != most
    )


def _is_the_same(one: QuietTime, other: QuietTime) -> bool:
    """Return whether quiet hours replace others: both need the same name."""
    return bool(one.name) and (one.name, one.group) == (other.name, other.group)
