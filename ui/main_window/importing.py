"""Job files: imports a reviewed file, all or nothing, and exports all jobs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QSaveFile, Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QFont, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QFileDialog,
    QHBoxLayout,
    QPlainTextEdit,
    QVBoxLayout,
    QWidget,
)

from halo_scheduler.errors import SchedulerError
from halo_scheduler.grammar.english import counted, listed
from halo_scheduler.grammar.zone import local_time
from halo_scheduler.service.imports import NewRuns
from halo_scheduler.service.scheduler import Scheduler
from ui.backend.backend import Backend, Lane
from ui.style.theme import GRID, MARGIN, Appearance, Tone, mono_font
from ui.style.wording import sentence_case
from ui.widgets.arrange import documents
from ui.widgets.labels import button, label, set_words, tint

if TYPE_CHECKING:
    from halo_scheduler.transfer.archive import Archive
    from halo_scheduler.transfer.drafts import Drafts
    from halo_scheduler.transfer.import_plan import ImportPlan
    from halo_scheduler.transfer.preview import Line

_MOST_LINES = 5_000
_FORMATS = {"YAML": "yaml", "JSON": "json", "crontab": "crontab"}
_INDENTS = ("", "  ", "      ")
_TONES = {"+": Tone.OK, "~": Tone.WARN, "−": Tone.ERROR, "▲": Tone.WARN, "■": Tone.ERROR, "◌": Tone.MUTED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """What an import would change; no files stands for the user's crontab."""

    files: tuple[str, ...]
    plan: ImportPlan
    names: dict[str, str]
    new_runs: NewRuns

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to import."""
        return self.plan.is_empty and not self.new_runs.count

    def lines(self, *, paused: bool, skip_bad: bool) -> Iterator[Line]:
        """Yield the lines to show."""
        from halo_scheduler.transfer.preview import Line, Sign, preview  # noqa: PLC0415 - loaded with the plan

        is_refused = bool(self.plan.faults) and not skip_bad
        yield from preview(self.plan, self.names, paused=paused, is_refused=is_refused)
        if self.new_runs.count:
            span = " – ".join(
                f"{local_time(at):%Y-%m-%d}" for at in (self.new_runs.first_at, self.new_runs.last_at)
            )
            yield Line(text="History:", depth=0, is_strong=True)
            yield Line(text=f"{counted(self.new_runs.count, 'run')} ({span})", depth=1, sign=Sign.NEW)


class ImportDialog(QDialog):
    """Shows what importing some files would change, and imports them."""

    done_with = Signal(str)
    """The import is done; with a message to show, or an empty one."""

    def __init__(self, backend: Backend, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("importDialog")
        self.setWindowTitle(self.tr("Import jobs"))
        self.setAcceptDrops(True)
        self.resize(760, 560)
        self._backend = backend
        self._appearance = appearance
        self._found: Review | None = None
        column = QVBoxLayout(self)
        column.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
        column.setSpacing(GRID)
        column.addWidget(label(self.tr("Import jobs"), "title"))
        kinds = self.tr("From an export or archive of Halo, a crontab, systemd timers or agent files.")
        column.addWidget(label(kinds, "muted", wrap=True))
        column.addLayout(self._sources())
        self._error = label("", "error", name="importError", wrap=True)
        column.addWidget(self._error)
        column.addWidget(self._make_review(), 1)
        self._enable = QCheckBox(self.tr("Start new jobs at once, without your review"))
        self._enable.setObjectName("importEnable")
        self._skip = QCheckBox(self.tr("Skip what has errors and import the rest"))
        self._skip.setObjectName("importSkip")
        for check in (self._enable, self._skip):
            check.toggled.connect(self._show_review)
            column.addWidget(check)
        column.addLayout(self._buttons())
        appearance.changed.connect(self._show_review)
        self._show_review()

    def _sources(self) -> QHBoxLayout:
        row = QHBoxLayout()
        choose = button(self.tr("Choose files…"), name="importFilesButton", kind="primary")
        tint(choose, self._appearance, "folder", Tone.ON_ACCENT)
        choose.clicked.connect(self._choose_files)
        crontab = button(self.tr("Read my crontab"), name="importCrontabButton")
        crontab.clicked.connect(lambda: self.read(()))
        row.addWidget(choose)
        row.addWidget(crontab)
        row.addStretch(1)
        return row

    def _make_review(self) -> QPlainTextEdit:
        self._text = QPlainTextEdit()
        self._text.setObjectName("importReview")
        self._text.setAccessibleName(self.tr("What the import changes"))
        self._text.setPlaceholderText(self.tr("Nothing is saved until you confirm the changes."))
        self._text.setReadOnly(True)
        self._text.setTabChangesFocus(True)
        self._text.setFont(mono_font(self._text.font()))
        return self._text

    def _buttons(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.addStretch(1)
        cancel = button(self.tr("Cancel"), name="importCancelButton", tip=self.tr("Cancel (Esc)"))
        cancel.clicked.connect(self.reject)
        self._import = button(self.tr("Import"), name="importButton", kind="primary")
        self._import.clicked.connect(self._apply)
        row.addWidget(cancel)
        row.addWidget(self._import)
        return row

    # --- Reading and importing ----------------------------------------------------------------------

    def start(self) -> None:
        """Open the dialog without the previous review."""
        self._forget("")
        self.open()

    def read(self, files: Sequence[str]) -> None:
        """Read files, or the user's crontab if there are none, and show what they would change."""
        self._forget("")
        self._backend.ask(
            partial(_review, tuple(files)), self._take, self._refuse, owner=self, lane=Lane.SLOW
        )

    def _choose_files(self) -> None:
        dialog = QFileDialog(self, self.tr("Import jobs"), documents())
        dialog.setObjectName("importFileDialog")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.filesSelected.connect(self.read)
        dialog.open()

    def _take(self, found: Review) -> None:
        self._found = found
        self._show_review()
        self._import.setFocus()

    def _refuse(self, error: SchedulerError) -> None:
        self._forget(f"{sentence_case(str(error)).rstrip('.')}.")

    def _forget(self, refusal: str) -> None:
        self._found = None
        self._skip.setChecked(False)
        self._error.setText(refusal)
        self._show_review()

    def _apply(self) -> None:
        if self._found is None:
            return
        self._import.setEnabled(False)
        paused, skip_bad = not self._enable.isChecked(), self._skip.isChecked()
        work = partial(_apply, self._found, paused=paused, skip_bad=skip_bad)
        self._backend.ask(work, self._finish, self._refuse, owner=self, lane=Lane.SLOW)

    def _finish(self, missing: list[str]) -> None:
        self.accept()
        one = self.tr("The secret {names} isn't set. Add it in Settings.")
        many = self.tr("The secrets {names} aren't set. Add them in Settings.")
        words = one if len(missing) == 1 else many
        self.done_with.emit(words.format(names=listed(missing)) if missing else "")

    # --- Showing ------------------------------------------------------------------------------------

    def _show_review(self) -> None:
        found = self._found
        has_faults = found is not None and bool(found.plan.faults)
        if found is not None:
            # In a long review they are out of sight.
            errors = self.tr("{errors}, listed at the end.").format(
                errors=counted(len(found.plan.faults), "error")
            )
            self._error.setText(errors if has_faults else "")
        self._error.setVisible(bool(self._error.text()))
        self._enable.setVisible(found is not None and bool(found.plan.created))
        self._skip.setVisible(found is not None and has_faults and not found.is_empty)
        is_refused = has_faults and not self._skip.isChecked()
        self._import.setEnabled(found is not None and not found.is_empty and not is_refused)
        count = 0 if found is None else len(found.plan.created) + len(found.plan.changed)
        set_words(
            self._import,
            self.tr("Import {jobs}").format(jobs=counted(count, "job")) if count else self.tr("Import"),
        )
        lines = (
            []
            if found is None
            else found.lines(paused=not self._enable.isChecked(), skip_bad=self._skip.isChecked())
        )
        self._write(lines)

    def _write(self, lines: Iterable[Line]) -> None:
        self._text.clear()
        cursor = QTextCursor(self._text.document())
        cursor.beginEditBlock()
        shown = iter(lines)
        for line in islice(shown, _MOST_LINES):
            self._write_line(cursor, line)
        left = sum(1 for _ in shown)
        if left:
            cursor.insertText(
                self.tr("… and {count} more lines").format(count=f"{left:,}"), QTextCharFormat()
            )
        cursor.endEditBlock()

    def _write_line(self, cursor: QTextCursor, line: Line) -> None:
        tone = Tone.TEXT if line.sign is None else _TONES[line.sign]
        start = _INDENTS[line.depth] + ("  " if line.is_diff else f"{line.sign} " if line.sign else "")
        cursor.insertText(start, self._format(tone))
        if line.label:
            cursor.insertText(f"{line.label} ", self._format(Tone.MUTED))
        text_tone = tone if line.is_diff or line.sign == "■" else Tone.TEXT
        cursor.insertText(f"{line.text}\n", self._format(text_tone, is_strong=line.is_strong))

    def _format(self, tone: Tone, *, is_strong: bool = False) -> QTextCharFormat:
        made = QTextCharFormat()
        made.setForeground(self._appearance.colour(tone))
        made.setFontWeight(QFont.Weight.DemiBold if is_strong else QFont.Weight.Normal)
        return made

    # --- Qt -----------------------------------------------------------------------------------------

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:  # noqa: N802
        if event.mimeData().hasUrls():
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:  # noqa: N802
        self.read([url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()])


