"""Somebody who follows the documentation: a home, a running Halo, a shell, and programs that are not installed here."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_BIN = Path(sys.executable).parent
_LIMIT_S = 60
_TOLD = 'echo "$(basename "$0") $*"\n'
# What each program prints instead of doing its work. They accept any argument: only our own commands are on trial.
_STAND_INS = {
    **dict.fromkeys(("borg", "notify-send", "restic", "rsync", "ssh", "sudo", "systemctl", "tput"), _TOLD),
    **dict.fromkeys(("claude", "codex", "gemini", "ollama"), "cat >/dev/null\necho 'Nothing to report.'\n"),
    "crontab": "case $1 in -l) printf '# Tidy up\\n30 2 * * * find ~/tmp -mtime +7 -delete\\n' ;; esac\n",
    "pg_dump": "for word; do case $word in --file=*) echo '-- PostgreSQL dump' >\"${word#*=}\" ;; esac; done\n",
}


class Reader:
    """Runs commands as a reader would who types them, one after the other."""

    def __init__(self, home: Path, environment: dict[str, str]) -> None:
        self.home = home
        self._environment = environment
        self._program: subprocess.Popen[str] | None = None

    def start_halo(self) -> None:
        """Open the program and wait until it runs jobs; without a display it does so without its window."""
        program = subprocess.Popen(
            [_BIN / "halo"],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert program.stderr is not None
        while "running jobs from" not in program.stderr.readline():
            assert program.poll() is None
        self._program = program

    def stop_halo(self) -> None:
        """Quit the program, which ends well."""
        if self._program is not None:
            self._program.terminate()
            self._program.communicate(timeout=_LIMIT_S)
            assert self._program.returncode == 0
            self._program = None

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        """Run lines in a shell that stops at the first command that fails."""
        return subprocess.run(
            ["/bin/sh", "-e", "-c", script],
            cwd=self.home,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=_LIMIT_S,
        )

    def keep(self, name: str, content: str) -> None:
        """Write a file that a page shows; a script can be run."""
        path = self.home / name.removeprefix("~/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        if content.startswith("#!"):
            path.chmod(0o700)


@contextmanager
def reader(folder: Path, *, proxy: str = "") -> Iterator[Reader]:
    """Start Halo in a home of its own."""
    home, programs = folder / "home", folder / "bin"
    programs.mkdir()
    home.mkdir(mode=0o700)
    for name, lines in _STAND_INS.items():
        (programs / name).write_text(f"#!/bin/sh\n{lines}", encoding="utf-8")
        (programs / name).chmod(0o700)
    search_path = os.pathsep.join((str(programs), str(_BIN), os.environ["PATH"]))
    # Jobs get the environment of a login shell, which the profile makes.
    (home / ".profile").write_text(f"PATH='{search_path}'\nexport PATH\n", encoding="utf-8")
    (home / ".gitconfig").write_text("[user]\nname = Reader\nemail = reader@example.org\n", encoding="utf-8")
    environment = {
        name: value
        for name, value in os.environ.items()
        if not re.match(r"DISPLAY|WAYLAND|DBUS|HALO|XDG|COLUMNS|LINES|VISUAL", name)
    }
    environment |= {
        "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent",
        "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent",
        "EDITOR": "true",
        "HALO_HOME": str(folder / "halo"),
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "NO_COLOR": "1",
        "PATH": search_path,
        "SHELL": "/bin/sh",
        "TZ": "Europe/Berlin",
        "XDG_RUNTIME_DIR": str(folder),
    }
    if proxy:
        environment["http_proxy"] = proxy
    person = Reader(home, environment)
    person.start_halo()
    try:
        yield person
    finally:
        person.stop_halo()
