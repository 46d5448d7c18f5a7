"""One quiet time in the list of them."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout

from halo_scheduler.model.quiet_times import QuietTime
from ui.forms.quiet_times import called, holds_words, quiet_line
from ui.style.theme import GRID, HALF, MARGIN, Look, Tone, small_font, strong_font
from ui.widgets.labels import icon_button
from ui.widgets.wrapped_text import WrappedText

from .entry_row import EntryRow


class QuietTimeRow(EntryRow):
    """Shows a quiet time, whether it holds now, and what can be done with it."""

    edit_wanted = Signal(object)
    """The QuietTime."""
    remove_wanted = Signal(object)
    """The QuietTime."""

    def __init__(self, time: QuietTime, look: Look) -> None:
        super().__init__(time)
        self.setObjectName("quietTimeRow")
        self._time = time
        self._name = WrappedText(look, name="quietName", font=strong_font(self.font()), most_lines=1)
        self._name.set_text(called(time))
        small = small_font(self.font())
        self._line = WrappedText(look, name="quietLine", font=small, tone=Tone.MUTED, most_lines=1)
        self._line.set_text(quiet_line(time))
        self._holds = WrappedText(look, name="quietHolds", font=small, tone=Tone.WARN, most_lines=1)
        self._holds.setVisible(False)
        self._edit = icon_button(
            look, "edit", self.tr("Change {name}…").format(name=called(time)), name="editQuietButton"
        )
        self._remove = icon_button(
            look, "delete", self.tr("Remove {name}").format(name=called(time)), name="removeQuietButton"
        )
        self._edit.clicked.connect(lambda: self.edit_wanted.emit(time))
        self._remove.clicked.connect(lambda: self.remove_wanted.emit(time))
        self._lay_out()

    @property
    def time(self) -> QuietTime:
        return self._time

    def show_now(self, now_ms: int) -> None:
        """Say whether it holds now."""
        self._holds.set_text(holds_words(self._time, now_ms))

    def _lay_out(self) -> None:
        words = QVBoxLayout()
        words.setSpacing(HALF)
        for part in (self._name, self._line, self._holds):
            words.addWidget(part)
        box = QHBoxLayout(self)
        box.setContentsMargins(MARGIN, GRID + HALF, GRID, GRID + HALF)
        box.setSpacing(HALF)
        box.addLayout(words, 1)
        box.addSpacing(GRID)
        for control in (self._edit, self._remove):
            box.addWidget(control, 0, Qt.AlignmentFlag.AlignVCenter)
