"""What jobs that are due wait for, told in one line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication

_MOST_NAMED = 2


@dataclass(frozen=True, slots=True)
class WaitingJob:
    """A job that is due, and what it waits for, both as they are shown."""

    name: str
    reason: str


def tr(text: str) -> str:
    """Return a text in the user's language."""
    return QCoreApplication.translate("WaitingWords", text)


def waiting_line(waiting: Sequence[WaitingJob]) -> str:
    """Return who waits for what: "2 waiting: backup for network, sync for mains power"; nothing when nobody does."""
    if not waiting:
        return ""
    reasons = {one.reason for one in waiting}
    if len(waiting) == 1:
        return tr("{name} waits for {what}").format(name=waiting[0].name, what=waiting[0].reason)
    if len(reasons) == 1:
        return tr("{count} jobs wait for {what}").format(count=len(waiting), what=reasons.pop())
    named = ", ".join(
        tr("{name} for {what}").format(name=one.name, what=one.reason) for one in waiting[:_MOST_NAMED]
    )
    more = ", …" if len(waiting) > _MOST_NAMED else ""
    return tr("{count} waiting: {named}").format(count=len(waiting), named=f"{named}{more}")
