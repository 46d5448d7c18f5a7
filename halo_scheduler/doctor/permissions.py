"""Checks that no other user can read or control the jobs."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from halo_scheduler.doctor.scene import Finding, Scene, Topic, fine, look, named, wrong, wrong_because
from halo_scheduler.errors import UnsafeFilesError
from halo_scheduler.host.owners import own_uid, owner_words
from halo_scheduler.host.private_files import (
    ACCESS_BY_OTHERS,
    FILE_MODE,
    FOLDER_MODE,
    close_to_writers,
    could_be_changed,
    move_away,
    open_to_writers,
    require_safe_way,
    require_unchangeable_folder,
)
from halo_scheduler.ipc.client import socket_path
from halo_scheduler.paths import BACKUPS, database_files, inner_folders, is_own_folder

_TOPIC = Topic.PERMISSIONS


class _Place(NamedTuple):
    """A file or folder of ours with its permissions."""

    path: Path
    mode: int
    owner: int
    wanted: int

    @property
    def is_private(self) -> bool:
        return not self.mode & ACCESS_BY_OTHERS and self.mode & self.wanted == self.wanted


def check_permissions(scene: Scene) -> Iterator[Finding]:
    """Check the data folder, its content and the socket."""
    if os.name != "posix":
        yield fine(_TOPIC, "This system separates the folders of its users.")
        return
    places = list(_places(scene.path))
    foreign = [place for place in places if place.owner != own_uid()]
    if foreign:
        yield _on_foreign(foreign)
    changeable = [
        place for place in places if _holds_changeable_jobs(scene.path, place) and place not in foreign
    ]
    if changeable:
        yield _on_changeable(changeable)
    told = foreign + changeable
    loose = [place for place in places if not place.is_private and place not in told]
    if loose:
        yield _on_loose(scene.path, loose)
    refused = list(_refused(scene.path))
    yield from refused
    if not (told or loose or refused):
        yield fine(_TOPIC, "Only you can read Halo's files." if places else "No files yet.")


def _refused(database: Path) -> Iterator[Finding]:
    """Check whether Halo would refuse the folder because of its parents or because it is shared; it may be missing."""
    folder = database.absolute().parent
    exists = os.path.isdir(folder)  # noqa: PTH112 - pathlib raises where a folder above is closed to us
    require = require_unchangeable_folder if exists and not is_own_folder(database) else require_safe_way
    try:
        require(folder)
    except PermissionError:
        return  # Reported with the database.
    except UnsafeFilesError as error:
        loose = open_to_writers(folder)
        yield replace(wrong_because(_TOPIC, error), mend=(lambda: _close(loose)) if loose else None)


def _close(folders: list[Path]) -> str:
    for folder in folders:
        close_to_writers(folder)
    return f"Only you can write to {named([str(folder) for folder in folders])} now."


def _places(database: Path) -> Iterator[_Place]:
    folder = database.absolute().parent
    if not os.path.isdir(folder):  # noqa: PTH112 - pathlib raises where a folder above is closed to us
        # Missing so far, or a file that the user put there.
        return
    if is_own_folder(database):
        yield from _place(folder)
    stem = database.stem
    # The default folder is ours alone, but it may contain foreign files.
    yield from (place for path in _inside(folder) if path.name.startswith(stem) for place in _place(path))
    for inner in inner_folders(folder / database.name):
        if not inner.name.startswith(stem):
            yield from _place(inner)
        yield from (place for path in _inside(inner) for place in _place(path))
    with suppress(OSError):
        yield from _place(socket_path(database))


def _inside(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []  # Missing, or not ours, which is reported elsewhere.


def _place(path: Path) -> Iterator[_Place]:
    try:
        status = path.lstat()
    except OSError:
        return
    if stat.S_ISLNK(status.st_mode):
        # Somebody's own arrangement, of which only the target has permissions.
        return
    wanted = FOLDER_MODE if stat.S_ISDIR(status.st_mode) else FILE_MODE
    yield _Place(path, stat.S_IMODE(status.st_mode), status.st_uid, wanted)


def _on_foreign(places: list[_Place]) -> Finding:
    names = named([str(place.path) for place in places])
    what = f"{names} {'belongs' if len(places) == 1 else 'belong'} to {owner_words(places[0].owner)}, not to you."
    away = move_away(str(places[0].path))
    advice = f"{away[0].upper()}{away[1:]}, or choose another HALO_HOME"
    # Root examines the files of another user.
    return look(_TOPIC, what) if own_uid() == 0 else wrong(_TOPIC, what, advice)


def _holds_changeable_jobs(database: Path, place: _Place) -> bool:
    """Return whether others can write to a file with jobs; the user must review it before it is tightened."""
    is_backup = place.path.parent.name == BACKUPS
    return could_be_changed(place.path) and (is_backup or place.path.name in _names(database))


def _names(database: Path) -> set[str]:
    return {file.name for file in database_files(database)}


def _on_changeable(places: list[_Place]) -> Finding:
    paths = [str(place.path) for place in places]
    advice = f"Check your jobs, or restore a backup, after: chmod go-rwx {shlex.join(paths)}"
    return wrong(_TOPIC, f"Other users could have changed {named(paths)}.", advice)


def _on_loose(database: Path, places: list[_Place]) -> Finding:
    names = named([str(place.path) for place in places])
    if any(place.mode & ACCESS_BY_OTHERS for place in places):
        what = f"{names} {'is' if len(places) == 1 else 'are'} readable by other users."
    else:
        what = f"You can't access {names}."
    return wrong(_TOPIC, what, "Fix it with: halo doctor --fix", lambda: _mend(database))


def _mend(database: Path) -> str:
    mended: list[str] = []
    # The folder comes first: from then on we can look into it, and nobody can put something else in the place of the
    # others.
    for place in _places(database):
        is_loose = not place.is_private and place.owner == own_uid()
        if is_loose and not _holds_changeable_jobs(database, place):
            place.path.chmod(place.wanted)
            mended.append(str(place.path))
    return f"Only you can use {named(mended)} now."
