"""Runs and their questions."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from halo_scheduler.model.codec import Value
from halo_scheduler.model.messages import Message, Messages
from halo_scheduler.model.plans import Proposal
from halo_scheduler.model.situation import is_late
from halo_scheduler.model.words import Outcome, SkipReason, Source, Trigger


@dataclass(frozen=True, slots=True, kw_only=True)
class Run(Value):
    """One attempt to run a job, or the record of one that did not happen. Only scheduled runs have a slot.

    `caused_by` is the run of another job whose end started this one. `event_id` is the event
    that started it. `schedule_keys` name those of several
    schedules that it comes from. It got `parameters` and an input of `input_bytes`. `message` is the
    reason for its outcome, `notes` are further findings; `error` and `note` are their texts, as the store reads them.
    `clock_step_ms` is the difference between wall clock and elapsed time from start to finish, because the clock was
    set or the computer slept.
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
    message: Message | None = None
    started_at: int | None = None
    finished_at: int | None = None
    clock_step_ms: int = 0
    late_ms: int = 0
    passed_over: int = 0
    passed_reason: str = ""
    exit_code: int | None = None
    http_status: int | None = None
    note: str = ""
    notes: Messages = ()
    progress: float | None = None
    progress_text: str = ""
    cost: float | None = None
    work_id: str = ""
    work_title: str = ""
    work_url: str = ""
    caused_by: str | None = None
    event_id: str | None = None
    schedule_keys: tuple[str, ...] = ()
    parameters: Mapping[str, str] = field(default_factory=dict, hash=False)
    input_bytes: int = 0
    proposal: Proposal | None = None

    @property
    def duration_ms(self) -> int | None:
        if self.started_at is None or self.finished_at is None:
            return None
        return self.finished_at - self.started_at - self.clock_step_ms

    @property
    def is_late(self) -> bool:
        """Whether it started late for its slot; runs without a slot are never late."""
        return self.trigger is Trigger.SCHEDULE and self.started_at is not None and is_late(self.late_ms)


class QuestionState(StrEnum):
    """The state of a question."""

    OPEN = "open"
    ANSWERED = "answered"
    DISMISSED = "dismissed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question(Value):
    """A run's question to a person; while it is open, its job is on hold.

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


def new_run_id() -> str:
    """Return a new unique run id."""
    return os.urandom(16).hex()


def new_question_id() -> str:
    """Return a new unique question id."""
    return new_run_id()
