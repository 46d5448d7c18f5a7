"""The enums of jobs and runs: outcomes, triggers, reasons."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """How a run ended, or that it is running."""

    RUNNING = "running"
    SUCCESS = "success"
    FAILURE = "failure"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"
    MISSED = "missed"
    INTERRUPTED = "interrupted"


ERRORS = (Outcome.FAILURE, Outcome.TIMEOUT)
"""The outcomes that count as errors of the job itself."""
FAILURES = (*ERRORS, Outcome.INTERRUPTED)
"""The outcomes of runs that started and did not do their work."""
PROBLEMS = (*FAILURES, Outcome.MISSED)
"""The outcomes that need attention."""


class Trigger(StrEnum):
    """What started a run."""

    SCHEDULE = "schedule"
    EVENT = "event"
    MANUAL = "manual"
    CHAIN = "chain"
    ANSWER = "answer"
    TEST = "test"


class Source(StrEnum):
    """Which rule determined the time of a run."""

    EVERY = "every"
    AFTER = "after"
    CRON = "cron"
    ONCE = "once"
    HINT_INTERVAL = "hint-interval"
    HINT_ONCE = "hint-once"
    CLAMPED_MIN = "clamped-min"
    CLAMPED_MAX = "clamped-max"
    BACKOFF = "backoff"
    RETRY = "retry"
    CATCH_UP = "catch-up"
    PAUSED = "paused"
    MANUAL = "manual"


BY_SCHEDULE = (Source.EVERY, Source.AFTER, Source.CRON, Source.ONCE)
"""The rules that are schedules; each has the kind of its schedule as its value."""


class SkipReason(StrEnum):
    """Why a job did not run."""

    DISABLED = "disabled"
    PAUSED = "paused"
    ALREADY_RUNNING = "already_running"
    ALREADY_QUEUED = "already_queued"
    AT_CAPACITY = "at_capacity"
    NOT_DUE = "not_due"
    NO_WORK = "no_work"
    CONDITION = "condition"
    QUIET_TIME = "quiet_time"
    CAP = "cap"
    NEEDS_INPUT = "needs_input"
    SOURCE_UNAVAILABLE = "source_unavailable"
    MISSED = "missed"
    UNSUPPORTED_TYPE = "unsupported_type"
    RESTARTED = "restarted"
    USER = "user"


class PassedReason(StrEnum):
    """Why a time of a schedule had no run of its own; the next run covers it."""

    RUNNING = "running"
    BACKOFF = "backoff"
    HINT = "hint"
    LIMITS = "limits"
    EDITED = "edited"
    PAUSED = "paused"
    DISABLED = "disabled"
    DOWNTIME = "downtime"
    SLEEP = "sleep"
    DELAYED = "delayed"
    AT_CAPACITY = "at capacity"
    CONDITION = "condition"
    QUIET_TIME = "quiet time"
    RESOURCES = "no resources"
    DISK_FULL = "disk full"
    OUTAGE = "database unavailable"
    CLOCK_WENT_BACK = "clock went back"
    ZONE_CHANGED = "zone changed"


class JobStatus(StrEnum):
    """A job's status; running takes precedence over paused."""

    IDLE = "idle"
    RUNNING = "running"
    PAUSED = "paused"
    DISABLED = "disabled"


class StatusReason(StrEnum):
    """Why a job has its status."""

    USER = "user"
    ERRORS = "errors"
    DONE = "done"
    IMPORTED = "imported"
    ASSISTANT = "assistant"
    """An assistant created or changed the job, and a person has not reviewed it yet."""
    PAUSED_BY_ASSISTANT = "paused_by_assistant"


class WaitingFor(StrEnum):
    """What a due run waits for; its parameters are `WaitingDetails`."""

    AT_CAPACITY = "at_capacity"
    CONDITION = "condition"
    QUIET_TIME = "quiet_time"
    PREVIOUS_RUN = "previous_run"
    OUTPUT = "output"
    START = "start"
    # Claimed, but the computer cannot start it right now; the start is retried for a while.
    RESOURCES = "resources"
    DISK_SPACE = "disk_space"

    @property
    def is_for_start(self) -> bool:
        """Whether a run is claimed, but the computer cannot start it yet."""
        return self in (WaitingFor.RESOURCES, WaitingFor.DISK_SPACE)


class HintSource(StrEnum):
    """Who gave a hint."""

    USER = "user"
    PROGRAM = "program"
    ASSISTANT = "assistant"
    JOB = "job"


class FollowOn(StrEnum):
    """After which results the other job runs."""

    SUCCESS = "success"
    FAILURE = "failure"
    ALWAYS = "always"


class Shortage(StrEnum):
    """What the computer lacks to start a run."""

    FILES = "files"
    PROCESSES = "processes"
    MEMORY = "memory"
    DISK = "disk"

    @property
    def waiting_for(self) -> WaitingFor:
        """What a run waits for until the shortage is over."""
        return WaitingFor.DISK_SPACE if self is Shortage.DISK else WaitingFor.RESOURCES
