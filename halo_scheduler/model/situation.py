"""A job's situation: what it is doing, what it waits for, when it runs next, and what blocks it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from halo_scheduler.grammar.interval import MINUTE_MS
from halo_scheduler.model.codec import Value
from halo_scheduler.model.messages import Message, MessageKind, message
from halo_scheduler.model.words import (
    ERRORS,
    JobStatus,
    Outcome,
    SkipReason,
    Source,
    StatusReason,
    WaitingFor,
)

if TYPE_CHECKING:
    from halo_scheduler.model.conditions import Condition
    from halo_scheduler.model.schedules import Schedule
    from halo_scheduler.model.settings import Quiet

LATE_MS = MINUTE_MS
"""A run that has not started this long after its planned time is late; up to then it is about to start."""


def is_late(late_ms: int) -> bool:
    """Return whether a run that starts this long after its planned time is late."""
    return late_ms > LATE_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingDetails(Value):
    """The parameters of what a due run waits for; its kind determines which are set."""

    conditions: tuple[Condition, ...] = ()
    """The conditions that are not met."""
    is_unobservable: bool = False
    """Whether these conditions cannot be observed at the moment."""
    name: str = ""
    """The name of the quiet time, of the job whose output is still being stored, or of the `Shortage`."""
    until: int | None = None
    """When the quiet hours end."""


NO_DETAILS = WaitingDetails()


class Capacity(NamedTuple):
    """A concurrency limit that is reached, of a group or of all jobs, and the jobs whose runs count."""

    limit: int
    running: int
    group: str | None = None
    holders: tuple[str, ...] = ()


class Waiting(NamedTuple):
    """What a due run waits for, since when, and when it is skipped if it still waits.

    `cause_name` is the job whose end started the run, if one did; `is_manual` means that a person or an assistant did.
    """

    kind: WaitingFor
    details: WaitingDetails = NO_DETAILS
    since: int | None = None
    deadline: int | None = None
    capacity: Capacity | None = None
    cause_name: str = ""
    is_manual: bool = False

    @property
    def may_pass_group(self) -> bool:
        """Whether it is a manual run that waits for the limit of its group, which it may ignore."""
        return self.is_manual and self.capacity is not None and self.capacity.group is not None


def waited_message(kind: WaitingFor, details: WaitingDetails) -> Message:
    """Return what a run waited for before it started."""
    return message(MessageKind.WAITED, waiting_for=kind, details=details.to_dict())


class _Waits(Protocol):
    """Something whose due run may wait: a job, or its stored record."""

    @property
    def waiting_for(self) -> WaitingFor | None: ...
    @property
    def waiting_details(self) -> WaitingDetails: ...
    @property
    def next_run_at(self) -> int | None: ...


def waiting_of(job: _Waits) -> Waiting | None:
    """Return what a job's due run waits for."""
    if job.waiting_for is None:
        return None
    return Waiting(kind=job.waiting_for, details=job.waiting_details, since=job.next_run_at)


def asked_waiting(
    kind: WaitingFor | None,
    details: WaitingDetails,
    *,
    since: int | None,
    deadline: int | None,
    capacity: Capacity | None,
    cause_name: str,
) -> Waiting:
    """Return what a requested manual or chain run waits for; the engine may not have considered it yet."""
    if kind is None:
        kind = WaitingFor.START if capacity is None else WaitingFor.AT_CAPACITY
    return Waiting(
        kind=kind,
        details=details,
        since=since,
        deadline=deadline,
        capacity=capacity,
        cause_name=cause_name,
        is_manual=not cause_name,
    )


class SituationKind(StrEnum):
    """What a job is doing; every surface derives its words and marks from it."""

    RUNNING = "running"
    NEEDS_INPUT = "needs_input"
    WAITING = "waiting"
    DONE = "done"
    DISABLED = "disabled"
    PAUSED = "paused"
    CAPPED = "capped"
    RETRYING = "retrying"
    TROUBLED = "troubled"
    """There is trouble with watching one of its events."""
    FAILING = "failing"
    READY = "ready"


@dataclass(frozen=True, slots=True)
class StartCheck:
    """Whether a job would start on its schedule now; if not, `skip_reason` says why."""

    would_start: bool
    skip_reason: SkipReason | None = None


_BY_STATUS = {
    JobStatus.RUNNING: SkipReason.ALREADY_RUNNING,
    JobStatus.DISABLED: SkipReason.DISABLED,
    JobStatus.PAUSED: SkipReason.PAUSED,
}
_BY_WAITING = {
    WaitingFor.AT_CAPACITY: SkipReason.AT_CAPACITY,
    WaitingFor.CONDITION: SkipReason.CONDITION,
    WaitingFor.QUIET_TIME: SkipReason.QUIET_TIME,
}
_REVIEWED = (StatusReason.IMPORTED, StatusReason.ASSISTANT)


