"""Chains of an import that would never end: all of them at once, however many there are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from halo_scheduler.grammar.english import shortened
from halo_scheduler.model import JobSpec
from halo_scheduler.rules.chains import circle_words
from halo_scheduler.transfer.drafts import Draft


def find_meant(
    drafts: Sequence[Draft],
    jobs: Mapping[str, JobSpec],
    removed: Collection[str],
    new_id: Callable[[str], str],
) -> dict[str, Draft]:
    """Return the drafts by the ids of the jobs they mean: that of their id, else of their name, else a new one.

    Where the name was made up for it, a job that does the same at the same time comes before a new one: somebody
    gave it another name since. Ids from the trash, `removed`, are not used again.
    """
    by_id = {draft.job_id for draft in drafts if draft.job_id in jobs}
    by_name = {spec.name: job_id for job_id, spec in jobs.items() if job_id not in by_id}
    if any(draft.has_made_up_name and draft.spec.name not in by_name for draft in drafts):
        drafts = list(_renamed(drafts, jobs, by_name))

    def meant_id(draft: Draft) -> str:
        if draft.job_id is not None and draft.job_id in jobs:
            return draft.job_id
        if draft.spec.name in by_name:
            return by_name[draft.spec.name]
        if draft.job_id is not None and draft.job_id not in removed:
            return draft.job_id
        return new_id(draft.spec.name)

    return {meant_id(draft): draft for draft in drafts}


def _renamed(
    drafts: Sequence[Draft], jobs: Mapping[str, JobSpec], by_name: Mapping[str, str]
) -> Iterator[Draft]:
    """Yield the drafts with the names that their jobs have by now."""
    names = {draft.spec.name for draft in drafts}
    others: dict[object, list[str]] = defaultdict(list)
    for name in sorted(by_name.keys() - names, reverse=True):
        spec = jobs[by_name[name]]
        others[spec.schedule, spec.action].append(name)
    for draft in drafts:
        same = others.get((draft.spec.schedule, draft.spec.action))
        if draft.has_made_up_name and draft.spec.name not in by_name and same:
            yield replace(draft, spec=replace(draft.spec, name=same.pop()))
        else:
            yield draft


def circle_fault(names: Iterable[str]) -> str:
    """Return what is wrong with jobs that start each other, the first also last."""
    words = circle_words([shortened(name) for name in names])
    return f"{words}: these jobs would start each other for ever; take one out of the circle"


def find_circles(
    followers: Mapping[str, Sequence[str]], given: Collection[str]
) -> Iterator[tuple[list[str], list[str]]]:
    """Yield circles, the first id also last, and which of the given jobs are part of it and of none before.

    `followers` are the ids of those that run after each job. Without these jobs no circle is left but such as go
    through others that are not given: look again. Only what can be reached from the given ones is looked at.
    """
    found: set[str] = set()
    for circle in _circles(followers, given, found):
        members = [job_id for job_id in circle[:-1] if job_id in given and job_id not in found]
        found.update(members)
        yield circle, members


def _circles(
    followers: Mapping[str, Sequence[str]], given: Collection[str], found: Collection[str]
) -> Iterator[list[str]]:
    """Go down every chain once; what leads back to a job on the way closes a circle, unless it is open already."""
    done: set[str] = set()
    for start in given:
        path: list[str] = []
        places: dict[str, int] = {}
        # A stack of our own: a chain may be longer than Python's.
        stack: list[tuple[str, bool]] = [(start, False)]
        while stack:
            job_id, is_left = stack.pop()
            if is_left:
                del places[path.pop()]
                done.add(job_id)
            elif job_id in places:
                if job_id not in found and path[-1] not in found:
                    yield [*path[places[job_id] :], job_id]
            elif job_id not in done and job_id in followers:
                places[job_id] = len(path)
                path.append(job_id)
                stack.append((job_id, True))
                stack += [(follower_id, False) for follower_id in reversed(followers[job_id])]
