"""The governor: when a job runs next, and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from halo_scheduler.grammar.checks import require_whole
from halo_scheduler.model import (
    After,
    Backoff,
    Cron,
    Every,
    Hints,
    Limits,
    Manual,
    Once,
    Plan,
    Retry,
    Rule,
    Schedule,
    Source,
    Step,
    require_jitter,
)
from halo_scheduler.schedule.next_run import jitter_ms, next_run

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
        at = next_run(self.schedule, self.now_ms, anchor_at=anchor_at, last_completed_at=last_completed_at)
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

    def spread(self, percent: int, key: str) -> None:
        """Add the jitter of the grid point, which never reaches the following one."""
        if self.at is None or self.at == self.now_ms:
            return  # A job that is due at once is not held back.
        match self.schedule:
            case Every(every_ms=distance_ms) | After(after_ms=distance_ms):
                pass
            case Cron():
                following = next_run(self.schedule, self.at)
                distance_ms = 0 if following is None else following - self.at
            case _:
                return
        offset_ms = jitter_ms(key, self.at, distance_ms, percent)
        if offset_ms:
            self._move(Rule.JITTER, self.at + offset_ms, self.source, offset_ms)

    def follow(self, hints: Hints) -> None:
        """Apply hints: a pace replaces the interval, and a single run is used if it is earlier."""
        pace_ms, next_at = hints.pace_at(self.now_ms), hints.run_at(self.now_ms)
        if self.at is None:
            return
        if pace_ms is not None:
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


def plan_next_run(
    schedule: Schedule,
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
    """Plan a job's next run: the schedule, then each rule that may change it, in order.

    `errors` is the number of failed slots in a row; `failed` and `attempt` describe the run that just ended at
    `finished_at` (by default the last completion, else now).
    """
    require_jitter(jitter_percent)
    require_whole("errors", errors, 0)
    require_whole("attempt", attempt, 1)
    if finished_at is None:
        finished_at = now_ms if last_completed_at is None else last_completed_at
    draft = _Draft(schedule, now_ms, _SOURCES[type(schedule)])
    draft.lay_baseline(anchor_at, last_completed_at)
    if errors and backoff.factor(errors) > 1:
        draft.stretch(backoff.factor(errors), anchor_at, last_completed_at)
    if jitter_percent:
        draft.spread(jitter_percent, key)
    draft.follow(hints)
    if errors:
        draft.back_off(finished_at, backoff.delay_ms(errors))
    if failed:
        draft.try_again(retry, attempt, finished_at)
    draft.keep_limits(limits)
    draft.respect_pause(paused=paused, until=paused_until)
    return Plan(draft.at, draft.source, draft.attempt, tuple(draft.trail))
