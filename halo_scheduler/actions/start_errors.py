"""What keeps a run from starting, and whether that is the job's own fault."""

from __future__ import annotations

import errno
from typing import NamedTuple

from halo_scheduler.errors import SchedulerError, StoreError
from halo_scheduler.model import Outcome, SkipReason, WaitingFor
from halo_scheduler.work_sources.item import NoWorkError, SourceError


class _Shortage(NamedTuple):
    """What a machine lacks, as a sentence and as it stands behind "waiting for"."""

    sentence: str
    awaited: str
    waiting_for: WaitingFor = WaitingFor.RESOURCES


_TOO_MANY_FILES = _Shortage("too many files are open on this machine", "free file descriptors to start")
_DISK_FULL = _Shortage("the disk is full", "free disk space to start", WaitingFor.DISK_SPACE)
_SHORTAGES = {
    errno.EMFILE: _TOO_MANY_FILES,
    errno.ENFILE: _TOO_MANY_FILES,
    errno.EAGAIN: _Shortage("too many processes run on this machine", "room for another process to start"),
    errno.ENOMEM: _Shortage("this machine has too little memory left", "free memory to start"),
    errno.ENOSPC: _DISK_FULL,
    getattr(errno, "EDQUOT", errno.ENOSPC): _DISK_FULL,
}
# What Python says where the system has no thread to give.
_NO_THREAD = "can't start new thread"


class LaunchError(SchedulerError):
    """A process cannot be started; the message is the run's error."""


class ShortageError(LaunchError):
    """The machine has no room for another process at the moment: no fault of the job's, and worth another try."""

    def __init__(self, shortage: _Shortage) -> None:
        super().__init__(f"it could not be started: {shortage.sentence}")
        self.waiting_for = shortage.waiting_for
        self.awaited = shortage.awaited


NO_FORK = "it could not be started: too many processes run on this machine, or it has too little memory left"
"""Said of a shim that started but could not start the program."""


def launch_error(error: OSError | ValueError) -> LaunchError:
    """Return what the system said at a start as a sentence."""
    number = getattr(error, "errno", None)
    if number in _SHORTAGES:
        return ShortageError(_SHORTAGES[number])
    said = getattr(error, "strerror", None) or str(error)
    return LaunchError(f"it could not be started: {said.lower()}")


def why_not_started(error: Exception) -> tuple[Outcome, SkipReason | None, str]:
    """Return how a run ends that could not be started.

    What the machine or the database lacks is not the job's error, and must not disable it: such a run is
    interrupted, which a retry may make good and which counts for nothing else.
    """
    lacking = _lacking(error)
    if lacking:
        return Outcome.INTERRUPTED, None, lacking
    match error:
        case NoWorkError():
            return Outcome.SKIPPED, SkipReason.NO_WORK, ""
        case SourceError():
            return Outcome.FAILURE, SkipReason.SOURCE_UNAVAILABLE, str(error)
        case SchedulerError():
            return Outcome.FAILURE, None, str(error)
        case _:
            return Outcome.FAILURE, None, f"it could not be started: {error}"


def _lacking(error: Exception) -> str:
    """Return what the machine or the database lacks, as a sentence; nothing when it lacks nothing."""
    match error:
        case ShortageError():
            return str(error)
        case StoreError():
            return f"it could not be started: {error}"
        case OSError() if error.errno in _SHORTAGES:
            return str(launch_error(error))
        case RuntimeError() if str(error).startswith(_NO_THREAD):
            return NO_FORK
        case _:
            return ""
