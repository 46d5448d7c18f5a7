"""Runs: what became of each attempt to run a job, and what it left for a person to decide."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from halo_scheduler.model.codec import Value
from halo_scheduler.model.plans import Proposal
from halo_scheduler.model.situation import is_late
from halo_scheduler.model.words import Outcome, SkipReason, Source, Trigger


@dataclass(frozen=True, slots=True, kw_only=True)
class Run(Value):
    """One attempt to run a job; runs by hand, chain, answer and test have no slot.

    `caused_by` is the run whose end started this one, of another job.
    """

    id: str
    job_id: str
    trigger: Trigger
    source: Source
    slot_at: int | None = None
    attempt: int = 1
    outcome: Outcome = Outcome.RUNNING
    reason: SkipReason | None = None
    error: str = ""
    started_at: int | None = None
    finished_at: int | None = None
    late_ms: int = 0
    passed_over: int = 0
    passed_reason: str = ""
    exit_code: int | None = None
    http_status: int | None = None
    note: str = ""
    progress: float | None = None
    progress_text: str = ""
    cost: float | None = None
    work_id: str = ""
    work_title: str = ""
    work_url: str = ""
    caused_by: str | None = None
    proposal: Proposal | None = None

    @property
    def duration_ms(self) -> int | None:
        if self.started_at is None or self.finished_at is None:
            return None
        return self.finished_at - self.started_at

    @property
    def is_late(self) -> bool:
        """Whether it started late by its schedule; runs without a slot are never late."""
        return self.trigger is Trigger.SCHEDULE and self.started_at is not None and is_late(self.late_ms)


class QuestionState(StrEnum):
    """Whether a question still waits for somebody."""

    OPEN = "open"
    ANSWERED = "answered"
    DISMISSED = "dismissed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question(Value):
    """What a run left for a person to decide; while it is open, its job does not start by itself.

    `work_id` is the item the run worked on; `answer_run_id` the run that was given the answer.
    """

    id: str
    job_id: str
    run_id: str
    asked_at: int
    text: str
    state: QuestionState = QuestionState.OPEN
    answer: str = ""
    settled_at: int | None = None
    answer_run_id: str | None = None
    work_id: str = ""
