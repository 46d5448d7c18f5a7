"""The `halo` command."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from halo_scheduler.cli.preview import preview
from halo_scheduler.errors import SchedulerError

_WRONG_USE = 2


@click.group(
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="halo-scheduler", message="Halo Scheduler %(version)s")
@click.pass_context
def halo(context: click.Context) -> None:
    """Run your jobs on time, and know what happened.

    \b
    Examples:
      halo preview --every 15m
      halo preview --cron "0 9 * * 1-5" --tz Europe/Berlin
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


halo.add_command(preview)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and leave with its exit code; an error is one sentence on stderr."""
    try:
        exit_code = halo.main(args=arguments, prog_name="halo", standalone_mode=False)
    except click.ClickException as error:
        _fail(error.format_message(), error.exit_code)
    except SchedulerError as error:
        _fail(str(error), _WRONG_USE)
    except click.Abort:
        _fail("stopped", 1)
    except BrokenPipeError:
        # Whoever read our output has had enough: leave without a complaint from the interpreter's own flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    sys.exit(exit_code or 0)


def _fail(sentence: str, exit_code: int) -> None:
    click.echo(f"halo: {sentence}", err=True)
    sys.exit(exit_code)
