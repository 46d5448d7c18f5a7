"""Plans: when a job runs next, by which rules and hints."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.checks import require_choice, require_instant, require_text, require_whole
from halo_scheduler.grammar.interval import DAY_MS, HOUR_MS, MAX_INTERVAL_MS, format_interval
from halo_scheduler.model.codec import Value, put
from halo_scheduler.model.words import HintSource, Source

LONGEST_REASON = 200
LONGEST_TTL_MS = 366 * DAY_MS


class Topic(StrEnum):
    """The topic of a sentence in an explanation, for surfaces that show only some of it."""

    ENGINE = "engine"
    PLAN = "plan"
    WAITING = "waiting"
    CONDITIONS = "conditions"
    CHECKS = "checks"
    """How the conditions are at the moment; to find out may take seconds."""
    ADVICE = "advice"
    CHAIN = "chain"
    ERRORS = "errors"
    ASSISTANTS = "assistants"
    CLOCK = "clock"
    QUESTIONS = "questions"
    RUNS = "runs"
    """How its last runs ended, except successes."""


def require_ttl(ttl_ms: int) -> int:
    """Refuse a hint with too long a lifetime."""
    if ttl_ms > LONGEST_TTL_MS:
        raise ScheduleError(
            f"a hint lasts {format_interval(LONGEST_TTL_MS)} at most; change the schedule instead",
            path="ttl",
        )
    return ttl_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints(Value):
    """Hints on when to run next: a pace, a single run, or both. Each is active until it expires.

    `expires_at`, `reason` and `source` (who gave it) belong to the pace, and to the single run unless it has its own.
    """

    interval_ms: int | None = None
    next_at: int | None = None
    expires_at: int | None = None
    reason: str = ""
    source: HintSource | None = None
    next_expires_at: int | None = None
    next_reason: str = ""
    next_source: HintSource | None = None

    def __post_init__(self) -> None:
        for name in ("source", "next_source"):
            if getattr(self, name) is not None:
                put(self, **{name: require_choice(HintSource, getattr(self, name), path=name)})
        if self.interval_ms is not None:
            require_whole("interval_ms", self.interval_ms, 1, MAX_INTERVAL_MS)
        for name in ("next_at", "expires_at", "next_expires_at"):
            if getattr(self, name) is not None:
                require_instant(name, getattr(self, name))
        require_text("reason", self.reason)
        require_text("next_reason", self.next_reason)
        if self.next_at is not None and self.next_expires_at is None:
            put(self, next_expires_at=self.expires_at, next_reason=self.reason, next_source=self.source)

    def pace_at(self, now_ms: int) -> int | None:
        """Return the hinted interval, if it is active."""
        return self.interval_ms if _counts(self.expires_at, now_ms) else None

    def run_at(self, now_ms: int) -> int | None:
        """Return the instant of the hinted run, if it is active."""
        return self.next_at if _counts(self.next_expires_at, now_ms) else None

    def counting(self, now_ms: int) -> Hints:
        """Return the active hints; expired ones must not become active again when a hint is added."""
        return self.parts(pace=self.pace_at(now_ms) is not None, run=self.run_at(now_ms) is not None)

    def with_advice(self, given: Hints) -> Hints:
        """Return the hints with new ones added: a pace or single run that is not given stays."""
        if given.interval_ms is None and self.interval_ms is not None:
            pace, run = self, given
        elif given.next_at is None and self.next_at is not None:
            pace, run = given, self
        else:
            return given
        return replace(
            pace,
            next_at=run.next_at,
            next_expires_at=run.next_expires_at,
            next_reason=run.next_reason,
            next_source=run.next_source,
        )

    def without_source(self, source: HintSource) -> Hints:
        """Return the hints of all other sources."""
        return self.parts(pace=self.source is not source, run=self.next_source is not source)

    def parts(self, *, pace: bool, run: bool) -> Hints:
        """Return the pace, the single run, or both."""
        has_pace, has_run = pace and self.interval_ms is not None, run and self.next_at is not None
        if has_pace and has_run:
            return self
        if has_pace:
            return Hints(
                interval_ms=self.interval_ms,
                expires_at=self.expires_at,
                reason=self.reason,
                source=self.source,
            )
        if has_run:
            return Hints(
                next_at=self.next_at,
                expires_at=self.next_expires_at,
                reason=self.next_reason,
                source=self.next_source,
            )
        return Hints()


def _counts(expires_at: int | None, now_ms: int) -> bool:
    return expires_at is not None and expires_at > now_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal(Value):
    """A run's hint for its own job: a pace, a single run some time after its end, or both, for a while."""

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
    """A rule of the governor that changed the plan."""

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
    """One step of a plan: the rule, the planned instant after it, and the duration it used, if any."""

    rule: Rule
    at: int | None
    source: Source
    duration_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Plan(Value):
    """The next run and why: `at` is None if there is none; `attempt` is above 1 for a retry.

    `keys` name those of several schedules that the run comes from.
    """

    at: int | None
    source: Source
    attempt: int = 1
    trail: tuple[Step, ...] = ()
    keys: tuple[str, ...] = ()
