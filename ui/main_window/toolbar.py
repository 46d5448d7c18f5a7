"""The toolbar above the job table: new job, search, filters, and buttons for the other windows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QCoreApplication, QEvent, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QActionGroup, QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QMenu, QPushButton, QSizePolicy, QWidget

from ui.main_window.table.job_rows import (
    RARE_KINDS,
    JobFilter,
    JobRow,
    KindChoice,
    StatusChoice,
    count_choices,
    kind_words,
)
from ui.style.theme import GRID, MARGIN, Appearance, Tone
from ui.style.wording import natural_key, one_line, plain_tooltip
from ui.widgets.boxes import StayingMenu
from ui.widgets.labels import SearchField, action, button, icon_button, set_words, tint, with_shortcut

_LONGEST_GROUP = 24
_MOST_NAMED = 2
_NARROW = 36
# The search takes all room up to its greatest width, the gap after the filters only the rest.
_MOST = 1_000
# For less and less room: whether windows, "New job" and filters have words, and the width of the search.
_LESS = ((1, 1, 1, 120), (0, 1, 1, 120), (0, 0, 1, 120), (0, 0, 0, 120), (0, 0, 0, 72))
# After the jobs are loaded and the window is idle.
_CLEAR_BUTTON_MS = 500


def menu_text(text: str, longest: int = 60) -> str:
    """Return a text for a menu, with "&" escaped."""
    return one_line(text, longest).replace("&", "&&")


class JobToolbar(QWidget):
    """Emits search and filter changes; reads the jobs only to count them for a menu."""

    filter_changed = Signal(object)
    """A JobFilter."""
    left = Signal()
    """The user wants to move from the search field to the jobs found."""
    new_wanted = Signal()
    template_wanted = Signal(object)
    """The key of the template that a new job starts from."""
    history_wanted = Signal()
    settings_wanted = Signal()
    limit_wanted = Signal(str)
    """The group whose limit is to be changed."""

    def __init__(
        self,
        appearance: Appearance,
        parent: QWidget | None = None,
        rows: Callable[[], Iterable[JobRow]] = tuple,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("jobToolbar")
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._rows = rows
        self._appearance = appearance
        self._filter = JobFilter()
        self._is_searchable = False
        self._groups: tuple[str, ...] = ()
        self._limits: Mapping[str, int] = {}
        self._fitted_width = 0
        self._windows: list[QPushButton] = []
        self._chosen_words: dict[QPushButton, str] = {}
        self._icons: dict[QPushButton, str] = {}
        row = QHBoxLayout(self)
        row.setContentsMargins(MARGIN, GRID + 4, MARGIN, GRID + 4)
        row.setSpacing(GRID)
        self.new_button = button(self.tr("New job"), name="newJobButton", kind="primary", shortcut="Ctrl+N")
        tint(self.new_button, appearance, "add", Tone.ON_ACCENT)
        self.new_button.setSizePolicy(QSizePolicy.Policy.Minimum, QSizePolicy.Policy.Preferred)
        self.new_button.clicked.connect(self.new_wanted)
        self._templates = self._template_button(appearance)
        row.addWidget(self.new_button)
        row.addWidget(self._templates)
        row.addSpacing(GRID)
        row.addWidget(self._make_search(), _MOST)
        self._status_button = self._choice(
            "statusFilter", "filter", self.tr("Filter by status and kind"), "Alt+S"
        )
        row.addWidget(self._status_button)
        self._group_button = self._choice("groupFilter", "group", self.tr("Filter by group"), "Alt+G")
        row.addWidget(self._group_button)
        row.addStretch(1)
        centred = Qt.AlignmentFlag.AlignVCenter  # else their height would limit that of the others
        for icon, words, keys, wanted in (
            ("history", self.tr("Run history"), "Ctrl+H", self.history_wanted),
            ("settings", self.tr("Settings"), "Ctrl+,", self.settings_wanted),
        ):
            made = button("", name=f"{icon}Button", kind="quiet", accessible=words, tip=words, shortcut=keys)
            tint(made, appearance, icon)
            made.clicked.connect(wanted)
            row.addWidget(made, 0, centred)
            self._windows.append(made)
        self.more_button = icon_button(appearance, "more", self.tr("More"), name="moreButton", shortcut="F10")
        self.more_button.setPopupMode(self.more_button.ToolButtonPopupMode.InstantPopup)
        row.addWidget(self.more_button, 0, centred)
        self._choices = self._make_choices()
        self._show_choices()
        self._fill_groups()

    def _template_button(self, appearance: Appearance) -> QPushButton:
        """Return the button for a new job that starts from a template; its menu is filled when it opens."""
        made = button(
            "",
            name="templatesButton",
            kind="primary",
            accessible=self.tr("New job from a template"),
            tip=self.tr("New job from a template"),
            shortcut="Ctrl+Shift+N",
        )
        tint(made, appearance, "chevron-down", Tone.ON_ACCENT)
        menu = QMenu(made)
        menu.setObjectName("templatesMenu")
        menu.aboutToShow.connect(partial(self._fill_templates, menu))
        made.setMenu(menu)
        made.setFixedWidth(_NARROW)
        made.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        return made

    def _fill_templates(self, menu: QMenu) -> None:
        from ui.forms.templates import TEMPLATES  # noqa: PLC0415 - once one is wanted

        menu.clear()
        for key, template in TEMPLATES.items():
            title = QCoreApplication.translate("Templates", template.title)
            choice = action(self._appearance, template.icon, title, menu, name=f"new-{key}")
            choice.setToolTip(QCoreApplication.translate("Templates", template.sentence))
            choice.triggered.connect(partial(self.template_wanted.emit, key))
            menu.addAction(choice)

    def _make_search(self) -> QLineEdit:
        self._search = SearchField(self.tr("Search"), self.tr("Search names, commands, schedules"))
        self._search.setObjectName("searchField")
        self._search.setAccessibleName(self.tr("Search jobs"))
        self._search.setToolTip(
            with_shortcut(
                self.tr("Search names, groups, descriptions, commands, URLs and schedules"), "Ctrl+F"
            )
        )
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

    def _choice(self, name: str, icon: str, accessible: str, shortcut: str) -> QPushButton:
        """Return a filter; its icon replaces its text if space is short."""
        made = button("", name=name, accessible=accessible, tip=accessible, shortcut=shortcut)
        self._icons[made] = icon
        self._appearance.changed.connect(lambda: self._show_choice(made, made.text()))
        # In a right-to-left layout Qt puts the icon, here an arrow, at the right of the text.
        made.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
        menu = StayingMenu(made)
        menu.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        menu.setObjectName(f"{name}Menu")
        made.setMenu(menu)
        return made

    # --- Called by the window -----------------------------------------------------------------------

    @property
    def search_field(self) -> QLineEdit:
        return self._search

    def search_action(self) -> QAction:
        """Return the action that focuses the search field."""
        made = action(
            self._appearance, "search", self.tr("Search"), self, name="searchAction", shortcut="Ctrl+F"
        )
        made.triggered.connect(self.focus_search)
        return made

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
        self._fit()

    def clear(self) -> None:
        """Clear the search and the filters."""
        self.set_filter(JobFilter())

    def show_only(self, status: StatusChoice) -> None:
        """Show the jobs with a status, and no others."""
        self.set_filter(JobFilter(statuses=frozenset({status})))

    def set_filter(self, chosen: JobFilter) -> None:
        """Set the search and the filters and emit the change once."""
        if chosen == self._filter:
            return
        self._filter = chosen
        self._search.blockSignals(True)
        self._search.setText(chosen.text)
        self._search.blockSignals(False)
        self._show_choices()
        self._fill_groups()
        self.filter_changed.emit(chosen)

    def set_groups(self, groups: Iterable[str], limits: Mapping[str, int]) -> None:
        """Offer these groups as filters."""
        groups = tuple(sorted(groups, key=natural_key))
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
        self._filter = replace(self._filter, text=text)
        self.filter_changed.emit(self._filter)

    # --- Menus --------------------------------------------------------------------------------------

    def _make_choices(self) -> dict[StatusChoice | KindChoice | None, QAction]:
        """Offer statuses and kinds, several at a time; None stands for all jobs."""
        menu = self._status_button.menu()
        made: dict[StatusChoice | KindChoice | None, QAction] = {}
        made[None] = self._add_choice(menu, None, "status-all", self.tr("All jobs"), self._clear_choices)
        menu.addSeparator()
        for status, text in self._status_words().items():
            made[status] = self._add_choice(menu, None, f"status-{status}", text, partial(self._turn, status))
        menu.addSeparator()
        for kind, text in kind_words().items():
            made[kind] = self._add_choice(menu, None, f"kind-{kind}", text, partial(self._turn, kind))
        menu.aboutToShow.connect(self._count_choices)
        return made

    def _count_choices(self) -> None:
        """Show how many jobs match each choice."""
        rows = list(self._rows())
        counts = count_choices(rows)
        for choice, made in self._choices.items():
            count = len(rows) if choice is None else counts[choice]
            # The number is shown in the shortcut column of the menu.
            made.setText("\t".join((made.text().partition("\t")[0], f"{count:,}")))
        for rare in RARE_KINDS:
            self._choices[rare].setVisible(counts[rare] > 0)

    def _status_words(self) -> dict[StatusChoice | KindChoice, str]:
        return {
            StatusChoice.RUNNING: self.tr("Running"),
            StatusChoice.ASKING: self.tr("Needs you"),
            StatusChoice.WAITING: self.tr("Waiting"),
            StatusChoice.FAILING: self.tr("Failing"),
            StatusChoice.PAUSED: self.tr("Paused"),
            StatusChoice.OFF: self.tr("Disabled or finished"),
        }

    def _show_choices(self) -> None:
        """Show the chosen filters in the menu and on the button."""
        chosen = {*self._filter.statuses, *self._filter.kinds}
        for choice, made in self._choices.items():
            made.setChecked(choice in chosen if chosen else choice is None)
        words = self._status_words() | kind_words()
        named = [text for choice, text in words.items() if choice in chosen]
        if len(named) > _MOST_NAMED:
            shown = self.tr("{count} filters").format(count=len(named))
        else:
            shown = ", ".join(named) or self.tr("All jobs")
        self._show_words(self._status_button, shown)

    def _clear_choices(self) -> None:
        self.set_filter(replace(self._filter, statuses=frozenset(), kinds=frozenset()))

    def _turn(self, choice: StatusChoice | KindChoice) -> None:
        """Add a choice or remove it."""
        if isinstance(choice, StatusChoice):
            self.set_filter(replace(self._filter, statuses=self._filter.statuses ^ {choice}))
        else:
            self.set_filter(replace(self._filter, kinds=self._filter.kinds ^ {choice}))

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
        self._group_button.setVisible(bool(self._groups) or chosen is not None)
        shown = every if chosen is None else menu_text(chosen, _LONGEST_GROUP)
        self._show_words(self._group_button, shown)

    def _show_words(self, choice: QPushButton, words: str) -> None:
        self._chosen_words[choice] = words
        self._fit()

    def _fit(self) -> None:
        """Show all words, or with little room for large letters fewer: nothing is cut or covered."""
        self._fit_words()
        self._fitted_width = self.minimumSizeHint().width()

    def _fit_words(self) -> None:
        for are_named, is_worded, with_words, search in _LESS:
            for one in self._windows:
                set_words(one, one.accessibleName() if are_named else "")
            set_words(self.new_button, self.tr("New job") if is_worded else "")
            self._search.setMinimumWidth(search)
            for choice, chosen in self._chosen_words.items():
                self._show_choice(choice, chosen if self._is_set(choice) or with_words else "")
            if is_worded:
                # Icons are lower than text; the row keeps its height.
                self._search.setMinimumHeight(self.new_button.sizeHint().height())
            lacking = self.minimumSizeHint().width() - self.width()
            if lacking <= 0:
                return
        shown = [choice for choice in self._chosen_words if not choice.isHidden() and self._is_set(choice)]
        for choice in shown:
            metrics, chosen = choice.fontMetrics(), self._chosen_words[choice]
            room = metrics.horizontalAdvance(chosen) - lacking // len(shown) - 1
            self._show_choice(choice, metrics.elidedText(chosen, Qt.TextElideMode.ElideRight, room))

    def _is_set(self, choice: QPushButton) -> bool:
        """Return whether a filter hides jobs."""
        if choice is self._group_button:
            return self._filter.group is not None
        return bool(self._filter.statuses or self._filter.kinds)

    def _show_choice(self, choice: QPushButton, words: str) -> None:
        set_words(choice, words)
        icon, tone = ("chevron-down", Tone.MUTED) if words else (self._icons[choice], Tone.TEXT)
        choice.setIcon(self._appearance.icon(icon, tone))

    def _group_chooser(self, group: str | None) -> Callable[[], None]:
        return lambda: self.set_filter(replace(self._filter, group=group))

    def _add_choice(
        self, menu: QMenu, choices: QActionGroup | None, name: str, text: str, chosen: Callable[[], None]
    ) -> QAction:
        made = menu.addAction(text)
        made.setObjectName(name)
        made.setCheckable(True)
        made.setToolTip(plain_tooltip(text.partition("\t")[0]))
        made.triggered.connect(lambda _checked=False: chosen())
        if choices is not None:
            choices.addAction(made)
        return made

    # --- Qt -----------------------------------------------------------------------------------------

    def event(self, event: QEvent) -> bool:
        # Other letters need another width; what the last fit itself asked for is known.
        if event.type() is QEvent.Type.LayoutRequest and self.minimumSizeHint().width() != self._fitted_width:
            self._fit()
        return super().event(event)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        self._fit()
