"""`halo mcp` and `halo assistants`: the server for AI assistants, and what they did."""

from __future__ import annotations

import logging
import sys
from typing import Any

import click

from halo_scheduler.cli.terminal.completions import complete_jobs
from halo_scheduler.cli.terminal.terminal import moment, print_json_list, print_table
from halo_scheduler.clock import SystemClock
from halo_scheduler.errors import SchedulerError
from halo_scheduler.grammar.text import plain_line
from halo_scheduler.model.changes import TERMINAL
from halo_scheduler.service.lookup import find_job
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.why.journal import AssistantAct


@click.command()
@click.argument("name", required=False, shell_complete=complete_jobs)
@click.option(
    "--limit", type=click.IntRange(1, 10_000), default=30, show_default=True, help="How many actions."
)
@click.option("--json", "as_json", is_flag=True, help="Machine-readable; times in epoch milliseconds.")
def assistants(*, name: str | None, limit: int, as_json: bool) -> None:
    """Show what AI assistants did through "halo mcp", newest first: for all jobs, or for one.

    \b
    Examples:
      halo assistants
      halo assistants backup
      halo assistants --json

    The setting "assistants" limits what they may do: read, run or edit.
    """
    with Scheduler.open(actor=TERMINAL) as scheduler:
        job_id = None if name is None else find_job(scheduler, name, also_removed=True).id
        acts = scheduler.jobs.assistant_acts(limit, job_id=job_id)
    now_ms = SystemClock().now_ms()
    if as_json:
        print_json_list([_data(act, now_ms) for act in acts])
    elif acts:
        rows = [[moment(act.at), act.assistant, plain_line(act.job_name), act.words(now_ms)] for act in acts]
        print_table(["WHEN", "ASSISTANT", "JOB", "ACTION"], rows)
    else:
        click.echo(
            "no actions of assistants yet" if name is None else "no assistant has changed or run this job yet"
        )


def _data(act: AssistantAct, now_ms: int) -> dict[str, Any]:
    return {
        "at": act.at,
        "assistant": act.assistant,
        "kind": act.kind,
        "job_id": act.job_id,
        "job": act.job_name,
        "what": act.words(now_ms),
        "changed": list(act.changed_fields),
        "run_id": act.detail.get("run_id"),
    }


@click.command()
@click.option("--read-only", is_flag=True, help="Allow reading only, whatever the settings allow.")
def mcp(*, read_only: bool) -> None:
    """Let an AI assistant read, run, pause and edit your jobs.

    \b
    Add this to its configuration:
      {"mcpServers": {"halo": {"command": "halo", "args": ["mcp"]}}}

    The assistant starts this server itself and communicates with it over standard input and output, in the Model
    Context Protocol. The setting "assistants" limits what it may do: read, run or edit. Jobs that it creates or
    changes are paused until you resume them. "halo assistants" shows what it did.
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
