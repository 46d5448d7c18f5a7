"""The errors of Halo Scheduler: each message is a sentence the user can act on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self


class SchedulerError(Exception):
    """The base class of all errors of Halo Scheduler; its text says what to fix."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class ScheduleError(SchedulerError, ValueError):
    """A value of a job is invalid.

    `path` names the offending field from the outside in ("policy.retry.delay_ms"); empty for a standalone value.
    """

    def __init__(self, message: str, *, path: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.path = path

    def under(self, key: str) -> Self:
        """Prepend `key` to the path: the field is inside that one."""
        separator = "." if self.path and not self.path.startswith("[") else ""
        self.path = f"{key}{separator}{self.path}"
        return self

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class UnknownFieldError(ScheduleError):
    """A field that a value of the type `owner` does not have; `known` are the names of those it has."""

    def __init__(self, key: str, known: Iterable[str], owner: type) -> None:
        self.known = tuple(known)
        self.owner = owner
        has = f"known are {', '.join(self.known)}" if self.known else "there are none"
        super().__init__(f"is not a known field; {has}", path=key)


class IntervalParseError(ScheduleError):
    """An interval is not of the form "15m"."""

    def __init__(self, message: str, interval: str) -> None:
        super().__init__(message)
        self.args = (message, interval)
        self.interval = interval


class CronParseError(ScheduleError):
    """A cron expression breaks the grammar or can never match."""

    def __init__(self, message: str, expression: str) -> None:
        super().__init__(message)
        self.args = (message, expression)
        self.expression = expression


class PhraseParseError(ScheduleError):
    """A schedule in plain words is not understood or ambiguous.

    Each of the `suggestions` is a valid phrase; `fault` is the message without them.
    """

    def __init__(self, message: str, phrase: str, suggestions: tuple[str, ...] = (), fault: str = "") -> None:
        super().__init__(message)
        self.args = (message, phrase, suggestions, fault)
        self.fault = fault or message
        self.phrase = phrase
        self.suggestions = suggestions


class JobNotFoundError(SchedulerError, LookupError):
    """No job has this id or name."""


class ScheduleTriggerError(SchedulerError):
    """A job cannot be run manually right now; `reason` is one of the skip reasons."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message, reason)
        self.reason = reason


class SchedulerShutdownError(SchedulerError, TimeoutError):
    """Runs had not ended, or were not recorded, when the engine stopped.

    `timed_out` is False for runs that ended in time, but could not be recorded.
    """

    def __init__(self, message: str, running: int, timed_out: bool = True) -> None:  # noqa: FBT001, FBT002 - copied with its arguments
        super().__init__(message, running, timed_out)
        self.running = running
        self.timed_out = timed_out


class StoreError(SchedulerError):
    """The database cannot be used as it is."""


class StoreUnavailableError(StoreError, OSError):
    """The database is locked, read-only, out of disk space or cannot be opened."""


class StoreReplacedError(StoreUnavailableError):
    """The open database file was replaced or deleted, so nothing written to it would be found."""


class UnsafeFilesError(StoreUnavailableError):
    """Another user owns the files of the database, or could change them."""


class StoreFullError(StoreUnavailableError):
    """The disk of the database is full."""


class StoreLockedError(StoreUnavailableError):
    """Another program keeps the database locked for too long."""


class StoreReadOnlyError(StoreUnavailableError):
    """The database can be read, but not written."""


class StoreDamagedError(StoreError):
    """The file is not a database, or is damaged."""


class StoreTooNewError(StoreError):
    """A newer version of the program wrote the database."""


class EngineHeldError(SchedulerError):
    """Another engine runs the jobs of this database; the message names it."""


class StaleEngineError(SchedulerError):
    """Another engine has taken over; this one must stop writing."""
