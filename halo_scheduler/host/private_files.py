"""Private files: check owner and permissions before use; tighten our own files, refuse the rest.

docs/adr/0017 has the rules and their reasons. Windows separates the folders of its users by itself.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from halo_scheduler.errors import UnsafeFilesError
from halo_scheduler.host.owners import (
    WRITE_BY_OTHERS,
    is_trusted,
    is_writable_by_others,
    own_uid,
    owner_words,
    user_name,
)
from halo_scheduler.paths import BACKUPS, database_files, inner_folders, is_own_folder, secrets_file

FOLDER_MODE = 0o700
FILE_MODE = 0o600
ACCESS_BY_OTHERS = 0o077
_HAS_OWNERS = os.name == "posix"
_MOST_LINKS = 40


def require_private_database(database: Path) -> None:
    """Create the folder of a database if it is missing, and check every file in it that Halo opens.

    Our own files that are open to others are tightened, unless others could have changed the jobs. UnsafeFilesError
    names what cannot be trusted, and the remedy.
    """
    make_folders(database.parent)
    if not _HAS_OWNERS:
        return
    folder = _require_data_folder(database)
    _follow(database)
    real = Path(os.path.realpath(database))
    if str(real.parent) != folder:
        require_unchangeable_folder(real.parent)
    _require_unchanged(real, _require_own_file)
    for file in database_files(real):
        _require_own_file(str(file), tighten=True)
    _require_own_file(str(secrets_file(database)))
    for inner in inner_folders(database):
        _require_own_folder(str(inner))


def require_readable_database(database: Path) -> None:
    """Check that no other user could have changed a database that is about to be read; change nothing."""
    if not _HAS_OWNERS:
        return
    real = Path(os.path.realpath(database))
    for folder in {real.parent, database.parent}:
        require_unchangeable_folder(folder)
    _follow(database)
    _require_unchanged(real, _require_trusted_file)


def require_own_data_folder(database: Path) -> None:
    """Refuse a data folder, or a backup folder in it, that belongs to another user; change nothing."""
    if _HAS_OWNERS and os.path.isdir(database.parent):
        _own_data_folder(os.path.realpath(database.parent))
        backups = str(database.with_name(BACKUPS))
        if os.path.isdir(backups) and not os.path.islink(backups):
            _own_inner_folder(backups)


def open_trusted_backup(file: Path) -> int:
    """Open a backup and return its descriptor; refuse it if another user made it or could have changed it.

    The open file is checked, not its name: the owner of the folder could replace it in between.
    """
    flags = (
        os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    )
    descriptor = os.open(file, flags)
    try:
        _require_trusted_backup(os.path.realpath(file), os.fstat(descriptor))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _require_trusted_backup(path: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise UnsafeFilesError(f"{path} is not a plain file, and so not a backup")
    if not _HAS_OWNERS:
        return
    if not is_trusted(status.st_uid):
        _refuse_foreign(path, status, "if you trust its content, copy it and restore the copy")
    if is_writable_by_others(status):
        _refuse_changeable([path], "restore it only if you trust its content")


def is_trusted_backup(file: Path) -> bool:
    """Return whether a file is a regular file of ours that no other user could have changed."""
    try:
        status = os.lstat(file)
    except OSError:
        return False
    is_ours = not _HAS_OWNERS or (status.st_uid == own_uid() and not is_writable_by_others(status))
    return stat.S_ISREG(status.st_mode) and is_ours


def could_be_changed(file: Path) -> bool:
    """Return whether others can write to a regular file."""
    status = _status(str(file))
    return status is not None and stat.S_ISREG(status.st_mode) and is_writable_by_others(status)


def make_private_folder(folder: Path) -> None:
    """Create a folder that only its owner can enter, or restrict an existing one of ours."""
    make_folders(folder)
    if _HAS_OWNERS:
        _require_own_folder(str(folder))


def make_folders(folder: Path) -> None:
    """Create a folder and its parents, all private whatever the umask; refuse a path that others control."""
    if not _HAS_OWNERS:
        folder.mkdir(parents=True, exist_ok=True)
        return
    here, missing = _follow(folder)
    for name in missing:
        here = os.path.join(here, name)
        try:
            os.mkdir(here, FOLDER_MODE)
        except FileExistsError:
            continue  # Another program created it at the same time; its owner is checked on use.
        os.chmod(here, FOLDER_MODE)


def require_safe_way(folder: Path) -> None:
    """Refuse a folder that others could replace through its parent folders."""
    if _HAS_OWNERS:
        _follow(folder)


def require_unchangeable_folder(folder: Path) -> None:
    """Refuse a folder whose files others could replace or add to."""
    if not _HAS_OWNERS:
        return
    here, missing = _follow(folder)
    if not missing:
        _require_unchangeable(here, os.lstat(here), sticky_is_enough=False)


def is_private_folder(folder: Path) -> bool:
    """Return whether the path is a folder of ours, not a link, that no other user can enter."""
    try:
        status = os.lstat(folder)
    except OSError:
        return False
    if not _HAS_OWNERS:
        return stat.S_ISDIR(status.st_mode)
    is_ours = status.st_uid == own_uid() and not status.st_mode & ACCESS_BY_OTHERS
    return stat.S_ISDIR(status.st_mode) and is_ours


def open_to_writers(folder: Path) -> list[Path]:
    """Return our own folders on a path that others can write to needlessly; the path may not exist yet."""
    above = (folder.absolute(), *folder.absolute().parents)
    statuses = {path: os.stat(path) for path in above if os.path.exists(path)}
    return [
        path
        for path, status in statuses.items()
        if status.st_uid == own_uid() and not status.st_mode & stat.S_ISVTX and is_writable_by_others(status)
    ]


def close_to_writers(folder: Path) -> None:
    """Remove the write access of others from a folder; their read access stays."""
    os.chmod(folder, stat.S_IMODE(os.stat(folder).st_mode) & ~WRITE_BY_OTHERS)


# --- The path to a folder ------------------------------------------------------------------------------------


def _follow(path: Path) -> tuple[str, list[str]]:
    """Return the folder where a path leads, and the part of the path that is missing there.

    Refuse a path on which others could replace our folder.
    """
    here, left = "/", list(reversed(path.absolute().parts[1:]))
    _require_unchangeable(here, os.lstat(here))
    links = 0
    while left:
        step = os.path.join(here, left[-1])
        status = _status(step)
        if status is None:
            break
        left.pop()
        if not stat.S_ISLNK(status.st_mode):
            here = step
            if left:
                _require_unchangeable(here, status)
            continue
        links += 1
        if links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        if not is_trusted(status.st_uid):
            _refuse_foreign(step, status, _CHOOSE)
        target = Path(os.readlink(step))
        here = "/" if target.is_absolute() else here
        left += reversed(target.parts[1:] if target.is_absolute() else target.parts)
    return here, left[::-1]


def _require_unchangeable(path: str, status: os.stat_result, *, sticky_is_enough: bool = True) -> None:
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
    if not is_trusted(status.st_uid):
        _refuse_foreign(path, status, _CHOOSE)
    # In a sticky folder such as /tmp others can add files, but neither rename nor remove ours.
    if is_writable_by_others(status) and not (sticky_is_enough and status.st_mode & stat.S_ISVTX):
        _refuse_writable(path, status)


# --- Its files -----------------------------------------------------------------------------------------------


def _require_data_folder(database: Path) -> str:
    """Return the real path of a database's folder, once no other user can write to it."""
    path = os.path.realpath(database.parent)
    status = _own_data_folder(path)
    if status.st_mode & ACCESS_BY_OTHERS and is_own_folder(database):
        _tighten(path, status)
    elif is_writable_by_others(status):
        _refuse_writable(path, status)
    return path


