"""Whether the desktop has a tray, found out without a window of our own."""

from __future__ import annotations

import os
import sys

from halo_scheduler.host.x_display import NoDisplayError, has_selection_owner

_WATCHER = "org.kde.StatusNotifierWatcher"
_WATCHER_PATH = "/StatusNotifierWatcher"
_TAKES_ICONS_IN = "_NET_SYSTEM_TRAY_S%d"


def has_tray() -> bool | None:
    """Tell whether there is a tray; None when that cannot be known here, as where there is no desktop.

    A display that does not answer makes this wait.
    """
    if sys.platform in ("win32", "darwin"):
        return True
    if not any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")):
        return None
    answers = (_has_notifier_host(), _has_embedding_tray())
    return None if answers == (None, None) else any(answers)


def _has_notifier_host() -> bool | None:
    """Tell whether somebody on the session bus shows icons; None when there is no bus."""
    if sys.platform != "linux":
        return None
    from halo_scheduler.host.bus import Bus, BusError, Callee, CallError, ask_properties  # noqa: PLC0415 - only on Linux

    try:
        watcher = ask_properties(Bus.SESSION, Callee(_WATCHER, _WATCHER_PATH, _WATCHER))
    except CallError:
        return False
    except BusError:
        return None
    return watcher.get("IsStatusNotifierHostRegistered") is True


def _has_embedding_tray() -> bool | None:
    """Tell whether a window of the X display takes icons in; None when there is no such display."""
    if not os.environ.get("DISPLAY"):
        return None
    try:
        return has_selection_owner(_TAKES_ICONS_IN)
    except NoDisplayError:
        return None
