"""The governor: when a job runs next, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final, NamedTuple

from halo_scheduler.grammar.checks import require_whole
from halo_scheduler.model import (
    After,
    Backoff,
    Cron,
    Entry,
    Every,
    Hints,
    Limits,
    Manual,
    Once,
    Plan,
    Retry,
    Rule,
    Schedule,
    Several,
    Source,
    Step,
    require_jitter,
)
from halo_scheduler.model.schedules import combine_with_anchor
from halo_scheduler.schedule.next_run import Jitter, next_run, pending_point

_SOURCES: Final = {
    Every: Source.EVERY,
    After: Source.AFTER,
    Cron: Source.CRON,
    Once: Source.ONCE,
    Manual: Source.MANUAL,
}
_NO_HINTS: Final = Hints()
_NO_LIMITS: Final = Limits()
_LADDER: Final = Backoff.ladder()
_NO_RETRY: Final = Retry()
_AT: Final = attrgetter("at")
# All of several schedules are used up, but a failed run may still be retried.
_NEVER: Final = Once(0)


@dataclass(slots=True)
class _Draft:
    """The plan while the rules are applied in order; `trail` has each rule that changed it."""

    schedule: Schedule
    now_ms: int
    source: Source
    at: int | None = None
    attempt: int = 1
    trail: list[Step] = field(default_factory=list)

    def lay_baseline(self, anchor_at: int, last_completed_at: int | None) -> None:
        self.begin(
            next_run(self.schedule, self.now_ms, anchor_at=anchor_at, last_completed_at=last_completed_at)
        )

    def begin(self, at: int | None) -> None:
        """Begin with an instant of the schedule."""
        if at is not None:
            self._move(Rule.BASELINE, at, self.source)

    def stretch(self, factor: int, anchor_at: int, last_completed_at: int | None) -> None:
        """Apply a doubling back-off to the interval; the source stays the schedule's."""
        match self.schedule:
            case Every(every_ms=every_ms):
                rest_ms = every_ms * (factor - 1)
                at = next_run(self.schedule, self.now_ms + rest_ms, anchor_at=anchor_at)
            case After(after_ms=after_ms) if last_completed_at is not None:
                rest_ms = after_ms * (factor - 1)
                at = max(self.now_ms, last_completed_at + after_ms * factor)
            case _:
                return
        if at != self.at:
            self._move(Rule.BACKOFF, at, self.source, rest_ms)

    def spread(self, jitter: Jitter) -> None:
        """Add the jitter of the grid point, which never reaches the following one."""
        if self.at is not None and self.at != self.now_ms:  # A job that is due at once is not held back.
            self.delay(self.at, jitter)

    def delay(self, at: int, jitter: Jitter) -> None:
        offset_ms = jitter.delay_ms(self.schedule, at)
        if offset_ms:
            self._move(Rule.JITTER, at + offset_ms, self.source, offset_ms)

    def follow(self, hints: Hints) -> None:
        """Apply hints: a pace replaces the interval, and a single run is used if it is earlier."""
        pace_ms, next_at = hints.pace_at(self.now_ms), hints.run_at(self.now_ms)
        if self.at is None:
            return
        if pace_ms is not None and not isinstance(self.schedule, Once):
            self._move(Rule.HINT, self.now_ms + pace_ms, Source.HINT_INTERVAL, pace_ms)
        if next_at is not None and next_at < self.at:
            self._move(Rule.HINT, next_at, Source.HINT_ONCE)
            if next_at < self.now_ms:
                self._move(Rule.NEVER_PAST, self.now_ms, Source.HINT_ONCE)

    def back_off(self, finished_at: int, delay_ms: int) -> None:
        # Back-off only delays: a slow schedule keeps its own pace.
        if self.at is not None and finished_at + delay_ms > self.at:
            self._move(Rule.BACKOFF, finished_at + delay_ms, Source.BACKOFF, delay_ms)

    def try_again(self, retry: Retry, attempt: int, finished_at: int) -> None:
        """Retry the failed slot if that is earlier than everything else."""
        if attempt > retry.attempts or isinstance(self.schedule, Manual):
            return
        at = max(self.now_ms, finished_at + retry.delay_ms)
        if self.at is None or at < self.at:
            self._move(Rule.RETRY, at, Source.RETRY, retry.delay_ms)
            self.attempt = attempt + 1

    def keep_limits(self, limits: Limits) -> None:
        if self.at is None or isinstance(self.schedule, Once):
            return
        if limits.min_ms is not None and self.at < self.now_ms + limits.min_ms:
            self._move(Rule.MIN_LIMIT, self.now_ms + limits.min_ms, Source.CLAMPED_MIN, limits.min_ms)
        if limits.max_ms is not None and self.at > self.now_ms + limits.max_ms:
            self._move(Rule.MAX_LIMIT, self.now_ms + limits.max_ms, Source.CLAMPED_MAX, limits.max_ms)

    def respect_pause(self, *, paused: bool, until: int | None) -> None:
        """Apply a pause, which overrides everything; its end is when the job is planned again, not a slot."""
        if (paused and until is None) or (until is not None and until > self.now_ms):
            self._move(Rule.PAUSE, until, Source.PAUSED)
            self.attempt = 1

    def _move(self, rule: Rule, at: int | None, source: Source, duration_ms: int | None = None) -> None:
        self.at, self.source = at, source
        self.trail.append(Step(rule, at, source, duration_ms))


