"""The `halo` command."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

import click

from halo_scheduler.cli.command_table import CommandTable
from halo_scheduler.cli.terminal.escaped_streams import PLAIN_SIGNS
from halo_scheduler.errors import JobNotFoundError, ScheduleError, SchedulerError
from halo_scheduler.grammar.text import shown_spec

_FAILED = 1
_WRONG_USE = 2
_NO_SUCH_JOB = 3
_INTERRUPTED = 130
_TRACEBACK = "HALO_TRACEBACK"
_COMPLETE_VAR = "_HALO_COMPLETE"


@click.group(
    cls=CommandTable,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="halo-scheduler", message="Halo Scheduler %(version)s")
@click.option("--hidden", is_flag=True, help="Open the desktop program into the tray, without its window.")
@click.pass_context
def halo(context: click.Context, *, hidden: bool) -> None:
    """Run your jobs on time, and know what happened.

    \b
    Examples:
      halo add backup --every 6h -- rsync -a /home /mnt/backup
      halo list
      halo edit backup --if-mains --on-failure alarm
      halo run backup --wait
      halo history backup
      crontab -l | halo import -
      halo preview --cron "0 9 * * 1-5" --tz Europe/Berlin

    Without a command, the desktop program opens; if it is open already, its window is raised. A job is meant by its
    name, its id, or the beginning of its id. "halo COMMAND --help" shows examples of each command.
    """
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        context.color = False
    if context.invoked_subcommand is None:
        from halo_scheduler.cli.commands.desktop import open_desktop  # noqa: PLC0415 - for those who want a window

        sys.exit(open_desktop(hidden=hidden))
    if hidden:
        raise click.UsageError("--hidden is for the desktop program and takes no command")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and leave with its exit code; an error is one sentence on stderr."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a sign shows a plain one, or a question mark, instead.
            stream.reconfigure(errors=PLAIN_SIGNS)
    if _COMPLETE_VAR in os.environ:
        _complete(os.environ[_COMPLETE_VAR])
    try:
        exit_code = halo.main(args=arguments, prog_name="halo", standalone_mode=False)
    except click.Abort:
        sys.exit(_INTERRUPTED)
    except click.exceptions.NoArgsIsHelpError as asked:
        asked.show()
        sys.exit(asked.exit_code)
    except BrokenPipeError:
        _leave_quietly()
    except Exception as error:  # noqa: BLE001 - nobody who uses the program is to see a traceback
        _fail(*_told(error))
    sys.exit(exit_code or 0)


def _open_closed_streams() -> None:
    """Read from nowhere, or write to nowhere, where whoever started us has closed a stream."""
    # In this order each takes the place of the one that is closed, before a database could.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123 - to the end


def _complete(request: str) -> None:
    """Print completions for a shell; errors stay silent, because the user is typing."""
    with suppress(Exception):
        from halo_scheduler.cli.terminal.shell_completion import COMPLETIONS  # noqa: PLC0415 - only for completion

        shell = COMPLETIONS[request.removesuffix("_complete")]
        click.echo(shell(halo, {}, "halo", _COMPLETE_VAR).complete())
    sys.exit(0)


def _told(error: Exception) -> tuple[str, int]:
    """Return what is said of an error, and what the program leaves with."""
    match error:
        case click.ClickException():
            return error.format_message(), error.exit_code
        case ScheduleError():
            return str(error), _WRONG_USE
        case JobNotFoundError():
            return str(error), _NO_SUCH_JOB
        case SchedulerError():
            return str(error), _FAILED
        case OSError():
            return f"cannot go on: {_fault(error)}", _FAILED
        case _ if _TRACEBACK in os.environ:
            raise error
        case _:
            fault = f"{type(error).__name__}: {error}".partition("\n")[0]
            return f"this should not have happened ({fault}); {_TRACEBACK}=1 shows where it did", _FAILED


def _fault(error: OSError) -> str:
    """Return what the system says, without its number, and of which file."""
    said = (error.strerror or str(error)).lower()
    return said if error.filename is None else f"{said}: {error.filename}"


def _fail(sentence: str, exit_code: int) -> None:
    try:
        click.echo(f"halo: {shown_spec(sentence)}", err=True)
    except OSError:
        _leave_quietly()
    sys.exit(exit_code)


def _leave_quietly() -> None:
    """Leave without a complaint from the interpreter's own flush: whoever read our output has had enough."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(nowhere, stream.fileno())
    sys.exit(_FAILED)
