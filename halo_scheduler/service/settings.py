"""Settings, secrets, backups, webhooks and chat of the whole program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from halo_scheduler.errors import (
    EngineHeldError,
    ScheduleError,
    StoreDamagedError,
    StoreError,
    StoreUnavailableError,
)
from halo_scheduler.grammar.checks import require_label, require_whole
from halo_scheduler.host.private_files import require_own_data_folder
from halo_scheduler.host.process import is_alive
from halo_scheduler.ipc.client import poke
from halo_scheduler.model import StatusReason
from halo_scheduler.model.changes import ChangeKind
from halo_scheduler.model.chat import BotStatus, ChatBot, ChatServiceName, Stranger, require_bot_name
from halo_scheduler.model.settings import AssistantAccess, Settings
from halo_scheduler.model.webhooks import (
    USUAL_WINDOW_MS,
    JobWebhook,
    Place,
    Signature,
    Webhook,
    WebhookStatus,
)
from halo_scheduler.rules import chat, webhooks
from halo_scheduler.rules.assistants import refuse_assistants, require_access
from halo_scheduler.rules.edit import Edit
from halo_scheduler.service.session import Session
from halo_scheduler.store.backup import Backup, Tell, back_up, check, list_backups, restore, unheard
from halo_scheduler.store.connection import Database
from halo_scheduler.store.lease import LeaseTable
from halo_scheduler.store.run_transfer import RunTransfer
from halo_scheduler.store.secrets import SecretName, SecretPlace, has_keyring

if TYPE_CHECKING:
    from halo_scheduler.store.job_records import JobRecord
    from halo_scheduler.transfer.drafts import MovedState
    from halo_scheduler.transfer.job_files import Export

__all__ = ["Backup", "Backups", "find_backups", "make_backup", "newest_usable", "restore_backup"]


class SettingsPart:
    """Reads and changes the settings."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def read(self) -> Settings:
        """Return the settings, with defaults for those not stored."""
        return self._session.store.settings.read()

    def require_assistants_may(self, access: AssistantAccess) -> None:
        """Raise unless the settings allow assistants this access; each edit checks it again in its transaction."""
        require_access(self._session.store, access)

    def change(self, **changes: Any) -> Settings:
        """Change the given settings together; refused as a whole if the result would be invalid."""
        with self._session.edit() as edit:
            return _change(edit, changes)


class Secrets:
    """The secrets that jobs use as `${secret:NAME}`, in the system's keyring or in a private file."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def list(self) -> list[SecretName]:
        """Return the names of the secrets and where each is stored."""
        return self._session.secrets.list()

    def set(self, name: str, value: str, *, in_file: bool = False) -> None:
        """Store a secret in the system's keyring or, if chosen, in a private file."""
        refuse_assistants(self._session.actor, "set secrets")
        place = SecretPlace.FILE if in_file else SecretPlace.KEYRING
        self._session.secrets.set(name, value, place, self._session.clock.now_ms())

    def remove(self, name: str) -> None:
        """Delete a secret; jobs that use it will fail with a clear error."""
        refuse_assistants(self._session.actor, "remove secrets")
        self._session.secrets.remove(name)

    def has_keyring(self) -> bool:
        """Return whether this system has a keyring that can store secrets; may take a moment."""
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
    """Limit how many jobs of a group may run at once; None removes the limit."""
    refuse_assistants(edit.actor, "limit groups")
    require_label("group", group)
    if max_concurrent is not None:
        require_whole("max_concurrent", max_concurrent, 1)
    edit.store.groups.set_limit(group, max_concurrent)
    edit.changed(ChangeKind.JOB)


