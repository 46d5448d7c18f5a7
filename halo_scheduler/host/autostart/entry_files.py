"""Start at login with a file: a desktop entry on XDG desktops, a launchd property list on macOS."""

from __future__ import annotations

import os
import plistlib
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from xml.parsers.expat import ExpatError

from halo_scheduler.errors import SchedulerError
from halo_scheduler.host.private_files import make_folders

_NAME = "halo-scheduler.desktop"
_GROUP = "[Desktop Entry]"
_THROUGH_SHELL = ("/bin/sh", "-c", 'exec "$0" "$@"')
_OTHER_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
_LABEL = "io.github.halo-scheduler"


def _read_file(path: Path) -> bytes | None:
    """Return the content of the file; None if there is none."""
    with _in_a_sentence("read", path):
        try:
            return path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None


def _replace_file(path: Path, content: bytes) -> None:
    """Replace the content atomically; a symbolic link stays a link."""
    with _in_a_sentence("write", path):
        make_folders(path.parent)
        target = Path(os.path.realpath(path))
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(target)
        except BaseException:
            with suppress(OSError):
                Path(name).unlink()
            raise


def _remove_file(path: Path) -> None:
    """Remove the file, if it exists."""
    with _in_a_sentence("remove", path), suppress(NotADirectoryError):
        path.unlink(missing_ok=True)


@contextmanager
def _in_a_sentence(verb: str, path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise SchedulerError(
            f"cannot {verb} {path}: {reason}; check that the folder is yours to change"
        ) from error


class XdgAutostart:
    """The entry `halo-scheduler.desktop` in the user's autostart folder."""

    def __init__(self, *, folder: Path | None = None, variables: Mapping[str, str] | None = None) -> None:
        """`folder` holds the entry, by default the user's own; `variables` are set for the program."""
        self._path = (folder or _users_folder()) / _NAME
        self._variables = dict(variables or {})

    def is_on(self) -> bool:
        """Return whether the entry exists and no desktop has disabled it."""
        entry = self._entry()
        if not entry.get("Exec") or entry.get("Hidden", "").lower() == "true":
            return False
        # X-GNOME-Autostart-enabled; others have written it under their own names.
        switches = (value for key, value in entry.items() if key.lower().endswith("-autostart-enabled"))
        return all(value.lower() != "false" for value in switches)

    def is_current(self, command: Sequence[str]) -> bool:
        """Return whether the entry starts exactly this command."""
        return self._entry().get("Exec") == self._exec_value(command)

    def program(self) -> str:
        """Return the program that the entry starts; empty if it names none."""
        words = _read_words(self._entry().get("Exec", ""))
        if words and Path(words[0]).name == "env":
            words = [word for word in words[1:] if "=" not in word or "/" in word.partition("=")[0]]
        if words[:3] == list(_THROUGH_SHELL):
            words = words[3:]
        return words[0] if words else ""

    def turn_on(self, command: Sequence[str]) -> None:
        """Write the entry, replacing an existing one."""
        lines = (
            _GROUP,
            "Type=Application",
            "Name=Halo Scheduler",
            "Comment=Run your jobs on time and see what happened",
            f"Exec={self._exec_value(command)}",
            "Icon=halo-scheduler",
            "Terminal=false",
            "StartupNotify=false",
            "X-GNOME-Autostart-enabled=true",
        )
        _replace_file(self._path, os.fsencode("\n".join(lines) + "\n"))

    def turn_off(self) -> None:
        """Remove the entry."""
        _remove_file(self._path)

    def where(self) -> str:
        """Return the path of the file."""
        return str(self._path)

    def _entry(self) -> dict[str, str]:
        """Return the raw keys of the entry; none if there is no entry."""
        text = os.fsdecode(_read_file(self._path) or b"")
        keys: dict[str, str] = {}
        group = ""
        for line in text.split("\n"):
            if line.startswith("["):
                group = line.strip()
            elif group == _GROUP and not line.startswith("#"):
                key, _, value = line.partition("=")
                keys.setdefault(key.strip(), value.strip())
        return keys

    def _exec_value(self, command: Sequence[str]) -> str:
        # A desktop and `env` may mistake a program path with "=" for a variable; the shell does not.
        words = [*_THROUGH_SHELL, *command] if "=" in command[0] else list(command)
        if self._variables:
            words = ["env", *(f"{name}={value}" for name, value in self._variables.items()), *words]
        return " ".join(_exec_word(word) for word in words)


def _exec_word(word: str) -> str:
    """Quote an argument for `Exec` by the Desktop Entry Specification, then escape it as a value."""
    if word and word.isascii() and all(sign.isalnum() or sign in "-_./:@+,=" for sign in word):
        return word
    quoted = "".join(f"\\{sign}" if sign in '"`$\\' else sign for sign in word).replace("%", "%%")
    value = quoted.replace("\\", "\\\\")
    for sign, escape in _OTHER_ESCAPES.items():
        value = value.replace(sign, escape)
    return f'"{value}"'


def _read_words(value: str) -> list[str]:
    """Return the arguments of an `Exec` value: undo the escapes of a value, then the quotes."""
    escapes = {"s": " ", "\\": "\\", **{escape[1]: sign for sign, escape in _OTHER_ESCAPES.items()}}
    text = re.sub(r"\\(.)", lambda match: escapes.get(match[1], match[0]), value)
    words = re.findall(r'"((?:[^"\\]|\\.)*)"|([^\s"]+)', text, re.DOTALL)
    return [(re.sub(r"\\(.)", r"\1", quoted) or plain).replace("%%", "%") for quoted, plain in words]


def _users_folder() -> Path:
    configured = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    # By the specification, a relative path is ignored.
    home = configured if configured.is_absolute() else Path.home() / ".config"
    return home / "autostart"


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
        _replace_file(self._path, plistlib.dumps(agent))

    def turn_off(self) -> None:
        """Remove the agent."""
        _remove_file(self._path)

    def where(self) -> str:
        """Return the path of the file."""
        return str(self._path)

    def _agent(self) -> dict[str, object]:
        """Return the content of the file; empty if it is missing or malformed."""
        try:
            agent = plistlib.loads(_read_file(self._path) or b"")
        except (plistlib.InvalidFileException, ExpatError, ValueError, AttributeError, IndexError):
            # plistlib passes on the errors of its parsers for a damaged file.
            return {}
        return agent if isinstance(agent, dict) else {}
