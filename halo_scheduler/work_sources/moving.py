"""Moves files without ever overwriting one."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

_AT_FDCWD = -100
_RENAME_NOREPLACE = 1
_NOT_KNOWN = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP})
_NO_LINKS = frozenset({errno.EPERM, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK})
_LONGEST_NAME = 255
_LONGEST_SUFFIX = 20


def move(old: Path, new: Path) -> None:
    """Rename a file to an unused name; raises FileExistsError."""
    if os.name == "nt":
        old.rename(new)  # It does not overwrite there.
    elif not _renamed_by_the_kernel(old, new):
        move_by_link(old, new)


def move_into(folder: Path, old: Path, name: str) -> None:
    """Move a file into a folder under its own name, or a similar one if that is taken."""
    for candidate in free_names(folder, name):
        with suppress(FileExistsError):
            move(old, folder / candidate)
            return


def free_names(folder: Path, name: str) -> Iterator[str]:
    """Yield candidate names that were unused a moment ago: "a.md", "a (2).md" and so on, without end."""
    for number in count(1):
        candidate = name if number == 1 else _numbered(name, number)
        if not os.path.lexists(folder / candidate):
            yield candidate


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries to disk."""
    if sys.platform == "win32":
        return  # Elsewhere a folder cannot be opened.
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _numbered(name: str, number: int) -> str:
    path = Path(name)
    stem, suffix = (path.stem, path.suffix) if len(path.suffix) <= _LONGEST_SUFFIX else (name, "")
    ending = f" ({number}){suffix}"
    while len(os.fsencode(stem + ending)) > _LONGEST_NAME:
        stem = stem[:-1]
    return stem + ending


def _renamed_by_the_kernel(old: Path, new: Path) -> bool:
    """Rename without replacing, in one system call; False where that is not supported."""
    rename = _renameat2()
    if rename is None:
        return False
    if rename(_AT_FDCWD, os.fsencode(old), _AT_FDCWD, os.fsencode(new), _RENAME_NOREPLACE) == 0:
        return True
    code = ctypes.get_errno()
    if code in _NOT_KNOWN:
        return False
    raise OSError(code, os.strerror(code), str(old), None, str(new))


@cache
def _renameat2() -> Any:
    if not sys.platform.startswith("linux"):
        return None
    return getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)


def move_by_link(old: Path, new: Path) -> None:
    """Move by link and unlink; for a moment the file has both names."""
    try:
        new.hardlink_to(old)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
    else:
        old.unlink()
        return
    # On a disk without hard links or exclusive moves, only a prior check is possible.
    if os.path.lexists(new):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(new))
    old.rename(new)
