"""Looking ahead while somebody edits: on another thread, as an odd expression may take its time."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal

from halo_scheduler.errors import SchedulerError
from halo_scheduler.model.quiet_times import QuietTime
from ui.backend.backend import Asked, Backend

from .preview import Preview, look_ahead
from .reading import Reading
from .side_panel import SidePanel


class Outlook(QObject):
    """Asks what a job will do, and shows the last answer only."""

    words_found = Signal(str)
    """The schedule in words."""

    def __init__(self, backend: Backend, side: SidePanel, parent: QObject) -> None:
        super().__init__(parent)
        self._backend = backend
        self._side = side
        self._asked: Asked | None = None
        self._is_enabled = True

    def look(self, reading: Reading, quiet_times: Sequence[QuietTime]) -> None:
        """Show what a job will do as it stands in the form."""
        if self._asked is not None:
            self._asked.cancel()
        self._is_enabled = reading.is_enabled
        when, policy, also = reading.when, reading.policy, reading.also
        if when is None:
            self._side.show_nothing()
            return
        now_ms = self._backend.now_ms()
        self._asked = self._backend.ask(
            lambda _scheduler: look_ahead(
                when.schedule,
                now_ms,
                anchor_at=when.anchor_at,
                policy=policy,
                group=None if also is None else also.group,
                quiet_times=quiet_times,
            ),
            self._show,
            self._show_nothing,
            owner=self,
        )

    def _show(self, preview: Preview) -> None:
        self._side.show_preview(preview, is_enabled=self._is_enabled)
        self.words_found.emit(preview.words)

    def _show_nothing(self, _error: SchedulerError) -> None:
        self._side.show_nothing()
