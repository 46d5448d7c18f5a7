"""Checks the autostart entry."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from halo_scheduler.doctor.findings import Finding, Topic, fine, look, wrong
from halo_scheduler.doctor.scene import Scene
from halo_scheduler.host.autostart import Autostart, login_command, system_autostart

_TOPIC = Topic.AUTOSTART


def check_autostart(_scene: Scene) -> Iterator[Finding]:
    """Check the entry; one that the user disabled is not a problem."""
    autostart = system_autostart()
    if not autostart.is_on():
        yield fine(_TOPIC, "Halo doesn't start at login.", "Turn it on with: halo autostart on")
        return
    if autostart.is_current(login_command()):
        yield fine(_TOPIC, f"Halo starts at login by {autostart.where()}.")
        return
    program = autostart.program()
    if shutil.which(program) is None:
        what = f"{autostart.where()} would start {program or 'nothing'} at login, which doesn't exist."
        yield wrong(_TOPIC, what, "Fix it with: halo doctor --fix", lambda: _mend(autostart))
        return
    # It may be another installation, or use another data folder: only the user knows which one is intended.
    what = f"{autostart.where()} starts another Halo at login, or one with other data ({program})."
    yield look(_TOPIC, what, "To start this one instead: halo autostart on")


def _mend(autostart: Autostart) -> str:
    autostart.turn_on(login_command())
    return f"{autostart.where()} starts this Halo at login now."
