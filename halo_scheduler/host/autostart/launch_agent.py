"""Start at login on macOS: a property list for launchd in the user's own folder."""

from __future__ import annotations

import plistlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.parsers.expat import ExpatError

from halo_scheduler.host.autostart import entry_file

_LABEL = "io.github.halo-scheduler"


class LaunchAgent:
    """The launch agent `io.github.halo-scheduler`."""

    def __init__(self, *, folder: Path | None = None, variables: Mapping[str, str] | None = None) -> None:
        """Take the folder of the agent, the user's own by default, and variables to be set for the program."""
        self._path = (folder or Path.home() / "Library" / "LaunchAgents") / f"{_LABEL}.plist"
        self._variables = dict(variables or {})

    def is_on(self) -> bool:
        """Tell whether the agent is there and not disabled in its own file."""
        agent = self._agent()
        return (
            bool(agent.get("ProgramArguments"))
            and agent.get("RunAtLoad") is True
            and not agent.get("Disabled")
        )

    def is_current(self, command: Sequence[str]) -> bool:
        """Tell whether the agent would start just this command."""
        agent = self._agent()
        variables = agent.get("EnvironmentVariables", {})
        return agent.get("ProgramArguments") == list(command) and variables == self._variables

    def program(self) -> str:
        """Return the program that the agent would start; empty when it names none."""
        arguments = self._agent().get("ProgramArguments")
        return str(arguments[0]) if isinstance(arguments, list) and arguments else ""

    def turn_on(self, command: Sequence[str]) -> None:
        """Write the agent. It is read at the next login: the program that asks for it already runs."""
        agent = {
            "Label": _LABEL,
            "ProgramArguments": list(command),
            "RunAtLoad": True,
            "ProcessType": "Interactive",
            "LimitLoadToSessionType": "Aqua",
        }
        if self._variables:
            agent["EnvironmentVariables"] = self._variables
        entry_file.replace(self._path, plistlib.dumps(agent))

    def turn_off(self) -> None:
        """Remove the agent."""
        entry_file.remove(self._path)

    def where(self) -> str:
        """Name the file."""
        return str(self._path)

    def _agent(self) -> dict[str, object]:
        """Return what the file says; nothing when there is none, or one that launchd could not read either."""
        try:
            agent = plistlib.loads(entry_file.read(self._path) or b"")
        except (plistlib.InvalidFileException, ExpatError, ValueError, AttributeError, IndexError):
            # plistlib lets through what its parsers raise on a damaged file.
            return {}
        return agent if isinstance(agent, dict) else {}
