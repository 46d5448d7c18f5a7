"""What keeps a job from starting by itself although it is due: a question nobody answered, a cap."""

from __future__ import annotations

from typing import NamedTuple

from halo_scheduler.grammar.english import counted
from halo_scheduler.grammar.text import plain_line
from halo_scheduler.model import Caps, Once, SkipReason
from halo_scheduler.schedule.days import local_day
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.store import Store
from halo_scheduler.store.usage import Spent

_LONGEST_QUESTION = 200
_NEVER_AGAIN = "; as it had one time only, run it by hand or give it a new time"


class Hold(NamedTuple):
    """Why a slot is skipped, and the sentence for it."""

    reason: SkipReason
    sentence: str


class Holds:
    """Knows who is held back during one tick; jobs without questions and caps cost nothing."""

    def __init__(self, store: Store, now_ms: int) -> None:
        self._store = store
        self._now_ms = now_ms
        self._asked = store.questions.asked_by_jobs()
        self._day = ""

    def find(self, record: JobRecord, *, is_slot: bool = True) -> Hold | None:
        """Return what holds back a due job, if something does; the user can do more about a question.

        A run of a chain is no slot: the one time of its job is still to come, or past.
        """
        end = never_again(record) if is_slot else ""
        question = self._asked.get(record.id)
        if question is not None:
            words = plain_line(question, _LONGEST_QUESTION)
            return Hold(SkipReason.NEEDS_INPUT, f"it waits for your answer to: {words}{end}")
        caps = record.spec.policy.caps
        if caps.runs_per_day is None and caps.cost_per_day is None:
            return None
        self._day = self._day or local_day(self._now_ms)
        sentence = _why_capped(caps, self._store.usage.of(record.id, self._day))
        end = end or "; it may run again after midnight"
        return Hold(SkipReason.CAP, f"{sentence}{end}") if sentence else None

    def note(self, record: JobRecord, hold: Hold) -> None:
        """Write into the journal, once a day, that a cap holds back a job."""
        if hold.reason is not SkipReason.CAP:
            return
        last = self._store.events.last(record.id, EventKind.JOB_CAPPED)
        if last is None or last.detail.get("day") != self._day:
            self._store.events.append(
                self._now_ms, EventKind.JOB_CAPPED, record.id, day=self._day, sentence=hold.sentence
            )


def never_again(record: JobRecord) -> str:
    """Return what is to be added to a sentence on a skipped slot, when it was the job's only one."""
    return _NEVER_AGAIN if isinstance(record.spec.schedule, Once) else ""


def _why_capped(caps: Caps, spent: Spent) -> str:
    """Return a sentence on the cap that is used up, if one is."""
    if caps.runs_per_day is not None and spent.runs >= caps.runs_per_day:
        allowed = (
            "as many as its cap allows"
            if spent.runs == caps.runs_per_day
            else f"and its cap allows {caps.runs_per_day}"
        )
        return f"{counted(spent.runs, 'run')} today, {allowed}"
    if caps.cost_per_day is not None and spent.cost >= caps.cost_per_day:
        return f"its runs cost {_amount(spent.cost)} today, and its cap allows {_amount(caps.cost_per_day)}"
    return ""


def _amount(cost: float) -> str:
    """Return an amount with two decimals, or with as many as it has."""
    exact = f"{cost:.6f}".rstrip("0")
    return exact if len(exact) > len(f"{cost:.2f}") else f"{cost:.2f}"
