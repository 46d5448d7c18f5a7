"""Starting a process: program, directory, environment, and the reasons why it cannot start."""

from __future__ import annotations

import errno
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
from halo_scheduler.errors import SchedulerError, StoreError
from halo_scheduler.grammar.templates import filled_in
from halo_scheduler.host.login_environment import Environment, encoded
from halo_scheduler.host.process import CORE_LIMIT
from halo_scheduler.host.process_tree import MARK, marking_line
from halo_scheduler.model import Command, Job, Outcome, ProcessAction, Run, SkipReason
from halo_scheduler.model.messages import Message, MessageKind, message
from halo_scheduler.model.words import Shortage
from halo_scheduler.wording.messages import MessageError, error_message
from halo_scheduler.work_sources.item import NoWorkError, SourceError

_IS_WINDOWS = sys.platform == "win32"
# The shim ignores SIGTERM, so that it can write the program's exit code; the program gets the signal too, because
# the whole process group is signalled. The brackets keep the shell's own messages out of the program's output: dash
# would otherwise write them to the program's stream. The file already has space for a code (`<>` does not truncate
# it), because the disk may be full by then. The shim first writes a plus, to distinguish a failed fork from a program
# that ended with the same code.
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


_SHORTAGES = {
    errno.EMFILE: Shortage.FILES,
    errno.ENFILE: Shortage.FILES,
    errno.EAGAIN: Shortage.PROCESSES,
    errno.ENOMEM: Shortage.MEMORY,
    errno.ENOSPC: Shortage.DISK,
    getattr(errno, "EDQUOT", errno.ENOSPC): Shortage.DISK,
}
# Python's message when the system is out of threads.
_NO_THREAD = "can't start new thread"


class LaunchError(MessageError):
    """A process cannot be started; the message is the run's error."""


class ShortageError(LaunchError):
    """The computer has no resources for another process right now: not the job's fault, and worth a retry."""

    def __init__(self, shortage: Shortage) -> None:
        super().__init__(message(MessageKind.SHORTAGE, shortage=shortage))
        self.shortage = shortage


NO_FORK = message(MessageKind.NO_ROOM)

"""The message for a shim that started but could not start the program."""


def launch_error(error: OSError | ValueError) -> LaunchError:
    """Return the system's error at a start as a sentence."""
    number = getattr(error, "errno", None)
    if number in _SHORTAGES:
        return ShortageError(_SHORTAGES[number])
    said = getattr(error, "strerror", None) or str(error)
    return LaunchError(message(MessageKind.NOT_STARTED, error=said.lower()))


def why_not_started(error: Exception) -> tuple[Outcome, SkipReason | None, Message | None]:
    """Return the end of a run that could not be started.

    A lack of resources or a database problem is not the job's failure, and must not disable it: such a run is
    interrupted, which allows a retry and counts for nothing else.
    """
    lacking = _lacking(error)
    if lacking is not None:
        return Outcome.INTERRUPTED, None, lacking
    match error:
        case NoWorkError():
            return Outcome.SKIPPED, SkipReason.NO_WORK, None
        case SourceError():
            return Outcome.FAILURE, SkipReason.SOURCE_UNAVAILABLE, error_message(error)
        case SchedulerError():
            return Outcome.FAILURE, None, error_message(error)
        case _:
            return Outcome.FAILURE, None, message(MessageKind.NOT_STARTED, error=str(error))


def is_out_of_threads(error: BaseException) -> bool:
    """Return whether the system was out of threads."""
    return isinstance(error, RuntimeError) and str(error).startswith(_NO_THREAD)


def _lacking(error: Exception) -> Message | None:
    """Return what the computer or the database lacks; None if it is something else."""
    match error:
        case ShortageError():
            return error.message
        case StoreError():
            return message(MessageKind.NOT_STARTED, error=str(error))
        case OSError() if error.errno in _SHORTAGES:
            return launch_error(error).message
        case RuntimeError() if is_out_of_threads(error):
            return NO_FORK
        case _:
            return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A resolved program with its arguments, directory and environment."""

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
    """Resolve the program and the directory; LaunchError says what is wrong."""
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
    """Return the variables that Halo sets for a process; a manual run has no slot."""
    return {
        "HALO_JOB_ID": job.id,
        "HALO_JOB_NAME": job.name,
        MARK: run.id,
        "HALO_SLOT": "" if run.slot_at is None else str(run.slot_at),
        "HALO_ATTEMPT": str(run.attempt),
        "HALO_TRIGGER": str(run.trigger),
        **{f"HALO_PARAM_{name.upper()}": value for name, value in run.parameters.items()},
    }


def spawn(launch: Launch, spool: Spool, ticket: Ticket | None = None) -> subprocess.Popen[bytes]:
    """Start a detached process that writes into its spool; LaunchError if the system refuses.

    The ticket, if one is needed before the process exists, is written first.
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
    """Return the command of the shim that starts a program and writes its exit code."""
    # The name first: the shell's error messages begin with the program's name.
    *shell, script = _SHIM
    return [*shell, f"{CORE_LIMIT.restoring_line}{script}", argv[0], code_path, *argv]


def _marked(shim: Sequence[str], launch: Launch) -> list[str]:
    """Return a shim that first marks itself, and so everything it starts."""
    shell, flag, script, *rest = shim
    run_id = launch.environment.get(MARK.encode(), b"").decode()
    return [shell, flag, marking_line(run_id) + script, *rest]


@contextmanager
def _standard_input(content: bytes, folder: str) -> Iterator[IO[bytes] | None]:
    if not content:
        yield None
        return
    # An unnamed file where the system supports it: nothing to clean up after a crash.
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
        raise LaunchError(message(MessageKind.NO_FOLDER, path=shown))
    if not os.path.isdir(directory):
        raise LaunchError(message(MessageKind.NOT_A_FOLDER, path=shown))
    raise LaunchError(message(MessageKind.FOLDER_CLOSED, path=shown))


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
    raise LaunchError(message(MessageKind.NOT_ON_PATH, program=_shown(program), path=_shown(search_path)))


def _checked(path: str, named: str) -> str:
    if os.path.isfile(path) and os.access(path, os.X_OK):
        _require_interpreter(path, named)
        return path
    shown = _shown(named)
    if not os.path.exists(path):
        raise LaunchError(message(MessageKind.NO_PROGRAM, program=shown))
    if not os.path.isfile(path):
        raise LaunchError(message(MessageKind.NOT_A_PROGRAM, program=shown))
    raise LaunchError(message(MessageKind.PROGRAM_CLOSED, program=shown))


def _require_interpreter(path: str, named: str) -> None:
    """Refuse a script whose interpreter is missing, because the system would report the script as missing."""
    try:
        with open(path, "rb") as file:
            line = file.readline(_LONGEST_INTERPRETER)
    except OSError:
        return  # A program that may be executed but not read.
    words = os.fsdecode(line[2:]).split() if line.startswith(b"#!") else []
    if words and not os.path.exists(words[0]):
        raise LaunchError(
            message(MessageKind.NO_INTERPRETER, program=_shown(named), interpreter=_shown(words[0]))
        )


def _shown(path: str) -> str:
    """Return a path shortened for a sentence: its end says more than its beginning."""
    return path if len(path) <= _LONGEST_SHOWN else f"…{path[-_LONGEST_SHOWN:]}"


def _popen_environment(encoded: Mapping[bytes, bytes]) -> Any:
    """Return an environment as `Popen` takes it on this system: on Windows only as text."""
    if sys.platform == "win32":
        return {os.fsdecode(name): os.fsdecode(value) for name, value in encoded.items()}
    return encoded
