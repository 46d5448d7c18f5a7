"""`halo apply`: sync jobs with a folder of files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from halo_scheduler.cli.commands.import_ import confirm_and_apply
from halo_scheduler.cli.terminal.progress_bar import progress
from halo_scheduler.grammar.text import plain_line
from halo_scheduler.model.changes import TERMINAL
from halo_scheduler.service.scheduler import Scheduler

if TYPE_CHECKING:
    from halo_scheduler.transfer.import_plan import ImportPlan

_MOST_NAMED = 10


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--prune", is_flag=True, help="Also remove jobs that are in none of the files.")
@click.option("--yes", is_flag=True, help="Don't ask for confirmation.")
def apply(*, folder: Path, prune: bool, yes: bool) -> None:
    """Sync jobs with a folder of files, for example one kept in git.

    \b
    Examples:
      halo export -o ~/jobs/all.yaml
      halo apply ~/jobs
      git -C ~/jobs pull && halo apply ~/jobs --prune --yes

    Reads all .yaml, .yml and .json files in DIR and its subfolders; a file can have several jobs, and files of
    agents are read too. The changes are shown first, and nothing is saved while a file has errors. Jobs are
    enabled unless their file says "enabled: false"; pauses, runs and next runs aren't changed. Removed jobs go to
    the trash.
    """
    from halo_scheduler.cli.terminal.job_files import without_garbage_collection  # noqa: PLC0415 - loads PyYAML
    from halo_scheduler.transfer.job_files import read_folder  # noqa: PLC0415

    with progress("Reading"), without_garbage_collection():
        drafts = read_folder(folder)
    with Scheduler.open(actor=TERMINAL) as scheduler, without_garbage_collection():
        with progress("Comparing"):
            plan = scheduler.imports.plan(drafts, prune=prune)
        if not prune:
            _print_others(scheduler, plan)
        confirm_and_apply(scheduler, plan, yes=yes, paused=False, skip_bad=None)


def _print_others(scheduler: Scheduler, plan: ImportPlan) -> None:
    known = {one.job_id for one in plan.changed}
    names = set(plan.unchanged)
    jobs = scheduler.list_jobs()
    others = sorted(job.name for job in jobs if job.id not in known and job.name not in names)
    if others:
        names_shown = ", ".join(plain_line(name) for name in others[:_MOST_NAMED])
        more = len(others) - _MOST_NAMED
        rest = f" and {more} more" if more > 0 else ""
        click.echo(f"Not in the files, kept without --prune: {names_shown}{rest}.")
