"""Secrets: names in the database; values in the keyring or, if so chosen, in a private file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.templates import require_secret_name
from halo_scheduler.model.messages import MessageKind, message
from halo_scheduler.paths import secrets_file
from halo_scheduler.store.connection import Database
from halo_scheduler.wording.messages import MessageError

_SHORTEST = 4
_LONGEST = 65_536


class SecretError(MessageError):
    """A secret cannot be stored or read."""


class SecretPlace(StrEnum):
    """Where a secret's value is stored."""

    KEYRING = "keyring"
    FILE = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretName:
    """The name of a secret, without its value."""

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


class SecretStore:
    """The secrets of one database, which holds only their names and places."""

    def __init__(self, table: SecretTable, database: Path) -> None:
        self._table = table
        self._places: Mapping[SecretPlace, _Keyring | _SecretFile] = {
            SecretPlace.KEYRING: _Keyring(f"halo-scheduler:{database.resolve()}"),
            SecretPlace.FILE: _SecretFile(secrets_file(database)),
        }

    def list(self) -> list[SecretName]:
        """Return the names of all secrets."""
        return self._table.all()

    def set(self, name: str, value: str, place: SecretPlace, now_ms: int) -> None:
        """Store a secret; one of the same name is replaced, wherever it was stored."""
        require_secret_name("name", name)
        _require_value(value)
        before = self._table.get_many([name]).get(name)
        self._places[place].set(name, value)
        # The name is stored last, so that every known name has a value.
        self._table.save(SecretName(name=name, place=place, changed_at=now_ms))
        if before is not None and before.place is not place:
            self._places[before.place].remove(name)

    def remove(self, name: str) -> None:
        """Delete a secret."""
        known = self._existing(name)
        self._table.remove(name)
        self._places[known.place].remove(name)

    def reader(
        self, names: Iterable[str], *, unchanged_since: int | None = None
    ) -> Callable[[], dict[str, str]]:
        """Return a function that reads some secrets, on any thread; it may wait for the user to unlock the keyring.

        It raises SecretError if one cannot be read, or was changed after `unchanged_since`: then the value that a run
        was given is no longer known.
        """
        wanted = sorted(names)
        known = self._table.get_many(wanted)

        def read() -> dict[str, str]:
            values: dict[str, str] = {}
            for name in wanted:
                if name not in known:
                    raise SecretError(message(MessageKind.SECRET_NOT_SET, name=name))
                if unchanged_since is not None and known[name].changed_at > unchanged_since:
                    raise SecretError(message(MessageKind.SECRET_CHANGED, name=name))
                value = self._places[known[name].place].get(name)
                if value is None:
                    raise SecretError(message(MessageKind.SECRET_GONE, name=name))
                values[name] = value
            return values

        return read

    def _existing(self, name: str) -> SecretName:
        known = self._table.get_many([name]).get(name)
        if known is None:
            raise SecretError(message(MessageKind.SECRET_UNKNOWN, name=name))
        return known


def _require_value(value: str) -> None:
    if len(value) < _SHORTEST:
        raise ScheduleError(
            f"a secret needs at least {_SHORTEST} characters, or it could not be kept out of logs",
            path="value",
        )
    if len(value) > _LONGEST or "\0" in value:
        raise ScheduleError(f"a secret is text of at most {_LONGEST} characters", path="value")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ScheduleError("contains half of a character (a lone surrogate)", path="value") from None


class _Keyring:
    """The system's keyring, loaded only when a secret is needed."""

    def __init__(self, service: str) -> None:
        self._service = service

    def get(self, name: str) -> str | None:
        import keyring  # noqa: PLC0415 - 12 MB and 150 ms, for those who have secrets
        from keyring.errors import KeyringError  # noqa: PLC0415

        try:
            return keyring.get_password(self._service, name)
        except (KeyringError, OSError) as error:
            raise _keyring_error(MessageKind.KEYRING_NOT_READ, name, error) from error

    def set(self, name: str, value: str) -> None:
        import keyring  # noqa: PLC0415
        from keyring.errors import KeyringError, NoKeyringError  # noqa: PLC0415

        try:
            keyring.set_password(self._service, name, value)
        except NoKeyringError as error:
            raise SecretError(message(MessageKind.NO_KEYRING, name=name)) from error
        except (KeyringError, OSError) as error:
            raise _keyring_error(MessageKind.KEYRING_NOT_WRITTEN, name, error) from error

    def remove(self, name: str) -> None:
        import keyring  # noqa: PLC0415
        from keyring.errors import KeyringError, PasswordDeleteError  # noqa: PLC0415

        try:
            keyring.delete_password(self._service, name)
        except PasswordDeleteError:
            return  # It is gone already.
        except (KeyringError, OSError) as error:
            raise _keyring_error(MessageKind.KEYRING_NOT_CLEARED, name, error) from error


class _SecretFile:
    """A file that only its owner can read."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, name: str) -> str | None:
        return self._read().get(name)

    def set(self, name: str, value: str) -> None:
        self._write({**self._read(), name: value})

    def remove(self, name: str) -> None:
        self._write({key: value for key, value in self._read().items() if key != name})

    def _read(self) -> dict[str, str]:
        try:
            if os.name == "posix" and self._path.stat().st_mode & 0o077:
                raise SecretError(message(MessageKind.SECRETS_EXPOSED, path=str(self._path)))
            data = json.loads(self._path.read_text(encoding="utf-8"))
            return {str(key): str(value) for key, value in data.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, AttributeError) as error:
            raise self._error(MessageKind.SECRETS_NOT_READ, error) from error

    def _write(self, values: dict[str, str]) -> None:
        """Replace the file atomically."""
        partial = self._path.with_suffix(".part")
        try:
            partial.unlink(missing_ok=True)
            descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(values, file)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(self._path)
        except OSError as error:
            raise self._error(MessageKind.SECRET_NOT_WRITTEN, error) from error

    def _error(self, kind: MessageKind, error: Exception) -> SecretError:
        return SecretError(message(kind, path=str(self._path), error=str(error)))


def _keyring_error(kind: MessageKind, name: str, error: Exception) -> SecretError:
    said = " ".join(str(error).split()) or type(error).__name__
    return SecretError(message(kind, name=name, error=said))


def has_keyring() -> bool:
    """Return whether this system has a usable keyring; slow, as it loads the keyring library."""
    import keyring  # noqa: PLC0415 - 12 MB and 150 ms, for those who have secrets
    from keyring.errors import KeyringError  # noqa: PLC0415

    try:
        # Backends that always fail or store nothing have no priority.
        return float(keyring.get_keyring().priority) > 0
    except (KeyringError, OSError, RuntimeError):
        return False