class Backups:
    """Makes and lists backups of an open database, and writes archives for other computers."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def make(self) -> Backup:
        """Back up everything except output now."""
        return make_backup(self._session.path, self._session.clock.now_ms())

    def list(self) -> list[Backup]:
        """Return the backups, newest first."""
        return find_backups(self._session.path)

    def write_archive(
        self,
        file: BinaryIO,
        *,
        with_output: bool = False,
        progress: Callable[[int], None] = lambda _runs: None,
    ) -> tuple[Export, int]:
        """Write jobs, settings and ended runs to a file, as of one instant; return the export and the number of runs.

        Jobs in the trash, secrets, questions and runs in progress are left out.
        """
        from importlib.metadata import version  # noqa: PLC0415 - only to export

        from halo_scheduler.transfer.archive import Content, write_archive  # noqa: PLC0415
        from halo_scheduler.transfer.job_files import export_all  # noqa: PLC0415

        store = self._session.store
        with store.database.snapshot():
            records, settings = store.jobs.all(), store.settings.read()
            found = export_all([record.job for record in records], settings, store.groups.limits())
            content = Content(
                document=found.document,
                settings=settings,
                states={record.id: _moved_state(record) for record in records},
                runs=RunTransfer(store.database).read(with_output=with_output),
            )
            return found, write_archive(file, content, version("halo-scheduler"), progress)

    def count_runs(self) -> int:
        """Return how many runs an archive would have."""
        return RunTransfer(self._session.store.database).count()


def _moved_state(record: JobRecord) -> MovedState:
    from halo_scheduler.transfer.drafts import MovedState  # noqa: PLC0415 - only to export

    is_paused = record.paused and not record.awaits_review
    by = record.disabled_reason
    return MovedState(
        paused=is_paused,
        paused_until=record.paused_until if is_paused else None,
        disabled=by if by in (StatusReason.ERRORS, StatusReason.DONE) else None,
        errors=record.errors,
        last_run_at=record.last_run_at,
        last_completed_at=record.last_completed_at,
        last_ended_at=record.last_ended_at,
        last_outcome=record.last_outcome,
        last_message=record.last_message,
        resumed_since_run=record.resumed_since_run,
    )


def make_backup(path: Path, now_ms: int, tell: Tell = unheard) -> Backup:
    """Back up a database now; `tell` is called with the progress and the total."""
    if not path.exists():
        raise StoreUnavailableError(f"there is no database at {path} yet")
    database = Database.open(path)
    try:
        return back_up(database, now_ms, tell)
    finally:
        database.close()


def find_backups(path: Path) -> list[Backup]:
    """Return the backups of a database, newest first; UnsafeFilesError if the folder belongs to another user."""
    require_own_data_folder(path)
    return list_backups(path)


def newest_usable(path: Path) -> Backup | None:
    """Return the newest backup that passes the integrity check; slow for large ones."""
    for backup in list_backups(path):
        try:
            check(backup.path)
        except StoreError:
            continue
        return backup
    return None


def restore_backup(
    path: Path, chosen: Path | None, now_ms: int, tell: Tell = unheard
) -> tuple[Path, Path | None]:
    """Replace a database with a backup, or with the newest valid one.

    Returns the backup and the new path of the old database. Refused while an engine runs on it.
    """
    _refuse_while_held(path, now_ms)
    for backup in [Backup(chosen, now_ms)] if chosen else list_backups(path):
        try:
            aside = restore(path, backup, now_ms, tell)
        except StoreDamagedError:
            if chosen:
                raise
            continue
        # An engine that still has the old, moved file open notices the new one and stops.
        poke(path)
        return backup.path, aside
    raise StoreUnavailableError(f"there is no usable backup of {path}")


def _refuse_while_held(path: Path, now_ms: int) -> None:
    if not path.exists():
        return
    try:
        database = Database.open(path)
    except StoreDamagedError:
        return
    try:
        row = LeaseTable(database).read()
    except StoreError:
        return
    finally:
        database.close()
    if row is not None and row.is_held(now_ms) and is_alive(row.pid, row.process_start):
        raise EngineHeldError(f"the database is in use by {row.owner} (process {row.pid}); stop it first")


def _engine_since(session: Session) -> int | None:
    """Return when the running engine started, in any process; None if none runs."""
    row = session.store.lease.read()
    if row is None or not row.is_held(session.clock.now_ms()) or not is_alive(row.pid, row.process_start):
        return None
    return row.started_at


class Webhooks:
    """Reads and changes the webhooks of jobs; the settings switch the listener on."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def place(self) -> Place:
        """Where webhooks listen when they are on."""
        settings = self._session.store.settings.read()
        return Place(settings.webhook_address, settings.webhook_port)

    def list(self) -> list[JobWebhook]:
        """Return the jobs with a webhook, by name."""
        return webhooks.job_webhooks(self._session.store)

    def get(self, job_id: str) -> Webhook | None:
        """Return the webhook of a job; None if it has no address."""
        return self._session.store.webhooks.get(job_id)

    def status(self) -> WebhookStatus:
        """Return the state of webhooks, whichever process runs the engine."""
        return webhooks.webhook_status(self._session.store, engine_since=_engine_since(self._session))

    def make_address(self, job_id: str) -> str:
        """Give a job a new address and return its token, which is never shown again; an old address stops working."""
        with self._session.edit() as edit:
            return webhooks.make_address(edit, job_id)

    def require_signature(
        self,
        job_id: str,
        signature: Signature | None,
        key_name: str = "",
        window_ms: int = USUAL_WINDOW_MS,
    ) -> None:
        """Accept only requests signed with the secret `key_name`; None accepts all requests."""
        with self._session.edit() as edit:
            webhooks.require_signature(edit, job_id, signature, key_name, window_ms)


