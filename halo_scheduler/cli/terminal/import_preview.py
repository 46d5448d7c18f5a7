"""The preview of an import, as `halo import` and `halo apply` print it."""

from __future__ import annotations

from collections.abc import Mapping

import click

from halo_scheduler.grammar.english import counted
from halo_scheduler.grammar.zone import local_time
from halo_scheduler.service.imports import NewRuns
from halo_scheduler.transfer.import_plan import ImportPlan
from halo_scheduler.transfer.preview import Line, Sign, preview

_COLOURS = {
    Sign.NEW: "green",
    Sign.CHANGED: "yellow",
    Sign.REMOVED: "red",
    Sign.NOTE: "yellow",
    Sign.ERROR: "red",
    Sign.SKIPPED: None,
}
_INDENTS = ("", "  ", "      ")


def print_preview(plan: ImportPlan, names: Mapping[str, str], *, paused: bool, is_refused: bool) -> None:
    """Print what a plan creates, changes, removes and skips; `names` are those of existing jobs, by id."""
    lines = preview(plan, names, paused=paused, is_refused=is_refused)
    text = "".join(f"{_INDENTS[line.depth]}{_styled(line)}\n" for line in lines)
    click.echo(text, nl=False)


def print_new_runs(new: NewRuns) -> None:
    """Print how many runs an archive adds to the history."""
    if new.count:
        span = " – ".join(f"{local_time(at):%Y-%m-%d}" for at in (new.first_at, new.last_at))
        sign = click.style(Sign.NEW, fg="green")
        click.echo(f"{click.style('History:', bold=True)}\n  {sign} {counted(new.count, 'run')} ({span})")


def _styled(line: Line) -> str:
    colour = None if line.sign is None else _COLOURS[line.sign]
    if line.is_diff:
        return click.style(f"  {line.text}", fg=colour)
    text = click.style(line.text, bold=True) if line.is_strong else line.text
    words = [
        *([] if line.sign is None else [click.style(line.sign, fg=colour)]),
        *([click.style(line.label, dim=True)] if line.label else []),
        *([text] if text else []),
    ]
    return " ".join(words)