def _require_own_folder(path: str) -> None:
    """Make a folder in our data folder private; if it is a link to a folder elsewhere, that must be safe."""
    if os.path.islink(path):
        require_unchangeable_folder(Path(path))
    elif os.path.lexists(path):
        _tighten(path, _own_inner_folder(path))


def _own_data_folder(path: str) -> os.stat_result:
    status = _folder(path)
    if status.st_uid != own_uid():
        _refuse_foreign(path, status, _as_user(status.st_uid) if own_uid() == 0 else _CHOOSE)
    return status


def _own_inner_folder(path: str) -> os.stat_result:
    status = _folder(path)
    if status.st_uid != own_uid():
        _refuse_foreign(path, status, _out_of_the_way(path))
    return status


def _folder(path: str) -> os.stat_result:
    status = os.lstat(path)
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
    return status


def _require_unchanged(database: Path, checked: Callable[[str], os.stat_result | None]) -> None:
    """Refuse a database that others could have written to: the person who closes it should review the jobs."""
    statuses = {path: checked(path) for path in map(str, database_files(database))}
    changeable = [path for path, status in statuses.items() if status and is_writable_by_others(status)]
    if changeable:
        _refuse_changeable(changeable, "check your jobs with: halo list, or restore a backup")


def _require_own_file(path: str, *, tighten: bool = False) -> os.stat_result | None:
    status = _plain_file(path)
    if status is not None and status.st_uid != own_uid():
        _refuse_foreign(path, status, move_away(path))
    if status is not None and tighten:
        _tighten(path, status)
    return status


