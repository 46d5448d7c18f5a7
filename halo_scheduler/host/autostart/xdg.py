"""Start at login on Linux and other XDG desktops: a desktop entry in the autostart folder."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from halo_scheduler.host.autostart import entry_file

_NAME = "halo-scheduler.desktop"
_GROUP = "[Desktop Entry]"
_THROUGH_SHELL = ("/bin/sh", "-c", 'exec "$0" "$@"')
_OTHER_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


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
        entry_file.replace(self._path, os.fsencode("\n".join(lines) + "\n"))

    def turn_off(self) -> None:
        """Remove the entry."""
        entry_file.remove(self._path)

    def where(self) -> str:
        """Return the path of the file."""
        return str(self._path)

    def _entry(self) -> dict[str, str]:
        """Return the raw keys of the entry; none if there is no entry."""
        text = os.fsdecode(entry_file.read(self._path) or b"")
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
