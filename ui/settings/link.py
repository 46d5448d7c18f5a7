"""Loads and changes the settings for the pages; each change is one request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, Signal

from halo_scheduler.errors import SchedulerError
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.settings import Settings
from ui.backend.backend import Backend

from .page import sentence


class SettingsLink(QObject):
    """Loads and changes the settings; a refused change is reported and reverted."""

    loaded = Signal(object)
    """The current Settings; also emitted after a refusal, so that the fields show the stored values."""

    def __init__(self, backend: Backend, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._backend = backend
        self._settings: Settings | None = None
        self._under_way = 0
        self._is_stale = False
        backend.changed.connect(self._note_change)

    @property
    def backend(self) -> Backend:
        return self._backend

    def follow(self, show: Callable[[Settings], object]) -> None:
        """Call `show` whenever the settings are loaded, and now if they already are."""
        self.loaded.connect(show)
        if self._settings is not None and not self._under_way:
            show(self._settings)

    def load(self) -> None:
        """Read the settings."""
        self._under_way += 1
        self._is_stale = False
        self._backend.ask(lambda scheduler: scheduler.settings.read(), self._take, self._fail, owner=self)

    def change(self, show_error: Callable[[str], None], **changes: Any) -> None:
        """Change some settings; `show_error` gets the reason of a refusal, or an empty text."""
        if self._settings is None or self._hold(self._settings, changes):
            show_error("")
            return
        self._under_way += 1

        def take(settings: Settings) -> None:
            show_error("")
            self._take(settings)

        def refuse(error: SchedulerError) -> None:
            show_error(sentence(error))
            self._fail(error)

        self._backend.ask(lambda scheduler: scheduler.settings.change(**changes), take, refuse, owner=self)

    def _hold(self, settings: Settings, changes: dict[str, Any]) -> bool:
        """Return whether the settings already have these values; pending requests make that uncertain."""
        return not self._under_way and all(
            getattr(settings, name) == value for name, value in changes.items()
        )

    def _note_change(self, change: Change) -> None:
        if change.kind is not ChangeKind.SETTINGS or self._settings is None:
            return
        if self._under_way:
            # The pending answer may be older than this change.
            self._is_stale = True
        else:
            self.load()

    def _take(self, settings: Settings) -> None:
        self._settings = settings
        self._end_one()

    def _fail(self, _error: SchedulerError) -> None:
        self._end_one()

    def _end_one(self) -> None:
        # With more requests pending, a field may show a newer value than this answer.
        self._under_way -= 1
        if self._under_way or self._settings is None:
            return
        if self._is_stale:
            self.load()
        else:
            self.loaded.emit(self._settings)
