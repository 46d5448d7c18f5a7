"""`halo status`: what the engine is doing."""

from __future__ import annotations

import dataclasses
import json

import click

from halo_scheduler.clock import SystemClock
from halo_scheduler.schedule.describe import describe_when
from halo_scheduler.service import Scheduler, Status


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Machine-readable; times in epoch milliseconds.")
def status(*, as_json: bool) -> None:
    """Show whether jobs are being run, by whom, and what comes next."""
    with Scheduler.open() as scheduler:
        found = scheduler.status()
    if as_json:
        click.echo(json.dumps(dataclasses.asdict(found), indent=2))
    else:
        _show(found, SystemClock().now_ms())


def _show(found: Status, now_ms: int) -> None:
    if found.state == "running":
        click.echo(f"{click.style('●', fg='green')} running: {found.owner}")
    else:
        click.echo(f"{click.style('◌', dim=True)} not running; start it with: halo daemon")
    click.echo(f"  runs under way: {found.running}")
    if found.next_due_at is not None:
        click.echo(f"  next due: {describe_when(found.next_due_at, now_ms)}")
