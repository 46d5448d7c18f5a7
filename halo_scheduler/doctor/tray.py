"""Whether there is a tray for the icon."""

from __future__ import annotations

from collections.abc import Iterator

from halo_scheduler.doctor.findings import Finding, Topic, fine, look
from halo_scheduler.doctor.patience import within
from halo_scheduler.doctor.scene import Scene
from halo_scheduler.host.tray import has_tray

_TOPIC = Topic.TRAY
_LIMIT_S = 5.0


def check_tray(_scene: Scene) -> Iterator[Finding]:
    """Ask the desktop; a terminal without one is no fault."""
    try:
        found = within(_LIMIT_S, has_tray)
    except TimeoutError:
        yield look(_TOPIC, "The display does not answer, so whether there is a tray cannot be told.")
        return
    if found is None:
        yield fine(_TOPIC, "There is no desktop here, so whether it has a tray cannot be told.")
    elif found:
        yield fine(_TOPIC, "The desktop has a tray.")
    else:
        what = "The desktop has no tray: a window that is closed is only minimised."
        yield look(
            _TOPIC, what, "On GNOME, install the extension AppIndicator and KStatusNotifierItem Support"
        )
