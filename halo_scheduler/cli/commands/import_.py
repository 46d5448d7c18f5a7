"""`halo import` and `halo apply`: read jobs from files."""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import click

from halo_scheduler.cli.terminal.completions import complete_files
from halo_scheduler.cli.terminal.progress_bar import progress
from halo_scheduler.cli.terminal.terminal import require_yes, without_garbage_collection
from halo_scheduler.errors import SchedulerError
from halo_scheduler.grammar.english import counted, listed
from halo_scheduler.grammar.text import plain_line
from halo_scheduler.grammar.zone import local_time
from halo_scheduler.model import JobSpec, Once
from halo_scheduler.model.changes import TERMINAL
from halo_scheduler.service.imports import NewRuns
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.transfer import job_files
from halo_scheduler.transfer.archive import Archive
from halo_scheduler.transfer.drafts import Drafts
from halo_scheduler.transfer.preview import Line, Sign, preview
from halo_scheduler.transfer.text_file import MOST_BYTES

if TYPE_CHECKING:
    from halo_scheduler.transfer.import_plan import ImportPlan


_STDIN = "-"
_BEGIN = 64
_COLOURS = {
    Sign.NEW: "green",
    Sign.CHANGED: "yellow",
    Sign.REMOVED: "red",
    Sign.NOTE: "yellow",
    Sign.ERROR: "red",
    Sign.SKIPPED: None,
}
_INDENTS = ("", "  ", "      ")
_MOST_NAMED = 10


@click.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE|-", shell_complete=complete_files)
@click.option("--yes", is_flag=True, help="Don't ask for confirmation.")
@click.option("--enable", is_flag=True, help="Enable new jobs instead of pausing them.")
@click.option("--skip-bad", is_flag=True, help="Skip jobs with errors and import the rest.")
@click.option(
    "--system", is_flag=True, help="Read system crontabs, whose lines name a user before the command."
)
@click.option("--repo", metavar="OWNER/NAME", help="Repository of agents whose GitHub source names none.")
def import_(
    *, files: tuple[str, ...], yes: bool, enable: bool, skip_bad: bool, system: bool, repo: str | None
) -> None:
    """Import jobs from an export, an archive, a crontab, a systemd timer or an agent file with schedules.

    \b
    Examples:
      crontab -l | halo import -
      halo import jobs.yaml
      halo import ~/.config/systemd/user/*.timer
      halo import --system old-server/crontab
      ssh nas halo export | halo import - --enable
      halo import halo-archive.gz

    Shows what will be created, changed and skipped, and asks before saving. New jobs are paused, so that you can
    review them; resume them with "halo resume NAME" or "halo resume --imported". Existing jobs are matched by id,
    then by name, lines of a crontab also by schedule and command; importing the same file again changes nothing.
    From a system crontab (/etc/crontab, files in /etc/cron.d, and any file with --system), your own lines are imported
    and those of other users are listed. An archive of another computer ("halo export --all") also brings its settings
    and history; with --enable its jobs keep the state they had there.
    """
    with without_garbage_collection(), _open_archive(files) as archive:
        if archive is None:
            drafts = _read_files(files, is_system=system, repository=repo)
        else:
            with progress("Reading"):
                drafts = archive.read()
        with Scheduler.open(actor=TERMINAL) as scheduler:
            with progress("Comparing"):
                plan = scheduler.imports.plan(drafts)
            confirm_and_apply(scheduler, plan, yes=yes, paused=not enable, skip_bad=skip_bad, archive=archive)


@contextmanager
def _open_archive(files: Sequence[str]) -> Iterator[Archive | None]:
    """Open an archive given as the only file or on standard input; None if there are only job files.

    An archive is read twice, so that one from standard input is kept in a private temporary file meanwhile.
    """
    if files == (_STDIN,) and Archive.begins_with(_peek(sys.stdin.buffer)):
        with tempfile.TemporaryFile() as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
            yield Archive(cast("BinaryIO", file))
    elif len(files) == 1:
        with job_files.open_archive(Path(files[0])) as archive:
            yield archive
    else:
        yield None


def _peek(file: BinaryIO) -> bytes:
    """Return the first bytes of a file without reading them."""
    if isinstance(file, io.BufferedReader):
        return file.peek(_BEGIN)[:_BEGIN]
    begin = file.read(_BEGIN)
    file.seek(0)
    return begin


def _read_files(files: Sequence[str], *, is_system: bool = False, repository: str | None = None) -> Drafts:
    """Read files or standard input; with several, each error names its file.

    `is_system` reads all as system crontabs, `repository` completes GitHub sources of agents that name none.
    """
    try:
        return job_files.read_files(files, partial(_read, is_system=is_system, repository=repository))
    except job_files.UnreadableError as error:
        raise click.UsageError(str(error)) from None


