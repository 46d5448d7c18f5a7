"""`halo export`: jobs into a file."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

import click

from halo_scheduler.cli.completing import complete_jobs
from halo_scheduler.finding import find_job
from halo_scheduler.output_text import plain_line
from halo_scheduler.service import Scheduler

_FORMATS = ("yaml", "json", "crontab")
_ENDINGS = {".json": "json", ".cron": "crontab", ".crontab": "crontab"}
_STDOUT = "-"


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME…]", shell_complete=complete_jobs)
@click.option(
    "--format", "file_format", type=click.Choice(_FORMATS), help="[yaml, or what the file's name says]"
)
@click.option("--output", "-o", default=_STDOUT, metavar="FILE", help="Where to. [standard output]")
def export(*, names: tuple[str, ...], file_format: str | None, output: str) -> None:
    """Write jobs to a file that can be kept, shared and taken in again; without a NAME all of them.

    \b
    Examples:
      halo export -o jobs.yaml
      halo export backup report
      halo export --format crontab

    All jobs come with the quiet times and the limits of groups. Secrets are only named, never written.
    """
    from halo_scheduler.transfer.exporting import FileFormat, export_all, export_some, written  # noqa: PLC0415

    with Scheduler.open() as scheduler:
        jobs = scheduler.list_jobs()
        if names:
            chosen = {job.id: job for job in (find_job(scheduler, name) for name in names)}
            found = export_some(list(chosen.values()), jobs)
        else:
            quiet_times = scheduler.get_settings().quiet_times
            found = export_all(jobs, quiet_times, scheduler.list_group_limits())
    text = written(found.document, FileFormat(file_format or _format_of(output)))
    if output == _STDOUT:
        click.echo(text, nl=False)
    else:
        try:
            _write_whole(Path(output), text)
        except OSError as error:
            raise click.ClickException(f"{output} cannot be written: {error.strerror or error}") from None
        count = len(found.document.jobs)
        click.echo(f"wrote {count} {'job' if count == 1 else 'jobs'} to {output}", err=True)
    for name in found.without_followers:
        click.echo(
            f"{click.style('▲', fg='yellow')} {plain_line(name)}: a job that runs after it is gone; "
            "that was left out",
            err=True,
        )


def _format_of(output: str) -> str:
    """Return what a file's name says of its content."""
    return _ENDINGS.get(Path(output).suffix.lower(), _FORMATS[0])


def _write_whole(path: Path, text: str) -> None:
    """Write a file so that nobody ever finds a half of it; what is no plain file is written to as it is."""
    if path.exists() and not path.is_file():
        path.write_text(text, encoding="utf-8")
        return
    path = path.resolve()
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        # As any other new file: what was there before keeps its own permissions.
        Path(name).chmod(path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask())
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
