"""What a schedule will do: its words, its next runs and what a friend would say about it."""

from __future__ import annotations

from dataclasses import dataclass

from halo_scheduler.model import After, Schedule
from halo_scheduler.schedule.describe import describe
from halo_scheduler.schedule.lint import Note, lint
from halo_scheduler.schedule.next_run import next_run

_SHOWN_RUNS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """A look ahead from an instant; only the first run of an `after` can be known."""

    now_ms: int
    words: str
    runs: tuple[int, ...]
    notes: tuple[Note, ...]
    is_after: bool = False


def look_ahead(schedule: Schedule, now_ms: int, *, anchor_at: int, time_limit_ms: int | None) -> Preview:
    """Return what a schedule will do from now on."""
    runs: list[int] = []
    at = next_run(schedule, now_ms, anchor_at=anchor_at)
    while at is not None and len(runs) < _SHOWN_RUNS:
        runs.append(at)
        if isinstance(schedule, After):
            break
        at = next_run(schedule, at, anchor_at=anchor_at)
    return Preview(
        now_ms=now_ms,
        words=describe(schedule),
        runs=tuple(runs),
        notes=tuple(lint(schedule, now_ms, anchor_at=anchor_at, time_limit_ms=time_limit_ms)),
        is_after=isinstance(schedule, After),
    )
