"""Reading what a run prints, while it runs and afterwards, through one door."""

from __future__ import annotations

from typing import Self

from halo_scheduler.actions.spool import Spool, spool_folder
from halo_scheduler.actions.spool_reader import SpoolReader
from halo_scheduler.errors import SecretError
from halo_scheduler.grammar.redaction import Redactor
from halo_scheduler.model import Outcome, ProcessAction
from halo_scheduler.store.secrets import SecretStore
from halo_scheduler.store.store import Store

_NOT_YET = b"[the output follows as soon as the keyring gives the secrets that must be taken out of it]\n"


class OutputFollower:
    """Gives a run's output from its beginning; whoever reads it need not know whether the run is over."""

    def __init__(self, store: Store, run_id: str, secrets: SecretStore) -> None:
        self._store = store
        self._run_id = run_id
        self._secrets = secrets
        self._reader: SpoolReader | None = None
        self._is_from_store = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._reader is not None:
            self._reader.close()

    def read(self) -> bytes:
        """Return what is new, a piece at a time; nothing when there is nothing new by now.

        SecretError when the output may hold secrets that cannot be had, and so cannot be taken out of it.
        """
        if self._is_from_store:
            return b""
        if self._reader is None and self.is_run_over():
            self._is_from_store = True
            stored = self._store.outputs.read(self._run_id)
            return stored or (_NOT_YET if self._waits_for_secrets() else b"")
        self._reader = self._reader or self._open()
        if self._reader is None:
            # It has not begun; or it ended just now, and its output has moved.
            return self.read() if self.is_run_over() else b""
        return self._reader.read()

    def end(self) -> bytes:
        """Return what was held back, when the run is over and everything was read."""
        return b"" if self._reader is None else self._reader.end()

    def is_run_over(self) -> bool:
        """Tell whether the run has ended, or does not exist."""
        run = self._store.runs.get(self._run_id)
        return run is None or run.outcome is not Outcome.RUNNING

    def _waits_for_secrets(self) -> bool:
        return self._spool().exists() and not self._store.outputs.has(self._run_id)

    def _spool(self) -> Spool:
        return Spool(spool_folder(self._store.database.path), self._run_id)

    def _open(self) -> SpoolReader | None:
        spool = self._spool()
        if not spool.exists():
            return None  # Without anything to show, no secret is asked for.
        try:
            return SpoolReader(spool.output_path, self._redactor(spool))
        except FileNotFoundError:
            return None  # Not yet there, or just gone into the store.

    def _redactor(self, spool: Spool) -> Redactor:
        """Return what takes out the secrets that the run was given."""
        run = self._store.runs.get(self._run_id)
        ticket = spool.read_ticket()
        record = self._store.jobs.get(run.job_id) if run is not None else None
        action = ticket.action if ticket is not None else record and record.spec.action
        if run is None or not isinstance(action, ProcessAction) or not action.secret_names:
            return Redactor()
        read = self._secrets.reader(action.secret_names, unchanged_since=run.started_at)
        try:
            return Redactor(read().values())
        except SecretError as error:
            raise SecretError(f"its output cannot be shown before it ends: {error}") from error
