"""The settings dialog: a list of pages; changes apply at once."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent, QShowEvent
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
from ui.backend.backend import Backend
from ui.style.theme import GRID, MARGIN, ROW, Appearance, icon_size, scaled
from ui.style.wording import plain_tooltip
from ui.widgets.labels import button, frame

from .agents import AgentsPage
from .assistants import AssistantsPage
from .backups import BackupsPage
from .basic_pages import ConcurrencyPage, GeneralPage, NotificationsPage
from .chat import ChatPage
from .history import HistoryPage
from .page import Page, SettingsLink
from .quiet_times import QuietTimesPage
from .secrets import SecretsPage
from .webhooks import WebhooksPage

_LIST_WIDTH = 184
_ICONS_WIDTH = 48
_SIZE = QSize(776, 544)
_LEAST = QSize(480, 380)
# Space for a title bar and a panel.
_FRAME = QSize(16, 80)
_QUIET_TIMES, _AGENTS, _WEBHOOKS, _CHAT, _BACKUPS, _SECRETS = 3, 4, 6, 7, 9, 10
_BY_TAB = Qt.FocusPolicy.TabFocus


class SettingsDialog(QDialog):
    """Shows and changes the settings; there is no Apply button."""

    restore_requested = Signal(object)
    """The Path of a backup to restore; the user has confirmed it."""

    def __init__(
        self, backend: Backend, appearance: Appearance, autostart: Autostart, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._link = SettingsLink(backend, self)
        # Pages are created when first shown.
        self._makers: tuple[tuple[str, str, Callable[[], Page]], ...] = (
            ("settings", self.tr("General"), lambda: GeneralPage(self._link, appearance, autostart)),
            ("bell", self.tr("Notifications"), lambda: NotificationsPage(self._link)),
            ("run", self.tr("Concurrency"), lambda: ConcurrencyPage(self._link, appearance)),
            ("quiet", self.tr("Quiet hours"), lambda: QuietTimesPage(self._link, appearance)),
            ("terminal", self.tr("Agents"), lambda: AgentsPage(self._link, appearance)),
            ("assistant", self.tr("Assistants"), lambda: AssistantsPage(self._link, appearance)),
            ("globe", self.tr("Webhooks"), lambda: WebhooksPage(self._link, appearance)),
            ("chat", self.tr("Chat"), lambda: ChatPage(self._link, appearance)),
            ("history", self.tr("History"), lambda: HistoryPage(self._link)),
            ("backup", self.tr("Backups"), self._make_backups),
            ("key", self.tr("Secrets"), lambda: SecretsPage(self._link, appearance)),
        )
        self._pages: dict[int, Page] = {}
        self.setObjectName("settingsDialog")
        self.setWindowTitle(self.tr("Settings"))
        self.setMinimumSize(_LEAST)
        wanted = QSize(scaled(_SIZE.width()), scaled(_SIZE.height()))
        self.resize(wanted.boundedTo(self.screen().availableSize() - _FRAME))
        self._list = self._make_list()
        self._stack = QStackedWidget()
        self._close = button(self.tr("Close"), name="closeButton", tip=self.tr("Close (Esc)"))
        self._lay_out()
        self._list.currentRowChanged.connect(self._turn_to)
        appearance.changed.connect(self._draw_icons)
        self._list.setCurrentRow(0)

    def show_quiet_times(self) -> None:
        """Show the quiet hours page."""
        self._list.setCurrentRow(_QUIET_TIMES)

    def show_agents(self) -> None:
        """Show the agents page."""
        self._list.setCurrentRow(_AGENTS)

    def show_webhooks(self) -> None:
        """Show the webhooks page."""
        self._list.setCurrentRow(_WEBHOOKS)

    def show_chat(self) -> None:
        """Show the chat page."""
        self._list.setCurrentRow(_CHAT)

    def show_backups(self) -> None:
        """Show the backups page."""
        self._list.setCurrentRow(_BACKUPS)

    def show_secrets(self) -> None:
        """Show the secrets page."""
        self._list.setCurrentRow(_SECRETS)

    def show_restore_busy(self) -> None:
        """Show that a backup is being restored."""
        self._backups().show_busy()

    def show_restore_error(self, text: str) -> None:
        """Show why restoring a backup failed."""
        self._backups().show_error(text)

    def _page(self, row: int) -> Page:
        """Return a page, created on first use."""
        if row not in self._pages:
            _icon, _title, make = self._makers[row]
            page = self._pages[row] = make()
            self._stack.addWidget(page)
            # Close comes after the page in Tab order, though the page is created later.
            controls = [one for one in page.findChildren(QWidget) if one.focusPolicy() & _BY_TAB]
            if controls:
                QWidget.setTabOrder(controls[-1], self._close)
        return self._pages[row]

    def _backups(self) -> BackupsPage:
        page = self._page(_BACKUPS)
        if not isinstance(page, BackupsPage):
            raise TypeError(f"{page} is not the backups page")
        return page

    def _make_backups(self) -> BackupsPage:
        made = BackupsPage(self._link, self._appearance)
        made.restore_requested.connect(self.restore_requested)
        return made

    def _make_list(self) -> QListWidget:
        made = QListWidget()
        made.setObjectName("settingsPages")
        made.setAccessibleName(self.tr("Settings pages"))
        made.setFrameShape(QFrame.Shape.NoFrame)
        made.setIconSize(QSize(icon_size(), icon_size()))
        made.setUniformItemSizes(True)
        made.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        for _icon, title, _make in self._makers:
            item = QListWidgetItem(title)
            item.setData(Qt.ItemDataRole.AccessibleTextRole, title)
            item.setToolTip(plain_tooltip(title))
            item.setSizeHint(QSize(0, ROW))
            made.addItem(item)
        self._list = made
        self._draw_icons()
        return made

    def _draw_icons(self) -> None:
        for index, (icon, _title, _make) in enumerate(self._makers):
            self._list.item(index).setIcon(self._appearance.icon(icon))

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
        self._close.clicked.connect(self.close)
        bar = frame("bar")
        buttons = QHBoxLayout(bar)
        buttons.setContentsMargins(MARGIN, GRID, MARGIN, GRID)
        buttons.addStretch(1)
        buttons.addWidget(self._close)
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(0)
        box.addLayout(pages, 1)
        box.addWidget(bar)

    def _turn_to(self, row: int) -> None:
        page = self._page(row)
        self._stack.setCurrentWidget(page)
        if self.isVisible():
            page.refresh()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        # In a narrow dialog the list shows icons only, which leaves the room to the page.
        is_narrow = self.width() < _SIZE.width() - _LIST_WIDTH + scaled(_LIST_WIDTH)
        self._list.setFixedWidth(_ICONS_WIDTH if is_narrow else scaled(_LIST_WIDTH))
        for row, (_icon, title, _make) in enumerate(self._makers):
            self._list.item(row).setText("" if is_narrow else title)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        super().showEvent(event)
        if not event.spontaneous():
            self._link.load()
            self._page(self._list.currentRow()).refresh()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        # Enter finishes editing a field; it must not close the dialog.
        if event.key() not in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            super().keyPressEvent(event)
