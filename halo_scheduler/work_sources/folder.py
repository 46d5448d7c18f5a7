"""Files in a folder as a work queue: from `ready/` to `in-progress/`, then to `done/` or `failed/`.

A worker claims a file by renaming it to a hidden name of its own; a second worker finds it gone. The file gets its
visible name in `in-progress/` only after the claim is recorded, so after a crash nobody takes over somebody else's
file.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote_from_bytes, unquote_to_bytes

from halo_scheduler.model.actions import FolderSource
from halo_scheduler.model.messages import MessageKind, message
from halo_scheduler.work_sources.item import (
    LONGEST_BODY,
    Claim,
    ClaimNote,
    Item,
    MarkdownText,
    SourceError,
    Verdict,
    plain_body,
)
from halo_scheduler.work_sources.moving import free_names, move, move_into, sync_folder

_UNFINISHED = (".part", ".tmp", "~")
_DIGITS = re.compile(r"([0-9]+)")
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")

_READY, _IN_PROGRESS = "ready", "in-progress"
_FOLDERS = {Verdict.DONE: "done", Verdict.FAILED: "failed", Verdict.RELEASED: _READY}
_HEAD_BYTES = 4_096
# Do not follow links, and do not block on a pipe without a writer. Not every system has all of them.
_READ_FLAGS = (
    os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
)


def is_item_name(name: str) -> bool:
    """Return whether a name is a plain file name: not hidden, and not a file that is still being written."""
    if not name or name.startswith(".") or name.lower().endswith(_UNFINISHED):
        return False
    return not any(sign and sign in name for sign in ("\0", "/", os.sep, os.altsep))


def order_of(name: str) -> tuple[list[str | int], str]:
    """Return the sort key of a name, with natural ordering of numbers."""
    parts: list[str | int] = [*_DIGITS.split(name.casefold())]
    parts[1::2] = [int(part) for part in parts[1::2]]
    return parts, name


def id_of(name: str) -> str:
    """Return a name as one line of plain text; other bytes are escaped, such as %0A."""
    return "".join(
        sign if sign.isprintable() and not _ESCAPE.match(name, at) else _escaped(sign)
        for at, sign in enumerate(name)
    )


def name_of(shown_id: str) -> str:
    """Return the name for an id, or an empty string if the id is not one of ours."""
    try:
        name = os.fsdecode(unquote_to_bytes(shown_id))
    except ValueError:
        return ""
    return name if id_of(name) == shown_id and is_item_name(name) else ""


def _escaped(sign: str) -> str:
    return quote_from_bytes(os.fsencode(sign), safe="")


class Folder:
    """A folder as a work queue."""

    def __init__(self, source: FolderSource) -> None:
        self._chosen = source.path

    def prepare(self) -> None:
        """Create the subfolders, but never the chosen folder itself: it may be on a disk that is not mounted."""
        base = self._base()
        for name in (_READY, _IN_PROGRESS, *_FOLDERS.values()):
            with _translated(MessageKind.SUBFOLDER_NOT_MADE, name=name, folder=self._chosen):
                (base / name).mkdir(exist_ok=True)

    def ready(self) -> Iterator[Item]:
        """Yield the files in `ready/` in natural order."""
        folder = self._base() / _READY
        with _translated(MessageKind.ITEMS_NOT_LISTED, folder=str(folder)):
            names = _item_names(folder)
        for name in names:
            item = _glance(folder / name)
            if item is not None:
                yield item

    def read(self, item_id: str) -> Item | None:
        """Return a file in `ready/`."""
        name = name_of(item_id)
        if not name:
            return None
        with _translated(MessageKind.ITEM_NOT_READ, item=item_id):
            return _read(self._base() / _READY / name, name)

    def claim(self, item_id: str, note: ClaimNote) -> Item | None:
        """Move a file to `in-progress/`."""
        base, name = self._base(), name_of(item_id)
        with _translated(MessageKind.ITEM_NOT_MOVED, item=item_id, folder=_IN_PROGRESS):
            ready = base / _READY / name
            if not name or not _is_file(ready):
                return None
            note.begin()
            try:
                hidden = ready.rename(_hidden(base, note.key))
            except FileNotFoundError:
                if not (base / _IN_PROGRESS).is_dir():
                    raise
                return None
            path = _shown(base, hidden, name, note)
        try:
            return _claimed(path, name)
        except SourceError as error:
            # If it were ready again, it would block all others.
            self.settle(Claim(item_id=item_id, key=note.key, place=path.name), Verdict.FAILED)
            note.drop()
            aside = message(MessageKind.ITEM_SET_ASIDE, error=error.message, folder=_FOLDERS[Verdict.FAILED])
            raise SourceError(aside) from error

    def resume(self, claim: Claim) -> Item | None:
        """Return a file in `in-progress/`."""
        path, name = _found(self._base(), claim), name_of(claim.item_id)
        if not name or path is None:
            return None
        with _translated(MessageKind.ITEM_NOT_READ, item=claim.item_id):
            return _read(path, name)

    def settle(self, claim: Claim, verdict: Verdict, comment: str = "") -> None:  # noqa: ARG002 - a file has no comments
        """Move a claimed file to its destination, if it is still where we put it."""
        base, name = self._base(), name_of(claim.item_id)
        path = _found(base, claim)
        if not name or path is None:
            return
        # What never came to be known as ours was never worked on.
        folder = base / _FOLDERS[verdict if claim.place else Verdict.RELEASED]
        with _translated(MessageKind.ITEM_NOT_MOVED, item=claim.item_id, folder=folder.name):
            folder.mkdir(exist_ok=True)
            move_into(folder, path, name)
            sync_folder(folder)
            sync_folder(path.parent)

    def _base(self) -> Path:
        try:
            base = Path(self._chosen).expanduser()
            mode = base.stat().st_mode
        except FileNotFoundError:
            raise SourceError(message(MessageKind.NO_QUEUE_FOLDER, folder=self._chosen)) from None
        except RuntimeError as error:
            raise SourceError(message(MessageKind.NO_HOME, folder=self._chosen)) from error
        except OSError as error:
            unusable = message(MessageKind.QUEUE_UNUSABLE, folder=self._chosen, error=error.strerror)
            raise SourceError(unusable) from error
        if not stat.S_ISDIR(mode) or not base.is_absolute():  # The latter is another system's path.
            raise SourceError(message(MessageKind.QUEUE_NOT_A_FOLDER, folder=self._chosen))
        return base


def _item_names(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            files = (entry for entry in entries if is_item_name(entry.name))
            return sorted(
                (entry.name for entry in files if entry.is_file(follow_symlinks=False)), key=order_of
            )
    except FileNotFoundError:
        return []


def _glance(path: Path) -> Item | None:
    """Return the beginning of a file; a read error is reported when the file is claimed."""
    shown = id_of(path.name)
    try:
        found = _content(path, _HEAD_BYTES)
    except OSError:
        return Item(id=shown, title=shown, url=path.as_uri())
    if found is None:
        return None
    said = MarkdownText(plain_body(found[0], len(found[0]))[0], shown)
    return Item(id=shown, title=said.title, url=path.as_uri(), labels=said.labels, priority=said.priority)


def _read(path: Path, name: str) -> Item | None:
    """Return an item from a file, under its name in `ready/`; None if it is no longer a regular file."""
    found = _content(path, LONGEST_BODY)
    if found is None:
        return None
    text, note = plain_body(*found)
    said = MarkdownText(text, id_of(name))
    return Item(
        id=id_of(name),
        title=said.title,
        url=path.as_uri(),
        body=said.body,
        labels=said.labels,
        priority=said.priority,
        note=note,
    )


def _claimed(path: Path, name: str) -> Item:
    with _translated(MessageKind.ITEM_NOT_READ, item=id_of(name)):
        item = _read(path, name)
    if item is None:
        raise SourceError(message(MessageKind.ITEM_NOT_A_FILE, item=id_of(name)))
    return item


def _content(path: Path, most_bytes: int) -> tuple[bytes, int] | None:
    """Return the beginning of a file and its full length."""
    try:
        descriptor = os.open(path, _READ_FLAGS)
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.ELOOP, errno.ENXIO}:  # gone, a link, a socket
            return None
        raise
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            content = file.read(most_bytes)
        return content, max(status.st_size, len(content))
    finally:
        os.close(descriptor)


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return False


def _hidden(base: Path, key: str) -> Path:
    return base / _IN_PROGRESS / f".halo-{key}"


def _shown(base: Path, hidden: Path, name: str, note: ClaimNote) -> Path:
    """Rename a claimed file to its own name, or a similar one, and return its path."""
    folder = base / _IN_PROGRESS
    try:
        for candidate in free_names(folder, name):
            note.take(candidate)
            with suppress(FileExistsError):
                move(hidden, folder / candidate)
                return folder / candidate
    except (OSError, SourceError):
        with suppress(OSError):
            move_into(base / _READY, hidden, name)
            note.drop()
        raise
    raise AssertionError("there are always more names")


def _found(base: Path, claim: Claim) -> Path | None:
    """Return the path of a claimed file, or None if it was moved away."""
    hidden = _hidden(base, claim.key)
    if os.path.lexists(hidden):
        return hidden
    shown = base / _IN_PROGRESS / claim.place
    return shown if is_item_name(claim.place) and os.path.lexists(shown) else None


@contextmanager
def _translated(kind: MessageKind, **params: str) -> Iterator[None]:
    """Raise system errors as errors of the source, with the system's words as the parameter `error`."""
    try:
        yield
    except OSError as error:
        is_elsewhere = error.errno == errno.EXDEV
        reason = message(MessageKind.SEVERAL_DISKS) if is_elsewhere else error.strerror
        raise SourceError(message(kind, **params, error=reason)) from error
