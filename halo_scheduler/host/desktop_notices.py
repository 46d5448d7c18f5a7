"""What the desktop's notification service is sent, by the desktop program and by runs of reminders."""

from __future__ import annotations

from html import escape
from typing import Any

from halo_scheduler.grammar.text import plain_line
from halo_scheduler.host.bus import Callee

NAME = "org.freedesktop.Notifications"
SERVICE = Callee(NAME, "/org/freedesktop/Notifications", NAME)
NOTIFY_SIGNATURE = "susssasa{sv}i"
_AS_LONG_AS_THE_DESKTOP_LIKES = -1
_NORMAL, _CRITICAL = 1, 2
_LONGEST_TITLE = 200
_LONGEST_LINE = 240


def notify_body(
    title: str,
    text: str,
    *,
    capabilities: frozenset[str],
    actions: list[str],
    icon: str = "halo-scheduler",
    replaces: int = 0,
    is_urgent: bool = False,
) -> tuple[Any, ...]:
    """Return the arguments of `Notify`; `actions` are names, each followed by its label."""
    shown = "\n".join(_plain(line, _LONGEST_LINE) for line in text.splitlines())
    return (
        "Halo Scheduler",
        replaces,
        icon,
        _plain(title, _LONGEST_TITLE),
        # A service that knows markup would interpret "<b>" in a text.
        escape(shown, quote=False) if "body-markup" in capabilities else shown,
        actions if "actions" in capabilities else [],
        {"urgency": ("y", _CRITICAL if is_urgent else _NORMAL), "desktop-entry": ("s", "halo-scheduler")},
        _AS_LONG_AS_THE_DESKTOP_LIKES,
    )


def _plain(text: str, longest: int) -> str:
    """Return one line that a message can carry; a lone surrogate, from undecodable output, cannot be sent."""
    return plain_line(text, longest).encode(errors="replace").decode()
