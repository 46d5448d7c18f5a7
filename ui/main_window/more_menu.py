"""The job window's menu of what is not wanted every day."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu, QWidget

from ui.main_window.table.job_rows import SORTABLE, Column
from ui.main_window.table.job_table import JobTableModel
from ui.style.theme import Look
from ui.widgets.labels import action


class MoreMenu(QMenu):
    """Says what is wanted; its keys work once its actions are the window's too."""

    pane_toggled = Signal(bool)
    sort_wanted = Signal(object)
    """A Column."""
    trash_wanted = Signal()
    about_wanted = Signal()
    quit_wanted = Signal()

    def __init__(self, look: Look, model: JobTableModel, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("moreMenu")
        self._model = model
        pane = action(look, "", self.tr("Show details"), self, name="paneAction", shortcut="F9")
        pane.setCheckable(True)
        pane.setChecked(True)
        pane.toggled.connect(self.pane_toggled)
        trash = action(look, "trash", self.tr("Trash…"), self, name="trashAction", shortcut="Ctrl+Shift+T")
        trash.triggered.connect(self.trash_wanted)
        about = action(look, "info", self.tr("About Halo"), self, name="aboutAction", shortcut="F1")
        about.triggered.connect(self.about_wanted)
        leave = action(look, "quit", self.tr("Quit"), self, name="quitAction", shortcut="Ctrl+Q")
        leave.triggered.connect(self.quit_wanted)
        self.addAction(pane)
        self.addMenu(self._sort_menu())
        self.addSeparator()
        self.addActions([trash, about])
        self.addSeparator()
        self.addAction(leave)
        self.with_keys = (pane, trash, about, leave)

    def _sort_menu(self) -> QMenu:
        menu = QMenu(self.tr("Sort by"), self)
        menu.setObjectName("sortMenu")
        choices = QActionGroup(menu)
        made: dict[Column, QAction] = {}
        for column in SORTABLE:
            choice = QAction(str(self._model.headerData(column, Qt.Orientation.Horizontal)), menu)
            choice.setObjectName(f"sort-{column.name.lower()}")
            choice.setCheckable(True)
            choice.triggered.connect(partial(self.sort_wanted.emit, column))
            choices.addAction(choice)
            menu.addAction(choice)
            made[column] = choice
        menu.aboutToShow.connect(lambda: made[self._model.order[0]].setChecked(True))
        return menu
