"""`halo mcp`: the MCP server for AI assistants."""

from __future__ import annotations

import logging
import sys

import click

from halo_scheduler.errors import SchedulerError


@click.command()
@click.option("--read-only", is_flag=True, help="Allow reading only, whatever the settings allow.")
def mcp(*, read_only: bool) -> None:
    """Let an AI assistant read, run, pause and edit your jobs.

    \b
    Add this to its configuration:
      {"mcpServers": {"halo": {"command": "halo", "args": ["mcp"]}}}

    The assistant starts this server itself and talks to it in the Model Context Protocol over standard input and
    output. The setting "assistants" limits what it may do: read, run or edit. Jobs that it creates or changes are
    paused until you resume them. "halo assistants" shows what it did.
    """
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )
    try:
        from halo_scheduler.mcp.server import serve  # noqa: PLC0415 - heavy and optional
    except ImportError as error:
        # Not installed, or a version with other module names.
        if (error.name or "").partition(".")[0] == "halo_scheduler":
            raise
        raise SchedulerError(
            "MCP support isn't installed; install it with: pip install 'halo-scheduler[mcp]'"
        ) from None
    serve(read_only=read_only)
