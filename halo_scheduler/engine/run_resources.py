"""What runs are made with: the login environment, secrets, items of work, files."""

from __future__ import annotations

import logging
from contextlib import suppress

from halo_scheduler.actions.run_services import EngineHandle, RunServices
from halo_scheduler.actions.runner import Runner
from halo_scheduler.actions.spool import spool_folder
from halo_scheduler.errors import StoreError
from halo_scheduler.host.login_environment import LoginEnvironment
from halo_scheduler.host.watch import ThreadWatch, Watch
from halo_scheduler.store.secrets import SecretStore
from halo_scheduler.store.settings import OUTPUT_LIMIT_BYTES, SPOOL_LIMIT_BYTES, NumberSetting
from halo_scheduler.store.store import Store
from halo_scheduler.work_sources.work_desk import WorkDesk

_LOG = logging.getLogger(__name__)


class RunResources:
    """Belongs to one engine, the home of its runs."""

    def __init__(self, store: Store, engine: EngineHandle) -> None:
        self._store = store
        self._engine = engine
        self._folder = spool_folder(store.database.path)
        self._environment = LoginEnvironment()
        self._secrets = SecretStore(store.secrets, store.database.path)
        self.work_desk = WorkDesk(
            self._folder, self._secrets.reader, engine.now_ms, environment=self._environment.get
        )
        self.runner = self._make_runner(ThreadWatch(engine.post))

    def equip(self, watch: Watch) -> None:
        """Let runs use what an event loop offers."""
        self.runner = self._make_runner(watch)

    def _make_runner(self, watch: Watch) -> Runner:
        services = RunServices(
            engine=self._engine,
            watch=watch,
            login_environment=self._environment.get,
            output_limit=lambda: self._number(OUTPUT_LIMIT_BYTES),
            spool_limit=lambda: self._number(SPOOL_LIMIT_BYTES),
        )
        return Runner(self._folder, services, self._secrets.reader, self.work_desk.open)

    def _number(self, setting: NumberSetting) -> int:
        """Return a setting; a run must be able to end also while the database cannot be read."""
        with suppress(StoreError):
            return self._store.settings.number(setting)
        return setting.default

    def read_environment(self) -> None:
        """Ask the login shell for its environment, before a command has to wait for that."""
        self._environment.forget()
        self._engine.submit(self._read_environment)

    def _read_environment(self) -> None:
        self._environment.get()

    def clear_spool(self, run_id: str) -> None:
        """Delete the files of a run."""
        try:
            self.runner.spool(run_id).remove()
        except OSError as error:
            # The next start tries again.
            _LOG.warning("The files of a run could not be deleted: %s", error)
