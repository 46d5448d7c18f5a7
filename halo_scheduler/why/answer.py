"""What an answer to "why" is made of."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from halo_scheduler.model import Outcome
from halo_scheduler.model.codec import Value


class Verdict(StrEnum):
    """The answer in one word."""

    # Of an instant that is past.
    RAN = "ran"
    LATE = "late"
    SKIPPED = "skipped"
    MISSED = "missed"
    NOT_RUNNING = "not_running"
    """No engine was awake."""
    PASSED_OVER = "passed_over"
    """A later run counted that time, or will."""
    EDITED = "edited"
    """The job was another one then."""
    NOT_A_POINT = "not_a_point"
    BEFORE_IT_EXISTED = "before_it_existed"
    REMOVED = "removed"
    UNKNOWN = "unknown"
    # Also of now, and of an instant that lies ahead.
    WAITING = "waiting"
    PAUSED = "paused"
    DISABLED = "disabled"
    RUNNING = "running"
    PLANNED = "planned"
    EXPECTED = "expected"
    """A time of the schedule beyond the next run."""
    NOT_PLANNED = "not_planned"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Value):
    """Why a job runs next when it does, or what became or becomes of it at an instant.

    `run_id` is the run that the answer speaks of, if there is one, and `outcome` how it went if it was asked about;
    `point_before` and `point_after` are the times of
    the schedule next to an instant that is none.
    """

    job_id: str
    name: str
    verdict: Verdict
    sentences: tuple[str, ...]
    at: int | None = None
    run_id: str | None = None
    outcome: Outcome | None = None
    next_run_at: int | None = None
    point_before: int | None = None
    point_after: int | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """The instants that are asked about: from one up to another, which does not belong to them."""

    since: int
    until: int

    def has(self, at: int | None) -> bool:
        return at is not None and self.since <= at < self.until
