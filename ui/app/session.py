"""The running program behind the main window: engine, tray, notifications, other windows."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QApplication

from halo_scheduler.clock import Clock
from halo_scheduler.host.autostart import Autostart, login_command, system_autostart
from halo_scheduler.host.crash_file import take_new_crash
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.settings import Settings
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.wording.notices import Notice, NoticeKind
from ui.backend.backend import Backend
from ui.backend.engine_link import EngineLink, EnginePlace, EngineState
from ui.backend.engine_thread import EngineThread, ShutdownMode
from ui.main_window.window import MainWindow
from ui.notifications.notifications import Alerts, Notifications
from ui.style.theme import Appearance
from ui.tray.icon import Tray, TrayWatcher
from ui.widgets.status_strip import EngineShown

from .program_log import ProgramLog
from .quitting import Quitting
from .recovery_window import Restorer
from .windows import Windows

_LOG = logging.getLogger(__name__)
_SEEN_MS = 1_000


class Session(QObject):
    """Runs the program from its first window until it quits."""

    ended = Signal()
    damaged = Signal(object)
    """A StoreDamagedError that the engine found at its start."""
    restored = Signal()
    not_restored = Signal(str)

    def __init__(
        self,
        backend: Backend,
        appearance: Appearance,
        main: MainWindow,
        *,
        database: Path,
        clock: Clock,
        log: ProgramLog,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._backend = backend
        self._appearance = appearance
        self._autostart: Autostart = system_autostart()
        self._engine = EngineThread(database, clock, self)
        self._link = EngineLink(backend, self._engine, self)
        self._windows = Windows(
            backend, appearance, main, engine=self._engine, autostart=self._autostart, log=log, parent=self
        )
        self._quitting = Quitting(backend, self._windows, self)
        self._tray = Tray(backend, appearance, self)
        self._notifications = Notifications(self._show_in_tray, self)
        self._alerts = Alerts(backend, self._notifications, self, is_watched=main.is_watching)
        self._restorer = Restorer(database, clock, self)
        self._tray_watcher = TrayWatcher(main, Tray.is_available, self)
        # Failures seen in the window are marked a moment later, together.
        self._seeing = QTimer(self)
        self._seeing.setSingleShot(True)
        self._seeing.setInterval(_SEEN_MS)
        self._seeing.timeout.connect(self._mark_failures_seen)
        self._after_stop: Callable[[], None] = self._finish
        self._is_ending = False
        self._last_tray_notice: Notice | None = None
        self._connect(main)

    def _connect(self, main: MainWindow) -> None:
        self._link.state_changed.connect(self._show_engine)
        self._link.taken_over.connect(self._say_taken_over)
        self._link.damaged.connect(self.damaged)
        self._link.stopped.connect(self._on_stopped)
        self._engine.alarmed.connect(self._alerts.notify_alarm)
        self._alerts.alarm_told.connect(self._show_alarm)
        main.closing.connect(self._explain_closing)
        main.start_engine_requested.connect(self.begin_again)
        main.quitting_cancelled.connect(self._cancel_quitting)
        self._windows.restore_requested.connect(self._restore)
        self._windows.quit_requested.connect(self._ask_to_quit)
        self._windows.connect_tray(self._tray)
        self._quitting.decided.connect(self.quit)
        self._notifications.opened.connect(self._windows.show_notice)
        self._notifications.acted.connect(self._windows.act_on_notice)
        self._tray.message_clicked.connect(self._open_last_notice)
        self._restorer.done.connect(self._on_restored)
        self._restorer.failed.connect(self._on_not_restored)
        self._backend.changed.connect(self._follow)
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.focusWindowChanged.connect(self._on_focus_changed)

    def begin(self, settings: Settings) -> None:
        """Start the engine and show the tray; show the welcome dialog at the first start."""
        self._link.start()
        self._tray.show()
        self._check_tray()
        self._tray_watcher.check_later()
        self._backend.ask(
            lambda scheduler: take_new_crash(scheduler.path), self._backend.crash_found.emit, owner=self
        )
        if not settings.autostart_asked and self._windows.main.isVisible():
            self._windows.greet()
            return
        self._backend.ask(
            lambda _scheduler: _refresh(self._autostart), failed=lambda error: _LOG.warning("%s", error)
        )
        self._windows.check_autostart()
        # Not earlier: loading ahead would delay the engine and the window.
        self._link.state_changed.connect(self._windows.read_ahead, Qt.ConnectionType.SingleShotConnection)

    def begin_again(self) -> None:
        """Try to start the engine again."""
        self._link.start()

    def show_main(self) -> None:
        self._windows.show_main()

    # --- The engine ----------------------------------------------------------------------------------

    def _show_engine(self, state: EngineState) -> None:
        shown = {
            EnginePlace.STARTING: EngineShown("starting"),
            EnginePlace.HERE: EngineShown("here"),
            EnginePlace.ELSEWHERE: EngineShown(
                "elsewhere",
                self.tr("{who}; this window shows the same jobs.").format(who=_capitalised(state.sentence)),
            ),
            EnginePlace.NOWHERE: EngineShown(
                "none",
                self.tr("Nothing is running your jobs: {why}").format(why=state.sentence),
                can_start=state.can_start,
            ),
        }[state.place]
        self._windows.main.show_engine(shown)
        if state.place is EnginePlace.HERE:
            self._alerts.expect_gap()

    def _say_taken_over(self) -> None:
        self._windows.main.show_news(self.tr("The daemon stopped. This window runs your jobs now."))

    def _show_alarm(self, notice: Notice) -> None:
        self._windows.main.show_news(f"{notice.title}. {notice.text}")

    # --- Closing, failures, settings -----------------------------------------------------------------

    def _explain_closing(self) -> None:
        if not self._is_ending:
            self._backend.ask(_take_closing_told, self._tell_closing, owner=self)

    def _tell_closing(self, was_told: bool) -> None:  # noqa: FBT001 - an answer
        if not was_told:
            self._notifications.show(
                Notice(
                    kind=NoticeKind.HINT,
                    title=self.tr("Halo is still running"),
                    text=self.tr("Jobs keep running. To exit, choose Quit in the tray menu."),
                )
            )

    def _check_tray(self) -> None:
        """Let closing hide the window only if there is a tray to show it again; otherwise minimise it and say so."""
        is_missing = not Tray.is_available()
        self._windows.main.set_minimises_on_close(is_missing)
        self._windows.main.set_closing_note(
            self.tr("No system tray found. Closing the window minimises it; jobs keep running.")
            if is_missing
            else ""
        )

    def _show_in_tray(self, notice: Notice) -> None:
        self._last_tray_notice = notice
        self._tray.show_message(notice.title, notice.text)

    def _open_last_notice(self) -> None:
        """Open what the last tray message was about; Qt does not say which message was clicked."""
        if self._last_tray_notice is not None:
            self._windows.show_notice(self._last_tray_notice)

    def _on_focus_changed(self) -> None:
        """Mark failures as seen, and check whether the tray has come or gone."""
        self._check_tray()
        self._mark_failures_seen()

    def _mark_failures_seen(self) -> None:
        """Mark failures as seen while the main window is active."""
        if self._windows.main.isActiveWindow():
            self._backend.ask(_mark_seen, owner=self)

    def _follow(self, change: Change) -> None:
        # No signal reports a lost tray, so it is checked when something else happens, without polling.
        self._tray_watcher.check_later()
        if change.kind is ChangeKind.SETTINGS:
            self._backend.ask(
                lambda scheduler: scheduler.settings.read(),
                lambda settings: self._appearance.choose(settings.theme),
                owner=self,
            )
        elif change.kind is ChangeKind.RUN_FINISHED and self._windows.main.isActiveWindow():
            self._seeing.start()

    # --- Restoring -----------------------------------------------------------------------------------

    def _restore(self, backup: Path) -> None:
        """Stop the engine, restore the backup and start again; refused while jobs run."""
        if self._link.state.place is not EnginePlace.HERE:
            self._windows.show_restore_error(self.tr("Another program is running your jobs. Stop it first."))
            return
        self._windows.show_restore_busy()
        self._backend.ask(
            lambda scheduler: scheduler.runs.running(),
            lambda running: self._restore_when_idle(backup, bool(running)),
            lambda error: self._windows.show_restore_error(str(error)),
            owner=self,
        )

    def _restore_when_idle(self, backup: Path, is_running: bool) -> None:  # noqa: FBT001 - an answer
        if is_running:
            self._windows.show_restore_error(
                self.tr("Jobs are running. Stop them or wait until they finish.")
            )
            return
        self._after_stop = lambda: self.restore_now(backup)
        self._link.stop(ShutdownMode.LEAVE)

    def restore_now(self, backup: Path | None) -> None:
        """Restore a backup, or the newest usable one, while no engine runs."""
        self._after_stop = self._finish
        self._backend.close_database()
        self._restorer.restore(backup)

    def _on_restored(self, sentence: str) -> None:
        self.restored.emit()
        self._link.start()
        self._windows.main.show_news(sentence)
        for kind in (ChangeKind.JOB, ChangeKind.SETTINGS):
            self._backend.tell(Change(kind))

    def _on_not_restored(self, sentence: str) -> None:
        self._link.start()
        self._windows.show_restore_error(sentence)
        self.not_restored.emit(sentence)

    # --- Ending --------------------------------------------------------------------------------------

    def _ask_to_quit(self) -> None:
        self._quitting.ask(is_engine_here=self._link.state.place is EnginePlace.HERE)

    def quit(self, shutdown_mode: ShutdownMode) -> None:
        """Quit after current runs were waited for, stopped or left running; `ended` is emitted when done."""
        self._is_ending = True
        self._after_stop = self._finish
        if shutdown_mode is ShutdownMode.WAIT:
            self._windows.main.show_quitting(is_quitting=True)
        else:
            self._windows.close_all()
        self._link.stop(shutdown_mode)

    def _cancel_quitting(self) -> None:
        self._is_ending = False
        self._link.cancel_stop()
        self._windows.main.show_quitting(is_quitting=False)
        self._show_engine(self._link.state)

    def leave(self) -> None:
        """Quit without asking, because the session ends; commands keep running until the next start adopts them."""
        if self._is_ending:
            self._finish()
        else:
            self.quit(ShutdownMode.LEAVE)

    def _on_stopped(self) -> None:
        self._after_stop()

    def _finish(self) -> None:
        self._tray.hide()
        self._notifications.close()
        self._engine.end()
        self.ended.emit()


def _refresh(autostart: Autostart) -> None:
    """Update the autostart entry if the program was moved."""
    command = login_command()
    if autostart.is_on() and not autostart.is_current(command):
        autostart.turn_on(command)


def _mark_seen(scheduler: Scheduler) -> None:
    if scheduler.runs.unseen_failures():
        scheduler.runs.mark_failures_seen()


def _take_closing_told(scheduler: Scheduler) -> bool:
    """Return whether the user knows what closing does, and remember that they do."""
    was_told = scheduler.settings.read().closing_explained
    if not was_told:
        scheduler.settings.change(closing_explained=True)
    return was_told


def _capitalised(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