def _require_trusted_file(path: str) -> os.stat_result | None:
    status = _plain_file(path)
    if status is not None and not is_trusted(status.st_uid):
        _refuse_foreign(path, status, move_away(path))
    return status


def _plain_file(path: str) -> os.stat_result | None:
    status = _status(path)
    if status is not None and not stat.S_ISREG(status.st_mode):
        kind = "a link" if stat.S_ISLNK(status.st_mode) else "not a plain file"
        raise UnsafeFilesError(f"{path} cannot be used, because it is {kind}; {move_away(path)}")
    return status


def _tighten(path: str, status: os.stat_result) -> None:
    """Remove all permissions of others, and keep ours."""
    if not status.st_mode & ACCESS_BY_OTHERS:
        return
    try:
        os.chmod(path, stat.S_IMODE(status.st_mode) & ~ACCESS_BY_OTHERS)
    except OSError as error:
        if error.errno != errno.EROFS:  # On a read-only disk, others cannot write either.
            raise
        return
    if os.lstat(path).st_mode & WRITE_BY_OTHERS:
        raise UnsafeFilesError(
            f"other users can write to {path}, and its disk keeps no permissions; {_CHOOSE}"
        )


def _status(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None


# --- Sentences -----------------------------------------------------------------------------------------------

_CHOOSE = "choose a folder of your own with HALO_HOME"


def _refuse_foreign(path: str, status: os.stat_result, way_out: str) -> NoReturn:
    owner, me = owner_words(status.st_uid), owner_words(own_uid())
    raise UnsafeFilesError(f"{path} belongs to {owner}, not to {me}; {way_out}")


def _refuse_writable(path: str, status: os.stat_result) -> NoReturn:
    is_ours = status.st_uid == own_uid() and not status.st_mode & stat.S_ISVTX
    way_out = f"keep them out with: chmod go-w {_quoted(path)}" if is_ours else _CHOOSE
    raise UnsafeFilesError(f"other users can write to {path} and could change your jobs; {way_out}")


def _refuse_changeable(paths: list[str], then: str) -> NoReturn:
    command = f"chmod go-rwx {' '.join(map(_quoted, paths))}"
    raise UnsafeFilesError(
        f"other users could have changed {paths[0]}; keep them out with: {command}, then {then}"
    )


def _as_user(uid: int) -> str:
    name = user_name(uid)
    return f"run Halo as that user: sudo -u {_quoted(f'#{name}' if name.isdigit() else name)} halo"


def _out_of_the_way(path: str) -> str:
    """Return the advice for another user's folder in the place of ours.

    It is never to take the folder over: what its owner put into it would become ours.
    """
    above = os.lstat(os.path.dirname(path))
    if above.st_uid == own_uid():
        return move_away(path)
    if above.st_mode & stat.S_ISVTX:
        return "have its owner or root remove it, or choose a shorter HALO_HOME"
    return _as_user(above.st_uid) if own_uid() == 0 else _CHOOSE


def move_away(path: str) -> str:
    """Return the advice to move away what another user put into a folder of ours."""
    return f"find out how it got there, then move it away with: mv {_quoted(path)} {_quoted(f'{path}.old')}"


def _quoted(path: str) -> str:
    import shlex  # noqa: PLC0415 - only for a refusal

    return shlex.quote(path)
