"""The paths of Halo's files."""

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
    """Return the path of the default database: in $HALO_HOME, or in the system's data folder."""
    home = os.environ.get("HALO_HOME")
    if home:
        return Path(home) / _DEFAULT_NAME
    import platformdirs  # noqa: PLC0415 - not needed with HALO_HOME or a path of one's own

    return Path(platformdirs.user_data_dir(_DEFAULT_FOLDER, appauthor=False)) / _DEFAULT_NAME


def manual_page() -> Path | None:
    """Return the first page of the manual; None if it was not built."""
    from importlib.resources import files  # noqa: PLC0415 - only for the manual

    page = Path(str(files("halo_scheduler.resources"))) / "manual" / "index.html"
    return page if page.is_file() else None


def database_files(database: Path) -> list[Path]:
    """Return a database file and its possible SQLite journals."""
    return [database.with_name(f"{database.name}{suffix}") for suffix in ("", *_JOURNALS)]


def database_bytes(database: Path) -> int:
    """Return the size of a database with its journal, which may hold the latest data."""
    files = (database, database.with_name(f"{database.name}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def inner_folders(database: Path) -> Iterator[Path]:
    """Return the folders that Halo creates beside a database."""
    for purpose in _OWN_FOLDERS:
        yield database.with_name(f"{database.stem}-{purpose}")
    for name in _SHARED_FOLDERS:
        yield database.with_name(name)


def secrets_file(database: Path) -> Path:
    """Return the path of the file with secrets."""
    return database.with_name(f"{database.stem}-secrets.json")


def is_own_folder(database: Path) -> bool:
    """Return whether a database's folder belongs to Halo alone: the default one, or one without other files.

    Such a folder is made private. A chosen folder, or one behind a link, may have other uses too.
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
