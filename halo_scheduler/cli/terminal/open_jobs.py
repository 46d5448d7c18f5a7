"""Open the database for reading, also on a read-only disk."""

from __future__ import annotations

from halo_scheduler.cli.terminal.terminal import warn_read_only
from halo_scheduler.service.scheduler import Scheduler


def open_to_read() -> Scheduler:
    """Open the default database; print a warning if it can only be read."""
    scheduler = Scheduler.open_to_read()
    warn_read_only(scheduler.refusal)
    return scheduler
