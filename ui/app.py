"""The desktop program: everything is made and connected here."""

from __future__ import annotations

import gc
import logging
import sys
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, QSocketNotifier, Qt
from PySide6.QtGui import QSessionManager
from PySide6.QtWidgets import QApplication

from halo_scheduler.changes import Change, ChangeKind
from halo_scheduler.clock import Clock, SystemClock
from halo_scheduler.errors import SchedulerError
from halo_scheduler.host.autostart import Autostart, login_command, system_autostart
from halo_scheduler.host.signals import StopSignals
from halo_scheduler.notices import Notice
from halo_scheduler.service import Scheduler
from halo_scheduler.settings import Settings

from .alerts import Alerts
from .backend import Backend
from .engine_link import EngineLink, EnginePlace, EngineState
from .engine_thread import EngineThread, Farewell
from .icons import picture
from .notifications import Notifications
from .program_log import ProgramLog
from .quitting import Quitting
from .recovery_window import RecoveryWindow
from .restoring import Restorer
from .single_instance import SingleInstance
from .theme import Look
from .tray import Tray
from .widgets.status_strip import EngineShown
from .windows import Windows

_LOG = logging.getLogger(__name__)
# Shorter turns between the threads: a short answer for the window waits less for a long one of the engine.
_SWITCH_S = 0.001
# Looking for garbage stops all threads for as long as there are objects; with thousands of jobs that shows.
_GARBAGE_THRESHOLDS = (20_000, 20, 50)


def run_program(database: Path, *, hidden: bool) -> int:
    """Run the program until it is quit and return the exit code; a second one only raises the first's window."""
    sys.setswitchinterval(_SWITCH_S)
    gc.set_threshold(*_GARBAGE_THRESHOLDS)
    # What is imported stays: it need not be looked through again and again.
    gc.freeze()
    application = QApplication(["halo-scheduler"])
    application.setApplicationName("halo-scheduler")
    application.setApplicationDisplayName("Halo Scheduler")
    application.setDesktopFileName("halo-scheduler")
    application.setWindowIcon(picture("halo"))
    application.setQuitOnLastWindowClosed(False)
    instance = SingleInstance(database)
    if not instance.claim():
        is_raised = instance.raise_other()
        sys.stderr.write(
            "halo: the program is already open; its window is shown now\n"
            if is_raised
            else "halo: the program is already open, but does not answer\n"
        )
        return 0 if is_raised else 1
    with StopSignals() as signals:
        program = Program(application, database, SystemClock(), system_autostart(), hidden=hidden)
        instance.raise_requested.connect(program.show)
        stop = QSocketNotifier(signals.fileno(), QSocketNotifier.Type.Read)
        stop.activated.connect(lambda: program.end_session() if signals.is_asked_to_stop() else None)
        program.start()
        exit_code = application.exec()
        stop.setEnabled(False)
    instance.release()
    return exit_code


