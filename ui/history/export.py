"""Exports runs to a CSV or JSON file: the button, the file, and the bar that shows progress and result."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from time import sleep
from typing import TextIO

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QKeySequence
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QPushButton, QWidget

from halo_scheduler.errors import SchedulerError
from halo_scheduler.grammar.text import json_text
from halo_scheduler.grammar.zone import find_zone, local_time, offset_s
from halo_scheduler.model import Run
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.wording.jobs import proposal_words
from ui.backend.backend import Asked, Backend, Lane
from ui.style.theme import GRID, HALF, MARGIN, Appearance, Tone
from ui.widgets.arrange import documents
from ui.widgets.boxes import EdgeMenu
from ui.widgets.labels import WrappedText, button, frame, icon_button, tint, with_shortcut
from ui.widgets.signs import LineIcon

from .choice import Choice, JobName, job_names
from .facts import as_sentence

COLUMNS = (
    *("run", "job", "job_id", "outcome", "reason", "error", "planned", "started", "finished", "duration_ms"),
    *("late_ms", "exit_code", "http_status", "attempt", "trigger", "source", "passed_over", "passed_reason"),
    *("note", "cost", "work_id", "work_title", "work_url", "caused_by", "proposed", "utc_offset"),
)
# Spreadsheets read a cell that begins with these, even after blanks, as a formula.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠", "|", "%")
Page = tuple[list[Run], Mapping[str, JobName]]
_PAGE = 200
_HITS = 50
_KEYS = "Ctrl+S"
# A pause between pages, so that the GUI thread gets the interpreter lock.
_BREATH_S = 0.002


class Format(StrEnum):
    """A file format; its value is the file name extension."""

    CSV = "csv"
    JSON = "json"


class ExportError(SchedulerError):
    """The file could not be written."""


def export(path: Path, kind: Format, pages: Iterable[Page]) -> Iterator[int]:
    """Write runs to a file, yielding the number written so far; the file is renamed into place once complete."""
    draft = path.with_name(f".{path.name}.{os.urandom(4).hex()}")
    try:
        # Spreadsheets read UTF-8 only with a byte order mark.
        encoding = "utf-8-sig" if kind is Format.CSV else "utf-8"
        with draft.open("x", encoding=encoding, newline="", errors="replace") as file:
            yield from (write_csv if kind is Format.CSV else write_json)(file, pages)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ExportError(f"could not write {path.name}: {reason}; choose another location") from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def write_csv(file: TextIO, pages: Iterable[Page]) -> Iterator[int]:
    """Write runs as CSV, yielding the number written so far."""
    import csv  # noqa: PLC0415 - the history is there sooner without it

    writer = csv.writer(file)
    writer.writerow(COLUMNS)
    count = 0
    for runs, names in pages:
        writer.writerows([_safe(value) for value in _row(run, names)] for run in runs)
        count += len(runs)
        yield count


def write_json(file: TextIO, pages: Iterable[Page]) -> Iterator[int]:
    """Write runs as a JSON list with times in milliseconds since 1970, yielding the number written so far."""
    count = 0
    file.write("[")
    for runs, names in pages:
        for run in runs:
            file.write(",\n" if count else "\n")
            file.write(json_text(_as_data(run, names)))
            count += 1
        yield count
    file.write("\n]\n")


def _as_data(run: Run, names: Mapping[str, JobName]) -> dict[str, object]:
    return {"job": _name(run, names), **run.to_dict(), "duration_ms": run.duration_ms}


def _row(run: Run, names: Mapping[str, JobName]) -> tuple[object, ...]:
    return (
        *(run.id, _name(run, names), run.job_id, run.outcome, run.reason, run.error),
        *(_local(run.slot_at), _local(run.started_at), _local(run.finished_at), run.duration_ms),
        *(run.late_ms, run.exit_code, run.http_status, run.attempt, run.trigger, run.source),
        *(run.passed_over, run.passed_reason, run.note),
        *(run.cost, run.work_id, run.work_title, run.work_url, run.caused_by),
        proposal_words(run.proposal),
        _offset(run.started_at if run.started_at is not None else run.slot_at),
    )


def _name(run: Run, names: Mapping[str, JobName]) -> str:
    name = names.get(run.job_id)
    return "" if name is None else name.name


def _local(at: int | None) -> str:
    """Return the local date and time in a format that spreadsheets understand."""
    return "" if at is None else f"{local_time(at):%Y-%m-%d %H:%M:%S}"


def _offset(at: int | None) -> str:
    """Return the UTC offset of the local times, like "UTC+02:00"; in the times, spreadsheets would not read it."""
    if at is None:
        return ""
    minutes = offset_s(find_zone(None), at // 1_000) // 60
    return f"UTC{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


def _safe(value: object) -> object:
    """Return a cell that no spreadsheet reads as a formula; numbers are safe."""
    if value is None or isinstance(value, int | float):
        return "" if value is None else value
    text = str(value).replace("\x00", "\ufffd")
    return f"'{text}" if text.lstrip(" \u00a0\ufeff").startswith(_FORMULA_STARTS) else text


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
        menu = EdgeMenu(self)
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
        self._open = button(self.tr("Show in folder"), name="exportOpen", kind="link")
        self._open.clicked.connect(self._open_folder)
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
        for one in (self._cancel, self._open, self._close):
            row.addWidget(one)
        self.hide()

    def ask_file(self, kind: Format, choice: Choice) -> None:
        """Ask for a file name, then export."""
        dialog = QFileDialog(self.window(), self.tr("Export runs"), documents())
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
        self._open.show()

    def _open_folder(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._path.parent)))

    def _fail(self, error: SchedulerError) -> None:
        self._asked = None
        self._show(as_sentence(str(error)), "error", Tone.ERROR, is_over=True)

    def _show(self, text: str, icon: str, tone: Tone, *, is_over: bool) -> None:
        self._icon.set_icon(icon, tone)
        self._text.set_text(text)
        self._cancel.setVisible(not is_over)
        self._close.setVisible(is_over)
        self._open.hide()
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
        raise ExportError("the export was cancelled")  # The file is incomplete.


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
