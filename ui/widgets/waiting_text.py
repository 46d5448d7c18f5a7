"""What jobs that are due wait for, told in one line."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication

MOST_NAMED = 2


@dataclass(frozen=True, slots=True)
class WaitingJob:
    """A job that is due, and what it waits for, both as they are shown."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class WaitingJobs:
    """How many jobs wait, who the first of them are, and whether all wait for the same."""

    first: tuple[WaitingJob, ...] = ()
    count: int = 0
    is_alike: bool = False


def tr(text: str) -> str:
    """Return a text in the user's language."""
    return QCoreApplication.translate("WaitingWords", text)


def waiting_line(waiting: WaitingJobs) -> str:
    """Return who waits for what: "2 waiting: backup for network, sync for mains power"; nothing when nobody does."""
    if not waiting.count:
        return ""
    first = waiting.first[0]
    if waiting.count == 1:
        return tr("{name} waits for {what}").format(name=first.name, what=first.reason)
    if waiting.is_alike:
        return tr("{count} jobs wait for {what}").format(count=waiting.count, what=first.reason)
    named = [
        tr("{name} for {what}").format(name=one.name, what=one.reason) for one in waiting.first[:MOST_NAMED]
    ]
    more = ["…"] if waiting.count > len(named) else []
    return tr("{count} waiting: {named}").format(count=waiting.count, named=", ".join(named + more))
