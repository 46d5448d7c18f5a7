"""The export button and the bar that shows an export's progress and result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from time import sleep

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QMenu, QPushButton, QWidget

from halo_scheduler.errors import SchedulerError
from halo_scheduler.model import Run
from halo_scheduler.service.scheduler import Scheduler
from ui.backend.backend import Asked, Backend, Lane
from ui.style.theme import GRID, HALF, MARGIN, Appearance, Tone
from ui.widgets.labels import button, frame, icon_button, tint, with_shortcut
from ui.widgets.line_icon import LineIcon
from ui.widgets.wrapped_text import WrappedText

from .choice import Choice, JobName, job_names
from .export import ExportError, Format, Page, export
from .facts import as_sentence

_PAGE = 200
_HITS = 50
_KEYS = "Ctrl+S"
# A pause between pages, so that the GUI thread gets the interpreter lock.
_BREATH_S = 0.002


class ExportButton(QPushButton):
    """A button with a menu of formats."""

    wanted = Signal(object)
    """A Format."""

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("Export"), parent)
        self.setObjectName("exportButton")
        self.setAccessibleName(self.tr("Export these runs"))
        self.setShortcut(QKeySequence(_KEYS))
        self.setToolTip(with_shortcut(self.tr("Export these runs to a file"), _KEYS))
        tint(self, appearance, "export")
        menu = QMenu(self)
        table = menu.addAction(self.tr("As CSV…"))
        table.setObjectName("exportCsv")
        table.triggered.connect(lambda: self.wanted.emit(Format.CSV))
        data = menu.addAction(self.tr("As JSON…"))
        data.setObjectName("exportJson")
        data.triggered.connect(lambda: self.wanted.emit(Format.JSON))
        self.setMenu(menu)


class ExportBar(QWidget):
    """Runs an export and shows its progress and result."""

    def __init__(self, backend: Backend, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("exportBar")
        self._backend = backend
        self._asked: Asked | None = None
        self._path, self._count = Path(), 0
        self._icon = LineIcon(appearance, "export", Tone.MUTED)
        self._text = WrappedText(appearance, name="exportText", most_lines=2)
        self._cancel = button(self.tr("Cancel"), name="exportCancel", kind="link")
        self._cancel.clicked.connect(self.cancel)
        self._close = icon_button(appearance, "close", self.tr("Close"), name="exportClose")
        self._close.clicked.connect(self.hide)
        outer = QHBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        box = frame("note")
        outer.addWidget(box)
        row = QHBoxLayout(box)
        row.setContentsMargins(MARGIN, HALF, GRID, HALF)
        row.setSpacing(GRID)
        row.addWidget(self._icon)
        row.addWidget(self._text, 1)
        row.addWidget(self._cancel)
        row.addWidget(self._close)
        self.hide()

    def ask_file(self, kind: Format, choice: Choice) -> None:
        """Ask for a file name, then export."""
        dialog = QFileDialog(self.window(), self.tr("Export runs"))
        dialog.setObjectName("exportDialog")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilter(self.tr("CSV (*.csv)") if kind is Format.CSV else self.tr("JSON (*.json)"))
        dialog.setDefaultSuffix(kind)
        dialog.selectFile(f"runs.{kind}")
        dialog.fileSelected.connect(lambda path: self.start(Path(path), kind, choice))
        dialog.open()

    def start(self, path: Path, kind: Format, choice: Choice) -> None:
        """Export the runs to a file."""
        self.cancel()
        self._path, self._count = path, 0
        self._show(self.tr("Exporting…"), "export", Tone.MUTED, is_over=False)
        self._asked = self._backend.ask_stream(
            lambda scheduler, is_cancelled: export(path, kind, _pages(choice, scheduler, is_cancelled)),
            self._tell_progress,
            self._finish,
            self._fail,
            owner=self,
            lane=Lane.SLOW,
        )

    def cancel(self) -> None:
        """Cancel the export; no file is left."""
        if self._asked is not None:
            self._asked.cancel()
            self._asked = None
            self._show(self.tr("Export cancelled."), "close", Tone.MUTED, is_over=True)

    def _tell_progress(self, counts: list[int]) -> None:
        self._count = counts[-1]
        self._show(
            self.tr("Exporting… {count} runs so far").format(count=f"{self._count:,}"),
            "export",
            Tone.MUTED,
            is_over=False,
        )

    def _finish(self) -> None:
        self._asked = None
        words = (
            self.tr("Exported 1 run to {path}.")
            if self._count == 1
            else self.tr("Exported {count} runs to {path}.")
        )
        words = words.format(count=f"{self._count:,}", path=self._path)
        self._show(words, "check", Tone.OK, is_over=True)

    def _fail(self, error: SchedulerError) -> None:
        self._asked = None
        self._show(as_sentence(str(error)), "error", Tone.ERROR, is_over=True)

    def _show(self, text: str, icon: str, tone: Tone, *, is_over: bool) -> None:
        self._icon.set_icon(icon, tone)
        self._text.set_text(text)
        self._cancel.setVisible(not is_over)
        self._close.setVisible(is_over)
        self.show()


def _pages(choice: Choice, scheduler: Scheduler, is_cancelled: Callable[[], bool]) -> Iterator[Page]:
    names: dict[str, JobName] = {}
    source = _hits(choice, scheduler, is_cancelled) if choice.text else None
    for runs in source or choice.pages(scheduler, _PAGE, is_cancelled):
        missing = {run.job_id for run in runs} - names.keys()
        names |= job_names(scheduler, missing) if missing else {}
        yield runs, names
        sleep(_BREATH_S)
    if is_cancelled():
        raise ExportError("the export was cancelled")  # What was written so far is no whole.


def _hits(choice: Choice, scheduler: Scheduler, is_cancelled: Callable[[], bool]) -> Iterator[list[Run]]:
    page: list[Run] = []
    for run in choice.hits(scheduler, is_cancelled):
        if run is not None:
            page.append(run)
        if len(page) >= _HITS:
            yield page
            page = []
    if page:
        yield page
