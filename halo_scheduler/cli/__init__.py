"""The `halo` command."""

from __future__ import annotations

import atexit
import gc
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
@click.option("--hidden", is_flag=True, help="Start the desktop program in the tray, without a window.")
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

    Without a command, the desktop program opens; if it is already open, its window is raised. Refer to a job by
    name, id or id prefix. "halo COMMAND --help" shows examples of each command.
    """
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        context.color = False
    if context.invoked_subcommand is None:
        from halo_scheduler.cli.commands.daemon import open_desktop  # noqa: PLC0415 - only for the window

        sys.exit(open_desktop(hidden=hidden))
    if hidden:
        raise click.UsageError("--hidden opens the desktop program; leave out the command")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with its code; an error is one sentence on standard error."""
    # The last search for garbage before the process ends takes as long as printing a list.
    atexit.register(gc.freeze)
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Characters that the encoding lacks are replaced by ASCII ones.
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
        _exit_quietly()
    except Exception as error:  # noqa: BLE001 - users never see a traceback
        _fail(*_message_and_code(error))
    sys.exit(exit_code or 0)


def _open_closed_streams() -> None:
    """Connect standard streams that our parent closed to the null device."""
    # In this order each gets the file descriptor of the closed stream, before a database could.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123 - stays open


def _complete(request: str) -> None:
    """Print completions for a shell; errors stay silent, because the user is typing."""
    with suppress(Exception):
        from halo_scheduler.cli.terminal.shell_completion import COMPLETIONS  # noqa: PLC0415 - only for completion

        shell = COMPLETIONS[request.removesuffix("_complete")]
        click.echo(shell(halo, {}, "halo", _COMPLETE_VAR).complete())
    sys.exit(0)


def _message_and_code(error: Exception) -> tuple[str, int]:
    """Return the message for an error, and the exit code."""
    match error:
        case click.ClickException():
            return _click_message(error), error.exit_code
        case ScheduleError():
            return str(error), _WRONG_USE
        case JobNotFoundError():
            return str(error), _NO_SUCH_JOB
        case SchedulerError():
            return str(error), _FAILED
        case OSError():
            return _system_message(error), _FAILED
        case _ if _TRACEBACK in os.environ:
            raise error
        case _:
            fault = f"{type(error).__name__}: {error}".partition("\n")[0]
            return f"internal error ({fault}); set {_TRACEBACK}=1 to see where", _FAILED


def _click_message(error: click.ClickException) -> str:
    """Return a message in one style, ours or click's: lower case, no full stop; wrong use with the usage line."""
    message = error.format_message().replace(". Did you mean", "; did you mean").removesuffix(".")
    if not isinstance(error, click.UsageError):
        return message
    usage = "" if error.ctx is None else " ".join(["\nusage:", *error.ctx.get_usage().split()[1:]])
    return f"{message[:1].lower()}{message[1:]}{usage}"


def _system_message(error: OSError) -> str:
    """Return the system's message without its number, and the file it is about."""
    message = (error.strerror or str(error)).lower()
    return message if error.filename is None else f"{message}: {error.filename}"


def _fail(sentence: str, exit_code: int) -> None:
    try:
        click.echo(f"halo: {shown_spec(sentence)}", err=True)
    except OSError:
        _exit_quietly()
    sys.exit(exit_code)


def _exit_quietly() -> None:
    """Exit without an error from the interpreter's final flush: the reader of our output is gone."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(nowhere, stream.fileno())
    sys.exit(_FAILED)
