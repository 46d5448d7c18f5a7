"""The errors of Halo Scheduler: each message is a sentence the user can act on."""

from __future__ import annotations

from typing import Self


class SchedulerError(Exception):
    """The root of everything Halo Scheduler raises on purpose; its first argument is the sentence."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class ScheduleError(SchedulerError, ValueError):
    """A part of a job's spec cannot be used as given.

    `path` names the offending field from the outside in ("policy.retry.delay_ms"); empty when the value
    stands for itself.
    """

    def __init__(self, message: str, *, path: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.path = path

    def under(self, key: str) -> Self:
        """Put `key` in front of the path: the field was found inside that one."""
        separator = "." if self.path and not self.path.startswith("[") else ""
        self.path = f"{key}{separator}{self.path}"
        return self

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class IntervalParseError(ScheduleError):
    """An interval text is not of the form "15m"."""

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


class JobNotFoundError(SchedulerError, LookupError):
    """No job has this id or name."""


class ScheduleTriggerError(SchedulerError):
    """A job cannot be started by hand right now; `reason` is one of the skip reasons."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message, reason)
        self.reason = reason


class SchedulerShutdownError(SchedulerError, TimeoutError):
    """Runs were still under way when the time to stop was over."""

    def __init__(self, message: str, running: int) -> None:
        super().__init__(message, running)
        self.running = running


class StoreError(SchedulerError):
    """The database cannot be used as it is."""


class StoreUnavailableError(StoreError, OSError):
    """The database is locked, read-only, out of disk space or cannot be opened."""


class StoreReplacedError(StoreUnavailableError):
    """Another file, or none, is in the place of the open database: nobody will find what is written."""


class UnsafeFilesError(StoreUnavailableError):
    """Somebody else owns the files of the database, or could change them."""


class StoreFullError(StoreUnavailableError):
    """The disk of the database has no room left."""


class StoreReadOnlyError(StoreUnavailableError):
    """The database can be read, but not written."""


class StoreDamagedError(StoreError):
    """The file is no database, or a broken one."""


class StoreTooNewError(StoreError):
    """A newer version of the program wrote the database."""


class SecretError(SchedulerError):
    """A secret cannot be kept or had."""


class EngineHeldError(SchedulerError):
    """Another engine runs the jobs of this database; the message names it."""


class StaleEngineError(SchedulerError):
    """Another engine has taken over: this one must not write any more."""
