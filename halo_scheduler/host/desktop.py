"""The desktop without a window: messages for its notification service, and whether it has a tray."""

from __future__ import annotations

import ctypes
import os
import sys
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_uint, c_uint8, c_uint16, c_uint32, c_void_p
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
_LIBRARY = "libxcb.so.1"
_IF_IT_EXISTS = 1

_WATCHER = "org.kde.StatusNotifierWatcher"
_WATCHER_PATH = "/StatusNotifierWatcher"
_TAKES_ICONS_IN = "_NET_SYSTEM_TRAY_S%d"


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
        # A service with markup would interpret "<b>" in a text.
        escape(shown, quote=False) if "body-markup" in capabilities else shown,
        actions if "actions" in capabilities else [],
        {"urgency": ("y", _CRITICAL if is_urgent else _NORMAL), "desktop-entry": ("s", "halo-scheduler")},
        _AS_LONG_AS_THE_DESKTOP_LIKES,
    )


def _plain(text: str, longest: int) -> str:
    """Return one line that a message can carry; a lone surrogate, from undecodable output, cannot be sent."""
    return plain_line(text, longest).encode(errors="replace").decode()


class _Cookie(Structure):
    """The handle of a request, used to fetch its reply."""

    _fields_ = (("sequence", c_uint),)


class _Reply(Structure):
    """A reply with one number: an atom or a window."""

    _fields_ = (
        ("kind", c_uint8),
        ("_", c_uint8),
        ("sequence", c_uint16),
        ("length", c_uint32),
        ("number", c_uint32),
    )


class NoDisplayError(Exception):
    """There is no X display, or it refuses the connection."""


def has_selection_owner(selection: str) -> bool:
    """Return whether a selection on the display has an owner; `%d` in its name stands for the screen number.

    NoDisplayError without a display; blocks while a display does not answer.
    """
    library = _load()
    screen = c_int(0)
    display = library.xcb_connect(None, byref(screen))
    try:
        if library.xcb_connection_has_error(display):
            raise NoDisplayError
        name = selection.replace("%d", str(screen.value)).encode()
        asked = library.xcb_intern_atom(display, _IF_IT_EXISTS, len(name), name)
        atom = _number(library.xcb_intern_atom_reply(display, asked, None))
        if not atom:
            return False
        asked = library.xcb_get_selection_owner(display, atom)
        return bool(_number(library.xcb_get_selection_owner_reply(display, asked, None)))
    finally:
        library.xcb_disconnect(display)


def _load() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(_LIBRARY)
    except OSError as error:
        raise NoDisplayError from error
    functions = {
        "xcb_connect": (c_void_p, [c_char_p, POINTER(c_int)]),
        "xcb_connection_has_error": (c_int, [c_void_p]),
        "xcb_disconnect": (None, [c_void_p]),
        "xcb_intern_atom": (_Cookie, [c_void_p, c_uint8, c_uint16, c_char_p]),
        "xcb_intern_atom_reply": (POINTER(_Reply), [c_void_p, _Cookie, c_void_p]),
        "xcb_get_selection_owner": (_Cookie, [c_void_p, c_uint32]),
        "xcb_get_selection_owner_reply": (POINTER(_Reply), [c_void_p, _Cookie, c_void_p]),
    }
    for name, (result, arguments) in functions.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def _number(reply: Any) -> int:
    """Return the number of a reply; 0 without one. Its few bytes are never freed, as we ask once."""
    return int(reply.contents.number) if reply else 0


def has_tray() -> bool | None:
    """Return whether there is a tray; None if unknown, as without a desktop.

    Blocks while a display does not answer.
    """
    if sys.platform in ("win32", "darwin"):
        return True
    if not any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")):
        return None
    answers = (_has_notifier_host(), _has_embedding_tray())
    return None if answers == (None, None) else any(answers)


def _has_notifier_host() -> bool | None:
    """Return whether a status notifier host is on the session bus; None without a bus."""
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
    """Return whether the X display has a system tray window; None without a display."""
    if not os.environ.get("DISPLAY"):
        return None
    try:
        return has_selection_owner(_TAKES_ICONS_IN)
    except NoDisplayError:
        return None
