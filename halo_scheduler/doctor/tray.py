"""Checks for a system tray."""

from __future__ import annotations

from collections.abc import Iterator

from halo_scheduler.doctor.findings import Finding, Topic, fine, look
from halo_scheduler.doctor.scene import Scene, within
from halo_scheduler.host.tray import has_tray

_TOPIC = Topic.TRAY
_LIMIT_S = 5.0


def check_tray(_scene: Scene) -> Iterator[Finding]:
    """Ask the desktop for a tray; a missing desktop is not a problem."""
    try:
        found = within(_LIMIT_S, has_tray)
    except TimeoutError:
        yield look(_TOPIC, "The display doesn't respond; the tray can't be checked.")
        return
    if found is None:
        yield fine(_TOPIC, "No desktop session; the tray can't be checked.")
    elif found:
        yield fine(_TOPIC, "The desktop has a tray.")
    else:
        what = "No system tray found. Closing the window minimises it."
        yield look(
            _TOPIC, what, "On GNOME, install the extension AppIndicator and KStatusNotifierItem Support"
        )
