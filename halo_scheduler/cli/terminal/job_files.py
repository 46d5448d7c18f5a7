"""Read the files, or the standard input, that `halo import` is given."""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO, cast

import click

from halo_scheduler.cli.terminal.progress_bar import progress
from halo_scheduler.transfer import job_files
from halo_scheduler.transfer.archive import Archive
from halo_scheduler.transfer.drafts import Drafts
from halo_scheduler.transfer.job_files import read_jobs
from halo_scheduler.transfer.text_file import MOST_BYTES

_STDIN = "-"
_BEGIN = 64


@contextmanager
def open_archive(files: Sequence[str]) -> Iterator[Archive | None]:
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


def read_files(files: Sequence[str], *, is_system: bool = False, repository: str | None = None) -> Drafts:
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
        return read_jobs(content, machine=machine, is_system=is_system, repository=repository)
