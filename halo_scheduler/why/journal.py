"""Facts from the journal: times without an engine, and the actions of assistants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from halo_scheduler.grammar.english import assistant_words, listed
from halo_scheduler.host.process import is_alive
from halo_scheduler.model import StatusReason
from halo_scheduler.store.events import Event, EventKind
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.store import Store
from halo_scheduler.wording.measures import duration_in_words, moment_in_words, when_in_words

# After the clock was set back, the journal is out of order: the first entry may be wrong.
_LOOKED_AT = 20
_GONE = "a deleted job"
_LOOKED_BACK = 20
_DONE = {
    EventKind.JOB_ADDED: "created it",
    EventKind.JOB_PAUSED: "paused it",
    EventKind.JOB_RESUMED: "resumed it",
    EventKind.NEXT_SKIPPED: "skipped its next run",
    EventKind.NEXT_KEPT: "cancelled the skip of its next run",
    EventKind.RUN_REQUESTED: "ran it",
}
_MADE = (EventKind.JOB_ADDED, EventKind.JOB_EDITED)


@dataclass(frozen=True, slots=True)
class EngineGap:
    """A time without an awake engine; open before the first engine and after the last."""

    began_at: int | None
    ended_at: int | None
    is_sleep: bool = False
    is_outage: bool = False

    def words(self, now_ms: int) -> str:
        """Return "Halo was not running from 22:00 to 07:30"."""
        if self.ended_at is None:
            began = "" if self.began_at is None else f" since {moment_in_words(self.began_at, now_ms)}"
            return f"Halo has not been running{began}"
        what = "the computer slept" if self.is_sleep else "Halo was not running"
        if self.is_outage:
            what = "the database could not be written"
        ended = moment_in_words(self.ended_at, now_ms)
        if self.began_at is None:
            return f"{what} until {ended}"
        return f"{what} from {moment_in_words(self.began_at, now_ms)} to {ended}"


def is_awake(store: Store, now_ms: int) -> bool:
    """Return whether an engine runs the jobs, in any process."""
    row = store.lease.read()
    return row is not None and row.is_held(now_ms) and is_alive(row.pid, row.process_start)


def gap_at(store: Store, at: int, now_ms: int) -> EngineGap | None:
    """Return the time without an engine that contains an instant."""
    for event in store.events.of_kinds(None, [EventKind.STORE_OUTAGE]):
        if event.detail["since"] <= at < event.at:
            return EngineGap(event.detail["since"], event.at, is_outage=True)
    for event in store.events.gaps_after(at, _LOOKED_AT):
        is_sleep = event.kind is EventKind.SLEEP_GAP
        began_at = event.detail.get("since" if is_sleep else "awake_until")
        if began_at is None or began_at < at:
            return EngineGap(began_at, event.at, is_sleep)
    if is_awake(store, now_ms):
        return None
    row = store.lease.read()
    if row is None:
        return EngineGap(None, None)
    return None if at <= row.awake_until else EngineGap(row.awake_until, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantAct:
    """One action of an assistant on a job."""

    at: int
    assistant: str
    kind: EventKind
    job_id: str
    job_name: str
    detail: Mapping[str, Any]

    def words(self, now_ms: int) -> str:
        """Return the action for a list: "changed its schedule and followers"."""
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
            return "removed all hints"
        every_ms, next_at = self.detail.get("interval_ms"), self.detail.get("next_at")
        if every_ms is not None:
            return f"suggested to run it every {duration_in_words(every_ms)}"
        return f"suggested to run it {when_in_words(next_at or 0, now_ms)}"


def by_words(event: Event) -> str:
    """Return " by the assistant “claude-code”" for an assistant's action, and "" for any other."""
    return "" if event.assistant is None else f" by {assistant_words(event.assistant)}"


def assistant_sentences(store: Store, record: JobRecord, now_ms: int) -> list[str]:
    """Return which assistant's change requires a review, if any."""
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
    """Return the actions of assistants, newest first."""
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
