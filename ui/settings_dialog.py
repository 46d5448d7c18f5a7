"""The settings: pages at the left, and every change counts at once."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QShowEvent
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from halo_scheduler.host.autostart import Autostart

from .backend import Backend
from .settings.backups import BackupsPage
from .settings.general import GeneralPage
from .settings.keeping import KeepingPage
from .settings.link import SettingsLink
from .settings.notifications import NotificationsPage
from .settings.page import Page
from .settings.running import RunningPage
from .settings.secrets import SecretsPage
from .theme import GRID, ICON, MARGIN, ROW, Look
from .widgets.labels import button, frame

_LIST_WIDTH = 184
_SIZE = QSize(776, 544)
_ICONS = ("settings", "bell", "run", "history", "backup", "key")


class SettingsDialog(QDialog):
    """Shows the settings and changes them; there is nothing to apply, only to close."""

    restore_requested = Signal(object)
    """The Path of a backup that is to take the database's place; the user has confirmed it."""

    def __init__(
        self, backend: Backend, look: Look, autostart: Autostart, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._look = look
        self._link = SettingsLink(backend, self)
        self._backups = BackupsPage(self._link, look)
        self._secrets = SecretsPage(self._link, look)
        self._pages: tuple[Page, ...] = (
            GeneralPage(self._link, look, autostart),
            NotificationsPage(self._link),
            RunningPage(self._link, look),
            KeepingPage(self._link),
            self._backups,
            self._secrets,
        )
        self.setObjectName("settingsDialog")
        self.setWindowTitle(self.tr("Settings"))
        self.resize(_SIZE)
        self._list = self._make_list()
        self._stack = QStackedWidget()
        for page in self._pages:
            self._stack.addWidget(page)
        self._lay_out()
        self._backups.restore_requested.connect(self.restore_requested)
        self._list.currentRowChanged.connect(self._turn_to)
        look.changed.connect(self._draw_icons)
        self._list.setCurrentRow(0)

    def show_backups(self) -> None:
        """Turn to the page of the backups."""
        self._list.setCurrentRow(self._pages.index(self._backups))

    def show_secrets(self) -> None:
        """Turn to the page of the secrets."""
        self._list.setCurrentRow(self._pages.index(self._secrets))

    def show_restore_busy(self) -> None:
        """Say that the program is going back to a backup."""
        self._backups.show_busy()

    def show_restore_error(self, text: str) -> None:
        """Say why going back to a backup failed."""
        self._backups.show_error(text)

    def _make_list(self) -> QListWidget:
        made = QListWidget()
        made.setObjectName("settingsPages")
        made.setAccessibleName(self.tr("Pages of the settings"))
        made.setFixedWidth(_LIST_WIDTH)
        made.setFrameShape(QFrame.Shape.NoFrame)
        made.setIconSize(QSize(ICON, ICON))
        made.setUniformItemSizes(True)
        made.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        for page in self._pages:
            item = QListWidgetItem(page.accessibleName())
            item.setSizeHint(QSize(0, ROW))
            made.addItem(item)
        self._list = made
        self._draw_icons()
        return made

    def _draw_icons(self) -> None:
        for index, icon in enumerate(_ICONS):
            self._list.item(index).setIcon(self._look.icon(icon))

    def _lay_out(self) -> None:
        upright = frame("line")
        upright.setFixedWidth(1)
        upright.setMaximumHeight(16_777_215)
        upright.setMinimumHeight(0)
        pages = QHBoxLayout()
        pages.setSpacing(0)
        pages.addWidget(self._list)
        pages.addWidget(upright)
        pages.addWidget(self._stack, 1)
        close = button(self.tr("Close"), name="closeButton", tip=self.tr("Close (Esc)"))
        close.clicked.connect(self.close)
        bar = frame("bar")
        buttons = QHBoxLayout(bar)
        buttons.setContentsMargins(MARGIN, GRID, MARGIN, GRID)
        buttons.addStretch(1)
        buttons.addWidget(close)
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(0)
        box.addLayout(pages, 1)
        box.addWidget(bar)

    def _turn_to(self, row: int) -> None:
        self._stack.setCurrentIndex(row)
        if self.isVisible():
            self._pages[row].come_up()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        super().showEvent(event)
        if not event.spontaneous():
            self._link.load()
            self._pages[self._list.currentRow()].come_up()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        # Enter ends the typing in a field; it does not close what was typed into.
        if event.key() not in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            super().keyPressEvent(event)
