"""Events: accepts each as a request for one run, always inside a transaction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from halo_scheduler.model import Entry, OnSession, Outcome, Run, SkipReason, Source, Trigger
from halo_scheduler.model.jobs import MOST_INPUT_BYTES, still_declared
from halo_scheduler.model.messages import MessageKind, message
from halo_scheduler.model.runs import new_run_id
from halo_scheduler.model.schedules import Overlap
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.requests import Request, RequestKind
from halo_scheduler.store.store import Store

MOST_WAITING = 100
"""The most events of one schedule that may wait; later ones are folded into the last one, or refused."""
_NO_ROOM = b"# and more, for which there is no room here\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """An event that starts a run of a job; `event_id` is globally unique."""

    job_id: str
    key: str
    """The key of the event among the job's schedules."""
    event_id: str
    at: int
    input: bytes = b""
    parameters: Mapping[str, str] = field(default_factory=dict, hash=False)
    is_answered: bool = False
    """Whether its sender gets a response: above the limit, the event is then refused instead of folded."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """The run of an event; with `is_folded`, the run of an earlier event."""

    run_id: str
    is_folded: bool = False


@dataclass(frozen=True, slots=True)
class Refused:
    """Why an event was refused."""

    reason: SkipReason


def accept(store: Store, happening: Happening) -> Accepted | Refused:
    """Request the run of an event, once per event; it then waits like any due run."""
    record = store.jobs.get(happening.job_id)
    entry = None if record is None else find_event(record, happening.key)
    if record is None or entry is None or not record.is_active:
        is_paused = record is not None and record.paused and record.disabled_reason is None
        return Refused(SkipReason.PAUSED if is_paused else SkipReason.DISABLED)
    known = store.requests.find_event(happening.event_id)
    if known is not None:
        return Accepted(known)
    counted_on = store.folded_events.find(happening.event_id)
    if counted_on is not None:
        return Accepted(counted_on, is_folded=True)
    return _take(store, record, entry, happening)


def _take(store: Store, record: JobRecord, entry: Entry, happening: Happening) -> Accepted | Refused:
    """Request the run of a new event, or apply the schedule's overlap policy."""
    last = store.requests.last_event(record.id, entry.key)
    if entry.on_overlap is Overlap.RESTART:
        store.jobs.restart(record.id, _starts_at(record, entry, happening))
    match entry.on_overlap:
        case Overlap.SKIP if record.run_id is not None or last is not None:
            return _skip(store, record, entry, happening)
        case Overlap.LATEST | Overlap.RESTART if last is not None:
            if last.event_id is not None:
                store.folded_events.note(last.event_id, record.id, last.run_id, happening.at)
            store.requests.replace_event(last.run_id, _request(record, entry, happening), happening.input)
            return Accepted(last.run_id)
        case _:
            return _queue(store, record, entry, happening, last)


def find_event(record: JobRecord, key: str) -> Entry | None:
    """Return the event of a job with this key; None if there is none."""
    return next((entry for entry in record.spec.events if entry.key == key), None)


def _skip(store: Store, record: JobRecord, entry: Entry, happening: Happening) -> Refused:
    """Record that an event was skipped because the job was running, or another event of the schedule waited."""
    request = replace(_request(record, entry, happening), input_bytes=len(happening.input))
    store.requests.append(request, happening.input)
    store.requests.take_input(request)
    store.requests.close(request)
    lease = store.lease.read()
    skipped = replace(
        run_of(record, request),
        outcome=Outcome.SKIPPED,
        reason=SkipReason.ALREADY_RUNNING,
        finished_at=happening.at,
    )
    store.runs.insert([skipped], 0 if lease is None else lease.generation)
    return Refused(SkipReason.ALREADY_RUNNING)


def _queue(
    store: Store, record: JobRecord, entry: Entry, happening: Happening, last: Request | None
) -> Accepted | Refused:
    if last is not None and store.requests.count_events(record.id, entry.key) >= MOST_WAITING:
        if happening.is_answered:
            return Refused(SkipReason.AT_CAPACITY)
        _fold(store, happening, last)
        return Accepted(last.run_id, is_folded=True)
    request = _request(record, entry, happening)
    store.requests.append(request, happening.input)
    return Accepted(request.run_id)


def _fold(store: Store, happening: Happening, last: Request) -> None:
    """Fold an event into the last accepted one, whose run gets both inputs, up to the size limit."""
    store.folded_events.note(happening.event_id, last.job_id, last.run_id, happening.at)
    store.requests.fold_event(last.run_id)
    if happening.input:
        content = joined_input(store.requests.event_input(last.run_id), happening.input)
        store.requests.save_event_input(last.run_id, content)
    if not last.folded:
        store.events.append(
            happening.at, EventKind.EVENTS_FOLDED, last.job_id, run_id=last.run_id, waiting=MOST_WAITING
        )


def joined_input(first: bytes, more: bytes) -> bytes:
    """Join the lines of two inputs up to the size limit; a last line says if some were omitted."""
    whole = first + more
    if first.endswith(_NO_ROOM):
        return first
    if len(whole) <= MOST_INPUT_BYTES:
        return whole
    return whole[: whole.rfind(b"\n", 0, MOST_INPUT_BYTES - len(_NO_ROOM)) + 1] + _NO_ROOM


def _request(record: JobRecord, entry: Entry, happening: Happening) -> Request:
    return Request(
        kind=RequestKind.EVENT,
        job_id=record.id,
        run_id=new_run_id(),
        at=_starts_at(record, entry, happening),
        parameters=happening.parameters,
        event_id=happening.event_id,
        schedule_key=entry.key,
    )


def _starts_at(record: JobRecord, entry: Entry, happening: Happening) -> int:
    """Return the earliest start of an event's run."""
    delay_ms = entry.schedule.delay_ms if isinstance(entry.schedule, OnSession) else 0
    return max(happening.at + delay_ms, earliest_start(record))


def run_of(record: JobRecord, request: Request) -> Run:
    """Return the run for the request of an event or of another run."""
    if request.kind is RequestKind.CHAIN:
        return Run(
            id=request.run_id,
            job_id=record.id,
            trigger=Trigger.CHAIN,
            source=Source.MANUAL,
            caused_by=request.payload,
            parameters=record.spec.parameters,
        )
    keys = tuple(filter(None, [request.schedule_key]))
    folded = message(MessageKind.EVENTS_FOLDED, count=request.folded)
    return Run(
        id=request.run_id,
        job_id=record.id,
        trigger=Trigger.EVENT,
        source=Source.MANUAL if request.attempt == 1 else Source.RETRY,
        event_id=request.event_id,
        attempt=request.attempt,
        schedule_keys=keys,
        parameters=still_declared(record.spec.parameters_for(keys), request.parameters),
        input_bytes=request.input_bytes,
        notes=(folded,) if request.folded else (),
    )


def earliest_start(record: JobRecord) -> int:
    """Return the earliest start of a job by an event, after back-off and the minimum interval."""
    policy, ended_at = record.spec.policy, record.last_completed_at
    if ended_at is None:
        return 0
    return ended_at + max(policy.backoff.delay_ms(record.errors), policy.limits.min_ms or 0)