class Program(QObject):
    """Starts, looks after the engine, and ends."""

    def __init__(
        self, application: QApplication, database: Path, clock: Clock, autostart: Autostart, *, hidden: bool
    ) -> None:
        super().__init__()
        self._application = application
        self._database = database
        self._clock = clock
        self._autostart = autostart
        self._is_hidden = hidden
        self._log = ProgramLog(database)
        self._log.start()
        self._backend = Backend(database, clock, self)
        self._engine = EngineThread(database, clock, self)
        self._link = EngineLink(self._backend, self._engine, self)
        self._restorer = Restorer(database, clock, self)
        self._look: Look | None = None
        self._windows: Windows | None = None
        self._tray: Tray | None = None
        self._notifications: Notifications | None = None
        self._alerts: Alerts | None = None
        self._quitting: Quitting | None = None
        self._recovery: RecoveryWindow | None = None
        self._after_stop: Callable[[], None] = self._finish
        self._is_ending = False
        self._link.state_changed.connect(self._show_engine)
        self._link.taken_over.connect(self._say_taken_over)
        self._link.damaged.connect(self._recover)
        self._link.stopped.connect(self._have_stopped)
        self._restorer.done.connect(self._have_restored)
        self._restorer.failed.connect(self._have_not_restored)
        application.commitDataRequest.connect(self._leave_with_session, Qt.ConnectionType.DirectConnection)

    def start(self) -> None:
        """Open the database, and with it everything else; if that cannot be done, offer a way out."""
        self._backend.ask(Scheduler.get_settings, self._begin, self._recover, owner=self)

    def show(self) -> None:
        """Show the window."""
        if self._windows is not None:
            self._windows.show_main()
        elif self._recovery is not None:
            self._recovery.show()
            self._recovery.activateWindow()
        else:
            self._is_hidden = False

    # --- Beginning -----------------------------------------------------------------------------------

    def _begin(self, settings: Settings) -> None:
        self._end_recovery()
        look = self._dress(settings)
        windows = Windows(
            self._backend, look, engine=self._engine, autostart=self._autostart, log=self._log, parent=self
        )
        self._windows = windows
        windows.main.closing.connect(self._explain_closing)
        windows.restore_requested.connect(self._restore)
        self._quitting = Quitting(self._backend, windows, self)
        self._quitting.decided.connect(self._quit)
        windows.quit_requested.connect(self._ask_to_quit)
        self._tray = Tray(self._backend, look, self)
        windows.connect_tray(self._tray)
        self._notifications = Notifications(self._show_in_tray, self)
        self._notifications.opened.connect(windows.show_notice)
        self._alerts = Alerts(self._backend, self._notifications, self)
        self._application.focusWindowChanged.connect(self._see_failures)
        self._backend.changed.connect(self._follow_settings)
        self._link.start()
        if not (self._is_hidden or settings.start_hidden):
            windows.show_main()
        self._tray.show()
        if not Tray.is_available():
            self._explain_missing_tray()
        self._ask_about_login(settings)

    def _dress(self, settings: Settings | None = None) -> Look:
        if self._look is None:
            self._look = Look(parent=self) if settings is None else Look(settings.theme, self)
            self._look.apply()
        elif settings is not None:
            self._look.choose(settings.theme)
        return self._look

    def _ask_about_login(self, settings: Settings) -> None:
        windows = self._windows
        if windows is None:
            return
        if not settings.autostart_asked and windows.main.isVisible():
            windows.greet()
            return
        self._backend.ask(
            lambda _scheduler: _refresh(self._autostart), failed=lambda error: _LOG.warning("%s", error)
        )
        windows.look_at_autostart()

    def _recover(self, error: SchedulerError) -> None:
        """Show what is wrong with the database, and what can be done."""
        if self._recovery is None:
            self._recovery = RecoveryWindow(self._dress(), self._database, error, self._clock.now_ms())
            self._recovery.retry_requested.connect(self._retry)
            self._recovery.restore_requested.connect(self._restore_damaged)
            self._recovery.quit_requested.connect(lambda: self._quit(Farewell.LEAVE))
        else:
            self._recovery.show_error(error)
        self._recovery.show()

    def _retry(self) -> None:
        """Look whether the database can be used by now."""
        if self._windows is None:
            self.start()
        else:
            self._end_recovery()
            self._link.start()

    def _end_recovery(self) -> None:
        if self._recovery is not None:
            self._recovery.close_for_good()
            self._recovery = None

    # --- The engine ----------------------------------------------------------------------------------

    def _show_engine(self, state: EngineState) -> None:
        if self._windows is None:
            return
        shown = {
            EnginePlace.STARTING: EngineShown("starting"),
            EnginePlace.HERE: EngineShown("here"),
            EnginePlace.ELSEWHERE: EngineShown(
                "elsewhere",
                self.tr("{who}; this window shows and edits the same jobs.").format(
                    who=_capitalised(state.sentence)
                ),
            ),
            EnginePlace.NOWHERE: EngineShown(
                "none", self.tr("Nobody runs the jobs: {why}").format(why=state.sentence)
            ),
        }[state.place]
        self._windows.main.show_engine(shown)
        if state.place is EnginePlace.HERE and self._alerts is not None:
            self._alerts.expect_gap()

    def _say_taken_over(self) -> None:
        if self._windows is not None:
            self._windows.main.show_message(
                self.tr("The other program that ran the jobs has ended. This one runs them now.")
            )

    # --- Closing, failures, settings -----------------------------------------------------------------

    def _explain_closing(self) -> None:
        if self._is_ending or self._windows is None:
            return
        if not Tray.is_available():
            # Hidden, it could not be brought back: there is no tray to click.
            self._windows.main.showMinimized()
            return
        self._backend.ask(_take_closing_told, self._tell_closing, owner=self)

    def _tell_closing(self, was_told: bool) -> None:  # noqa: FBT001 - an answer
        if not was_told and self._tray is not None:
            self._tray.show_message(
                self.tr("Halo goes on in the tray"),
                self.tr("Your jobs run as before. To end Halo, choose Quit in the tray's menu."),
            )

    def _explain_missing_tray(self) -> None:
        if self._windows is not None:
            self._windows.main.set_closing_note(
                self.tr(
                    "There is no tray here: closing this window minimises it, and jobs go on. "
                    "To end Halo, choose Quit in the menu."
                )
            )

    def _show_in_tray(self, notice: Notice) -> None:
        if self._tray is not None:
            self._tray.show_message(notice.title, notice.text)

    def _see_failures(self) -> None:
        """Take failures as seen once somebody looks at the jobs."""
        if self._windows is not None and self._windows.main.isActiveWindow():
            self._backend.ask(_see, owner=self)

    def _follow_settings(self, change: Change) -> None:
        if change.kind is ChangeKind.SETTINGS:
            self._backend.ask(Scheduler.get_settings, self._dress, owner=self)

    # --- Restoring -----------------------------------------------------------------------------------

    def _restore(self, backup: Path) -> None:
        """Stop the engine, put the backup in place, and go on with it."""
        if self._windows is None:
            return
        if self._link.state.place is not EnginePlace.HERE:
            self._windows.show_restore_error(self.tr("Another program runs the jobs; stop it first."))
            return
        self._windows.show_restore_busy()
        self._backend.ask(
            Scheduler.list_running,
            lambda running: self._restore_when_idle(backup, bool(running)),
            self._refuse_restore,
            owner=self,
        )

    def _restore_when_idle(self, backup: Path, is_running: bool) -> None:  # noqa: FBT001 - an answer
        if is_running and self._windows is not None:
            self._windows.show_restore_error(
                self.tr("Jobs are running; stop them or wait for their end first.")
            )
            return
        self._after_stop = lambda: self._restore_closed(backup)
        self._link.stop(Farewell.LEAVE)

    def _restore_closed(self, backup: Path | None) -> None:
        self._after_stop = self._finish
        self._backend.close_database()
        self._restorer.restore(backup)

    def _restore_damaged(self, backup: Path | None) -> None:
        if self._recovery is not None:
            self._recovery.show_busy(self.tr("Restoring the backup…"))
        self._restore_closed(backup)

    def _refuse_restore(self, error: SchedulerError) -> None:
        if self._windows is not None:
            self._windows.show_restore_error(str(error))

    def _have_restored(self, sentence: str) -> None:
        if self._windows is None:
            self.start()
            return
        self._end_recovery()
        self._link.start()
        self._windows.main.show_message(sentence)
        self._backend.tell(Change(ChangeKind.JOB))
        self._backend.tell(Change(ChangeKind.SETTINGS))

    def _have_not_restored(self, sentence: str) -> None:
        if self._recovery is not None:
            self._recovery.show_refusal(sentence)
            return
        self._link.start()
        if self._windows is not None:
            self._windows.show_restore_error(sentence)

    # --- Ending --------------------------------------------------------------------------------------

    def _ask_to_quit(self) -> None:
        if self._quitting is not None:
            self._quitting.ask(is_engine_here=self._link.state.place is EnginePlace.HERE)

    def _quit(self, farewell: Farewell) -> None:
        self._is_ending = True
        self._after_stop = self._finish
        if farewell is Farewell.WAIT and self._windows is not None:
            self._windows.main.show_message(
                self.tr("Halo quits when what runs now has ended. Quit again to choose otherwise.")
            )
        elif self._windows is not None:
            self._windows.close_all()
        self._link.stop(farewell)

    def end_session(self) -> None:
        """End without asking: the session or the system ends; commands live on, and the next start takes them up."""
        if not self._is_ending:
            self._quit(Farewell.LEAVE)
        else:
            self._finish()

    def _leave_with_session(self, _manager: QSessionManager) -> None:
        self.end_session()

    def _have_stopped(self) -> None:
        self._after_stop()

    def _finish(self) -> None:
        if self._tray is not None:
            self._tray.hide()
        if self._notifications is not None:
            self._notifications.close()
        self._backend.close()
        self._engine.end()
        self._log.stop()
        self._application.exit(0)


def _refresh(autostart: Autostart) -> None:
    """Let the entry that starts the program at login name this program: it may have been moved."""
    command = login_command()
    if autostart.is_on() and not autostart.is_current(command):
        autostart.turn_on(command)


def _see(scheduler: Scheduler) -> None:
    if scheduler.unseen_failures():
        scheduler.mark_failures_seen()


def _take_closing_told(scheduler: Scheduler) -> bool:
    """Return whether the user was told what closing does, and remember that they are."""
    was_told = scheduler.get_settings().closing_explained
    if not was_told:
        scheduler.change_settings(closing_explained=True)
    return was_told


def _capitalised(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
