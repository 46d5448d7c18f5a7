"""The buttons of the details pane, and the summary of several selected jobs above them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from PySide6.QtCore import QSize
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from halo_scheduler.model import Situation, SituationKind
from halo_scheduler.wording.status import status_words
from ui.main_window.job_actions import JobActions, is_resting
from ui.style.theme import GRID, HALF, MARGIN, Appearance, Tone, title_font
from ui.style.wording import sentence_case
from ui.widgets.boxes import EdgeMenu
from ui.widgets.labels import WrappedText, button, icon_button, tint


class ActionButtons(QWidget):
    """The common actions as buttons, the others in a menu; if space is short only the first has a label, or none."""

    def __init__(self, appearance: Appearance, actions: JobActions, prefix: str) -> None:
        super().__init__()
        self._actions = actions
        self._row = row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID)
        self._run = self._button(appearance, actions.run, "run", f"{prefix}Run")
        self._anyway = self._button(appearance, actions.start_anyway, "run", f"{prefix}StartAnyway")
        self._stop = self._button(appearance, actions.stop, "stop", f"{prefix}Stop")
        self._edit = self._button(appearance, actions.edit, "edit", f"{prefix}Edit")
        self._pause = self._button(appearance, actions.pause, "pause", f"{prefix}Pause")
        self._resume = self._button(appearance, actions.resume, "resume", f"{prefix}Resume")
        self._all = (self._run, self._anyway, self._stop, self._edit, self._pause, self._resume)
        self._texts = [one.text() for one in self._all]
        for one in self._all:
            row.addWidget(one)
        row.addStretch(1)
        self._more = icon_button(
            appearance, "more", self.tr("More actions"), name=f"{prefix}More", shortcut="Ctrl+M"
        )
        self._more.setPopupMode(self._more.ToolButtonPopupMode.InstantPopup)
        self._menu = EdgeMenu(self._more)
        self._menu.aboutToShow.connect(self._fill)
        self._more.setMenu(self._menu)
        row.addWidget(self._more)

    def _button(self, appearance: Appearance, action: QAction, icon: str, name: str) -> QPushButton:
        made = button(action.text().rstrip("…"), name=name, tip=" ")
        made.setToolTip(action.toolTip())
        tint(made, appearance, icon)
        made.clicked.connect(action.trigger)
        return made

    @property
    def last(self) -> QWidget:
        """The last button in the tab order."""
        return self._more

    def fit(self) -> None:
        """Show the buttons that apply to the selection."""
        actions = self._actions
        # A second run can be requested only after the waiting one has started.
        self._anyway.setVisible(actions.start_anyway.isEnabled())
        self._run.setVisible(actions.run.isEnabled() and not actions.start_anyway.isEnabled())
        self._stop.setVisible(actions.stop.isEnabled())
        self._edit.setVisible(actions.edit.isEnabled())
        is_resting_all = all(is_resting(job) for job in actions.jobs)
        self._pause.setVisible(not is_resting_all)
        self._resume.setVisible(actions.resume.isEnabled() and (is_resting_all or len(actions.jobs) > 1))
        self._fit_texts()

    def _fit_texts(self) -> None:
        shown = [(one, text) for one, text in zip(self._all, self._texts, strict=True) if not one.isHidden()]
        room = self.width() - self._more.sizeHint().width()
        for labelled in (len(shown), 1, 0):
            for index, (one, text) in enumerate(shown):
                one.setText(text if index < labelled else "")
            if sum(one.sizeHint().width() + GRID for one, _ in shown) <= room:
                break
        # Activated now: otherwise the row is painted before it learns that its texts changed.
        self._row.activate()

    def _fill(self) -> None:
        self._menu.clear()
        self._actions.fill_menu(self._menu)

    # --- Qt -----------------------------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        self._fit_texts()

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        return QSize(0, super().minimumSizeHint().height())


class SeveralJobs(QWidget):
    """A selection of several jobs: their number, their statuses, and the actions on all of them."""

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
        """Show how many of these jobs have each status."""
        self._title.set_text(self.tr("{count} jobs selected").format(count=len(situations)))
        reasons = {
            (one.waiting.kind, one.waiting.details)
            for one in situations
            if one.kind is SituationKind.WAITING and one.waiting is not None
        }
        # Listing the reason of each waiting job would take too much space.
        waiting = self.tr("Waiting") if len(reasons) > 1 else ""
        counts = Counter(
            (waiting if one.kind is SituationKind.WAITING else "") or sentence_case(status_words(one, now_ms))
            for one in situations
        )
        self._counts.set_text("\n".join(f"{count} × {words}" for words, count in counts.most_common()))
        self._buttons.fit()
