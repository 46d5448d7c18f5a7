"""The main window's menu of actions that are not in the toolbar."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu, QWidget

from ui.main_window.table.cells import heading
from ui.main_window.table.job_rows import SORTABLE, Column
from ui.main_window.table.job_table import JobTableModel
from ui.style.theme import Appearance
from ui.widgets.boxes import EdgeMenu
from ui.widgets.labels import action


class HelpTopic(Enum):
    """The entries of the help menu."""

    MANUAL = auto()
    ABOUT = auto()


class MoreMenu(EdgeMenu):
    """The "more" menu; its shortcuts work once its actions are added to the window."""

    pane_toggled = Signal(bool)
    sort_wanted = Signal(object)
    """A Column."""
    import_wanted = Signal()
    export_wanted = Signal()
    trash_wanted = Signal()
    help_wanted = Signal(HelpTopic)
    quit_wanted = Signal()

    def __init__(
        self,
        appearance: Appearance,
        model: JobTableModel,
        fill_columns: Callable[[QMenu], None],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("moreMenu")
        self._model = model
        pane = action(appearance, "", self.tr("Show details"), self, name="paneAction", shortcut="F9")
        pane.setCheckable(True)
        pane.setChecked(True)
        pane.triggered.connect(self.pane_toggled)
        self.check_pane = pane.setChecked
        trash = action(
            appearance, "trash", self.tr("Trash…"), self, name="trashAction", shortcut="Ctrl+Shift+T"
        )
        trash.triggered.connect(self.trash_wanted)
        take_in = action(
            appearance, "import", self.tr("Import jobs…"), self, name="importAction", shortcut="Ctrl+Shift+O"
        )
        take_in.triggered.connect(self.import_wanted)
        give_out = action(appearance, "export", self.tr("Export jobs…"), self, name="exportAction")
        give_out.triggered.connect(self.export_wanted)
        manual = action(appearance, "help", self.tr("Manual"), self, name="manualAction", shortcut="F1")
        manual.triggered.connect(partial(self.help_wanted.emit, HelpTopic.MANUAL))
        about = action(appearance, "info", self.tr("About Halo"), self, name="aboutAction")
        about.triggered.connect(partial(self.help_wanted.emit, HelpTopic.ABOUT))
        leave = action(appearance, "quit", self.tr("Quit"), self, name="quitAction", shortcut="Ctrl+Q")
        leave.triggered.connect(self.quit_wanted)
        self.addAction(pane)
        self.addMenu(self._sort_menu())
        sections = action(appearance, "group", self.tr("Group sections"), self, name="sectionsAction")
        sections.setCheckable(True)
        sections.triggered.connect(model.set_sections)
        self.aboutToShow.connect(lambda: sections.setChecked(model.has_sections))
        self.addAction(sections)
        columns = self.addMenu(self.tr("Columns"))
        columns.aboutToShow.connect(partial(fill_columns, columns))
        self.addSeparator()
        self.addAction(take_in)
        self.addAction(give_out)
        self.addAction(trash)
        self.addMenu(self._help_menu(manual, about))
        self.addSeparator()
        self.addAction(leave)
        self.with_keys = (pane, take_in, trash, manual, leave)

    def _help_menu(self, *actions: QAction) -> QMenu:
        menu = QMenu(self.tr("Help"), self)
        menu.setObjectName("helpMenu")
        menu.addActions(actions)
        return menu

    def _sort_menu(self) -> QMenu:
        menu = QMenu(self.tr("Sort by"), self)
        menu.setObjectName("sortMenu")
        choices = QActionGroup(menu)
        made: dict[Column, QAction] = {}
        for column in SORTABLE:
            choice = QAction(heading(column), menu)
            choice.setObjectName(f"sort-{column.name.lower()}")
            choice.setCheckable(True)
            choice.triggered.connect(partial(self.sort_wanted.emit, column))
            choices.addAction(choice)
            menu.addAction(choice)
            made[column] = choice
        menu.aboutToShow.connect(lambda: made[self._model.order[0]].setChecked(True))
        return menu
