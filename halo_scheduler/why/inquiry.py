"""An inquiry about a job: the span asked about, the job as it was then, and the parts of an answer."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Self

from halo_scheduler.errors import ScheduleError
from halo_scheduler.model import Cron, JobSpec, Outcome, Schedule, Several, StatusReason
from halo_scheduler.model.codec import Value
from halo_scheduler.schedule.entries import without_after
from halo_scheduler.schedule.next_run import next_run, previous_run
from halo_scheduler.store.events import Event, EventKind
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.store import Store
from halo_scheduler.wording.measures import moment_in_words, when_in_words

_OF_JOBS = (
    EventKind.JOB_ADDED,
    EventKind.JOB_EDITED,
    EventKind.JOB_REMOVED,
    EventKind.JOB_RESTORED,
    EventKind.JOB_PAUSED,
    EventKind.JOB_RESUMED,
    EventKind.JOB_DISABLED,
)


class Verdict(StrEnum):
    """The answer in one word."""

    # About a past instant.
    RAN = "ran"
    LATE = "late"
    SKIPPED = "skipped"
    MISSED = "missed"
    NOT_RUNNING = "not_running"
    """No engine was running and awake."""
    PASSED_OVER = "passed_over"
    """A later run covered that time, or will."""
    EDITED = "edited"
    """The job had another schedule then."""
    NOT_A_POINT = "not_a_point"
    BEFORE_IT_EXISTED = "before_it_existed"
    REMOVED = "removed"
    UNKNOWN = "unknown"
    # Also about now and the future.
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
    """Why a job runs next when it does, or what it did or will do at an instant.

    `run_id` is the run that the answer is about, if any, and `outcome` its outcome if the question was about the past;
    `point_before` and `point_after` are the neighbouring times of the schedule if the instant is not one.
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
    """The instants asked about: from the first up to, but not including, the second."""

    since: int
    until: int

    def has(self, at: int | None) -> bool:
        return at is not None and self.since <= at < self.until


class SpellKind(StrEnum):
    """Why a job could not run for a while."""

    PAUSED = "paused"
    DISABLED = "disabled"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Downtime:
    """A time in which a job could not run on its schedule; without an end it continues."""

    kind: SpellKind
    since: int
    until: int | None = None
    reason: StatusReason | None = None
    errors: int = 0
    assistant: str | None = None

    def covers(self, at: int) -> bool:
        return self.since <= at and (self.until is None or at < self.until)


class Timeline:
    """The history of one job."""

    def __init__(self, store: Store, record: JobRecord) -> None:
        events = store.events.of_kinds(record.id, _OF_JOBS)
        self._record = record
        self._fill = store.day_sources.fill
        self._edits = [event for event in events if event.kind is EventKind.JOB_EDITED]
        self._downtimes = _downtimes(events)
        self._zones = store.events.of_kinds(None, [EventKind.ZONE_CHANGE])

    def find(self, at: int) -> Downtime | None:
        """Return the downtime at an instant; of several, the one that is hardest to undo."""
        found = {downtime.kind: downtime for downtime in self._downtimes if downtime.covers(at)}
        return found.get(SpellKind.REMOVED) or found.get(SpellKind.DISABLED) or found.get(SpellKind.PAUSED)

    def next_move(self, at: int) -> Event | None:
        """Return the first edit after an instant that changed the job's times."""
        return next((edit for edit in self._edits if edit.at > at and _moves_times(edit)), None)

    def spec_at(self, at: int) -> JobSpec | None:
        """Return the spec in effect at an instant; None if it is unreadable."""
        edit = next((edit for edit in self._edits if edit.at > at), None)
        spec = self._record.spec if edit is None else _spec(edit.detail.get("before"))
        return None if spec is None else self._fill(spec)

    def schedule_at(self, at: int, schedule: Schedule | Several) -> Schedule | Several:
        """Return a schedule as it applied at an instant; without its own zone, it used the computer's zone then."""
        moved = next((event for event in self._zones if event.at > at), None)
        if moved is None:
            return schedule
        zone = moved.detail.get("before")
        with suppress(ScheduleError):
            if not isinstance(schedule, Several):
                return _in_zone(schedule, zone)
            entries = (replace(entry, schedule=_in_zone(entry.schedule, zone)) for entry in schedule.entries)
            return Several(tuple(entries))
        return schedule


def _in_zone(schedule: Schedule, zone: str | None) -> Schedule:
    """Return a schedule with a zone where it has none of its own."""
    is_local = isinstance(schedule, Cron) and schedule.timezone is None
    return replace(schedule, timezone=zone) if isinstance(schedule, Cron) and is_local else schedule


def _moves_times(edit: Event) -> bool:
    before, after = edit.detail.get("before", {}), edit.detail.get("after", {})
    return any(before.get(name) != after.get(name) for name in ("schedule", "schedules", "anchor_at"))


def _spec(data: object) -> JobSpec | None:
    # A job from an older Halo, or with a zone that this computer doesn't know.
    with suppress(ValueError):
        return JobSpec.from_dict(data)
    return None


