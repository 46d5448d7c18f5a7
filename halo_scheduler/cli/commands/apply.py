"""`halo apply`: jobs as a folder of files says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from halo_scheduler.cli.commands.import_ import take_in
from halo_scheduler.cli.terminal.progress_bar import progress
from halo_scheduler.grammar.text import plain_line
from halo_scheduler.model.changes import TERMINAL
from halo_scheduler.service.scheduler import Scheduler

if TYPE_CHECKING:
    from halo_scheduler.transfer.import_plan import ImportPlan

_MOST_NAMED = 10


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--prune", is_flag=True, help="Remove the jobs that are in none of the files.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def apply(*, folder: Path, prune: bool, yes: bool) -> None:
    """Make the jobs what the files of a folder say: for jobs that are kept in git.

    \b
    Examples:
      halo export -o ~/jobs/all.yaml
      halo apply ~/jobs
      git -C ~/jobs pull && halo apply ~/jobs --prune --yes

    All .yaml, .yml and .json files in DIR and its folders are read, each with one job or many. You see the
    difference first, and nothing is stored while one of the files has a fault. Whether a job is enabled is what its
    file says, and it is if it says nothing; pauses, runs and plans stay as they are. Removed jobs go into the trash.
    """
    from halo_scheduler.cli.terminal.job_files import keeping_everything, read_folder  # noqa: PLC0415 - for those who apply

    with progress("Reading"), keeping_everything():
        drafts = read_folder(folder)
    with Scheduler.open(actor=TERMINAL) as scheduler, keeping_everything():
        with progress("Comparing"):
            plan = scheduler.imports.plan(drafts, prune=prune)
        if not prune:
            _tell_others(scheduler, plan)
        take_in(scheduler, plan, yes=yes, paused=False, skip_bad=None)


def _tell_others(scheduler: Scheduler, plan: ImportPlan) -> None:
    known = {one.job_id for one in plan.changed}
    names = set(plan.unchanged)
    jobs = scheduler.list_jobs()
    others = sorted(job.name for job in jobs if job.id not in known and job.name not in names)
    if others:
        names_shown = ", ".join(plain_line(name) for name in others[:_MOST_NAMED])
        more = len(others) - _MOST_NAMED
        rest = f" and {more} more" if more > 0 else ""
        click.echo(f"In none of the files, and left alone without --prune: {names_shown}{rest}.")
