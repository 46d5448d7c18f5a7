"""The desktop program from start to end; whatever the first window does not need is loaded after it."""

from __future__ import annotations

import gc
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QSocketNotifier, Qt, QTimer, Signal
from PySide6.QtGui import QSessionManager
from PySide6.QtWidgets import QApplication, QWidget

from halo_scheduler.clock import Clock, SystemClock
from halo_scheduler.errors import SchedulerError
from halo_scheduler.host.signals import StopSignals
from halo_scheduler.model.settings import Settings
from ui.backend.backend import Backend
from ui.main_window.window import MainWindow
from ui.style.icons import picture
from ui.style.theme import Appearance

from .program_log import ProgramLog
from .single_instance import SingleInstance
from .window_memory import WindowMemory

if TYPE_CHECKING:
    from .recovery_window import RecoveryWindow, Restorer
    from .session import Session
from PySide6.QtCore import QAbstractEventDispatcher

# A collection stops all threads for a time that grows with the number of objects; thousands of jobs are noticeable.
MOST_NEW_OBJECTS = 20_000
_MOST_SHORT_LOOKS = 20
_MOST_LONGER_LOOKS = 50

# A shorter switch interval: short answers for the window wait less for long work of the engine.
_SWITCH_S = 0.001
_LATEST_PAINT_MS = 2_000


class GarbageCollector(QObject):
    """Collects garbage when the event loop is about to wait and enough has gathered; it never wakes the program."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        gc.disable()
        QAbstractEventDispatcher.instance().aboutToBlock.connect(self._appearance)

    def _appearance(self) -> None:
        new_objects, short_looks, longer_looks = gc.get_count()
        if new_objects <= MOST_NEW_OBJECTS:
            return
        if longer_looks > _MOST_LONGER_LOOKS:
            gc.collect()
        else:
            gc.collect(1 if short_looks > _MOST_SHORT_LOOKS else 0)


def run_program(database: Path, *, hidden: bool) -> int:
    """Run the program until it quits and return the exit code; a second instance only raises the first one's window."""
    sys.setswitchinterval(_SWITCH_S)
    # Imported objects live forever and need not be scanned.
    gc.freeze()
    application = QApplication(["halo-scheduler"])
    GarbageCollector(application)
    application.setApplicationName("halo-scheduler")
    application.setApplicationDisplayName("Halo Scheduler")
    application.setDesktopFileName("halo-scheduler")
    application.setWindowIcon(picture("halo"))
    application.setQuitOnLastWindowClosed(False)
    instance = SingleInstance(database)
    if not instance.claim():
        is_raised = instance.raise_other()
        sys.stderr.write(
            "halo: already running; showing its window\n"
            if is_raised
            else "halo: already running, but not responding\n"
        )
        return 0 if is_raised else 1
    with StopSignals() as signals:
        program = Program(application, database, SystemClock(), hidden=hidden)
        instance.raise_requested.connect(program.show)
        program.began.connect(instance.listen)
        stop = QSocketNotifier(signals.fileno(), QSocketNotifier.Type.Read)
        stop.activated.connect(lambda: program.leave() if signals.is_asked_to_stop() else None)
        program.start()
        exit_code = application.exec()
        stop.setEnabled(False)
    instance.release()
    return exit_code


