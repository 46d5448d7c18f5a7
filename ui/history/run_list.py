"""The list of runs: the table, or a message if it is empty."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from ui.style.theme import GRID, HALF, MARGIN, Appearance, Tone
from ui.widgets.labels import button, label
from ui.widgets.signs import LineIcon

from .run_table import RunTableModel, State
from .run_view import RunTable

_SLOW_MS = 250
_RESTING_MS = 50
_MINUTE_MS = 60_000


class RunList(QFrame):
    """The table, or a message if it is empty, with a line below on what is shown or running."""

    run_selected = Signal(object)
    """The selected run, or None."""
    everything_requested = Signal()

    def __init__(self, model: RunTableModel, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("runList")
        self.setProperty("role", "card")
        self._model = model
        self._wanted: str | None = None
        self._is_asked_for = False
        self.table = RunTable(model, appearance)
        self._make_words(appearance)
        self._lay_out()
        self._minutes = QTimer(self)
        self._minutes.setInterval(_MINUTE_MS)
        self._minutes.timeout.connect(self.table.viewport().update)
        self._slow = self._new_timer(_SLOW_MS)
        self._slow.timeout.connect(self._tell_loading)
        self._telling = self._new_timer(_RESTING_MS)
        self._telling.timeout.connect(self._tell_selected)
        model.state_changed.connect(self._show_state)
        model.modelReset.connect(self._select_again)
        self.table.selectionModel().currentRowChanged.connect(self._tell_selection)

    def want(self, run_id: str | None) -> None:
        """Select a run as soon as it is loaded; None selects the first."""
        self._wanted = run_id
        self._is_asked_for = run_id is not None
        if run_id is not None:
            # The earlier selection no longer matters.
            self._telling.stop()
            self.table.select_run(run_id)

    # --- States --------------------------------------------------------------------------------------

    def _show_state(self) -> None:
        model = self._model
        self._stop.setVisible(model.state is State.SEARCHING)
        if model.state is State.LOADING:
            self._slow.start()
            return
        self._slow.stop()
        self._status.setText(self._status_words())
        if model.state is State.FAILED:
            self._say("error", self.tr("Can't read the history"), model.error, "")
        elif model.rowCount():
            self._pages.setCurrentWidget(self.table)
            if not self.table.currentIndex().isValid():
                self._select_again()
        elif model.state is State.SEARCHING:
            self._say("search", self.tr("Searching…"), self.tr("Results appear here as they're found."), "")
        elif model.choice.is_everything or not model.has_history:
            self._say(
                "history",
                self.tr("No runs yet"),
                self.tr("Every run appears here with its output."),
                "",
            )
        else:
            self._say(
                "search",
                self.tr("No matching runs"),
                self.tr("Change the search or clear filters."),
                self.tr("Clear filters"),
            )

    def _tell_loading(self) -> None:
        if not self._model.rowCount():
            self._say("history", self.tr("Loading…"), "", "")

    def _say(self, icon: str, title: str, sentence: str, way_out: str) -> None:
        self._icon.set_icon(icon, Tone.MUTED if icon != "error" else Tone.ERROR)
        self._title.setText(title)
        self._sentence.setText(sentence)
        self._everything.setText(way_out)
        self._everything.setVisible(bool(way_out))
        self._pages.setCurrentWidget(self._words)
        if self._model.rowCount() == 0:
            self.run_selected.emit(None)

    def _status_words(self) -> str:
        count = self._model.rowCount()
        if self._model.state is State.SEARCHING:
            return self.tr("{count} found, about {searched} runs searched").format(
                count=f"{count:,}", searched=f"{self._model.searched:,}"
            )
        if not count:
            return ""
        if self._model.choice.text:
            return self.tr("{count} found").format(count=f"{count:,}")
        if not self._model.is_complete:
            return self.tr("Newest {count} runs. Scroll for more.").format(count=f"{count:,}")
        return self.tr("1 run") if count == 1 else self.tr("{count} runs").format(count=f"{count:,}")

    # --- Selection -----------------------------------------------------------------------------------

    def _select_again(self) -> None:
        """Select the requested or the previous run, else the first."""
        if self._wanted is not None and self.table.select_run(self._wanted):
            return
        if self._model.rowCount() and not self._is_asked_for:
            self.table.setCurrentIndex(self._model.index(0, 0))

    def _tell_selection(self, current: QModelIndex) -> None:
        run = self._model.run_of(current.row()) if current.isValid() else None
        if run is not None:
            self._wanted, self._is_asked_for = run.id, False
            # Moving quickly through the list does not load every run's output.
            self._telling.start()

    def _tell_selected(self) -> None:
        run = self._model.run_of(self.table.currentIndex().row())
        if run is not None:
            self.run_selected.emit(run)

    # --- Making --------------------------------------------------------------------------------------

    def _new_timer(self, interval_ms: int) -> QTimer:
        timer = QTimer(self)
        timer.setSingleShot(True)
        timer.setInterval(interval_ms)
        return timer

    def _make_words(self, appearance: Appearance) -> None:
        self._icon = LineIcon(appearance, "history", Tone.MUTED, 32)
        self._title = label("", "strong", name="listTitle")
        self._sentence = label("", "muted", name="listSentence", wrap=True)
        self._sentence.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._everything = button(self.tr("Clear filters"), name="showEverythingButton")
        self._everything.clicked.connect(self.everything_requested)
        self._status = label("", "small", name="listStatus")
        self._stop = button(
            self.tr("Stop searching"),
            name="stopSearchButton",
            kind="link",
            tip=self.tr("Stop searching (Esc)"),
        )
        self._stop.clicked.connect(self._model.stop_search)
        self._stop.hide()

    def _lay_out(self) -> None:
        self._words = QWidget()
        words = QVBoxLayout(self._words)
        words.setContentsMargins(MARGIN * 2, MARGIN, MARGIN * 2, MARGIN)
        words.setSpacing(GRID)
        words.addStretch(2)
        for one in (self._icon, self._title):
            words.addWidget(one, 0, Qt.AlignmentFlag.AlignHCenter)
        words.addWidget(self._sentence)
        words.addSpacing(HALF)
        words.addWidget(self._everything, 0, Qt.AlignmentFlag.AlignHCenter)
        words.addStretch(3)
        self._pages = QStackedWidget()
        self._pages.addWidget(self._words)
        self._pages.addWidget(self.table)
        foot = QHBoxLayout()
        foot.setContentsMargins(MARGIN, 0, GRID, 0)
        foot.addWidget(self._status, 1)
        foot.addWidget(self._stop)
        column = QVBoxLayout(self)
        column.setContentsMargins(1, GRID, 1, GRID)
        column.setSpacing(HALF)
        column.addWidget(self._pages, 1)
        column.addLayout(foot)

    # --- Qt -----------------------------------------------------------------------------------------

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        super().showEvent(event)
        self._model.watch(True)
        self._minutes.start()

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802 - Qt's name
        super().hideEvent(event)
        self._model.watch(False)
        self._minutes.stop()
