"""A combo box to choose another job by typing part of its name."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFocusEvent
from PySide6.QtWidgets import QComboBox, QCompleter

from ui.style.theme import MARGIN
from ui.style.wording import one_line, plain_tooltip
from ui.widgets.boxes import dress_suggestions, elide, give_room

from .job_catalogue import JobCatalogue, circle_sentence

_LONGEST_NAME = 200
_LONGEST_TOLD = 60
_SHOWN_ROWS = 16
_WIDEST_POPUP = 480


class JobChoice(QComboBox):
    """Holds one job or none; text that does not name a job is reverted."""

    chosen = Signal()
    refused = Signal(str)
    """Why the typed text cannot be chosen."""

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
        self.setMinimumContentsLength(10)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.activated.connect(self._choose_row)
        line = self.lineEdit()
        if line is not None:
            line.setAccessibleName(title)
            line.setPlaceholderText(placeholder)
            line.textEdited.connect(self._take_typed)
            line.editingFinished.connect(self._settle)
            elide(line)
        catalogue.changed.connect(self._show_again)
        self._show()

    def _offer_help(self) -> None:
        """Create the completer and the popup on first use."""
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
        dress_suggestions(made, self)
        return made

    @property
    def job_id(self) -> str:
        """The id of the chosen job; empty for none."""
        return self._job_id

    @property
    def name(self) -> str:
        """The name of the chosen job, if known."""
        entry = self._catalogue.entry(self._job_id)
        return "" if entry is None else entry.name

    def set_job(self, job_id: str) -> None:
        """Show a job, or none, without emitting `chosen`."""
        self._job_id = job_id
        self._show()

    def _show(self) -> None:
        self._typed = None
        self.setCurrentIndex(self._catalogue.offers.row_of(self._job_id) if self._job_id else -1)
        entry = self._catalogue.entry(self._job_id)
        text = one_line(entry.name, _LONGEST_NAME) if entry is not None else ""
        if entry is not None and not entry.name:
            text = self.tr("deleted job")
        self.setEditText(text)
        self.setToolTip(plain_tooltip(text))
        line = self.lineEdit()
        if line is not None:
            line.setCursorPosition(0)

    def _show_again(self) -> None:
        """Update the shown name; text being typed stays."""
        typed = self._typed
        self._show()
        line = self.lineEdit()
        if typed is not None:
            # Qt clears the field when the model is reset.
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
        # Qt picks the first name that matches ignoring case, which may be the wrong job.
        is_typed = (
            self._typed is not None and entry is not None and entry.name.casefold() == self.name.casefold()
        )
        if entry is not None and not entry.circle and not is_typed:
            self._choose(entry.job_id)
        self._show()

    def _take_typed(self, text: str) -> None:
        """Choose a job as soon as its full name is typed."""
        # Jobs may have been added since it got the focus.
        self._catalogue.load()
        self._is_left = False
        self._typed = text
        entry = self._catalogue.offers.with_name(text)
        if entry is not None and entry.name == text.strip() and not entry.circle:
            self._choose(entry.job_id)

    def _settle(self) -> None:
        """Choose the typed job, or none for an empty text; revert anything else."""
        if self._typed is None:
            return
        # The jobs are still loading: decide when they are there.
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
            words = self.tr("No other job is called “{name}”.")
            self.refused.emit(words.format(name=one_line(text, _LONGEST_TOLD)))
        self._show()

    def _none_sentence(self) -> str:
        return self.tr("There are no other jobs yet. Create the job to run first.")

    # --- Qt -----------------------------------------------------------------------------------------

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        self._catalogue.load()
        self._offer_help()
        super().focusInEvent(event)
        line = self.lineEdit()
        # Focus also returns from the popup while the user is typing.
        if line is not None and self._typed is None:
            line.selectAll()

    def showPopup(self) -> None:  # noqa: N802 - Qt's name
        self._catalogue.load()
        self._offer_help()
        # Show the popup when the jobs are loaded.
        self._is_popup_wanted = self.count() == 0 and not self._catalogue.is_empty
        if self._catalogue.is_empty:
            self.refused.emit(self._none_sentence())
        room = self.view().sizeHintForColumn(0) + MARGIN * 2
        self.view().setMinimumWidth(min(room, _WIDEST_POPUP))
        super().showPopup()
