"""`halo` without a command: the desktop program, or the daemon without a display."""

from __future__ import annotations

import os
import subprocess
import sys

from halo_scheduler.cli.commands.daemon import run_without_window


def open_desktop(*, hidden: bool) -> int:
    """Replace this process by the desktop program; without a display, run the daemon and return its exit code."""
    if not _has_display():
        return run_without_window()
    # -P: a folder named "ui" in the current directory must not be imported.
    program = [sys.executable, "-P", "-m", "ui", *(["--hidden"] if hidden else [])]
    if os.name == "posix":
        os.execv(program[0], program)  # noqa: S606 - ourselves
    return subprocess.run(program, check=False).returncode  # noqa: S603 - ourselves


def _has_display() -> bool:
    """Tell whether a display is configured; the desktop program checks whether it works."""
    if not sys.platform.startswith("linux"):
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
