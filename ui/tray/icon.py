"""The tray icon: status at a glance, and the most common actions in its menu."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from math import ceil, inf
from time import monotonic

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QSystemTrayIcon, QWidget

from halo_scheduler.errors import SchedulerError
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.wording.faults import trouble_title
from ui.backend.backend import Backend
from ui.style.icons import picture
from ui.style.theme import Appearance
from ui.style.wording import one_line

from .menu import TrayMenu
from .state import Mood, Stale, TrayReader, TrayState, status_line

# At login a tray may start after us, and a restarted one comes back within moments.
_PATIENCE_MS = 60_000
_CHECK_MS = 60_000

_MESSAGE_MS = 10_000
_LONGEST_MESSAGE = 240
_REST_S = 0.1


class TrayWatcher(QObject):
    """Shows a hidden window minimised once there has been no tray for a while."""

    def __init__(self, window: QWidget, has_tray: Callable[[], bool], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._window = window
        self._has_tray = has_tray
        self._patience = QTimer(self)
        self._patience.setSingleShot(True)
        self._patience.setInterval(_PATIENCE_MS)
        self._patience.timeout.connect(self._appearance)
        # No signal reports that a tray is gone, so it is polled, but only while the window is hidden.
        self._check = QTimer(self)
        self._check.setTimerType(Qt.TimerType.VeryCoarseTimer)
        self._check.setInterval(_CHECK_MS)
        self._check.timeout.connect(self._appearance)
        window.installEventFilter(self)
        if not window.isVisible():
            self._check.start()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        if event.type() is QEvent.Type.Hide:
            self._check.start()
        elif event.type() is QEvent.Type.Show:
            self._check.stop()
        return super().eventFilter(watched, event)

    def check_later(self) -> None:
        """Check soon whether a hidden window can still be opened; several calls make one check."""
        if not self._window.isVisible() and not self._patience.isActive():
            self._patience.start()

    def _appearance(self) -> None:
        if not self._window.isVisible() and not self._has_tray():
            self._window.showMinimized()


class Tray(QObject):
    """Shows the status and emits what the user wants; it changes nothing itself.

    There is no regular timer: the tooltip has absolute times, and the menu is filled when it opens. The only
    timer turns a burst of changes into one query.
    """

    open_requested = Signal()
    toggle_requested = Signal()
    """The icon was clicked: the window is shown, or hidden if it is in front."""
    job_requested = Signal(str)
    """The window is wanted at this job; `open_requested` was emitted before."""
    history_requested = Signal()
    settings_requested = Signal()
    quit_requested = Signal()
    run_requested = Signal(str)
    stop_requested = Signal(str)
    """The id of the run to stop."""
    pause_all_requested = Signal(object)
    """The end of the pause, or None for no end."""
    resume_all_requested = Signal()
    questions_requested = Signal()
    """The questions page is wanted; `open_requested` was emitted before."""
    message_clicked = Signal()
    state_changed = Signal(object)
    """A TrayState, after each reading."""

    def __init__(self, backend: Backend, appearance: Appearance, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._backend = backend
        self._reader = TrayReader()
        self._stale = Stale()
        self._state = TrayState()
        self._mood: Mood | None = None
        self._is_asking = False
        self._is_wanted = False
        self._read_at_s = -inf
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.timeout.connect(self._ask)
        # Where Qt draws the message itself, a click on the icon also counts as a click on the message.
        self._message_click = QTimer(self)
        self._message_click.setSingleShot(True)
        self._message_click.setInterval(0)
        self._message_click.timeout.connect(self.message_clicked)
        self._menu = TrayMenu(appearance, backend.now_ms)
        self._connect_menu()
        self._icon = QSystemTrayIcon(self)
        self._icon.setObjectName("trayIcon")
        self._icon.setContextMenu(self._menu)
        self._icon.activated.connect(self._activate)
        self._icon.messageClicked.connect(self._message_click.start)
        self._show_state(self._state)
        backend.changed.connect(self._note_change)
        backend.trouble_changed.connect(lambda _trouble: self._show_state(self._state))

    @property
    def state(self) -> TrayState:
        """The last state read."""
        return self._state

    @staticmethod
    def is_available() -> bool:
        """Return whether there is a tray; one that starts later adopts the icon by itself."""
        return QSystemTrayIcon.isSystemTrayAvailable()

    def show(self) -> None:
        """Show the icon, now or as soon as there is a tray, and keep it up to date."""
        self._icon.show()
        self.refresh()

    def hide(self) -> None:
        self._icon.hide()

    def refresh(self) -> None:
        """Read the state: at once, or a moment later if it was just read."""
        if self._is_asking or self._rest.isActive():
            self._is_wanted = True
        elif (rest_s := _REST_S - (monotonic() - self._read_at_s)) > 0:
            self._rest.start(ceil(rest_s * 1_000))
        else:
            self._ask()

    def _ask(self) -> None:
        self._is_asking, self._is_wanted = True, False
        reader, stale, ends = self._reader, self._stale.take(), self._backend.ends
        self._backend.ask(
            lambda scheduler: reader.read(scheduler, stale, ends),
            self._take_state,
            self._take_fault,
            owner=self,
        )

    def show_message(self, title: str, text: str) -> None:
        """Show a notification at the icon, where the desktop has no notification service."""
        icon = QSystemTrayIcon.MessageIcon.NoIcon
        self._icon.showMessage(
            one_line(title), _without_markup(one_line(text, _LONGEST_MESSAGE)), icon, _MESSAGE_MS
        )

    def _connect_menu(self) -> None:
        menu = self._menu
        menu.open_requested.connect(self.open_requested)
        menu.job_requested.connect(self.job_requested)
        menu.history_requested.connect(self.history_requested)
        menu.settings_requested.connect(self.settings_requested)
        menu.quit_requested.connect(self.quit_requested)
        menu.run_requested.connect(self.run_requested)
        menu.stop_requested.connect(self.stop_requested)
        menu.pause_all_requested.connect(self.pause_all_requested)
        menu.resume_all_requested.connect(self.resume_all_requested)
        menu.questions_requested.connect(self.questions_requested)
        # The menu opens with what is known; progress follows a moment later.
        menu.opened.connect(self.refresh)

    def _note_change(self, change: Change) -> None:
        if change.kind is ChangeKind.RUN_PROGRESS and not self._menu.is_open:
            return  # Only the open menu shows progress.
        self._stale.add(change)
        self.refresh()

    def _take_state(self, state: TrayState) -> None:
        self._is_asking = False
        self._read_at_s = monotonic()
        self._show_state(state)
        self.state_changed.emit(state)
        if self._is_wanted:
            self.refresh()

    def _take_fault(self, error: SchedulerError) -> None:
        self._is_asking = False
        self._read_at_s = monotonic()
        self._stale.take_back()
        self._icon.setToolTip(_without_markup(one_line(str(error))))
        if self._is_wanted:
            self.refresh()

    def _show_state(self, state: TrayState) -> None:
        trouble = self._backend.trouble
        state = self._state = replace(state, trouble="" if trouble is None else trouble_title(trouble))
        if state.mood is not self._mood:
            self._mood = state.mood
            self._icon.setIcon(picture(f"tray-{state.mood}"))
        tooltip = _without_markup(status_line(state, self._backend.now_ms()))
        if tooltip != self._icon.toolTip():
            self._icon.setToolTip(tooltip)
        self._menu.show_state(state)

    def _activate(self, reason: QSystemTrayIcon.ActivationReason) -> None:
        if reason is QSystemTrayIcon.ActivationReason.Context:
            self._message_click.stop()
        # On macOS every click opens the menu.
        if reason is QSystemTrayIcon.ActivationReason.Trigger and sys.platform != "darwin":
            self.toggle_requested.emit()


def _without_markup(text: str) -> str:
    """Return a text that no tray host takes for markup; only tooltips and messages are read for it."""
    return text.replace("<", "‹").replace(">", "›")
