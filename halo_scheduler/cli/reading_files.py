"""Reading files that hold jobs, from where the user says they are."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from getpass import getuser
from pathlib import Path

import click

from halo_scheduler.cli.long_work import shown_work
from halo_scheduler.transfer.any_file import read_jobs
from halo_scheduler.transfer.document import read_document
from halo_scheduler.transfer.drafts import Drafts, Fault, merged, of_file
from halo_scheduler.transfer.text_file import MOST_BYTES, FileError
from halo_scheduler.transfer.timer_reading import Machine

_STDIN = "-"
_ENDINGS = {".yaml", ".yml", ".json"}


def read_files(files: Sequence[str]) -> Drafts:
    """Read files, or standard input; where there are several, each fault says in which it is."""
    if len(files) == 1:
        return _read(files[0])
    return merged([_read_named(file) for file in files])


def read_folder(folder: Path) -> Drafts:
    """Read all files of ours in a folder and those in it, in the order of their names; hidden ones are left alone."""
    found = (path for path in folder.rglob("*") if _is_ours(path.relative_to(folder)))
    paths = sorted(path for path in found if not path.is_dir())
    if not paths:
        raise FileError(f"there are no .yaml, .yml or .json files in {folder}")
    return merged([_read_one(folder, path) for path in paths])


def _is_ours(path: Path) -> bool:
    return path.suffix.lower() in _ENDINGS and not any(part.startswith(".") for part in path.parts)


def _read_one(folder: Path, path: Path) -> Drafts:
    """Read a file of a folder; one that cannot be read is a fault, so that all faults are told at once."""
    name = str(path.relative_to(folder))
    if path.exists() and not path.is_file():
        return Drafts(faults=(Fault(message="is no plain file", file=name),))
    try:
        drafts = read_document(content_of(path), is_json=path.suffix.lower() == ".json")
    except FileError as error:
        return Drafts(faults=(Fault(message=error.message, file=name, line=error.line, path=error.path),))
    except OSError as error:
        return Drafts(faults=(Fault(message=f"cannot be read: {error.strerror}", file=name),))
    return of_file(drafts, name)


def _read_named(file: str) -> Drafts:
    try:
        return of_file(_read(file), file)
    except FileError as error:
        error.file = file
        raise


def _read(file: str) -> Drafts:
    if file == _STDIN:
        content = sys.stdin.buffer.read(MOST_BYTES + 1)
        with shown_work("Reading"):
            return read_jobs(content)
    path = Path(file)
    try:
        content = content_of(path)
    except OSError as error:
        raise click.UsageError(f"the file cannot be read: {error}") from None
    with shown_work("Reading"):
        return read_jobs(
            content,
            str(path.absolute()),
            find_beside=partial(_content_beside, path.parent),
            machine=Machine(home=str(Path.home()), user=_user()),
        )


def content_of(path: Path) -> bytes:
    """Return the content of a file, but never more than the limit by much: it may have no end."""
    with path.open("rb") as opened:
        return opened.read(MOST_BYTES + 1)


def _content_beside(folder: Path, name: str) -> bytes | None:
    if "/" in name or "\\" in name:
        return None
    try:
        return content_of(folder / name)
    except OSError:
        return None


def _user() -> str:
    try:
        return getuser()
    except (OSError, KeyError):
        return ""
