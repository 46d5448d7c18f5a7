"""Notices on the desktop: shown by the desktop's own service, or by whatever the program has instead."""

from __future__ import annotations

import logging
import os
import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QSocketNotifier, Qt, QTimer, Signal

from halo_scheduler.grammar.interval import SECOND_MS
from halo_scheduler.rules.notices import Notice
from ui.style.icons import icon_path

if TYPE_CHECKING:
    from .service import NotificationService

_LOG = logging.getLogger(__name__)
# Starting the service may take the desktop some seconds.
_ANSWER_LIMIT_MS = 10 * SECOND_MS
_LEAVE_TO_ACTIVATE = "XDG_ACTIVATION_TOKEN"


class Notifications(QObject):
    """Shows notices, and tells which one was clicked.

    The bus is met with the first notice. Nothing waits for it: its descriptor is one more that the event loop watches.
    """

    opened = Signal(object)
    """The Notice that the user clicked."""
    _clicked = Signal(object, str)
    _refused = Signal(object)

    def __init__(
        self,
        fallback: Callable[[Notice], None],
        parent: QObject | None = None,
        *,
        answer_limit_ms: int = _ANSWER_LIMIT_MS,
    ) -> None:
        """`fallback` shows a notice where the desktop has no such service, or none that answers."""
        super().__init__(parent)
        self._fallback = fallback
        self._waiting: deque[Notice] = deque()
        self._service: NotificationService | None = None
        self._notifier: QSocketNotifier | None = None
        self._awaited: int | None = None
        self._answer_limit = QTimer(self)
        self._answer_limit.setSingleShot(True)
        self._answer_limit.setInterval(answer_limit_ms)
        self._answer_limit.timeout.connect(self._time_out)
        # Whoever opens or shows something may close us: not in the midst of what the bus tells.
        self._clicked.connect(self._open, Qt.ConnectionType.QueuedConnection)
        self._refused.connect(self._fall_back, Qt.ConnectionType.QueuedConnection)

    def show(self, notice: Notice) -> None:
        """Show a notice, in place of an earlier one on the same job."""
        if sys.platform != "linux":
            self._refused.emit(notice)
            return
        self._waiting.append(notice)
        try:
            service = self._service or self._connect()
            service.show_waiting()
        except OSError as error:
            self._give_up(error)
        else:
            self._limit_wait(service.awaited)

    def close(self) -> None:
        """Leave the bus; what is on the screen stays there."""
        self._waiting.clear()
        self._disconnect()

    def _connect(self) -> NotificationService:
        # Loaded with the first notice: a start without one needs no client of the bus, other systems never do.
        from .service import NotificationService  # noqa: PLC0415

        service = self._service = NotificationService(
            self._waiting,
            icon=Path(icon_path("halo")).as_uri(),
            open_label=self.tr("Open"),
            clicked=self._clicked.emit,
            refused=self._refused.emit,
        )
        self._notifier = QSocketNotifier(service.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._take)
        return service

    def _take(self) -> None:
        if self._service is None:
            return
        try:
            self._service.take()
        except OSError as error:
            self._give_up(error)
        else:
            self._limit_wait(self._service.awaited)

    def _limit_wait(self, awaited: int | None) -> None:
        """Give each call its own time for an answer."""
        if awaited is None:
            self._answer_limit.stop()
        elif awaited != self._awaited:
            self._answer_limit.start()
        self._awaited = awaited

    def _time_out(self) -> None:
        self._give_up("nobody answers on the bus")

    def _give_up(self, reason: object) -> None:
        """Leave the bus, and what waits to the fallback; the next notice tries anew."""
        _LOG.info("the session bus shows no notices: %s", reason)
        self._disconnect()
        while self._waiting:
            self._refused.emit(self._waiting.popleft())

    def _disconnect(self) -> None:
        self._limit_wait(None)
        if self._notifier is not None:
            self._notifier.setEnabled(False)
            self._notifier.deleteLater()
            self._notifier = None
        if self._service is not None:
            self._service.close()
            self._service = None

    def _open(self, notice: Notice, token: str) -> None:
        # Under Wayland a window comes to the front only with the desktop's leave, which Qt looks for here.
        if token:
            os.environ[_LEAVE_TO_ACTIVATE] = token
        self.opened.emit(notice)
        os.environ.pop(_LEAVE_TO_ACTIVATE, None)

    def _fall_back(self, notice: Notice) -> None:
        self._fallback(notice)
