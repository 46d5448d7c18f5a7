"""Between the pages and the service: every change is one request, applied at once."""

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
    """Reads and changes the settings; a refused change is told where it was made, and taken back."""

    loaded = Signal(object)
    """The Settings as they are now; also after a refusal, so that the fields show what holds."""

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
        """Show the settings whenever they were read, and at once if they have been."""
        self.loaded.connect(show)
        if self._settings is not None and not self._under_way:
            show(self._settings)

    def load(self) -> None:
        """Read the settings."""
        self._under_way += 1
        self._is_stale = False
        self._backend.ask(lambda scheduler: scheduler.settings.read(), self._take, self._fail, owner=self)

    def change(self, show_error: Callable[[str], None], **changes: Any) -> None:
        """Change some settings; `show_error` gets why that is refused, or nothing."""
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
        """Tell whether that is so already; while something is under way, what was read last may be out of date."""
        return not self._under_way and all(
            getattr(settings, name) == value for name, value in changes.items()
        )

    def _note_change(self, change: Change) -> None:
        if change.kind is not ChangeKind.SETTINGS or self._settings is None:
            return
        if self._under_way:
            # Its answer may be older than what somebody else has just changed.
            self._is_stale = True
        else:
            self.load()

    def _take(self, settings: Settings) -> None:
        self._settings = settings
        self._end_one()

    def _fail(self, _error: SchedulerError) -> None:
        self._end_one()

    def _end_one(self) -> None:
        # While more is under way, a field may show a newer value than this answer knows.
        self._under_way -= 1
        if self._under_way or self._settings is None:
            return
        if self._is_stale:
            self.load()
        else:
            self.loaded.emit(self._settings)