class Situation(NamedTuple):
    """What a job is doing now, computed from one read of the store."""

    job_id: str
    name: str
    status: JobStatus = JobStatus.IDLE
    reason: StatusReason | None = None
    """Why it is paused or disabled."""
    paused_until: int | None = None
    question: str | None = None
    """The oldest open question."""
    waiting: Waiting | None = None
    blocker: SkipReason | None = None
    """Why its planned run is going to be skipped: a request, an open question, a daily limit, quiet hours."""
    quiet: Quiet | None = None
    """The quiet time that its planned run falls into."""
    next_run_at: int | None = None
    next_source: Source | None = None
    then_at: int | None = None
    """The run after its planned run, if that one is skipped on request."""
    later_at: int | None = None
    """When its next planned manual run is."""
    after: tuple[str, ...] = ()
    """The names of the jobs whose ends start it."""
    events: tuple[Schedule, ...] = ()
    """The events that start it."""
    watch_trouble: str = ""
    """The trouble with watching one of these, as a clause."""
    errors: int = 0
    last_run_at: int | None = None
    last_outcome: Outcome | None = None
    resumed_since_run: bool = False

    @property
    def kind(self) -> SituationKind:
        """What the job is doing; the first kind that applies."""
        if self.status is JobStatus.RUNNING:
            # A claimed run may still wait until the computer can start it.
            return SituationKind.RUNNING if self.waiting is None else SituationKind.WAITING
        if self.question is not None:
            return SituationKind.NEEDS_INPUT
        if self.waiting is not None:
            # Also for a paused or disabled job, because this run was requested.
            return SituationKind.WAITING
        return self._resting if self.status is JobStatus.IDLE else self._stopped

    @property
    def _stopped(self) -> SituationKind:
        if self.status is JobStatus.PAUSED:
            return SituationKind.PAUSED
        return SituationKind.DONE if self.reason is StatusReason.DONE else SituationKind.DISABLED

    @property
    def _resting(self) -> SituationKind:
        if self.blocker is SkipReason.CAP:
            return SituationKind.CAPPED
        if self.next_source is Source.RETRY:
            # The failure counts only after the last attempt.
            return SituationKind.RETRYING
        if self.watch_trouble:
            return SituationKind.TROUBLED
        return SituationKind.FAILING if self.is_failing else SituationKind.READY

    @property
    def starts_at(self) -> int | None:
        """When it runs next, also manually, considering quiet hours and skipped runs; None if it doesn't."""
        planned_at = self.next_run_at if self.quiet is None else self.quiet.until
        if self.blocker is not None:
            planned_at = self.then_at
        return min((at for at in (planned_at, self.later_at) if at is not None), default=None)

    @property
    def is_later_next(self) -> bool:
        """Whether its next run is a planned manual run."""
        return self.later_at is not None and self.later_at == self.starts_at

    @property
    def is_held(self) -> bool:
        """Whether its planned run will be skipped because of an open question or a daily limit."""
        return self.blocker in (SkipReason.NEEDS_INPUT, SkipReason.CAP)

    @property
    def needs_review(self) -> bool:
        """Whether a person has to review the job before it may run: it was imported, or an assistant wrote it."""
        return self.status is not JobStatus.RUNNING and self.reason in _REVIEWED

    @property
    def is_failing(self) -> bool:
        """Whether it failed since it was last resumed, manual runs included, or was disabled after failures."""
        has_failed = self.last_outcome in ERRORS and not self.resumed_since_run
        return self.errors > 0 or has_failed or self.reason is StatusReason.ERRORS

    def is_late(self, now_ms: int) -> bool:
        """Return whether its planned run should have started and no known reason delays it."""
        is_waiting = self.waiting is not None or self.next_run_at is None
        return not is_waiting and is_late(now_ms - (self.next_run_at or now_ms))

    def skip_reason(self, now_ms: int) -> SkipReason | None:
        """Return why the job would not start on its schedule now; None if no known reason does."""
        if self.status in _BY_STATUS:
            return _BY_STATUS[self.status]
        if self.next_run_at is None or self.next_run_at > now_ms:
            return SkipReason.NOT_DUE
        if self.blocker is not None:
            return self.blocker
        if self.quiet is not None:
            return SkipReason.QUIET_TIME
        return None if self.waiting is None else _BY_WAITING.get(self.waiting.kind)
