"""Whether there is a screen to show windows on; Qt itself would end the program without one."""

from __future__ import annotations

import os
import re
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

_LOCAL_DISPLAY = re.compile(r"(?:unix)?:(\d+)(?:\.\d+)?")
_TIMEOUT_S = 2.0


def has_display(environment: Mapping[str, str] = os.environ) -> bool:
    """Tell whether windows can be shown."""
    if not sys.platform.startswith("linux") or environment.get("QT_QPA_PLATFORM", "") not in (
        "",
        "xcb",
        "wayland",
    ):
        return True
    return _has_wayland(environment) or _has_x(environment.get("DISPLAY", ""))


def _has_wayland(environment: Mapping[str, str]) -> bool:
    name = environment.get("WAYLAND_DISPLAY", "")
    return bool(name) and (Path(environment.get("XDG_RUNTIME_DIR", "")) / name).exists()


def _has_x(display: str) -> bool:
    if not display:
        return False
    match = _LOCAL_DISPLAY.fullmatch(display)
    if match is None:
        return True  # On another machine, or a path: Qt finds out.
    path = f"/tmp/.X11-unix/X{match[1]}"  # noqa: S108 - where X has its sockets
    return any(_answers(address) for address in (path, f"\0{path}"))


def _answers(address: str) -> bool:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_TIMEOUT_S)
        return connection.connect_ex(address) == 0
