"""Starting a process: what exactly, where, and with which environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PureWindowsPath
from typing import IO, Any

from halo_scheduler.actions.spool import Spool, Ticket
from halo_scheduler.actions.start_errors import LaunchError, launch_error
from halo_scheduler.grammar.templates import filled_in
from halo_scheduler.host.core_dumps import CORE_LIMIT
from halo_scheduler.host.inherited_mark import marking_line
from halo_scheduler.host.login_environment import Environment, encoded
from halo_scheduler.host.process_tree import MARK
from halo_scheduler.model import Command, Job, ProcessAction, Run

_IS_WINDOWS = sys.platform == "win32"
# It outlives a polite stop, so as to write down how the program ended; a group is signalled as one, so the
# program hears of it too. What the shell itself has to say about that is not the program's output: hence the
# brackets, as dash would otherwise give its own words the program's stream. It writes into a file that has room for
# a code already (`<>` does not empty it), as the disk may be full by then: first a plus, so that one that could not
# fork can be told from a program that ended with the same code.
_SHIM = (
    "/bin/sh",
    "-c",
    (
        "trap : HUP INT TERM; f=$1; shift; exec 3>&2 2>/dev/null; "
        '(echo + 1<>"$f"; exec "$@" 2>&3 3>&-); c=$?; umask 077; echo $c 1<>"$f"; exit $c'
    ),
)
_LONGEST_SHOWN = 500
_LONGEST_INTERPRETER = 256
_LINE_FLAGS = {"cmd": "/c", "powershell": "-Command", "pwsh": "-Command"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A program that was found, and all it gets."""

    argv: tuple[str, ...]
    directory: str
    environment: Mapping[bytes, bytes]
    stdin: bytes = b""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """What it gets to read, by path: private files of the run, written right before it starts."""


def prepare(
    action: ProcessAction,
    argv: Sequence[str],
    own_variables: Mapping[str, str],
    login_environment: Environment,
    secrets: Mapping[str, str],
) -> Launch:
    """Find the program and the directory, or raise LaunchError with what is wrong."""
    added = {name: filled_in(value, secrets) for name, value in action.environment.items()}
    added |= own_variables
    home = added.get("HOME") or login_environment.get("HOME") or str(Path.home())
    search_path = added.get("PATH") or login_environment.get("PATH") or os.defpath
    directory = _find_directory(action, home)
    program, *arguments = argv
    return Launch(
        argv=(_find_program(program, directory, search_path), *arguments),
        directory=directory,
        environment=login_environment.encoded | encoded(added),
    )


def command_line(command: Command) -> tuple[str, ...]:
    """Return the program of a command and its arguments."""
    return command.argv or (command.shell, _line_flag(command.shell), command.line)


def own_variables(job: Job, run: Run) -> dict[str, str]:
    """Return what Halo tells a process about its run; a run by hand has no slot."""
    return {
        "HALO_JOB_ID": job.id,
        "HALO_JOB_NAME": job.name,
        MARK: run.id,
        "HALO_SLOT": "" if run.slot_at is None else str(run.slot_at),
        "HALO_ATTEMPT": str(run.attempt),
        "HALO_TRIGGER": str(run.trigger),
    }


def spawn(launch: Launch, spool: Spool, ticket: Ticket | None = None) -> subprocess.Popen[bytes]:
    """Start a process that writes into its spool and lives on without us; LaunchError when the system refuses.

    The ticket, if there must be one before the process is, is left first.
    """
    argv = launch.argv if _IS_WINDOWS else _marked(shimmed(launch.argv, spool.code_path), launch)
    try:
        if ticket is not None:
            spool.write_ticket(ticket)
        for path, content in launch.files.items():
            spool.write(path, content)
        if not _IS_WINDOWS:
            spool.reserve_code()
        output = spool.create()
        try:
            with _standard_input(launch.stdin, spool.folder) as stdin:
                return subprocess.Popen(  # noqa: S603 - the user's own command
                    argv,
                    cwd=launch.directory,
                    env=_popen_environment(launch.environment),
                    stdin=stdin or subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                    creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
                )
        finally:
            os.close(output)
    except (OSError, ValueError) as error:
        raise launch_error(error) from error


