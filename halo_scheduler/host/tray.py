"""Whether the desktop has a tray, found out without a window of our own."""

from __future__ import annotations

import ctypes
import os
import sys
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_uint, c_uint8, c_uint16, c_uint32, c_void_p
from typing import Any

_LIBRARY = "libxcb.so.1"
_IF_IT_EXISTS = 1

_WATCHER = "org.kde.StatusNotifierWatcher"
_WATCHER_PATH = "/StatusNotifierWatcher"
_TAKES_ICONS_IN = "_NET_SYSTEM_TRAY_S%d"


class _Cookie(Structure):
    """What a question gives, by which its answer is taken."""

    _fields_ = (("sequence", c_uint),)


class _Reply(Structure):
    """An answer that is one number: an atom or a window."""

    _fields_ = (
        ("kind", c_uint8),
        ("_", c_uint8),
        ("sequence", c_uint16),
        ("length", c_uint32),
        ("number", c_uint32),
    )


class NoDisplayError(Exception):
    """There is no X display, or none that lets us in."""


def has_selection_owner(selection: str) -> bool:
    """Tell whether somebody on the display has taken a selection; `%d` in it stands for the number of the screen.

    NoDisplayError where there is none; one that does not answer makes this wait.
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
    """Return the number of an answer; 0 when there is none. Its few bytes are never freed: we ask once."""
    return int(reply.contents.number) if reply else 0


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
