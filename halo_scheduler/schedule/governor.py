"""The governor: when a job runs next, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Final

from halo_scheduler.grammar.checks import require_whole
from halo_scheduler.grammar.interval import MAX_INTERVAL_MS
from halo_scheduler.model import (
    After,
    Backoff,
    Entry,
    Event,
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
from halo_scheduler.model.codec import Value
from halo_scheduler.model.schedules import combine_with_anchor
from halo_scheduler.schedule.days import first_allowed
from halo_scheduler.schedule.entries import NEVER, delay_ms, next_of, next_runs, pending_point
from halo_scheduler.schedule.single import Jitter, next_point

_NO_HINTS: Final = Hints()
_NO_LIMITS: Final = Limits()
_LADDER: Final = Backoff.ladder()
_NO_RETRY: Final = Retry()
_AT: Final = itemgetter(0)
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
    is_hinted: bool = False

    def begin(self, at: int | None) -> None:
        """Begin with an instant of the schedule."""
        if at is not None:
            self._move(Rule.BASELINE, at, self.source)

    def stretch(self, factor: int, entry: Entry, anchor_at: int, last_completed_at: int | None) -> None:
        """Apply a doubling back-off to the interval; the source stays the schedule's."""
        match self.schedule:
            case Every(every_ms=every_ms):
                rest_ms = every_ms * (factor - 1)
                at = next_of(entry, self.now_ms + rest_ms, anchor_at)
            case After(after_ms=after_ms) if last_completed_at is not None:
                rest_ms = after_ms * (factor - 1)
                at = first_allowed(entry, max(self.now_ms, last_completed_at + after_ms * factor))
            case _:
                return
        if at is None:  # The schedule ends before that time.
            self.at = None
            self.trail.clear()
        elif at != self.at:
            self._move(Rule.BACKOFF, at, self.source, rest_ms)

    def spread(self, entry: Entry, jitter: Jitter) -> None:
        """Add the jitter of the grid point, which never reaches the following one."""
        if self.at is not None and self.at != self.now_ms:  # A job that is due at once is not delayed.
            self.delay(self.at, entry, jitter)

    def delay(self, at: int, entry: Entry, jitter: Jitter) -> None:
        offset_ms = delay_ms(entry, at, jitter)
        if offset_ms:
            self._move(Rule.JITTER, at + offset_ms, self.source, offset_ms)

    def follow(self, hints: Hints) -> None:
        """Apply hints: a pace replaces the interval, and a single run is used if it is earlier."""
        pace_ms, next_at = hints.pace_at(self.now_ms), hints.run_at(self.now_ms)
        if self.at is None:
            return
        if pace_ms is not None and not isinstance(self.schedule, Once):
            self._hint(self.now_ms + pace_ms, Source.HINT_INTERVAL, pace_ms)
        if next_at is not None and next_at < self.at:
            self._hint(next_at, Source.HINT_ONCE)
            if next_at < self.now_ms:
                self._move(Rule.NEVER_PAST, self.now_ms, Source.HINT_ONCE)

    def back_off(self, finished_at: int, delay_ms: int) -> None:
        # Back-off only delays: a slow schedule keeps its own pace.
        if self.at is not None and finished_at + delay_ms > self.at:
            self._move(Rule.BACKOFF, finished_at + delay_ms, Source.BACKOFF, delay_ms)

    def try_again(self, retry: Retry, attempt: int, finished_at: int) -> None:
        """Retry the failed slot if that is earlier than everything else."""
        if attempt > retry.attempts or isinstance(self.schedule, Manual | Event):
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

    def _hint(self, at: int, source: Source, duration_ms: int | None = None) -> None:
        self.is_hinted = True
        self._move(Rule.HINT, at, source, duration_ms)

    def _move(self, rule: Rule, at: int | None, source: Source, duration_ms: int | None = None) -> None:
        self.at, self.source = at, source
        self.trail.append(Step(rule, at, source, duration_ms))


