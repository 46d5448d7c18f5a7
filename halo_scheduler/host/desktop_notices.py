"""Desktop notifications for programs without a window, such as the daemon."""

from __future__ import annotations

import sys
from collections.abc import Callable
from html import escape
from typing import Any

from halo_scheduler.grammar.text import plain_line

_NAME = "org.freedesktop.Notifications"
_LONGEST_TITLE = 200
_LONGEST_LINE = 240
_AS_LONG_AS_THE_DESKTOP_LIKES = -1
_NORMAL = 1
_SNOOZE = "snooze"
# After that nobody waits any more for a click.
_LONGEST_WAIT_S = 3_600.0


def show_on_desktop(title: str, text: str, snooze_label: str, accepted: Callable[[], None]) -> bool:
    """Show a notification; OSError when no notification service accepts it. It may take seconds.

    Once it is `accepted`, wait until it is closed, for an hour at most, and return whether it is to be snoozed.
    """
    if sys.platform != "linux":
        raise OSError("only Linux desktops can be reached")
    from halo_scheduler.host.bus import (  # noqa: PLC0415 - if needed
        Bus,
        BusConnection,
        BusError,
        Callee,
        method_call,
        signals_of,
    )

    callee = Callee(_NAME, "/org/freedesktop/Notifications", _NAME)
    with BusConnection(Bus.SESSION) as connection:
        connection.call(signals_of(_NAME))
        match connection.call(method_call(callee, "GetCapabilities", starts_service=True)):
            case (list(capabilities),):
                body = _body(title, text, snooze_label, frozenset(map(str, capabilities)))
            case _:
                body = _body(title, text, snooze_label, frozenset())
        answer = connection.call(method_call(callee, "Notify", "susssasa{sv}i", body, starts_service=True))
        accepted()
        try:
            while answer and (signal := connection.next_signal(_LONGEST_WAIT_S)) is not None:
                match signal:
                    case "ActionInvoked", (number, "snooze") if number == answer[0]:
                        return True
                    case "NotificationClosed", (number, *_) if number == answer[0]:
                        return False
        except BusError:
            pass  # The desktop has gone; the notification was shown.
    return False


def _body(title: str, text: str, snooze_label: str, capabilities: frozenset[str]) -> tuple[Any, ...]:
    shown = "\n".join(_plain(line, _LONGEST_LINE) for line in text.splitlines())
    return (
        "Halo Scheduler",
        0,
        "halo-scheduler",
        _plain(title, _LONGEST_TITLE),
        # A service that knows markup would interpret "<b>" in a text.
        escape(shown, quote=False) if "body-markup" in capabilities else shown,
        [_SNOOZE, snooze_label] if "actions" in capabilities else [],
        {"urgency": ("y", _NORMAL), "desktop-entry": ("s", "halo-scheduler")},
        _AS_LONG_AS_THE_DESKTOP_LIKES,
    )


def _plain(text: str, longest: int) -> str:
    """Return a text as one plain line."""
    return plain_line(text, longest).encode(errors="replace").decode()
