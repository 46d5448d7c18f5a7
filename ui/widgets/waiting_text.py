"""What jobs that are due wait for, told in one line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from PySide6.QtCore import QCoreApplication

from halo_scheduler.model import Waiting
from halo_scheduler.wording.status import awaited_words, waiting_words
from ui.style.wording import one_line

MOST_NAMED = 2
_SHORT_NAME = 40
_SHORTER_NAME = 24


@dataclass(frozen=True, slots=True)
class WaitingJob:
    """A job that is due, and what it waits for."""

    name: str
    waiting: Waiting


@dataclass(frozen=True, slots=True)
class WaitingJobs:
    """How many jobs wait, who the first of them are, and whether all wait for the same."""

    first: tuple[WaitingJob, ...] = ()
    count: int = 0
    is_alike: bool = False

    @classmethod
    def of(cls, jobs: Sequence[WaitingJob]) -> Self:
        """Sum up jobs, the first of which are to be named."""
        kinds = {(job.waiting.kind, job.waiting.details) for job in jobs}
        return cls(tuple(jobs[:MOST_NAMED]), len(jobs), is_alike=len(kinds) == 1)


def tr(text: str) -> str:
    """Return a text in the user's language."""
    return QCoreApplication.translate("WaitingWords", text)


def waiting_line(jobs: WaitingJobs, now_ms: int, most_named: int = MOST_NAMED) -> str:
    """Return who waits for what: "2 waiting: backup (network), sync (AC power)"; nothing when nobody does."""
    if not jobs.count:
        return ""
    if not most_named:
        return tr("{count} waiting").format(count=jobs.count)
    words = one_line(waiting_words(jobs.first[0].waiting, now_ms), _SHORT_NAME)
    if jobs.count == 1:
        return f"{one_line(jobs.first[0].name, _SHORT_NAME)} {words}"
    if jobs.is_alike:
        return tr("{count} jobs {what}").format(count=jobs.count, what=words)
    named = [
        f"{one_line(one.name, _SHORTER_NAME)} ({_shortly(one, now_ms)})" for one in jobs.first[:most_named]
    ]
    more = ["…"] if jobs.count > len(named) else []
    return tr("{count} waiting: {named}").format(count=jobs.count, named=", ".join(named + more))


def _shortly(job: WaitingJob, now_ms: int) -> str:
    # The numbers of a limit are told where there is more room.
    return one_line(awaited_words(replace(job.waiting, capacity=None), now_ms), _SHORTER_NAME)
