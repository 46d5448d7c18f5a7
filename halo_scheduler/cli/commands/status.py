"""`halo status`: the state of the engine."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence

import click

from halo_scheduler.cli.commands.groups import show_group
from halo_scheduler.cli.terminal.completions import complete_groups
from halo_scheduler.cli.terminal.job_details import waiting_run_data
from halo_scheduler.cli.terminal.terminal import NOT_RUNNING, WAITS, open_to_read
from halo_scheduler.clock import SystemClock
from halo_scheduler.grammar.english import counted
from halo_scheduler.grammar.text import plain_line
from halo_scheduler.host.disk_space import disk_space
from halo_scheduler.model import Situation
from halo_scheduler.rules.chains import WaitingRun, alike
from halo_scheduler.service.engine_control import Status
from halo_scheduler.wording.chat import bot_words
from halo_scheduler.wording.faults import trouble_text, trouble_title
from halo_scheduler.wording.schedules import describe_when
from halo_scheduler.wording.status import awaited_words, waiting_words
from halo_scheduler.wording.webhooks import open_words

_LONGEST = 500


@click.command()
@click.argument("group", required=False, shell_complete=complete_groups)
@click.option("--json", "as_json", is_flag=True, help="Machine-readable; times in epoch milliseconds.")
def status(*, group: str | None, as_json: bool) -> None:
    """Show whether Halo is running, which runs are waiting and what comes next; or the state of a group's jobs.

    \b
    Examples:
      halo status
      halo status backups
      halo status --json

    Exits with 1 if the disk is full or runs cannot be recorded.
    """
    with open_to_read() as scheduler:
        if group is not None:
            show_group(scheduler, group, as_json=as_json)
            return
        found = scheduler.status()
        situations = scheduler.jobs.situations()
        runs = scheduler.runs.waiting_in_chains()
        trouble = scheduler.engine.trouble()
        webhooks = scheduler.webhooks.status()
        bots = scheduler.chat.status()
    space = disk_space(str(scheduler.path.parent))
    is_full = space is not None and space.is_full
    now_ms = SystemClock().now_ms()
    waiting = [one for one in situations.values() if one.waiting is not None and not one.waiting.cause_name]
    if as_json:
        data = dataclasses.asdict(found) | {
            "waiting": [_waiting_data(one, now_ms) for one in waiting],
            "waiting_runs": [waiting_run_data(run, now_ms) for run in runs],
            "store_trouble": None if trouble is None else trouble.to_data(),
            "disk_is_full": is_full,
            "webhooks": webhooks.to_data(),
            "chat": [bot.to_data() for bot in bots],
        }
        click.echo(json.dumps(data, ensure_ascii=False, indent=2))
        raise SystemExit(int(is_full or trouble is not None))
    # Waiting jobs are due already, and listed below.
    ahead = [
        (min(at for at in (one.next_run_at, one.later_at) if at is not None), one.name)
        for one in situations.values()
        if (one.next_run_at is not None or one.later_at is not None) and one.waiting is None
    ]
    _show(found, min(ahead, default=None), now_ms)
    if webhooks.place is not None or webhooks.jobs:
        click.echo(f"  webhooks: {plain_line(open_words(webhooks), _LONGEST)}")
    for bot in bots:
        click.echo(f"  chat: {bot.bot.name} ({bot.bot.service}), {plain_line(bot_words(bot), _LONGEST)}")
    _show_waiting(waiting, runs, {one.job_id: one.name for one in situations.values()}, now_ms)
    if trouble is not None:
        click.echo(f"{click.style('■', fg='red')} {trouble_title(trouble)}")
        click.echo(f"  {trouble_text(trouble, scheduler.path, now_ms)}")
    elif is_full:
        click.echo(
            f"{WAITS} the disk of {scheduler.path} is full; free some space, or runs cannot be recorded"
        )
    raise SystemExit(int(is_full or trouble is not None))


def _show(found: Status, following: tuple[int, str] | None, now_ms: int) -> None:
    if found.state == "running":
        click.echo(f"{click.style('●', fg='green')} Halo is running ({found.owner})")
    elif found.state == "stopping":
        runs = counted(found.running, "run")
        click.echo(f"{WAITS} Halo is stopping ({found.owner}): waiting for {runs}, nothing new starts")
    else:
        click.echo(f"{click.style('◌', dim=True)} {NOT_RUNNING}")
    click.echo(f"  running: {found.running}")
    if following is not None:
        at, name = following
        when = describe_when(at, now_ms)
        if at <= now_ms and found.state != "running":
            when = f"due ({when}), starts when Halo runs" if when != "now" else "due, starts when Halo runs"
        click.echo(f"  next: {plain_line(name, _LONGEST)}, {when}")


def _show_waiting(
    waiting: Sequence[Situation], runs: Sequence[WaitingRun], names: dict[str, str], now_ms: int
) -> None:
    lines = [f"{one.name}: {waiting_words(one.waiting, now_ms)}" for one in waiting if one.waiting]
    lines += [
        f"{names.get(run.job_id, run.job_id)}: {waiting_words(run.waiting, now_ms)} "
        f"({counted(count, 'run')} after {run.cause_name})"
        for run, count in ((group[0], len(group)) for group in alike(runs))
    ]
    for line in lines:
        click.echo(f"{WAITS} {plain_line(line, _LONGEST)}")


def _waiting_data(situation: Situation, now_ms: int) -> dict[str, object]:
    waiting = situation.waiting
    return {
        "id": situation.job_id,
        "name": situation.name,
        "waiting_for": None if waiting is None else waiting.kind,
        "waiting_reason": "" if waiting is None else awaited_words(waiting, now_ms),
        "next_run_at": situation.next_run_at,
    }
