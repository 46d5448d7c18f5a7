"""The names of secrets, where each is kept, and since when; never the secrets themselves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from halo_scheduler.store.connection import Database


class SecretPlace(StrEnum):
    """Where a secret is kept."""

    KEYRING = "keyring"
    FILE = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretName:
    """One secret, as far as it may be known."""

    name: str
    place: SecretPlace
    changed_at: int


class SecretTable:
    """Reads and writes the names of secrets."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> list[SecretName]:
        rows = self._database.rows("SELECT name, place, changed_at FROM scheduler_secrets ORDER BY name")
        return [
            SecretName(name=name, place=SecretPlace(place), changed_at=changed_at)
            for name, place, changed_at in rows
        ]

    def get_many(self, names: Iterable[str]) -> dict[str, SecretName]:
        wanted = set(names)
        return {found.name: found for found in self.all() if found.name in wanted} if wanted else {}

    def save(self, secret: SecretName) -> None:
        self._database.rows(
            "INSERT INTO scheduler_secrets (name, place, changed_at) VALUES (?, ?, ?) "
            "ON CONFLICT (name) DO UPDATE SET place = excluded.place, changed_at = excluded.changed_at",
            [secret.name, secret.place, secret.changed_at],
        )

    def remove(self, name: str) -> None:
        self._database.rows("DELETE FROM scheduler_secrets WHERE name = ?", [name])
