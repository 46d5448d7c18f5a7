"""Recognizes jobs that start themselves, or one another in a loop, by the files that their runs write."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halo_scheduler.triggers.watching import Key

# How often a loop may start a job, for instance by moving a file from step to step, before it is slowed down.
_FREE_ROUNDS = 10
_FIRST_DELAY_MS, _LONGEST_DELAY_MS, _MOST_DOUBLINGS = 10_000, 600_000, 6
_MOST_WRITERS = 20


class Loops:
    """Counts, for each event, how many consecutive reports were only about files written during runs of a job.

    In a loop, each job starts again between two reports of another one; the counts of all of them grow.
    """

    def __init__(self, was_running: Callable[[str, Sequence[int]], bool]) -> None:
        """`was_running` returns whether a run of a job was active at each of some instants."""
        self._was_running = was_running
        self._counts: dict[Key, dict[str, int]] = {}
        self._reported: dict[str, int] = {}
        """The jobs that were started, most recent last, each with a number that grows."""
        self._number = 0

    def keep_only(self, keys: Collection[Key]) -> None:
        """Forget the other events."""
        self._counts = {key: counts for key, counts in self._counts.items() if key in keys}
        jobs = {key[0] for key in keys}
        self._reported = {job: number for job, number in self._reported.items() if job in jobs}

    def writers(self, key: Key, written_at: Sequence[int]) -> list[str]:
        """Return the jobs whose runs may have written the files of a report: those active at all these instants."""
        own = key[0]
        since = self._reported.get(own, 0)
        others = (job for job, number in reversed(self._reported.items()) if number > since)
        return [job for job in (own, *islice(others, _MOST_WRITERS)) if self._was_running(job, written_at)]

    def delay_ms(self, key: Key, writers: Sequence[str]) -> int:
        """Return how long to delay a report of files that these jobs wrote."""
        counts = self._counts.get(key, {})
        rounds = max((counts.get(job, 0) for job in writers if self._leads_to(key[0], job)), default=0)
        if rounds < _FREE_ROUNDS:
            return 0
        return min(_FIRST_DELAY_MS << min(rounds - _FREE_ROUNDS, _MOST_DOUBLINGS), _LONGEST_DELAY_MS)

    def note_report(self, key: Key, writers: Sequence[str]) -> None:
        """Count a report of files that these jobs may have written; none resets the counts."""
        counts = self._counts.get(key, {})
        self._counts[key] = {job: counts.get(job, 0) + 1 for job in writers}
        self._number += 1
        self._reported.pop(key[0], None)
        self._reported[key[0]] = self._number

    def _leads_to(self, start: str, end: str) -> bool:
        """Return whether a job has repeatedly started another one, directly or through others."""
        found, pending = {start}, [start]
        while pending and end not in found:
            job = pending.pop()
            fed = {key[0] for key, counts in self._counts.items() if counts.get(job, 0) >= _FREE_ROUNDS - 1}
            pending += fed - found
            found |= fed
        return end in found
