"""What a job was at an instant, told from the journal: its spec, and the times when it could not run."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum

from halo_scheduler.errors import ScheduleError
from halo_scheduler.model import Cron, JobSpec, Schedule, StatusReason
from halo_scheduler.store.events import Event, EventKind
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.store import Store

_OF_JOBS = (
    EventKind.JOB_ADDED,
    EventKind.JOB_EDITED,
    EventKind.JOB_REMOVED,
    EventKind.JOB_RESTORED,
    EventKind.JOB_PAUSED,
    EventKind.JOB_RESUMED,
    EventKind.JOB_DISABLED,
)


class SpellKind(StrEnum):
    """Why a job could not run for a while."""

    PAUSED = "paused"
    DISABLED = "disabled"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Downtime:
    """A while in which a job could not run by itself; without an end it goes on."""

    kind: SpellKind
    since: int
    until: int | None = None
    reason: StatusReason | None = None
    errors: int = 0
    assistant: str | None = None

    def covers(self, at: int) -> bool:
        return self.since <= at and (self.until is None or at < self.until)


class Timeline:
    """The life of one job."""

    def __init__(self, store: Store, record: JobRecord) -> None:
        events = store.events.of_kinds(record.id, _OF_JOBS)
        self._record = record
        self._edits = [event for event in events if event.kind is EventKind.JOB_EDITED]
        self._downtimes = _downtimes(events)
        self._zones = store.events.of_kinds(None, [EventKind.ZONE_CHANGE])

    def find(self, at: int) -> Downtime | None:
        """Return what kept the job from running at an instant, the one that is hardest to undo."""
        found = {downtime.kind: downtime for downtime in self._downtimes if downtime.covers(at)}
        return found.get(SpellKind.REMOVED) or found.get(SpellKind.DISABLED) or found.get(SpellKind.PAUSED)

    def next_move(self, at: int) -> Event | None:
        """Return the first edit after an instant that moved the times at which the job is due."""
        return next((edit for edit in self._edits if edit.at > at and _moves_times(edit)), None)

    def spec_at(self, at: int) -> JobSpec | None:
        """Return the spec that was in force at an instant; None if it cannot be read any more."""
        edit = next((edit for edit in self._edits if edit.at > at), None)
        return self._record.spec if edit is None else _spec(edit.detail.get("before"))

    def schedule_at(self, at: int, schedule: Schedule) -> Schedule:
        """Return a schedule as it was understood at an instant: without a zone, it followed the machine's."""
        moved = next((event for event in self._zones if event.at > at), None)
        if moved is None or not isinstance(schedule, Cron) or schedule.timezone is not None:
            return schedule
        with suppress(ScheduleError):
            return replace(schedule, timezone=moved.detail.get("before"))
        return schedule


def _moves_times(edit: Event) -> bool:
    before, after = edit.detail.get("before", {}), edit.detail.get("after", {})
    return any(before.get(name) != after.get(name) for name in ("schedule", "anchor_at"))


def _spec(data: object) -> JobSpec | None:
    # A job of an older Halo, or one in a zone that this machine does not know.
    with suppress(ValueError):
        return JobSpec.from_dict(data)
    return None


def _downtimes(events: Sequence[Event]) -> list[Downtime]:
    """Return the whiles in which a job could not run, as the journal tells them one after the other."""
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
            # The end of a pause brings no disabled job back.
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
