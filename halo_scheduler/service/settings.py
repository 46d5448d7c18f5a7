"""Settings and secrets: what the user sets up for the whole program."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.checks import require_label, require_whole
from halo_scheduler.model.changes import ChangeKind
from halo_scheduler.model.settings import AssistantAccess, Settings
from halo_scheduler.rules.assistants import refuse_assistants, require_access
from halo_scheduler.rules.edit import Edit
from halo_scheduler.service.session import Session
from halo_scheduler.store.secret_names import SecretName, SecretPlace
from halo_scheduler.store.secrets import has_keyring


class SettingsPart:
    """Reads and changes the settings."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def read(self) -> Settings:
        """Return the settings as they are stored, with defaults for the others."""
        return self._session.store.settings.read()

    def require_assistants_may(self, access: AssistantAccess) -> None:
        """Refuse what the settings do not allow assistants to do; each edit checks it again in its transaction."""
        require_access(self._session.store, access)

    def change(self, **changes: Any) -> Settings:
        """Change the settings that are given, at once; refused whole when the result would be invalid."""
        with self._session.edit() as edit:
            return _change(edit, changes)


class Secrets:
    """The secrets that jobs use as `${secret:NAME}`, in the system's keyring or in a private file."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def list(self) -> list[SecretName]:
        """Return the names of the secrets and where each is kept."""
        return self._session.secrets.list()

    def set(self, name: str, value: str, *, in_file: bool = False) -> None:
        """Store a secret in the system's keyring or, if chosen, in a private file."""
        refuse_assistants(self._session.actor, "set secrets")
        place = SecretPlace.FILE if in_file else SecretPlace.KEYRING
        self._session.secrets.set(name, value, place, self._session.clock.now_ms())

    def remove(self, name: str) -> None:
        """Delete a secret; jobs that use it fail from then on, and say so."""
        refuse_assistants(self._session.actor, "remove secrets")
        self._session.secrets.remove(name)

    def has_keyring(self) -> bool:
        """Tell whether this system has a keyring that can store secrets; asking may take a moment."""
        return has_keyring()


def _change(edit: Edit, changes: dict[str, Any]) -> Settings:
    refuse_assistants(edit.actor, "change the settings")
    before = edit.store.settings.read()
    changes = before.with_current_names(changes)
    unknown = set(changes) - {field.name for field in fields(Settings)}
    if unknown:
        raise ScheduleError("is not a known setting", path=min(unknown))
    settings = replace(before, **changes)
    edit.store.settings.save({name: getattr(settings, name) for name in changes})
    edit.changed(ChangeKind.SETTINGS)
    return settings


def set_group_limit(edit: Edit, group: str, max_concurrent: int | None) -> None:
    """Let at most so many jobs of a group run at once; None lifts the limit."""
    refuse_assistants(edit.actor, "limit groups")
    require_label("group", group)
    if max_concurrent is not None:
        require_whole("max_concurrent", max_concurrent, 1)
    edit.store.groups.set_limit(group, max_concurrent)
    edit.changed(ChangeKind.JOB)
