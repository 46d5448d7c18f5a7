"""The runs that may start without a request, and whether quiet hours or conditions keep them from it."""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from halo_scheduler.model import (
    NO_DETAILS,
    Condition,
    InQuietTime,
    SkipReason,
    Trigger,
    WaitingDetails,
    WaitingFor,
)
from halo_scheduler.model.messages import Message, MessageKind, message
from halo_scheduler.model.settings import Quiet, QuietTime
from halo_scheduler.rules.blockers import Hold
from halo_scheduler.schedule.calendar import quiet_at
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.requests import Request
from halo_scheduler.store.store import Store

if TYPE_CHECKING:
    from halo_scheduler.conditions.surroundings import Finding, Surroundings

_SMALLEST_PAGE = 20
_LOG = logging.getLogger(__name__)
# A probe takes seconds at most. One without an answer after this long counts as failed.
_POLL_MS = 10_000


class Candidate(NamedTuple):
    """A due job or, with a request, a run requested by another run or an event.

    (A tuple, because a tick may create thousands.)
    """

    record: JobRecord
    request: Request | None = None

    @property
    def since(self) -> int:
        """When it became due."""
        return (self.record.next_run_at or 0) if self.request is None else self.request.at

    @property
    def waits_until(self) -> int | None:
        """The deadline for its conditions; None if it does not wait for any."""
        return (self.record if self.request is None else self.request).waits_until

    @property
    def lacks_a_place(self) -> bool:
        """Whether, at the last check, only a concurrency limit kept it from starting."""
        if self.request is None:
            return self.record.waiting_for is WaitingFor.AT_CAPACITY
        return self.request.waiting_for in (None, WaitingFor.AT_CAPACITY)


def oldest_first(
    store: Store,
    now_ms: int,
    places: int,
    queued: Sequence[Candidate],
    full_groups: Callable[[], Collection[str]],
) -> Iterator[Candidate]:
    """Yield due jobs and queued runs, oldest first; due jobs are read lazily.

    Due jobs known to wait only for the limit of one of `full_groups` are omitted.
    """
    due = _due(store, now_ms, places, full_groups)
    return heapq.merge(due, queued, key=lambda candidate: candidate.since) if queued else due


def _due(
    store: Store, now_ms: int, places: int, full_groups: Callable[[], Collection[str]]
) -> Iterator[Candidate]:
    """Yield due jobs page by page; the first page has as many as the limit allows to start."""
    size, after = max(places, 1), None
    while page := store.jobs.due(now_ms, size, after, full_groups()):
        yield from map(Candidate, page)
        after = page[-1].next_run_at or 0, page[-1].id
        # A caller that needs a second page will probably need many.
        size = max(2 * size, _SMALLEST_PAGE)


class Wait(NamedTuple):
    """What a job waits for: a kind and its parameters; `until` is the deadline of its conditions."""

    waiting_for: WaitingFor
    details: WaitingDetails = NO_DETAILS
    until: int | None = None


