"""The environment of the user's login shell, so that commands find what they find in a terminal."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

_LOG = logging.getLogger(__name__)
_TIME_LIMIT_S = 5.0
# Variables of the shell process itself, not of the user.
_SHELLS_OWN = frozenset({"_", "PWD", "OLDPWD", "SHLVL"})
_NO_SHELLS = frozenset({"nologin", "false", "sync"})


class Environment(dict[str, str]):
    """The variables of a process, also encoded for the system."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        super().__init__(variables)
        self.encoded = encoded(variables)


def encoded(variables: Mapping[str, str]) -> dict[bytes, bytes]:
    """Return variables encoded for the system."""
    return {os.fsencode(name): os.fsencode(value) for name, value in variables.items()}


class LoginEnvironment:
    """The login environment, read once and again on request."""

    def __init__(self, read: Callable[[], Mapping[str, str] | None] | None = None) -> None:
        self._read = read or read_login_environment
        self._lock = threading.Lock()
        self._known: Environment | None = None
        self._is_stale = True

    def get(self) -> Environment:
        """Return the environment; may wait for the user's shell, so never call it on the engine's or the GUI thread."""
        with self._lock:
            if self._is_stale or self._known is None:
                self._is_stale = False
                found = self._read()
                if found is None:
                    _LOG.warning("The login shell did not print its environment; jobs get Halo's own.")
                self._known = Environment(found or self._known or os.environ)
            return self._known

    def forget(self) -> None:
        """Read the shell again at the next use; if that fails, the old environment stays."""
        self._is_stale = True


def read_login_environment(time_limit_s: float = _TIME_LIMIT_S) -> dict[str, str] | None:
    """Read the environment of the user's login shell; None if there is no shell or it does not answer in time."""
    shell = _login_shell()
    if sys.platform == "win32" or shell is None:
        return None
    # In two halves, so that a shell that echoes its commands does not print the marker.
    halves = os.urandom(16).hex(), os.urandom(16).hex()
    mark = f"printf %s%s {' '.join(halves)}"
    line = f"{mark}; /usr/bin/env -0; {mark}"
    # A file and not a pipe: a program that an rc file left behind would keep a pipe open.
    with tempfile.TemporaryFile() as answer:
        try:
            process = subprocess.Popen(  # noqa: S603 - the user's own shell
                [shell, "-i", "-l", "-c", line],
                stdin=subprocess.DEVNULL,
                stdout=answer,
                stderr=subprocess.DEVNULL,
                cwd=Path.home(),
                start_new_session=True,
            )
        except OSError:
            return None
        try:
            process.wait(time_limit_s)
        except subprocess.TimeoutExpired:
            _LOG.warning("The login shell %s took longer than %g s.", shell, time_limit_s)
        finally:
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        answer.seek(0)
        parts = answer.read().split("".join(halves).encode())
    # The output of rc files comes before the first marker.
    return _parsed(parts[1]) if len(parts) >= 3 else None  # noqa: PLR2004 - noise, answer, noise


def _login_shell() -> str | None:
    shell = os.environ.get("SHELL") or _shell_of_account() or "/bin/sh"
    return None if Path(shell).name in _NO_SHELLS else shell


def _shell_of_account() -> str:
    if sys.platform == "win32":
        return ""
    import pwd  # noqa: PLC0415 - not on every system

    try:
        return pwd.getpwuid(os.getuid()).pw_shell
    except KeyError:  # a container may run as a number that has no account
        return ""


def _parsed(answer: bytes) -> dict[str, str]:
    pairs = (item.partition("=") for item in os.fsdecode(answer).split("\0"))
    return {name: value for name, equals, value in pairs if equals and name not in _SHELLS_OWN}
