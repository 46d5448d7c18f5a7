"""Start at login on Windows: a value under the user's Run key."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from typing import Protocol

from halo_scheduler.errors import SchedulerError

if sys.platform == "win32":
    import winreg

    class WindowsRegistry:
        """Values under HKEY_CURRENT_USER."""

        def read(self, key: str, name: str) -> object:
            """Return a value; None if there is none."""
            try:
                with winreg.OpenKey(winreg.HKEY_CURRENT_USER, key) as opened:
                    return winreg.QueryValueEx(opened, name)[0]
            except FileNotFoundError:
                return None

        def write(self, key: str, name: str, text: str) -> None:
            """Store a text, creating the key if needed."""
            with winreg.CreateKey(winreg.HKEY_CURRENT_USER, key) as opened:
                winreg.SetValueEx(opened, name, 0, winreg.REG_SZ, text)

        def delete(self, key: str, name: str) -> None:
            """Remove a value, if it exists."""
            try:
                with winreg.OpenKey(winreg.HKEY_CURRENT_USER, key, 0, winreg.KEY_SET_VALUE) as opened:
                    winreg.DeleteValue(opened, name)
            except FileNotFoundError:
                return


_NAME = "HaloScheduler"
_RUN = r"Software\Microsoft\Windows\CurrentVersion\Run"
# Where the Task Manager stores disabled entries: bytes, with an odd first byte for "disabled".
_APPROVED = r"Software\Microsoft\Windows\CurrentVersion\Explorer\StartupApproved\Run"
# Windows silently ignores longer commands.
_LONGEST_COMMAND = 260


class Registry(Protocol):
    """Access to the user's part of the registry."""

    def read(self, key: str, name: str) -> object:
        """Return a value; None if there is none."""

    def write(self, key: str, name: str, text: str) -> None:
        """Store a text, creating the key if needed."""

    def delete(self, key: str, name: str) -> None:
        """Remove a value, if it exists."""


class RunKey:
    """The value `HaloScheduler` under the Run key."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def is_on(self) -> bool:
        """Return whether the value exists and is not disabled in the Task Manager."""
        if not self._command_line():
            return False
        approved = self._ask_approved()
        return not (isinstance(approved, bytes) and approved and approved[0] % 2)

    def is_current(self, command: Sequence[str]) -> bool:
        """Return whether the value starts exactly this command."""
        return self._command_line() == subprocess.list2cmdline(command)

    def program(self) -> str:
        """Return the program that the value starts; empty if it names none."""
        line = self._command_line().strip()
        return line[1:].partition('"')[0] if line.startswith('"') else line.partition(" ")[0]

    def turn_on(self, command: Sequence[str]) -> None:
        """Write the value, and re-enable it in the Task Manager."""
        line = subprocess.list2cmdline(command)
        if len(line) > _LONGEST_COMMAND:
            raise SchedulerError(
                f"Windows starts no command of more than {_LONGEST_COMMAND} characters at login, and this one has "
                f"{len(line)}; install Halo in a folder with a shorter path"
            )
        try:
            self._registry.write(_RUN, _NAME, line)
            self._registry.delete(_APPROVED, _NAME)
        except OSError as error:
            raise _refused("written", error) from error

    def turn_off(self) -> None:
        """Remove the value."""
        try:
            self._registry.delete(_RUN, _NAME)
        except OSError as error:
            raise _refused("removed", error) from error

    def where(self) -> str:
        """Return the key and the value's name."""
        return rf"HKEY_CURRENT_USER\{_RUN}\{_NAME}"

    def _command_line(self) -> str:
        try:
            line = self._registry.read(_RUN, _NAME)
        except OSError as error:
            raise _refused("read", error) from error
        return line if isinstance(line, str) else ""

    def _ask_approved(self) -> object:
        try:
            return self._registry.read(_APPROVED, _NAME)
        except OSError as error:
            raise _refused("read", error) from error


def _refused(verb: str, error: OSError) -> SchedulerError:
    return SchedulerError(
        f"the entry in the registry cannot be {verb}: {error.strerror or error}; "
        "the administrator may have locked the settings for programs at login"
    )
