"""Starting the program at login, implemented per system."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from halo_scheduler.errors import SchedulerError
from halo_scheduler.paths import database_path


class Autostart(Protocol):
    """A login entry that makes the system start a command."""

    def is_on(self) -> bool:
        """Return whether the entry exists and is not disabled in the system's own settings."""

    def is_current(self, command: Sequence[str]) -> bool:
        """Return whether the entry starts exactly this command."""

    def program(self) -> str:
        """Return the program that the entry starts; empty if it names none."""

    def turn_on(self, command: Sequence[str]) -> None:
        """Run the command, an argument list, at each login."""

    def turn_off(self) -> None:
        """Remove the entry."""

    def where(self) -> str:
        """Return the file or registry key of the entry."""


def system_autostart() -> Autostart:
    """Return the autostart implementation of this system."""
    if sys.platform == "win32":
        from halo_scheduler.host.autostart.run_key import RunKey, WindowsRegistry  # noqa: PLC0415 - each system loads its own

        return RunKey(WindowsRegistry())
    if sys.platform == "darwin":
        from halo_scheduler.host.autostart.entry_files import LaunchAgent  # noqa: PLC0415

        return LaunchAgent(variables=_variables())
    from halo_scheduler.host.autostart.entry_files import XdgAutostart  # noqa: PLC0415

    return XdgAutostart(variables=_variables())


def login_command(*, hidden: bool = True) -> list[str]:
    """Return the command that starts this installation of the desktop program from any directory."""
    if not sys.executable:
        raise SchedulerError("the path of this Python is unknown, so it cannot be started at login")
    # -P: a folder "ui" in the session's working directory must not be imported.
    return [_without_console(sys.executable), "-P", "-m", "ui", *(["--hidden"] if hidden else [])]


def _without_console(executable: str) -> str:
    """Return the interpreter path with its links unresolved, because resolving would leave the virtual environment."""
    beside = Path(executable).with_name("pythonw.exe")
    return str(beside) if sys.platform == "win32" and beside.exists() else executable


def _variables() -> dict[str, str]:
    """Return the variables that a login session lacks: the data folder, if it is not the default."""
    home = Path(os.path.abspath(database_path().parent))  # noqa: PTH100 - as given, with its links
    return {} if home == _usual_home() else {"HALO_HOME": str(home)}


def _usual_home() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "halo-scheduler"
    return Path.home() / ".local" / "share" / "halo-scheduler"


__all__ = ["Autostart", "login_command", "system_autostart"]
