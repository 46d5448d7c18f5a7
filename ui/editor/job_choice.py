"""The choice of another job: type a part of its name."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFocusEvent
from PySide6.QtWidgets import QComboBox, QCompleter

from ui.style.theme import MARGIN
from ui.style.wording import one_line, plain_tooltip
from ui.widgets.popup_rows import give_room

from .job_catalogue import JobCatalogue, circle_sentence

_LONGEST_NAME = 200
_LONGEST_TOLD = 60
_SHOWN_ROWS = 16
_WIDEST_POPUP = 480


class JobChoice(QComboBox):
    """Holds one job or none; what is typed and is no job's name goes back to what it was."""

    chosen = Signal()
    refused = Signal(str)
    """Why what was typed cannot be chosen."""

    def __init__(self, catalogue: JobCatalogue, *, name: str, title: str, placeholder: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(title)
        self._catalogue = catalogue
        self._job_id = ""
        self._has_help = False
        self._is_popup_wanted = False
        self._typed: str | None = None
        self._is_left = False
        self.setModel(catalogue.offers)
        self.setEditable(True)
        self.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.setMaxVisibleItems(_SHOWN_ROWS)
        self.setMinimumContentsLength(14)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.activated.connect(self._choose_row)
        line = self.lineEdit()
        if line is not None:
            line.setAccessibleName(title)
            line.setPlaceholderText(placeholder)
            line.textEdited.connect(self._take_typed)
            line.editingFinished.connect(self._settle)
        catalogue.changed.connect(self._show_again)
        self._show()

    def _offer_help(self) -> None:
        """Make what few ever need: the lists that pop up."""
        if not self._has_help:
            self._has_help = True
            self.setCompleter(self._make_completer())
            give_room(self.view())

    def _make_completer(self) -> QCompleter:
        made = QCompleter(self._catalogue.offers, self)
        made.setCompletionRole(Qt.ItemDataRole.EditRole)
        made.setFilterMode(Qt.MatchFlag.MatchContains)
        made.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        made.setCompletionMode(QCompleter.CompletionMode.PopupCompletion)
        popup = made.popup()
        if popup is not None:
            give_room(popup)
            popup.setStyleSheet("QListView { border: 1px solid palette(mid); }")
        return made

    @property
    def job_id(self) -> str:
        """The job that is chosen; nothing when there is none."""
        return self._job_id

    @property
    def name(self) -> str:
        """The name of the job that is chosen, as far as it is known."""
        entry = self._catalogue.entry(self._job_id)
        return "" if entry is None else entry.name

    def set_job(self, job_id: str) -> None:
        """Show a job, or none, without telling anyone."""
        self._job_id = job_id
        self._show()

    def _show(self) -> None:
        self._typed = None
        self.setCurrentIndex(self._catalogue.offers.row_of(self._job_id) if self._job_id else -1)
        entry = self._catalogue.entry(self._job_id)
        text = one_line(entry.name, _LONGEST_NAME) if entry is not None else ""
        if entry is not None and not entry.name:
            text = self.tr("a job that is gone")
        self.setEditText(text)
        self.setToolTip(plain_tooltip(text))
        line = self.lineEdit()
        if line is not None:
            line.setCursorPosition(0)

    def _show_again(self) -> None:
        """Show other names; what somebody is typing stays."""
        typed = self._typed
        self._show()
        line = self.lineEdit()
        if typed is not None:
            # Qt empties the field when the list is another one.
            self.setEditText(typed)
            self._typed = typed
            if self._is_left:
                self._settle()
        elif line is not None and line.hasFocus():
            line.selectAll()
        if self._is_popup_wanted and self.hasFocus():
            self.showPopup()

    def _choose(self, job_id: str) -> None:
        if job_id != self._job_id:
            self._job_id = job_id
            self.chosen.emit()

    def _choose_row(self, row: int) -> None:
        entry = self._catalogue.offers.entry(row)
        # Qt takes the first name that differs from the typed one in case only.
        is_typed = (
            self._typed is not None and entry is not None and entry.name.casefold() == self.name.casefold()
        )
        if entry is not None and not entry.circle and not is_typed:
            self._choose(entry.job_id)
        self._show()

    def _take_typed(self, text: str) -> None:
        """Take a whole name as soon as it stands there."""
        # Jobs may have come since it got the keyboard.
        self._catalogue.load()
        self._is_left = False
        self._typed = text
        entry = self._catalogue.offers.with_name(text)
        if entry is not None and entry.name == text.strip() and not entry.circle:
            self._choose(entry.job_id)

    def _settle(self) -> None:
        """Take what was typed if it is a job's name, or nothing; else go back to what was chosen."""
        if self._typed is None:
            return
        # Whoever types faster than the jobs are read is told after that.
        self._is_left = self._catalogue.is_loading
        if self._is_left:
            return
        text = self.currentText().strip()
        entry = self._catalogue.offers.with_name(text)
        if entry is not None and entry.circle:
            self.refused.emit(circle_sentence(entry))
        elif entry is not None or not text:
            self._choose("" if entry is None else entry.job_id)
        elif self._catalogue.is_empty:
            self.refused.emit(self._none_sentence())
        elif self.count():
            words = self.tr("There is no other job called “{name}”.")
            self.refused.emit(words.format(name=one_line(text, _LONGEST_TOLD)))
        self._show()

    def _none_sentence(self) -> str:
        return self.tr("There is no other job yet: make the one that is to run first.")

    # --- Qt's own ------------------------------------------------------------------------------------

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        self._catalogue.load()
        self._offer_help()
        super().focusInEvent(event)
        line = self.lineEdit()
        # It also comes back from a list that had popped up, to somebody who types on.
        if line is not None and self._typed is None:
            line.selectAll()

    def showPopup(self) -> None:  # noqa: N802 - Qt's name
        self._catalogue.load()
        self._offer_help()
        # There is nothing to show before the first answer.
        self._is_popup_wanted = self.count() == 0 and not self._catalogue.is_empty
        if self._catalogue.is_empty:
            self.refused.emit(self._none_sentence())
        room = self.view().sizeHintForColumn(0) + MARGIN * 2
        self.view().setMinimumWidth(min(room, _WIDEST_POPUP))
        super().showPopup()
