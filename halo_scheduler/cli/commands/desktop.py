"""`halo` alone: the desktop program, or the daemon where there is no display."""

from __future__ import annotations

import os
import subprocess
import sys

from halo_scheduler.cli.commands.daemon import run_without_window


def open_desktop(*, hidden: bool) -> int:
    """Become the desktop program; without a display say so, run the jobs, and return the exit code."""
    if not _has_display():
        return run_without_window()
    # -P: a folder called "ui" where the command was given is none of ours.
    program = [sys.executable, "-P", "-m", "ui", *(["--hidden"] if hidden else [])]
    if os.name == "posix":
        os.execv(program[0], program)  # noqa: S606 - ourselves
    return subprocess.run(program, check=False).returncode  # noqa: S603 - ourselves


def _has_display() -> bool:
    """Tell whether there seems to be a display; the desktop program itself looks closer."""
    if not sys.platform.startswith("linux"):
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
