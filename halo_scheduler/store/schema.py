"""The schema's version, and the steps that bring an older database up to it."""

from __future__ import annotations

import re
from importlib.resources import files

from halo_scheduler.errors import StoreTooNewError
from halo_scheduler.store.backup import back_up
from halo_scheduler.store.connection import Database

_STEP = re.compile(r"([0-9]{4})_.+\.sql")


def migrate(database: Database, now_ms: int) -> None:
    """Bring the schema up to date; each step and its number are one transaction, after a backup."""
    steps = _steps()
    version = _version(database)
    if version > max(steps):
        raise StoreTooNewError(
            f"{database.path} was written by a newer Halo (schema {version}, this one knows {max(steps)}); "
            "install that version or choose another HALO_HOME"
        )
    if 0 < version < max(steps):
        back_up(database, now_ms)
    for number in sorted(steps):
        with database.transaction():
            # Another process may have been quicker.
            if _version(database) < number:
                database.run_script(steps[number])
                database.run_script(f"PRAGMA user_version = {number}")


def _version(database: Database) -> int:
    return int(database.rows("PRAGMA user_version")[0][0])


def _steps() -> dict[int, str]:
    folder = files("halo_scheduler.store.migrations")
    found = ((_STEP.fullmatch(item.name), item) for item in folder.iterdir())
    return {int(match[1]): item.read_text(encoding="utf-8") for match, item in found if match}