class JobExport(QObject):
    """Writes all jobs to a file that the user chooses."""

    done_with = Signal(str)
    """The result or the error, as a message."""

    def __init__(self, backend: Backend, window: QWidget) -> None:
        super().__init__(window)
        self._backend = backend
        self._window = window

    def start(self) -> None:
        """Ask for a file; its ending decides the format."""
        dialog = QFileDialog(self._window, self.tr("Export jobs"), documents())
        dialog.setObjectName("exportJobsDialog")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        filters = {f"{kind} (*.{ending})": ending for kind, ending in _FORMATS.items()}
        dialog.setNameFilters(list(filters))
        dialog.filterSelected.connect(lambda chosen: dialog.setDefaultSuffix(filters[chosen]))
        dialog.setDefaultSuffix("yaml")
        dialog.selectFile("jobs")
        dialog.fileSelected.connect(self.write)
        dialog.open()

    def write(self, path: str) -> None:
        """Write the file."""
        self._backend.ask(
            partial(_export, path),
            lambda count: self.done_with.emit(
                self.tr("Exported {jobs} to {path}. Secrets and agents are included by name only.").format(
                    jobs=counted(count, "job"), path=path
                )
            ),
            lambda error: self.done_with.emit(sentence_case(f"{error}.")),
            owner=self,
            lane=Lane.SLOW,
        )


