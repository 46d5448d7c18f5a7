"""The About dialog: versions, the program log, and diagnostics to copy."""

from __future__ import annotations

import os
from pathlib import Path

from PySide6.QtCore import QSize, Qt, QUrl, qVersion
from PySide6.QtGui import QDesktopServices, QGuiApplication, QShowEvent
from PySide6.QtWidgets import (
    QDialog,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QSystemTrayIcon,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from halo_scheduler.doctor.installation import (
    EngineFacts,
    engine_facts,
    engine_lines,
    installed_as,
    system_lines,
    versions,
)
from halo_scheduler.errors import SchedulerError
from ui.backend.backend import Backend, Lane
from ui.style.icons import picture
from ui.style.theme import GRID, MARGIN, Appearance, mono_font
from ui.style.wording import plain_tooltip
from ui.widgets.labels import button, frame, label, tint

from .program_log import ProgramLog

_PICTURE = 64
_SIZE = QSize(632, 480)


def diagnostics_text(facts: EngineFacts | None, data_folder: Path) -> str:
    """Return the diagnostics as text; without facts the service did not respond."""
    lines = [*system_lines(data_folder), f"Qt {qVersion()}", *_display_lines(), *engine_lines(facts)]
    return "\n".join(lines) + "\n"


def _display_lines() -> list[str]:
    screens = [
        f"{screen.size().width()}×{screen.size().height()} at {screen.devicePixelRatio():g}x"
        for screen in QGuiApplication.screens()
    ]
    is_dark = QGuiApplication.styleHints().colorScheme() is Qt.ColorScheme.Dark
    return [
        f"Display: {QGuiApplication.platformName()}, {', '.join(screens) or 'no screen'}",
        f"System theme: {'dark' if is_dark else 'light'}",
        f"Tray: {'available' if QSystemTrayIcon.isSystemTrayAvailable() else 'not available'}",
        f"Tray messages: {'supported' if QSystemTrayIcon.supportsMessages() else 'not supported'}",
    ]


class AboutDialog(QDialog):
    """Two pages: about, and the program log."""

    def __init__(
        self,
        backend: Backend,
        appearance: Appearance,
        log: ProgramLog,
        data_folder: Path,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._backend = backend
        self._log = log
        self._data_folder = data_folder
        self.setObjectName("aboutDialog")
        self.setWindowTitle(self.tr("About Halo"))
        self.resize(_SIZE)
        self._lines = QPlainTextEdit()
        self._tabs = QTabWidget()
        self._tabs.setObjectName("aboutTabs")
        self._tabs.setDocumentMode(True)
        self._tabs.addTab(self._about_page(appearance), self.tr("&About"))
        self._tabs.addTab(self._log_page(appearance), self.tr("&Log"))
        self._tabs.currentChanged.connect(self.refresh_log)
        self._lay_out(appearance)

    def show_log(self) -> None:
        """Show the log page."""
        self._tabs.setCurrentIndex(1)

    def refresh_log(self) -> None:
        """Reload the log and scroll to its end."""
        self._lines.setPlainText("\n".join(self._log.lines()) or self.tr("The log is empty."))
        bar = self._lines.verticalScrollBar()
        bar.setValue(bar.maximum())

    def copy_diagnostics(self) -> None:
        """Copy the diagnostics to the clipboard."""
        own_pid = os.getpid()
        self._copy.setEnabled(False)
        self._backend.ask(
            lambda scheduler: engine_facts(scheduler, own_pid),
            self._put_on_clipboard,
            self._copy_without_engine,
            owner=self,
            lane=Lane.SLOW,
        )

    def _about_page(self, appearance: Appearance) -> QWidget:
        drawing = QLabel()
        drawing.setPixmap(picture("halo").pixmap(QSize(_PICTURE, _PICTURE)))
        drawing.setAccessibleName("Halo")
        listed = [*versions(), (self.tr("Installed as"), installed_as())]
        heading = QVBoxLayout()
        heading.setSpacing(GRID // 2)
        heading.addStretch(1)
        heading.addWidget(label(self.tr("Halo Scheduler"), "title"))
        heading.addWidget(
            label(self.tr("Version {version}").format(version=listed[0][1]), "muted", name="versionLabel")
        )
        heading.addStretch(1)
        top = QHBoxLayout()
        top.setSpacing(MARGIN)
        top.addWidget(drawing)
        top.addLayout(heading, 1)
        page = QWidget()
        box = QVBoxLayout(page)
        box.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
        box.setSpacing(MARGIN)
        box.addLayout(top)
        box.addWidget(
            label(
                self.tr(
                    "Runs your jobs on time and records what happened. Free software under the MIT licence. "
                    "Nothing leaves this computer except what your jobs send."
                ),
                wrap=True,
            )
        )
        box.addWidget(frame("line"))
        box.addLayout(self._facts(listed[1:], appearance))
        box.addStretch(1)
        return page

    def _facts(self, listed: list[tuple[str, str]], appearance: Appearance) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(MARGIN + GRID)
        grid.setVerticalSpacing(GRID)
        for row, (name, number) in enumerate(listed):
            grid.addWidget(label(name, "muted"), row, 0)
            grid.addWidget(_selectable(label(number)), row, 1, 1, 2)
        row = len(listed)
        folder = _selectable(label(str(self._data_folder), name="dataFolderLabel", wrap=True))
        folder.setToolTip(plain_tooltip(str(self._data_folder)))
        show = button(self.tr("&Open folder"), name="openFolderButton", kind="quiet")
        tint(show, appearance, "folder")
        show.clicked.connect(self._open_folder)
        grid.addWidget(label(self.tr("Your data"), "muted"), row, 0)
        grid.addWidget(folder, row, 1)
        grid.addWidget(show, row, 2)
        grid.setColumnStretch(1, 1)
        return grid

    def _log_page(self, appearance: Appearance) -> QWidget:
        self._lines.setObjectName("programLog")
        self._lines.setAccessibleName(self.tr("Program log"))
        self._lines.setReadOnly(True)
        self._lines.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)
        self._lines.setFont(mono_font(self._lines.font()))
        self._lines.setTabChangesFocus(True)
        where = _selectable(label(str(self._log.path), "small", wrap=True))
        again = button(self.tr("&Refresh"), name="refreshLogButton", kind="quiet", shortcut="F5")
        tint(again, appearance, "refresh")
        again.clicked.connect(self.refresh_log)
        below = QHBoxLayout()
        below.addWidget(where, 1)
        below.addWidget(again)
        page = QWidget()
        box = QVBoxLayout(page)
        box.setContentsMargins(MARGIN, MARGIN, MARGIN, GRID)
        box.setSpacing(GRID)
        box.addWidget(self._lines, 1)
        box.addLayout(below)
        return page

    def _lay_out(self, appearance: Appearance) -> None:
        self._copy = button(
            self.tr("&Copy diagnostics"),
            name="copyDiagnosticsButton",
            tip=self.tr("Versions, system and counts. No names, commands or secrets."),
            shortcut="Ctrl+Shift+C",
        )
        tint(self._copy, appearance, "copy")
        self._copy.clicked.connect(self.copy_diagnostics)
        self._copied = label("", "ok", name="copiedLabel")
        close = button(self.tr("Close"), name="closeButton", tip=self.tr("Close (Esc)"))
        close.clicked.connect(self.close)
        close.setDefault(True)
        bar = frame("bar")
        buttons = QHBoxLayout(bar)
        buttons.setContentsMargins(MARGIN, GRID, MARGIN, GRID)
        buttons.addWidget(self._copy)
        buttons.addWidget(self._copied, 1)
        buttons.addWidget(close)
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(0)
        box.addWidget(self._tabs, 1)
        box.addWidget(bar)

    def _put_on_clipboard(self, facts: EngineFacts | None) -> None:
        QGuiApplication.clipboard().setText(diagnostics_text(facts, self._data_folder))
        self._copied.setText(self.tr("✓ Copied"))
        self._copy.setEnabled(True)

    def _copy_without_engine(self, _error: SchedulerError) -> None:
        self._put_on_clipboard(None)

    def _open_folder(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._data_folder)))

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        super().showEvent(event)
        self._copied.clear()
        self.refresh_log()


def _selectable(shown: QLabel) -> QLabel:
    shown.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return shown
