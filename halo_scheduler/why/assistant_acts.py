"""What assistants did, told from the journal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from halo_scheduler.grammar.english import assistant_words, listed
from halo_scheduler.model import StatusReason
from halo_scheduler.store.events import Event, EventKind
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.store import Store
from halo_scheduler.wording.plans import duration_in_words, moment_in_words, when_in_words

_GONE = "a job that is gone"
_LOOKED_BACK = 20
_DONE = {
    EventKind.JOB_ADDED: "created it",
    EventKind.JOB_PAUSED: "paused it",
    EventKind.JOB_RESUMED: "resumed it",
    EventKind.RUN_REQUESTED: "ran it",
}
_MADE = (EventKind.JOB_ADDED, EventKind.JOB_EDITED)


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantAct:
    """One thing that an assistant did with a job."""

    at: int
    assistant: str
    kind: EventKind
    job_id: str
    job_name: str
    detail: Mapping[str, Any]

    def words(self, now_ms: int) -> str:
        """Return what was done, as a line of a list says it: "changed its schedule and followers"."""
        match self.kind:
            case EventKind.JOB_EDITED:
                return f"changed its {listed(self.changed_fields)}" if self.changed_fields else "saved it"
            case EventKind.JOB_PAUSED if self.detail.get("until") is not None:
                return f"paused it until {moment_in_words(self.detail['until'], now_ms)}"
            case EventKind.JOB_HINTED:
                return self._advice_words(now_ms)
            case _:
                return _DONE.get(self.kind, str(self.kind))

    @property
    def changed_fields(self) -> tuple[str, ...]:
        """The fields of the job that an edit changed."""
        before, after = self.detail.get("before", {}), self.detail.get("after", {})
        return tuple(name for name in after if before.get(name) != after[name])

    def _advice_words(self, now_ms: int) -> str:
        if self.detail.get("cleared"):
            return "withdrew all advice on when it runs"
        every_ms, next_at = self.detail.get("interval_ms"), self.detail.get("next_at")
        if every_ms is not None:
            return f"advised it to run every {duration_in_words(every_ms)}"
        return f"advised it to run {when_in_words(next_at or 0, now_ms)}"


def by_words(event: Event) -> str:
    """Return " by the assistant “claude-code”" for what an assistant did, and nothing for what anybody else did."""
    return "" if event.assistant is None else f" by {assistant_words(event.assistant)}"


def assistant_sentences(store: Store, record: JobRecord, now_ms: int) -> list[str]:
    """Return which assistant left a job as it is, if it waits for somebody because of that."""
    if not record.paused:
        return []
    is_review = record.paused_by is StatusReason.ASSISTANT
    last_pause = store.events.last(record.id, EventKind.JOB_PAUSED)
    if not is_review and (last_pause is None or last_pause.assistant is None):
        return []
    wanted = _MADE if is_review else (EventKind.JOB_PAUSED,)
    acts = assistant_acts(store, _LOOKED_BACK, record.id)
    act = next((act for act in acts if act.kind in wanted), None)
    if act is None:
        return []
    who = assistant_words(act.assistant)
    return [f"{who[:1].upper()}{who[1:]} {act.words(now_ms)} {when_in_words(act.at, now_ms)}."]


def assistant_acts(store: Store, limit: int, job_id: str | None = None) -> list[AssistantAct]:
    """Return what assistants did, the newest first."""
    events = store.events.of_assistants(limit, job_id=job_id)
    names = {
        record.id: record.spec.name
        for record in store.jobs.get_many({event.job_id for event in events if event.job_id}).values()
    }
    return [
        AssistantAct(
            at=event.at,
            assistant=event.assistant or "",
            kind=event.kind,
            job_id=event.job_id or "",
            job_name=names.get(event.job_id or "", _GONE),
            detail=event.detail,
        )
        for event in events
    ]