def _downtimes(events: Sequence[Event]) -> list[Downtime]:
    """Return the times in which a job could not run, in the order of the journal."""
    found: list[Downtime] = []
    open_: dict[SpellKind, Downtime] = {}

    def end(kind: SpellKind, at: int) -> None:
        downtime = open_.pop(kind, None)
        if downtime is not None:
            found.append(replace(downtime, until=at if downtime.until is None else min(at, downtime.until)))

    def begin(downtime: Downtime) -> None:
        end(downtime.kind, downtime.since)
        open_[downtime.kind] = downtime

    for event in events:
        for kind in _ended_by(event, open_.get(SpellKind.DISABLED)):
            end(kind, event.at)
        begun = _begun_by(event)
        if begun is not None:
            begin(begun)
    return [*found, *open_.values()]


def _begun_by(event: Event) -> Downtime | None:
    detail = event.detail
    match event.kind:
        case EventKind.JOB_REMOVED:
            return Downtime(kind=SpellKind.REMOVED, since=event.at)
        case EventKind.JOB_PAUSED:
            return Downtime(
                kind=SpellKind.PAUSED,
                since=event.at,
                until=detail.get("until"),
                reason=_reason(detail.get("by")),
                assistant=event.assistant,
            )
        case EventKind.JOB_DISABLED:
            reason, errors = _reason(detail.get("reason")), detail.get("errors") or 0
            return Downtime(kind=SpellKind.DISABLED, since=event.at, reason=reason, errors=errors)
        case EventKind.JOB_ADDED if detail.get("enabled") is False:
            return Downtime(kind=SpellKind.DISABLED, since=event.at, reason=StatusReason.USER)
        case EventKind.JOB_EDITED if _is_enabled(detail, "before") and not _is_enabled(detail, "after"):
            return Downtime(kind=SpellKind.DISABLED, since=event.at, reason=StatusReason.USER)
        case _:
            return None


def _ended_by(event: Event, disabled: Downtime | None) -> list[SpellKind]:
    detail = event.detail
    match event.kind:
        case EventKind.JOB_RESTORED:
            return [SpellKind.REMOVED]
        case EventKind.JOB_RESUMED:
            # The end of a pause does not enable a disabled job.
            is_resumed = detail.get("by") in ("user", "assistant")
            return [SpellKind.PAUSED, SpellKind.DISABLED] if is_resumed else [SpellKind.PAUSED]
        case EventKind.JOB_EDITED:
            is_new = detail.get("before", {}).get("schedule") != detail.get("after", {}).get("schedule")
            is_begun_anew = disabled is not None and disabled.reason is StatusReason.DONE and is_new
            is_enabled = not _is_enabled(detail, "before") and _is_enabled(detail, "after")
            return [SpellKind.DISABLED] if is_begun_anew or is_enabled else []
        case _:
            return []


def _is_enabled(detail: dict[str, dict[str, object]], which: str) -> bool:
    return detail.get(which, {}).get("enabled", True) is not False


def _reason(word: object) -> StatusReason | None:
    return next((reason for reason in StatusReason if reason == word), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry:
    """A job, the span asked about, and the spec and schedule in effect at its beginning.

    `point` is the first time of that schedule in the span; `is_readable` is False if that spec is unreadable.
    """

    store: Store
    record: JobRecord
    span: Span
    now_ms: int
    timeline: Timeline
    spec: JobSpec
    schedule: Schedule | Several
    point: int | None
    is_readable: bool

    @classmethod
    def make(cls, store: Store, record: JobRecord, span: Span, now_ms: int) -> Self:
        timeline = Timeline(store, record)
        then = timeline.spec_at(span.since)
        spec = record.spec if then is None else then
        schedule = timeline.schedule_at(span.since, spec.schedule)
        return cls(
            store=store,
            record=record,
            span=span,
            now_ms=now_ms,
            timeline=timeline,
            spec=spec,
            schedule=schedule,
            # A time before the job was created does not concern it.
            point=point_in(
                schedule, spec.anchor_at, Span(max(span.since, record.created_at + 1), span.until)
            ),
            is_readable=then is not None,
        )

    def moment(self, at: int) -> str:
        return moment_in_words(at, self.now_ms)

    def when(self, at: int) -> str:
        return when_in_words(at, self.now_ms)

    def answer(self, verdict: Verdict, *sentences: str, **rest: Any) -> Answer:
        return Answer(
            job_id=self.record.id,
            name=self.record.spec.name,
            verdict=verdict,
            sentences=sentences,
            at=self.span.since,
            next_run_at=self.record.next_run_at,
            **rest,
        )


def point_in(schedule: Schedule | Several, anchor_at: int, span: Span) -> int | None:
    """Return the first time of a schedule in a span; `after` and `manual` have none."""
    point = next_run(without_after(schedule), span.since - 1, anchor_at=anchor_at)
    return point if span.has(point) else None


def points_beside(schedule: Schedule | Several, anchor_at: int, span: Span) -> tuple[int | None, int | None]:
    """Return the times of a schedule before and after a span."""
    timed = without_after(schedule)
    before = previous_run(timed, span.since - 1, anchor_at=anchor_at)
    return before, next_run(timed, span.until - 1, anchor_at=anchor_at)
