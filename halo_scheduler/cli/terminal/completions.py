"""Completion of names: jobs, groups, runs, secrets, agents, settings, time zones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from halo_scheduler.service.quick_list import Overview

_MOST_RUNS = 50
_LONGEST_HELP = 60

Named = Iterable[tuple[str, str]]
"""Names, each with a short description."""


def complete_jobs(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the name of a job that was not typed yet."""
    return _from_database(ctx, param, incomplete, lambda overview: overview.names.jobs())


def complete_any_jobs(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the name of a job, including removed ones."""
    return _from_database(
        ctx,
        param,
        incomplete,
        lambda overview: [*overview.names.jobs(), *overview.names.jobs(removed=True)],
    )


def complete_removed(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the name of a removed job."""
    return _from_database(ctx, param, incomplete, lambda overview: overview.names.jobs(removed=True))


def complete_groups(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the name of a group."""
    return _from_database(ctx, param, incomplete, lambda overview: overview.names.groups())


def complete_secrets(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the name of a secret."""
    return _from_database(ctx, param, incomplete, lambda overview: overview.names.secrets())


def complete_agents(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the name of an agent."""
    return _from_database(
        ctx,
        param,
        incomplete,
        lambda overview: [(agent.name, " ".join(agent.argv)) for agent in overview.get_settings().agents],
    )


def complete_quiet_times(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the name of quiet hours."""
    return _from_database(
        ctx,
        param,
        incomplete,
        lambda overview: [
            (time.name, f"{time.start}–{time.end}")
            for time in overview.get_settings().quiet_times
            if time.name
        ],
    )


def complete_runs(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the run id of the job that was typed."""
    # After an option without its value, click does not parse the words before it.
    words: list[str] = ctx.find_root().obj or []
    return _from_database(
        ctx,
        param,
        incomplete,
        lambda overview: [run for word in words for run in overview.names.runs(word, _MOST_RUNS)],
    )


def complete_questions(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the id of a run with an open question."""
    return _from_database(ctx, param, incomplete, lambda overview: overview.names.asking_runs())


def complete_settings(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the name of a setting."""
    from halo_scheduler.cli.commands.config import NAMES  # noqa: PLC0415 - already loaded when needed

    return _starting_with(ctx, param, incomplete, [(name, "") for name in NAMES])


def complete_zones(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the name of a time zone."""
    from zoneinfo import available_timezones  # noqa: PLC0415 - reads a folder

    return _starting_with(ctx, param, incomplete, [(name, "") for name in sorted(available_timezones())])


def complete_files(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Let the shell complete the name of a file."""
    from click.shell_completion import CompletionItem  # noqa: PLC0415

    return [CompletionItem(incomplete, type="file")]


def complete_folders(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Let the shell complete the name of a folder."""
    from click.shell_completion import CompletionItem  # noqa: PLC0415

    return [CompletionItem(incomplete, type="dir")]


def _from_database(
    ctx: click.Context, param: click.Parameter, incomplete: str, read: Callable[[Overview], Named]
) -> list[CompletionItem]:
    from halo_scheduler.service.quick_list import Overview  # noqa: PLC0415 - only for completion

    with Overview.open_for_reading() as overview:
        return _starting_with(ctx, param, incomplete, read(overview))


def _starting_with(
    ctx: click.Context, param: click.Parameter, incomplete: str, named: Named
) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem  # noqa: PLC0415

    from halo_scheduler.grammar.text import is_shown_whole, plain_line  # noqa: PLC0415

    typed = ctx.params.get(param.name or "")
    taken = set(typed) if isinstance(typed, tuple | list) else set()
    return [
        CompletionItem(name, help=plain_line(about, _LONGEST_HELP) or None)
        for name, about in named
        # Shells print completions unescaped: a name with hidden characters would look like another one.
        if name.startswith(incomplete) and name not in taken and is_shown_whole(name)
    ]
