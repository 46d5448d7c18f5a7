"""Starting the desktop program, or telling why it cannot be."""

from __future__ import annotations

import argparse
import importlib
import linecache
import logging
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from halo_scheduler.home import database_path

from .display import has_display


def main(arguments: Sequence[str]) -> NoReturn:
    """Run the program and leave with its exit code."""
    parser = argparse.ArgumentParser(prog="halo-scheduler", description="Halo Scheduler, the desktop program")
    parser.add_argument("--hidden", action="store_true", help="start into the tray, without a window")
    given = parser.parse_args(arguments)
    if not has_display():
        _run_without_window()
    # The backend first: PySide reads the source of every module that is imported after it, and keeps what it read.
    importlib.import_module("halo_scheduler.service")
    from .app import run_program  # noqa: PLC0415 - Qt's windows, for those who have a screen

    linecache.clearcache()
    exit_code = run_program(database_path(), hidden=given.hidden)
    # Everything is closed by now. Taking Qt and Python apart object by object is slow, and has crashed.
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os._exit(exit_code)


def _run_without_window() -> NoReturn:
    sys.stderr.write("halo: there is no display here, so the jobs are run without a window\n")
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, "-P", "-m", "halo_scheduler", "daemon"])  # noqa: S606 - ourselves