def _read(file: str, *, is_system: bool, repository: str | None) -> Drafts:
    if file != _STDIN:
        with progress("Reading"):
            return job_files.read_file(file, is_system=is_system, repository=repository)
    content = sys.stdin.buffer.read(MOST_BYTES + 1)
    with progress("Reading"):
        machine = job_files.machine_here()
        return job_files.read_jobs(content, machine=machine, is_system=is_system, repository=repository)


def confirm_and_apply(
    scheduler: Scheduler,
    plan: ImportPlan,
    *,
    yes: bool,
    paused: bool,
    skip_bad: bool | None,
    archive: Archive | None = None,
) -> None:
    """Show a plan, ask, and apply it; `skip_bad` is None where skipping is not offered."""
    new = NewRuns() if archive is None else scheduler.imports.find_new_runs(plan, archive.runs())
    names = {job.id: job.name for job in scheduler.list_jobs()}
    is_refused = bool(plan.faults) and not skip_bad
    try:
        _print_preview(plan, names, paused=paused, is_refused=is_refused)
        _print_new_runs(new)
    except BrokenPipeError:
        click.echo("halo: nothing was saved: the preview could not be shown in full", err=True)
        raise
    if is_refused:
        rest = "" if plan.is_empty or skip_bad is None else ", or import the rest with --skip-bad"
        raise SchedulerError(f"nothing was saved; fix the {_faults(plan)} above{rest}")
    if plan.is_empty and not new.count:
        click.echo("No changes.")
        return
    if not yes:
        require_yes("Apply these changes?")
    with progress("Saving", len(plan.created)) as update:
        scheduler.imports.apply(
            plan,
            paused=paused,
            skip_bad=bool(skip_bad),
            progress=update,
            runs=() if archive is None else archive.runs(),
            run_count=0 if archive is None else archive.run_count,
        )
    _print_summary(plan, new, paused=paused)
    _warn_of_missing_secrets(scheduler, plan)


def _print_preview(plan: ImportPlan, names: Mapping[str, str], *, paused: bool, is_refused: bool) -> None:
    """Print what a plan creates, changes, removes and skips; `names` are those of existing jobs, by id."""
    lines = preview(plan, names, paused=paused, is_refused=is_refused)
    text = "".join(f"{_INDENTS[line.depth]}{_styled(line)}\n" for line in lines)
    click.echo(text, nl=False)


def _print_new_runs(new: NewRuns) -> None:
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


def _faults(plan: ImportPlan) -> str:
    return "error" if len(plan.faults) == 1 else f"{len(plan.faults)} errors"


def _print_summary(plan: ImportPlan, new: NewRuns, *, paused: bool) -> None:
    changed = [
        *([counted(len(plan.changed), "job")] if plan.changed else []),
        *([counted(len(plan.settings), "setting")] if plan.settings else []),
        *(["quiet hours"] if plan.quiet_times else []),
        *(["group limits"] if plan.group_limits else []),
    ]
    done = [
        *([f"created {counted(len(plan.created), 'job')}"] if plan.created else []),
        *([f"changed {listed(changed)}"] if changed else []),
        *([f"removed {counted(len(plan.removed), 'job')}"] if plan.removed else []),
        *([f"added {counted(new.count, 'run')} to the history"] if new.count else []),
    ]
    click.echo("; ".join(done))
    count = sum(not _is_over(one.spec, plan.made_at) for one in plan.created)
    if count and paused:
        are_paused = "it is paused; resume it" if count == 1 else f"all {count} are paused; resume them"
        click.echo(f"  {are_paused} with: halo resume --imported, or halo resume NAME")


def _is_over(spec: JobSpec, now_ms: int) -> bool:
    return isinstance(spec.schedule, Once) and spec.schedule.due_at <= now_ms


def _warn_of_missing_secrets(scheduler: Scheduler, plan: ImportPlan) -> None:
    for name in scheduler.imports.missing_secrets(plan):
        click.echo(
            f"{click.style('▲', fg='yellow')} the secret {name} isn't set; set it with: halo secret set {name}"
        )


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
    with progress("Reading"), without_garbage_collection():
        drafts = job_files.read_folder(folder)
    with Scheduler.open(actor=TERMINAL) as scheduler, without_garbage_collection():
        with progress("Comparing"):
            plan = scheduler.imports.plan(drafts, prune=prune)
        # A job that its file gives incorrectly is in a file too.
        if not prune and not plan.faults:
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
