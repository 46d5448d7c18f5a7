"""Chains of an import that would never end: all of them at once, however many there are."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from halo_scheduler.grammar.english import shortened
from halo_scheduler.rules.chains import circle_words


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
