"""The windows of the program, each made when first needed, and what they request."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from math import inf
from time import monotonic
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QTimer, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QWidget

from halo_scheduler.errors import SchedulerError
from halo_scheduler.host.autostart import Autostart, login_command
from halo_scheduler.paths import manual_page
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.wording.notices import Notice, NoticeAction, NoticeKind
from ui.backend.backend import Backend, Lane
from ui.backend.engine_thread import EngineThread
from ui.editor.sessions import EditorSessions
from ui.main_window.more_menu import HelpTopic
from ui.main_window.window import MainWindow
from ui.style.theme import Appearance
from ui.tray.icon import Tray

from .program_log import ProgramLog
from .window_memory import WindowMemory

if TYPE_CHECKING:
    from ui.history.window import HistoryWindow
    from ui.main_window.importing import ImportDialog
    from ui.settings.dialog import SettingsDialog

    from .about import AboutDialog
    from .greeting import Greeting

_JUST_NOW_S = 0.5
# Windows other than the first are imported when needed, so that the first one appears sooner.


class Windows(QObject):
    """Connects the windows with each other and with the service."""

    quit_requested = Signal()
    restore_requested = Signal(object)

    def __init__(
        self,
        backend: Backend,
        appearance: Appearance,
        main: MainWindow,
        *,
        engine: EngineThread,
        autostart: Autostart,
        log: ProgramLog,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._backend = backend
        self._appearance = appearance
        self._autostart = autostart
        self._log = log
        self._memory = WindowMemory(log.path.parents[1] / "windows", backend, self)
        self.main = main
        self.editing = EditorSessions(backend, appearance, engine, self)
        self._history: HistoryWindow | None = None
        self._settings: SettingsDialog | None = None
        self._importing: ImportDialog | None = None
        self._about: AboutDialog | None = None
        self._greeting: Greeting | None = None
        self._deactivated_s = -inf
        main.installEventFilter(self)
        self._connect_main()

    def connect_tray(self, tray: Tray) -> None:
        """Let the tray open windows and control jobs."""
        tray.open_requested.connect(self.show_main)
        tray.toggle_requested.connect(self.toggle_main)
        tray.job_requested.connect(self.show_job)
        tray.history_requested.connect(lambda: self.show_history(None))
        tray.settings_requested.connect(self.show_settings)
        tray.quit_requested.connect(self.quit_requested)
        tray.run_requested.connect(self.run_job)
        tray.stop_requested.connect(self.stop_run)
        tray.pause_all_requested.connect(
            lambda until: self._backend.ask(lambda scheduler: scheduler.pause_all(until))
        )
        tray.resume_all_requested.connect(lambda: self._backend.ask(Scheduler.resume_all))
        tray.questions_requested.connect(self.show_questions)

    def show_main(self) -> None:
        """Show the main window in front of everything else."""
        self.main.showNormal() if self.main.isMinimized() else self.main.show()
        _to_front(self.main)

    def toggle_main(self) -> None:
        """Hide the main window if it is in front, else show it there."""
        # A click on the icon may take the focus from the window first.
        was_active = monotonic() - self._deactivated_s < _JUST_NOW_S or self.main.isActiveWindow()
        if self.main.isVisible() and not self.main.isMinimized() and was_active:
            self.main.close()
        else:
            self.show_main()

    def show_job(self, job_id: str) -> None:
        self.main.select_job(job_id)
        self.show_main()

    def show_questions(self, whose: str | None = None) -> None:
        """Show the open questions, starting with the one from the run or job with this id."""
        self.main.show_questions(whose)
        self.show_main()

    def show_notice(self, notice: Notice) -> None:
        """Show what a notification is about."""
        if notice.kind is NoticeKind.NEEDS_INPUT:
            self.show_questions(notice.run_ids[0])
        elif len(notice.run_ids) == 1:
            self.show_run(notice.run_ids[0])
        elif notice.run_ids:
            self._with_history(lambda history: history.show_runs(notice.run_ids))
        else:
            self.show_main()

    def act_on_notice(self, notice: Notice, action: NoticeAction) -> None:
        """Do what was chosen in a notification."""
        job_id = notice.job_id
        if job_id is None:
            return
        if action is NoticeAction.RUN_AGAIN:
            self.run_job(job_id)
        elif action is NoticeAction.PAUSE:
            self._backend.ask(lambda scheduler: scheduler.pause_job(job_id))

    def show_history(self, job_id: str | None) -> None:
        self._with_history(lambda history: history.show_job(job_id))

    def show_run(self, run_id: str) -> None:
        self._with_history(lambda history: history.show_run(run_id))

    def show_settings(self) -> None:
        self._with_settings(lambda _settings: None)

    def show_quiet_times(self) -> None:
        """Show the quiet hours in the settings."""
        self._with_settings(lambda settings: settings.show_quiet_times())

    def show_webhooks(self) -> None:
        """Show the webhooks page of the settings."""
        self._with_settings(lambda settings: settings.show_webhooks())

    def show_chat(self) -> None:
        """Show the chat page of the settings."""
        self._with_settings(lambda settings: settings.show_chat())

    def show_secrets(self) -> None:
        """Show the secrets in the settings."""
        self._with_settings(lambda settings: settings.show_secrets())

    def show_restore_busy(self) -> None:
        if self._settings is not None:
            self._settings.show_restore_busy()

    def show_restore_error(self, sentence: str) -> None:
        if self._settings is not None:
            self._settings.show_restore_error(sentence)
        else:
            self.main.show_message(sentence)

    def show_help(self, topic: HelpTopic) -> None:
        if topic is HelpTopic.MANUAL:
            self.show_manual()
        else:
            self.show_about()

    def show_manual(self) -> None:
        """Open the manual in the browser; it is installed with the program and needs no network."""
        page = manual_page()
        if page is None:
            self.main.show_message(
                self.tr("The manual isn't built here. In the source folder, run: make docs")
            )
        elif not QDesktopServices.openUrl(QUrl.fromLocalFile(str(page))):
            self.main.show_message(
                self.tr("No browser could be opened. The manual is {page}").format(page=page)
            )

    def show_about(self) -> None:
        if self._about is None:
            from .about import AboutDialog  # noqa: PLC0415

            self._about = AboutDialog(
                self._backend, self._appearance, self._log, self._log.path.parents[1], self.main
            )
        _to_front(self._about)

    def show_import(self) -> None:
        """Let the user import jobs from files."""
        if self._importing is None:
            from ui.main_window.importing import ImportDialog  # noqa: PLC0415

            self._importing = ImportDialog(self._backend, self._appearance, self.main)
            self._importing.done_with.connect(self.main.show_message)
        self._importing.start()

    def show_export(self) -> None:
        """Let the user export all jobs to a file."""
        from ui.main_window.importing import JobExport  # noqa: PLC0415

        exporting = JobExport(self._backend, self.main)
        exporting.done_with.connect(self.main.show_message)
        exporting.done_with.connect(exporting.deleteLater)
        exporting.start()

    def greet(self) -> None:
        """Ask once whether to start at login."""
        from .greeting import Greeting  # noqa: PLC0415

        self._greeting = Greeting(self.main, has_tray=Tray.is_available())
        self._greeting.answered.connect(self._take_answer)
        self._greeting.open()

    def check_autostart(self) -> None:
        """Show in the main window whether jobs run only while Halo is open."""
        self._backend.ask(
            lambda _scheduler: self._autostart.is_on(),
            lambda is_on: self.main.set_autostart_note(not is_on),
            lambda _error: None,
            owner=self,
        )

    def run_job(self, job_id: str) -> None:
        self._backend.ask(lambda scheduler: scheduler.trigger(job_id))

    def stop_run(self, run_id: str) -> None:
        self._backend.ask(lambda scheduler: scheduler.cancel_run(run_id))

    def close_all(self) -> None:
        """Hide every window without asking."""
        for window in (
            self._greeting,
            self._about,
            self._importing,
            self._settings,
            self._history,
            self.main,
        ):
            if window is not None:
                window.hide()

    def _connect_main(self) -> None:
        main = self.main
        main.new_job_requested.connect(self.editing.new)
        main.edit_requested.connect(self.editing.edit)
        main.duplicate_requested.connect(self.editing.duplicate)
        main.history_requested.connect(self.show_history)
        main.run_shown_requested.connect(self.show_run)
        main.settings_requested.connect(self.show_settings)
        main.import_requested.connect(self.show_import)
        main.export_requested.connect(self.show_export)
        main.help_requested.connect(self.show_help)
        main.quit_requested.connect(self.quit_requested)
        main.autostart_requested.connect(lambda: self._switch_autostart(is_wanted=True))
        self.editing.job_saved.connect(main.select_job)
        self.editing.quiet_times_requested.connect(self.show_quiet_times)
        self.editing.secrets_requested.connect(self.show_secrets)
        self.editing.webhooks_requested.connect(self.show_webhooks)
        self.editing.chat_requested.connect(self.show_chat)

    def _with_settings(self, use: Callable[[SettingsDialog], None]) -> None:
        """Call something with the settings dialog, created on first use."""
        if self._settings is not None:
            use(self._settings)
            _to_front(self._settings)
            return
        self._import("ui.settings.dialog", lambda: self._make_settings(use))

    def _with_history(self, use: Callable[[HistoryWindow], None]) -> None:
        """Call something with the history window, made when first needed."""
        if self._history is not None:
            use(self._history)
            _to_front(self._history)
            return
        self._import("ui.history.window", lambda: self._make_history(use))

    def read_ahead(self) -> None:
        """Import the history window ahead of time, once the program is idle."""
        self._backend.ask(lambda _scheduler: importlib.import_module("ui.history.window"), lane=Lane.SLOW)

    def _import(self, module: str, then: Callable[[], None]) -> None:
        """Import a window's modules in another thread; the GUI thread only builds it."""
        self._backend.ask(
            lambda _scheduler: importlib.import_module(module), lambda _module: then(), owner=self
        )

    def _make_settings(self, use: Callable[[SettingsDialog], None]) -> None:
        from ui.settings.dialog import SettingsDialog  # noqa: PLC0415

        if self._settings is None:
            self._settings = SettingsDialog(self._backend, self._appearance, self._autostart)
            self._settings.restore_requested.connect(self.restore_requested)
            self._settings.finished.connect(self.check_autostart)
        use(self._settings)
        QTimer.singleShot(0, self._settings, partial(_to_front, self._settings))

    def _make_history(self, use: Callable[[HistoryWindow], None]) -> None:
        from ui.history.window import HistoryWindow  # noqa: PLC0415

        if self._history is None:
            self._history = HistoryWindow(self._backend, self._appearance)
            self._memory.keep(self._history)
            self._history.run_again_requested.connect(self.run_job)
            self._history.stop_requested.connect(self.stop_run)
            self._history.edit_job_requested.connect(self.editing.edit)
            self._history.answer_requested.connect(self.show_questions)
        # Its runs are queried before it is shown, in the next turn of the event loop.
        use(self._history)
        QTimer.singleShot(0, self._history, partial(_to_front, self._history))

    def _take_answer(self, is_wanted: bool) -> None:  # noqa: FBT001 - a slot
        self._backend.ask(lambda scheduler: scheduler.settings.change(autostart_asked=True))
        self._switch_autostart(is_wanted=is_wanted)

    def _switch_autostart(self, *, is_wanted: bool) -> None:
        autostart = self._autostart

        def switch(_scheduler: Scheduler) -> bool:
            autostart.turn_on(login_command()) if is_wanted else autostart.turn_off()
            return autostart.is_on()

        self._backend.ask(
            switch, lambda is_on: self.main.set_autostart_note(not is_on), self._refuse, owner=self
        )

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        if watched is self.main and event.type() is QEvent.Type.WindowDeactivate:
            self._deactivated_s = monotonic()
        return super().eventFilter(watched, event)

    def _refuse(self, error: SchedulerError) -> None:
        self.main.show_message(str(error))
        self.main.set_autostart_note(True)


def _to_front(window: QWidget) -> None:
    window.show()
    window.raise_()
    window.activateWindow()
