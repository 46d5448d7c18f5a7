"""Policies: time limit, retries, back-off, catch-up, daily limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, ClassVar, Self, cast

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.checks import (
    frozen_list,
    require_amount,
    require_choice,
    require_interval,
    require_kind,
    require_whole,
)
from halo_scheduler.grammar.interval import (
    INTERVAL_FORM,
    MAX_INTERVAL_MS,
    MINUTE_MS,
    SECOND_MS,
    parse_interval,
)
from halo_scheduler.model.codec import Value, decode, put
from halo_scheduler.model.conditions import Condition, require_conditions

MOST_CAUGHT_UP = 100
MOST_OUTPUT_BYTES = 64 << 20
"""How much of a run's output can be kept; no more is ever gathered."""


class CatchUp(StrEnum):
    """What happens to a slot missed while no engine was awake."""

    ONCE = "once"
    """Only the newest missed time runs; it counts for the older ones."""
    SKIP = "skip"
    ALL = "all"
    """Each missed time runs, oldest first, up to the policy's limit."""


class Notify(StrEnum):
    """Which results the user is notified about; a job may use the settings' default."""

    NONE = "none"
    FAILURES = "failures"
    ALL = "all"
    SETTINGS = "settings"


class InQuietTime(StrEnum):
    """What happens to a job that is due in quiet hours."""

    WAIT = "wait"
    SKIP = "skip"


class BackoffKind(StrEnum):
    """How failures delay a job."""

    LADDER = "ladder"
    DOUBLE = "double"
    NONE = "none"


