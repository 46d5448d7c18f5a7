"""`halo mcp`: the door for assistants."""

from __future__ import annotations

import logging
import sys

import click

from halo_scheduler.errors import SchedulerError


@click.command()
@click.option("--read-only", is_flag=True, help="Let it look only, whatever the settings allow.")
def mcp(*, read_only: bool) -> None:
    """Let an AI assistant look at the jobs, pause, resume and run them.

    \b
    Put this into its configuration:
      {"mcpServers": {"halo": {"command": "halo", "args": ["mcp"]}}}

    An assistant that speaks the Model Context Protocol starts this by itself and talks to it over standard input
    and output. The setting "assistants" says how far it may go: read, run or edit. What it creates or changes stays
    paused until you resume it. "halo assistants" shows what it did.
    """
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )
    try:
        from halo_scheduler.mcp.server import serve  # noqa: PLC0415 - heavy, and an extra
    except ImportError as error:
        # Not there, or of a time when its parts had other names.
        if (error.name or "").partition(".")[0] == "halo_scheduler":
            raise
        raise SchedulerError(
            "assistants need a part that is not installed; get it with: pip install 'halo-scheduler[mcp]'"
        ) from None
    serve(read_only=read_only)
