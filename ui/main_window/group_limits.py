"""How many jobs of each group may run at once: read for the toolbar, asked for and set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QWidget

from halo_scheduler.errors import SchedulerError
from halo_scheduler.service.scheduler import Scheduler
from ui.backend.backend import Backend
from ui.style.theme import Look


class GroupLimits(QObject):
    """Asks the service for limits, and the user for others."""

    read = Signal(object, object)
    """The groups there are, and the limits of those that have one."""
    refused = Signal(str)

    def __init__(self, backend: Backend, look: Look, window: QWidget) -> None:
        super().__init__(window)
        self._backend = backend
        self._look = look
        self._window = window

    def read_for(self, groups: Iterable[str]) -> None:
        """Read the limits, and tell them together with these groups."""
        known = frozenset(groups)
        self._backend.ask(Scheduler.list_group_limits, partial(self._tell, known), owner=self)

    def ask(self, group: str) -> None:
        """Let the user choose another limit for a group."""
        self._backend.ask(
            lambda scheduler: scheduler.list_group_limits().get(group),
            lambda limit: self._open(group, limit),
            owner=self,
        )

    def _tell(self, groups: frozenset[str], limits: Mapping[str, int]) -> None:
        self.read.emit(groups, limits)

    def _open(self, group: str, limit: int | None) -> None:
        from .group_limit_dialog import GroupLimitDialog  # noqa: PLC0415 - not before the first window

        dialog = GroupLimitDialog(self._look, group, limit, self._window)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.accepted.connect(lambda: self._set(group, dialog.limit))
        dialog.open()

    def _set(self, group: str, limit: int | None) -> None:
        self._backend.ask(
            lambda scheduler: scheduler.set_group_limit(group, limit), None, self._refuse, owner=self
        )

    def _refuse(self, error: SchedulerError) -> None:
        self.refused.emit(str(error))