def _export(path: str, scheduler: Scheduler) -> int:
    """Write all jobs to a file, whole or not at all; return their number."""
    from halo_scheduler.transfer.job_files import FileFormat, export_all, written  # noqa: PLC0415 - loads PyYAML

    jobs = scheduler.list_jobs()
    found = export_all(jobs, scheduler.settings.read(), scheduler.jobs.group_limits())
    file = QSaveFile(path)
    is_open = file.open(QSaveFile.OpenModeFlag.WriteOnly)
    if is_open:
        file.write(written(found.document, FileFormat.of(path)).encode())
    if not is_open or not file.commit():
        raise SchedulerError(f"could not write {path}: {file.errorString()}; choose another location")
    return len(found.document.jobs)


def _review(files: tuple[str, ...], scheduler: Scheduler) -> Review:
    with _opened(files) as archive:
        plan = scheduler.imports.plan(_drafts(files) if archive is None else archive.read())
        new = NewRuns() if archive is None else scheduler.imports.find_new_runs(plan, archive.runs())
    names = {job.id: job.name for job in scheduler.list_jobs()}
    return Review(files=files, plan=plan, names=names, new_runs=new)


def _drafts(files: tuple[str, ...]) -> Drafts:
    from halo_scheduler.transfer.job_files import read_files, read_own_crontab  # noqa: PLC0415 - loads PyYAML

    return read_files(files) if files else read_own_crontab()


def _opened(files: tuple[str, ...]) -> AbstractContextManager[Archive | None]:
    from halo_scheduler.transfer.job_files import open_archive  # noqa: PLC0415 - loads PyYAML

    return open_archive(Path(files[0])) if len(files) == 1 else nullcontext()


def _apply(found: Review, scheduler: Scheduler, *, paused: bool, skip_bad: bool) -> list[str]:
    """Import what was reviewed; return the secrets that the jobs need but that aren't set."""
    with _opened(found.files) as archive:
        scheduler.imports.apply(
            found.plan,
            paused=paused,
            skip_bad=skip_bad,
            runs=() if archive is None else archive.runs(),
            run_count=0 if archive is None else archive.run_count,
        )
    return scheduler.imports.missing_secrets(found.plan)