_DEFAULT_LADDER_MS = (30 * SECOND_MS, MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS, 60 * MINUTE_MS)
_MOST_RUNGS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff(Value):
    """How failures delay the next run: by increasing delays, by doubling the interval, or not at all."""

    MAX_DOUBLINGS: ClassVar = 5

    kind: BackoffKind = BackoffKind.LADDER
    delays_ms: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        put(self, kind=require_choice(BackoffKind, self.kind, path="kind"))
        put(self, delays_ms=frozen_list("delays_ms", self.delays_ms))
        if self.kind is BackoffKind.LADDER and not self.delays_ms:
            put(self, delays_ms=_DEFAULT_LADDER_MS)
        if self.kind is not BackoffKind.LADDER and self.delays_ms:
            raise ScheduleError("only a ladder has delays", path="delays_ms")
        if len(self.delays_ms) > _MOST_RUNGS:
            raise ScheduleError(f"a ladder has at most {_MOST_RUNGS} delays", path="delays_ms")
        for index, delay_ms in enumerate(self.delays_ms):
            require_whole(f"delays_ms[{index}]", delay_ms, 0, MAX_INTERVAL_MS)

    @classmethod
    def ladder(cls, *delays_ms: int) -> Self:
        """Wait for the n-th delay after n failures in a row; the last one repeats."""
        return cls(kind=BackoffKind.LADDER, delays_ms=delays_ms)

    @classmethod
    def double(cls) -> Self:
        """Double the interval with every failure, at most five times."""
        return cls(kind=BackoffKind.DOUBLE)

    @classmethod
    def none(cls) -> Self:
        """Keep to the schedule."""
        return cls(kind=BackoffKind.NONE)

    def delay_ms(self, errors: int) -> int:
        """Return the delay after this many failures; 0 for the other kinds."""
        return self.delays_ms[min(errors, len(self.delays_ms)) - 1] if errors and self.delays_ms else 0

    def factor(self, errors: int) -> int:
        """Return what a doubling backoff multiplies the interval by; 1 for the other kinds."""
        return 2 ** min(errors, self.MAX_DOUBLINGS) if self.kind is BackoffKind.DOUBLE else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry(Value):
    """How often a failed run is retried, and how long after the failure."""

    attempts: Annotated[int, "how often a failed run is retried"] = 0
    delay_ms: Annotated[int, "delay before each retry"] = MINUTE_MS

    def __post_init__(self) -> None:
        require_whole("attempts", self.attempts, 0, 1_000)
        require_whole("delay_ms", self.delay_ms, 0, MAX_INTERVAL_MS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits(Value):
    """The minimum and maximum time until the next run."""

    min_ms: int | None = None
    max_ms: int | None = None

    def __post_init__(self) -> None:
        for name in ("min_ms", "max_ms"):
            if getattr(self, name) is not None:
                require_whole(name, getattr(self, name), 1, MAX_INTERVAL_MS)
        if self.min_ms is not None and self.max_ms is not None and self.min_ms > self.max_ms:
            raise ScheduleError("must not be longer than the maximum", path="min_ms")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps(Value):
    """The daily limits of a job: number of runs and total cost; a day ends at local midnight."""

    runs_per_day: Annotated[int | None, "scheduled runs are skipped after this many runs in a day"] = None
    cost_per_day: Annotated[
        float | None, "scheduled runs are skipped once the day's runs have cost this much"
    ] = None

    def __post_init__(self) -> None:
        if self.runs_per_day is not None:
            require_whole("runs_per_day", self.runs_per_day, 1, 1_000_000)
        if self.cost_per_day is not None:
            put(self, cost_per_day=require_amount("cost_per_day", self.cost_per_day))


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy(Value):
    """How a job is run; a time limit of None means no limit.

    `reads_lines` enables directives such as `::cost 0.12` in the output; None enables them for prompts only. A due job
    waits until all its `conditions` are met, at most for `condition_deadline`; None means no deadline.
    `assistants_may_run` is a person's consent: without it an assistant can neither run nor resume the job, nor move its
    next run. `output_limit_bytes` is how much of a run's output is kept; None uses the settings.
    """

    time_limit: Annotated[
        str | None, f"runs that take longer are stopped: {INTERVAL_FORM}; null for no limit"
    ] = "2h"
    catch_up: Annotated[CatchUp, "what to do about runs missed while Halo was off"] = CatchUp.ONCE
    catch_up_limit: Annotated[
        int, "with `all`, the maximum number of missed runs to catch up: the newest ones, oldest first"
    ] = 10
    catch_up_max_age: Annotated[
        str | None, f"runs missed longer ago than this aren't caught up: {INTERVAL_FORM}"
    ] = None
    max_errors: Annotated[int, "consecutive failures after which the job is disabled; 0 for never"] = 5
    backoff: Backoff = field(default_factory=Backoff.ladder)
    retry: Retry = field(default_factory=Retry)
    limits: Limits = field(default_factory=Limits)
    jitter_percent: Annotated[int, "random start delay in percent of the interval, 0 to 10"] = 0
    jitter: Annotated[
        str | None, f"random start delay instead, up to this duration: {INTERVAL_FORM}; null for none"
    ] = None
    is_jitter_fixed: Annotated[bool, "whether each run has the same random delay, drawn once per job"] = False
    notify: Annotated[Notify, "which results the user is notified about"] = Notify.FAILURES
    caps: Caps = field(default_factory=Caps)
    reads_lines: Annotated[
        bool | None,
        "whether output lines such as ::cost 0.12 or ::halo every=5m are read; null: for prompts only",
    ] = None
    conditions: Annotated[
        tuple[Condition, ...],
        "conditions that must all be met before a scheduled run starts; it waits until then",
    ] = ()
    condition_deadline: Annotated[
        str | None, f"a run that waits longer for its conditions is skipped: {INTERVAL_FORM}; null for never"
    ] = None
    in_quiet_time: Annotated[InQuietTime, "what to do when the job is due during quiet hours"] = (
        InQuietTime.WAIT
    )
    keep_awake: Annotated[bool, "whether to prevent sleep while it runs"] = False
    assistants_may_run: Annotated[bool, "whether assistants may run it; only a person can change that"] = True
    output_limit_bytes: Annotated[
        int | None, "how much of each run's output to keep; null for the setting"
    ] = None

    def __post_init__(self) -> None:
        for name in ("time_limit", "catch_up_max_age", "condition_deadline", "jitter"):
            if getattr(self, name) is not None:
                require_interval(name, getattr(self, name))
        put(self, catch_up=require_choice(CatchUp, self.catch_up, path="catch_up"))
        require_whole("catch_up_limit", self.catch_up_limit, 1, MOST_CAUGHT_UP)
        require_whole("max_errors", self.max_errors, 0, 1_000_000)
        require_kind("backoff", self.backoff, Backoff, "a Backoff")
        require_kind("retry", self.retry, Retry, "a Retry")
        require_kind("limits", self.limits, Limits, "Limits")
        require_jitter(self.jitter_percent)
        if self.jitter is not None and self.jitter_percent:
            raise ScheduleError("give a duration or a percentage, not both", path="jitter")
        put(self, notify=require_choice(Notify, self.notify, path="notify"))
        require_kind("caps", self.caps, Caps, "Caps")
        if self.reads_lines is not None:
            require_kind("reads_lines", self.reads_lines, bool, "true, false or null")
        put(self, conditions=frozen_list("conditions", self.conditions))
        require_conditions(self.conditions)
        put(self, in_quiet_time=require_choice(InQuietTime, self.in_quiet_time, path="in_quiet_time"))
        for name in ("is_jitter_fixed", "keep_awake", "assistants_may_run"):
            require_kind(name, getattr(self, name), bool, "true or false")
        if self.output_limit_bytes is not None:
            require_whole("output_limit_bytes", self.output_limit_bytes, 0, MOST_OUTPUT_BYTES)

    @property
    def is_newer(self) -> bool:
        """Whether it has settings that files of version 1 do not know."""
        return self.jitter is not None or self.is_jitter_fixed or self.catch_up is CatchUp.ALL

    @property
    def timing(self) -> tuple[object, ...]:
        """What may change the time of a planned run, and which missed runs are caught up."""
        jitter = self.jitter_percent, self.jitter, self.is_jitter_fixed
        catch_up = self.catch_up, self.catch_up_limit, self.catch_up_max_age
        return self.backoff, self.retry, self.limits, jitter, catch_up

    @property
    def time_limit_ms(self) -> int | None:
        return None if self.time_limit is None else parse_interval(self.time_limit)

    @property
    def catch_up_max_age_ms(self) -> int | None:
        return None if self.catch_up_max_age is None else parse_interval(self.catch_up_max_age)

    @property
    def jitter_ms(self) -> int:
        """The longest random delay if it is a duration, else 0."""
        return 0 if self.jitter is None else parse_interval(self.jitter)

    @property
    def has_jitter(self) -> bool:
        """Whether runs start with a random delay."""
        return bool(self.jitter_percent) or self.jitter is not None

    @property
    def condition_deadline_ms(self) -> int | None:
        return None if self.condition_deadline is None else parse_interval(self.condition_deadline)

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Return the policy of a JSON form; missing fields have their defaults."""
        return cast("Self", decode(cls, data))


def require_jitter(percent: object) -> None:
    """Refuse a jitter that is not from 0 to 10 percent."""
    require_whole("jitter_percent", percent, 0, 10)
