"""The settings, and the limits of groups."""

from __future__ import annotations

from dataclasses import dataclass

from halo_scheduler.store.connection import Database


@dataclass(frozen=True, slots=True)
class NumberSetting:
    """A setting that is a whole number, and what holds until it is set."""

    key: str
    default: int


MAX_CONCURRENT = NumberSetting("max_concurrent", 5)
RUNS_KEPT_PER_JOB = NumberSetting("runs_kept_per_job", 1_000)
RUNS_KEPT_DAYS = NumberSetting("runs_kept_days", 90)
OUTPUT_LIMIT_BYTES = NumberSetting("output_limit_bytes", 256 << 10)
SPOOL_LIMIT_BYTES = NumberSetting("spool_limit_bytes", 64 << 20)
OUTPUT_KEPT_BYTES = NumberSetting("output_kept_bytes", 1 << 30)


class SettingTable:
    """Reads and writes settings."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def number(self, setting: NumberSetting) -> int:
        row = self._database.row("SELECT value FROM scheduler_settings WHERE key = ?", [setting.key])
        return setting.default if row is None else int(row[0])

    def set_number(self, setting: NumberSetting, value: int) -> None:
        self._database.rows(
            "INSERT INTO scheduler_settings (key, value) VALUES (?, ?) "
            "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            [setting.key, str(value)],
        )


class GroupTable:
    """Reads and writes the limits of groups."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def limits(self) -> dict[str, int]:
        return dict(self._database.rows("SELECT name, max_concurrent FROM scheduler_groups"))

    def set_limit(self, group: str, max_concurrent: int | None) -> None:
        """Limit how many jobs of a group run at once; None lifts the limit."""
        if max_concurrent is None:
            self._database.rows("DELETE FROM scheduler_groups WHERE name = ?", [group])
            return
        self._database.rows(
            "INSERT INTO scheduler_groups (name, max_concurrent) VALUES (?, ?) "
            "ON CONFLICT (name) DO UPDATE SET max_concurrent = excluded.max_concurrent",
            [group, max_concurrent],
        )
