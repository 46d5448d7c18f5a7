"""Read the files that `halo import` and `halo apply` are given."""

from __future__ import annotations

import gc
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from getpass import getuser
from pathlib import Path
from typing import BinaryIO, cast

import click

from halo_scheduler.cli.terminal.progress_bar import progress
from halo_scheduler.transfer.archive import Archive
from halo_scheduler.transfer.drafts import Drafts, Fault, LeftOut, merged, of_file
from halo_scheduler.transfer.exporting import read_jobs
from halo_scheduler.transfer.text_file import MOST_BYTES, FileError
from halo_scheduler.transfer.timer_reading import Machine

_STDIN = "-"
_BEGIN = 64
_ENDINGS = {".yaml", ".yml", ".json"}


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Turn garbage collection off: everything that is read from a file is needed until the command ends."""
    was_collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_collecting:
            gc.enable()


@contextmanager
def open_archive(files: Sequence[str]) -> Iterator[Archive | None]:
    """Open an archive that stands in the only file or in standard input; None if there are only job files.

    An archive is read twice, so that one from standard input is kept in a private temporary file meanwhile.
    """
    if files == (_STDIN,) and Archive.begins_with(_peek(sys.stdin.buffer)):
        with tempfile.TemporaryFile() as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
            yield Archive(cast("BinaryIO", file))
    elif len(files) == 1 and Path(files[0]).is_file() and os.access(files[0], os.R_OK):
        with Path(files[0]).open("rb") as file:
            yield Archive(file) if Archive.begins_with(_peek(file)) else None
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
    read = partial(_read, is_system=is_system, repository=repository)
    return read(files[0]) if len(files) == 1 else merged([_read_named(file, read) for file in files])


def read_folder(folder: Path) -> Drafts:
    """Read the job files in a folder and its subfolders, sorted by name; hidden ones are skipped."""
    paths: list[Path] = []
    left_out: list[LeftOut] = []
    for path in _within(folder):
        if path.is_dir():
            name = str(path.relative_to(folder))
            left_out.append(LeftOut(what=name, why="links to folders are not followed"))
        elif path.suffix.lower() in _ENDINGS:
            paths.append(path)
    if not paths:
        raise FileError(f"no .yaml, .yml or .json files in {folder}")
    return merged([*(_read_one(folder, path) for path in sorted(paths)), Drafts(left_out=tuple(left_out))])


def _within(folder: Path) -> Iterator[Path]:
    """Yield the files and links in a folder and its subfolders, except hidden ones."""

    def fail(error: OSError) -> None:
        raise error  # --prune would remove the jobs of a folder that cannot be read

    for place, folders, files in os.walk(folder, onerror=fail):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        links = [name for name in folders if Path(place, name).is_symlink()]
        yield from (Path(place, name) for name in (*links, *files) if not name.startswith("."))


def _read_one(folder: Path, path: Path) -> Drafts:
    """Read a file of a folder; an unreadable one is an error like others, so that all are reported at once."""
    name = str(path.relative_to(folder))
    if path.exists() and not path.is_file():
        return Drafts(faults=(Fault(message="is not a regular file", file=name),))
    try:
        drafts = read_jobs(content_of(path), str(path.absolute()))
    except FileError as error:
        return Drafts(faults=(Fault(message=error.message, file=name, line=error.line, path=error.path),))
    except OSError as error:
        return Drafts(faults=(Fault(message=f"cannot be read: {error.strerror}", file=name),))
    return of_file(drafts, name)


def _read_named(file: str, read: Callable[[str], Drafts]) -> Drafts:
    """Read one of several files; its errors can be skipped."""
    try:
        return of_file(read(file), file)
    except FileError as error:
        return Drafts(faults=(Fault(message=error.message, file=file, line=error.line, path=error.path),))


def _read(file: str, *, is_system: bool, repository: str | None) -> Drafts:
    machine = Machine(home=str(Path.home()), user=_user())
    if file == _STDIN:
        content = sys.stdin.buffer.read(MOST_BYTES + 1)
        with progress("Reading"):
            return read_jobs(content, machine=machine, is_system=is_system, repository=repository)
    path = Path(file)
    try:
        content = _unit_of(path) if path.suffix == ".timer" else content_of(path)
    except OSError as error:
        raise click.UsageError(f"cannot read {file}: {error.strerror}") from None
    with progress("Reading"):
        return read_jobs(
            content,
            str(path.absolute()),
            find_beside=partial(_unit_beside, path.parent),
            machine=machine,
            is_system=is_system,
            repository=repository,
        )


def content_of(path: Path) -> bytes:
    """Return the content of a file up to the limit and one byte: it may be endless."""
    with open(path, "rb", opener=_open_without_waiting) as opened:
        return opened.read(MOST_BYTES + 1)


def _open_without_waiting(path: str, flags: int) -> int:
    """Open a file without waiting for the writer of a pipe."""
    if sys.platform == "win32":
        return os.open(path, flags)
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    os.set_blocking(descriptor, True)
    return descriptor


def _unit_of(path: Path) -> bytes:
    """Return the content of a systemd unit, followed by its drop-ins."""
    content = content_of(path)
    for over in sorted(path.with_name(f"{path.name}.d").glob("*.conf")):
        if not over.name.startswith(".") and len(content) <= MOST_BYTES:
            content += b"\n" + content_of(over)
    return content


def _unit_beside(folder: Path, name: str) -> bytes | None:
    if Path(name).name != name:
        return None  # in another folder
    try:
        return _unit_of(folder / name)
    except OSError:
        return None


def _user() -> str:
    """Return the user that jobs run as; the environment may still name the one before sudo."""
    try:
        if sys.platform == "win32":
            return getuser()
        import pwd  # noqa: PLC0415 - there is none on Windows

        return pwd.getpwuid(os.geteuid()).pw_name
    except (OSError, KeyError):
        return ""