class Program(QObject):
    """Opens the database, shows the window, then starts everything else; or shows the recovery window."""

    began = Signal()
    """Everything the user waits for has started; requests from other instances can be heard."""

    def __init__(self, application: QApplication, database: Path, clock: Clock, *, hidden: bool) -> None:
        super().__init__()
        self._application = application
        self._database = database
        self._clock = clock
        self._is_hidden = hidden
        self._log = ProgramLog(database)
        self._log.start()
        self._backend = Backend(database, clock, self)
        self._memory = WindowMemory(database.parent / "windows", self._backend, self)
        self._appearance: Appearance | None = None
        self._main: MainWindow | None = None
        self._session: Session | None = None
        self._recovery: RecoveryWindow | None = None
        self._restorer: Restorer | None = None
        self._exit = ExitStack()
        application.commitDataRequest.connect(self._leave_with_session, Qt.ConnectionType.DirectConnection)

    def start(self) -> None:
        """Open the database and show the window, or the recovery window if that fails."""
        self._backend.ask(lambda scheduler: scheduler.settings.read(), self._begin, self._recover, owner=self)

    def show(self) -> None:
        """Show the window."""
        if self._session is not None:
            self._session.show_main()
        elif self._recovery is not None:
            self._recovery.show()
            self._recovery.activateWindow()
        else:
            self._is_hidden = False

    # --- Beginning -----------------------------------------------------------------------------------

    def _begin(self, settings: Settings) -> None:
        """Show the window first; the rest is made once it is visible."""
        self._end_recovery()
        appearance = self._dress(settings)
        main = MainWindow(self._backend, appearance)
        self._memory.keep(main)
        self._main = main
        if self._is_hidden or settings.start_hidden:
            self._complete(settings)
            return
        seen = FirstPaint(main)
        seen.painted.connect(lambda: self._complete(settings))
        main.show()

    def _complete(self, settings: Settings) -> None:
        if self._main is None or self._session is not None:
            return
        self._log.open_file()
        from importlib.metadata import version  # noqa: PLC0415 - after the first window

        from halo_scheduler.host.crash_file import crash_file  # noqa: PLC0415

        from .session import Session  # noqa: PLC0415

        self._exit.enter_context(crash_file(self._database, "desktop program", version("halo-scheduler")))
        self._session = Session(
            self._backend,
            self._dress(settings),
            self._main,
            database=self._database,
            clock=self._clock,
            log=self._log,
            parent=self,
        )
        self._session.damaged.connect(self._recover)
        self._session.restored.connect(self._end_recovery)
        self._session.not_restored.connect(self._refuse_restore)
        self._session.ended.connect(self._finish)
        self._session.begin(settings)
        self.began.emit()

    def _dress(self, settings: Settings | None = None) -> Appearance:
        if self._appearance is None:
            self._appearance = (
                Appearance(parent=self) if settings is None else Appearance(settings.theme, self)
            )
            self._appearance.apply()
        elif settings is not None:
            self._appearance.choose(settings.theme)
        return self._appearance

    # --- A way out -----------------------------------------------------------------------------------

    def _recover(self, error: SchedulerError) -> None:
        """Show what is wrong with the database and what can be done."""
        from .recovery_window import RecoveryWindow  # noqa: PLC0415 - hardly ever needed

        if self._recovery is None:
            self._recovery = RecoveryWindow(self._dress(), self._database, error, self._clock.now_ms())
            self._recovery.retry_requested.connect(self._retry)
            self._recovery.restore_requested.connect(self._restore)
            self._recovery.quit_requested.connect(self.leave)
            self._log.open_file()
            self.began.emit()
        else:
            self._recovery.show_error(error)
        self._recovery.show()

    def _retry(self) -> None:
        """Check whether the database can be used now."""
        if self._session is None:
            self.start()
        else:
            self._end_recovery()
            self._session.begin_again()

    def _restore(self, backup: Path | None) -> None:
        if self._recovery is not None:
            self._recovery.show_busy(self.tr("Restoring the backup…"))
        if self._session is not None:
            self._session.restore_now(backup)
            return
        from .recovery_window import Restorer  # noqa: PLC0415 - hardly ever needed

        if self._restorer is None:
            self._restorer = Restorer(self._database, self._clock, self)
            self._restorer.done.connect(self.start)
            self._restorer.failed.connect(self._refuse_restore)
        self._backend.close_database()
        self._restorer.restore(backup)

    def _refuse_restore(self, sentence: str) -> None:
        if self._recovery is not None:
            self._recovery.show_refusal(sentence)

    def _end_recovery(self) -> None:
        if self._recovery is not None:
            self._recovery.close_for_good()
            self._recovery = None

    # --- Ending --------------------------------------------------------------------------------------

    def leave(self) -> None:
        """Quit without asking."""
        if self._session is not None:
            self._session.leave()
        else:
            self._finish()

    def _leave_with_session(self, _manager: QSessionManager) -> None:
        self.leave()

    def _finish(self) -> None:
        self._backend.close()
        self._exit.close()
        self._log.stop()
        self._application.exit(0)


class FirstPaint(QObject):
    """Emits when a window becomes visible, or after a timeout."""

    painted = Signal()

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._is_told = False
        window.installEventFilter(self)
        QTimer.singleShot(_LATEST_PAINT_MS, self, self._tell)

    def _tell(self) -> None:
        if not self._is_told:
            self._is_told = True
            self.painted.emit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        if event.type() is QEvent.Type.Paint:
            watched.removeEventFilter(self)
            # After the paint event has reached the screen.
            QTimer.singleShot(0, self, self._tell)
        return super().eventFilter(watched, event)
