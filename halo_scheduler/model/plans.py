"""Plans: when a job runs next, by which rules, on whose advice."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.checks import require_choice, require_instant, require_text, require_whole
from halo_scheduler.grammar.interval import DAY_MS, HOUR_MS, MAX_INTERVAL_MS, format_interval
from halo_scheduler.model.codec import Value, put
from halo_scheduler.model.words import HintSource, Source

LONGEST_REASON = 200
LONGEST_TTL_MS = 366 * DAY_MS


def require_ttl(ttl_ms: int) -> int:
    """Refuse advice that would count for longer than anybody remembers giving it."""
    if ttl_ms > LONGEST_TTL_MS:
        raise ScheduleError(
            f"advice counts for {format_interval(LONGEST_TTL_MS)} at most; change the schedule instead",
            path="ttl",
        )
    return ttl_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints(Value):
    """Advice on when to run next; it counts only until `expires_at`, and without that never.

    `source` is who gave the last of it; None when nobody said.
    """

    interval_ms: int | None = None
    next_at: int | None = None
    expires_at: int | None = None
    reason: str = ""
    source: HintSource | None = None

    def __post_init__(self) -> None:
        if self.source is not None:
            put(self, source=require_choice(HintSource, self.source, path="source"))
        if self.interval_ms is not None:
            require_whole("interval_ms", self.interval_ms, 1, MAX_INTERVAL_MS)
        for name in ("next_at", "expires_at"):
            if getattr(self, name) is not None:
                require_instant(name, getattr(self, name))
        require_text("reason", self.reason)

    def count_at(self, now_ms: int) -> bool:
        """Tell whether the advice still counts."""
        return self.expires_at is not None and self.expires_at > now_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal(Value):
    """What a run proposed about its own job: a pace, one more run so long after its end, or both, for a while."""

    every_ms: int | None = None
    next_ms: int | None = None
    ttl_ms: int = HOUR_MS
    reason: str = ""

    def __post_init__(self) -> None:
        for name in ("every_ms", "next_ms"):
            if getattr(self, name) is not None:
                require_whole(name, getattr(self, name), 1, MAX_INTERVAL_MS)
        require_whole("ttl_ms", self.ttl_ms, 1, MAX_INTERVAL_MS)
        require_text("reason", self.reason)


class Rule(StrEnum):
    """The step of the governor that changed the answer."""

    BASELINE = "baseline"
    JITTER = "jitter"
    HINT = "hint"
    NEVER_PAST = "never-past"
    BACKOFF = "backoff"
    RETRY = "retry"
    MIN_LIMIT = "min-limit"
    MAX_LIMIT = "max-limit"
    PAUSE = "pause"


@dataclass(frozen=True, slots=True)
class Step(Value):
    """One step of a plan: the rule that spoke, the answer after it, and the duration it used, if any."""

    rule: Rule
    at: int | None
    source: Source
    duration_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Plan(Value):
    """The next run and why: `at` is None when there is none; `attempt` is above 1 for a retry."""

    at: int | None
    source: Source
    attempt: int = 1
    trail: tuple[Step, ...] = ()
