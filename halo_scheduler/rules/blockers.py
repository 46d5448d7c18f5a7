"""Blockers that skip a slot: a request to skip it, an open question, or a reached daily limit."""

from __future__ import annotations

from typing import NamedTuple

from halo_scheduler.grammar.text import plain_line
from halo_scheduler.model import Caps, Once, SkipReason
from halo_scheduler.model.messages import Message, MessageKind, message
from halo_scheduler.schedule.calendar import local_day
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.runs import Spent
from halo_scheduler.store.store import Store

_LONGEST_QUESTION = 200


class Hold(NamedTuple):
    """Why a slot is skipped, with the message about it."""

    reason: SkipReason
    message: Message

    def for_slot(self, record: JobRecord) -> Hold:
        """Return the hold for a slot of the job's schedule; a `once` has no next slot."""
        is_only_time = isinstance(record.spec.schedule, Once)
        return Hold(self.reason, self.message.adding(is_only_time=True)) if is_only_time else self


class Holds:
    """Finds the holds of one tick; jobs without questions and daily limits cost nothing."""

    def __init__(self, store: Store, now_ms: int) -> None:
        self._store = store
        self._now_ms = now_ms
        self._asked = store.questions.asked_by_jobs()
        self._day = ""

    def find(self, record: JobRecord, *, is_slot: bool = True) -> Hold | None:
        """Return the blocker of a due job: a request to skip it, an open question or a daily limit; or None.

        A chain run has no slot, so it does not use up a `once`.
        """
        hold = self._find_skip(record) if is_slot and record.skips_next else self._find(record)
        return hold.for_slot(record) if hold is not None and is_slot else hold

    def _find_skip(self, record: JobRecord) -> Hold:
        asked = self._store.events.last(record.id, EventKind.NEXT_SKIPPED)
        assistant = None if asked is None else asked.assistant
        return Hold(SkipReason.USER, message(MessageKind.SKIPPED_ON_REQUEST, assistant=assistant))

    def _find(self, record: JobRecord) -> Hold | None:
        question = self._asked.get(record.id)
        if question is not None:
            words = plain_line(question, _LONGEST_QUESTION)
            return Hold(SkipReason.NEEDS_INPUT, message(MessageKind.QUESTION_OPEN, question=words))
        caps = record.spec.policy.caps
        if caps.runs_per_day is None and caps.cost_per_day is None:
            return None
        self._day = self._day or local_day(self._now_ms)
        why = _why_capped(caps, self._store.usage.of(record.id, self._day))
        return None if why is None else Hold(SkipReason.CAP, why)

    def note(self, record: JobRecord, hold: Hold) -> None:
        """Record in the journal, once a day, that a daily limit holds a job back."""
        if hold.reason is not SkipReason.CAP:
            return
        last = self._store.events.last(record.id, EventKind.JOB_CAPPED)
        if last is None or last.detail.get("day") != self._day:
            self._store.events.append(
                self._now_ms, EventKind.JOB_CAPPED, record.id, day=self._day, message=hold.message.to_dict()
            )


def _why_capped(caps: Caps, spent: Spent) -> Message | None:
    """Return which daily limit is reached; None if none is."""
    if caps.runs_per_day is not None and spent.runs >= caps.runs_per_day:
        return message(MessageKind.RUN_LIMIT, runs=spent.runs, limit=caps.runs_per_day)
    if caps.cost_per_day is not None and spent.cost >= caps.cost_per_day:
        return message(MessageKind.COST_LIMIT, cost=spent.cost, limit=caps.cost_per_day)
    return None