class Chat:
    """The bots that receive messages, and the people who may write to them."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def status(self) -> list[BotStatus]:
        """Return the bots and their states, whichever process runs the engine."""
        return chat.chat_status(self._session.store, engine_since=_engine_since(self._session))

    def add(
        self, name: str, service: ChatServiceName, token: str, *, api: str = "", in_file: bool = False
    ) -> ChatBot:
        """Add a bot and store its token as a secret. It listens while Halo runs."""
        refuse_assistants(self._session.actor, "add bots")
        bot = ChatBot(name=name, service=service, secret=_secret_of(name), api=api)
        if chat.find_bot(self._session.store, name) is not None:
            raise ScheduleError(f"there is already a bot named {name}; remove it first", path="name")
        self._keep(bot.secret, token, in_file=in_file)
        with self._session.edit() as edit:
            chat.add_bot(edit, bot)
        return bot

    def renew(self, name: str, token: str, *, in_file: bool = False) -> None:
        """Replace the token of a bot."""
        refuse_assistants(self._session.actor, "change bots")
        self._keep(chat.require_bot(self._session.store, name).secret, token, in_file=in_file)
        with self._session.edit() as edit:
            chat.renew_token(edit, name)

    def remove(self, name: str) -> None:
        """Remove a bot with its token; messages to it no longer start jobs."""
        with self._session.edit() as edit:
            bot = chat.remove_bot(edit, name)
        if any(secret.name == bot.secret for secret in self._session.secrets.list()):
            self._session.secrets.remove(bot.secret)

    def permit(self, name: str, person: str) -> None:
        """Permit a person to start the bot's jobs, except jobs with their own list of people."""
        with self._session.edit() as edit:
            chat.permit(edit, name, person)

    def forbid(self, name: str, person: str) -> None:
        """Revoke the permission of a person."""
        with self._session.edit() as edit:
            chat.forbid(edit, name, person)

    def strangers(self, name: str) -> list[Stranger]:
        """Return the people who wrote to a bot without permission, newest first."""
        return self._session.store.chat.strangers(chat.require_bot(self._session.store, name).name)

    def test(self, name: str) -> str:
        """Check a bot's token and return its name on the service; SchedulerError if that fails."""
        from halo_scheduler.triggers.chat import open_service, read_token  # noqa: PLC0415 - only to test a bot

        bot = chat.require_bot(self._session.store, name)
        service = open_service(bot, read_token(self._session.store, self._session.path, bot))
        try:
            return service.identity()
        finally:
            service.close()

    def _keep(self, name: str, token: str, *, in_file: bool) -> None:
        place = SecretPlace.FILE if in_file else SecretPlace.KEYRING
        self._session.secrets.set(name, token.strip(), place, self._session.clock.now_ms())


def _secret_of(name: str) -> str:
    """Return the name of the secret with the token of a bot."""
    return f"CHAT_{require_bot_name('name', name)}"
