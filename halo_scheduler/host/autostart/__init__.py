"""Starting the program when the user logs in, on each system in its own way."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from halo_scheduler.errors import SchedulerError
from halo_scheduler.paths import database_path


class Autostart(Protocol):
    """An entry that makes the system start a command when the user logs in."""

    def is_on(self) -> bool:
        """Tell whether the entry is there and the user has not switched it off in the system's own settings."""

    def is_current(self, command: Sequence[str]) -> bool:
        """Tell whether the entry would start just this command."""

    def program(self) -> str:
        """Return the program that the entry would start; empty when it names none."""

    def turn_on(self, command: Sequence[str]) -> None:
        """Have the command, an argument list, executed at each login."""

    def turn_off(self) -> None:
        """Take the entry away."""

    def where(self) -> str:
        """Name the file or the key that holds the entry."""


def system_autostart() -> Autostart:
    """Return the autostart of this system."""
    if sys.platform == "win32":
        from halo_scheduler.host.autostart.run_key import RunKey, WindowsRegistry  # noqa: PLC0415 - each system loads its own

        return RunKey(WindowsRegistry())
    if sys.platform == "darwin":
        from halo_scheduler.host.autostart.launch_agent import LaunchAgent  # noqa: PLC0415

        return LaunchAgent(variables=_variables())
    from halo_scheduler.host.autostart.xdg import XdgAutostart  # noqa: PLC0415

    return XdgAutostart(variables=_variables())


def login_command(*, hidden: bool = True) -> list[str]:
    """Return what starts this very installation of the desktop program, from any directory."""
    if not sys.executable:
        raise SchedulerError("this Python does not know its own place, so it cannot be started at login")
    # -P: a folder "ui" in the directory the session starts us in is not taken for the program.
    return [_without_console(sys.executable), "-P", "-m", "ui", *(["--hidden"] if hidden else [])]


def _without_console(executable: str) -> str:
    """Return the interpreter as it is, links and all: resolved, it would leave its virtual environment."""
    beside = Path(executable).with_name("pythonw.exe")
    return str(beside) if sys.platform == "win32" and beside.exists() else executable


def _variables() -> dict[str, str]:
    """Return what the session at login may not know: where the data is, when that is not the usual place."""
    home = Path(os.path.abspath(database_path().parent))  # noqa: PTH100 - as given, with its links
    return {} if home == _usual_home() else {"HALO_HOME": str(home)}


def _usual_home() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "halo-scheduler"
    return Path.home() / ".local" / "share" / "halo-scheduler"


__all__ = ["Autostart", "login_command", "system_autostart"]
