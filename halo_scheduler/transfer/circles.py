"""Chains of an import that would never end: all of them at once, however many there are."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from halo_scheduler.model import JobSpec


def find_circles(
    specs: Mapping[str, JobSpec], given: Collection[str]
) -> Iterator[tuple[list[str], list[str]]]:
    """Yield circles, the first id also last, and which of the given jobs are part of it and of none before.

    Without these jobs no circle is left but such as go through others that are not given: look again. Only what can
    be reached from the given ones is looked at.
    """
    found: set[str] = set()
    for circle in _circles(specs, given, found):
        members = [job_id for job_id in circle[:-1] if job_id in given and job_id not in found]
        found.update(members)
        yield circle, members


def _circles(
    specs: Mapping[str, JobSpec], given: Collection[str], found: Collection[str]
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
            elif job_id not in done and job_id in specs:
                places[job_id] = len(path)
                path.append(job_id)
                stack.append((job_id, True))
                stack += [(follower.job_id, False) for follower in reversed(specs[job_id].followers)]
