"""The `halo` command."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

import click

from halo_scheduler.cli.add import add
from halo_scheduler.cli.agents import agent
from halo_scheduler.cli.assistant import mcp
from halo_scheduler.cli.backup import backup
from halo_scheduler.cli.config import config
from halo_scheduler.cli.daemon import daemon
from halo_scheduler.cli.desktop import open_desktop
from halo_scheduler.cli.edit import edit
from halo_scheduler.cli.environment import environment
from halo_scheduler.cli.export import export
from halo_scheduler.cli.hint import hint
from halo_scheduler.cli.import_ import import_
from halo_scheduler.cli.inbox import answer, inbox
from halo_scheduler.cli.jobs import list_, remove, resume, show
from halo_scheduler.cli.preview import preview
from halo_scheduler.cli.quiet import quiet
from halo_scheduler.cli.runs import cancel, history, logs, run
from halo_scheduler.cli.secret import secret
from halo_scheduler.cli.status import status
from halo_scheduler.cli.why import why
from halo_scheduler.errors import JobNotFoundError, ScheduleError, SchedulerError

_FAILED = 1
_WRONG_USE = 2
_NO_SUCH_JOB = 3


@click.group(
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
      halo preview --cron "0 9 * * 1-5" --tz Europe/Berlin

    Without a command, the desktop program opens; if it is open already, its window is raised.
    """
    if os.environ.get("NO_COLOR"):
        context.color = False
    if context.invoked_subcommand is None:
        sys.exit(open_desktop(hidden=hidden))
    if hidden:
        raise click.UsageError("--hidden is for the desktop program and takes no command")


for _command in (
    *(add, list_, show, edit, resume, remove, run, cancel, history, logs, why, hint, inbox, answer),
    *(import_, export, quiet, agent, config, preview, secret, environment, status, backup, daemon, mcp),
):
    halo.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and leave with its exit code; an error is one sentence on stderr."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a sign shows a question mark instead.
            stream.reconfigure(errors="replace")
    try:
        exit_code = halo.main(args=arguments, prog_name="halo", standalone_mode=False)
    except click.ClickException as error:
        _fail(error.format_message(), error.exit_code)
    except ScheduleError as error:
        _fail(str(error), _WRONG_USE)
    except JobNotFoundError as error:
        _fail(str(error), _NO_SUCH_JOB)
    except SchedulerError as error:
        _fail(str(error), _FAILED)
    except click.Abort:
        _fail("stopped", 1)
    except BrokenPipeError:
        # Whoever read our output has had enough: leave without a complaint from the interpreter's own flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(_FAILED)
    except OSError as error:
        _fail(f"cannot go on: {error}", _FAILED)
    sys.exit(exit_code or 0)


def _fail(sentence: str, exit_code: int) -> None:
    click.echo(f"halo: {sentence}", err=True)
    sys.exit(exit_code)
