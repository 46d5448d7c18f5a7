"""`halo export`: write jobs, or everything, to a file."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from halo_scheduler.cli.terminal.completions import complete_jobs
from halo_scheduler.cli.terminal.progress_bar import progress
from halo_scheduler.cli.terminal.terminal import open_to_read
from halo_scheduler.grammar.checks import LONGEST_TEXT
from halo_scheduler.grammar.english import counted
from halo_scheduler.grammar.text import plain_line
from halo_scheduler.service.lookup import find_job

if TYPE_CHECKING:
    from halo_scheduler.transfer.job_files import Export

_FORMATS = ("yaml", "json", "crontab")
_STDOUT = "-"


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME…]", shell_complete=complete_jobs)
@click.option(
    "--format", "file_format", type=click.Choice(_FORMATS), help="File format. [from the file name, or yaml]"
)
@click.option("--output", "-o", default=_STDOUT, metavar="FILE", help="File to write. [standard output]")
@click.option("--all", "everything", is_flag=True, help="An archive of all jobs, settings and the history.")
@click.option("--with-output", is_flag=True, help="With --all, include the output of runs.")
def export(
    *, names: tuple[str, ...], file_format: str | None, output: str, everything: bool, with_output: bool
) -> None:
    """Export jobs to a file that "halo import" reads; without a NAME, all jobs.

    \b
    Examples:
      halo export -o jobs.yaml
      halo export backup report
      halo export --format crontab
      halo export --all -o halo-archive.gz

    An export of all jobs includes quiet hours and group limits. Secrets and agents are included by name only.
    An archive (--all) also contains the settings with their agents, and all runs that ended; no secrets.
    """
    if everything:
        if names or file_format:
            raise click.UsageError("--all takes neither names of jobs nor a format")
        _export_everything(output, with_output=with_output)
        return
    if with_output:
        raise click.UsageError("--with-output needs --all: job files have no runs")
    from halo_scheduler.transfer.job_files import FileFormat, export_all, export_some, written  # noqa: PLC0415

    with open_to_read() as scheduler:
        jobs = scheduler.list_jobs()
        if names:
            chosen = {job.id: job for job in (find_job(scheduler, name) for name in names)}
            found = export_some(list(chosen.values()), jobs, scheduler.settings.read())
        else:
            found = export_all(jobs, scheduler.settings.read(), scheduler.jobs.group_limits())
    form = FileFormat(file_format) if file_format else FileFormat.of(output)
    text = written(found.document, form)
    if output == _STDOUT:
        click.echo(text, nl=False)
    else:
        with _written_whole(output) as file:
            file.write(text.encode())
        click.echo(f"exported {counted(len(found.document.jobs), 'job')} to {output}", err=True)
    notes = _gone(found) if form is FileFormat.CRONTAB else (*_gone(found), *_notes(found, text))
    _print_notes(notes)


def _export_everything(output: str, *, with_output: bool) -> None:
    if output == _STDOUT and sys.stdout.isatty():
        raise click.UsageError("an archive is no text; name a file with -o, or pipe it to another program")
    with open_to_read() as scheduler, progress("Exporting", scheduler.backups.count_runs()) as update:
        to = nullcontext(sys.stdout.buffer) if output == _STDOUT else _written_whole(output, is_private=True)
        with to as file:
            found, runs = scheduler.backups.write_archive(file, with_output=with_output, progress=update)
            file.flush()
        questions = len(scheduler.questions.list())
    words = f"{counted(len(found.document.jobs), 'job')}, the settings and {counted(runs, 'run')}"
    click.echo(f"exported {words}{'' if output == _STDOUT else f' to {output}'}", err=True)
    _print_notes(_gone(found))
    if questions:
        _print_notes(
            [f"left out {counted(questions, 'open question')}; answer first what a job waits for: halo inbox"]
        )


def _print_notes(notes: Iterable[str]) -> None:
    for note in notes:
        click.echo(f"{click.style('▲', fg='yellow')} {plain_line(note, LONGEST_TEXT)}", err=True)


def _gone(export: Export) -> Iterator[str]:
    for name in export.without_followers:
        yield f"{name}: left out a follow-up job that no longer exists"


def _notes(export: Export, text: str) -> Iterator[str]:
    """Yield what to know before importing the file elsewhere."""
    from halo_scheduler.transfer.text_file import MOST_BYTES, MOST_ITEMS  # noqa: PLC0415

    for agent in export.agents:
        command = shlex.join(["halo", "agent", "set", agent.name, "--", *agent.argv])
        yield f"the file doesn't contain the agent {agent.name}; where you import it, first run: {command}"
    if len(export.document.jobs) > MOST_ITEMS or len(text.encode()) > MOST_BYTES:
        most = f"{MOST_ITEMS} jobs and {MOST_BYTES >> 20} MB"
        yield f"an import takes at most {most}; export some jobs by name into each of several files"


@contextmanager
def _written_whole(output: str, *, is_private: bool = False) -> Iterator[BinaryIO]:
    """Write a file atomically; anything but a regular file is written to directly."""
    path = Path(output)
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as file:
                yield file
            return
        path = path.resolve()
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                yield file
            if not is_private:
                # Like any other new file; an existing file keeps its permissions.
                Path(name).chmod(path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask())
            Path(name).replace(path)
        except BaseException:
            with suppress(OSError):
                Path(name).unlink()
            raise
    except OSError as error:
        raise click.ClickException(f"cannot write {output}: {error.strerror or error}") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