@dataclass(slots=True)
class _Context:
    """What a schedule's own next run depends on."""

    now_ms: int
    anchor_at: int
    last_completed_at: int | None
    factor: int
    jitter: Jitter

    def draft(self, schedule: Schedule) -> _Draft:
        """Return a schedule's next run, stretched by a doubling back-off and with its jitter."""
        draft = _Draft(schedule, self.now_ms, _source_of(schedule))
        draft.begin(next_point(schedule, self.now_ms, self.anchor_at, self.last_completed_at))
        if self.factor > 1 and draft.at is not None:
            draft.stretch(self.factor, Entry(schedule), self.anchor_at, self.last_completed_at)
        if self.jitter.is_on and draft.at is not None:
            draft.spread(Entry(schedule), self.jitter)
        return draft

    def times(self, several: Several) -> Sequence[int]:
        """Return the next run of each of several schedules, in their order; NEVER for one that has none."""
        if self.is_plain:
            return next_runs(several, self.now_ms, self.anchor_at, self.last_completed_at)
        drafts = [self.draft_of(entry).at for entry in several.entries]
        return [NEVER if at is None else at for at in drafts]

    @property
    def is_plain(self) -> bool:
        """Whether schedules have neither back-off nor jitter, as for most jobs."""
        return self.factor == 1 and not self.jitter.is_on

    def draft_at(self, entry: Entry, at: int) -> _Draft:
        """Return the draft of the next run of one of several schedules at a known time."""
        if not self.is_plain:
            return self.draft_of(entry)
        draft = _Draft(entry.schedule, self.now_ms, _source_of(entry.schedule))
        draft.begin(at)
        return draft

    def draft_of(self, entry: Entry) -> _Draft:
        """Return the next run of one of several schedules."""
        # Another schedule may have had its run before the jitter of this one's point is over.
        pending = (
            pending_point(entry, self.now_ms, self.anchor_at, self.last_completed_at, self.jitter)
            if self.jitter.is_on and self.factor == 1
            else None
        )
        draft = _Draft(entry.schedule, self.now_ms, _source_of(entry.schedule))
        if pending is not None:
            draft.begin(pending)
            draft.delay(pending, entry, self.jitter)
            return draft
        draft.begin(next_of(entry, self.now_ms, self.anchor_at, self.last_completed_at))
        if self.factor > 1 and draft.at is not None:
            draft.stretch(self.factor, entry, self.anchor_at, self.last_completed_at)
        if self.jitter.is_on:
            draft.spread(entry, self.jitter)
        return draft


def _source_of(schedule: Schedule) -> Source:
    return Source.MANUAL if isinstance(schedule, Event) else Source(schedule.kind)


def _choose(several: Several, times: Sequence[int], pace_ms: int | None, now_ms: int) -> tuple[int, Entry]:
    """Return the schedule that is due first, and when; a hinted pace replaces all schedules but a `once`."""
    earliest_at = min(times)
    earliest = several.entries[times.index(earliest_at)]
    if pace_ms is None or isinstance(earliest.schedule, Once):
        return earliest_at, earliest
    onces = [
        (at, entry)
        for at, entry in zip(times, several.entries, strict=True)
        if isinstance(entry.schedule, Once)
    ]
    at, once = min(onces, key=_AT, default=(NEVER, earliest))
    return (at, once) if at <= now_ms + pace_ms else (earliest_at, earliest)


def _keys_of(several: Several, times: Sequence[int], draft: _Draft, chosen_at: int | None) -> tuple[str, ...]:
    """Return which of several schedules the plan comes from: those due at once when it was chosen.

    Back-off, limits and a retry move such a run; a hint replaces it.
    """
    if draft.at is None or draft.source is Source.PAUSED or draft.is_hinted:
        return ()
    entries = several.entries
    return tuple([entries[index].key for index, at in enumerate(times) if at == chosen_at])


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
    jitter_ms: int = 0,
    is_jitter_fixed: bool = False,
    key: str = "",
    paused: bool = False,
    paused_until: int | None = None,
) -> Plan:
    """Plan a job's next run: the schedule, or the earliest of several, then each rule that may change it, in order.

    `errors` is the number of failed slots in a row; `failed` and `attempt` describe the run that just ended at
    `finished_at` (by default the last completion, else now).
    """
    require_jitter(jitter_percent)
    if jitter_ms:
        require_whole("jitter_ms", jitter_ms, 0, MAX_INTERVAL_MS)
    require_whole("errors", errors, 0)
    require_whole("attempt", attempt, 1)
    if finished_at is None:
        finished_at = now_ms if last_completed_at is None else last_completed_at
    if not isinstance(schedule, Value):
        schedule, anchor_at = combine_with_anchor(schedule, anchor_at)
    factor = backoff.factor(errors) if errors else 1
    jitter = Jitter(jitter_percent, key, jitter_ms, is_jitter_fixed)
    context = _Context(now_ms, anchor_at, last_completed_at, factor, jitter)
    times: Sequence[int] = ()
    if isinstance(schedule, Several):
        times = context.times(schedule)
        at, chosen = _choose(schedule, times, hints.pace_at(now_ms), now_ms)
        draft = _Draft(_NEVER, now_ms, Source.ONCE) if at == NEVER else context.draft_at(chosen, at)
    else:
        draft = context.draft(schedule)
    chosen_at = draft.at
    draft.follow(hints)
    if errors:
        draft.back_off(finished_at, backoff.delay_ms(errors))
    if failed:
        draft.try_again(retry, attempt, finished_at)
    draft.keep_limits(limits)
    draft.respect_pause(paused=paused, until=paused_until)
    keys = _keys_of(schedule, times, draft, chosen_at) if isinstance(schedule, Several) else ()
    return Plan(draft.at, draft.source, draft.attempt, tuple(draft.trail), keys)


def plan_passed_point(
    at: int, source: Source, now_ms: int, *, finished_at: int, errors: int, limits: Limits, backoff: Backoff
) -> Plan:
    """Plan the late run of a grid point that has passed: at once, unless back-off or limits delay it."""
    draft = _Draft(Manual(), now_ms, source)
    draft.begin(at)
    if errors:
        draft.back_off(finished_at, backoff.delay_ms(errors))
    draft.keep_limits(limits)
    return Plan(draft.at, draft.source, draft.attempt, tuple(draft.trail))
