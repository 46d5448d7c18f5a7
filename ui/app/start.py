"""Starts the desktop program, or falls back to the daemon without a display."""

from __future__ import annotations

import argparse
import builtins
import gc
import importlib
import linecache
import logging
import os
import re
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from halo_scheduler.host.process import CORE_LIMIT
from halo_scheduler.paths import database_path

_LOCAL_DISPLAY = re.compile(r"(?:unix)?:(\d+)(?:\.\d+)?")
_TIMEOUT_S = 2.0


def has_display(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether windows can be shown."""
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
        return True  # On another host, or a path: Qt finds out.
    path = f"/tmp/.X11-unix/X{match[1]}"  # noqa: S108 - where X has its sockets
    return any(_answers(address) for address in (path, f"\0{path}"))


def _answers(address: str) -> bool:
    if sys.platform == "win32":
        return False
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_TIMEOUT_S)
        return connection.connect_ex(address) == 0


def main(arguments: Sequence[str]) -> NoReturn:
    """Run the program and exit with its exit code."""
    parser = argparse.ArgumentParser(prog="halo-scheduler", description="Halo Scheduler, the desktop program")
    parser.add_argument("--hidden", action="store_true", help="start in the tray, without a window")
    given = parser.parse_args(arguments)
    if not has_display():
        _run_without_window()
    CORE_LIMIT.lower()
    # Objects loaded so far are permanent; from here on the program collects garbage itself.
    gc.disable()
    load_qt()
    from .program import run_program  # noqa: PLC0415 - Qt's windows, only with a display

    exit_code = run_program(database_path(), hidden=given.hidden)
    # Everything is closed by now. Tearing down Qt and Python object by object is slow and has crashed.
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os._exit(exit_code)


def load_qt() -> None:
    """Import Qt, then remove PySide's import hook.

    The hook reads and caches the source of every imported module to look for `from __feature__ import …`, which
    nothing here uses. It took a tenth of the time until the first window.
    """
    importlib.import_module("PySide6.QtCore")
    builtins.__import__ = getattr(builtins, "__orig_import__", builtins.__import__)
    linecache.clearcache()


def _run_without_window() -> NoReturn:
    sys.stderr.write("halo: no display found; running jobs without a window\n")
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, "-P", "-m", "halo_scheduler", "daemon"])  # noqa: S606 - ourselves