class _Candidate(NamedTuple):
    """One of several schedules with its next run, perhaps stretched and with its jitter."""

    entry: Entry
    at: int


@dataclass(slots=True)
class _Context:
    """What a schedule's own next run depends on."""

    now_ms: int
    anchor_at: int
    last_completed_at: int | None
    factor: int
    jitter: Jitter

    def draft(self, schedule: Schedule, anchor_at: int) -> _Draft:
        """Return a schedule's next run, stretched by a doubling back-off and with its jitter."""
        draft = _Draft(schedule, self.now_ms, _SOURCES[type(schedule)])
        draft.lay_baseline(anchor_at, self.last_completed_at)
        if self.factor > 1:
            draft.stretch(self.factor, anchor_at, self.last_completed_at)
        if self.jitter.percent:
            draft.spread(self.jitter)
        return draft

    def candidates(self, several: Several) -> list[_Candidate]:
        """Return the next run of each of several schedules that has one."""
        found = ((entry, self._at(entry)) for entry in several.entries)
        return [_Candidate(entry, at) for entry, at in found if at is not None]

    def _at(self, entry: Entry) -> int | None:
        if self.factor > 1 or self.jitter.percent:
            return self.draft_of(entry).at
        # Most jobs have neither: no draft is needed but that of the earliest.
        return next_run(
            entry.schedule,
            self.now_ms,
            anchor_at=entry.anchor(self.anchor_at),
            last_completed_at=self.last_completed_at,
        )

    def draft_of(self, entry: Entry) -> _Draft:
        """Return the next run of one of several schedules."""
        anchor_at = entry.anchor(self.anchor_at)
        # Another schedule may have had its run before the jitter of this one's point is over.
        pending = (
            pending_point(entry.schedule, self.now_ms, anchor_at, self.last_completed_at, self.jitter)
            if self.jitter.percent and self.factor == 1
            else None
        )
        if pending is None:
            return self.draft(entry.schedule, anchor_at)
        draft = _Draft(entry.schedule, self.now_ms, _SOURCES[type(entry.schedule)])
        draft.begin(pending)
        draft.delay(pending, self.jitter)
        return draft


def _choose(candidates: list[_Candidate], pace_ms: int | None, now_ms: int) -> Entry | None:
    """Return the schedule that is due first; a hinted pace replaces all but those of a `once`."""
    if not candidates:
        return None
    earliest = min(candidates, key=_AT)
    if pace_ms is None or isinstance(earliest.entry.schedule, Once):
        return earliest.entry
    onces = [item for item in candidates if isinstance(item.entry.schedule, Once)]
    first = min(onces, key=_AT, default=None)
    return first.entry if first is not None and first.at <= now_ms + pace_ms else earliest.entry


def _keys_of(candidates: list[_Candidate], draft: _Draft, chosen_at: int | None) -> tuple[str, ...]:
    """Return which of several schedules the plan comes from: those due at once when it was chosen.

    Back-off, limits and a retry move such a run; a hint replaces it.
    """
    is_hinted = any(step.rule is Rule.HINT for step in draft.trail)
    if draft.at is None or draft.source is Source.PAUSED or is_hinted:
        return ()
    return tuple(item.entry.key for item in candidates if item.at == chosen_at)


def plan_next_run(
    schedule: Schedule | Several | Sequence[Schedule | Entry],
    now_ms: int,
    *,
    anchor_at: int = 0,
    last_completed_at: int | None = None,
    errors: int = 0,
    failed: bool = False,
    attempt: int = 1,
    finished_at: int | None = None,
    hints: Hints = _NO_HINTS,
    limits: Limits = _NO_LIMITS,
    backoff: Backoff = _LADDER,
    retry: Retry = _NO_RETRY,
    jitter_percent: int = 0,
    key: str = "",
    paused: bool = False,
    paused_until: int | None = None,
) -> Plan:
    """Plan a job's next run: the schedule, or the earliest of several, then each rule that may change it, in order.

    `errors` is the number of failed slots in a row; `failed` and `attempt` describe the run that just ended at
    `finished_at` (by default the last completion, else now).
    """
    require_jitter(jitter_percent)
    require_whole("errors", errors, 0)
    require_whole("attempt", attempt, 1)
    if finished_at is None:
        finished_at = now_ms if last_completed_at is None else last_completed_at
    if isinstance(schedule, Sequence):
        schedule, anchor_at = combine_with_anchor(schedule, anchor_at)
    factor = backoff.factor(errors) if errors else 1
    context = _Context(now_ms, anchor_at, last_completed_at, factor, Jitter(jitter_percent, key))
    candidates: list[_Candidate] = []
    if isinstance(schedule, Several):
        candidates = context.candidates(schedule)
        chosen = _choose(candidates, hints.pace_at(now_ms), now_ms)
        draft = _Draft(_NEVER, now_ms, Source.ONCE) if chosen is None else context.draft_of(chosen)
    else:
        draft = context.draft(schedule, anchor_at)
    chosen_at = draft.at
    draft.follow(hints)
    if errors:
        draft.back_off(finished_at, backoff.delay_ms(errors))
    if failed:
        draft.try_again(retry, attempt, finished_at)
    draft.keep_limits(limits)
    draft.respect_pause(paused=paused, until=paused_until)
    keys = _keys_of(candidates, draft, chosen_at) if candidates else ()
    return Plan(draft.at, draft.source, draft.attempt, tuple(draft.trail), keys)
