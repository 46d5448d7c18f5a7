"""The window shown when the database cannot be used: the problem and the ways to fix it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, QSize, Qt, QUrl, Signal
from PySide6.QtGui import QCloseEvent, QDesktopServices, QKeyEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from halo_scheduler.clock import Clock
from halo_scheduler.errors import SchedulerError, StoreDamagedError, StoreTooNewError, UnsafeFilesError
from halo_scheduler.service.settings import Backup, newest_usable, restore_backup
from halo_scheduler.wording.measures import full_moment
from ui.style.icons import picture
from ui.style.theme import GRID, HALF, MARGIN, Appearance
from ui.style.wording import ago, tr
from ui.widgets.arrange import fit_height
from ui.widgets.labels import button, frame, label, set_role, tint

_PICTURE = 48
_WIDTH = 560


class Restorer(QObject):
    """Restores one backup at a time; nothing else may use the database meanwhile."""

    done = Signal(str)
    failed = Signal(str)
    _done = Signal(str)
    _failed = Signal(str)

    def __init__(self, path: Path, clock: Clock, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._path = path
        self._clock = clock
        self._done.connect(self.done, Qt.ConnectionType.QueuedConnection)
        self._failed.connect(self.failed, Qt.ConnectionType.QueuedConnection)

    def restore(self, backup: Path | None) -> None:
        """Restore a backup, or the newest usable one; `done` or `failed` reports the result."""
        threading.Thread(target=self._restore, args=(backup,), name="halo-restore", daemon=True).start()

    def _restore(self, backup: Path | None) -> None:
        try:
            _, aside = restore_backup(self._path, backup, self._clock.now_ms())
        except (SchedulerError, OSError) as error:
            self._failed.emit(str(error))
            return
        kept = (
            "" if aside is None else tr(" The previous database is kept as {file}.").format(file=aside.name)
        )
        self._done.emit(tr("Backup restored.") + kept)


class _Search(QObject):
    """Finds the newest usable backup on a thread, because checking a large one takes a while.

    It lives until the thread has ended, even if the window is closed: a QObject must not be destroyed in that thread.
    """

    found = Signal(object)
    _ended = Signal(object)

    def __init__(self, database: Path) -> None:
        super().__init__()
        self._ended.connect(self._end, Qt.ConnectionType.QueuedConnection)
        _SEARCHES.add(self)
        threading.Thread(
            target=_search, args=(database, self._ended.emit), name="halo-recovery", daemon=True
        ).start()

    def _end(self, backup: Backup | None) -> None:
        _SEARCHES.discard(self)
        self.found.emit(backup)


_SEARCHES: set[_Search] = set()


def _search(database: Path, ended: Callable[[Backup | None], None]) -> None:
    ended(newest_usable(database))


class RecoveryWindow(QWidget):
    """Replaces the main window; it only emits what the user wants."""

    retry_requested = Signal()
    restore_requested = Signal(object)
    """The Path of the backup to restore."""
    quit_requested = Signal()

    def __init__(
        self,
        appearance: Appearance,
        database: Path,
        error: SchedulerError,
        now_ms: int,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._database = database
        self._now_ms = now_ms
        self._backup: Backup | None = None
        self._is_done = False
        self.setObjectName("recoveryWindow")
        self.setWindowTitle(self.tr("Recovery"))
        self.setWindowIcon(picture("halo"))
        self.setFixedWidth(_WIDTH)
        self._lay_out(appearance)
        self.show_error(error)
        _Search(database).found.connect(self._show_backup)

    def show_error(self, error: SchedulerError) -> None:
        """Show what is wrong."""
        self._set_busy(False)
        self._title.setText(self._headed(error))
        self._sentence.setText(_as_sentence(str(error)))
        is_damaged = isinstance(error, StoreDamagedError)
        self._explanation.setText(self._explained(error))
        self._emphasise(self._restore if is_damaged else self._retry)
        fit_height(self, _WIDTH)

    def show_refusal(self, text: str) -> None:
        """Show why a backup could not be restored."""
        self._set_busy(False)
        self._tell(_as_sentence(text), "error")

    def show_busy(self, text: str) -> None:
        """Show what is being done; the buttons are disabled meanwhile."""
        self._set_busy(True)
        self._tell(text, "muted")

    def close_for_good(self) -> None:
        """Close without quitting: the program continues."""
        self._is_done = True
        self.close()

    def _lay_out(self, appearance: Appearance) -> None:
        drawing = QLabel()
        drawing.setPixmap(picture("halo").pixmap(QSize(_PICTURE, _PICTURE)))
        self._title = label("", "title", name="recoveryTitle", wrap=True)
        self._sentence = label("", name="recoverySentence", wrap=True)
        self._sentence.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._explanation = label("", "muted", name="recoveryExplanation", wrap=True)
        words = QVBoxLayout()
        words.setSpacing(GRID)
        words.addWidget(self._title)
        words.addWidget(self._sentence)
        words.addWidget(self._explanation)
        top = QHBoxLayout()
        top.setSpacing(MARGIN)
        top.addWidget(drawing, 0, Qt.AlignmentFlag.AlignTop)
        top.addLayout(words, 1)
        self._told = label("", "muted", name="recoveryTold", wrap=True)
        box = QVBoxLayout(self)
        box.setContentsMargins(MARGIN + GRID, MARGIN + GRID, MARGIN + GRID, MARGIN)
        box.setSpacing(MARGIN)
        box.addLayout(top)
        box.addWidget(self._backup_card())
        box.addWidget(self._told)
        box.addStretch(1)
        box.addLayout(self._buttons(appearance))

    def _backup_card(self) -> QWidget:
        self._backup_name = label(self.tr("Looking for a backup…"), name="backupLabel")
        self._backup_hint = label("", "small", wrap=True)
        self._restore = button(self.tr("&Restore this backup"), name="restoreButton")
        self._restore.setEnabled(False)
        self._restore.clicked.connect(self._want_restore)
        words = QVBoxLayout()
        words.setSpacing(HALF)
        words.addWidget(self._backup_name)
        words.addWidget(self._backup_hint)
        card = frame("card")
        box = QHBoxLayout(card)
        box.setContentsMargins(MARGIN, GRID + HALF, MARGIN, GRID + HALF)
        box.setSpacing(MARGIN)
        box.addLayout(words, 1)
        box.addWidget(self._restore)
        return card

    def _buttons(self, appearance: Appearance) -> QHBoxLayout:
        folder = button(self.tr("&Open folder"), name="openFolderButton", kind="quiet")
        tint(folder, appearance, "folder")
        folder.clicked.connect(self._open_folder)
        self._quit = button(self.tr("&Quit"), name="quitButton", shortcut="Ctrl+Q")
        self._quit.clicked.connect(self.quit_requested)
        self._retry = button(self.tr("&Try again"), name="retryButton", shortcut="F5")
        self._retry.clicked.connect(self.retry_requested)
        buttons = QHBoxLayout()
        buttons.setSpacing(GRID)
        buttons.addWidget(folder)
        buttons.addStretch(1)
        buttons.addWidget(self._quit)
        buttons.addWidget(self._retry)
        return buttons

    def _headed(self, error: SchedulerError) -> str:
        if isinstance(error, StoreTooNewError):
            return self.tr("Your jobs need a newer version of Halo")
        if isinstance(error, StoreDamagedError):
            return self.tr("Your job database is damaged")
        if isinstance(error, UnsafeFilesError):
            return self.tr("Other users could change your jobs")
        return self.tr("Your job database can't be opened")

    def _explained(self, error: SchedulerError) -> str:
        if isinstance(error, StoreTooNewError):
            return self.tr("Install the newer version again. No jobs were changed, and none run until then.")
        if isinstance(error, StoreDamagedError):
            return self.tr("No jobs run until this is fixed. The damaged file is set aside, never deleted.")
        if isinstance(error, UnsafeFilesError):
            return self.tr("No jobs run until only you can change them. Nothing was changed.")
        return self.tr(
            "No jobs run until this is fixed. Nothing is lost: your jobs will be back once it opens."
        )

    def _emphasise(self, wanted: QWidget) -> None:
        for made in (self._restore, self._retry):
            made.setProperty("kind", "primary" if made is wanted else "")
            made.style().unpolish(made)
            made.style().polish(made)

    def _show_backup(self, backup: Backup | None) -> None:
        self._backup = backup
        if backup is None:
            self._backup_name.setText(self.tr("No usable backup"))
            self._backup_hint.setText(self.tr("Backups are made once a day, next to the database."))
            self._emphasise(self._retry)
            fit_height(self, _WIDTH)
            return
        self._backup_name.setText(self.tr("Backup of {when}").format(when=full_moment(backup.made_at)))
        self._backup_hint.setText(
            self.tr("{ago}, checked. Includes all jobs and their history, but no output.").format(
                ago=ago(backup.made_at, self._now_ms).capitalize()
            )
        )
        self._restore.setEnabled(True)
        fit_height(self, _WIDTH)

    def _want_restore(self) -> None:
        if self._backup is not None:
            self.restore_requested.emit(self._backup.path)

    def _set_busy(self, is_busy: bool) -> None:  # noqa: FBT001
        self._restore.setEnabled(not is_busy and self._backup is not None)
        self._retry.setEnabled(not is_busy)
        self._tell("", "muted")

    def _tell(self, text: str, role: str) -> None:
        self._told.setText(text)
        self._told.setVisible(bool(text))
        set_role(self._told, role)
        fit_height(self, _WIDTH)

    def _open_folder(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._database.parent)))

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        fit_height(self, _WIDTH)
        super().showEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        focused = self.focusWidget()
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and isinstance(focused, QPushButton):
            focused.click()
            return
        super().keyPressEvent(event)

    def closeEvent(self, event: QCloseEvent) -> None:  # noqa: N802
        super().closeEvent(event)
        if not self._is_done:
            self.quit_requested.emit()


def _as_sentence(text: str) -> str:
    """Return a text as a sentence; a command at its end stays as it has to be typed."""
    ends_in_command = ": " in text.rpartition("; ")[2]
    # A file name stays as it is written.
    begin = text[:1].upper() if text.partition(" ")[0].isalpha() else text[:1]
    return f"{begin}{text[1:]}{'' if ends_in_command or text.endswith('.') else '.'}"
