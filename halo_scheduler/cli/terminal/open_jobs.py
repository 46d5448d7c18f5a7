"""Opening the jobs for a command that only shows something: also on a disk that cannot be written."""

from __future__ import annotations

from halo_scheduler.cli.terminal.terminal import tell_refusal
from halo_scheduler.service.scheduler import Scheduler


def open_to_read() -> Scheduler:
    """Open the default database, and say so if it can only be read."""
    scheduler = Scheduler.open_to_read()
    tell_refusal(scheduler.refusal)
    return scheduler
