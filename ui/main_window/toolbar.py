"""The toolbar above the job table: new job, search, filters, and buttons for the other windows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QAction, QActionGroup, QKeySequence, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QMenu, QPushButton, QWidget

from ui.main_window.table.job_rows import SORTABLE, Column, JobFilter, StatusChoice
from ui.main_window.table.job_table import JobTableModel
from ui.style.theme import GRID, MARGIN, Appearance, Tone
from ui.style.wording import one_line, plain_tooltip
from ui.widgets.labels import action, button, icon_button, set_words, tint, with_shortcut

_LONGEST_GROUP = 24
# After the jobs are loaded and the window is idle.
_CLEAR_BUTTON_MS = 500


class MoreMenu(QMenu):
    """The "more" menu; its shortcuts work once its actions are added to the window."""

    pane_toggled = Signal(bool)
    sort_wanted = Signal(object)
    """A Column."""
    trash_wanted = Signal()
    about_wanted = Signal()
    quit_wanted = Signal()

    def __init__(self, appearance: Appearance, model: JobTableModel, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("moreMenu")
        self._model = model
        pane = action(appearance, "", self.tr("Show details"), self, name="paneAction", shortcut="F9")
        pane.setCheckable(True)
        pane.setChecked(True)
        pane.toggled.connect(self.pane_toggled)
        trash = action(
            appearance, "trash", self.tr("Trash…"), self, name="trashAction", shortcut="Ctrl+Shift+T"
        )
        trash.triggered.connect(self.trash_wanted)
        about = action(appearance, "info", self.tr("About Halo"), self, name="aboutAction", shortcut="F1")
        about.triggered.connect(self.about_wanted)
        leave = action(appearance, "quit", self.tr("Quit"), self, name="quitAction", shortcut="Ctrl+Q")
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


def menu_text(text: str, longest: int = 60) -> str:
    """Return a text for a menu, with "&" escaped."""
    return one_line(text, longest).replace("&", "&&")


class JobToolbar(QWidget):
    """Emits search and filter changes; knows no jobs."""

    filter_changed = Signal(object)
    """A JobFilter."""
    left = Signal()
    """The user wants to move from the search field to the jobs found."""
    new_wanted = Signal()
    history_wanted = Signal()
    settings_wanted = Signal()
    limit_wanted = Signal(str)
    """The group whose limit is to be changed."""

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("jobToolbar")
        self._appearance = appearance
        self._filter = JobFilter()
        self._is_searchable = False
        self._groups: tuple[str, ...] = ()
        self._limits: Mapping[str, int] = {}
        row = QHBoxLayout(self)
        row.setContentsMargins(MARGIN, GRID + 4, MARGIN, GRID + 4)
        row.setSpacing(GRID)
        self.new_button = button(self.tr("New job"), name="newJobButton", kind="primary", shortcut="Ctrl+N")
        tint(self.new_button, appearance, "add", Tone.ON_ACCENT)
        self.new_button.clicked.connect(self.new_wanted)
        row.addWidget(self.new_button)
        row.addSpacing(GRID)
        row.addWidget(self._make_search(), 1)
        self._status_button = self._choice("statusFilter", self.tr("Filter by status"), "Alt+S")
        row.addWidget(self._status_button)
        self._group_button = self._choice("groupFilter", self.tr("Filter by group"), "Alt+G")
        row.addWidget(self._group_button)
        row.addStretch(1)
        self._history = icon_button(
            appearance, "history", self.tr("Run history"), name="historyButton", shortcut="Ctrl+H"
        )
        self._history.clicked.connect(self.history_wanted)
        row.addWidget(self._history)
        self._settings = icon_button(
            appearance, "settings", self.tr("Settings"), name="settingsButton", shortcut="Ctrl+,"
        )
        self._settings.clicked.connect(self.settings_wanted)
        row.addWidget(self._settings)
        self.more_button = icon_button(appearance, "more", self.tr("More"), name="moreButton", shortcut="F10")
        self.more_button.setPopupMode(self.more_button.ToolButtonPopupMode.InstantPopup)
        row.addWidget(self.more_button)
        self._fill_status()
        self._fill_groups()

    def _make_search(self) -> QLineEdit:
        self._search = QLineEdit()
        self._search.setObjectName("searchField")
        self._search.setAccessibleName(self.tr("Search jobs"))
        self._search.setPlaceholderText(self.tr("Search"))
        self._search.setToolTip(with_shortcut(self.tr("Search names, groups and descriptions"), "Ctrl+F"))
        self._search.setMinimumWidth(120)
        self._search.setMaximumWidth(320)
        find = QAction(self.tr("Search"), self._search)
        tint(find, self._appearance, "search", Tone.MUTED)
        self._search.addAction(find, QLineEdit.ActionPosition.LeadingPosition)
        self._search.textChanged.connect(self._change)
        for key, act in (("Esc", self._leave_search), ("Down", self.left.emit), ("Return", self.left.emit)):
            shortcut = QShortcut(QKeySequence(key), self._search)
            shortcut.setContext(Qt.ShortcutContext.WidgetShortcut)
            shortcut.activated.connect(act)
        return self._search

    def _leave_search(self) -> None:
        self._search.clear()
        self.left.emit()

    def _choice(self, name: str, accessible: str, shortcut: str) -> QPushButton:
        made = button("", name=name, accessible=accessible, tip=accessible, shortcut=shortcut)
        # With this layout the arrow is behind the text, where Qt puts no icon otherwise.
        made.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
        tint(made, self._appearance, "chevron-down", Tone.MUTED)
        menu = QMenu(made)
        menu.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        menu.setObjectName(f"{name}Menu")
        made.setMenu(menu)
        return made

    # --- What the window does -----------------------------------------------------------------------

    @property
    def search_field(self) -> QLineEdit:
        return self._search

    def focus_search(self) -> None:
        self._search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._search.selectAll()

    def set_searchable(self, searchable: bool) -> None:  # noqa: FBT001 - it is what the name says
        """Show the search field and the filters, unless there are no jobs."""
        if searchable and not self._is_searchable:
            # Its icon takes a while to load, so not at start or at the first letter.
            QTimer.singleShot(_CLEAR_BUTTON_MS, self, self._offer_to_clear)
        self._is_searchable = searchable
        self._search.setVisible(searchable)
        self._status_button.setVisible(searchable)

    def clear(self) -> None:
        """Clear the search and the filters."""
        self.set_filter(JobFilter())

    def set_filter(self, chosen: JobFilter) -> None:
        """Set the search and the filters and emit the change once."""
        if chosen == self._filter:
            return
        self._filter = chosen
        self._search.blockSignals(True)
        self._search.setText(chosen.text)
        self._search.blockSignals(False)
        self._fill_status()
        self._fill_groups()
        self.filter_changed.emit(chosen)

    def set_groups(self, groups: Iterable[str], limits: Mapping[str, int]) -> None:
        """Offer these groups as filters."""
        groups = tuple(sorted(groups, key=str.casefold))
        if (groups, limits) != (self._groups, self._limits):
            self._groups, self._limits = groups, limits
            self._fill_groups()

    def offer_groups(self, groups: Iterable[str]) -> None:
        """Offer these groups as filters, with their limits."""
        self.set_groups(groups, self._limits)

    def _offer_to_clear(self) -> None:
        self._search.setClearButtonEnabled(True)

    def _change(self, text: str) -> None:
        self._offer_to_clear()
        self._filter = JobFilter(text, self._filter.status, self._filter.group)
        self.filter_changed.emit(self._filter)

    # --- Menus --------------------------------------------------------------------------------------

    def _fill_status(self) -> None:
        words = {
            StatusChoice.ALL: self.tr("All jobs"),
            StatusChoice.RUNNING: self.tr("Running"),
            StatusChoice.ASKING: self.tr("Needs you"),
            StatusChoice.WAITING: self.tr("Waiting"),
            StatusChoice.FAILING: self.tr("Failing"),
            StatusChoice.PAUSED: self.tr("Paused"),
            StatusChoice.OFF: self.tr("Disabled or finished"),
        }
        menu = self._status_button.menu()
        menu.clear()
        choices = QActionGroup(menu)
        for status, text in words.items():
            self._add_choice(
                menu, choices, f"status-{status}", text, self._status_chooser(status)
            ).setChecked(status is self._filter.status)
        set_words(self._status_button, words[self._filter.status])

    def _status_chooser(self, status: StatusChoice) -> Callable[[], None]:
        return lambda: self.set_filter(JobFilter(self._filter.text, status, self._filter.group))

    def _fill_groups(self) -> None:
        chosen = self._filter.group
        menu = self._group_button.menu()
        menu.clear()
        choices = QActionGroup(menu)
        every = self.tr("All groups")
        self._add_choice(menu, choices, "group-all", every, self._group_chooser(None)).setChecked(
            chosen is None
        )
        if self._groups:
            menu.addSeparator()
        for group in self._groups:
            text = menu_text(group)
            if group in self._limits:
                text = self.tr("{group}  (limit {count})").format(group=text, count=self._limits[group])
            action = self._add_choice(menu, choices, "group", text, self._group_chooser(group))
            action.setChecked(group == chosen)
        if chosen is not None:
            menu.addSeparator()
            limit = menu.addAction(self.tr("Group limit…"))
            limit.setObjectName("groupLimitAction")
            limit.triggered.connect(lambda: self.limit_wanted.emit(chosen))
        shown = every if chosen is None else menu_text(chosen, _LONGEST_GROUP)
        set_words(self._group_button, shown)
        self._group_button.setVisible(bool(self._groups) or chosen is not None)

    def _group_chooser(self, group: str | None) -> Callable[[], None]:
        return lambda: self.set_filter(JobFilter(self._filter.text, self._filter.status, group))

    def _add_choice(
        self, menu: QMenu, choices: QActionGroup, name: str, text: str, chosen: Callable[[], None]
    ) -> QAction:
        made = menu.addAction(text)
        made.setObjectName(name)
        made.setCheckable(True)
        made.setToolTip(plain_tooltip(text))
        made.triggered.connect(chosen)
        choices.addAction(made)
        return made
