"""What taking in a file would change around the jobs: quiet times, the limits of groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from halo_scheduler.model.quiet_times import QuietTime


@dataclass(frozen=True, slots=True, kw_only=True)
class QuietTimeChange:
    """A quiet time as it was and as it will be; None where there is none."""

    before: QuietTime | None
    after: QuietTime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitChange:
    """How many jobs of a group might run at once, and how many may; None is no limit."""

    group: str
    before: int | None
    after: int | None


def quiet_time_changes(
    before: Sequence[QuietTime], wanted: Sequence[QuietTime] | None, *, prune: bool = False
) -> tuple[QuietTimeChange, ...]:
    """Return what is new, and what is another one of the same name and group; the others go only when pruned."""
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
    """Return the quiet times after some changes, the new ones last."""
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
    """Return the groups whose limit will be another one; those that are not named keep theirs unless pruned.

    Files that speak of no groups at all leave them to others.
    """
    named = {**dict.fromkeys(before, None), **wanted} if prune and wanted else wanted
    return tuple(
        LimitChange(group=group, before=before.get(group), after=most)
        for group, most in named.items()
        if before.get(group) != most
    )


def _is_the_same(one: QuietTime, other: QuietTime) -> bool:
    """Tell whether a quiet time is meant to take the place of another; without a name nobody knows."""
    return bool(one.name) and (one.name, one.group) == (other.name, other.group)