def shimmed(argv: Sequence[str], code_path: str) -> list[str]:
    """Return what starts a program and writes down its exit code."""
    # The name first: should the shell have to complain, it does so under the program's name.
    *shell, script = _SHIM
    return [*shell, f"{CORE_LIMIT.restoring_line}{script}", argv[0], code_path, *argv]


def _marked(shim: Sequence[str], launch: Launch) -> list[str]:
    """Return a shim that first marks itself, and so whatever it starts."""
    shell, flag, script, *rest = shim
    run_id = launch.environment.get(MARK.encode(), b"").decode()
    return [shell, flag, marking_line(run_id) + script, *rest]


@contextmanager
def _standard_input(content: bytes, folder: str) -> Iterator[IO[bytes] | None]:
    if not content:
        yield None
        return
    # Without a name, where the system can do that: nothing to clean up after a crash.
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(content)
        file.seek(0)
        yield file


def _line_flag(shell: str) -> str:
    return _LINE_FLAGS.get(PureWindowsPath(shell).stem.lower(), "-c")


def _find_directory(action: ProcessAction, home: str) -> str:
    chosen = action.directory or home
    directory = home + chosen[1:] if chosen == "~" or chosen.startswith("~/") else chosen
    directory = os.path.join(home, directory)
    if os.path.isdir(directory) and os.access(directory, os.X_OK):
        return directory
    shown = _shown(directory)
    if not os.path.exists(directory):
        raise LaunchError(f"the working directory {shown!r} does not exist")
    if not os.path.isdir(directory):
        raise LaunchError(f"the working directory {shown!r} is not a folder")
    raise LaunchError(f"the working directory {shown!r} cannot be entered: permission denied")


def _find_program(program: str, directory: str, search_path: str) -> str:
    program = os.path.expanduser(program)
    if os.path.dirname(program):
        return _checked(os.path.join(directory, program), program)
    found = shutil.which(program, path=search_path)
    if found is not None:
        return _checked(os.path.join(directory, found), found)
    folders = [folder for folder in search_path.split(os.pathsep) if folder]
    for path in (os.path.join(folder, program) for folder in folders):
        if os.path.isfile(path):
            return _checked(path, path)
    raise LaunchError(f"there is no program {_shown(program)!r} on the PATH ({_shown(search_path)})")


def _checked(path: str, named: str) -> str:
    if os.path.isfile(path) and os.access(path, os.X_OK):
        _require_interpreter(path, named)
        return path
    shown = _shown(named)
    if not os.path.exists(path):
        raise LaunchError(f"there is no program {shown!r}")
    if not os.path.isfile(path):
        raise LaunchError(f"{shown!r} is not a program")
    raise LaunchError(f"{shown!r} may not be executed: permission denied")


def _require_interpreter(path: str, named: str) -> None:
    """Refuse a script whose interpreter is missing: the system would only say that the script is."""
    try:
        with open(path, "rb") as file:
            line = file.readline(_LONGEST_INTERPRETER)
    except OSError:
        return  # A program that may be executed but not read.
    words = os.fsdecode(line[2:]).split() if line.startswith(b"#!") else []
    if words and not os.path.exists(words[0]):
        raise LaunchError(f"{_shown(named)!r} needs {_shown(words[0])!r}, which does not exist")


def _shown(path: str) -> str:
    """Return a path as a sentence may quote it: its end says more than its beginning."""
    return path if len(path) <= _LONGEST_SHOWN else f"…{path[-_LONGEST_SHOWN:]}"


def _popen_environment(encoded: Mapping[bytes, bytes]) -> Any:
    """Return an environment as `Popen` takes it, which depends on the system: on Windows as text only."""
    if sys.platform == "win32":
        return {os.fsdecode(name): os.fsdecode(value) for name, value in encoded.items()}
    return encoded
