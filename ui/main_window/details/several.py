"""A selection of several jobs in the pane beside the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from PySide6.QtWidgets import QVBoxLayout, QWidget

from halo_scheduler.model import Situation, SituationKind
from halo_scheduler.wording.status import status_words
from ui.main_window.job_actions import JobActions
from ui.style.theme import GRID, HALF, MARGIN, Appearance, Tone, title_font
from ui.style.wording import sentence_case
from ui.widgets.wrapped_text import WrappedText

from .actions import ActionButtons


class SeveralJobs(QWidget):
    """A selection of several jobs: how many, what they do, what can be done with all of them."""

    def __init__(self, appearance: Appearance, actions: JobActions) -> None:
        super().__init__()
        self._title = WrappedText(appearance, name="severalTitle", font=title_font(self.font()))
        self._counts = WrappedText(appearance, name="severalCounts", tone=Tone.MUTED)
        self._buttons = ActionButtons(appearance, actions, "several")
        column = QVBoxLayout(self)
        column.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
        column.setSpacing(GRID)
        column.addWidget(self._title)
        column.addWidget(self._counts)
        column.addSpacing(HALF)
        column.addWidget(self._buttons)
        column.addStretch(1)

    def show_situations(self, situations: Sequence[Situation], now_ms: int) -> None:
        """Show how many of some jobs do what."""
        self._title.set_text(self.tr("{count} jobs selected").format(count=len(situations)))
        reasons = {
            (one.waiting.kind, one.waiting.details)
            for one in situations
            if one.kind is SituationKind.WAITING and one.waiting is not None
        }
        # What each of them waits for would be a long list.
        waiting = self.tr("Waiting") if len(reasons) > 1 else ""
        counts = Counter(
            (waiting if one.kind is SituationKind.WAITING else "") or sentence_case(status_words(one, now_ms))
            for one in situations
        )
        self._counts.set_text("\n".join(f"{count} × {words}" for words, count in counts.most_common()))
        self._buttons.fit()
