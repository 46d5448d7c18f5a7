"""Start at login on macOS: a launchd property list in the user's folder."""

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
        """`folder` holds the agent, by default the user's own; `variables` are set for the program."""
        self._path = (folder or Path.home() / "Library" / "LaunchAgents") / f"{_LABEL}.plist"
        self._variables = dict(variables or {})

    def is_on(self) -> bool:
        """Return whether the agent exists and is not disabled in its own file."""
        agent = self._agent()
        return (
            bool(agent.get("ProgramArguments"))
            and agent.get("RunAtLoad") is True
            and not agent.get("Disabled")
        )

    def is_current(self, command: Sequence[str]) -> bool:
        """Return whether the agent starts exactly this command."""
        agent = self._agent()
        variables = agent.get("EnvironmentVariables", {})
        return agent.get("ProgramArguments") == list(command) and variables == self._variables

    def program(self) -> str:
        """Return the program that the agent starts; empty if it names none."""
        arguments = self._agent().get("ProgramArguments")
        return str(arguments[0]) if isinstance(arguments, list) and arguments else ""

    def turn_on(self, command: Sequence[str]) -> None:
        """Write the agent; it takes effect at the next login."""
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
        """Return the path of the file."""
        return str(self._path)

    def _agent(self) -> dict[str, object]:
        """Return the content of the file; empty if it is missing or launchd could not read it either."""
        try:
            agent = plistlib.loads(entry_file.read(self._path) or b"")
        except (plistlib.InvalidFileException, ExpatError, ValueError, AttributeError, IndexError):
            # plistlib passes on the errors of its parsers for a damaged file.
            return {}
        return agent if isinstance(agent, dict) else {}
