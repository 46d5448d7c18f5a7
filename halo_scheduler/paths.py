"""Where Halo keeps its files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_DEFAULT_FOLDER, _DEFAULT_NAME = "halo-scheduler", "halo.db"
_JOURNALS = ("-wal", "-shm", "-journal")
BACKUPS = "backups"
_SHARED_FOLDERS = (BACKUPS, "logs", "windows")
_OWN_FOLDERS = ("spool", "trials", "run")


def database_path() -> Path:
    """Return the place of the default database: below $HALO_HOME, or where the system keeps such data."""
    home = os.environ.get("HALO_HOME")
    if home:
        return Path(home) / _DEFAULT_NAME
    import platformdirs  # noqa: PLC0415 - not needed with HALO_HOME or a path of one's own

    return Path(platformdirs.user_data_dir(_DEFAULT_FOLDER, appauthor=False)) / _DEFAULT_NAME


def database_files(database: Path) -> list[Path]:
    """Return a database and the journals that SQLite may keep beside it."""
    return [database.with_name(f"{database.name}{suffix}") for suffix in ("", *_JOURNALS)]


def inner_folders(database: Path) -> Iterator[Path]:
    """Return the folders that Halo keeps beside a database."""
    for purpose in _OWN_FOLDERS:
        yield database.with_name(f"{database.stem}-{purpose}")
    for name in _SHARED_FOLDERS:
        yield database.with_name(name)


def secrets_file(database: Path) -> Path:
    """Return where the secrets are that are kept in a file."""
    return database.with_name(f"{database.stem}-secrets.json")


def is_own_folder(database: Path) -> bool:
    """Tell whether the folder of a database is Halo's alone: the usual one, or one in which nothing else lies.

    Such a folder is made private. One that was chosen, or is reached by a link, may serve others too.
    """
    folder = database.parent
    if database.name != _DEFAULT_NAME or folder.is_symlink():
        return False
    if folder.name == _DEFAULT_FOLDER:
        return True
    try:
        names = [entry.name for entry in folder.iterdir()]
    except PermissionError:
        return True  # Closed to ourselves, and so to everybody.
    return all(name.startswith(database.stem) or name in _SHARED_FOLDERS for name in names)
