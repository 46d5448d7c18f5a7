"""Checks the surroundings of the engine: the autostart entry, the system tray, the time zone."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

from halo_scheduler.doctor.scene import Finding, Scene, Topic, fine, look, within, wrong
from halo_scheduler.grammar.zone import machine_zone, read_machine_zone
from halo_scheduler.host.autostart import Autostart, login_command, system_autostart
from halo_scheduler.host.desktop import has_tray

_LIMIT_S = 5.0


def check_autostart(_scene: Scene) -> Iterator[Finding]:
    """Check the entry; one that the user disabled is not a problem."""
    autostart = system_autostart()
    if not autostart.is_on():
        yield fine(Topic.AUTOSTART, "Halo doesn't start at login.", "Turn it on with: halo autostart on")
        return
    if autostart.is_current(login_command()):
        yield fine(Topic.AUTOSTART, f"Halo starts at login by {autostart.where()}.")
        return
    program = autostart.program()
    if shutil.which(program) is None:
        what = f"{autostart.where()} would start {program or 'nothing'} at login, which doesn't exist."
        yield wrong(Topic.AUTOSTART, what, "Fix it with: halo doctor --fix", lambda: _mend(autostart))
        return
    # It may be another installation, or use another data folder; only the user knows which is intended.
    what = f"{autostart.where()} starts another Halo at login, or one with other data ({program})."
    yield look(Topic.AUTOSTART, what, "To start this one instead: halo autostart on")


def _mend(autostart: Autostart) -> str:
    autostart.turn_on(login_command())
    return f"{autostart.where()} starts this Halo at login now."


def check_tray(_scene: Scene) -> Iterator[Finding]:
    """Check whether the desktop has a tray; a missing desktop is not a problem."""
    try:
        found = within(_LIMIT_S, has_tray)
    except TimeoutError:
        yield look(Topic.TRAY, "The display doesn't respond; the tray can't be checked.")
        return
    if found is None:
        yield fine(Topic.TRAY, "No desktop session; the tray can't be checked.")
    elif found:
        yield fine(Topic.TRAY, "The desktop has a tray.")
    else:
        what = "No system tray found. Closing the window minimises it."
        yield look(
            Topic.TRAY, what, "On GNOME, install the extension AppIndicator and KStatusNotifierItem Support"
        )


def check_zone(scene: Scene) -> Iterator[Finding]:
    """Compare the time zone of this terminal with the engine's."""
    try:
        zone = read_machine_zone().key
    except (LookupError, ValueError, OSError) as error:
        zone = machine_zone().key
        yield look(Topic.ZONE, f"{_fault(error)}; Halo uses {zone or 'UTC'}.", _advice())
    else:
        yield fine(Topic.ZONE, f"The time zone is {zone}.")
    row = scene.engine
    if row is not None and scene.has_engine and row.zone != zone:
        what = f"The engine uses the time zone {row.zone or 'UTC'}, this terminal {zone or 'UTC'}."
        yield look(Topic.ZONE, what, "Jobs without a time zone use the engine's; restart Halo if it is wrong")


def _fault(error: Exception) -> str:
    named = os.environ.get("TZ")
    if named:
        return f"TZ is {named!r}, which is not the name of a time zone"
    # A KeyError shows its message in quotes, with escaped line breaks.
    said = str(error.args[0]) if error.args else ""
    return f"The time zone cannot be read ({' '.join(said.split()) or type(error).__name__})"


def _advice() -> str:
    if os.environ.get("TZ"):
        return "Set TZ to a name like Europe/Berlin, or leave it out"
    return "Choose one like this: timedatectl set-timezone Europe/Berlin"