class StartConditions:
    """Checks quiet hours and conditions for one engine; only conditions that some due job has are probed."""

    def __init__(self, store: Store, make_surroundings: Callable[[], Surroundings]) -> None:
        """`make_surroundings` is called only when a job has conditions."""
        self._store = store
        self._make_surroundings = make_surroundings
        self._surroundings: Surroundings | None = None
        self._now_ms = 0
        self._quiet_times: tuple[QuietTime, ...] = ()
        self._quiet: dict[str | None, Quiet | None] = {}
        self.quiet_groups: frozenset[str] = frozenset()
        """The groups whose own quiet hours apply now."""
        self.is_all_quiet = False
        """Whether quiet hours for all jobs apply now."""
        self._found: dict[Condition, Finding] = {}
        self._unknown_since: dict[Condition, int] = {}
        self._last_known: dict[Condition, bool] = {}
        self._last_fault: str | None = None
        self._awaited: set[Condition] = set()
        self._wakes_at: list[int] = []

    def begin(self, now_ms: int) -> None:
        """Discard what the last tick found."""
        self._now_ms = now_ms
        self._quiet_times = self._store.settings.quiet_times()
        self._quiet = {}
        quiet = {time.group for time in self._quiet_times if quiet_at([time], time.group, now_ms)}
        self.is_all_quiet = None in quiet
        self.quiet_groups = frozenset(group for group in quiet if group is not None)
        self._found = {}
        # Conditions that no job waited for since the last tick are probed afresh.
        self._unknown_since = {item: at for item, at in self._unknown_since.items() if item in self._awaited}
        self._last_known = {item: held for item, held in self._last_known.items() if item in self._awaited}
        self._awaited = set()
        self._wakes_at = []

    @property
    def wakes_at(self) -> int | None:
        """The next instant at which a wait ends without an event, such as the end of quiet hours."""
        return min((at for at in self._wakes_at if at > self._now_ms), default=None)

    def check(self, candidate: Candidate, *, has_place: bool) -> Wait | Hold | None:
        """Return what a job waits for, or why its slot is skipped; None if it may start."""
        rest = self._rest_of(candidate.record.spec.group)
        if rest is not None:
            return self._keep_quiet(candidate, rest)
        if not candidate.record.spec.policy.conditions:
            return None
        return self._ask_for_conditions(candidate, has_place=has_place)

    def follow(self) -> None:
        """Watch the conditions that jobs wait for since this tick, and no others."""
        if self._surroundings is None:
            return
        try:
            self._surroundings.watch(frozenset(self._awaited))
        except Exception as error:  # noqa: BLE001 - runs claimed by now must start in any case
            self._tell_of_fault(error)

    def close(self) -> None:
        """Stop watching all conditions."""
        if self._surroundings is not None:
            self._surroundings.close()
            self._surroundings = None

    def keep_in_view(self, record: JobRecord) -> None:
        """Watch the conditions of a job that waits for a limit: they must still be met when it starts."""
        self._awaited.update(record.spec.policy.conditions)

    def note_on(self, record: JobRecord, trigger: Trigger) -> Message | None:
        """Return the note for a manual run: the quiet hours and conditions that it ignored; None if there are none."""
        rest, conditions = self._rest_of(record.spec.group), record.spec.policy.conditions
        if rest is None and not conditions:
            return None
        is_waiting = bool(conditions) and record.waiting_for is WaitingFor.CONDITION
        named = record.waiting_details.conditions if is_waiting else conditions
        return message(
            MessageKind.STARTED_ANYWAY,
            trigger=trigger,
            quiet=None if rest is None else rest.by.name,
            conditions=[condition.to_dict() for condition in named],
            is_waiting=is_waiting,
        )

    # --- Quiet hours ---------------------------------------------------------------------------------

    def _rest_of(self, group: str | None) -> Quiet | None:
        if not self._quiet_times:
            return None
        if group not in self._quiet:
            self._quiet[group] = quiet_at(self._quiet_times, group, self._now_ms)
        return self._quiet[group]

    def _keep_quiet(self, candidate: Candidate, rest: Quiet) -> Wait | Hold:
        if candidate.record.spec.policy.in_quiet_time is InQuietTime.SKIP:
            name, until = rest.by.name, rest.until
            why = message(MessageKind.QUIET_TIME, name=name, until=until, at=self._now_ms)
            return Hold(SkipReason.QUIET_TIME, why)
        self._wakes_at.append(rest.until)
        details = WaitingDetails(name=rest.by.name, until=rest.until)
        return Wait(WaitingFor.QUIET_TIME, details, candidate.waits_until)

    # --- Conditions ----------------------------------------------------------------------------------

    def _ask_for_conditions(self, candidate: Candidate, *, has_place: bool) -> Wait | Hold | None:
        policy = candidate.record.spec.policy
        found = {condition: self._find(condition) for condition in policy.conditions}
        unmet = {condition: finding for condition, finding in found.items() if finding.holds is not True}
        failed = {condition: finding for condition, finding in unmet.items() if finding.holds is False}
        if not unmet or (not failed and not has_place and candidate.lacks_a_place):
            # An older result is probed again; meanwhile the job waits for the limit anyway.
            return None
        until = self._deadline(candidate)
        # During a probe the last known unmet conditions are named; met ones only if all were met.
        named = {item: unmet[item] for item in unmet if not self._last_known.get(item)} or unmet
        if until is not None and until <= self._now_ms and (failed or self._is_lost(unmet)):
            return Hold(SkipReason.CONDITION, _why_given_up(named, policy.condition_deadline_ms or 0))
        self._awaited.update(policy.conditions)
        self._wakes_at += [] if until is None else [until, *self._lost_at(unmet)]
        details = WaitingDetails(conditions=tuple(named), is_unobservable=self._is_unobservable(named))
        return Wait(WaitingFor.CONDITION, details, until)

    def _deadline(self, candidate: Candidate) -> int | None:
        """Return the deadline for a job's conditions.

        It counts from when the wait began; an edit of the job, or a clock set back, restarts it.
        """
        deadline_ms = candidate.record.spec.policy.condition_deadline_ms
        if deadline_ms is None:
            return None
        latest = self._now_ms + deadline_ms
        return latest if candidate.waits_until is None else min(candidate.waits_until, latest)

    def _find(self, condition: Condition) -> Finding:
        finding = self._found.get(condition)
        if finding is None:
            finding = self._found[condition] = self._ask(condition)
            since = self._unknown_since.pop(condition, self._now_ms)
            if finding.holds is None:
                self._unknown_since[condition] = min(since, self._now_ms)
            else:
                self._last_known[condition] = finding.holds
        return finding

    def _ask(self, condition: Condition) -> Finding:
        try:
            self._surroundings = self._surroundings or self._make_surroundings()
            return self._surroundings.find(condition, self._now_ms)
        except Exception as error:  # noqa: BLE001 - whatever it was: unknown is never true, and no job's fault
            from halo_scheduler.conditions.surroundings import Finding  # noqa: PLC0415 - loaded by now

            self._tell_of_fault(error)
            return Finding(None, message(MessageKind.NOT_PROBED, error=str(error)))

    def _tell_of_fault(self, error: Exception) -> None:
        """Log an error from checking conditions, once rather than at every tick."""
        if str(error) != self._last_fault:
            _LOG.error("A condition could not be checked.", exc_info=error)
            self._last_fault = str(error)

    def _lost_at(self, conditions: dict[Condition, Finding]) -> list[int]:
        """Return the instant after which an unanswered probe counts as failed."""
        return [self._unknown_since[item] + _POLL_MS for item in conditions if item in self._unknown_since]

    def _is_lost(self, unknown: dict[Condition, Finding]) -> bool:
        """Return whether probes had enough time to answer; after a wake-up they start over."""
        return all(at <= self._now_ms for at in self._lost_at(unknown))

    def _is_unobservable(self, conditions: dict[Condition, Finding]) -> bool:
        return bool(self._lost_at(conditions)) and self._is_lost(conditions)


def _why_given_up(unmet: dict[Condition, Finding], deadline_ms: int) -> Message:
    return message(
        MessageKind.CONDITIONS_UNMET,
        conditions=[condition.to_dict() for condition in unmet],
        states=[finding.state for finding in unmet.values() if finding.state is not None],
        waited_ms=deadline_ms,
    )
